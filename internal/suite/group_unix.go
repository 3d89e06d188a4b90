//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// together makes the end of cmd that of all that it has started: go test leaves
// its test binaries behind otherwise, and these their brokers.
func together(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
}
