//go:build kafka

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kcm-cli/kcm/internal/kafkatest"
)

// recordsIn reads the committed records of a topic with another client: a line
// for each, by partition.
func recordsIn(t *testing.T, c *kafkatest.Cluster, topic string) map[int32][]string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ends, err := c.Admin().ListCommittedOffsets(ctx, topic)
	if err != nil || ends.Error() != nil {
		t.Fatal(err, ends.Error())
	}
	left, from := map[int32]int64{}, map[int32]kgo.Offset{}
	for p, o := range ends[topic] {
		if from[p] = kgo.NewOffset().AtStart(); o.Offset > 0 {
			left[p] = o.Offset
		}
	}
	all := map[int32][]string{}
	if len(left) == 0 {
		return all
	}
	cl := c.Client(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: from}), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.KeepControlRecords(), kgo.FetchMaxPartitionBytes(32<<20))
	defer cl.Close()
	for len(left) > 0 {
		fs := cl.PollFetches(ctx)
		if err := fs.Err0(); err != nil {
			t.Fatalf("%v; still to come: %v", err, left)
		}
		fs.EachRecord(func(r *kgo.Record) {
			if !r.Attrs.IsControl() {
				all[r.Partition] = append(all[r.Partition], lineOf(r))
			}
			if r.Offset+1 >= left[r.Partition] {
				delete(left, r.Partition)
			}
		})
	}
	return all
}

// ends are the ends of a topic's partitions, as far as they are known.
func ends(t *testing.T, c *kafkatest.Cluster, topic string) (at map[int32]int64, total int64) {
	t.Helper()
	at = map[int32]int64{}
	list, _ := c.Admin().ListEndOffsets(t.Context(), topic) // which fails if one partition does
	for p, o := range list[topic] {
		if o.Err == nil {
			at[p] = o.Offset
			total += o.Offset
		}
	}
	return at, total
}

func lineOf(r *kgo.Record) string {
	text := func(b []byte) string {
		switch {
		case b == nil:
			return "null"
		case len(b) > 200:
			return fmt.Sprintf("%d bytes %x", len(b), sum(b))
		default:
			return fmt.Sprintf("%q", b)
		}
	}
	line := fmt.Sprintf("%d %s %s", r.Timestamp.UnixMilli(), text(r.Key), text(r.Value))
	for _, h := range r.Headers {
		line += fmt.Sprintf(" %q=%s", h.Key, text(h.Value))
	}
	return line
}

// sum is a checksum that tells apart what a test writes.
func sum(b []byte) (h uint64) {
	for _, c := range b {
		h = h*1099511628211 ^ uint64(c)
	}
	return h
}

// copied demands that a topic holds what another one does, partition by partition.
func copied(t *testing.T, from, to *kafkatest.Cluster, source, target string) {
	t.Helper()
	want, got := recordsIn(t, from, source), recordsIn(t, to, target)
	for p := range want {
		if !slices.Equal(got[p], want[p]) {
			i := 0
			for i < min(len(got[p]), len(want[p])) && got[p][i] == want[p][i] {
				i++
			}
			t.Errorf("partition %d: %d records, want %d; from %d on\n got %.300q\nwant %.300q", p, len(got[p]), len(want[p]), i,
				got[p][i:min(i+3, len(got[p]))], want[p][i:min(i+3, len(want[p]))])
		}
	}
	if len(got) > len(want) {
		t.Errorf("records in %d partitions, want %d", len(got), len(want))
	}
}

// copying are the arguments of a copy.
func copying(from, to *kafkatest.Cluster, source, target string, more ...string) []string {
	return append([]string{"-b", "east=" + from.Bootstrap(), "-b", "west=" + to.Bootstrap(), "consume", "east/" + source, "--to", "west/" + target}, more...)
}

