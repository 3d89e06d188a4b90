package produce

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/kafkatest"
	"github.com/kcm-cli/kcm/internal/record"
)

// tells waits until something has been told.
func (w *writing) tells(kind EventKind, part string) Event {
	w.t.Helper()
	var found Event
	w.until(fmt.Sprintf("%s %q", kind, part), func() bool {
		i := slices.IndexFunc(w.events, func(ev Event) bool { return ev.Kind == kind && strings.Contains(ev.Text, part) })
		if i >= 0 {
			found = w.events[i]
		}
		return i >= 0
	})
	return found
}

// A broker that dies in the middle and comes back has everything, once.
func TestABrokerThatComesBack(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		c := rig.Start("west", kafkatest.Options{})
		c.CreateTopic("t", 1, nil)
		w := newWriting(t, c, nil)
		topic, lane := w.topic("t"), &Lane{}
		w.send(lane, stored(topic, origin, 10, numbers(0, 100)...))
		w.fine()
		c.Kill9(c.FirstNode())
		for i := range 10 {
			w.send(lane, stored(topic, origin, 10, numbers(100+100*i, 100)...))
		}
		w.tells(Lost, "west: lost: ")
		c.Restart(c.FirstNode())
		w.fine()
		w.tells(Back, "west: back")
		equal(t, "the log", w.log("t", 0), numbers(0, 1100))
		if texts := w.told(); len(texts) != 2 {
			t.Errorf("told %q", texts)
		}
	})
}

// A broker that stops answering is told, and what it has not answered comes once.
func TestASilentBroker(t *testing.T) {
	w, topic, lane := one(t, nil)
	w.send(lane, stored(topic, origin, 10, numbers(0, 100)...))
	w.fine()
	w.c.Pause(w.c.FirstNode())
	w.send(lane, stored(topic, origin, 10, numbers(100, 100)...))
	w.tells(Lost, "west: lost: broker 0 does not answer; trying again")
	w.c.Continue(w.c.FirstNode())
	w.fine()
	w.tells(Back, "west: back")
	equal(t, "the log", w.log("t", 0), numbers(0, 200))
}

func TestLeadersThatMove(t *testing.T) {
	kafkatest.EachWith(t, kafkatest.Options{Brokers: 3}, func(t *testing.T, rig *kafkatest.Rig) {
		c := rig.Cluster("three")
		name := rig.Name("moving")
		c.CreateTopic(name, 1, nil)
		w := newWriting(t, c, nil)
		topic, lane := w.topic(name), &Lane{}
		nodes := c.Nodes()
		for i := range 6 {
			w.send(lane, stored(topic, origin, 10, numbers(100*i, 100)...))
			c.MoveLeader(name, 0, nodes[i%3])
		}
		w.fine()
		equal(t, "the log", w.log(name, 0), numbers(0, 600))
	})
}

// A partition without a leader waits alone, and is told; a bounded run gives it up.
func TestAPartitionWithoutALeader(t *testing.T) {
	c := kafkatest.Fake(t, kafkatest.Options{Brokers: 2}).Cluster("west")
	c.CreateTopic("t", 2, nil)
	w := newWriting(t, c, func(cfg *Config) { cfg.GiveUp = 2 * time.Second })
	topic := w.topic("t")
	origin := func(p int32) Origin { return Origin{Split: record.Split{Topic: "src", Partition: p}, Partitions: 2} }
	lanes := []*Lane{{}, {}}
	for p, l := range lanes {
		w.send(l, stored(topic, origin(int32(p)), 10, numbers(0, 50)...))
	}
	w.fine()
	first := c.Leader("t", 0)
	addrs := strings.Split(c.Bootstrap(), ",")
	c.Fake().ControlKey(int16(kmsg.Metadata), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.Fake().KeepControl()
		m, _ := req.(*kmsg.MetadataRequest)
		if len(m.Topics) != 1 {
			return nil, nil, false
		}
		return withoutLeader(addrs, m, first, topic.identity.id), nil, true
	})
	c.Fake().Fault(kfake.Fault{Keys: produceKey, Topic: "t", Partitions: []int32{1}, Err: kerr.NotLeaderForPartition, Count: -1})
	w.send(lanes[1], stored(topic, origin(1), 10, numbers(50, 50)...))
	w.send(lanes[0], stored(topic, origin(0), 10, numbers(50, 50)...))
	w.tells(Lost, "west/t/1: lost: ")
	equal(t, "the other partition", w.log("t", 0), numbers(0, 100))
	results := w.settled()
	last := results[len(results)-1]
	if last.Err == nil || last.Next != 50 || fault.KindOf(last.Err) != fault.Partial || !strings.HasPrefix(last.Err.Error(), "west/t: given up after 2s: ") {
		t.Errorf("%+v", last)
	}
}

// withoutLeader answers a look-up of topic t in which partition 1 has no leader.
func withoutLeader(addrs []string, m *kmsg.MetadataRequest, first int32, id [16]byte) kmsg.Response {
	resp := m.ResponseKind().(*kmsg.MetadataResponse)
	for i, addr := range addrs {
		b := kmsg.NewMetadataResponseBroker()
		host, port, _ := strings.Cut(addr, ":")
		b.NodeID, b.Host = int32(i), host
		_, _ = fmt.Sscan(port, &b.Port)
		resp.Brokers = append(resp.Brokers, b)
	}
	topic := kmsg.NewMetadataResponseTopic()
	topic.Topic, topic.TopicID = kmsg.StringPtr("t"), id
	for p, leader := range []int32{first, -1} {
		x := kmsg.NewMetadataResponseTopicPartition()
		x.Partition, x.Leader = int32(p), leader
		if leader < 0 {
			x.ErrorCode = kerr.LeaderNotAvailable.Code
		}
		topic.Partitions = append(topic.Partitions, x)
	}
	resp.Topics = append(resp.Topics, topic)
	return resp
}

// A cluster that cannot be reached at all is given up, too.
func TestGivingUpACluster(t *testing.T) {
	w, topic, lane := one(t, func(cfg *Config) { cfg.GiveUp = 1500 * time.Millisecond })
	w.send(lane, stored(topic, origin, 10, numbers(0, 50)...))
	w.fine()
	w.c.Kill9(w.c.FirstNode())
	w.send(lane, stored(topic, origin, 10, numbers(50, 50)...))
	w.send(lane, stored(topic, origin, 10, numbers(100, 50)...))
	for _, r := range w.settled()[1:] {
		if fault.KindOf(r.Err) != fault.Unreachable || r.Err.Error() != "west: given up after 1.5s without contact" {
			t.Errorf("%+v", r)
		}
	}
	if _, err := w.Topic(t.Context(), "other", 1); fault.KindOf(err) != fault.Unreachable {
		t.Errorf("a look-up gives %v", err)
	}
}

// What has not arrived when a Writer is closed is answered.
func TestClosingAnswersEverything(t *testing.T) {
	w, topic, lane := one(t, nil)
	w.send(lane, stored(topic, origin, 10, numbers(0, 10)...))
	w.fine()
	w.c.Kill9(w.c.FirstNode())
	w.send(lane, stored(topic, origin, 10, numbers(10, 500)...))
	w.tells(Lost, "west: lost")
	w.Close()
	w.send(lane, stored(topic, origin, 10, numbers(510, 10)...))
	for _, r := range w.settled()[1:] {
		if !errors.Is(r.Err, context.Canceled) {
			t.Errorf("%+v", r)
		}
	}
}
