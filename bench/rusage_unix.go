//go:build unix

package main

import (
	"os"
	"runtime"
	"syscall"
)

// peakRSS is the most memory that the process held, in bytes. Linux counts in
// KiB, macOS in bytes.
func peakRSS(ps *os.ProcessState) int64 {
	ru, ok := ps.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return int64(ru.Maxrss) //nolint:unconvert // its width differs between systems
	}
	return int64(ru.Maxrss) * 1024 //nolint:unconvert // its width differs between systems
}
