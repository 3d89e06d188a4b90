package cmd

import (
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/settings"
	"github.com/kcm-cli/kcm/internal/source"
)

// orderFlags are consume's flags about the order of records, as they were typed.
type orderFlags struct {
	by   string
	wait time.Duration
	tail int64
}

// orderOptions are what a run needs of them.
type orderOptions struct {
	by   source.Order
	wait time.Duration
	tail int64 // noLimit: it does not begin at the last records
}

func addOrderFlags(fs *pflag.FlagSet, f *orderFlags) {
	fs.Int64Var(&f.tail, "tail", noLimit, "begin at the last `N` records of all partitions together, before filters; see kcm help specs")
	fs.StringVar(&f.by, "order", string(source.OrderNone), "`none` writes records as they come, timestamp merges all partitions by time")
	fs.DurationVar(&f.wait, "order-wait", 2*time.Second, "how long a follow with --order timestamp waits for partitions that are idle: `TIME`")
}

// tailRivals adds what says where to begin, too.
func (f *consumeFlags) tailRivals(add func(both bool, a, b rival)) {
	set := f.order.tail >= 0
	tail := rival{"tail", "--tail", func() { f.order.tail = noLimit }}
	add(set && len(f.offsets) > 0, tail, rival{"offset", "-o", func() { f.offsets = nil }})
	add(set && f.bounds.since != "", tail, rival{"since", "--since", func() { f.bounds.since = "" }})
	add(f.order.tail >= 0 && f.bounds.until != "", tail, rival{"until", "--until", func() { f.bounds.until = "" }})
}

// setOrder decides in which order records are written. It is called when the
// format is known.
func (o *consumeOptions) setOrder(cmd *cobra.Command, all consumeFlags) error {
	f := all.order
	if err := oneOf(placeOf(o.env, cmd, "order"), f.by, string(source.OrderNone), string(source.OrderTimestamp)); err != nil {
		return err
	}
	o.order = orderOptions{by: source.Order(f.by), wait: f.wait, tail: f.tail}
	ordered := o.order.by == source.OrderTimestamp
	numbered := o.format.Needs().Sequence
	switch {
	case f.wait < 0:
		return fault.New(fault.Usage, "%s %s is not allowed: a time is not negative", placeOf(o.env, cmd, "order-wait"), f.wait)
	case !ordered && given(o.env, cmd, "order-wait") == settings.CommandLine:
		return fault.New(fault.Usage, "--order-wait is for --order timestamp")
	case ordered && all.to.to != "":
		return fault.New(fault.Usage, "--to keeps the order of each partition, --order timestamp is for what is printed")
	case numbered && ordered:
		return fault.New(fault.Usage, "%%i numbers records as they come, --order timestamp writes them in another order").
			WithHint("kcm consume … --order timestamp | nl")
	case numbered && f.tail > 0:
		return fault.New(fault.Usage, "%%i numbers records as they come, --tail writes them in another order").
			WithHint("kcm consume … --tail N | nl")
	}
	return nil
}

// tellOrder tells how far the records that were written are not in order.
func (o *consumeOptions) tellOrder(stats source.Stats) {
	n := o.env.run.notices
	if stats.Late > 0 {
		n.Warnf("%s came late, behind later ones; --order-wait is %s", count(stats.Late, "record"), o.order.wait)
	}
	if stats.Back > 0 {
		n.Notef("%s out of order, as in the partitions themselves", count(stats.Back, "record"))
	}
}
