package mirror

import (
	"encoding/hex"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// lines reads testdata/policies.txt, which Kafka's own classes wrote.
func lines(t *testing.T) [][]string {
	t.Helper()
	file, err := os.ReadFile("testdata/policies.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all [][]string
	for line := range strings.Lines(string(file)) {
		all = append(all, strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
	}
	return all
}

func set(field string) string {
	if field == "(null)" {
		return ""
	}
	return field
}

func TestPoliciesAreKafkas(t *testing.T) {
	var p Policy
	policies, topics := 0, 0
	for _, f := range lines(t) {
		switch f[0] {
		case "policy":
			policies++
			p = Policy{
				Identity: f[1] == "IdentityReplicationPolicy", Separator: set(f[2]), DotInternal: f[3] == "false", Source: set(f[4]),
			}
			got := []string{p.CheckpointsTopic("us.west"), p.OffsetSyncsTopic("us.west"), p.HeartbeatsTopic()}
			if !slices.Equal(got, f[5:]) {
				t.Errorf("%+v: %q, Kafka has %q", p, got, f[5:])
			}
		case "topic":
			topics++
			if got := answers(p, f[1]); !slices.Equal(got, f[2:]) {
				t.Errorf("%+v, topic %s:\n got %q\nwant %q", p, f[1], got, f[2:])
			}
		}
	}
	if policies < 16 || topics < 16*35 {
		t.Errorf("%d policies, %d topics: the file is not whole", policies, topics)
	}
}

// answers asks p what Policies.java asks.
func answers(p Policy, topic string) []string {
	source, upstream, ok := p.Cut(topic)
	if !ok {
		source, upstream = "(null)", "(null)"
		if p.Identity && !p.likeHeartbeats(topic) {
			upstream = topic // Kafka has it there even without a source
		}
	}
	sources := p.Sources(topic)
	slices.Sort(sources)
	return []string{
		source, upstream, p.Original(topic), p.Remote("src", topic), strings.Join(sources, " "), strconv.Itoa(p.Hops(topic, "b")),
		strconv.FormatBool(p.IsHeartbeats(topic)), strconv.FormatBool(p.IsCheckpoints(topic)),
		strconv.FormatBool(p.IsInternal(topic)), strconv.FormatBool(p.IsRemote(topic)),
	}
}

func TestSourcesAreInOrder(t *testing.T) {
	if got := (Policy{}).Sources("a.b.c.orders"); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("%q", got)
	}
	if hops := (Policy{}).Hops("a.b.c.orders", "c"); hops != 3 {
		t.Errorf("%d hops", hops)
	}
}

// Where the alias is known, names that contain the separator are no riddle.
func TestUpstream(t *testing.T) {
	for _, tt := range []struct {
		policy       Policy
		alias, topic string
		want         string
		ok           bool
	}{
		{Policy{}, "a", "a.orders", "orders", true},
		{Policy{}, "us.west", "us.west.orders.v2", "orders.v2", true},
		{Policy{}, "us", "us.west.orders", "west.orders", true},
		{Policy{}, "b", "a.orders", "", false},
		{Policy{}, "a", "a.", "", false},
		{Policy{}, "a", "aorders", "", false},
		{Policy{Separator: "__"}, "a_b", "a_b__c__d", "c__d", true},
		{Policy{Identity: true}, "a", "orders", "orders", true},
		{Policy{Identity: true}, "a", "a.heartbeats", "heartbeats", true},
		{Policy{Identity: true}, "a", "heartbeats", "", false},
	} {
		got, ok := tt.policy.Upstream(tt.alias, tt.topic)
		if ok != tt.ok || ok && got != tt.want {
			t.Errorf("%+v: %s from %s is %q, %v", tt.policy, tt.topic, tt.alias, got, ok)
		}
		if ok && tt.policy.Remote(tt.alias, got) != tt.topic {
			t.Errorf("%+v: %s mirrored from %s is %s", tt.policy, got, tt.alias, tt.policy.Remote(tt.alias, got))
		}
	}
}

func TestAmbiguous(t *testing.T) {
	for _, tt := range []struct {
		policy Policy
		alias  string
		want   bool
	}{
		{Policy{}, "us.west", true},
		{Policy{}, "us-west", false},
		{Policy{Separator: "-"}, "us-west", true},
		{Policy{Separator: "-"}, "us.west", false},
		{Policy{Identity: true}, "us.west", false},
	} {
		if got := tt.policy.Ambiguous(tt.alias); got != tt.want {
			t.Errorf("%+v, %s: %v", tt.policy, tt.alias, got)
		}
	}
}

// MirrorCheckpointTask.renameTopicPartition: what came from the target goes back
// under the name that it has there.
func TestCheckpointed(t *testing.T) {
	for _, tt := range []struct {
		policy Policy
		topic  string
		want   string
	}{
		{Policy{}, "orders", "east.orders"},
		{Policy{}, "west.orders", "orders"},
		{Policy{}, "north.orders", "east.north.orders"},
		{Policy{}, "west.north.orders", "orders"},
		{Policy{Separator: "_"}, "west_orders", "orders"},
		{Policy{Separator: "_"}, "west.orders", "east_west.orders"},
		{Policy{Identity: true, Source: "east"}, "orders", "orders"},
		{Policy{Identity: true}, "heartbeats", "east.heartbeats"},
	} {
		if got := tt.policy.Checkpointed(tt.topic, "east", "west"); got != tt.want {
			t.Errorf("%+v: %s is %s, want %s", tt.policy, tt.topic, got, tt.want)
		}
	}
}

func TestHeartbeatsTopicOfAnotherName(t *testing.T) {
	p := Policy{Heartbeats: "beats"}
	if p.HeartbeatsTopic() != "beats" || !p.IsHeartbeats("a.beats") || p.IsHeartbeats("a.heartbeats") {
		t.Error("the heartbeats topic's name is not taken")
	}
}

func TestRecognize(t *testing.T) {
	for topic, want := range map[string]Named{
		"a.checkpoints.internal":            {Checkpoints, "a", "."},
		"us.west.checkpoints.internal":      {Checkpoints, "us.west", "."},
		"a__checkpoints__internal":          {Checkpoints, "a", "__"},
		"a-checkpoints-internal":            {Checkpoints, "a", "-"},
		"a-checkpoints.internal":            {},
		"a.checkpoints-internal":            {},
		"checkpoints.internal":              {},
		".checkpoints.internal":             {},
		"checkpointsinternal":               {},
		"mm2-offset-syncs.b.internal":       {OffsetSyncs, "b", "."},
		"mm2-offset-syncs_us_west_internal": {OffsetSyncs, "us_west", "_"},
		"mm2-offset-syncs.b_internal":       {},
		"mm2-offset-syncs..internal":        {},
		"mm2-offset-syncs":                  {},
		"heartbeats":                        {Kind: Heartbeats},
		"a.heartbeats":                      {Heartbeats, "a", "."},
		"a.b.heartbeats":                    {Heartbeats, "a.b", "."},
		"myheartbeats":                      {},
		".heartbeats":                       {},
		"heartbeats.x":                      {},
		"orders":                            {},
		"":                                  {},
		"internal":                          {},
	} {
		if got := Recognize(topic); got != want {
			t.Errorf("%s: %+v, want %+v", topic, got, want)
		}
	}
	for _, p := range []Policy{{}, {Separator: "_"}, {Separator: "__"}, {Separator: "-"}, {Separator: "_", DotInternal: true}} {
		if got := Recognize(p.CheckpointsTopic("a")); got != (Named{Checkpoints, "a", p.internalSeparator()}) {
			t.Errorf("%+v: %+v", p, got)
		}
		if got := Recognize(p.OffsetSyncsTopic("a")); got != (Named{OffsetSyncs, "a", p.internalSeparator()}) {
			t.Errorf("%+v: %+v", p, got)
		}
	}
}

func hexed(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
