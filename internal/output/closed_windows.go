package output

import (
	"context"
	"os"
)

// Closed returns false: on Windows only a write tells that nobody reads any more.
func Closed(_ context.Context, _ *os.File) bool { return false }
