package kafkatest_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/kcm-cli/kcm/internal/kafkatest"
)

func record(partition int32, value string) kafkatest.Record {
	return kafkatest.Record{Partition: partition, Value: []byte(value)}
}

func TestClustersAreDistinct(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		east, west := rig.Cluster("east"), rig.Cluster("west")
		if east.ID() == west.ID() || east.ID() == "" {
			t.Errorf("ids are %q and %q", east.ID(), west.ID())
		}
		topic := rig.Name("orders")
		east.CreateTopic(topic, 1, nil)
		if !east.HasTopic(topic) || west.HasTopic(topic) {
			t.Error("a topic of east is not on east alone")
		}
		east.DeleteTopic(topic)
		if east.HasTopic(topic) {
			t.Error("the topic is still there")
		}
	})
}

func TestTransactionsInterleave(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		east, topic := rig.Cluster("east"), rig.Name("tx")
		east.CreateTopic(topic, 1, nil)
		t1, t2 := east.Begin(rig.Name("one")), east.Begin(rig.Name("two"))
		t1.Produce(topic, record(0, "a1"), record(0, "a2"))
		t2.Produce(topic, record(0, "b1"))
		east.Produce(topic, record(0, "n1"))
		t1.Produce(topic, record(0, "a3"))
		t1.Abort()
		t2.Commit()
		open := east.Begin(rig.Name("open"))
		open.Produce(topic, record(0, "o1"))
		east.Produce(topic, record(0, "n2"))

		committed := read(t, east, topic, 2, kgo.FetchIsolationLevel(kgo.ReadCommitted()))
		if diff := cmp.Diff([]string{"b1", "n1"}, values(committed)); diff != "" {
			t.Errorf("committed (-want +got):\n%s", diff)
		}
		all := read(t, east, topic, 7)
		if diff := cmp.Diff([]string{"a1", "a2", "b1", "n1", "a3", "o1", "n2"}, values(all)); diff != "" {
			t.Errorf("all (-want +got):\n%s", diff)
		}
		if end := east.EndOffset(topic, 0); end != 9 {
			t.Errorf("end is %d, want 7 records and 2 markers", end)
		}
	})
}

func TestDeleteRecordsMovesTheStart(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		east, topic := rig.Cluster("east"), rig.Name("cut")
		east.CreateTopic(topic, 1, nil)
		east.Produce(topic, record(0, "0"), record(0, "1"), record(0, "2"))
		east.DeleteRecords(topic, 0, 2)
		starts, err := east.Admin().ListStartOffsets(t.Context(), topic)
		if o, _ := starts.Lookup(topic, 0); err != nil || o.Offset != 2 {
			t.Errorf("start is %d (%v), want 2", o.Offset, err)
		}
	})
}

func TestAddPartitionsAndCommits(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		east, topic, group := rig.Cluster("east"), rig.Name("grow"), rig.Name("g")
		east.CreateTopic(topic, 1, map[string]string{"retention.ms": "-1"})
		east.AddPartitions(topic, 3)
		east.Produce(topic, record(2, "x"))
		if end := east.EndOffset(topic, 2); end != 1 {
			t.Errorf("end of partition 2 is %d", end)
		}
		if at := east.Committed(group, topic, 2); at != -1 {
			t.Errorf("committed before any commit: %d", at)
		}
		east.Commit(group, topic, 2, 1)
		if at := east.Committed(group, topic, 2); at != 1 {
			t.Errorf("committed: %d, want 1", at)
		}
	})
}

