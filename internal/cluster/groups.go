package cluster

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Groups returns the names of the groups that a consumer can be a member of, sorted:
// those of the classic and of KIP-848's protocol, with members or without. Each
// broker lists those that it coordinates; one that does not answer leaves out its own.
// The error is about the cluster as a whole. It ends within 5 s.
func (c *Cluster) Groups(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, lookupLimit)
	defer cancel()
	cl, err := c.Control()
	if err != nil {
		return nil, err
	}
	names, answered := []string{}, false
	for _, shard := range cl.RequestSharded(ctx, kmsg.NewPtrListGroupsRequest()) {
		resp, ok := shard.Resp.(*kmsg.ListGroupsResponse)
		failed := shard.Err
		if failed == nil && ok {
			failed = kerr.ErrorForCode(resp.ErrorCode)
		}
		if failed != nil {
			err = failed
			continue
		}
		answered = true
		for i := range resp.Groups {
			if consumers(&resp.Groups[i]) {
				names = append(names, resp.Groups[i].Group)
			}
		}
	}
	if !answered && err != nil {
		return nil, c.Explain(err, "")
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// consumers reports whether a group is one of consumers. Brokers before 3.8 name no
// types, and a group that only has commits has no protocol.
func consumers(g *kmsg.ListGroupsResponseGroup) bool {
	switch GroupKind(g.GroupType) {
	case NoGroup, ClassicGroup, ConsumerGroup, "Classic", "Consumer":
		return g.ProtocolType == "" || g.ProtocolType == "consumer"
	default:
		return false
	}
}
