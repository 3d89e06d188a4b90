package cmd

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/settings"
	"github.com/kcm-cli/kcm/internal/source"
	"github.com/kcm-cli/kcm/internal/spec"
)

// boundFlags are consume's flags that say where reading begins and ends, besides
// -o, -e and -n, as they were typed.
type boundFlags struct {
	since, until string
	late         time.Duration
	perPartition int64
	timeout      time.Duration
	min          int64
}

// boundOptions are what a run needs of them.
type boundOptions struct {
	perPartition int64         // noLimit, or records of each partition and stream
	timeout      time.Duration // 0: nothing is waited for in vain
	min          int64
}

func addBoundFlags(fs *pflag.FlagSet, f *boundFlags) {
	fs.StringVar(&f.since, "since", "", "only records of this `TIME` or later, such as -1h or 2026-03-03; see kcm help specs")
	fs.StringVar(&f.until, "until", "", "only records before this `TIME`, and then stop")
	fs.DurationVar(&f.late, "late", 0, "look for records of the time window in those that were written up to `TIME` after its end")
	fs.Int64Var(&f.perPartition, "num-per-partition", noLimit, "stop reading a partition after `N` records of it; -1 is no limit")
	fs.DurationVar(&f.timeout, "timeout", 0, "stop when nothing came for `TIME`; 0 is never")
	fs.Int64Var(&f.min, "min", 0, "exit 1 if fewer than `N` records were written")
}

// rivals adds the pairs of bounds that contradict each other.
func (f *consumeFlags) boundRivals(add func(both bool, a, b rival)) {
	b := &f.bounds
	empty := func(text *string) func() { return func() { *text = "" } }
	offset := rival{"offset", "-o", func() { f.offsets = nil }}
	until := rival{"until", "--until", empty(&b.until)}
	add(len(f.offsets) > 0 && b.since != "", offset, rival{"since", "--since", empty(&b.since)})
	add(len(f.offsets) > 0 && b.until != "", offset, until)
	f.tailRivals(add)
	add(b.until != "" && f.follow, until, rival{"follow", "--follow", func() { f.follow = false }})
	add(f.num >= 0 && b.min > f.num,
		rival{"num", fmt.Sprintf("-n %d", f.num), func() { f.num = noLimit }},
		rival{"min", fmt.Sprintf("--min %d", b.min), func() { b.min = 0 }})
}

// unlimit drops the limits that were set farther from the command line than
// --follow was: they would end it.
func (f *consumeFlags) unlimit(env *Env, cmd *cobra.Command) {
	if !f.follow {
		return
	}
	farther := func(name string) bool { return given(env, cmd, "follow") > given(env, cmd, name) }
	if f.num >= 0 && farther("num") {
		f.num = noLimit
	}
	if f.bounds.perPartition >= 0 && farther("num-per-partition") {
		f.bounds.perPartition = noLimit
	}
	if f.bounds.timeout > 0 && farther("timeout") {
		f.bounds.timeout = 0
	}
}

// setBounds decides where the run begins and whether it has an end.
func (o *consumeOptions) setBounds(cmd *cobra.Command, f consumeFlags) (err error) {
	if err := o.checkNumbers(cmd, f); err != nil {
		return err
	}
	if o.offsets, err = spec.ParseOffsets(f.offsets, o.started); err != nil {
		return err
	}
	if err := o.setWindow(cmd, f.bounds); err != nil {
		return err
	}
	if f.order.tail >= 0 { // what is no part of the last records is read from the end on
		o.offsets = o.offsets.WithDefault(spec.Range{Start: spec.Bound{Kind: spec.End}})
	}
	stops, err := o.stops()
	if err != nil {
		return err
	}
	o.bounds = boundOptions{perPartition: f.bounds.perPartition, timeout: f.bounds.timeout, min: f.bounds.min}
	limited := f.num >= 0 || f.bounds.perPartition >= 0 || f.bounds.timeout > 0
	o.exit = (f.exitAtEnd || stops) && !f.follow
	o.bounded = o.exit || (limited && !f.follow)
	o.promised = o.exit || stops || limited
	o.start = spec.Bound{Kind: spec.End}
	if o.bounded {
		o.start = spec.Bound{Kind: spec.Start}
	}
	return nil
}

