package kafkatest

import (
	"errors"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Record is what a test writes. Its zero Time is the time of writing.
type Record struct {
	Partition int32
	Key       []byte // nil is null
	Value     []byte // nil is null
	Headers   []Header
	Time      int64 // epoch milliseconds within 1678 to 2262; use Batch for others
}

// Header is one record header; a nil Value is null.
type Header struct {
	Key   string
	Value []byte
}

func (r Record) kgo(topic string) *kgo.Record {
	out := &kgo.Record{Topic: topic, Partition: r.Partition, Key: r.Key, Value: r.Value}
	if r.Time != 0 {
		out.Timestamp = time.UnixMilli(r.Time)
	}
	for _, h := range r.Headers {
		out.Headers = append(out.Headers, kgo.RecordHeader{Key: h.Key, Value: h.Value})
	}
	return out
}

// Produce writes records in their order and returns when all are written. They
// share batches, uncompressed.
func (c *Cluster) Produce(topic string, records ...Record) {
	c.t.Helper()
	c.ProduceWith(topic, nil, records...)
}

// ProduceWith is Produce with client options, such as
// kgo.ProducerBatchCompression(kgo.ZstdCompression()) or kgo.TransactionalID.
func (c *Cluster) ProduceWith(topic string, opts []kgo.Opt, records ...Record) {
	c.t.Helper()
	cl := c.producer(opts...)
	defer cl.Close()
	c.write(cl, topic, records)
}

func (c *Cluster) producer(opts ...kgo.Opt) *kgo.Client {
	c.t.Helper()
	all := append(c.ClientOpts(), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchMaxBytes(maxMessageBytes),
		kgo.BrokerMaxWriteBytes(2*maxMessageBytes), kgo.ProducerBatchCompression(kgo.NoCompression()))
	cl, err := kgo.NewClient(append(all, opts...)...)
	c.check(err)
	return cl
}

func (c *Cluster) write(cl *kgo.Client, topic string, records []Record) {
	c.t.Helper()
	ctx, cancel := c.context()
	defer cancel()
	ks := make([]*kgo.Record, len(records))
	for i, r := range records {
		ks[i] = r.kgo(topic)
	}
	c.check(cl.ProduceSync(ctx, ks...).FirstErr())
}

// ProduceRaw writes the bytes of one record batch, as Batch.Bytes makes them or
// damaged on purpose, and returns the offset that it got.
func (c *Cluster) ProduceRaw(topic string, partition int32, batch []byte) int64 {
	c.t.Helper()
	base, err := c.TryProduceRaw(topic, partition, batch)
	c.check(err)
	return base
}

// TryProduceRaw is ProduceRaw for a batch that the broker may refuse.
func (c *Cluster) TryProduceRaw(topic string, partition int32, batch []byte) (int64, error) {
	c.t.Helper()
	ctx, cancel := c.context()
	defer cancel()
	p := kmsg.NewProduceRequestTopicPartition()
	p.Partition, p.Records = partition, batch
	rt := kmsg.NewProduceRequestTopic()
	rt.Topic = topic
	rt.Partitions = append(rt.Partitions, p)
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = -1, 10_000
	req.Topics = append(req.Topics, rt)
	// From version 13 on the topic goes by its id, which the client does not fill in.
	cl, err := kgo.NewClient(append(c.ClientOpts(), kgo.BrokerMaxWriteBytes(2*maxMessageBytes), kgo.MaxVersions(produceByName()))...)
	c.check(err)
	defer cl.Close()
	resp, err := cl.Broker(int(c.Leader(topic, partition))).RetriableRequest(ctx, req)
	if err != nil {
		return 0, err
	}
	ps := resp.(*kmsg.ProduceResponse).Topics
	if len(ps) != 1 || len(ps[0].Partitions) != 1 {
		return 0, errors.New("the broker answered for no partition")
	}
	return ps[0].Partitions[0].BaseOffset, kerr.ErrorForCode(ps[0].Partitions[0].ErrorCode)
}

// Tx is one open transaction.
type Tx struct {
	c  *Cluster
	id string
	cl *kgo.Client
}

// Begin opens a transaction with a producer of its own, whose transactional id
// is id: a later Begin with the same id fences an earlier one.
func (c *Cluster) Begin(id string) *Tx {
	c.t.Helper()
	cl := c.producer(kgo.TransactionalID(id), kgo.TransactionTimeout(5*time.Minute))
	c.t.Cleanup(cl.Close)
	c.check(cl.BeginTransaction())
	return &Tx{c: c, id: id, cl: cl}
}

// Produce writes records in the transaction and returns when they are in the
// log, so that records of two transactions interleave as the calls do.
func (tx *Tx) Produce(topic string, records ...Record) {
	tx.c.t.Helper()
	tx.c.write(tx.cl, topic, records)
}

// Commit ends the transaction and returns when that is in every partition's log;
// its records become visible to read_committed.
func (tx *Tx) Commit() { tx.c.t.Helper(); tx.end(kgo.TryCommit) }

// Abort ends the transaction and returns when that is in every partition's log;
// its records stay there and are not committed.
func (tx *Tx) Abort() { tx.c.t.Helper(); tx.end(kgo.TryAbort) }

// Again opens the next transaction of the same producer.
func (tx *Tx) Again() { tx.c.t.Helper(); tx.c.check(tx.cl.BeginTransaction()) }

func (tx *Tx) end(how kgo.TransactionEndTry) {
	tx.c.t.Helper()
	ctx, cancel := tx.c.context()
	defer cancel()
	tx.c.check(tx.cl.EndTransaction(ctx, how))
	if !tx.c.rig.real {
		return
	}
	tx.c.until(ctx, "the markers of "+tx.id, func() bool { // which are written after the answer
		all, err := tx.c.Admin().DescribeTransactions(ctx, tx.id)
		return err == nil && !strings.HasPrefix(all[tx.id].State, "Prepare") && all[tx.id].Err == nil
	})
}
