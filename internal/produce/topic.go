package produce

import (
	"context"
	"strconv"
	"time"

	"github.com/kcm-cli/kcm/internal/batch"
	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/fault"
)

// Topic is a topic that is written to, as it was when it was first needed.
type Topic struct {
	Name       string
	Partitions int
	MaxBytes   int  // max.message.bytes: the largest batch that it takes
	AppendTime bool // it sets the time of every record itself

	cluster string
	packed  *batch.Codec // compression.type; nil: what the producer chose
	leaders map[int32]int32

	identity identity
}

// defaultMaxBytes is Kafka's own default of max.message.bytes.
const defaultMaxBytes = 1<<20 + 12

// keeps reports whether records keep their partition.
func (t *Topic) keeps(o Origin) bool {
	return o.Partitions == t.Partitions && int(o.Partition) < t.Partitions
}

// codec is what records that had a codec are compressed with here: another one
// than the topic's would only be undone by the broker.
func (t *Topic) codec(stored batch.Codec) batch.Codec {
	if t.packed != nil {
		return *t.packed
	}
	return stored
}

// Topic looks a topic up when it is first needed, and makes it with that many
// partitions if it is missing and Config.Create says so. It tries again as long as
// the cluster gives no contact and Config.GiveUp and ctx allow; every other error is a
// *fault.Error and final. Several callers wait for one look-up.
func (w *Writer) Topic(ctx context.Context, name string, partitions int) (*Topic, error) {
	w.topicsMu.Lock()
	defer w.topicsMu.Unlock()
	if t := w.topics[name]; t != nil {
		return t, nil
	}
	t, err := w.find(ctx, name, partitions)
	if err != nil {
		return nil, err
	}
	w.topics[name] = t
	return t, nil
}

// find tries until there is an answer.
func (w *Writer) find(ctx context.Context, name string, partitions int) (*Topic, error) {
	since := time.Now()
	for try := 1; ; try++ {
		t, err := w.lookUp(ctx, name, partitions)
		if err == nil {
			w.inContact()
			return t, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if fault.KindOf(err) != fault.Unreachable {
			return nil, err
		}
		w.outOfContact(err)
		if w.cfg.GiveUp > 0 && time.Since(since) >= w.cfg.GiveUp {
			return nil, w.givenUp("", err)
		}
		select {
		case <-time.After(growing(try, 4*w.cfg.timing.backoff, w.cfg.timing.longest)):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (w *Writer) lookUp(ctx context.Context, name string, partitions int) (*Topic, error) {
	c := w.cfg.Cluster
	found, err := w.existing(ctx, name)
	if err == nil && cluster.IsMissing(found.Err) {
		if !w.cfg.Create {
			return nil, fault.New(fault.Failed, "%s/%s: no such topic", c.Name(), name).On(c.Name()).
				WithHint("--create makes missing topics with as many partitions as the source has")
		}
		found, err = w.create(ctx, name, partitions)
	}
	if err == nil {
		err = found.Err
	}
	if err != nil {
		return nil, w.forWriting(err, name)
	}
	t := &Topic{Name: name, Partitions: len(found.Partitions), identity: identity{id: found.ID}, MaxBytes: defaultMaxBytes, cluster: c.Name(), leaders: map[int32]int32{}}
	for _, p := range found.Partitions {
		t.leaders[p.ID] = p.Leader
	}
	return t, w.configure(ctx, t)
}

func (w *Writer) existing(ctx context.Context, name string) (cluster.Topic, error) {
	topics, err := w.cfg.Cluster.Topics(ctx, name)
	if err != nil {
		return cluster.Topic{}, err
	}
	return topics[0], nil
}

// create makes a topic and waits until it can be seen.
func (w *Writer) create(ctx context.Context, name string, partitions int) (t cluster.Topic, err error) {
	c := w.cfg.Cluster
	made, err := c.CreateTopic(ctx, name, partitions)
	if err != nil {
		return t, err
	}
	if made {
		w.cfg.Event(Event{Kind: Created, Topic: name, Partition: -1, Text: c.Name() + "/" + name + ": created with " + counted(int64(partitions), "partition")})
	}
	for over := time.Now().Add(10 * time.Second); ; {
		if t, err = w.existing(ctx, name); err != nil || !cluster.IsMissing(t.Err) && len(t.Partitions) > 0 || time.Now().After(over) {
			return t, err
		}
		select {
		case <-time.After(w.cfg.timing.backoff):
		case <-ctx.Done():
			return t, ctx.Err()
		}
	}
}

func counted(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.FormatInt(n, 10) + " " + what + "s"
}

// configure reads what a topic takes. That it may not be read is told, and
// Kafka's defaults are taken.
func (w *Writer) configure(ctx context.Context, t *Topic) error {
	list, err := w.cfg.Cluster.TopicConfigs(ctx, t.Name)
	if err == nil {
		err = list[0].Err
	}
	switch {
	case err != nil && fault.KindOf(err) == fault.Unreachable:
		return err
	case err != nil:
		if ctx.Err() != nil {
			return ctx.Err()
		}
		w.cfg.Event(Event{Kind: Note, Topic: t.Name, Partition: -1, Text: w.cfg.Cluster.Name() + "/" + t.Name +
			": its settings cannot be read; taking max.message.bytes as " + strconv.Itoa(t.MaxBytes)})
		return nil
	}
	for _, e := range list[0].Entries {
		if e.Value != nil {
			t.set(e.Name, *e.Value)
		}
	}
	if t.AppendTime {
		w.cfg.Event(Event{Kind: Note, Topic: t.Name, Partition: -1, Text: w.cfg.Cluster.Name() + "/" + t.Name +
			": the topic sets the time of each record itself (message.timestamp.type=LogAppendTime): timestamps are not kept"})
	}
	return nil
}

// codecWords are the values of compression.type that are a codec.
var codecWords = map[string]batch.Codec{
	"uncompressed": batch.None, "gzip": batch.Gzip, "snappy": batch.Snappy, "lz4": batch.LZ4, "zstd": batch.Zstd,
}

func (t *Topic) set(key, value string) {
	switch key {
	case "max.message.bytes":
		if n, err := strconv.ParseInt(value, 10, 32); err == nil && n > 0 {
			t.MaxBytes = int(n)
		}
	case "message.timestamp.type":
		t.AppendTime = value == "LogAppendTime"
	case "compression.type":
		if codec, ok := codecWords[value]; ok {
			t.packed = &codec
		}
	}
}
