package offsets

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/kafkatest"
)

// pair are two clusters, and what MirrorMaker 2 would have written between them.
type pair struct {
	t                   *testing.T
	rig                 *kafkatest.Rig
	east, west          *kafkatest.Cluster
	fromEast, toWest    *cluster.Cluster
	policy              Policy
	checkpoints, atEast string // topics
}

func newPair(t *testing.T, rig *kafkatest.Rig, policy Policy) *pair {
	p := &pair{t: t, rig: rig, policy: policy, east: rig.Cluster("east"), west: rig.Cluster("west")}
	p.fromEast, p.toWest = p.connect(p.east), p.connect(p.west)
	p.checkpoints, p.atEast = policy.CheckpointsTopic(p.alias("east")), policy.OffsetSyncsTopic(p.alias("west"))
	return p
}

// alias is of the test's own, so that tests can share clusters.
func (p *pair) alias(name string) string { return p.rig.Name(name) }

func (p *pair) connect(k *kafkatest.Cluster) *cluster.Cluster {
	p.t.Helper()
	c, err := cluster.New(cluster.Config{Name: k.Name(), Bootstrap: strings.Split(k.Bootstrap(), ",")})
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(c.Close)
	return c
}

// fill makes a topic of one partition with n records a second apart.
func fill(k *kafkatest.Cluster, topic string, n int) {
	k.CreateTopic(topic, 1, nil)
	if n == 0 {
		return
	}
	list := make([]kafkatest.Record, n)
	for i := range list {
		list[i] = kafkatest.Record{Value: []byte{byte(i)}, Time: 1_700_000_000_000 + int64(i)*1000}
	}
	k.Produce(topic, list...)
}

func (p *pair) write(k *kafkatest.Cluster, topic string, list ...*logRecord) {
	p.t.Helper()
	records := make([]kafkatest.Record, len(list))
	for i, r := range list {
		records[i] = kafkatest.Record{Key: r.Key, Value: r.Value}
	}
	k.Produce(topic, records...)
}

func (p *pair) translator(via Via, groups ...string) *Translator {
	return &Translator{
		Flow:   Flow{From: p.fromEast, To: p.toWest, Source: p.alias("east"), Target: p.alias("west"), Policy: p.policy},
		Groups: Selection{Names: groups}, Via: via, Patience: 10 * time.Second,
	}
}

// shown is a translation in lines, without the parts of names that tests add.
func (p *pair) shown(got *Translation) (lines []string) {
	for _, g := range got.Groups {
		for _, t := range g.Partitions {
			offset, bound := "-", "-"
			if t.Offset != nil {
				offset = number(*t.Offset)
			}
			if t.Bound != nil {
				bound = number(*t.Bound)
			}
			line := fmt.Sprintf("%s %s/%d@%d %s@%s %s(%s) %s %s: %s", g.Group, t.SourceTopic, t.Partition.Partition, t.SourceOffset, t.Topic, offset, t.Status, bound, t.Via, t.Metadata, t.Note)
			lines = append(lines, p.plain(line))
		}
	}
	return lines
}

func (p *pair) plain(text string) string {
	return strings.ReplaceAll(text, strings.TrimPrefix(p.rig.Name(""), ""), "")
}