func TestRawBatchesKeepTheirBytes(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		east, topic := rig.Cluster("east"), rig.Name("raw")
		east.CreateTopic(topic, 1, nil)
		var want []string
		for i, codec := range []kafkatest.Codec{
			kafkatest.None, kafkatest.Gzip, kafkatest.Snappy, kafkatest.LZ4, kafkatest.Zstd, kafkatest.SnappyJava,
		} {
			b := kafkatest.Batch{Codec: codec, BaseTimestamp: 1_700_000_000_000, Records: []kafkatest.Record{
				record(0, fmt.Sprintf("%d-a", i)), {Time: 5, Key: []byte("k"), Value: []byte(fmt.Sprintf("%d-b", i))},
			}}
			if base := east.ProduceRaw(topic, 0, b.Bytes(t)); base != int64(2*i) {
				t.Errorf("codec %d got offset %d", codec, base)
			}
			want = append(want, fmt.Sprintf("%d-a", i), fmt.Sprintf("%d-b", i))
		}
		got := read(t, east, topic, len(want))
		if diff := cmp.Diff(want, values(got)); diff != "" {
			t.Errorf("values (-want +got):\n%s", diff)
		}
		if ms := got[1].Timestamp.UnixMilli(); ms != 1_700_000_000_005 {
			t.Errorf("time is %d", ms)
		}
		// A time that the client itself would damage on its way.
		far := kafkatest.Batch{Records: []kafkatest.Record{{Time: math.MaxInt64 / 2, Value: []byte("far")}}}
		if base := east.ProduceRaw(topic, 0, far.Bytes(t)); base != 12 {
			t.Errorf("far batch got offset %d", base)
		}
		damaged := far.Bytes(t)
		damaged[len(damaged)-1] ^= 1
		if _, err := east.TryProduceRaw(topic, 0, damaged); !errors.Is(err, kerr.CorruptMessage) {
			t.Errorf("a damaged batch: %v", err)
		}
	})
}

func TestLargeRecord(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		east, topic := rig.Cluster("east"), rig.Name("large")
		east.CreateTopic(topic, 1, nil)
		east.Produce(topic, kafkatest.Record{Value: make([]byte, 30<<20)})
		if got := read(t, east, topic, 1); len(got[0].Value) != 30<<20 {
			t.Errorf("read %d bytes", len(got[0].Value))
		}
	})
}

func TestEveryListenerWantsItsCredentials(t *testing.T) {
	for _, l := range []kafkatest.Listener{kafkatest.Plaintext, kafkatest.SASL, kafkatest.TLS, kafkatest.MTLS, kafkatest.SASLTLS} {
		t.Run(string(l), func(t *testing.T) {
			kafkatest.EachWith(t, kafkatest.Options{Listener: l}, func(t *testing.T, rig *kafkatest.Rig) {
				checkListener(t, rig.Cluster("east"), l)
			})
		})
	}
}

func checkListener(t *testing.T, c *kafkatest.Cluster, l kafkatest.Listener) {
	t.Helper()
	base := []kgo.Opt{kgo.SeedBrokers(c.BootstrapFor(l))}
	secured := l == kafkatest.TLS || l == kafkatest.MTLS || l == kafkatest.SASLTLS
	if secured {
		cfg, err := c.Certificates().ClientConfig()
		if err != nil {
			t.Fatal(err)
		}
		if l == kafkatest.MTLS {
			bare := cfg.Clone()
			bare.Certificates = nil
			if err := ping(t, append(base, kgo.DialTLSConfig(bare))); err == nil {
				t.Error("no client certificate was asked for")
			}
		}
		base = append(base, kgo.DialTLSConfig(cfg))
	}
	if l != kafkatest.SASL && l != kafkatest.SASLTLS {
		if err := ping(t, base); err != nil {
			t.Error(err)
		}
		return
	}
	for _, m := range logins(kafkatest.AppUser, kafkatest.AppPassword) {
		if err := ping(t, append(base, kgo.SASL(m))); err != nil {
			t.Errorf("%s: %v", m.Name(), err)
		}
	}
	for _, m := range logins(kafkatest.AppUser, "wrong") {
		if err := ping(t, append(base, kgo.SASL(m))); err == nil {
			t.Errorf("%s: a wrong password was accepted", m.Name())
		}
	}
}

func logins(user, password string) []sasl.Mechanism {
	s := scram.Auth{User: user, Pass: password}
	return []sasl.Mechanism{plain.Auth{User: user, Pass: password}.AsMechanism(), s.AsSha256Mechanism(), s.AsSha512Mechanism()}
}

func ping(t *testing.T, opts []kgo.Opt) error {
	t.Helper()
	cl, err := kgo.NewClient(append(opts, kgo.RequestRetries(0))...)
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	return cl.Ping(ctx)
}

