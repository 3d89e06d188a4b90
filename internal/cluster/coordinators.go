package cluster

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Nodes returns the ids of the brokers. It ends within 5 s, and one broker that
// does not answer does not hold it up.
func (c *Cluster) Nodes(ctx context.Context) ([]int32, error) {
	ctx, cancel := context.WithTimeout(ctx, lookupLimit)
	defer cancel()
	cl, err := c.Control()
	if err != nil {
		return nil, err
	}
	info, err := hedge(ctx, func(ctx context.Context) (Info, error) { return askClient(ctx, cl) })
	if err != nil {
		return nil, c.Explain(err, "")
	}
	c.book.advertised(info.Brokers)
	ids := make([]int32, len(info.Brokers))
	for i, b := range info.Brokers {
		ids[i] = b.ID
	}
	return ids, nil
}

// Coordinators finds which brokers coordinate groups, all in one request where
// brokers know how (KIP-699). A group is in one of the two: errs holds why a
// coordinator is not known, as the broker or the client says it. It ends within
// 5 s, and one broker that does not answer does not hold it up.
func (c *Cluster) Coordinators(ctx context.Context, groups []string) (nodes map[string]int32, errs map[string]error) {
	nodes, errs = map[string]int32{}, map[string]error{}
	if len(groups) == 0 {
		return nodes, errs
	}
	ctx, cancel := context.WithTimeout(ctx, lookupLimit)
	defer cancel()
	resp, err := c.findCoordinators(ctx, groups)
	if err == nil {
		for i := range resp.Coordinators {
			x := &resp.Coordinators[i]
			if code := kerr.ErrorForCode(x.ErrorCode); code != nil {
				errs[x.Key] = code
			} else {
				nodes[x.Key] = x.NodeID
			}
		}
		err = kerr.CoordinatorNotAvailable // for those that are left out of the answer
	}
	for _, name := range groups {
		if _, found := nodes[name]; !found && errs[name] == nil {
			errs[name] = err
		}
	}
	return nodes, errs
}

func (c *Cluster) findCoordinators(ctx context.Context, groups []string) (*kmsg.FindCoordinatorResponse, error) {
	cl, err := c.Control()
	if err != nil {
		return nil, err
	}
	return hedge(ctx, func(ctx context.Context) (*kmsg.FindCoordinatorResponse, error) {
		req := kmsg.NewPtrFindCoordinatorRequest()
		req.CoordinatorKeys = groups
		return req.RequestWith(ctx, cl)
	})
}
