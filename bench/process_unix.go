//go:build unix

package main

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// peakRSS is the most memory that the process, or one of the children that it
// waited for, held, in bytes. Linux counts in KiB, macOS in bytes.
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

// killWhole has the end of the context kill a pipeline with all its programs.
func killWhole(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
