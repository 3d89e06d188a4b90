package produce

import (
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kcm-cli/kcm/internal/batch"
	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/kafkatest"
)

func TestWhatATopicTakesIsReadFirst(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		c := rig.Cluster("west")
		name := rig.Name("set")
		c.CreateTopic(name, 3, map[string]string{"max.message.bytes": "100000", "message.timestamp.type": "LogAppendTime", "compression.type": "gzip"})
		w := newWriting(t, c, nil)
		topic := w.topic(name)
		if topic.Partitions != 3 || topic.MaxBytes != 100_000 || !topic.AppendTime || topic.codec(batch.LZ4) != batch.Gzip {
			t.Errorf("%+v", topic)
		}
		w.tells(Note, "west/"+name+": the topic sets the time of each record itself (message.timestamp.type=LogAppendTime): timestamps are not kept")
		if again := w.topic(name); again != topic || len(w.told()) != 1 {
			t.Errorf("looked up again; told %q", w.told())
		}
	})
}

func TestSettingsThatMayNotBeRead(t *testing.T) {
	w, _, _ := one(t, nil)
	w.c.CreateTopic("secret", 1, nil)
	w.c.Fake().Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.DescribeConfigs}, Err: kerr.TopicAuthorizationFailed, Count: -1})
	topic := w.topic("secret")
	if topic.MaxBytes != 1<<20+12 || topic.codec(batch.Zstd) != batch.Zstd {
		t.Errorf("%+v", topic)
	}
	w.tells(Note, "west/secret: its settings cannot be read; taking max.message.bytes as 1048588")
}

func TestMissingTopics(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		c := rig.Cluster("west")
		w, name := newWriting(t, c, nil), rig.Name("missing")
		_, err := w.Topic(t.Context(), name, 3)
		if fault.KindOf(err) != fault.Failed || err.Error() != "west/"+name+": no such topic" || !strings.HasPrefix(fault.HintOf(err), "--create ") {
			t.Errorf("%v, hint %q", err, fault.HintOf(err))
		}
		if c.HasTopic(name) {
			t.Error("looking for it has made it")
		}
		w = newWriting(t, c, func(cfg *Config) { cfg.Create = true })
		topic, err := w.Topic(t.Context(), name, 3)
		if err != nil {
			t.Fatal(err)
		}
		if topic.Partitions != 3 {
			t.Errorf("%+v", topic)
		}
		if texts := w.told(); !slices.Equal(texts, []string{"created west/" + name + ": created with 3 partitions"}) {
			t.Errorf("told %q", texts)
		}
		if !rig.Real() { // which takes any name
			c.Fake().Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.CreateTopics}, Err: kerr.InvalidTopicException})
		}
		_, err = w.Topic(t.Context(), "no topic", 3)
		if err == nil {
			t.Fatal("a topic of no name")
		}
		if fault.KindOf(err) != fault.Failed || !strings.Contains(err.Error(), "west/no topic: ") {
			t.Errorf("%v", err)
		}
	})
}
