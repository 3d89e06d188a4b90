package source_test

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kcm-cli/kcm/internal/batch/batchtest"
	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/kafkatest"
	"github.com/kcm-cli/kcm/internal/metadata"
	"github.com/kcm-cli/kcm/internal/source"
	"github.com/kcm-cli/kcm/internal/spec"
)

func TestGapIsToldAndNothingThatIsLeftIsSkipped(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		c := rig.Cluster("east")
		topic := rig.Name("orders")
		c.CreateTopic(topic, 1, map[string]string{"segment.bytes": "1048576"})
		for i := range 20 { // one batch each, so that the log can start at each
			c.Produce(topic, kafkatest.Record{Value: fmt.Appendf(nil, "v%d", i), Time: int64(10_000 - i)})
		}
		r := newRun(t, []*kafkatest.Cluster{c}, stream("orders", topic, "east"))
		r.opts.Start = spec.Bound{Kind: spec.Offset, N: 20}
		end := r.follow(t)
		c.DeleteRecords(topic, 0, 12)
		_, _ = end()

		r = newRun(t, []*kafkatest.Cluster{c}, stream("orders", topic, "east")).bounded()
		r.opts.Start = spec.Bound{Kind: spec.Offset, N: 3}
		if _, err := r.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		checkLines(t, r.sink.all(), lines("orders", "east/"+topic+"/0", "v", 20)[12:])
		if told := r.told(source.Note); len(told) != 1 || !strings.Contains(told[0], "the log starts at 12") {
			t.Errorf("told %q", told)
		}
	})
}

// While a run is held up by its sink, the log's start passes its position.
func TestGapPolicies(t *testing.T) {
	for _, policy := range []source.GapPolicy{source.GapSkip, source.GapStop, source.GapFail} {
		t.Run(string(policy), func(t *testing.T) {
			kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
				c := rig.Cluster("east")
				topic := rig.Name("orders")
				c.CreateTopic(topic, 1, nil)
				r := newRun(t, []*kafkatest.Cluster{c}, stream("orders", topic, "east"))
				r.opts.OnGap = policy
				r.opts.Memory = 1 << 20
				r.sink.block = make(chan struct{})
				big := strings.Repeat("x", 100_000)
				for i := range 60 {
					c.Produce(topic, kafkatest.Record{Value: []byte(fmt.Sprint(i, " ", big))})
				}
				end := r.follow(t)
				eventually(t, "the sink is reached", func() bool { return r.blocked() })
				c.DeleteRecords(topic, 0, 55)
				close(r.sink.block)
				// Without its only split a run ends by itself: cutting it short would hide how.
				if policy != source.GapSkip {
					eventually(t, "the run ends", r.ended.Load)
				}
				if policy == source.GapStop && len(r.told(source.Failed)) != 1 {
					t.Errorf("told %q", r.told(source.Failed))
				}
				if policy == source.GapSkip {
					eventually(t, "the gap is told", func() bool { return len(r.told(source.Gap)) == 1 })
					eventually(t, "the last record is read", func() bool {
						all := r.sink.all()
						return strings.Contains(all[len(all)-1], "@59 59 ")
					})
				}
				_, err := end()
				checkGap(t, r, policy, err)
			})
		})
	}
}

func checkGap(t *testing.T, r *run, policy source.GapPolicy, err error) {
	t.Helper()
	kept := map[string]bool{}
	for _, line := range r.sink.all() {
		offset, _, _ := strings.Cut(line[strings.Index(line, "@")+1:], " ")
		if kept[offset] {
			t.Errorf("offset %s twice", offset)
		}
		kept[offset] = true
	}
	for i := 55; i < 60 && policy == source.GapSkip; i++ {
		if !kept[fmt.Sprint(i)] {
			t.Errorf("offset %d is missing", i)
		}
	}
	switch policy {
	case source.GapStop:
		if fault.KindOf(err) != fault.Partial {
			t.Errorf("ended with %v, want partial", err)
		}
	case source.GapFail:
		if fault.KindOf(err) != fault.Failed || err == nil {
			t.Errorf("ended with %v, want failed", err)
		}
	}
}

