//go:build !windows

package output

import (
	"context"
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// closedEvery is how often Closed looks, in milliseconds.
const closedEvery = 250

// Closed waits until nobody reads from f, a pipe or a socket, and returns true;
// or until ctx ends, and returns false. Of other files it says false at once.
func Closed(ctx context.Context, f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0 {
		return false
	}
	conn, err := f.SyscallConn()
	if err != nil {
		return false
	}
	var fd int32
	if err := conn.Control(func(n uintptr) { fd = int32(n) }); err != nil { // Fd would make it blocking
		return false
	}
	for ctx.Err() == nil {
		fds := []unix.PollFd{{Fd: fd}}
		n, err := unix.Poll(fds, closedEvery)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return false
		}
		if n > 0 && fds[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0 {
			return true
		}
	}
	return false
}
