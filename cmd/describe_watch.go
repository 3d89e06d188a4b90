package cmd

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/metadata"
	"github.com/kcm-cli/kcm/internal/output"
	"github.com/kcm-cli/kcm/internal/settings"
)

// The interval of a watch. One that is shorter would ask clusters more than
// people can read.
const (
	defaultInterval = 2 * time.Second
	leastInterval   = 100 * time.Millisecond
)

func addWatchFlags(cmd *cobra.Command, o *describeOptions) {
	cmd.Flags().BoolVar(&o.watch, "watch", false, "read and ask again, until a signal ends it")
	cmd.Flags().DurationVar(&o.interval, "interval", defaultInterval, "with --watch: again after `DURATION`")
	completeFlags(cmd, map[string]completeFunc{"interval": oneOfWords("1s", "2s", "5s", "10s", "30s", "1m")})
}

func (o *describeOptions) checkWatch(cmd *cobra.Command) error {
	switch {
	case o.interval < leastInterval:
		return fault.New(fault.Usage, "%s %s is not allowed: the shortest is %s", placeOf(o.env, cmd, "interval"), o.interval, leastInterval)
	case !o.watch && given(o.env, cmd, "interval") == settings.CommandLine:
		return fault.New(fault.Usage, "--interval without --watch is not allowed").
			WithHint("%s --watch --interval %s", cmd.CommandPath(), o.interval)
	}
	return nil
}

// follow shows everything again and again: every interval, and at once when the
// metadata has changed. A signal ends it, and so does a stdout that nobody reads.
func (o *describeOptions) follow(ctx context.Context, find finder) error {
	whole := ctx
	ctx, done := whileRead(ctx, o.env.Stdout)
	defer done()
	err := o.rounds(ctx, find)
	if _, signaled := stoppedBy(whole); signaled || isClosed(err) || isClosed(context.Cause(ctx)) {
		return nil
	}
	return err
}

func (o *describeOptions) rounds(ctx context.Context, find finder) error {
	in, err := findInputs(o.env)
	if err != nil {
		return err
	}
	meta := in.watch(ctx, o.env, watchOptions{refresh: o.interval, read: o.env.run.metrics.Refreshed})
	view, err := meta.load(ctx)
	if err != nil {
		return err
	}
	p := newPool(o.env, o.interval)
	defer p.close()
	o.inquirer = p
	show := func(document) error { return nil }
	if !o.silent {
		d := newDisplay(o)
		defer d.close()
		show = d.round
	}
	news, failed := views(ctx, meta)
	tick := time.NewTicker(o.interval)
	defer tick.Stop()
	for first := true; ; first = false {
		doc, _, err := find(ctx, view)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && (first || doc == nil):
			return err
		}
		if err := show(doc); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-failed:
			return err
		case view = <-news:
			tick.Reset(o.interval)
		case <-tick.C:
		}
	}
}

// views follows the metadata. Of several views that come while a round is being
// made, the last one counts.
func views(ctx context.Context, meta *watching) (<-chan *metadata.View, <-chan error) {
	news, failed := make(chan *metadata.View, 1), make(chan error, 1)
	go func() {
		err := meta.run(ctx, func(view *metadata.View) error {
			select {
			case <-news:
			default:
			}
			news <- view // there is room: nobody else sends
			return nil
		})
		if err != nil {
			failed <- err
		}
	}()
	return news, failed
}

// documentText is a round as a pipe gets it.
func (o *describeOptions) documentText(doc document) (buf []byte, err error) {
	if s, ok := doc.(streamed); ok && o.output == "json" {
		err = s.writeJSON(func(piece []byte) error { buf = append(buf, piece...); return nil }, true)
		return buf, err
	}
	switch o.output {
	case "json":
		return output.AppendJSONLine(buf, doc)
	case "yaml":
		return output.AppendYAML(append(buf, "---\n"...), doc)
	default:
		return o.appendTables(buf, doc), nil
	}
}
