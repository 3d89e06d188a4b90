package source

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/spec"
)

// Connected says, for people, what contact with a cluster showed.
func Connected(info cluster.Info) string {
	brokers := "brokers"
	if len(info.Brokers) == 1 {
		brokers = "broker"
	}
	return fmt.Sprintf("connected to %s, cluster id %s, %d %s", cmp.Or(info.Via, "a broker"), cmp.Or(info.ClusterID, "(none)"), len(info.Brokers), brokers)
}

// detail tells those who want it what the reader is about to do.
func (r *reader) detail(depth int, format string, args ...any) {
	r.event(Event{Kind: Note, Text: fmt.Sprintf(format, args...), Depth: depth})
}

// tellFound tells which part of a topic has been found to be read.
func (r *reader) tellFound(t cluster.Topic, fresh []*split) {
	ids := map[int32]bool{}
	for _, s := range fresh {
		ids[s.Partition] = true
	}
	switch n, all := len(ids), len(t.Partitions); {
	case n == 0:
	case n < all:
		r.detail(1, "%s/%s: %d of %d partitions", r.name, t.Name, n, all)
	case n == 1:
		r.detail(1, "%s/%s: 1 partition", r.name, t.Name)
	default:
		r.detail(1, "%s/%s: %d partitions", r.name, t.Name, n)
	}
}

// untilText says where a split ends.
func untilText(until int64) string {
	if until == spec.Open {
		return "on"
	}
	return "to " + strconv.FormatInt(until, 10)
}