// blocked reports whether the sink has been called and waits.
func (r *run) blocked() bool {
	r.sink.mu.Lock()
	defer r.sink.mu.Unlock()
	return r.sink.waiting
}

func TestDamagedBatchStopsItsSplitAtItsOffset(t *testing.T) {
	good := func(offset int64) []byte {
		return batchtest.New(batchtest.Record{Offset: offset, Value: []byte("a")}, batchtest.Record{Offset: offset + 1, Value: []byte("b")}).Bytes()
	}
	for _, tt := range []struct {
		name   string
		damage func(b []byte)
		says   string
	}{
		{"a codec that nobody knows", func(b []byte) { b[22] |= 7; fixCRC(b) }, "codec 7"},
		{"a checksum that does not fit", func(b []byte) { b[len(b)-1] ^= 0xff }, "checksum"},
		{"a record that claims too much", func(b []byte) { b[61] = 0x7e; fixCRC(b) }, "goes beyond"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rig := kafkatest.Fake(t, kafkatest.Options{})
			c := rig.Cluster("east")
			c.CreateTopic("orders", 2, nil)
			c.Produce("orders", values("other", 1, 10)...)
			c.Produce("orders", values("replaced", 0, 6)...)
			bad := good(2)
			tt.damage(bad)
			serve(c, 0, slices.Concat(good(0), bad, good(4)))
			r := newRun(t, []*kafkatest.Cluster{c}, stream("orders", "orders", "east")).bounded()
			_, err := r.run(t.Context())
			if fault.KindOf(err) != fault.Partial {
				t.Errorf("ended with %v of kind %d, want partial", err, fault.KindOf(err))
			}
			want := append([]string{"orders east/orders/0@0 a", "orders east/orders/0@1 b"}, lines("orders", "east/orders/1", "other", 10)...)
			checkLines(t, r.sink.all(), want)
			told := r.told(source.Failed)
			if len(told) != 1 || !strings.HasPrefix(told[0], "east/orders/0: ") || !strings.Contains(told[0], "offset 2") || !strings.Contains(told[0], tt.says) {
				t.Errorf("told %q", told)
			}
		})
	}
}

// serve has every fetch of a partition answered with these bytes, which no
// broker would take from a producer.
func serve(c *kafkatest.Cluster, partition int32, batches []byte) {
	c.Fake().ControlKey(int16(kmsg.Fetch), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		c.Fake().KeepControl()
		req, _ := kreq.(*kmsg.FetchRequest)
		for _, rt := range req.Topics {
			for _, p := range rt.Partitions {
				if p.Partition != partition {
					continue
				}
				rp := kmsg.NewFetchResponseTopicPartition()
				rp.Partition, rp.HighWatermark, rp.LastStableOffset, rp.RecordBatches = partition, 6, 6, batches
				topic := kmsg.NewFetchResponseTopic()
				topic.Topic, topic.TopicID, topic.Partitions = rt.Topic, rt.TopicID, append(topic.Partitions, rp)
				resp, _ := req.ResponseKind().(*kmsg.FetchResponse)
				resp.Topics = append(resp.Topics, topic)
				return resp, nil, true
			}
		}
		return nil, nil, false
	})
}

// fixCRC makes a damaged batch look sound.
func fixCRC(b []byte) {
	binary.BigEndian.PutUint32(b[17:], crc32.Checksum(b[21:], crc32.MakeTable(crc32.Castagnoli)))
}

