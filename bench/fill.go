package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// fillWord makes this program fill the topic and end. Filling is a process of
// its own because the kernel counts the memory of a parent into the peak of the
// children that it starts: the measuring process has to stay small.
const fillWord = "fill"

func fill(ctx context.Context, o options, stderr io.Writer) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, self, fillWord, o.bootstrap, o.topic,
		strconv.Itoa(o.records), strconv.Itoa(o.partitions), strconv.Itoa(o.batchBytes))
	cmd.Stderr = stderr
	return cmd.Run()
}

func fillMain(ctx context.Context, args []string, stderr io.Writer) error {
	if len(args) != 5 {
		return errors.New("fill takes BOOTSTRAP TOPIC RECORDS PARTITIONS BATCH-BYTES")
	}
	var n [3]int
	for i := range n {
		v, err := strconv.ParseInt(args[2+i], 10, 32)
		if err != nil {
			return err
		}
		n[i] = int(v)
	}
	cl, err := kgo.NewClient(
		kgo.SeedBrokers(args[0]),
		kgo.DefaultProduceTopic(args[1]),
		kgo.ProducerBatchCompression(kgo.Lz4Compression()),
		kgo.ProducerBatchMaxBytes(int32(n[2])),
		kgo.RecordPartitioner(kgo.RoundRobinPartitioner()),
		kgo.MaxBufferedRecords(100_000),
	)
	if err != nil {
		return err
	}
	defer cl.Close()
	has, err := prepareTopic(ctx, kadm.NewClient(cl), args[1], n[1])
	switch {
	case err != nil:
		return err
	case has == int64(n[0]):
		return nil
	case has > 0:
		return fmt.Errorf("topic %s holds %d records, not %d: name another -topic", args[1], has, n[0])
	}
	began := time.Now()
	if err := produce(ctx, cl, n[0]); err != nil {
		return err
	}
	fmt.Fprintf(stderr, "filled %s with %d records in %.1fs\n", args[1], n[0], time.Since(began).Seconds())
	return nil
}

// prepareTopic makes the topic if it is missing and returns how many offsets it holds.
func prepareTopic(ctx context.Context, adm *kadm.Client, topic string, partitions int) (int64, error) {
	topics, err := adm.ListTopics(ctx, topic)
	if err != nil {
		return 0, err
	}
	if !topics.Has(topic) {
		_, err := adm.CreateTopic(ctx, int32(partitions), 1, nil, topic)
		return 0, err
	}
	ends, err := adm.ListEndOffsets(ctx, topic)
	if err != nil {
		return 0, err
	}
	if err := ends.Error(); err != nil {
		return 0, err
	}
	var sum int64
	ends.Each(func(l kadm.ListedOffset) { sum += l.Offset })
	return sum, nil
}

func produce(ctx context.Context, cl *kgo.Client, records int) error {
	rng := rand.New(rand.NewPCG(1, 2)) // the same records in every run
	start := time.Now().Add(-time.Duration(records) * time.Millisecond)
	var failed error
	for i := range records {
		at := start.Add(time.Duration(i) * time.Millisecond)
		cl.Produce(ctx, &kgo.Record{
			Key:       fmt.Appendf(nil, "c-%06d", rng.IntN(1_000_000)),
			Value:     order(rng, i, at),
			Timestamp: at,
		}, func(_ *kgo.Record, err error) {
			if err != nil && failed == nil {
				failed = err
			}
		})
	}
	if err := cl.Flush(ctx); err != nil {
		return err
	}
	return failed
}

// order is one JSON record of about 140 bytes.
func order(rng *rand.Rand, id int, at time.Time) []byte {
	statuses := [...]string{"new", "paid", "shipped", "returned"}
	return fmt.Appendf(nil, `{"id":%d,"customer":"c-%06d","status":%q,"amount":%d.%02d,"currency":"EUR","sku":"A-%05d","at":%q}`,
		id, rng.IntN(1_000_000), statuses[rng.IntN(len(statuses))], rng.IntN(500), rng.IntN(100), rng.IntN(100_000),
		at.UTC().Format("2006-01-02T15:04:05.000Z"))
}
