//go:build !windows

package cluster

import "syscall"

// The system's errors by what they mean for a connection.
const (
	errRefused   = syscall.ECONNREFUSED
	errNoRoute   = syscall.EHOSTUNREACH
	errNoNetwork = syscall.ENETUNREACH
	errReset     = syscall.ECONNRESET
	errAborted   = syscall.ECONNABORTED
	errPipe      = syscall.EPIPE
)
