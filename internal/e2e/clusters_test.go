//go:build kafka

package e2e

import (
	"bytes"
	"fmt"
	"os/exec"
	"strconv"
	"testing"

	"github.com/kcm-cli/kcm/internal/kafkatest"
)

// order is record n of a partition: text, JSON, what looks like JSON, and bytes
// that are neither; keys and headers of all kinds. plain leaves out what kcat
// cannot write. No value holds a newline, so that a line of raw is one.
func order(cluster string, partition int32, n int, plain bool) kafkatest.Record {
	tag := fmt.Sprintf("@%s/%d/%d@", cluster, partition, n)
	r := kafkatest.Record{Partition: partition, Key: fmt.Appendf(nil, "k%d", n)}
	switch n % 5 {
	case 0:
		r.Value = fmt.Appendf(nil, `{"id":%q,"price":12.50,"big":%d0000000000000000001,"html":"<a&b>","nested":{"list":[1,2.0,-3e5,null]}}`, tag, n)
	case 1:
		r.Value = []byte(tag + ` höhe ✓ 𝄞 "quoted" \ <&>`)
	case 2:
		r.Value = []byte("\xff\xfe\x00\x80" + tag + "\xc3")
	case 3:
		r.Value = []byte(`{"not": json` + tag)
	default:
		r.Value = bytes.Repeat([]byte(tag), 1+n%7)
	}
	if n%9 == 0 {
		r.Key = []byte("k\xff\x01" + tag)
	}
	if plain {
		return r
	}
	r.Time = 1_700_000_000_000 + int64(n)*7
	switch n % 11 {
	case 0:
		r.Key = nil
	case 1:
		r.Key = []byte{}
	case 2:
		r.Headers = []kafkatest.Header{{Key: "trace", Value: []byte(tag)}, {Key: "trace", Value: nil}, {Key: "ü", Value: []byte{0xff}}, {Key: "e", Value: []byte{}}}
	}
	return r
}

// tally follows one stream's splits: the next record of each.
type tally struct {
	t     *testing.T
	next  map[string]int // by cluster/partition
	plain map[string]bool
	bad   int
}

func newTally(t *testing.T) *tally {
	return &tally{t: t, next: map[string]int{}, plain: map[string]bool{}}
}

func (y *tally) errorf(format string, args ...any) {
	if y.bad++; y.bad <= 5 {
		y.t.Errorf(format, args...)
	}
}

// json takes a line of -J: it must be its split's next record, byte for byte.
func (y *tally) json(topic string) func([]byte) {
	return func(line []byte) {
		p := parse(y.t, line)
		split := fmt.Sprintf("%s/%d", p.Cluster, p.Partition)
		n := y.next[split]
		y.next[split]++
		if p.Offset != int64(n) || p.Topic != topic || p.Stream != "orders" {
			y.errorf("%s: got %s %s offset %d, want offset %d", split, p.Stream, p.Topic, p.Offset, n)
			return
		}
		if err := p.matches(order(p.Cluster, p.Partition, n, y.plain[p.Cluster])); err != nil {
			y.errorf("%s@%d: %v", split, n, err)
		}
	}
}

// raw takes a line of -f raw; the tag in it says whose it is.
func (y *tally) raw(line []byte) {
	_, rest, _ := bytes.Cut(line, []byte("@"))
	tag, _, ok := bytes.Cut(rest, []byte("@"))
	parts := bytes.Split(tag, []byte("/"))
	if !ok || len(parts) != 3 {
		y.errorf("no tag in %.100q", line)
		return
	}
	cluster := string(parts[0])
	partition, _ := strconv.Atoi(string(parts[1]))
	split := fmt.Sprintf("%s/%d", cluster, partition)
	n := y.next[split]
	y.next[split]++
	if want := order(cluster, int32(partition), n, true).Value; !bytes.Equal(line, want) {
		y.errorf("%s: value %d is %.100q, want %.100q", split, n, line, want)
	}
}

// done checks that every split is complete.
func (y *tally) done(want map[string]int) {
	y.t.Helper()
	for split, n := range want {
		if y.next[split] != n {
			y.t.Errorf("%s: %d records, want %d", split, y.next[split], n)
		}
	}
	if len(y.next) != len(want) {
		y.t.Errorf("splits %v, want %v", y.next, want)
	}
	if y.bad > 5 {
		y.t.Errorf("%d lines were wrong in all", y.bad)
	}
}

// TestEachRecordOfTwoClustersOnce reads what Java's producer and, where it is
// installed, kcat have written. Neither shares code with kcm.
func TestEachRecordOfTwoClustersOnce(t *testing.T) {
	rig := kafkatest.Real(t, kafkatest.Options{})
	east, west := rig.Cluster("east"), rig.Cluster("west")
	topic := rig.Name("orders")
	const total, parts = 300_000, 6
	for _, c := range []*kafkatest.Cluster{east, west} {
		c.CreateTopic(topic, parts, nil)
	}
	y := newTally(t)
	east.ProduceWithJava(topic, "lz4", total, func(i int) kafkatest.Record { return order("east", int32(i%parts), i/parts, false) })
	if y.plain["west"] = kcatWrites(t, west, topic, total, parts); !y.plain["west"] {
		west.ProduceWithJava(topic, "zstd", total, func(i int) kafkatest.Record { return order("west", int32(i%parts), i/parts, false) })
	}
	want := map[string]int{}
	for p := range parts {
		want[fmt.Sprintf("east/%d", p)], want[fmt.Sprintf("west/%d", p)] = total/parts, total/parts
	}
	meta := metadata(t, "orders", topic, at(east), at(west))

	r := run(t, []string{"-m", meta, "consume", "orders", "-e", "-J"}, each(y.json(topic)))
	r.exits(t, 0)
	r.figures(t, "600,000 records as JSON")
	r.below(t, 120)
	y.done(want)
	if len(r.stderr) != 0 {
		t.Errorf("stderr: %q", r.stderr)
	}

	y.next = map[string]int{}
	r = run(t, []string{"-m", meta, "consume", "orders", "-e", "-f", "raw"}, each(y.raw))
	r.exits(t, 0)
	r.figures(t, "600,000 records raw")
	r.below(t, 120)
	y.done(want)
}

// kcatWrites has kcat write the records and reports whether it could.
func kcatWrites(t *testing.T, c *kafkatest.Cluster, topic string, n, parts int) bool {
	t.Helper()
	kcat, err := exec.LookPath("kcat")
	if err != nil {
		t.Log("kcat is not installed: Java's producer writes in its place")
		return false
	}
	for p := range parts {
		var in bytes.Buffer
		for i := range n / parts {
			r := order(c.Name(), int32(p), i, true)
			in.Write(r.Key)
			in.WriteByte('\t')
			in.Write(r.Value)
			in.WriteByte('\n')
		}
		path := file(t, "records", in.String())
		out, err := exec.CommandContext(t.Context(), kcat, "-P", "-b", c.Bootstrap(), "-t", topic, "-p", strconv.Itoa(p), "-K", "\t", "-z", "zstd", "-l", path).CombinedOutput()
		if err != nil {
			t.Fatalf("kcat: %v\n%s", err, out)
		}
		if end := c.EndOffset(topic, int32(p)); end != int64(n/parts) {
			t.Fatalf("kcat wrote %d records to partition %d, want %d: %s", end, p, n/parts, out)
		}
	}
	return true
}
