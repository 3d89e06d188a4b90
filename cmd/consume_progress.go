package cmd

import "github.com/kcm-cli/kcm/internal/source"

// showProgress begins to tell how far the run is that opts describe.
func (o *consumeOptions) showProgress(opts *source.Options) *progress {
	opts.Monitor = new(source.Monitor)
	env := o.env
	return startProgress(env.run.notices, opts.Monitor, progressOptions{
		live:  env.StderrTerminal && (!env.StdoutTerminal || o.readBy() == nil) && env.Getenv("TERM") != "dumb",
		off:   o.progress == "off",
		limit: o.limit,
		width: env.StderrWidth,
	})
}
