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
