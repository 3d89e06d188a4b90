package cmd

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/kcm-cli/kcm/internal/metadata"
)

// watching is the metadata of a command that goes on while it changes. Its
// methods are for one goroutine at a time, load before run.
type watching struct {
	in      Inputs
	env     *Env
	watcher *metadata.Watcher // nil for addresses alone, which never change
}

// watchOptions say how the metadata is followed.
type watchOptions struct {
	refresh     time.Duration // how often everything is looked at; 0: metadata.DefaultRefresh
	read        func(error)   // is told of each version that was read while following; nil: nobody
	maxFailures int           // readings that may fail in a row before run gives up; 0: any number
}

// watch follows the inputs. It reads nothing yet; the end of ctx interrupts the
// reading of standard input.
func (in Inputs) watch(ctx context.Context, env *Env, opt watchOptions) *watching {
	w := &watching{in: in, env: env}
	if len(in.Bootstrap) > 0 {
		return w
	}
	n := env.run.notices
	w.watcher = metadata.NewWatcher(in.Sources, metadata.WatchOptions{
		Options:     metadata.Options{Stdin: interruptible{ctx.Done(), env.Stdin}, Getenv: env.LookupEnv},
		Clock:       env.Now,
		Refresh:     opt.refresh,
		MaxFailures: opt.maxFailures,
		Read:        opt.read,
		Failed:      func(err error) { n.Warnf("%v; what was read before stays in force", err) },
		Recovered:   func() { n.Notef("the metadata can be read again") },
	})
	return w
}

// load returns the first view, as Inputs.load does. It contacts no broker.
func (w *watching) load(ctx context.Context) (*metadata.View, error) {
	if w.watcher == nil {
		return w.in.load(ctx, w.env)
	}
	view, err := w.watcher.Load(ctx)
	if _, signaled := stoppedBy(ctx); signaled && err != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, err
	}
	if view, err = view.WithRegistries(w.in.Registries); err != nil {
		return nil, err
	}
	return view, w.in.checkScopes(view)
}

// run calls apply with each later view, until ctx ends. What the command line
// says of a cluster that is gone by then waits for its return.
func (w *watching) run(ctx context.Context, apply func(*metadata.View) error) error {
	if w.watcher == nil {
		<-ctx.Done()
		return nil
	}
	return w.watcher.Run(ctx, func(view *metadata.View) error {
		view, err := view.WithRegistries(w.in.registriesOf(view))
		if err != nil {
			return err
		}
		return apply(view)
	})
}

// registriesOf are the values of --registry without those for clusters that the
// view does not have.
func (in Inputs) registriesOf(view *metadata.View) []string {
	return slices.DeleteFunc(slices.Clone(in.Registries), func(arg string) bool {
		name, _, scoped := strings.Cut(arg, "=") // an address may hold a = too
		return scoped && !strings.ContainsAny(name, ":/?#") && view.Cluster(name) == nil
	})
}