// checkNumbers refuses numbers and durations that mean nothing.
func (o *consumeOptions) checkNumbers(cmd *cobra.Command, f consumeFlags) error {
	at := func(name string) string { return placeOf(o.env, cmd, name) }
	limit := func(name string, n int64) error {
		if n < noLimit {
			return fault.New(fault.Usage, "%s %d is not allowed: a number of records is 0 or more, or -1 for no limit", at(name), n)
		}
		return nil
	}
	positive := func(name string, d time.Duration) error {
		if d < 0 {
			return fault.New(fault.Usage, "%s %s is not allowed: a time is not negative", at(name), d)
		}
		return nil
	}
	for _, err := range []error{
		limit("num", f.num), limit("num-per-partition", f.bounds.perPartition), limit("tail", f.order.tail),
		positive("late", f.bounds.late), positive("timeout", f.bounds.timeout),
	} {
		if err != nil {
			return err
		}
	}
	if f.bounds.min < 0 {
		return fault.New(fault.Usage, "%s %d is not allowed: a number of records is 0 or more", at("min"), f.bounds.min)
	}
	return nil
}

// setWindow puts the window of --since and --until in the place of a -o, and
// moves the ends of windows by --late.
func (o *consumeOptions) setWindow(cmd *cobra.Command, f boundFlags) error {
	if f.since != "" || f.until != "" {
		w, err := spec.ParseWindow(f.since, f.until, o.started)
		if err != nil {
			name := "until"
			if _, bad := spec.ParseTime(f.since, o.started); f.since != "" && bad != nil {
				name = "since"
			}
			return fault.New(fault.Usage, "%s: %w", placeOf(o.env, cmd, name), err)
		}
		o.offsets = o.offsets.WithDefault(w)
	}
	if f.late == 0 {
		return nil
	}
	// Rounded up: rather a record too many is looked at than one too few.
	late, some := o.offsets.WithLate((f.late + time.Millisecond - 1).Milliseconds())
	if !some && given(o.env, cmd, "late") == settings.CommandLine {
		return fault.New(fault.Usage, "--late needs a time window that ends").WithHint("--until TIME, or -o @TIME:TIME")
	}
	o.offsets = late
	return nil
}

// stops reports whether a spec of the command line gives the run an end.
func (o *consumeOptions) stops() (stops bool, err error) {
	for _, r := range o.offsets.Ranges() {
		if r.Start.Kind == spec.Stored && !o.stores() {
			return false, stored("-o")
		}
		stops = stops || r.Stop.Given()
	}
	return stops, nil
}

// writesNothing reports whether the limits leave nothing to be written.
func (o *consumeOptions) writesNothing() bool { return o.limit == 0 || o.bounds.perPartition == 0 }

// tellAhead tells that a time window begins or ends later than now.
func (o *consumeOptions) tellAhead() {
	r, _ := o.offsets.Default()
	ahead := func(b spec.Bound) bool { return b.Kind == spec.Time && b.N > o.started.UnixMilli() }
	if ahead(r.Start) && !o.exit {
		o.env.run.notices.Notef("%s lies ahead: records of an earlier time are left out", momentOf(r.Start))
	}
	if ahead(r.Stop) && o.exit {
		o.env.run.notices.Notef("%s lies ahead: reading stops at the ends that there are now", momentOf(r.Stop))
	}
}

// tellEmpty tells that a time window held nothing.
func (o *consumeOptions) tellEmpty(stats source.Stats) {
	r, _ := o.offsets.Default()
	since, until := r.Start.Kind == spec.Time, r.Stop.Kind == spec.Time
	if stats.Records+stats.Dropped > 0 || o.filter != nil || !since && !until {
		return
	}
	n := o.env.run.notices
	switch {
	case since && until:
		n.Notef("the window from %s up to %s holds no record; times out of order need --late", momentOf(r.Start), momentOf(r.Stop))
	case since:
		n.Notef("no record has a time of %s or later", momentOf(r.Start))
	default:
		n.Notef("the window before %s holds no record; times out of order need --late", momentOf(r.Stop))
	}
}

// momentOf is the time of a bound, as people write it.
func momentOf(b spec.Bound) string { return b.String()[1:] }

// enough is how a run ends that is done: with an error if it has written less
// than --min asks for. One that failed, or was cut short, has not given an answer.
func (o *consumeOptions) enough(stats source.Stats, err error) error {
	if err != nil || stats.Records >= o.bounds.min {
		return err
	}
	if stats.Records == 1 {
		return fault.New(fault.Failed, "1 record was written, --min wants %d", o.bounds.min)
	}
	return fault.New(fault.Failed, "%d records were written, --min wants %d", stats.Records, o.bounds.min)
}