func TestKilledBrokerIsToldOnceAndNothingIsLostOrRepeated(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		east, west := rig.Start("east", kafkatest.Options{}), rig.Cluster("west")
		topic := rig.Name("orders")
		for _, c := range []*kafkatest.Cluster{east, west} {
			c.CreateTopic(topic, 3, nil)
			c.Produce(topic, values("a", 0, 100)...)
		}
		r := newRun(t, []*kafkatest.Cluster{east, west}, stream("orders", topic, "east", "west"))
		end := r.follow(t)
		eventually(t, "what is there has been read", func() bool { return r.count() == 200 })
		node := east.Nodes()[0]
		east.Kill9(node)
		eventually(t, "the loss is told", func() bool { return len(r.told(source.Lost)) == 1 })
		west.Produce(topic, values("b", 1, 100)...)
		eventually(t, "the other cluster flows", func() bool { return r.count() == 300 })
		east.Restart(node)
		east.Produce(topic, values("c", 2, 100)...)
		eventually(t, "the cluster is read again", func() bool { return r.count() == 400 })
		eventually(t, "its return is told", func() bool { return len(r.told(source.Back)) == 1 })
		_, _ = end()
		var want []string
		for _, x := range []struct{ split, prefix string }{{"east/%s/0", "a"}, {"east/%s/2", "c"}, {"west/%s/0", "a"}, {"west/%s/1", "b"}} {
			want = append(want, lines("orders", fmt.Sprintf(x.split, topic), x.prefix, 100)...)
		}
		checkLines(t, r.sink.all(), want)
		if lost, back := r.told(source.Lost), r.told(source.Back); len(lost) != 1 || len(back) != 1 {
			t.Errorf("told %q and %q, want one line each", lost, back)
		}
	})
}

func TestBoundedRunGivesUpAClusterThatDiesUnderWay(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{})
	c := rig.Cluster("east")
	c.CreateTopic("orders", 1, nil)
	big := strings.Repeat("x", 200_000)
	for range 40 {
		c.Produce("orders", kafkatest.Record{Value: []byte(big)})
	}
	r := newRun(t, []*kafkatest.Cluster{c}, stream("orders", "orders", "east")).bounded()
	r.opts.GiveUp, r.opts.Memory = 2*time.Second, 1<<20
	r.sink.block = make(chan struct{})
	end := r.follow(t)
	eventually(t, "the sink is reached", r.blocked)
	c.Kill9(c.Nodes()[0])
	close(r.sink.block)
	eventually(t, "the run ends", r.ended.Load)
	if _, err := end(); fault.KindOf(err) != fault.Partial {
		t.Errorf("ended with %v, want partial", err)
	}
	if told := r.told(source.Failed); !strings.Contains(told[0], "east/orders/0: given up at offset") {
		t.Errorf("told %q", told)
	}
}

func TestStartAheadOfTheEndWaitsForIt(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{})
	c := rig.Cluster("east")
	c.CreateTopic("orders", 1, nil)
	c.Produce("orders", values("v", 0, 5)...)
	r := newRun(t, []*kafkatest.Cluster{c}, stream("orders", "orders", "east"))
	r.opts.Start = spec.Bound{Kind: spec.Offset, N: 8}
	end := r.follow(t)
	eventually(t, "the wait is told", func() bool { return len(r.told(source.Note)) == 1 })
	c.Produce("orders", values("w", 0, 5)...)
	eventually(t, "the records behind it are read", func() bool { return r.count() == 2 })
	_, _ = end()
	checkLines(t, r.sink.all(), []string{"orders east/orders/0@8 w3", "orders east/orders/0@9 w4"})
}

func TestRecreatedTopicIsToldAndReadFromItsStart(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		c := rig.Cluster("east")
		topic := rig.Name("orders")
		c.CreateTopic(topic, 1, nil)
		c.Produce(topic, values("old", 0, 100)...)
		r := newRun(t, []*kafkatest.Cluster{c}, stream("orders", topic, "east"))
		end := r.follow(t)
		eventually(t, "the old records are read", func() bool { return r.count() == 100 })
		c.DeleteTopic(topic)
		c.CreateTopic(topic, 1, nil)
		c.Produce(topic, values("new", 0, 5)...)
		eventually(t, "the new records are read", func() bool { return r.count() == 105 })
		_, _ = end()
		if got := r.sink.all()[100]; !strings.HasSuffix(got, "@0 new0") {
			t.Errorf("the first new line is %q", got)
		}
		if told := r.told(source.Recreated); len(told) != 1 {
			t.Errorf("told %q, want one line", told)
		}
	})
}

