//go:build unix

package testscripts

import (
	"os"
	"syscall"
)

// holdSignals are the signals that stop a program and let it go on.
func holdSignals() map[string]os.Signal {
	return map[string]os.Signal{"STOP": syscall.SIGSTOP, "CONT": syscall.SIGCONT}
}
