package metadata

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/kcm-cli/kcm/internal/fault"
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
	Read        func(err error)  // a version was read and, without an error, is good; each failure that counts is one; nil: nobody
	Recovered   func()           // a reading is good again after Failed; nil: nobody
}

// Watcher follows metadata sources: it reads them again when they change. Its
// methods are for one goroutine at a time.
type Watcher struct {
	sources   []string
	opt       WatchOptions
	delays    delays
	notes     func() notes
	transport *http.Transport // of a client of our own; nil: the client was given, or none is needed

	once    map[string]string   // what standard input and pipes held
	answers map[string]answer   // what addresses answered last
	files   map[string]*tracked // what the last good reading took
	view    *View               // the last good one
}

// NewWatcher returns a Watcher of the sources. Nothing is read yet.
func NewWatcher(sources []string, opt WatchOptions) *Watcher {
	if opt.Clock == nil {
		opt.Clock = time.Now
	}
	if opt.Read == nil {
		opt.Read = func(error) {}
	}
	if opt.Refresh <= 0 {
		opt.Refresh = DefaultRefresh
	}
	w := &Watcher{
		sources: slices.Clone(sources), opt: opt, delays: usualDelays(), notes: newNotes,
		once: map[string]string{}, answers: map[string]answer{},
	}
	if slices.ContainsFunc(sources, isAddress) {
		w.ownClient()
	}
	return w
}

// Load reads the sources for the first time, as the function Load does, and
// remembers what it read. Standard input is read once for all, as a pipe is. The
// clusters of this and of later views also know what the files held that they
// name, which Cluster.SameAs compares.
func (w *Watcher) Load(ctx context.Context) (*View, error) {
	clear(w.answers)
	r := w.newReading()
	r.first = true
	v, err := w.load(ctx, r)
	if err != nil {
		return nil, err
	}
	w.view, w.files = v, adopt(nil, r, false)
	return v, nil
}

func (w *Watcher) newReading() *reading {
	return &reading{once: w.once, files: map[string]taken{}, answers: w.answers}
}

// load makes one reading.
func (w *Watcher) load(ctx context.Context, r *reading) (*View, error) {
	opt := w.opt.Options
	opt.Now, opt.from = w.opt.Clock(), r
	v, err := Load(ctx, w.sources, opt)
	if err == nil {
		err = v.findFiles(r, w.view)
	}
	if err != nil {
		return nil, err
	}
	return v, nil
}

// Run follows the sources, after Load, until ctx ends, which is no error. It
// calls apply, one call at a time, with each good view that differs from the
// last one in more than where things stand. An error of apply counts as a bad
// version: the last good view stays, and apply is tried again at each Refresh.
//
// What was replaced as a whole (by a rename, by another target of a link, by an
// answer over HTTP) is acted on at once. What was written in place must stand
// still for a second before, and for three if it removes something or is bad.
//
// Run ends with an error only after WatchOptions.MaxFailures failures in a row;
// each bad version counts as one, and so does each Refresh during which it stays.
// That error is not handed to WatchOptions.Failed.
func (w *Watcher) Run(ctx context.Context, apply func(*View) error) error {
	if w.view == nil {
		return fault.New(fault.Failed, "metadata is followed before it was read")
	}
	answers, stop := w.startPolls(ctx)
	defer stop()
	f := &follower{w: w, apply: apply, notes: w.notes(), files: w.files, nextPoll: time.Now().Add(w.opt.Refresh)}
	defer func() {
		f.notes.close()
		w.files = f.files
	}()
	for deep := false; ctx.Err() == nil; {
		wait, err := f.step(ctx, deep)
		if err != nil {
			return err
		}
		deep = f.sleep(ctx, wait, answers)
	}
	return nil
}

// sleep waits for news, and then for what comes with them. It reports whether
// there were none for as long as it should wait.
func (f *follower) sleep(ctx context.Context, wait time.Duration, answers <-chan news) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	case <-f.notes.ready():
	case n := <-answers:
		f.take(n)
	}
	timer.Reset(f.w.delays.coalesce)
	for {
		select {
		case <-ctx.Done():
			return false
		case <-timer.C:
			return false
		case <-f.notes.ready():
		case n := <-answers:
			f.take(n)
		}
	}
}

func (f *follower) take(n news) {
	f.w.answers[n.source] = n.answer
	f.news, f.cached = true, nil
}

// Watchable reports whether any source can change: all but standard input can.
func (w *Watcher) Watchable() bool {
	return slices.ContainsFunc(w.sources, func(s string) bool { return s != stdinName })
}

// isLocal reports whether a source is a path.
func isLocal(source string) bool {
	return source != stdinName && !strings.Contains(source, "://")
}