// TestACopyIsTheSame: records of every codec and client, of every kind, and of
// transactions; as they are stored, and taken apart for a filter.
func TestACopyIsTheSame(t *testing.T) {
	rig := kafkatest.Real(t, kafkatest.Options{})
	east, west := rig.Cluster("east"), rig.Cluster("west")
	source := rig.Name("src")
	east.CreateTopic(source, 3, nil)
	rng := rand.New(rand.NewPCG(1, 2))
	list := func(name string, n int) (records []kafkatest.Record) {
		for i := range n {
			r := kafkatest.Record{
				Partition: int32(i % 3), Key: fmt.Appendf(nil, "k%d", i%50), Value: fmt.Appendf(nil, "%s %d %x%s", name, i, rng.Uint64(), strings.Repeat(fmt.Sprint(rng.Uint64()), i%20)),
				Time: []int64{1_700_000_000_000, 1_000_000_000_000, -86_400_000, -1}[i%4] + int64(i%2)*int64(i),
			}
			switch i % 11 {
			case 1:
				r.Value = nil
			case 2:
				r.Value = []byte{}
			case 3:
				r.Key = nil
			case 4:
				r.Key = []byte{}
			case 5:
				r.Headers = []kafkatest.Header{{Key: "a", Value: nil}, {Key: "a", Value: []byte{}}, {Key: "", Value: []byte{0xff, 0}}}
			}
			records = append(records, r)
		}
		return records
	}
	for name, codec := range map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(), "lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	} {
		east.ProduceWith(source, []kgo.Opt{kgo.ProducerBatchCompression(codec), kgo.ProducerBatchMaxBytes(64 << 10)}, list("kgo "+name, 3000)...)
		java := list("java "+name, 900)
		for i := range java {
			if java[i].Time < 0 { // which Java refuses
				java[i].Time = 5
			}
		}
		east.ProduceWithJava(source, name, len(java), func(i int) kafkatest.Record { return java[i] })
	}
	for p, codec := range []kafkatest.Codec{kafkatest.Snappy, kafkatest.SnappyJava, kafkatest.LZ4} {
		east.ProduceRaw(source, int32(p), kafkatest.Batch{Codec: codec, Records: list("raw", 100)}.Bytes(t))
	}
	good, bad := east.Begin(source+"-good"), east.Begin(source+"-bad")
	good.Produce(source, list("committed", 30)...)
	bad.Produce(source, list("aborted", 30)...)
	east.Produce(source, list("between", 30)...)
	good.Commit()
	bad.Abort()
	settled(t, east, source)
	for name, args := range map[string][]string{"stored": nil, "filtered": {"-G", "t:."}} {
		t.Run(name, func(t *testing.T) {
			target := rig.With(t).Name("copy")
			west.CreateTopic(target, 3, nil)
			r := run(t, copying(east, west, source, target, append(args, "-e", "-v")...))
			r.exits(t, 0)
			copied(t, east, west, source, target)
			if len(r.stdout) > 0 {
				t.Errorf("%d lines on stdout", len(r.stdout))
			}
			made := ", 0 made anew"
			if args != nil {
				made = "west: 0 batches as they were stored"
			}
			r.says(t, 1, made)
		})
	}
	t.Run("other partitions", func(t *testing.T) {
		target := rig.With(t).Name("copy")
		west.CreateTopic(target, 5, nil)
		run(t, copying(east, west, source, target, "-e")).exits(t, 0)
		flat := func(m map[int32][]string) (all []string) {
			for _, lines := range m {
				all = append(all, lines...)
			}
			slices.Sort(all)
			return all
		}
		equal(t, "all records", flat(recordsIn(t, west, target)), flat(recordsIn(t, east, source)))
	})
}

