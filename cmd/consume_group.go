package cmd

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/settings"
	"github.com/kcm-cli/kcm/internal/source"
	"github.com/kcm-cli/kcm/internal/spec"
)

// groupFlags are consume's flags about consumer groups, as they were typed.
type groupFlags struct{ name, protocol string }

// groupOptions are what a run needs of them.
type groupOptions struct {
	name     string // empty is no group
	protocol source.GroupProtocol
}

func (f *groupFlags) add(fs *pflag.FlagSet) {
	fs.StringVarP(&f.name, "group", "g", "", "join the consumer group `NAME` on every cluster: begin at its commits, commit what is written")
	fs.StringVar(&f.protocol, "group-protocol", "", "join with the `classic` or the consumer protocol, whatever the group has")
}

// setGroup checks what a group goes together with.
func (o *consumeOptions) setGroup(cmd *cobra.Command, f consumeFlags) error {
	switch {
	case cmd.Flags().Changed("group") && f.group.name == "":
		return fault.New(fault.Usage, "-g needs the name of a group")
	case f.group.protocol != "":
		if err := oneOf(placeOf(o.env, cmd, "group-protocol"), f.group.protocol, string(source.GroupClassic), string(source.GroupServer)); err != nil {
			return err
		}
		if f.group.name == "" && given(o.env, cmd, "group-protocol") == settings.CommandLine {
			return fault.New(fault.Usage, "--group-protocol is about a group, and there is none").WithHint("-g NAME")
		}
	}
	o.group = groupOptions{name: f.group.name, protocol: source.GroupProtocol(f.group.protocol)}
	if o.group.name == "" {
		return nil
	}
	if given(o.env, cmd, "on-gap") == settings.Default {
		o.onGap = source.GapStop
	}
	return o.groupRivals(cmd, f)
}

// groupRivals refuses what chooses records in another way than by commits.
func (o *consumeOptions) groupRivals(cmd *cobra.Command, f consumeFlags) error {
	no := func(what, hint string) error {
		return fault.New(fault.Usage, "%s does not go with -g: a group begins at its commits, and members share the partitions", what).WithHint("%s", hint)
	}

	switch {
	case o.files.state != "":
		return no("--state", "commits of the group keep the positions")
	case len(f.partitions) > 0:
		return no("-p", "-o group:"+o.group.name+" begins at its commits without joining it")
	case f.order.tail >= 0:
		return no(placeOf(o.env, cmd, "tail"), "leave one of the two out")
	case f.bounds.since != "":
		return no(placeOf(o.env, cmd, "since"), "leave one of the two out")
	case f.bounds.until != "":
		return no(placeOf(o.env, cmd, "until"), "leave one of the two out")
	}
	offsets, err := spec.ParseOffsets(f.offsets, o.started)
	if err != nil {
		return nil //nolint:nilerr // told when the bounds are looked at
	}
	for _, r := range offsets.Ranges() {
		if _, timed := r.Window(); timed {
			return no("a time", "-o start, or an offset, where there is no commit")
		}
	}
	return nil
}

// stores reports whether positions outlive the run, so that stored is a place.
func (o *consumeOptions) stores() bool { return o.group.name != "" || o.files.state != "" }

// options hands the group to the engine.
func (g groupOptions) options(opts *source.Options) {
	opts.Group, opts.GroupProtocol = g.name, g.protocol
}
