package cluster

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const controllerLimit = 3 * time.Second

// Controller returns the id of the node that is the cluster's controller, or -1
// when that is not certain. With KRaft, metadata names any broker, lest clients
// talk to the controller itself; there the quorum's leader is asked for
// (KIP-595), which takes DESCRIBE on the cluster and may be no broker.
func (c *Cluster) Controller(ctx context.Context) int32 {
	cl, err := c.Control()
	if err != nil {
		return -1
	}
	ctx, cancel := context.WithTimeout(ctx, controllerLimit)
	defer cancel()
	id, err := hedge(ctx, func(ctx context.Context) (int32, error) { return controllerOf(ctx, cl) })
	if err != nil {
		return -1
	}
	return id
}

func controllerOf(ctx context.Context, cl *kgo.Client) (int32, error) {
	versions, err := kmsg.NewPtrApiVersionsRequest().RequestWith(ctx, cl)
	if err != nil {
		return -1, err
	}
	quorum := kmsg.NewPtrDescribeQuorumRequest()
	for _, k := range versions.ApiKeys {
		if k.ApiKey == quorum.Key() {
			return leaderOf(ctx, cl, quorum)
		}
	}
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{} // nil would be all of them
	resp, err := req.RequestWith(ctx, cl)
	if err != nil {
		return -1, err
	}
	return resp.ControllerID, nil
}

func leaderOf(ctx context.Context, cl *kgo.Client, req *kmsg.DescribeQuorumRequest) (int32, error) {
	t := kmsg.NewDescribeQuorumRequestTopic()
	t.Topic = "__cluster_metadata"
	t.Partitions = append(t.Partitions, kmsg.NewDescribeQuorumRequestTopicPartition())
	req.Topics = append(req.Topics, t)
	resp, err := req.RequestWith(ctx, cl)
	if err != nil {
		return -1, err
	}
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return -1, err
	}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			return p.LeaderID, kerr.ErrorForCode(p.ErrorCode)
		}
	}
	return -1, nil
}