// TestACopyOfACompactedTopic: batches with holes are taken apart.
func TestACopyOfACompactedTopic(t *testing.T) {
	rig := kafkatest.Real(t, kafkatest.Options{})
	east, west, source, target := rig.Cluster("east"), rig.Cluster("west"), rig.Name("compacted"), rig.Name("copy")
	east.CreateTopic(source, 1, map[string]string{
		"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.001", "segment.ms": "1", "delete.retention.ms": "3600000",
	})
	west.CreateTopic(target, 1, map[string]string{"cleanup.policy": "compact"})
	n := 0
	write := func() {
		var list []kafkatest.Record
		for i := range 20 {
			r := kafkatest.Record{Key: fmt.Appendf(nil, "k%d", (n+i*i)%15), Value: fmt.Appendf(nil, "v%d", n+i), Time: 1_700_000_000_000 + int64(n+i)}
			if i%7 == 3 {
				r.Value = nil
			}
			list = append(list, r)
		}
		east.ProduceWith(source, []kgo.Opt{kgo.ProducerBatchCompression(kgo.ZstdCompression())}, list...)
		n += len(list)
	}
	write()
	for deadline := time.Now().Add(patience); ; {
		if len(recordsIn(t, east, source)[0]) < n-15 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("not compacted")
		}
		write()
		time.Sleep(200 * time.Millisecond)
	}
	before := recordsIn(t, east, source)[0]
	r := run(t, copying(east, west, source, target, "-e", "-v"))
	r.exits(t, 0)
	// The cleaner may go on meanwhile: what was copied was there, in that order, and
	// everything that is left was copied.
	got, after := recordsIn(t, west, target)[0], recordsIn(t, east, source)[0]
	if !subsequence(got, before) || !subsequence(after, got) {
		t.Errorf("%d records copied, there were %d and are %d", len(got), len(before), len(after))
	}
	r.says(t, 0, ", 0 made anew")
}

// subsequence reports whether a is b with some left out.
func subsequence(a, b []string) bool {
	for _, x := range b {
		if len(a) > 0 && a[0] == x {
			a = a[1:]
		}
	}
	return len(a) == 0
}

// TestTheTargetDiesInTheMiddle of a copy and comes back: nothing is lost. Nothing is
// there twice either, because the records are of today: a broker that restarts
// forgets producers whose last record is older than producer.id.expiration.ms.
func TestTheTargetDiesInTheMiddle(t *testing.T) {
	rig := kafkatest.Real(t, kafkatest.Options{})
	east, west, source := rig.Cluster("east"), rig.Start("own", kafkatest.Options{}), rig.Name("src")
	east.CreateTopic(source, 4, nil)
	west.CreateTopic("copy", 4, nil)
	seed := rand.NewPCG(1, 2)
	rng := rand.New(seed)
	for range 15 {
		var list []kafkatest.Record
		for i := range 2000 {
			list = append(list, kafkatest.Record{Partition: int32(i % 4), Value: fmt.Appendf(nil, "%d %x", i, rng.Uint64())})
		}
		east.ProduceWith(source, []kgo.Opt{kgo.ProducerBatchMaxBytes(8 << 10)}, list...)
	}
	k := start(t, copying(east, west, source, "copy", "-o", "start", "-v"))
	k.until(patience, "the first records", func() bool { return west.EndOffset("copy", 0) > 0 })
	west.Kill9(west.FirstNode())
	for i := range 5 {
		east.Produce(source, kafkatest.Record{Partition: int32(i % 4), Value: fmt.Appendf(nil, "meanwhile %d", i)})
	}
	killed := time.Now()
	k.told(patience, "west: lost: ")
	if d := time.Since(killed); d > 5*time.Second+ease {
		t.Errorf("told after %v", d)
	}
	west.Restart(west.FirstNode())
	k.until(patience, "every record", func() bool { _, n := ends(t, west, "copy"); return n >= 30_005 })
	k.told(patience, "west: back")
	k.stop().exits(t, 0)
	if at, n := ends(t, west, "copy"); n != 30_005 {
		t.Errorf("%d records in the copy: %v\n%s", n, at, strings.Join(k.err.all(), "\n"))
	}
	copied(t, east, west, source, "copy")
}

