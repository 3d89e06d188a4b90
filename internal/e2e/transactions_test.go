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

// texts are records with these values in partition 0.
func texts(list ...string) []kafkatest.Record {
	var records []kafkatest.Record
	for _, v := range list {
		records = append(records, kafkatest.Record{Value: []byte(v)})
	}
	return records
}

// TestTransactionsAtTheEnd: a marker or an open transaction is the last thing in
// the log, and a bounded read ends all the same, at either isolation level.
func TestTransactionsAtTheEnd(t *testing.T) {
	rig := kafkatest.Real(t, kafkatest.Options{})
	for _, tc := range []struct {
		name                   string
		write                  func(t *testing.T, c *kafkatest.Cluster, topic string)
		committed, uncommitted string
	}{
		{"committed", func(_ *testing.T, c *kafkatest.Cluster, topic string) {
			tx := c.Begin(topic)
			tx.Produce(topic, texts("a1", "a2", "a3")...)
			tx.Commit()
		}, "a1 a2 a3", "a1 a2 a3"},
		{"the last one aborted", func(_ *testing.T, c *kafkatest.Cluster, topic string) {
			tx := c.Begin(topic)
			tx.Produce(topic, texts("a1", "a2", "a3")...)
			tx.Commit()
			tx.Again()
			tx.Produce(topic, texts("b1", "b2")...)
			tx.Abort()
		}, "a1 a2 a3", "a1 a2 a3 b1 b2"},
		{"aborted records only", func(_ *testing.T, c *kafkatest.Cluster, topic string) {
			tx := c.Begin(topic)
			tx.Produce(topic, texts("a1", "a2", "a3")...)
			tx.Abort()
		}, "", "a1 a2 a3"},
		{"open", func(_ *testing.T, c *kafkatest.Cluster, topic string) {
			c.Produce(topic, texts("n1")...)
			tx := c.Begin(topic)
			tx.Produce(topic, texts("a1", "a2")...)
			c.Produce(topic, texts("n2", "n3")...)
		}, "n1", "n1 a1 a2 n2 n3"},
		{"open from the start", func(_ *testing.T, c *kafkatest.Cluster, topic string) {
			tx := c.Begin(topic)
			tx.Produce(topic, texts("a1", "a2")...)
			c.Produce(topic, texts("n1")...)
		}, "", "a1 a2 n1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rig := rig.With(t)
			c, topic := rig.Cluster("east"), rig.Name("tx")
			c.CreateTopic(topic, 2, nil)
			tc.write(t, c, topic)
			if !strings.HasPrefix(tc.name, "open") {
				settled(t, c, topic)
			}
			reads(t, c, topic, tc.committed, "--read-committed")
			reads(t, c, topic, tc.uncommitted)
		})
	}
}

// settled waits until no transaction is open: a broker that has ended one still
// has to write its markers.
func settled(t *testing.T, c *kafkatest.Cluster, topic string) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		stable, err := c.Admin().ListCommittedOffsets(t.Context(), topic)
		if err != nil {
			t.Fatal(err)
		}
		o, ok := stable.Lookup(topic, 0)
		if end := c.EndOffset(topic, 0); ok && o.Err == nil && o.Offset == end {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("a transaction stays open at %d", o.Offset)
		}
	}
}

// reads checks what a bounded read gives, and that it ends soon.
func reads(t *testing.T, c *kafkatest.Cluster, topic, want string, flags ...string) {
	t.Helper()
	r := run(t, append([]string{"-b", c.Bootstrap(), "consume", topic, "-e", "-f", "raw"}, flags...))
	r.exits(t, 0)
	if got := strings.Join(r.stdout, " "); got != want {
		t.Errorf("%v: %.300q, want %.300q", flags, got, want)
	}
	if len(r.stderr) > 0 {
		t.Errorf("%v: stderr %q", flags, r.stderr)
	}
	if r.took > 5*time.Second+ease {
		t.Errorf("%v: took %v", flags, r.took)
	}
}

// TestAbortedRecordsAreNotShown where they lie between others, and where they
// fill several batches.
func TestAbortedRecordsAreNotShown(t *testing.T) {
	rig := kafkatest.Real(t, kafkatest.Options{})
	c := rig.Cluster("east")
	topic := rig.Name("tx")
	c.CreateTopic(topic, 1, nil)
	t1, t2 := c.Begin(topic+"-1"), c.Begin(topic+"-2")
	t1.Produce(topic, texts("a1", "a2")...)
	t2.Produce(topic, texts("b1")...)
	c.Produce(topic, texts("n1")...)
	t1.Produce(topic, texts("a3")...)
	t1.Abort()
	t2.Commit()
	all := []string{"a1", "a2", "b1", "n1", "a3"}
	t1.Again()
	for i := range 10 {
		var batch []string
		for j := range 50 {
			batch = append(batch, fmt.Sprintf("c%d", 50*i+j))
		}
		t1.Produce(topic, texts(batch...)...)
		all = append(all, batch...)
	}
	t1.Abort()
	settled(t, c, topic)
	reads(t, c, topic, "b1 n1", "--read-committed")
	reads(t, c, topic, strings.Join(all, " "))

	// The same through small answers, which cut a transaction into many.
	reads(t, c, topic, "b1 n1", "--read-committed", "-X", "fetch.max.bytes=1", "-X", "max.partition.fetch.bytes=1")
	reads(t, c, topic, strings.Join(all, " "), "-X", "fetch.max.bytes=1", "-X", "max.partition.fetch.bytes=1")

	// A follow shows a transaction when it is committed, and no sooner.
	k := start(t, []string{"-b", c.Bootstrap(), "consume", topic, "-f", "raw", "-o", "start", "--read-committed"})
	k.gets(patience, 2)
	t1.Again()
	t1.Produce(topic, texts("d1", "d2")...)
	c.ProduceWith(topic, []kgo.Opt{kgo.ProducerBatchCompression(kgo.ZstdCompression())}, texts("n2")...)
	time.Sleep(time.Second) // in which nothing may come
	if n := k.out.count(); n != 2 {
		t.Errorf("%d lines while the transaction was open, want 2", n)
	}
	t1.Commit()
	k.gets(5*time.Second, 5)
	r := k.stop()
	r.exits(t, 0)
	equal(t, "follow", r.stdout, []string{"b1", "n1", "d1", "d2", "n2"})
}
