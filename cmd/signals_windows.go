package cmd

import (
	"os"
	"syscall"
)

// failedWrites are the signals that come with the error of a write.
func failedWrites() []os.Signal { return []os.Signal{syscall.SIGPIPE} }
