package output

import (
	"os"

	"golang.org/x/sys/unix"
)

// unread (FIONREAD, which for a pipe is TIOCINQ) is how many bytes lie in a pipe that its reader has not taken, and
// whether there is a reader.
func unread(f *os.File) (n int64, reader bool) {
	conn, err := f.SyscallConn()
	if err != nil {
		return 0, true
	}
	err = conn.Control(func(fd uintptr) {
		fds := []unix.PollFd{{Fd: int32(fd)}}
		if _, err := unix.Poll(fds, 0); err == nil {
			reader = fds[0].Revents&unix.POLLERR == 0
		}
		if in, err := unix.IoctlGetInt(int(fd), unix.TIOCINQ); err == nil {
			n = int64(in)
		}
	})
	return n, reader || err != nil
}

// widen makes room in a pipe for more than the 64 KiB that it begins with, so that
// a writer and a reader of much do not wait for each other at every turn. Where
// the system allows no more, the pipe stays as it is.
func widen(f *os.File) {
	const room = 1 << 20 // what a system lets everybody have: /proc/sys/fs/pipe-max-size
	conn, err := f.SyscallConn()
	if err != nil {
		return
	}
	_ = conn.Control(func(fd uintptr) {
		if have, err := unix.FcntlInt(fd, unix.F_GETPIPE_SZ, 0); err == nil && have < room {
			_, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, room)
		}
	})
}