func (p *pair) check(tr *Translator, want ...string) *Translation {
	p.t.Helper()
	got, err := tr.Translate(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	if lines := p.shown(got); !slices.Equal(lines, want) {
		p.t.Errorf("got\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
	return got
}

// A source with gaps, as B24 has it: what is between two checkpoints is not
// counted on.
func TestBetweenCheckpoints(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		p := newPair(t, rig, Policy{})
		topic, g := rig.Name("t"), rig.Name("g")
		copied := p.alias("east") + "." + topic
		p.east.CreateTopic(topic, 1, nil)
		list := make([]kafkatest.Record, 1000)
		for i := range list { // every tenth of them has been copied
			list[i] = kafkatest.Record{Value: []byte{1}, Time: 1_700_000_000_000 + int64(i)*100}
		}
		p.east.Produce(topic, list...)
		fill(p.west, copied, 100)
		p.east.Commit(g, topic, 0, 650)
		p.west.CreateTopic(p.checkpoints, 1, map[string]string{"cleanup.policy": "compact"})
		p.write(p.west, p.checkpoints, checkpointRecord(g, copied, [3]int64{0, 300, 30}, ""), checkpointRecord(g, copied, [3]int64{0, 500, 50}, "note"))

		p.check(p.translator(ViaCheckpoints, g), "g t/0@650 east.t@50 bounded(50) checkpoints note: the checkpoint is for 500")
		got := p.check(p.translator(ViaAuto, g), "g t/0@650 east.t@50 bounded(50) checkpoints note: the checkpoint is for 500")
		if len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0].Error(), "there are no offset syncs") {
			t.Errorf("%v", got.Warnings)
		}
		p.check(p.translator(ViaTimestamp, g), "g t/0@650 east.t@65 bounded(0) timestamp : by the time 2023-11-14T22:14:25.000Z")

		p.east.CreateTopic(p.atEast, 1, nil)
		p.write(p.east, p.atEast, syncRecord(topic, 0, 0, 0), syncRecord(topic, 0, 600, 60), syncRecord(topic, 0, 700, 70))
		p.check(p.translator(ViaAuto, g), "g t/0@650 east.t@61 bounded(9) syncs : ")
		p.check(p.translator(ViaSyncs, g), "g t/0@650 east.t@61 bounded(9) syncs : ")
		p.check(p.translator(ViaMap, g), "g t/0@650 east.t@- unmapped(-) map : there is no map of kcm's own: the partition was not copied by kcm migrate")
		tr := p.translator(ViaAuto, g)
		tr.Map = fixedMap{Runs{{0, 0, 1}, {650, 65, 1}}, 1000}
		p.check(tr, "g t/0@650 copy.t@65 exact(0) map : ")
	})
}

// Checkpoints written by hand, as B23 has them: an empty target, offset 0, and a
// target whose start has moved.
func TestEmptyAndZero(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		p := newPair(t, rig, Policy{})
		topic, g := rig.Name("t"), rig.Name("g")
		copied := p.alias("east") + "." + topic
		p.west.CreateTopic(copied, 5, nil)
		for partition, n := range map[int32]int{1: 5, 2: 40, 3: 40} {
			for range n {
				p.west.Produce(copied, kafkatest.Record{Partition: partition, Value: []byte{1}})
			}
		}
		p.west.DeleteRecords(copied, 2, 10)
		p.west.DeleteRecords(copied, 3, 10)
		p.west.CreateTopic(p.checkpoints, 2, nil)
		p.write(p.west, p.checkpoints,
			checkpointRecord(g, copied, [3]int64{0, 100, 100}, ""), checkpointRecord(g, copied, [3]int64{1, 0, 0}, ""), checkpointRecord(g, copied, [3]int64{2, 50, 20}, ""),
			checkpointRecord(g, copied, [3]int64{3, 5, 4}, ""), checkpointRecord(g, copied, [3]int64{4, 0, 0}, ""), checkpointRecord(g, copied, [3]int64{9, 5, 5}, ""))
		got := p.check(
			p.translator(ViaCheckpoints, g),
			"g t/0@100 east.t@0 bounded(0) checkpoints : the target ends there; whether the copy has come to the commit is not known; moved from 100 to the end, as the target is empty",
			"g t/1@0 east.t@0 exact(0) checkpoints : ",
			"g t/2@50 east.t@20 bounded(20) checkpoints : ",
			"g t/3@5 east.t@10 bounded(36) checkpoints : moved from 4 to the start: what lay before is gone on the target",
			"g t/4@0 east.t@0 exact(0) checkpoints : ",
			"g t/9@5 east.t@- pending(-)  : west/east.t has no such partition yet",
		)
		if got.Sure() || !got.Complete || !got.Groups[0].Partitions[0].Outside() || got.Groups[0].Partitions[1].Outside() || !got.Groups[0].Partitions[0].Checkpointed {
			t.Errorf("%+v", got)
		}
	})
}

