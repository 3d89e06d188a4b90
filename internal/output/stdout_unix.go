//go:build !windows

package output

import (
	"errors"
	"io"
	"syscall"
)

func isClosedPipe(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe)
}
