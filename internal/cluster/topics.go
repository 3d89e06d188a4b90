package cluster

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kcm-cli/kcm/internal/fault"
)

// lookupLimit bounds a look-up whatever state the brokers are in.
const lookupLimit = 5 * time.Second

// Topic is one topic as the metadata shows it.
type Topic struct {
	Name       string
	ID         [16]byte // zero on brokers before 2.8
	Internal   bool
	Partitions []Partition // by id
	Err        error       // why there is no more to say about it
}

// Partition is one partition as the metadata shows it.
type Partition struct {
	ID          int32
	Leader      int32 // -1 when there is none
	LeaderEpoch int32 // -1 when unknown
	Replicas    []int32
	ISR         []int32
	Offline     []int32
	Err         error // "no leader", for example; the other fields are still right
}

// Topics returns the named topics in the order of names, or every topic by name
// when none is given. What is wrong with one topic or partition stands there;
// the error is about the cluster as a whole.
func (c *Cluster) Topics(ctx context.Context, names ...string) ([]Topic, error) {
	ctx, cancel := context.WithTimeout(ctx, lookupLimit)
	defer cancel()
	m, err := c.metadata(ctx, names)
	if err != nil {
		return nil, err
	}
	byName := map[string]Topic{}
	out := make([]Topic, 0, len(m.Topics))
	for i := range m.Topics {
		t := c.topicOf(&m.Topics[i])
		byName[t.Name] = t
		if len(names) == 0 {
			out = append(out, t)
		}
	}
	slices.SortFunc(out, func(a, b Topic) int { return strings.Compare(a.Name, b.Name) })
	for _, n := range names {
		t, ok := byName[n]
		if !ok {
			t = Topic{Name: n, Err: c.Explain(kerr.UnknownTopicOrPartition, n)}
		}
		out = append(out, t)
	}
	return out, nil
}

// metadata asks for topics, all of them when names is empty, without letting
// the broker create any.
func (c *Cluster) metadata(ctx context.Context, names []string) (*kmsg.MetadataResponse, error) {
	cl, err := c.Control()
	if err != nil {
		return nil, err
	}
	req := kmsg.NewPtrMetadataRequest()
	req.AllowAutoTopicCreation = false
	for _, n := range names {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = kmsg.StringPtr(n)
		req.Topics = append(req.Topics, t)
	}
	m, err := hedge(ctx, func(ctx context.Context) (*kmsg.MetadataResponse, error) {
		own := *req // a client writes the version into it
		return own.RequestWith(ctx, cl)
	})
	if err != nil {
		return nil, c.Explain(err, "")
	}
	if err := kerr.ErrorForCode(m.ErrorCode); err != nil {
		return nil, c.Explain(err, "")
	}
	c.book.advertised(infoOf(m).Brokers)
	return m, nil
}

func (c *Cluster) topicOf(m *kmsg.MetadataResponseTopic) Topic {
	t := Topic{ID: m.TopicID, Internal: m.IsInternal}
	if m.Topic != nil {
		t.Name = *m.Topic
	}
	if err := kerr.ErrorForCode(m.ErrorCode); err != nil {
		t.Err = c.Explain(err, t.Name)
		if err == kerr.UnknownTopicOrPartition {
			t.Err = c.kind(fault.Failed, err, c.name+"/"+t.Name, "no such topic")
		}
	}
	for _, p := range m.Partitions {
		x := Partition{ID: p.Partition, Leader: p.Leader, LeaderEpoch: p.LeaderEpoch, Replicas: p.Replicas, ISR: p.ISR, Offline: p.OfflineReplicas}
		// REPLICA_NOT_AVAILABLE only says what Offline says.
		if err := kerr.ErrorForCode(p.ErrorCode); err != nil && err != kerr.ReplicaNotAvailable {
			x.Err = c.Explain(err, t.Name)
		}
		if x.Leader < 0 && x.Err == nil {
			x.Err = c.Explain(kerr.LeaderNotAvailable, t.Name)
		}
		t.Partitions = append(t.Partitions, x)
	}
	slices.SortFunc(t.Partitions, func(a, b Partition) int { return cmp.Compare(a.ID, b.ID) })
	return t
}

// Nearest returns up to three names of existing topics that resemble name, the
// nearest first; for "did you mean".
func (c *Cluster) Nearest(ctx context.Context, name string) ([]string, error) {
	topics, err := c.Topics(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, t := range topics {
		if t.Err == nil && (!t.Internal || strings.HasPrefix(name, "_")) {
			names = append(names, t.Name)
		}
	}
	return nearest(name, names, 3), nil
}
