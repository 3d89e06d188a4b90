//go:build kafka

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kcm-cli/kcm/internal/kafkatest"
)

// TestAllBrokersDownAtOnce and back: nothing is lost, repeated or read from the
// start again. KCM_SOAK=1 keeps them down for half a minute.
func TestAllBrokersDownAtOnce(t *testing.T) {
	rig := kafkatest.Real(t, kafkatest.Options{})
	c, topic := rig.Cluster("three"), rig.Name("orders")
	const partitions = 6
	c.CreateTopic(topic, partitions, map[string]string{"min.insync.replicas": "1"})
	away := 3 * time.Second
	if os.Getenv("KCM_SOAK") == "1" {
		away = 30 * time.Second
	}
	k := start(t, []string{"-b", "three=" + c.Bootstrap(), "consume", topic, "-o", "start", "-J"})
	stop := steady(t, c, topic, partitions)
	k.gets(patience, 300)
	nodes := c.Nodes()
	for _, node := range nodes {
		c.Kill9(node)
	}
	killed := time.Now()
	k.told(15*time.Second, "three: lost")
	k.until(away+time.Second, "the end of the outage", until(killed.Add(away)))
	now := k.out.count()
	c.RestartAll(nodes...)
	up := time.Now()
	k.gets(30*time.Second, now+600)
	t.Logf("on again %.1f s after the brokers", time.Since(up).Seconds())
	counts := stop()
	total := 0
	for _, n := range counts {
		total += n
	}
	k.gets(30*time.Second, total)
	k.until(5*time.Second, "every loss to be followed by a return", func() bool { return unrecovered(k.err.all()) == 0 })
	r := k.stop()
	r.exits(t, 0)
	r.below(t, 80)
	got := values(t, r.stdout)
	for p, n := range counts {
		equal(t, fmt.Sprintf("partition %d", p), of(c, int32(p), got), counted(c, int32(p), n))
	}
	if len(got) != total {
		t.Errorf("%d records, want %d", len(got), total)
	}
	for _, l := range r.stderr {
		if !sensible.MatchString(l) {
			t.Errorf("told %q", l)
		}
	}
	if most := 1 + 3*3 + 2*partitions + 3; len(r.stderr) > most {
		t.Errorf("%d lines on stderr, want %d at most:\n%s", len(r.stderr), most, strings.Join(r.stderr, "\n"))
	}
}

// unrecovered is how many of the losses that were told have no return.
func unrecovered(lines []string) (n int) {
	for _, l := range lines {
		switch {
		case !sensible.MatchString(l):
		case strings.Contains(l, "lost") || strings.Contains(l, "no leader"):
			n++
		case strings.Contains(l, "back") || strings.Contains(l, "not needed"):
			n--
		}
	}
	return n
}

// through is a follow of many topics at both levels of isolation, one after the
// other of which something happens to.
type through struct {
	t              *testing.T
	c              *kafkatest.Cluster
	k, committed   *kcm
	want           map[string][]string // tags by topic, of both
	hidden         map[string][]string // of the uncommitted alone
	all, confirmed int
}

// expect notes what has to come next of a partition and waits until it has.
func (y *through) expect(topic string, partition, offset int, values ...string) {
	y.t.Helper()
	y.want[topic] = append(y.want[topic], expect(place{y.c.Name(), topic}, partition, offset, values...)...)
	y.all, y.confirmed = y.all+len(values), y.confirmed+len(values)
	y.come()
}

func (y *through) come() {
	y.t.Helper()
	y.k.gets(20*time.Second, y.all)
	y.committed.gets(20*time.Second, y.confirmed)
}

// TestAFollowThroughEverything that can happen to a topic.
func TestAFollowThroughEverything(t *testing.T) {
	rig := kafkatest.Real(t, kafkatest.Options{})
	c := rig.Cluster("three")
	name := map[string]string{}
	var topics []string
	for _, n := range []string{"codecs", "again", "wider", "tx", "compacted", "cut", "moved"} {
		name[n] = rig.Name(n)
		topics = append(topics, name[n])
	}
	c.CreateTopic(name["codecs"], 1, map[string]string{"max.message.bytes": "20000000"})
	for _, n := range []string{"again", "wider", "tx", "moved"} {
		c.CreateTopic(name[n], 1, nil)
	}
	c.CreateTopic(name["cut"], 1, map[string]string{"segment.bytes": "1048576"})
	left := compact(t, c, name["compacted"])
	compacted := kcatShows(t, c, name["compacted"], "C", "-o", "beginning", "-e")

	args := []string{"-m", file(t, "kcm.yaml", only([]string{at(c)}, listed{cluster: c.Name(), topics: topics})), "consume", "orders", "-o", "start", "-J", "--refresh", "1s"}
	y := &through{
		t: t, c: c, k: start(t, args), committed: start(t, append(slices.Clone(args), "--read-committed")),
		want: map[string][]string{}, hidden: map[string][]string{}, all: left, confirmed: left,
	}
	y.come()

	y.codecs(name["codecs"])
	y.leaders(name["moved"])

	c.AddPartitions(name["wider"], 2)
	put(c, name["wider"], 1, "w0", "w1")
	y.expect(name["wider"], 1, 0, "w0", "w1")

	end := int(c.EndOffset(name["compacted"], 0))
	c.Produce(name["compacted"], kafkatest.Record{Key: []byte("k0"), Value: []byte("fresh")})
	y.expect(name["compacted"], 0, end, "fresh")

	tx := c.Begin(name["tx"])
	tx.Produce(name["tx"], texts("o0", "o1")...)
	put(c, name["tx"], 0, "n0")
	y.all += 3
	y.come() // the other one waits for the end of the transaction
	y.hidden[name["tx"]] = expect(place{c.Name(), name["tx"]}, 0, 0, "o0", "o1")

	put(c, name["again"], 0, "a0", "a1", "a2")
	y.expect(name["again"], 0, 0, "a0", "a1", "a2")
	gone := time.Now()
	c.DeleteTopic(name["again"])
	c.CreateTopic(name["again"], 1, nil)
	put(c, name["again"], 0, "b0", "b1")
	y.expect(name["again"], 0, 0, "b0", "b1")
	y.k.heard(5*time.Second, gone, name["again"], "deleted and made again")

	y.retention(name["cut"])

	tx.Abort()
	y.want[name["tx"]] = expect(place{c.Name(), name["tx"]}, 0, 2, "n0")
	y.confirmed++
	put(c, name["tx"], 0, "n1")
	y.expect(name["tx"], 0, 4, "n1")

	for what, k := range map[string]*kcm{"uncommitted": y.k, "committed": y.committed} {
		r := k.stop()
		r.exits(t, 0)
		got := tags(t, r.stdout)
		for _, topic := range topics {
			p := place{c.Name(), topic}
			list := from(p, got)
			if topic == name["compacted"] {
				for i, s := range compacted {
					if prefix := fmt.Sprintf("%s/0@%d=", p, s.offset); !strings.HasPrefix(list[i], prefix) {
						t.Errorf("%s: record %d of the compacted topic is %s, want %s", what, i, list[i], prefix)
					}
				}
				list = list[left:]
			}
			want := y.want[topic]
			if what == "uncommitted" {
				want = append(slices.Clone(y.hidden[topic]), want...)
			}
			equal(t, what+" "+topic, list, want)
		}
		r.below(t, 150)
		t.Logf("%s, stderr:\n%s", what, strings.Join(r.stderr, "\n"))
	}
}

