package offsets

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/kcm-cli/kcm/internal/cluster"
)

// Partition names a partition within one cluster.
type Partition = cluster.TopicPartition

// Group is what a cluster says about one group.
type Group struct {
	Name        string // any bytes
	Kind        cluster.GroupKind
	State       string // as the broker calls it: Stable, Empty, Dead …; empty if Err
	Protocol    string // of a classic group: consumer, connect …; empty if nobody ever joined
	Assignor    string // empty while members have not agreed on one
	Coordinator int32  // node id; -1 when unknown
	Members     []Member
	Commits     map[Partition]Commit // nil unless asked for
	Err         error                // what could not be found out, a *fault.Error; the rest holds as far as it goes
}

// Quiet reports whether nobody is in the group, so that its commits may be changed.
func (g Group) Quiet() bool { return g.State == "Empty" || g.State == "Dead" }

// Member is one member of a group.
type Member struct {
	ID       string
	Instance string // group.instance.id; empty when dynamic
	Client   string
	Host     string // without the slash that brokers put before it
	Assigned []Partition
	Opaque   bool // what it is assigned cannot be read: not a consumer's protocol
}

// Commit is one committed offset.
type Commit struct {
	Offset   int64
	Epoch    int32 // leader epoch; -1 when none was committed
	Metadata string
	Err      error // a *fault.Error; Offset is then -1
}

// Selection says which groups are meant. The zero Selection means none.
type Selection struct {
	Names []string       // that they exist is not required: the answer says so
	Match *regexp.Regexp // anchored at both ends by its maker; nil is none
	All   bool
}

func (s Selection) lists() bool { return s.All || s.Match != nil }

// Takes reports whether a group of that name is meant.
func (s Selection) Takes(name string) bool {
	if s.All || slices.Contains(s.Names, name) {
		return true
	}
	return s.Match != nil && s.Match.MatchString(name)
}

// Detail says what is asked about groups besides their names.
type Detail struct {
	Members bool
	Commits bool
	// Stable waits for commits of open transactions to be decided (KIP-447).
	Stable bool
}

// Groups asks a cluster about groups, in one request for each broker where brokers
// can be asked for several. Groups that were named and do not exist have the Kind
// NoGroup and the State Dead. Groups are ordered by name. The error is about the
// cluster as a whole; with some groups beside it, some brokers did not answer.
func Groups(ctx context.Context, c *cluster.Cluster, s Selection, d Detail) ([]Group, error) {
	cl, err := c.Control()
	if err != nil {
		return nil, err
	}
	r := &groupReader{c: c, adm: kadm.NewClient(cl), groups: map[string]*Group{}}
	for _, name := range s.Names {
		r.groups[name] = &Group{Name: name, State: "Dead", Coordinator: -1}
	}
	if s.lists() {
		r.list(ctx, s)
	}
	if len(r.groups) > 0 && (d.Members || !s.lists() || len(s.Names) > 0) {
		r.describe(ctx)
	}
	if d.Commits {
		if d.Stable {
			ctx = kadm.RequireStable(ctx)
		}
		r.commits(ctx)
	}
	list := make([]Group, 0, len(r.groups))
	for _, g := range r.groups {
		list = append(list, *g)
	}
	slices.SortFunc(list, func(a, b Group) int { return strings.Compare(a.Name, b.Name) })
	return list, r.err
}

type groupReader struct {
	c      *cluster.Cluster
	adm    *kadm.Client
	groups map[string]*Group
	err    error // the first one about the cluster
}

func (r *groupReader) failed(err error) {
	if r.err == nil && err != nil {
		r.err = r.c.Explain(cause(err), "")
	}
}

// cause unwraps the error of several brokers to that of the first.
func cause(err error) error {
	if se, ok := errors.AsType[*kadm.ShardErrors](err); ok && len(se.Errs) > 0 {
		return se.Errs[0].Err
	}
	return err
}

func (r *groupReader) list(ctx context.Context, s Selection) {
	listed, err := r.adm.ListGroups(ctx)
	r.failed(err)
	for name, l := range listed {
		if !s.Takes(name) {
			continue
		}
		g := &Group{Name: name, Kind: kindOf(l.GroupType), State: l.State, Protocol: l.ProtocolType, Coordinator: l.Coordinator}
		r.groups[name] = g
	}
}

// kindOf reads the word of a listing; brokers before 4.0 have only one kind and
// say nothing.
func kindOf(word string) cluster.GroupKind {
	switch k := cluster.GroupKind(strings.ToLower(word)); k {
	case cluster.ConsumerGroup, cluster.ShareGroup, cluster.StreamsGroup:
		return k
	default:
		return cluster.ClassicGroup
	}
}

