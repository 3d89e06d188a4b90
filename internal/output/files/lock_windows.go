package files

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockFile locks an open file until it is closed, and reports whether no other
// process has. The lock is on a byte that no file has: those below it could not
// be read by anybody else meanwhile.
func lockFile(f *os.File) bool {
	at := &windows.Overlapped{OffsetHigh: 1<<31 - 1}
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, at)
	return !errors.Is(err, windows.ERROR_LOCK_VIOLATION) && !errors.Is(err, windows.ERROR_IO_PENDING)
}
