package kafkatest

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed MirrorAnswers.java
var mirrorAnswers []byte

// Mirror says what a MirrorMaker 2 copies.
type Mirror struct {
	Source, Target string // aliases
	Topics, Groups string // regular expressions, separated by commas
	// Config are further properties of all its connectors, such as
	// replication.policy.class.
	Config map[string]string
}

// IdentityPolicy is the setting that lets copies keep their names.
func IdentityPolicy() map[string]string {
	return map[string]string{"replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"}
}

// MirrorTo starts a MirrorMaker 2 in dedicated mode that copies c to another
// cluster until the test ends. It begins some 15 s later. It needs a real rig.
func (c *Cluster) MirrorTo(target *Cluster, m Mirror) {
	c.t.Helper()
	c.needReal("MirrorTo")
	runMirrorMaker(c.t, m.properties(c.Bootstrap(), target.Bootstrap()))
}

// properties is MirrorMaker 2's own configuration: quick, and for clusters of one
// broker.
func (m Mirror) properties(source, target string) []byte {
	props := map[string]string{
		"clusters":                              m.Source + "," + m.Target,
		m.Source + ".bootstrap.servers":         source,
		m.Target + ".bootstrap.servers":         target,
		m.Source + "->" + m.Target + ".enabled": "true",
		m.Target + "->" + m.Source + ".enabled": "false",
		m.Source + "->" + m.Target + ".topics":  m.Topics,
		m.Source + "->" + m.Target + ".groups":  m.Groups,

		"replication.factor": "1", "checkpoints.topic.replication.factor": "1", "heartbeats.topic.replication.factor": "1",
		"offset-syncs.topic.replication.factor": "1", "offset.storage.replication.factor": "1",
		"status.storage.replication.factor": "1", "config.storage.replication.factor": "1",
		"emit.checkpoints.interval.seconds": "2", "refresh.topics.interval.seconds": "5", "refresh.groups.interval.seconds": "5",
		"offset.flush.interval.ms": "3000", "sync.group.offsets.enabled": "false",
	}
	for k, v := range m.Config {
		props[k] = v
	}
	var b strings.Builder
	for _, k := range sortedKeys(props) {
		fmt.Fprintf(&b, "%s = %s\n", k, props[k])
	}
	return []byte(b.String())
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// MirrorAnswers are what Java's RemoteClusterUtils and MirrorClient say about a
// cluster, with every list sorted.
type MirrorAnswers struct {
	Hops        int      `json:"hops"` // to the cluster asked for
	Upstream    []string `json:"upstream"`
	Heartbeats  []string `json:"heartbeats"`
	Checkpoints []string `json:"checkpoints"`
	Remote      []string `json:"remote"`
	From        []string `json:"from"` // remote topics of the cluster asked for
	Offsets     []MirrorOffset
}

// MirrorOffset is one translated offset.
type MirrorOffset struct {
	Group     string `json:"group"`
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
	Metadata  string `json:"metadata"`
}

// MirrorAnswers asks Java about an upstream cluster and the groups of a pattern.
// Config are properties of its MirrorClient. It needs a real rig.
func (c *Cluster) MirrorAnswers(alias, groups string, config map[string]string) MirrorAnswers {
	c.t.Helper()
	c.needReal("MirrorAnswers")
	source := filepath.Join(c.t.TempDir(), "MirrorAnswers.java")
	c.check(os.WriteFile(source, mirrorAnswers, 0o600))
	args := []string{source, c.Bootstrap(), alias, groups, "all"}
	for _, k := range sortedKeys(config) {
		args = append(args, k+"="+config[k])
	}
	var a MirrorAnswers
	c.check(json.Unmarshal([]byte(runJava(c.t, nil, args...)), &a))
	return a
}
