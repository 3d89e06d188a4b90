package offsets

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/mirror"
)

// Mirrors is what the topics of a cluster tell of the flows of MirrorMaker 2 that
// end there. It is what Java's RemoteClusterUtils and MirrorClient say, and how
// long ago each flow was seen alive. All lists are sorted.
type Mirrors struct {
	Upstream    []Upstream // every cluster that heartbeats came from, directly or through others
	Flows       []MirrorFlow
	Heartbeats  []string // topics
	Checkpoints []string
	Remote      []RemoteTopic
}

// Upstream is a cluster that is mirrored here.
type Upstream struct {
	Alias string
	Hops  int // 1: directly
}

// MirrorFlow is a flow from another cluster to this one.
type MirrorFlow struct {
	Source string // alias
	// Heartbeat is when the newest heartbeat was sent that came through the flow,
	// or that its connectors wrote here; Checkpoint when the newest checkpoint was
	// written. Zero is never, as far as there are topics of it.
	Heartbeat, Checkpoint time.Time
}

// RemoteTopic is a mirrored topic.
type RemoteTopic struct{ Topic, Source, Upstream string }

// tailOffsets is how far before their ends topics are looked at for their newest
// records; behind those there may be markers and holes.
const tailOffsets = 200

// FindMirrors finds out what is mirrored to a cluster. With an error about a topic
// that could not be read the rest is there.
func FindMirrors(ctx context.Context, c *cluster.Cluster, policy Policy, patience time.Duration) (*Mirrors, error) {
	topics, err := c.Topics(ctx)
	if err != nil {
		return nil, err
	}
	m := &Mirrors{}
	for _, t := range topics {
		m.sort(policy, t.Name)
	}
	m.Upstream = upstreams(policy, m.Heartbeats)
	return m, m.seen(ctx, c, policy, patience)
}

// sort puts a topic where it belongs.
func (m *Mirrors) sort(p Policy, topic string) {
	if p.IsHeartbeats(topic) {
		m.Heartbeats = append(m.Heartbeats, topic)
	}
	if p.IsCheckpoints(topic) {
		m.Checkpoints = append(m.Checkpoints, topic)
	}
	if p.IsRemote(topic) {
		source, upstream, _ := p.Cut(topic)
		m.Remote = append(m.Remote, RemoteTopic{topic, source, upstream})
	}
}

// upstreams are the clusters that topics of heartbeats came through.
func upstreams(p Policy, heartbeats []string) (list []Upstream) {
	hops := map[string]int{}
	for _, topic := range heartbeats {
		for i, alias := range p.Sources(topic) {
			if had, ok := hops[alias]; !ok || i+1 < had {
				hops[alias] = i + 1
			}
		}
	}
	for alias, n := range hops {
		list = append(list, Upstream{alias, n})
	}
	slices.SortFunc(list, func(a, b Upstream) int { return cmp.Or(cmp.Compare(a.Hops, b.Hops), strings.Compare(a.Alias, b.Alias)) })
	return list
}

// seen looks when each flow was alive.
func (m *Mirrors) seen(ctx context.Context, c *cluster.Cluster, p Policy, patience time.Duration) error {
	through, written, checkpoints := map[string]int64{}, map[string]int64{}, map[string]int64{}
	flows := map[string]bool{}
	suffix := p.CheckpointsTopic("")
	for _, topic := range m.Heartbeats {
		if source, _, ok := p.Cut(topic); ok {
			flows[source] = true
		}
	}
	for _, topic := range m.Checkpoints {
		flows[strings.TrimSuffix(topic, suffix)] = true
	}
	l := &logReader{c: c, patience: patience, take: func(at Partition, r *logRecord) bool {
		if alias, ok := strings.CutSuffix(at.Topic, suffix); ok {
			checkpoints[alias] = max(checkpoints[alias], r.Timestamp)
			return true
		}
		beat, err := mirror.ParseHeartbeat(r.Key, r.Value)
		if err != nil || beat.Deleted {
			return true
		}
		if source, _, ok := p.Cut(at.Topic); ok {
			through[source] = max(through[source], beat.Timestamp)
		} else {
			written[string(beat.Source)] = max(written[string(beat.Source)], beat.Timestamp)
		}
		return true
	}}
	err := l.readTails(ctx, slices.Concat(m.Heartbeats, m.Checkpoints))
	for source := range flows {
		f := MirrorFlow{Source: source, Checkpoint: timeOf(checkpoints[source])}
		f.Heartbeat = timeOf(cmp.Or(through[source], written[source]))
		m.Flows = append(m.Flows, f)
	}
	slices.SortFunc(m.Flows, func(a, b MirrorFlow) int { return strings.Compare(a.Source, b.Source) })
	return err
}

// timeOf is the time of milliseconds; 0 is none.
func timeOf(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// readTails reads the last offsets of topics.
func (l *logReader) readTails(ctx context.Context, names []string) error {
	if len(names) == 0 {
		return nil
	}
	topics, err := l.c.Topics(ctx, names...)
	if err != nil {
		return err
	}
	var errs []error
	var of []Partition
	for _, t := range topics {
		errs = append(errs, t.Err)
		for _, p := range t.Partitions {
			of = append(of, Partition{Topic: t.Name, Partition: p.ID})
		}
	}
	bounds, err := l.c.Offsets(ctx, of, cluster.Start(), cluster.Stable())
	if err != nil {
		return err
	}
	var ranges []logRange
	for _, at := range of {
		b := bounds[at]
		errs = append(errs, b[0].Err, b[1].Err)
		if b[0].Err == nil && b[1].Err == nil {
			ranges = append(ranges, logRange{at, max(b[0].Offset, b[1].Offset-tailOffsets), b[1].Offset})
		}
	}
	failed := l.read(ctx, ranges)
	for _, at := range of {
		errs = append(errs, failed[at])
	}
	return firstOf(errs...)
}
