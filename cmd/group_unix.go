//go:build unix

package cmd

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// leadGroup lets a command that is about to start lead a process group.
func leadGroup(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// signalGroup signals the process group that p leads.
func signalGroup(p *os.Process, s os.Signal) error {
	number, ok := s.(syscall.Signal)
	if !ok {
		return p.Signal(s)
	}
	err := syscall.Kill(-p.Pid, number)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}
