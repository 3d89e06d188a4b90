package files

import (
	"os"

	"golang.org/x/sys/unix"
)

// beginWriteback has a part of a file brought to the disk, without waiting for
// it. What fails will fail again when it is waited for.
func beginWriteback(f *os.File, from, n int64) {
	_ = unix.SyncFileRange(int(f.Fd()), from, n, unix.SYNC_FILE_RANGE_WRITE)
}
