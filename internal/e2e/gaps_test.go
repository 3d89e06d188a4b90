//go:build kafka

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kcm-cli/kcm/internal/kafkatest"
)

// heavy are n records of 40 kB whose times go backwards, so that whoever looks
// for a place by time finds the wrong one.
func heavy(n int) []kafkatest.Record {
	var list []kafkatest.Record
	for i := range n {
		v := append(fmt.Appendf(nil, "%d ", i), bytes.Repeat([]byte("x"), 40_000)...)
		list = append(list, kafkatest.Record{Value: v, Time: 1_700_000_000_000 - int64(i)*1000})
	}
	return list
}

var goneText = regexp.MustCompile(`offsets (\d+) to (\d+) are gone`)

// TestRecordsDeletedBeforeASlowReader: what is read through a pipe that stands
// still has fallen behind the start of the log when the pipe goes on.
func TestRecordsDeletedBeforeASlowReader(t *testing.T) {
	rig := kafkatest.Real(t, kafkatest.Options{})
	c := rig.Cluster("east")
	for policy, want := range map[string]struct{ code, back int }{
		"skip": {0, 300}, // 700 to 999 come
		"stop": {3, 0},
		"fail": {1, 0},
	} {
		t.Run(policy, func(t *testing.T) {
			c := rig.With(t).Cluster("east")
			topic := rig.With(t).Name("gap-" + policy)
			c.CreateTopic(topic, 1, nil)
			c.ProduceWith(topic, []kgo.Opt{kgo.ProducerBatchMaxBytes(1 << 20)}, heavy(1000)...)
			pr, pw, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer pr.Close()
			k := start(t, []string{"-b", c.Bootstrap(), "consume", topic, "-e", "-f", "raw", "--on-gap", policy}, into(pw))
			pw.Close()
			waitStill(t, k)
			c.DeleteRecords(topic, 0, 700)
			var out lines
			if _, err := out.readFrom(pr); err != nil {
				t.Fatal(err)
			}
			r := k.end(patience)
			r.exits(t, want.code)
			r.figures(t, policy)
			var got []int
			for _, l := range out.all() {
				n, _, _ := strings.Cut(l, " ")
				i, err := strconv.Atoi(n)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, i)
			}
			m := goneText.FindStringSubmatch(strings.Join(r.stderr, "\n"))
			if m == nil {
				t.Fatalf("no gap is told: %q", r.stderr)
			}
			from, _ := strconv.Atoi(m[1])
			to, _ := strconv.Atoi(m[2])
			if from < 20 || from >= 700 || to != 699 {
				t.Errorf("offsets %d to %d are told gone, want 699 as the last", from, to)
			}
			list := sequence(0, from)
			if want.back > 0 {
				list = append(list, sequence(700, 1000)...)
			}
			if !slices.Equal(got, list) {
				t.Errorf("got %d records, want %d: 0 to %d and then %d", len(got), len(list), from-1, want.back)
			}
			r.says(t, 1, "are gone")
		})
	}

	// From below the start, and from beyond the end.
	topic := rig.Name("places")
	c.CreateTopic(topic, 1, nil)
	c.Produce(topic, numbered(c, 0, 0, 100)...)
	c.DeleteRecords(topic, 0, 50)
	r := run(t, []string{"-b", c.Bootstrap(), "consume", topic, "-e", "-J", "-o", "10"})
	r.exits(t, 0)
	equal(t, "-o 10", values(t, r.stdout), counted(c, 0, 100)[50:])
	r.says(t, 1, "10", "50")

	r = run(t, []string{"-b", c.Bootstrap(), "consume", topic, "-e", "-J", "-o", "5000"})
	r.exits(t, 0)
	equal(t, "-o 5000 -e", r.stdout, nil)
	r.says(t, 1, "5000", "ends at 100")

	k := start(t, []string{"-b", c.Bootstrap(), "consume", topic, "-J", "-o", "150"})
	k.told(5*time.Second, "offset 150", "ends at 100", "waiting")
	c.Produce(topic, numbered(c, 0, 100, 100)...)
	k.gets(10*time.Second, 50)
	c.Produce(topic, numbered(c, 0, 200, 10)...)
	k.gets(5*time.Second, 60)
	r = k.stop()
	r.exits(t, 0)
	equal(t, "-o 150", values(t, r.stdout), counted(c, 0, 210)[150:])
}

func sequence(from, to int) (list []int) {
	for i := from; i < to; i++ {
		list = append(list, i)
	}
	return list
}

// waitStill waits until a run whose stdout nobody reads has nothing more to do.
func waitStill(t *testing.T, k *kcm) {
	t.Helper()
	last, since := k.cpu(), time.Now()
	k.until(30*time.Second, "the reader to stand still", func() bool {
		if now := k.cpu(); now != last || now == 0 {
			last, since = now, time.Now()
		}
		return time.Since(since) > 1500*time.Millisecond
	})
}

// TestASignalWhileThePipeStandsStill ends a run that waits for its reader.
func TestASignalWhileThePipeStandsStill(t *testing.T) {
	rig := kafkatest.Real(t, kafkatest.Options{})
	c := rig.Cluster("east")
	topic := rig.Name("still")
	c.CreateTopic(topic, 1, nil)
	c.ProduceWith(topic, []kgo.Opt{kgo.ProducerBatchMaxBytes(1 << 20)}, heavy(500)...)
	pr, pw, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer pr.Close()
	k := start(t, []string{"-b", c.Bootstrap(), "consume", topic, "-e", "-f", "raw"}, into(pw))
	pw.Close()
	waitStill(t, k)
	r := k.stop()
	r.exits(t, 130)
	r.figures(t, "a pipe that stands still")
	r.below(t, 100)
}
