//go:build kafka

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kcm-cli/kcm/internal/kafkatest"
)

// TestMemoryOfManyPartitions reads 400,000 records of 200 partitions.
func TestMemoryOfManyPartitions(t *testing.T) {
	rig := kafkatest.Real(t, kafkatest.Options{})
	c, topic := rig.Cluster("east"), rig.Name("many")
	const parts, records = 200, 400_000
	c.CreateTopic(topic, parts, nil)
	cl := c.Client(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(kgo.Lz4Compression()), kgo.ProducerLinger(50*time.Millisecond))
	pad := strings.Repeat("0123456789", 12)
	for i := range records {
		cl.Produce(t.Context(), &kgo.Record{Topic: topic, Partition: int32(i % parts), Value: fmt.Appendf(nil, `{"n":%d,"pad":"%s"}`, i/parts, pad)}, func(_ *kgo.Record, err error) {
			if err != nil {
				t.Errorf("write: %v", err)
			}
		})
	}
	if err := cl.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	next := make([]int64, parts)
	r := run(t, []string{"-b", c.Bootstrap(), "consume", topic, "-J", "-e"}, each(func(line []byte) {
		var p, o int64
		_, rest, _ := strings.Cut(string(line), `"partition":`)
		if _, err := fmt.Sscanf(rest, `%d,"offset":%d,`, &p, &o); err != nil {
			t.Fatalf("%v in %.200q", err, line)
		}
		if next[p] != o {
			t.Errorf("partition %d: offset %d, want %d", p, o, next[p])
		}
		next[p]++
	}))
	r.exits(t, 0)
	r.figures(t, "400,000 records of 200 partitions")
	r.below(t, 120)
	for p, n := range next {
		if n != records/parts {
			t.Errorf("partition %d: %d records, want %d", p, n, records/parts)
		}
	}
}

// TestTwoThousandPartitions are found and followed within seconds, and waiting
// on them costs next to nothing.
func TestTwoThousandPartitions(t *testing.T) {
	rig := kafkatest.Real(t, kafkatest.Options{})
	c := rig.Start("wide", kafkatest.Options{Heap: "1g"})
	topic := rig.Name("wide")
	const parts = 2000
	c.CreateTopic(topic, parts, nil)
	c.Produce(topic, numbered(c, 1234, 0, 10)...)
	// The broker tells who leads long before it has made all of their logs.
	for deadline := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		ends, err := c.Admin().ListEndOffsets(t.Context(), topic)
		if err == nil && ends.Error() == nil && len(ends[topic]) == parts {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the partitions do not get ready: ", err, ends.Error())
		}
	}
	r := run(t, []string{"-b", c.Bootstrap(), "consume", topic, "-J", "-e"})
	r.exits(t, 0)
	r.figures(t, "-e on 2,000 partitions")
	equal(t, "p1234", values(t, r.stdout), counted(c, 1234, 10))
	if r.took > 10*time.Second+ease {
		t.Errorf("took %v", r.took)
	}

	k := start(t, []string{"-b", c.Bootstrap(), "consume", topic, "-J"})
	for k.out.count() == 0 { // until it follows
		c.Produce(topic, numbered(c, 7, 0, 1)...)
		time.Sleep(200 * time.Millisecond)
		if time.Since(k.began) > 15*time.Second+ease {
			t.Fatal("nothing comes")
		}
	}
	t.Logf("follows after %.1f s", time.Since(k.began).Seconds())
	time.Sleep(2 * time.Second) // in which what has begun may end
	before := k.cpu()
	time.Sleep(5 * time.Second) // of doing nothing
	spent := k.cpu() - before
	t.Logf("5 s of following 2,000 partitions: %v of processor time, at most %d MB", spent, k.peak()>>20)
	if spent > 500*time.Millisecond {
		t.Errorf("5 s of waiting took %v of processor time", spent)
	}
	n := k.out.count()
	c.Produce(topic, numbered(c, 1999, 0, 1)...)
	k.gets(3*time.Second, n+1)
	k.stop().exits(t, 0)
}
