package mirror

import "strings"

// Policy is a replication policy: how MirrorMaker 2 names the topics that it
// makes. The zero Policy is DefaultReplicationPolicy as it comes.
type Policy struct {
	// Identity is IdentityReplicationPolicy: topics keep their names, but for
	// heartbeats.
	Identity bool
	// Source is what Identity takes for the source of every topic, the setting
	// source.cluster.alias; empty when that is not set.
	Source string
	// Separator is the setting replication.policy.separator; empty is a dot.
	Separator string
	// DotInternal has the names of internal topics made with a dot whatever the
	// separator: replication.policy.internal.topic.separator.enabled is false
	// (KIP-949).
	DotInternal bool
	// Heartbeats is the name of the heartbeats topic; empty is "heartbeats".
	Heartbeats string
}

func (p Policy) separator() string {
	if p.Separator == "" {
		return "."
	}
	return p.Separator
}

func (p Policy) internalSeparator() string {
	if p.DotInternal {
		return "."
	}
	return p.separator()
}

// HeartbeatsTopic is the topic that heartbeats are written to.
func (p Policy) HeartbeatsTopic() string {
	if p.Heartbeats == "" {
		return "heartbeats"
	}
	return p.Heartbeats
}

// CheckpointsTopic is the topic on the target cluster with the checkpoints of
// groups on the cluster with alias source.
func (p Policy) CheckpointsTopic(source string) string {
	return source + p.checkpointsSuffix()
}

func (p Policy) checkpointsSuffix() string {
	return p.internalSeparator() + "checkpoints" + p.internalSuffix()
}

func (p Policy) internalSuffix() string { return p.internalSeparator() + "internal" }

// OffsetSyncsTopic is the topic with the offset syncs between two clusters. It
// lies on the source cluster and is named by the target's alias, or the other
// way round (offset-syncs.topic.location): other is the alias of that cluster
// on which it does not lie.
func (p Policy) OffsetSyncsTopic(other string) string {
	return "mm2-offset-syncs" + p.internalSeparator() + other + p.internalSuffix()
}

// Remote is the name on the target of a topic of the cluster with that alias.
func (p Policy) Remote(alias, topic string) string {
	if p.Identity && !p.likeHeartbeats(topic) {
		return topic
	}
	return alias + p.separator() + topic
}

// Checkpointed is the name that a checkpoint gives to a topic of the source: its
// name on the target. A topic that came from the target in the first place has
// the name that it has there.
func (p Policy) Checkpointed(topic, source, target string) string {
	if from, _, ok := p.Cut(topic); ok && from == target {
		return p.Original(topic)
	}
	return p.Remote(source, topic)
}

// Upstream is the opposite of Remote where the alias is known: the name that a
// topic of the target has on the cluster with that alias. It takes aliases and
// topics that contain the separator, which Cut cannot.
func (p Policy) Upstream(alias, topic string) (string, bool) {
	if p.Identity && !p.likeHeartbeats(topic) {
		return topic, true
	}
	upstream, ok := strings.CutPrefix(topic, alias+p.separator())
	return upstream, ok && upstream != ""
}

// Cut takes a mirrored topic's name apart into the alias of the cluster that it
// came from and its name there. The alias ends at the first separator: any topic
// with a separator in its name looks like a mirrored one, and an alias that
// contains it is cut short (see Ambiguous). With Identity every topic came from
// Source, if there is one.
func (p Policy) Cut(topic string) (source, upstream string, ok bool) {
	if p.Identity && !p.likeHeartbeats(topic) {
		return p.Source, topic, p.Source != ""
	}
	sep := p.separator()
	source, upstream, ok = strings.Cut(topic, sep)
	if !ok || strings.ReplaceAll(upstream, sep, "") == "" {
		return "", "", false // nothing but separators: Java's split drops empty parts at the end
	}
	return source, upstream, true
}

// Ambiguous reports whether names made with that alias cannot be taken apart
// without knowing it, because it contains the separator.
func (p Policy) Ambiguous(alias string) bool {
	return !p.Identity && strings.Contains(alias, p.separator())
}

// Original is the topic's name on the cluster where it began: a.b.orders is
// orders. A topic that is not mirrored keeps its name.
func (p Policy) Original(topic string) string {
	if p.Identity && !p.likeHeartbeats(topic) {
		return topic
	}
	for {
		_, upstream, ok := p.Cut(topic)
		if !ok {
			return topic
		}
		topic = upstream
	}
}

// Sources lists the clusters that a topic came through, the nearest one first:
// those of a.b.orders are a and b. None appears twice.
func (p Policy) Sources(topic string) []string {
	var sources []string
	seen := map[string]bool{}
	for {
		source, upstream, ok := p.Cut(topic)
		if !ok || seen[source] {
			return sources
		}
		seen[source] = true
		sources = append(sources, source)
		topic = upstream
	}
}

// Hops counts the clusters between here and the one with that alias for a topic:
// a is one hop away for a.b.orders, b two. It is -1 for a cluster that the topic
// did not come through.
func (p Policy) Hops(topic, alias string) int {
	for i, source := range p.Sources(topic) {
		if source == alias {
			return i + 1
		}
	}
	return -1
}

// likeHeartbeats is how IdentityReplicationPolicy looks for topics that it
// renames nevertheless.
func (p Policy) likeHeartbeats(topic string) bool {
	return strings.HasSuffix(topic, p.HeartbeatsTopic())
}

// IsHeartbeats reports whether the topic is that of heartbeats, mirrored or not.
func (p Policy) IsHeartbeats(topic string) bool {
	return p.Original(topic) == p.HeartbeatsTopic()
}

// IsCheckpoints reports whether the topic is one of checkpoints.
func (p Policy) IsCheckpoints(topic string) bool {
	return strings.HasSuffix(topic, p.checkpointsSuffix())
}

// IsInternal reports whether the topic is one that MirrorMaker 2 never mirrors:
// Kafka's internal topics and its own. Before Kafka 4.0 (KAFKA-17200) it took any
// name that ends with .internal or -internal for one as well.
func (p Policy) IsInternal(topic string) bool {
	return strings.HasPrefix(topic, "__") || strings.HasPrefix(topic, ".") || p.IsCheckpoints(topic) ||
		strings.HasPrefix(topic, "mm2") && strings.HasSuffix(topic, p.internalSuffix())
}

// IsRemote reports whether the topic looks like a mirrored one.
func (p Policy) IsRemote(topic string) bool {
	_, _, ok := p.Cut(topic)
	return ok && !p.IsInternal(topic)
}
