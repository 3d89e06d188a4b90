package cluster

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kcm-cli/kcm/internal/fault"
)

// createLimit bounds the making of a topic.
const createLimit = 15 * time.Second

// CreateTopic makes a topic with that many partitions and the cluster's default
// replication factor (KIP-464: brokers from 2.4 on). That there is one already is
// no error; made tells the two apart.
func (c *Cluster) CreateTopic(ctx context.Context, name string, partitions int) (made bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, createLimit)
	defer cancel()
	cl, err := c.Control()
	if err != nil {
		return false, err
	}
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, int32(partitions), -1 //nolint:gosec // a number of partitions
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = int32(createLimit / time.Millisecond)
	req.Topics = append(req.Topics, t)
	resp, err := req.RequestWith(ctx, cl)
	if err != nil {
		return false, c.Explain(err, "")
	}
	for _, r := range resp.Topics {
		if r.Topic != name {
			continue
		}
		code := kerr.ErrorForCode(r.ErrorCode)
		switch {
		case code == nil:
			return true, nil
		case code == kerr.TopicAlreadyExists:
			return false, nil
		case code == kerr.TopicAuthorizationFailed || code == kerr.ClusterAuthorizationFailed:
			return false, c.kind(fault.Auth, code, c.name+"/"+name, "not authorized to create the topic").
				WithHint("the principal needs CREATE on the topic or the cluster")
		case r.ErrorMessage != nil && *r.ErrorMessage != "":
			return false, c.kind(fault.KindOf(c.Explain(code, name)), code, c.name+"/"+name, "the topic cannot be created: %s", lowerFirst(*r.ErrorMessage))
		}
		return false, c.Explain(code, name)
	}
	return false, c.kind(fault.Failed, nil, c.name+"/"+name, "the topic cannot be created: the broker says nothing about it")
}
