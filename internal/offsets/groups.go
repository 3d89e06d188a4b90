package offsets

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strings"

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
// NoGroup and the State Dead. Groups are ordered by name. A broker that does not
// answer holds up the others for little more than 2 s; its groups carry the error.
// The returned error is about the cluster as a whole; with some groups beside it,
// some brokers did not say which groups they have.
func Groups(ctx context.Context, c *cluster.Cluster, s Selection, d Detail) ([]Group, error) {
	cl, err := c.Control()
	if err != nil {
		return nil, err
	}
	r := &groupReader{c: c, cl: cl, groups: map[string]*Group{}}
	for _, name := range s.Names {
		r.groups[name] = &Group{Name: name, State: "Dead", Coordinator: -1}
	}
	if s.lists() {
		r.list(ctx, s)
	}
	r.detail(ctx, s, d)
	list := make([]Group, 0, len(r.groups))
	for _, g := range r.groups {
		list = append(list, *g)
	}
	slices.SortFunc(list, func(a, b Group) int { return strings.Compare(a.Name, b.Name) })
	return list, r.err
}

// ComparePartitions orders by topic and partition.
func ComparePartitions(a, b Partition) int {
	return cmp.Or(strings.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
}
