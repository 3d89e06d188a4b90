package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// probeWord makes this program time records on their way through another one.
const probeWord = "probe"

// probeEvery is the pause between two records.
const probeEvery = 20 * time.Millisecond

// probeJob is the argument of probe, as JSON.
type probeJob struct {
	Bootstrap string
	Topic     string // made for this and deleted
	Records   int
	Argv      []string // writes each value of the topic, from now on, as a line
}

// prober produces records that say when, and takes them from the program's output.
type prober struct {
	job   probeJob
	cl    *kgo.Client
	lines chan arrived
	sent  int
	seen  map[string]int // records that came before timing began, by partition
}

// arrived is a line and when it came.
type arrived struct {
	at   time.Time
	line string
}

// probeMain prints the delays as a list of nanoseconds.
func probeMain(ctx context.Context, args []string, stdout, _ io.Writer) (err error) {
	p := &prober{lines: make(chan arrived, 1000), seen: map[string]int{}}
	if len(args) != 1 {
		return errors.New("probe takes one argument")
	}
	if err := json.Unmarshal([]byte(args[0]), &p.job); err != nil {
		return err
	}
	p.cl, err = kgo.NewClient(
		kgo.SeedBrokers(p.job.Bootstrap),
		kgo.DefaultProduceTopic(p.job.Topic),
		kgo.ProducerLinger(0),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.MetadataMinAge(100*time.Millisecond), // the topic is new
	)
	if err != nil {
		return err
	}
	defer p.cl.Close()
	adm := kadm.NewClient(p.cl)
	if err := makeTopic(ctx, adm, p.job.Topic); err != nil {
		return err
	}
	defer func() {
		_, broken := adm.DeleteTopic(context.WithoutCancel(ctx), p.job.Topic)
		err = errors.Join(err, broken)
	}()
	delays, err := p.during(ctx)
	if err != nil {
		return err
	}
	return json.NewEncoder(stdout).Encode(delays)
}

// during starts the program, probes it, and ends it.
func (p *prober) during(ctx context.Context) ([]time.Duration, error) {
	cmd := exec.CommandContext(ctx, p.job.Argv[0], p.job.Argv[1:]...)
	cmd.WaitDelay = 5 * time.Second
	problems := new(bytes.Buffer)
	cmd.Stderr = problems
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go p.read(out)
	delays, err := p.measure(ctx)
	// Some of the programs end by a signal with a failure; the records tell.
	_ = cmd.Process.Signal(os.Interrupt)
	for range p.lines {
		continue
	}
	_ = cmd.Wait()
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, tail(problems.String()))
	}
	return delays, nil
}

func (p *prober) read(out io.Reader) {
	defer close(p.lines)
	s := bufio.NewScanner(out)
	for s.Scan() {
		p.lines <- arrived{time.Now(), s.Text()}
	}
}

// measure waits until the program follows every partition, and then takes the time.
func (p *prober) measure(ctx context.Context) ([]time.Duration, error) {
	tick := time.NewTicker(probeEvery)
	defer tick.Stop()
	limit := time.After(time.Duration(p.job.Records)*probeEvery + time.Minute)
	var delays []time.Duration
	for turn := 0; len(delays) < p.job.Records; {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-limit:
			return nil, fmt.Errorf("%d of %d records came in time", len(delays), p.job.Records)
		case <-tick.C:
			turn++
			p.send(ctx, int32(turn%partitions))
		case a, ok := <-p.lines:
			if !ok {
				return nil, errors.New("the program ended")
			}
			d, timed, err := p.take(a)
			if err != nil {
				return nil, err
			}
			if timed {
				delays = append(delays, d)
			}
		}
	}
	return delays, nil
}

const warm, timed = "warm", "timed"

// warmed reports whether two records of each partition have come: what is
// produced before a program has found a partition's end never comes.
func (p *prober) warmed() bool {
	for part := range partitions {
		if p.seen[strconv.Itoa(part)] < 2 {
			return false
		}
	}
	return true
}

// send produces a record of about 140 bytes that holds its kind, its partition
// and the time.
func (p *prober) send(ctx context.Context, partition int32) {
	kind := warm
	if p.warmed() {
		kind = timed
		if p.sent++; p.sent > p.job.Records {
			return
		}
	}
	value := fmt.Sprintf("%s %d %s %s", kind, partition, time.Now().Format(time.RFC3339Nano), strings.Repeat("x", 90))
	p.cl.Produce(ctx, &kgo.Record{Partition: partition, Value: []byte(value)}, nil)
}

// take is the delay of a record, if it is one to be timed.
func (p *prober) take(a arrived) (d time.Duration, ok bool, err error) {
	words := strings.Fields(a.line)
	if len(words) != 4 {
		return 0, false, fmt.Errorf("no probe: %.60q", a.line)
	}
	if words[0] == warm {
		p.seen[words[1]]++
		return 0, false, nil
	}
	sent, err := time.Parse(time.RFC3339Nano, words[2])
	return a.at.Sub(sent), true, err
}