// B25: what is missing has four different messages, and asking makes no topic.
func TestNothingToTranslateBy(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		p := newPair(t, rig, Policy{Separator: "_"})
		g := rig.Name("g")
		_, err := p.translator(ViaCheckpoints, g).Translate(t.Context())
		if err == nil || p.plain(err.Error()) != "west: there is no topic east_checkpoints_internal" || fault.KindOf(err) != fault.Failed {
			t.Errorf("no topic: %v", err)
		}
		if p.west.HasTopic(p.checkpoints) {
			t.Error("it has been made")
		}
		other := p.alias("north") + ".checkpoints.internal"
		p.west.CreateTopic(other, 1, nil)
		_, err = p.translator(ViaCheckpoints, g).Translate(t.Context())
		if !strings.Contains(fault.HintOf(err), other) {
			t.Errorf("no candidates: %s", fault.HintOf(err))
		}
		_, err = p.translator(ViaSyncs, g).Translate(t.Context())
		if err == nil || p.plain(err.Error()) != "there are no offset syncs: neither east/mm2-offset-syncs_west_internal nor west/mm2-offset-syncs_east_internal exists" {
			t.Errorf("no syncs: %v", err)
		}
		p.west.CreateTopic(p.checkpoints, 1, nil)
		_, err = p.translator(ViaCheckpoints, g).Translate(t.Context())
		if err == nil || p.plain(err.Error()) != "west/east_checkpoints_internal is empty: no checkpoint has been written yet" {
			t.Errorf("empty: %v", err)
		}
		p.write(p.west, p.checkpoints, checkpointRecord("other", "east_t", [3]int64{0, 1, 1}, ""), &logRecord{Key: []byte("damaged"), Value: []byte{}})
		got := p.check(p.translator(ViaCheckpoints, g))
		if !slices.Equal(got.Missing, []string{g}) || len(got.Warnings) != 1 || p.plain(got.Warnings[0].Error()) != "west/east_checkpoints_internal: 1 record passed over: malformed" {
			t.Errorf("entries for others: %v %v", got.Missing, got.Warnings)
		}
	})
}

// A topic of checkpoints is read to its end by position: tombstones, compaction,
// an aborted transaction and the markers behind the last record included.
func TestReadingToTheEnd(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		p := newPair(t, rig, Policy{})
		topic := rig.Name("t")
		copied := p.alias("east") + "." + topic
		fill(p.west, copied, 10)
		p.west.CreateTopic(p.checkpoints, 1, nil)
		tx := p.west.Begin(rig.Name("tx"))
		tx.Produce(p.checkpoints, kafkatest.Record{Key: checkpointRecord("a", copied, [3]int64{0, 7, 7}, "").Key, Value: checkpointRecord("a", copied, [3]int64{0, 7, 7}, "").Value})
		tx.Commit()
		gone := checkpointRecord("b", copied, [3]int64{0, 7, 7}, "")
		p.write(p.west, p.checkpoints, gone, &logRecord{Key: gone.Key}, checkpointRecord("c", copied, [3]int64{0, 3, 3}, ""))
		tx.Again()
		tx.Produce(p.checkpoints, kafkatest.Record{Key: checkpointRecord("c", copied, [3]int64{0, 9, 9}, "").Key, Value: checkpointRecord("c", copied, [3]int64{0, 9, 9}, "").Value})
		tx.Abort()
		tr := p.translator(ViaCheckpoints)
		tr.Groups = Selection{Match: regexp.MustCompile(`\A(?:[a-c])\z`)}
		p.check(tr, "a t/0@7 east.t@7 bounded(3) checkpoints : ", "c t/0@3 east.t@3 bounded(7) checkpoints : ")
	})
}

