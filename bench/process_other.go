//go:build !unix

package main

import (
	"os"
	"os/exec"
)

// peakRSS is not told here.
func peakRSS(*os.ProcessState) int64 { return 0 }

func killWhole(*exec.Cmd) {}