// TestTheTargetsLeadersMove while a copy runs.
func TestTheTargetsLeadersMove(t *testing.T) {
	rig := kafkatest.Real(t, kafkatest.Options{})
	east, three, source, target := rig.Cluster("east"), rig.Cluster("three"), rig.Name("src"), rig.Name("copy")
	east.CreateTopic(source, 3, nil)
	three.CreateTopic(target, 3, nil)
	k := start(t, copying(east, three, source, target, "-o", "start"))
	n := int64(0)
	nodes := three.Nodes()
	for round := range 6 {
		var list []kafkatest.Record
		for i := range 3000 {
			list = append(list, kafkatest.Record{Partition: int32(i % 3), Value: fmt.Appendf(nil, "%d %d", round, i), Time: time.Now().UnixMilli()})
		}
		east.ProduceWith(source, []kgo.Opt{kgo.ProducerBatchMaxBytes(4 << 10)}, list...)
		n += int64(len(list))
		for p := range int32(3) {
			three.MoveLeader(target, p, nodes[(round+int(p))%3])
		}
	}
	k.until(patience, "every record", func() bool { _, total := ends(t, three, target); return total >= n })
	k.stop().exits(t, 0)
	copied(t, east, three, source, target)
}

// TestOnePartitionOfTheTargetIsDown: it waits and is told, the others flow, and in
// the end everything is there. A run with an end gives it up.
func TestOnePartitionOfTheTargetIsDown(t *testing.T) {
	rig := kafkatest.Real(t, kafkatest.Options{})
	east, three, source, target := rig.Cluster("east"), rig.Cluster("three"), rig.Name("src"), rig.Name("copy")
	east.CreateTopic(source, 3, nil)
	if resp, err := three.Admin().CreateTopic(t.Context(), 3, 1, nil, target); err != nil || resp.Err != nil {
		t.Fatal(err, resp.Err)
	}
	t.Cleanup(func() { three.DeleteTopic(target) })
	write := func(round int) {
		var list []kafkatest.Record
		for i := range 300 {
			list = append(list, kafkatest.Record{Partition: int32(i % 3), Value: fmt.Appendf(nil, "%d %d", round, i), Time: time.Now().UnixMilli()})
		}
		east.Produce(source, list...)
	}
	write(0)
	k := start(t, copying(east, three, source, target, "-o", "start"))
	k.until(patience, "the first records", func() bool { _, n := ends(t, three, target); return n == 300 })
	down := three.Leader(target, 2)
	three.Kill9(down)
	write(1)
	killed := time.Now()
	k.until(patience, "the other partitions", func() bool {
		at, _ := ends(t, three, target)
		return at[0] == 200 && at[1] == 200
	})
	t.Logf("the others have arrived after %v", time.Since(killed))
	k.told(patience, "west", "lost: ")
	if d := time.Since(killed); d > 5*time.Second+ease {
		t.Errorf("told after %v", d)
	}
	// Until the cluster has noticed it takes the broker for one that is there, but cannot be reached.
	k.until(patience, "the partition to have no leader", func() bool { return three.Leader(target, 2) < 0 })
	r := run(t, copying(east, three, source, target, "-e", "-p", "2", "--give-up", "4s"))
	r.exits(t, 1) // it asked for nothing else, and so nothing was taken
	r.says(t, 1, "west/"+target+": given up after 4s: no leader")
	three.Restart(down)
	k.until(patience, "every record", func() bool { at, _ := ends(t, three, target); return at[2] == 200 })
	k.told(patience, "west", "back")
	k.stop().exits(t, 0)
	copied(t, east, three, source, target)
}