// names returns the groups for which take holds, in order.
func (r *groupReader) names(take func(*Group) bool) (list []string) {
	for name, g := range r.groups {
		if take(g) {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

// describe asks for members. Groups that were only named may be of any kind: they
// are asked for as one kind after the other.
func (r *groupReader) describe(ctx context.Context) {
	open := func(kinds ...cluster.GroupKind) []string {
		return r.names(func(g *Group) bool { return g.Err == nil && slices.Contains(kinds, g.Kind) })
	}
	r.describeClassic(ctx, open(cluster.ClassicGroup, cluster.NoGroup))
	r.describeConsumer(ctx, open(cluster.ConsumerGroup, cluster.NoGroup))
	for _, name := range open(cluster.NoGroup) {
		info, err := r.c.DescribeGroup(ctx, name)
		if g := r.groups[name]; err != nil {
			g.Err = err
		} else if info.Kind != cluster.NoGroup {
			g.Kind, g.State = info.Kind, info.State
		}
	}
}

func (r *groupReader) describeClassic(ctx context.Context, names []string) {
	if len(names) == 0 {
		return
	}
	got, err := r.adm.DescribeGroups(ctx, names...)
	r.missing(names, err, func(name string) bool { _, ok := got[name]; return ok })
	for name, d := range got {
		g := r.groups[name]
		switch {
		case g == nil, absent(d.Err), d.Err == nil && d.State == "Dead":
			continue
		case d.Err != nil:
			g.Err = r.c.ExplainGroup(d.Err, name)
			continue
		}
		g.Kind, g.State, g.Protocol, g.Assignor, g.Coordinator = cluster.ClassicGroup, d.State, d.ProtocolType, d.Protocol, d.Coordinator.NodeID
		for _, m := range d.Members {
			g.Members = append(g.Members, classicMember(m))
		}
	}
}

func classicMember(m kadm.DescribedGroupMember) Member {
	out := Member{ID: m.MemberID, Client: m.ClientID, Host: host(m.ClientHost)}
	if m.InstanceID != nil {
		out.Instance = *m.InstanceID
	}
	a, ok := m.Assigned.AsConsumer()
	if !ok {
		out.Opaque = true
		return out
	}
	for _, t := range a.Topics {
		for _, p := range t.Partitions {
			out.Assigned = append(out.Assigned, Partition{Topic: t.Topic, Partition: p})
		}
	}
	slices.SortFunc(out.Assigned, ComparePartitions)
	return out
}

func (r *groupReader) describeConsumer(ctx context.Context, names []string) {
	if len(names) == 0 {
		return
	}
	got, err := r.adm.DescribeConsumerGroups(ctx, names...)
	if errors.Is(cause(err), kerr.UnsupportedVersion) || unknownRequest(err) {
		return // the brokers are from before KIP-848: there are no such groups
	}
	r.missing(names, err, func(name string) bool { _, ok := got[name]; return ok })
	for name, d := range got {
		g := r.groups[name]
		switch {
		case g == nil, absent(d.Err):
			continue
		case d.Err != nil:
			g.Err = r.c.ExplainGroup(d.Err, name)
			continue
		}
		g.Kind, g.State, g.Protocol, g.Assignor, g.Coordinator = cluster.ConsumerGroup, d.State, "consumer", d.AssignorName, d.Coordinator.NodeID
		for _, m := range d.Members {
			g.Members = append(g.Members, consumerMember(m))
		}
	}
}

func consumerMember(m kadm.ConsumerGroupMember) Member {
	out := Member{ID: m.MemberID, Client: m.ClientID, Host: host(m.ClientHost)}
	if m.InstanceID != nil {
		out.Instance = *m.InstanceID
	}
	for _, t := range m.Assignment.Sorted() {
		for _, p := range t.Partitions {
			out.Assigned = append(out.Assigned, Partition{Topic: t.Topic, Partition: p})
		}
	}
	return out
}

// missing marks the groups whose broker gave no answer.
func (r *groupReader) missing(names []string, err error, answered func(string) bool) {
	if err == nil {
		return
	}
	for _, name := range names {
		if g := r.groups[name]; !answered(name) && g.Err == nil {
			g.Err = r.c.ExplainGroup(cause(err), name)
		}
	}
	r.failed(err)
}

// commits reads the commits of all groups that can have some.
func (r *groupReader) commits(ctx context.Context) {
	names := r.names(func(g *Group) bool { return g.Err == nil && g.Kind != cluster.ShareGroup })
	for name, f := range r.adm.FetchManyOffsets(ctx, names...) {
		g := r.groups[name]
		if g == nil {
			continue
		}
		if f.Err != nil && !absent(f.Err) {
			g.Err = r.c.ExplainGroup(f.Err, name)
			continue
		}
		g.Commits = map[Partition]Commit{}
		for _, o := range f.Fetched.Sorted() {
			at := Partition{Topic: o.Topic, Partition: o.Partition}
			switch {
			case o.Err != nil:
				g.Commits[at] = Commit{Offset: -1, Epoch: -1, Err: r.c.ExplainGroup(o.Err, name)}
			case o.At >= 0:
				g.Commits[at] = Commit{Offset: o.At, Epoch: o.LeaderEpoch, Metadata: o.Metadata}
			}
		}
	}
}

// absent reports whether an answer says that there is no such group of the kind
// that was asked for.
func absent(err error) bool {
	return errors.Is(err, kerr.GroupIDNotFound) || errors.Is(err, kerr.UnsupportedVersion)
}

// unknownRequest reports whether no broker knows the request at all.
func unknownRequest(err error) bool {
	return err != nil && strings.Contains(cause(err).Error(), "unknown request key")
}

func host(s string) string { return strings.TrimPrefix(s, "/") }

// ComparePartitions orders by topic and partition.
func ComparePartitions(a, b Partition) int {
	return cmp.Or(strings.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
}
