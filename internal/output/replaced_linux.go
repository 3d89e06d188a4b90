package output

import (
	"os"

	"golang.org/x/sys/unix"
)

// Replaced reports whether f, one of the standard descriptors, stands for one that
// was closed when the program was started. The runtime of Go opens the null device
// in its place, for reading and writing (checkfds in runtime/fds_unix.go), where a
// shell's >/dev/null opens it for writing only. A program that hands on the null
// device like that on purpose looks the same, unless several descriptors share it,
// as a daemon's do: then it is taken for what was meant.
func Replaced(f *os.File) bool {
	fd := descriptor(f)
	if fd < 0 || !isNull(fd) {
		return false
	}
	if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0); err != nil || flags&unix.O_ACCMODE != unix.O_RDWR {
		return false
	}
	for other := range 3 {
		if other != fd && shared(fd, other) {
			return false
		}
	}
	return true
}

// descriptor is a file's number; Fd would make it blocking.
func descriptor(f *os.File) int {
	fd := -1
	conn, err := f.SyscallConn()
	if err != nil || conn.Control(func(n uintptr) { fd = int(n) }) != nil {
		return -1
	}
	return fd
}

// isNull reports whether a descriptor is of the null device: major 1, minor 3 (Linux,
// Documentation/admin-guide/devices.txt).
func isNull(fd int) bool {
	var st unix.Stat_t
	return unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFCHR && uint64(st.Rdev) == unix.Mkdev(1, 3) //nolint:unconvert // the type depends on the platform
}

// shared reports whether two descriptors are of one open file (kcmp(2), KCMP_FILE);
// false where that may not be asked.
func shared(a, b int) bool {
	const kcmpFile = 0
	pid := uintptr(unix.Getpid())
	same, _, errno := unix.Syscall6(unix.SYS_KCMP, pid, pid, kcmpFile, uintptr(a), uintptr(b), 0)
	return errno == 0 && same == 0
}