// Identity keeps names, with a separator in them or not.
func TestIdentityPolicy(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		p := newPair(t, rig, Policy{})
		g := rig.Name("g")
		dotted := p.alias("east") + "." + rig.Name("t")
		for _, topic := range []string{rig.Name("t"), dotted, rig.Name("u")} {
			fill(p.east, topic, 10)
			fill(p.west, topic, 10)
			p.east.Commit(g, topic, 0, 6)
		}
		p.east.CreateTopic(p.atEast, 1, nil)
		for _, topic := range []string{rig.Name("t"), dotted, rig.Name("u")} {
			p.write(p.east, p.atEast, syncRecord(topic, 0, 5, 5))
		}
		// Without a checkpoints topic nothing tells which way the flow goes.
		unclear := " unmapped(-) syncs : the offset syncs may be of the flow the other way: topics keep their names, and nothing tells"
		p.check(p.translator(ViaSyncs, g), "g east.t/0@6 east.t@-"+unclear, "g t/0@6 t@-"+unclear, "g u/0@6 u@-"+unclear)
		p.west.CreateTopic(p.checkpoints, 1, nil)
		p.check(p.translator(ViaSyncs, g),
			"g east.t/0@6 east.t@6 exact(0) syncs : ", "g t/0@6 t@6 exact(0) syncs : ", "g u/0@6 u@6 exact(0) syncs : ")
		back := p.policy.CheckpointsTopic(p.alias("west"))
		p.east.CreateTopic(back, 1, nil)
		p.check(p.translator(ViaSyncs, g), "g east.t/0@6 east.t@-"+unclear, "g t/0@6 t@-"+unclear, "g u/0@6 u@-"+unclear)
	})
}

// Back again after a move under the identity policy: the syncs are those of the
// flow that was, whose copy begins behind older records.
func TestBackUnderTheIdentityPolicy(t *testing.T) {
	for _, place := range []string{"source", "target"} {
		t.Run(place, func(t *testing.T) {
			p := newPair(t, kafkatest.Fake(t, kafkatest.Options{}), Policy{})
			g := p.rig.Name("g")
			fill(p.east, "t", 40) // the copy: 0 to 9 are its own, 10 is the first of west
			fill(p.west, "t", 60)
			p.east.Commit(g, "t", 0, 15)
			p.east.CreateTopic(p.policy.CheckpointsTopic(p.alias("west")), 1, nil)
			at, topic := p.west, p.policy.OffsetSyncsTopic(p.alias("east"))
			if place == "target" {
				at, topic = p.east, p.policy.OffsetSyncsTopic(p.alias("west"))
			}
			at.CreateTopic(topic, 1, nil)
			p.write(at, topic, syncRecord("t", 0, 0, 10))
			p.write(at, topic, syncRecord("t", 0, 25, 35))
			tr := p.translator(ViaSyncs, g)
			tr.Policy.Identity, tr.Fixed = true, true
			p.check(tr, "g t/0@15 t@1 bounded(4) syncs : ")
		})
	}
}

// Back again under the default policy, with a mirror that only ever went one way.
func TestBackUnderTheDefaultPolicy(t *testing.T) {
	p := newPair(t, kafkatest.Fake(t, kafkatest.Options{}), Policy{})
	g := p.rig.Name("g")
	copied := p.policy.Remote(p.alias("west"), "t")
	fill(p.west, "t", 40)
	fill(p.east, copied, 30)
	p.east.Commit(g, copied, 0, 12)
	topic := p.policy.OffsetSyncsTopic(p.alias("east"))
	p.west.CreateTopic(topic, 1, nil)
	p.write(p.west, topic, syncRecord("t", 0, 10, 0))
	p.write(p.west, topic, syncRecord("t", 0, 22, 12))
	p.check(p.translator(ViaSyncs, g), "g west.t/0@12 t@22 exact(0) syncs : ")
}

