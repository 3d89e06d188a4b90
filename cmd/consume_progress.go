package cmd

import (
	"context"
	"time"

	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/metrics"
	"github.com/kcm-cli/kcm/internal/source"
)

// showProgress begins to tell how far the run is that opts describe.
func (o *consumeOptions) showProgress(opts *source.Options) *progress {
	m := new(source.Monitor)
	opts.Monitor = m
	env := o.env
	env.run.metrics.Watch(func() source.Snapshot { return m.Snapshot(time.Now()) })
	return startProgress(env.run.notices, m.Snapshot, progressOptions{
		live:  env.StderrTerminal && !o.seen() && env.Getenv("TERM") != "dumb",
		off:   o.progress == "off",
		limit: o.limit,
		width: env.StderrWidth,
	})
}

// serveMetrics shows the run to Prometheus if that is wanted, until stop is
// called. An address that cannot be had ends the run before it has begun.
func serveMetrics(ctx context.Context, env *Env, addr string) (stop func(), err error) {
	if addr == "" {
		return func() {}, nil
	}
	l, err := metrics.Listen(ctx, addr)
	if err != nil {
		return nil, fault.New(fault.Usage, "--metrics: %w", err).WithHint("%s", fault.HintOf(err))
	}
	env.run.metrics = metrics.New()
	env.run.notices.Notef("metrics at %s", metrics.URL(l))
	return env.run.metrics.Serve(ctx, l), nil
}

// seen reports whether records go to a terminal.
func (o *consumeOptions) seen() bool { return o.env.StdoutTerminal && o.readBy() != nil }
