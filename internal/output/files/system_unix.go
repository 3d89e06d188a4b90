//go:build !windows

package files

import (
	"os"
	"syscall"
)

// fileID is what a file is, whatever its names.
type fileID struct{ dev, ino uint64 }

func idOf(info os.FileInfo) (fileID, bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fileID{}, false
	}
	return fileID{uint64(st.Dev), st.Ino}, true //nolint:unconvert // Dev is smaller on some systems
}

// openLimit is how many files may be open at once: no more than half of what the
// process may have, as connections need some too.
func openLimit() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 64
	}
	return int(max(1, min(256, limit.Cur/2))) //nolint:gosec // between 1 and 256
}

// syncDir has the entries of a directory on the disk.
func syncDir(dir string) error {
	d, err := os.Open(dir) //nolint:gosec // one of ours
	if err != nil {
		return err
	}
	err = d.Sync()
	if closed := d.Close(); err == nil {
		err = closed
	}
	return err
}