// A checkpoint of a topic that was made again on the target since is of other
// records: the syncs know better.
func TestCheckpointsOfATopicMadeAgain(t *testing.T) {
	p := newPair(t, kafkatest.Fake(t, kafkatest.Options{}), Policy{})
	g := p.rig.Name("g")
	copied := p.alias("east") + ".t"
	fill(p.east, "t", 4000)
	fill(p.west, copied, 3000)
	p.west.CreateTopic(p.checkpoints, 1, nil)
	p.write(p.west, p.checkpoints, checkpointRecord(g, copied, [3]int64{0, 910, 910}, ""))
	p.east.CreateTopic(p.atEast, 1, nil)
	p.write(p.east, p.atEast, syncRecord("t", 0, 800, 800))
	p.write(p.east, p.atEast, syncRecord("t", 0, 1000, 0))
	p.east.Commit(g, "t", 0, 1000)
	p.check(p.translator(ViaAuto, g), "g t/0@1000 east.t@0 exact(0) syncs : ")
	p.east.Commit(g, "t", 0, 950)
	got, err := p.translator(ViaAuto, g).Translate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r := got.Groups[0].Partitions[0]; r.Via != ViaTimestamp {
		t.Errorf("950 is before the first record of the copy: %+v", r)
	}
}

// Syncs are found on the target too; those of the flow the other way, in a topic
// of the same name, are taken for the way back only.
func TestSyncsOnTheTarget(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		p := newPair(t, rig, Policy{})
		topic, g := rig.Name("t"), rig.Name("g")
		fill(p.east, topic, 10)
		fill(p.west, p.alias("east")+"."+topic, 30)
		fill(p.west, topic, 10)
		fill(p.east, p.alias("west")+"."+topic, 20)
		p.east.Commit(g, topic, 0, 6)
		p.east.Commit(g, p.alias("west")+"."+topic, 0, 16)
		here := p.policy.OffsetSyncsTopic(p.alias("east"))
		p.west.CreateTopic(here, 1, nil)
		p.write(p.west, here, syncRecord(topic, 0, 5, 15))
		p.check(p.translator(ViaSyncs, g),
			"g t/0@6 east.t@16 exact(0) syncs : ", "g west.t/0@16 t@- pending(-) syncs : nothing of the partition has been mirrored yet: there is no offset sync for it")
		p.east.CreateTopic(p.atEast, 1, nil)
		p.write(p.east, p.atEast, syncRecord(topic, 0, 5, 25))
		p.check(p.translator(ViaSyncs, g), "g t/0@6 east.t@26 exact(0) syncs : ", "g west.t/0@16 t@6 exact(0) syncs : ")
	})
}

// With the source gone its checkpoints remain.
func TestWithoutTheSource(t *testing.T) {
	p := newPair(t, kafkatest.Fake(t, kafkatest.Options{}), Policy{})
	g := p.rig.Name("g")
	copied := p.alias("east") + ".t"
	fill(p.west, copied, 10)
	p.west.CreateTopic(p.checkpoints, 1, nil)
	p.write(p.west, p.checkpoints, checkpointRecord(g, copied, [3]int64{0, 7, 7}, "m"))
	for _, via := range []Via{ViaAuto, ViaCheckpoints, ViaSyncs} {
		tr := p.translator(via, g)
		tr.Lost = fault.New(fault.Unreachable, "east: gone")
		if via == ViaSyncs {
			if _, err := tr.Translate(t.Context()); err != tr.Lost {
				t.Errorf("syncs: %v", err)
			}
			continue
		}
		got := p.check(tr, "g t/0@7 east.t@7 bounded(3) checkpoints m: ")
		if got.Asked || len(got.Warnings) == 0 || got.Warnings[0] != tr.Lost {
			t.Errorf("%v: %+v", via, got)
		}
	}
}

