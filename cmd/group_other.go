//go:build !unix

package cmd

import (
	"os"
	"os/exec"
)

// leadGroup does nothing: there are no process groups here.
func leadGroup(*exec.Cmd) {}

// signalGroup signals p alone.
func signalGroup(p *os.Process, s os.Signal) error { return p.Signal(s) }
