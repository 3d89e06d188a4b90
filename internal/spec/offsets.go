package spec

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/record"
)

// Offsets holds the values of a repeatable -o flag: a range for every split,
// and ranges for some. The zero Offsets holds none.
type Offsets struct {
	all   Range
	given bool
	some  map[scope]Range
	clash [2]string // see Clash
}

// scope names partitions; an empty cluster or topic stands for any.
type scope struct {
	cluster   string
	topic     string
	partition int32
}

// ParseOffsets reads the values of -o in their order, each a spec or
// [cluster/][topic:]partition=SPEC; several may share one value, parted by
// commas. Of two values for the same partitions the later holds.
func ParseOffsets(values []string, now time.Time) (Offsets, error) {
	var o Offsets
	for _, value := range values {
		if err := o.addList(value, now); err != nil {
			return Offsets{}, err
		}
	}
	return o, nil
}

// addList takes value apart at its commas, unless that leaves something that
// is no spec: a group's name may hold commas too.
func (o *Offsets) addList(value string, now time.Time) error {
	var list []entry
	for part := range strings.SplitSeq(value, ",") {
		e, err := parseEntry(part, now)
		if err != nil {
			list = nil
			break
		}
		list = append(list, e)
	}
	if list == nil {
		e, err := parseEntry(value, now)
		if err != nil {
			return err
		}
		list = []entry{e}
	}
	for _, e := range list {
		o.set(e)
	}
	return nil
}

func (o *Offsets) set(e entry) {
	if was, twice := o.some[e.scope]; e.scoped && twice && was != e.what {
		o.clash = [2]string{e.scope.String() + "=" + was.String(), e.scope.String() + "=" + e.what.String()}
	}
	if !e.scoped && o.given && o.all != e.what {
		o.clash = [2]string{o.all.String(), e.what.String()}
	}
	if !e.scoped {
		o.all, o.given = e.what, true
		return
	}
	if o.some == nil {
		o.some = map[scope]Range{}
	}
	o.some[e.scope] = e.what
}

// Clash returns two values that say different things of the same partitions; the later
// one counts. ok is false if there are none.
func (o Offsets) Clash() (first, second string, ok bool) {
	return o.clash[0], o.clash[1], o.clash != [2]string{}
}

// Clusters returns the clusters that values name, in alphabetical order.
func (o Offsets) Clusters() []string {
	var names []string
	for sc := range o.some {
		if sc.cluster != "" {
			names = append(names, sc.cluster)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Unused returns the scoped values that speak of none of the splits, each in
// the form in which it is typed.
func (o Offsets) Unused(splits []record.Split) []string {
	var list []string
	for sc, r := range o.some {
		if !slices.ContainsFunc(splits, sc.holds) {
			list = append(list, sc.String()+"="+r.String())
		}
	}
	slices.Sort(list)
	return list
}

func (sc scope) holds(s record.Split) bool {
	return sc.partition == s.Partition && (sc.cluster == "" || sc.cluster == s.Cluster) && (sc.topic == "" || sc.topic == s.Topic)
}

// String gives [CLUSTER/][TOPIC:]PARTITION.
func (sc scope) String() string {
	text := strconv.Itoa(int(sc.partition))
	if sc.topic != "" {
		text = sc.topic + ":" + text
	}
	if sc.cluster != "" {
		text = sc.cluster + "/" + text
	}
	return text
}

// For returns the range for a split: the one with the most specific scope, and
// false if no value speaks of it.
func (o Offsets) For(s record.Split) (Range, bool) {
	for _, sc := range []scope{
		{s.Cluster, s.Topic, s.Partition},
		{"", s.Topic, s.Partition},
		{s.Cluster, "", s.Partition},
		{"", "", s.Partition},
	} {
		if r, ok := o.some[sc]; ok {
			return r, true
		}
	}
	return o.all, o.given
}

// WithDefault returns the ranges with r for every split that has none of its own.
func (o Offsets) WithDefault(r Range) Offsets {
	o.all, o.given = r, true
	return o
}

// WithLate returns the ranges with their Late set to ms where they stop at a
// time, and whether there is such a one.
func (o Offsets) WithLate(ms int64) (late Offsets, some bool) {
	late = o
	set := func(r Range) Range {
		if r.Stop.Kind == Time {
			r.Late, some = ms, true
		}
		return r
	}
	late.all = set(o.all)
	late.some = maps.Clone(o.some)
	for sc, r := range o.some {
		late.some[sc] = set(r)
	}
	return late, some
}

// Starts reports whether any value says where to begin: a window may say only
// where to end.
func (o Offsets) Starts() bool {
	return slices.ContainsFunc(o.Ranges(), func(r Range) bool { return r.Start.Given() })
}

// Given reports whether there is any value at all.
func (o Offsets) Given() bool { return o.given || len(o.some) > 0 }

// Default returns the range that holds for every split without one of its own,
// and false if there is none.
func (o Offsets) Default() (Range, bool) { return o.all, o.given }

// Ranges returns every range, so that a caller can ask what they all need:
// an end, a stored position, a group.
func (o Offsets) Ranges() []Range {
	var list []Range
	if o.given {
		list = append(list, o.all)
	}
	for _, r := range o.some {
		list = append(list, r)
	}
	return list
}

type entry struct {
	scope  scope
	scoped bool
	what   Range
}

func parseEntry(text string, now time.Time) (entry, error) {
	left, right, ok := strings.Cut(text, "=")
	if !ok {
		r, err := Parse(text, now)
		return entry{what: r}, err
	}
	sc, ok := parseScope(left)
	if !ok {
		// A group's name may hold a "=" as well.
		if r, err := Parse(text, now); err == nil {
			return entry{what: r}, nil
		}
		return entry{}, fault.New(fault.Usage, "%q: %q names no partition", text, left).
			WithHint("[CLUSTER/][TOPIC:]PARTITION=SPEC, such as 0=start or east/orders:3=@-1h")
	}
	r, err := Parse(right, now)
	return entry{scope: sc, scoped: true, what: r}, err
}

func parseScope(text string) (scope, bool) {
	var sc scope
	if cluster, rest, ok := strings.Cut(text, "/"); ok {
		if cluster == "" {
			return scope{}, false
		}
		sc.cluster, text = cluster, rest
	}
	if topic, rest, ok := strings.Cut(text, ":"); ok {
		if topic == "" || strings.Contains(topic, "/") {
			return scope{}, false
		}
		sc.topic, text = topic, rest
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || !allDigits(text) {
		return scope{}, false
	}
	sc.partition = int32(n)
	return sc, true
}