// By time: many records share a millisecond, some have not been copied, a group
// has read everything, a target has times of its own.
func TestByTime(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		p := newPair(t, rig, Policy{})
		topic, own := rig.Name("t"), rig.Name("u")
		copied := p.alias("east") + "." + topic
		p.east.CreateTopic(topic, 1, nil)
		p.west.CreateTopic(copied, 1, nil)
		var list []kafkatest.Record
		for i := range int64(40) { // 10, then 20 in one millisecond, then 10
			list = append(list, kafkatest.Record{Value: []byte{1}, Time: 1_700_000_000_000 + max(min(i, 10), i-19)})
		}
		p.east.Produce(topic, list...)
		p.west.Produce(copied, list[:35]...)
		fill(p.east, own, 5)
		p.west.CreateTopic(p.alias("east")+"."+own, 1, map[string]string{"message.timestamp.type": "LogAppendTime"})
		groups := map[string]int64{"a": 15, "b": 34, "c": 38, "d": 40, "e": 3}
		for g, at := range groups {
			p.east.Commit(rig.Name(g), topic, 0, at)
		}
		p.east.Commit(rig.Name("e"), own, 0, 2)
		p.check(
			p.translator(ViaTimestamp, rig.Name("a"), rig.Name("b"), rig.Name("c"), rig.Name("d"), rig.Name("e")),
			"a t/0@15 east.t@10 bounded(5) timestamp : by the time 2023-11-14T22:13:20.010Z",
			"b t/0@34 east.t@34 bounded(0) timestamp : by the time 2023-11-14T22:13:20.015Z",
			"c t/0@38 east.t@- pending(-) timestamp : the group's next record, of 2023-11-14T22:13:20.019Z, has not been copied yet",
			"d t/0@40 east.t@- pending(-) timestamp : the newest record, of 2023-11-14T22:13:20.020Z, has not been copied yet",
			"e t/0@3 east.t@3 bounded(0) timestamp : by the time 2023-11-14T22:13:20.003Z",
			"e u/0@2 east.u@- unmapped(-) timestamp : west/east.u has the times of writing (LogAppendTime), not those of the source",
		)
		p.west.Produce(copied, list[35:]...)
		p.check(p.translator(ViaTimestamp, rig.Name("d")),
			"d t/0@40 east.t@39 bounded(1) timestamp : everything is read: from the newest record on, of 2023-11-14T22:13:20.020Z")
	})
}

// A topic that does not come to its end is an error, or marked where a part is
// enough.
func TestHalfRead(t *testing.T) {
	p := newPair(t, kafkatest.Fake(t, kafkatest.Options{}), Policy{})
	g := p.rig.Name("g")
	copied := p.alias("east") + ".t"
	fill(p.west, copied, 10)
	p.west.CreateTopic(p.checkpoints, 1, nil)
	p.write(p.west, p.checkpoints, checkpointRecord(g, copied, [3]int64{0, 7, 7}, ""))
	bad := kafkatest.Batch{Records: []kafkatest.Record{{Key: []byte("k")}}, Codec: kafkatest.Gzip}.Bytes(t)
	bad[len(bad)-5] ^= 0xff
	reseal(bad)
	p.west.ProduceRaw(p.checkpoints, 0, bad)
	_, err := p.translator(ViaCheckpoints, g).Translate(t.Context())
	if err == nil || !strings.HasPrefix(p.plain(err.Error()), "west/east.checkpoints.internal was not read to its end: ") || !strings.Contains(fault.HintOf(err), "--allow-partial") {
		t.Fatalf("%v", err)
	}
	tr := p.translator(ViaCheckpoints, g)
	tr.Partial = true
	got := p.check(tr, "g t/0@7 east.t@7 bounded(3) checkpoints : ")
	if got.Complete || len(got.Warnings) != 1 {
		t.Errorf("%+v", got)
	}
}

func TestReadingIsCutShort(t *testing.T) {
	p := newPair(t, kafkatest.Fake(t, kafkatest.Options{}), Policy{})
	p.west.CreateTopic("t", 1, nil)
	p.west.Produce("t", kafkatest.Record{Value: []byte("v")})
	ctx, cancel := context.WithCancel(t.Context())
	l := &logReader{c: p.toWest, patience: time.Minute, take: func(Partition, *logRecord) bool { cancel(); return true }}
	failed := l.read(ctx, []logRange{{spot("t", 0), 0, 5}})
	if err := failed[spot("t", 0)]; err != context.Canceled {
		t.Errorf("%v", failed)
	}
	l = &logReader{c: p.toWest, patience: 200 * time.Millisecond, take: func(Partition, *logRecord) bool { return true }}
	failed = l.read(t.Context(), []logRange{{spot("t", 0), 0, 5}})
	if err := failed[spot("t", 0)]; fault.KindOf(err) != fault.Unreachable || err.Error() != "west: nothing has come for 200ms" {
		t.Errorf("%v", failed)
	}
}