// TestRecordsThatTheTargetRefuses stop their split there, with the reason.
func TestRecordsThatTheTargetRefuses(t *testing.T) {
	rig := kafkatest.Real(t, kafkatest.Options{})
	east, west := rig.Cluster("east"), rig.Cluster("west")
	t.Run("of the future", func(t *testing.T) {
		rig := rig.With(t)
		source, target := rig.Name("future"), rig.Name("copy")
		east.CreateTopic(source, 1, map[string]string{"message.timestamp.after.max.ms": "9223372036854775807"})
		west.CreateTopic(target, 1, map[string]string{"message.timestamp.after.max.ms": "3600000"})
		list := texts("a", "b", "c", "d")
		for i := range list {
			list[i].Time = 1_700_000_000_000
		}
		list[2].Time = 7_258_118_400_000 // the year 2200
		east.Produce(source, list...)
		r := run(t, copying(east, west, source, target, "-e"))
		r.exits(t, 3)
		r.says(t, 1, "east/"+source+"/0: west/"+target+"/0 refuses the record at offset 2", "timestamp")
		r.says(t, 1, "hint: ", "message.timestamp.after.max.ms")
		equal(t, "the copy", recordsIn(t, west, target)[0], []string{`1700000000000 null "a"`, `1700000000000 null "b"`})
	})
	t.Run("too large", func(t *testing.T) {
		rig := rig.With(t)
		source, target, roomy := rig.Name("large"), rig.Name("copy"), rig.Name("roomy")
		east.CreateTopic(source, 1, map[string]string{"max.message.bytes": fmt.Sprint(20 << 20)})
		west.CreateTopic(target, 1, map[string]string{"max.message.bytes": fmt.Sprint(1 << 20)})
		west.CreateTopic(roomy, 1, map[string]string{"max.message.bytes": fmt.Sprint(20 << 20)})
		large := make([]byte, 10<<20)
		_, _ = rand.NewChaCha8([32]byte{1}).Read(large)
		east.Produce(source, kafkatest.Record{Value: []byte("first")})
		east.Produce(source, kafkatest.Record{Value: large})
		east.Produce(source, kafkatest.Record{Value: []byte("last")})
		r := run(t, copying(east, west, source, target, "-e"))
		r.exits(t, 3)
		r.says(t, 1, "east/"+source+"/0: the record at offset 1 takes 104", "west/"+target+" takes at most 1048576")
		if got := recordsIn(t, west, target)[0]; len(got) != 1 || !strings.Contains(got[0], "first") {
			t.Errorf("%.100q", got)
		}
		run(t, copying(east, west, source, roomy, "-e")).exits(t, 0)
		copied(t, east, west, source, roomy)
	})
	t.Run("without a key", func(t *testing.T) {
		rig := rig.With(t)
		source, target := rig.Name("keys"), rig.Name("copy")
		east.CreateTopic(source, 1, nil)
		west.CreateTopic(target, 1, map[string]string{"cleanup.policy": "compact"})
		east.Produce(source, kafkatest.Record{Key: []byte("k"), Value: []byte("v"), Time: 5}, kafkatest.Record{Value: []byte("w"), Time: 6})
		r := run(t, copying(east, west, source, target, "-e"))
		r.exits(t, 3)
		r.says(t, 1, "refuses the record at offset 1")
		equal(t, "the copy", recordsIn(t, west, target)[0], []string{`5 "k" "v"`})
	})
}

// TestAQuotaOnWriting slows a copy down, and is no loss of contact.
func TestAQuotaOnWriting(t *testing.T) {
	rig := kafkatest.Real(t, kafkatest.Options{})
	east, west, source, target := rig.Cluster("east"), rig.Cluster("west"), rig.Name("src"), rig.Name("copy")
	east.CreateTopic(source, 1, nil)
	west.CreateTopic(target, 1, nil)
	client := rig.Name("slow")
	who := kadm.ClientQuotaEntity{{Type: "client-id", Name: kadm.StringPtr(client)}}
	quota := []kadm.AlterClientQuotaEntry{{Entity: who, Ops: []kadm.AlterClientQuotaOp{{Key: "producer_byte_rate", Value: 100_000}}}}
	if _, err := west.Admin().AlterClientQuotas(t.Context(), quota); err != nil {
		t.Fatal(err)
	}
	for range 16 {
		east.Produce(source, kafkatest.Record{Value: bytes.Repeat([]byte("x"), 100_000), Time: 5})
	}
	r := run(t, append(copying(east, west, source, target, "-e"), "-X", "west:client.id="+client))
	r.exits(t, 0)
	r.says(t, 0, "lost")
	if r.took < 2*time.Second {
		t.Errorf("took %v: no quota was felt", r.took)
	}
	copied(t, east, west, source, target)
}
