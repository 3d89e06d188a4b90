//go:build !windows

package files

import (
	"errors"
	"os"
	"syscall"
)

// lockFile locks an open file until it is closed, and reports whether no other
// process has. A file system without locks lets everybody have the file.
func lockFile(f *os.File) bool {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) //nolint:gosec // a descriptor is small
		if !errors.Is(err, syscall.EINTR) {
			return !errors.Is(err, syscall.EWOULDBLOCK)
		}
	}
}