func TestDeniedReadsAreDenied(t *testing.T) {
	kafkatest.EachWith(t, kafkatest.Options{Listener: kafkatest.SASL}, func(t *testing.T, rig *kafkatest.Rig) {
		east, topic := rig.Cluster("east"), rig.Name("secret")
		east.CreateTopic(topic, 1, nil)
		app := kgo.SASL(plain.Auth{User: kafkatest.AppUser, Pass: kafkatest.AppPassword}.AsMechanism())
		cl, err := kadm.NewOptClient(kgo.SeedBrokers(east.BootstrapFor(kafkatest.SASL)), app)
		if err != nil {
			t.Fatal(err)
		}
		defer cl.Close()
		if _, err := endOffset(t, cl, topic); err != nil {
			t.Fatalf("before the ACL: %v", err)
		}
		east.CreateACLs(kadm.NewACLs().Deny("User:app").Topics(topic).Operations(kadm.OpDescribe, kadm.OpRead).ResourcePatternType(kadm.ACLPatternLiteral))
		deadline := time.Now().Add(time.Minute)
		for !errors.Is(err, kerr.TopicAuthorizationFailed) {
			if time.Now().After(deadline) {
				t.Fatalf("after the ACL: %v", err)
			}
			_, err = endOffset(t, cl, topic)
		}
	})
}

func endOffset(t *testing.T, cl *kadm.Client, topic string) (int64, error) {
	t.Helper()
	ends, err := cl.ListEndOffsets(t.Context(), topic)
	if err := errors.Join(err, ends.Error()); err != nil {
		return 0, err
	}
	o, _ := ends.Lookup(topic, 0)
	return o.Offset, o.Err
}

func TestKillAndRestartKeepsData(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		c := rig.Cluster("west")
		topic, node := rig.Name("kept"), c.Nodes()[0]
		c.CreateTopic(topic, 1, nil)
		c.Produce(topic, record(0, "before"))
		addr := c.Bootstrap()
		c.Kill9(node)
		if err := ping(t, []kgo.Opt{kgo.SeedBrokers(addr)}); err == nil {
			t.Error("a killed broker answered")
		}
		c.Restart(node)
		if c.Bootstrap() != addr {
			t.Errorf("it came back at %s, not %s", c.Bootstrap(), addr)
		}
		c.Produce(topic, record(0, "after"))
		if diff := cmp.Diff([]string{"before", "after"}, values(read(t, c, topic, 2))); diff != "" {
			t.Errorf("values (-want +got):\n%s", diff)
		}
	})
}

func TestPausedBrokerIsSilent(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		c := rig.Cluster("west")
		node := c.Nodes()[0]
		c.Pause(node)
		cl, err := kgo.NewClient(append(c.ClientOpts(), kgo.RequestRetries(0))...)
		if err != nil {
			t.Fatal(err)
		}
		defer cl.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if err := cl.Ping(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a paused broker: %v", err)
		}
		c.Continue(node)
		if err := ping(t, c.ClientOpts()); err != nil {
			t.Errorf("after it went on: %v", err)
		}
	})
}

func TestLeadersMove(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		c, topic := rig.Cluster("three"), rig.Name("led")
		nodes := c.Nodes()
		if len(nodes) != 3 {
			t.Fatalf("brokers: %v", nodes)
		}
		c.CreateTopic(topic, 1, nil)
		was := c.Leader(topic, 0)
		next := nodes[(slices.Index(nodes, was)+1)%3]
		c.MoveLeader(topic, 0, next)
		if got := c.Leader(topic, 0); got != next {
			t.Errorf("leader is %d, want %d", got, next)
		}
		c.Produce(topic, record(0, "x"))
		if end := c.EndOffset(topic, 0); end != 1 {
			t.Errorf("end is %d", end)
		}
	})
}

func TestVirtualClockPassesAnHour(t *testing.T) {
	kafkatest.Virtual(t, kafkatest.Options{}, func(t *testing.T, rig *kafkatest.Rig) {
		east, west := rig.Cluster("east"), rig.Cluster("west")
		for _, c := range []*kafkatest.Cluster{east, west} {
			c.CreateTopic("orders", 1, nil)
			start := time.Now()
			time.Sleep(time.Hour) // passes at once: every goroutine waits
			c.Produce("orders", record(0, "x"))
			if passed := time.Since(start); passed < time.Hour {
				t.Errorf("only %s passed", passed)
			}
			if got := read(t, c, "orders", 1); len(got) != 1 {
				t.Errorf("read %d records", len(got))
			}
		}
	})
}
