package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"sync"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kcm-cli/kcm/internal/mirror"
)

// checkpointShape marks a work whose topic holds checkpoints of MirrorMaker 2: ten
// rounds of many groups, each with a hundred partitions.
const checkpointShape = "checkpoint"

const (
	checkpointRounds     = 10
	checkpointPartitions = 100
	// mirrorAlias is what MirrorMaker 2 would call the source: the topics of its
	// flow begin with it.
	mirrorAlias = "kcm-bench-mm2"
	// mirrorSource is the Java program that asks RemoteClusterUtils.
	mirrorSource = "internal/kafkatest/MirrorAnswers.java"
)

// checkpoints is the topic of checkpoints, of as many groups as the options want.
func (k *kit) checkpoints() work {
	groups := max(1000*k.o.records/mainRecords, 2)
	return work{
		Name: "mm2.checkpoints.internal", Records: groups * checkpointPartitions * checkpointRounds, Shape: checkpointShape,
		Codec: "lz4", BatchBytes: roomyBatch, Clusters: []string{east},
	}
}

func (k *kit) translateRow() row {
	const kcm, java = "kcm offsets translate", "RemoteClusterUtils"
	w := k.checkpoints()
	rows := w.Records / checkpointRounds
	addr := k.o.east
	ours := contender{
		name: kcm, work: w, out: toNull, want: rows + 1, // a line of headers
		argv: []string{
			k.kcm, "offsets", "translate", "-b", mirrorAlias + "=" + addr, "-b", "target=" + addr, "--from", mirrorAlias, "--to", "target",
			"--group-regex", "bench-.*", "--via", "checkpoints", "--policy", "default", "-o", "csv",
		},
	}
	theirs := contender{name: java, work: w, out: toNull, counts: byNumber, want: rows, slow: true}
	if k.o.jars != "" {
		theirs.argv = []string{"java", "-cp", filepath.Join(k.o.jars, "*") + ":" + k.dir, "MirrorAnswers", addr, mirrorAlias, "bench-.*", "count"}
	}
	return row{
		name:       "translate",
		title:      "Checkpoints of MirrorMaker 2, all groups of a pattern",
		note:       "kcm writes a line for each partition of each group, with its range on the target looked up; the Java program counts what RemoteClusterUtils.translateOffsets(Pattern) returns.",
		contenders: []contender{ours, theirs},
		bars: []promise{
			{"rate, kcm offsets translate : RemoteClusterUtils", rate, kcm, java, 10},
			{"CPU, kcm offsets translate : RemoteClusterUtils", cpus, kcm, java, 1.0 / 3},
			{"peak MB, kcm offsets translate", peak, kcm, "", 100},
		},
	}
}

// compileAnswers makes a class of the Java program, for those who have Java.
func (k *kit) compileAnswers(ctx context.Context) error {
	if k.o.jars == "" {
		return nil
	}
	out, err := exec.CommandContext(ctx, "javac", "-cp", filepath.Join(k.o.jars, "*"), "-d", k.dir, mirrorSource).CombinedOutput()
	if err != nil {
		return fmt.Errorf("javac %s: %w\n%s", mirrorSource, err, out)
	}
	return nil
}

const checkpointsWord = "checkpoints"

// checkpointsMain fills a topic of checkpoints, and the copied topic that they are
// about, which has a few records in each partition.
func checkpointsMain(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var job fillJob
	if len(args) != 1 {
		return errors.New("checkpoints takes one argument")
	}
	if err := json.Unmarshal([]byte(args[0]), &job); err != nil {
		return err
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(job.Bootstrap), kgo.ProducerBatchCompression(codecs[job.Work.Codec]),
		kgo.MaxBufferedRecords(100_000), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		return err
	}
	defer cl.Close()
	adm, copied := kadm.NewClient(cl), mirrorAlias+".orders"
	if topics, err := adm.ListTopics(ctx, job.Work.topic()); err != nil || topics.Has(job.Work.topic()) {
		if err == nil {
			err = json.NewEncoder(stdout).Encode(filled{})
		}
		return err
	}
	if _, err := adm.CreateTopic(ctx, 1, 1, map[string]*string{"cleanup.policy": kadm.StringPtr("compact")}, job.Work.topic()); err != nil {
		return err
	}
	if _, err := adm.CreateTopic(ctx, checkpointPartitions, 1, nil, copied); err != nil {
		return err
	}
	if err := produceCheckpoints(ctx, cl, job.Work, copied); err != nil {
		return err
	}
	fmt.Fprintf(stderr, "filled %s with %d checkpoints\n", job.Work.topic(), job.Work.Records)
	return json.NewEncoder(stdout).Encode(filled{})
}

func produceCheckpoints(ctx context.Context, cl *kgo.Client, w work, copied string) error {
	var once sync.Once
	var failed error
	done := func(_ *kgo.Record, err error) {
		if err != nil {
			once.Do(func() { failed = err })
		}
	}
	for p := range int32(checkpointPartitions) {
		for range checkpointRounds {
			cl.Produce(ctx, &kgo.Record{Topic: copied, Partition: p, Value: []byte("order")}, done)
		}
	}
	groups := w.Records / checkpointPartitions / checkpointRounds
	for round := range int64(checkpointRounds) {
		for g := range groups {
			for p := range int32(checkpointPartitions) {
				c := mirror.Checkpoint{Group: fmt.Appendf(nil, "bench-%05d", g), Topic: []byte(copied), Partition: p, Upstream: 100 * round, Downstream: round}
				cl.Produce(ctx, &kgo.Record{Topic: w.topic(), Key: c.AppendKey(nil), Value: c.AppendValue(nil)}, done)
			}
		}
	}
	if err := cl.Flush(ctx); err != nil {
		return err
	}
	return failed
}
