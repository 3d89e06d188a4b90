//go:build !windows

package cmd

import (
	"os"
	"syscall"
)

// failedWrites are the signals that come with the error of a write: to a pipe
// that nobody reads, and to a file that has grown to its limit.
func failedWrites() []os.Signal { return []os.Signal{syscall.SIGPIPE, syscall.SIGXFSZ} }
