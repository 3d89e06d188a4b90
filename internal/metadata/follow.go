package metadata

import (
	"context"
	"time"

	"github.com/kcm-cli/kcm/internal/fault"
)

// delays are how long things may take. Tests shorten them.
type delays struct {
	coalesce time.Duration // news often come in pairs: wait this long for the rest
	look     time.Duration // how often files are looked at that do not stand still yet
	still    time.Duration // how long a file that is written in place must have stood still
	sure     time.Duration // the same, if the version is bad or removes something
}

func usualDelays() delays {
	return delays{coalesce: 10 * time.Millisecond, look: 200 * time.Millisecond, still: time.Second, sure: 3 * time.Second}
}

// follower is the state of one Run.
type follower struct {
	w     *Watcher
	apply func(*View) error
	notes notes
	files map[string]*tracked

	news     bool      // an address has news that no reading has taken yet
	again    bool      // a bad version is to be read once more
	cached   *outcome  // a reading whose files must stand still for longer
	nextPoll time.Time // when everything is looked at, whatever happens

	failures  int       // in a row; 0: all is well
	last      error     // of the failures
	told      string    // the reason that was told last
	nextCount time.Time // when the same failure counts again
}

// outcome is what a reading led to.
type outcome struct {
	taken *reading
	view  *View
	err   error
	sure  bool // it is bad or removes something
}

// step looks at everything and acts on what it finds. It returns how long to
// wait for news before the next step, and the error that ends the run.
func (f *follower) step(ctx context.Context, deep bool) (time.Duration, error) {
	now := time.Now()
	if deep && !now.Before(f.nextPoll) {
		f.nextPoll = now.Add(f.w.opt.Refresh)
	}
	f.look(now, deep)
	if f.failures > 0 && !now.Before(f.nextCount) {
		if f.dirty() {
			// It is still bad, and what will come of the change is not known yet.
			if err := f.fail(now, f.last); err != nil {
				return 0, err
			}
		} else {
			f.again, f.cached = true, nil
		}
	}
	wait, err := f.act(ctx, now)
	if err != nil {
		return 0, err
	}
	if f.failures > 0 && !f.again {
		wait = min(wait, f.nextCount.Sub(now))
	}
	return max(min(wait, f.nextPoll.Sub(now)), time.Millisecond), nil
}

// act reads what changed as soon as it stands still, and returns when to look
// again.
func (f *follower) act(ctx context.Context, now time.Time) (time.Duration, error) {
	if !f.dirty() && !f.news && !f.again {
		return f.w.opt.Refresh, nil
	}
	d := f.w.delays
	if wait := f.unsettled(now, d.still); wait > 0 {
		return min(wait, d.look), nil
	}
	if f.cached == nil {
		if f.cached = f.read(ctx, now); f.cached == nil {
			return d.coalesce, nil
		}
	}
	if f.cached.sure {
		if wait := f.unsettled(now, d.sure); wait > 0 {
			return min(wait, d.look), nil
		}
	}
	return d.coalesce, f.conclude(ctx, now) // a look then watches what the new version names
}

// read reads all sources; nil if something changed meanwhile.
func (f *follower) read(ctx context.Context, now time.Time) *outcome {
	r := f.w.newReading()
	o := &outcome{taken: r}
	o.view, o.err = f.w.load(ctx, r)
	if f.differs(r) {
		for path, got := range r.files {
			if t := f.files[path]; got.moved && t != nil && !t.dirty {
				t.dirty, t.inPlace, t.changed = true, true, now
			}
		}
		return nil
	}
	if f.look(now, false) {
		return nil
	}
	o.sure = o.err != nil || removes(f.w.view, o.view)
	return o
}

// conclude takes the cached outcome for good.
func (f *follower) conclude(ctx context.Context, now time.Time) error {
	o := f.cached
	f.files = adopt(f.files, o.taken, o.err != nil)
	f.cached, f.news, f.again = nil, false, false
	if o.err != nil {
		return f.fail(now, o.err)
	}
	if !o.view.sameAs(f.w.view) {
		if err := f.apply(o.view); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return f.fail(time.Now(), err)
		}
		f.w.view = o.view
	}
	recovered := f.told != ""
	f.failures, f.told, f.last = 0, "", nil
	f.w.opt.Read(nil)
	if recovered && f.w.opt.Recovered != nil {
		f.w.opt.Recovered()
	}
	return nil
}

// fail counts a failure and tells its reason if that is new. It returns the
// error if it was one too many; that is told by whom Run returns to.
func (f *follower) fail(now time.Time, err error) error {
	f.failures++
	f.w.opt.Read(err)
	f.last, f.nextCount = err, now.Add(f.w.opt.Refresh)
	if n := f.w.opt.MaxFailures; n > 0 && f.failures >= n {
		if n == 1 {
			return fault.New(fault.Failed, "the metadata could not be refreshed: %w", err)
		}
		return fault.New(fault.Failed, "the metadata could not be refreshed %d times in a row: %w", n, err)
	}
	if reason := err.Error(); reason != f.told {
		f.told = reason
		if f.w.opt.Failed != nil {
			f.w.opt.Failed(err)
		}
	}
	return nil
}
