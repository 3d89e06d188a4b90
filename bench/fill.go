package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// children are the words that make this program do one thing with Kafka's client
// and end (see kit.child).
var children = map[string]func(ctx context.Context, args []string, stdout, stderr io.Writer) error{
	fillWord:        fillMain,
	checkpointsWord: checkpointsMain,
	topicWord:       topicMain,
	probeWord:       probeMain,
}

const fillWord = "fill"

// fillJob is the argument of fill, as JSON.
type fillJob struct {
	Work      work
	Bootstrap string
	Start     time.Time // of the first record; each next one is a millisecond later
}

var codecs = map[string]kgo.CompressionCodec{"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression()}

func fillMain(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var job fillJob
	if len(args) != 1 {
		return errors.New("fill takes one argument")
	}
	if err := json.Unmarshal([]byte(args[0]), &job); err != nil {
		return err
	}
	w, batches := job.Work, &batchCounter{}
	cl, err := kgo.NewClient(
		kgo.SeedBrokers(job.Bootstrap),
		kgo.DefaultProduceTopic(w.topic()),
		kgo.ProducerBatchCompression(codecs[w.Codec]),
		kgo.ProducerBatchMaxBytes(int32(w.BatchBytes)),
		// Each partition's batches fill up before they go, whatever their size.
		kgo.ProducerLinger(30*time.Second),
		kgo.MaxBufferedRecords(2*partitions*(w.BatchBytes/shapes[w.Shape].least+1)),
		kgo.RecordPartitioner(kgo.RoundRobinPartitioner()),
		kgo.WithHooks(batches),
		kgo.MetadataMinAge(100*time.Millisecond), // the topic may be new
	)
	if err != nil {
		return err
	}
	defer cl.Close()
	has, err := prepareTopic(ctx, kadm.NewClient(cl), w.topic())
	switch {
	case err != nil:
		return err
	case has > 0 && has != int64(w.Records):
		return fmt.Errorf("topic %s holds %d records, not %d: delete it", w.topic(), has, w.Records)
	case has == 0:
		began := time.Now()
		if err := produce(ctx, cl, job); err != nil {
			return err
		}
		fmt.Fprintf(stderr, "filled %s with %d records in %.1fs\n", w.topic(), w.Records, time.Since(began).Seconds())
	}
	if err := commitGroups(ctx, kadm.NewClient(cl), w); err != nil {
		return err
	}
	return json.NewEncoder(stdout).Encode(batches.told())
}

// batchCounter watches what the producer writes.
type batchCounter struct {
	mu  sync.Mutex
	all filled
}

// OnProduceBatchWritten is kgo's hook.
func (c *batchCounter) OnProduceBatchWritten(_ kgo.BrokerMetadata, _ string, _ int32, m kgo.ProduceBatchMetrics) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all.Batches++
	c.all.WireMost = max(c.all.WireMost, m.CompressedBytes)
	c.all.PlainMost = max(c.all.PlainMost, m.UncompressedBytes)
}

func (c *batchCounter) told() filled {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all
}

func produce(ctx context.Context, cl *kgo.Client, job fillJob) error {
	var once sync.Once
	var failed error
	next := shapes[job.Work.Shape].maker()
	for i := range job.Work.Records {
		at := job.Start.Add(time.Duration(i) * time.Millisecond)
		key, value := next(i, at)
		cl.Produce(ctx, &kgo.Record{Key: key, Value: value, Timestamp: at}, func(_ *kgo.Record, err error) {
			if err != nil {
				once.Do(func() { failed = err })
			}
		})
	}
	if err := cl.Flush(ctx); err != nil {
		return err
	}
	return failed
}
