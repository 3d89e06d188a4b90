package output

import (
	"errors"
	"io"
	"syscall"
)

// errNoData is what Windows says of a pipe that is being closed.
const errNoData = syscall.Errno(232)

func isClosedPipe(err error) bool {
	return errors.Is(err, syscall.ERROR_BROKEN_PIPE) || errors.Is(err, errNoData) || errors.Is(err, io.ErrClosedPipe)
}
