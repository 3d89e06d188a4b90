package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// The clusters that records lie on, by the names that kcm is given for them.
const (
	east = "east"
	west = "west"
)

// mainRecords is how many records the largest topic holds unless -records says
// otherwise; the other topics' numbers are in proportion.
const mainRecords = 3_000_000

// work is what one topic holds.
type work struct {
	Name       string   // the topic is named after it
	Records    int      // on each cluster
	Shape      string   // of the values, see shapes
	Codec      string   // lz4 or zstd
	BatchBytes int      // largest batch of the producer, before compression
	Clusters   []string // the clusters that have such a topic
	Groups     int      // that have commits on it, on each cluster
}

// partitions of every topic.
const partitions = 12

// roomyBatch is the largest batch that a broker takes unless it is told
// otherwise, as a bound on what the producer packs before it compresses.
const roomyBatch = 1_000_012

// works are all topics that rows read. What takes a program long has few records.
var works = map[string]work{
	"small-lz4":  {Records: mainRecords, Shape: "order", Codec: "lz4", BatchBytes: roomyBatch, Clusters: []string{east}},
	"small-zstd": {Records: mainRecords, Shape: "order", Codec: "zstd", BatchBytes: roomyBatch, Clusters: []string{east}},
	"big-lz4":    {Records: 400_000, Shape: "page", Codec: "lz4", BatchBytes: roomyBatch, Clusters: []string{east}},
	"big-zstd":   {Records: 400_000, Shape: "page", Codec: "zstd", BatchBytes: roomyBatch, Clusters: []string{east}},
	"some":       {Records: 600_000, Shape: "order", Codec: "lz4", BatchBytes: roomyBatch, Clusters: []string{east}},
	"java":       {Records: 600_000, Shape: "order", Codec: "lz4", BatchBytes: 16 << 10, Clusters: []string{east}},
	"half":       {Records: mainRecords / 2, Shape: "order", Codec: "lz4", BatchBytes: roomyBatch, Clusters: []string{east, west}},
	"avro":       {Records: 2_000_000, Shape: "avro", Codec: "lz4", BatchBytes: roomyBatch, Clusters: []string{east}},
	"protobuf":   {Records: 2_000_000, Shape: "protobuf", Codec: "lz4", BatchBytes: roomyBatch, Clusters: []string{east}},
	"groups":     {Records: 12_000, Shape: "order", Codec: "lz4", BatchBytes: roomyBatch, Clusters: []string{east, west}, Groups: 1000},
	"wide":       {Records: 1_200_000, Shape: "wide", Codec: "lz4", BatchBytes: 4 << 20, Clusters: []string{east}},
}

// work is the one of this name, for as many records as the options want.
func (k *kit) work(name string) work {
	w, ok := works[name]
	if !ok {
		panic("no such work: " + name)
	}
	w.Name = name
	w.Records = max(int(int64(w.Records)*int64(k.o.records)/mainRecords), 1000)
	return w
}

func (w work) topic() string { return "kcm-bench-" + w.Name }

// total is how many records all its clusters hold.
func (w work) total() int { return w.Records * len(w.Clusters) }

// filled is what a fill tells of its batches; all zero when the topic had been
// filled before.
type filled struct {
	Batches   int
	WireMost  int // bytes of the largest batch's records, compressed
	PlainMost int // the same before compression; perhaps of another batch
}

// fill sees to it that the topic of w has its records, on all its clusters.
func (k *kit) fill(ctx context.Context, w work) error {
	if _, ok := k.filled[w.Name]; ok {
		return nil
	}
	var all filled
	for _, cluster := range w.Clusters {
		addr, err := k.broker(cluster)
		if err != nil {
			return err
		}
		job, err := json.Marshal(fillJob{Work: w, Bootstrap: addr, Start: k.start})
		if err != nil {
			return err
		}
		word := fillWord
		if w.Shape == checkpointShape {
			word = checkpointsWord
			if err := k.compileAnswers(ctx); err != nil {
				return err
			}
		}
		out, err := k.child(ctx, word, string(job))
		if err != nil {
			return err
		}
		var f filled
		if err := json.Unmarshal(out, &f); err != nil {
			return err
		}
		all.Batches += f.Batches
		all.WireMost = max(all.WireMost, f.WireMost)
		all.PlainMost = max(all.PlainMost, f.PlainMost)
	}
	k.filled[w.Name] = all
	return nil
}

// describe says in a line what the topic holds.
func (k *kit) describe(w work) string {
	if w.Shape == checkpointShape {
		return fmt.Sprintf("%s: %d checkpoints of %d groups, %d partitions each", w.Name, w.Records, w.Records/checkpointPartitions/checkpointRounds, checkpointPartitions)
	}
	on := ""
	if len(w.Clusters) > 1 {
		on = fmt.Sprintf(" on each of %d clusters", len(w.Clusters))
	}
	text := fmt.Sprintf("%s: %d %s records of about %s%s, %s, %d partitions", w.Name, w.Records, shapes[w.Shape].encoding(), shapes[w.Shape].size, on, w.Codec, partitions)
	f := k.filled[w.Name]
	if f.Batches == 0 {
		return text + ", batches as they were found"
	}
	return text + fmt.Sprintf(", batches of %d records on average and of %s (%s before compression) at most",
		w.total()/f.Batches, kib(f.WireMost), kib(f.PlainMost))
}

func kib(n int) string { return fmt.Sprintf("%d KiB", (n+1023)/1024) }

// child runs this program again for something that needs a lot of memory: the
// kernel counts the memory of a parent into the peak of the children that it
// starts, so the process that measures has to stay small.
func (k *kit) child(ctx context.Context, args ...string) ([]byte, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, args...)
	problems := new(bytes.Buffer)
	cmd.Stderr = io.MultiWriter(k.stderr, problems)
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", args[0], err, tail(problems.String()))
	}
	return out, nil
}
