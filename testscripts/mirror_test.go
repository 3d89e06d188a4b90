package testscripts

import (
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/kcm-cli/kcm/internal/kafkatest"
	"github.com/kcm-cli/kcm/internal/mirror"
)

// addMirror adds what writes the records of MirrorMaker 2.
func addMirror(add func(name string, atLeast, atMost int, run func(ts *testscript.TestScript, s *script, args []string))) {
	add("checkpoint", 6, 7, func(ts *testscript.TestScript, s *script, args []string) {
		c := mirror.Checkpoint{
			Group: []byte(s.prefix + args[1]), Topic: []byte(s.prefix + args[2]), Partition: partition(ts, args[3]),
			Upstream: number(ts, args[4]), Downstream: number(ts, args[5]),
		}
		if len(args) > 6 {
			c.Metadata = []byte(args[6])
		}
		k, topic := s.topic(ts, args[0])
		k.Produce(topic, kafkatest.Record{Key: c.AppendKey(nil), Value: c.AppendValue(nil)})
	})
	add("offset-sync", 6, 6, func(ts *testscript.TestScript, s *script, args []string) {
		o := mirror.OffsetSync{Topic: []byte(s.prefix + args[2]), Partition: partition(ts, args[3]), Upstream: number(ts, args[4]), Downstream: number(ts, args[5])}
		k, _ := s.topic(ts, args[0]+"/")
		topic := mirror.Policy{}.OffsetSyncsTopic(s.prefix + args[1])
		if !k.HasTopic(topic) {
			k.CreateTopic(topic, 1, nil)
		}
		k.Produce(topic, kafkatest.Record{Key: o.AppendKey(nil), Value: o.AppendValue(nil)})
	})
	add("heartbeat", 4, 4, func(ts *testscript.TestScript, s *script, args []string) {
		h := mirror.Heartbeat{Source: []byte(s.prefix + args[1]), Target: []byte(s.prefix + args[2]), Timestamp: number(ts, args[3])}
		k, topic := s.topic(ts, args[0])
		k.Produce(topic, kafkatest.Record{Key: h.AppendKey(nil), Value: h.AppendValue(nil)})
	})
}