func TestTransactionsAtTheEnd(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		c := rig.Cluster("east")
		for _, tt := range []struct {
			name                   string
			write                  func(topic string)
			committed, uncommitted []string
		}{
			{"committed", func(topic string) {
				tx := c.Begin(rig.Name("a"))
				tx.Produce(topic, values("v", 0, 3)...)
				tx.Commit()
			}, []string{"v0", "v1", "v2"}, []string{"v0", "v1", "v2"}},
			{"aborted", func(topic string) {
				tx := c.Begin(rig.Name("a"))
				tx.Produce(topic, values("v", 0, 3)...)
				tx.Abort()
			}, nil, []string{"v0", "v1", "v2"}},
			{"open, with records behind it", func(topic string) {
				c.Produce(topic, values("p", 0, 1)...)
				tx := c.Begin(rig.Name("open"))
				tx.Produce(topic, values("v", 0, 2)...)
				c.Produce(topic, values("q", 0, 2)...)
			}, []string{"p0"}, []string{"p0", "v0", "v1", "q0", "q1"}},
			{"interleaved", func(topic string) {
				a, b := c.Begin(rig.Name("a")), c.Begin(rig.Name("b"))
				a.Produce(topic, values("a", 0, 2)...)
				b.Produce(topic, values("b", 0, 1)...)
				c.Produce(topic, values("n", 0, 1)...)
				a.Produce(topic, values("aa", 0, 1)...)
				a.Abort()
				b.Commit()
			}, []string{"b0", "n0"}, []string{"a0", "a1", "b0", "n0", "aa0"}},
		} {
			t.Run(tt.name, func(t *testing.T) {
				topic := rig.Name(strings.ReplaceAll(tt.name[:4], " ", ""))
				c.CreateTopic(topic, 1, nil)
				tt.write(topic)
				if !strings.HasPrefix(tt.name, "open") {
					// The stable offset moves a moment after EndTxn has returned.
					eventually(t, "the transaction's end is stable", func() bool {
						stable, err := c.Admin().ListCommittedOffsets(t.Context(), topic)
						o, _ := stable.Lookup(topic, 0)
						return err == nil && o.Offset == c.EndOffset(topic, 0)
					})
				}
				for _, committed := range []bool{true, false} {
					r := newRun(t, []*kafkatest.Cluster{c}, stream("s", topic, "east")).bounded()
					r.opts.Wants[0].Committed = committed
					if _, err := r.run(t.Context()); err != nil {
						t.Fatal(err)
					}
					want := tt.uncommitted
					if committed {
						want = tt.committed
					}
					if got := valuesOf(r.sink.all()); strings.Join(got, " ") != strings.Join(want, " ") {
						t.Errorf("committed %v: got %v, want %v", committed, got, want)
					}
				}
			})
		}
	})
}

func valuesOf(lines []string) (list []string) {
	for _, line := range lines {
		list = append(list, line[strings.LastIndex(line, " ")+1:])
	}
	return list
}

func TestPatternsTakeWholeNamesAndNoInternalTopics(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{})
	c := rig.Cluster("east")
	for _, topic := range []string{"orders", "orders-eu", "x-orders", "orders.internal", "__orders"} {
		c.CreateTopic(topic, 1, nil)
		c.Produce(topic, kafkatest.Record{Value: []byte(topic)})
	}
	for pattern, want := range map[string]string{
		"orders":      "orders",
		"orders.*":    "orders-eu orders",
		".*":          "orders-eu orders x-orders",
		"__.*":        "__orders",
		"x-.*|orders": "orders x-orders",
	} {
		topic, err := metadata.Pattern(pattern)
		if err != nil {
			t.Fatal(err)
		}
		s := &metadata.Stream{Name: "s", Sources: []metadata.Source{{Cluster: "east", Topics: []metadata.Topic{topic}}}}
		r := newRun(t, []*kafkatest.Cluster{c}, s).bounded()
		if _, err := r.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(valuesOf(bySplit(r.sink.all())), " "); got != want {
			t.Errorf("/%s/ took %q, want %q", pattern, got, want)
		}
	}
}
