package metadata

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

// Options are what Load needs of the world. The zero Options reads files and
// addresses, but no standard input and no environment.
type Options struct {
	Stdin    io.Reader                   // what - reads
	Getenv   func(string) (string, bool) // as os.LookupEnv; nil: nothing is set
	Now      time.Time                   // the moment that durations in specs count from
	HTTP     *http.Client                // nil: a client that gives up after 5 s
	Decoders []string                    // the names that key: and value: may have; nil: those of kcm
}

var errTodo = errors.New("not built yet")

// Load reads the sources and merges them into one view.
func Load(ctx context.Context, sources []string, opt Options) (*View, error) {
	return nil, errTodo
}
