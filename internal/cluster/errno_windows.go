package cluster

import "syscall"

// The system's errors by what they mean for a connection. Windows has numbers of
// its own (WinSock), which package syscall does not translate.
const (
	errRefused   = syscall.Errno(10061)
	errNoRoute   = syscall.Errno(10065)
	errNoNetwork = syscall.Errno(10051)
	errReset     = syscall.Errno(10054)
	errAborted   = syscall.Errno(10053)
	errPipe      = syscall.EPIPE
)