// codecs writes batches of each codec and a record of 10 MB between them.
func (y *through) codecs(topic string) {
	y.t.Helper()
	next := 0
	list := some("java", 50) // which frames snappy in a way of its own
	y.c.ProduceWithJava(topic, "snappy", len(list), func(i int) kafkatest.Record { return kafkatest.Record{Value: []byte(list[i])} })
	y.expect(topic, 0, next, list...)
	next += len(list)
	for i, codec := range []kgo.CompressionCodec{kgo.ZstdCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.GzipCompression(), kgo.NoCompression()} {
		list := some(fmt.Sprint("kgo", i, "-"), 50)
		y.c.ProduceWith(topic, []kgo.Opt{kgo.ProducerBatchCompression(codec)}, texts(list...)...)
		y.expect(topic, 0, next, list...)
		next += len(list)
	}
	for i, codec := range []kgo.CompressionCodec{kgo.NoCompression(), kgo.Lz4Compression()} {
		large := bytes.Repeat([]byte{byte('x' + i)}, 10<<20)
		y.c.ProduceWith(topic, []kgo.Opt{kgo.ProducerBatchCompression(codec)}, kafkatest.Record{Value: large})
		put(y.c, topic, 0, "behind")
		y.expect(topic, 0, next, string(large), "behind")
		next += 2
	}
}

// leaders moves a partition over all brokers.
func (y *through) leaders(topic string) {
	y.t.Helper()
	nodes := y.c.Nodes()
	for i := range 2 * len(nodes) {
		y.c.MoveLeader(topic, 0, nodes[i%len(nodes)])
		put(y.c, topic, 0, fmt.Sprint("m", i))
		y.expect(topic, 0, i, fmt.Sprint("m", i))
	}
}

// retention removes what two readers that are stopped have not read.
func (y *through) retention(topic string) {
	y.t.Helper()
	y.k.signal(syscall.SIGSTOP)
	y.committed.signal(syscall.SIGSTOP)
	// What is asked for already is answered by the first record and no more.
	put(y.c, topic, 0, "first")
	var heavy []string
	for i := range 40 {
		heavy = append(heavy, fmt.Sprint(i, strings.Repeat("x", 100_000)))
		put(y.c, topic, 0, heavy[i])
	}
	bytes := "1"
	_, err := y.c.Admin().AlterTopicConfigs(y.t.Context(), []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "retention.bytes", Value: &bytes}}, topic)
	if err != nil {
		y.t.Fatal(err)
	}
	var first int
	deadline := time.Now().Add(hang)
	for quiet := time.Now(); time.Since(quiet) < 1500*time.Millisecond; time.Sleep(50 * time.Millisecond) {
		starts, err := y.c.Admin().ListStartOffsets(y.t.Context(), topic)
		if err != nil || time.Now().After(deadline) {
			y.t.Fatal("the log's start does not move on and stop: ", err)
		}
		o, _ := starts.Lookup(topic, 0)
		if int(o.Offset) != first || first == 0 {
			first, quiet = int(o.Offset), time.Now()
		}
	}
	y.k.signal(syscall.SIGCONT)
	y.committed.signal(syscall.SIGCONT)
	y.want[topic] = expect(place{y.c.Name(), topic}, 0, 0, "first")
	y.all, y.confirmed = y.all+1, y.confirmed+1
	y.expect(topic, 0, first, heavy[first-1:]...)
	y.k.told(time.Second, topic+"/0: offsets 1 to", fmt.Sprintf("to %d are gone", first-1))
	y.committed.told(time.Second, topic+"/0: offsets 1 to", fmt.Sprintf("to %d are gone", first-1))
}
