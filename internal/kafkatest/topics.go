package kafkatest

import (
	"context"
	"errors"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// CreateTopic creates a topic with as many replicas as there are brokers, at
// most three, and waits until every partition has a leader. It is deleted with
// the test. Config values are topic settings such as cleanup.policy.
func (c *Cluster) CreateTopic(topic string, partitions int32, configs map[string]string) {
	c.t.Helper()
	ctx, cancel := c.context()
	defer cancel()
	cfg := map[string]*string{}
	for k, v := range configs {
		cfg[k] = kadm.StringPtr(v)
	}
	replicas := int16(min(3, len(c.Nodes())))
	resp, err := c.Admin().CreateTopic(ctx, partitions, replicas, cfg, topic)
	c.check(errors.Join(err, resp.Err))
	if c.rig.real {
		c.t.Cleanup(func() { c.deleteQuietly(topic) })
	}
	c.waitLeaders(ctx, topic, int(partitions))
}

func (c *Cluster) deleteQuietly(topic string) {
	ctx, cancel := c.context()
	defer cancel()
	cl, err := kadm.NewOptClient(c.ClientOpts()...)
	c.check(err)
	defer cl.Close()
	if _, err = cl.DeleteTopic(ctx, topic); err != nil && !errors.Is(err, kerr.UnknownTopicOrPartition) {
		c.t.Errorf("cluster %s: delete topic %s after the test: %v", c.name, topic, err)
	}
}

func (c *Cluster) waitLeaders(ctx context.Context, topic string, partitions int) {
	c.t.Helper()
	c.until(ctx, "leaders of "+topic, func() bool {
		md, err := c.Admin().Metadata(fresh(ctx), topic)
		if err != nil || len(md.Topics[topic].Partitions) != partitions {
			return false
		}
		for _, p := range md.Topics[topic].Partitions {
			if p.Err != nil || p.Leader < 0 {
				return false
			}
		}
		return true
	})
}

// AddPartitions raises the number of partitions of a topic to total.
func (c *Cluster) AddPartitions(topic string, total int32) {
	c.t.Helper()
	ctx, cancel := c.context()
	defer cancel()
	resps, err := c.Admin().UpdatePartitions(ctx, int(total), topic)
	c.check(err)
	c.check(resps[topic].Err)
	c.waitLeaders(ctx, topic, int(total))
}

// DeleteTopic deletes a topic and waits until the brokers no longer know it.
func (c *Cluster) DeleteTopic(topic string) {
	c.t.Helper()
	ctx, cancel := c.context()
	defer cancel()
	resp, err := c.Admin().DeleteTopic(ctx, topic)
	c.check(errors.Join(err, resp.Err))
	c.until(ctx, "end of topic "+topic, func() bool {
		md, err := c.Admin().Metadata(fresh(ctx), topic)
		return err == nil && errors.Is(md.Topics[topic].Err, kerr.UnknownTopicOrPartition)
	})
}

// DeleteRecords moves the log start of a partition to offset.
func (c *Cluster) DeleteRecords(topic string, partition int32, offset int64) {
	c.t.Helper()
	ctx, cancel := c.context()
	defer cancel()
	var os kadm.Offsets
	os.AddOffset(topic, partition, offset, -1)
	resps, err := c.Admin().DeleteRecords(ctx, os)
	c.check(err)
	c.check(resps.Error())
}

// EndOffset returns a partition's high watermark.
func (c *Cluster) EndOffset(topic string, partition int32) int64 {
	c.t.Helper()
	ctx, cancel := c.context()
	defer cancel()
	ends, err := c.Admin().ListEndOffsets(ctx, topic)
	c.check(err)
	o, _ := ends.Lookup(topic, partition)
	c.check(o.Err)
	return o.Offset
}

// HasTopic reports whether the topic exists; looking does not create it.
func (c *Cluster) HasTopic(topic string) bool {
	c.t.Helper()
	ctx, cancel := c.context()
	defer cancel()
	md, err := c.Admin().ListTopicsWithInternal(ctx)
	c.check(err)
	return md.Has(topic)
}

// Leader returns the broker that leads a partition.
func (c *Cluster) Leader(topic string, partition int32) int32 {
	c.t.Helper()
	ctx, cancel := c.context()
	defer cancel()
	md, err := c.Admin().Metadata(fresh(ctx), topic)
	c.check(err)
	return md.Topics[topic].Partitions[partition].Leader
}

// MoveLeader makes node the leader of a partition and waits until it is.
func (c *Cluster) MoveLeader(topic string, partition, node int32) {
	c.t.Helper()
	ctx, cancel := c.context()
	defer cancel()
	if f := c.Fake(); f != nil {
		c.check(f.MoveTopicPartition(topic, partition, node))
		c.until(ctx, "new leader of "+topic, func() bool { return c.Leader(topic, partition) == node })
		return
	}
	md, err := c.Admin().Metadata(fresh(ctx), topic)
	c.check(err)
	replicas := slices.DeleteFunc(md.Topics[topic].Partitions[partition].Replicas, func(n int32) bool { return n == node })
	var req kadm.AlterPartitionAssignmentsReq
	req.Assign(topic, partition, append([]int32{node}, replicas...))
	resps, err := c.Admin().AlterPartitionAssignments(ctx, req)
	c.check(err)
	c.check(resps.Error())
	set := kadm.TopicsSet{}
	set.Add(topic, partition)
	c.until(ctx, "new leader of "+topic, func() bool {
		if c.Leader(topic, partition) == node {
			return true
		}
		_, err := c.Admin().ElectLeaders(ctx, kadm.ElectPreferredReplica, set)
		c.check(err)
		return false
	})
}
