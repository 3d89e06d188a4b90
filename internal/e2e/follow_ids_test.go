//go:build kafka

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kcm-cli/kcm/internal/kafkatest"
)

// TestMadeAgainWhileOut: a topic that comes back to the metadata as another one of
// the same name is read from its start, not where the old one was left.
func TestMadeAgainWhileOut(t *testing.T) {
	beside(t)
	rig := kafkatest.Real(t, kafkatest.Options{})
	c, topic, other := rig.Cluster("east"), rig.Name("again"), rig.Name("other")
	c.CreateTopic(topic, 1, nil)
	c.CreateTopic(other, 1, nil)
	put(c, topic, 0, some("old", 10)...)
	with := only([]string{at(c)}, listed{cluster: "east", topics: []string{topic, other}})
	path := file(t, "kcm.yaml", with)
	k := start(t, []string{"-m", path, "consume", "orders", "-o", "start", "-J"})
	k.gets(patience, 10)
	edited := time.Now()
	renamed(t, path, only([]string{at(c)}, listed{cluster: "east", topics: []string{other}}))
	k.heard(5*time.Second, edited, "- east/"+topic)
	c.DeleteTopic(topic)
	c.CreateTopic(topic, 1, nil)
	put(c, topic, 0, some("new", 15)...)
	back := time.Now()
	renamed(t, path, with)
	k.gets(5*time.Second, 25)
	k.heard(time.Second, back, "east/"+topic, "made again")
	r := k.stop()
	r.exits(t, 0)
	p := place{"east", topic}
	equal(t, "records", tags(t, r.stdout), append(expect(p, 0, 0, some("old", 10)...), expect(p, 0, 0, some("new", 15)...)...))
	t.Logf("told: %q", r.stderr)
}

// TestATopicThatIsGone for a while is told, and waited for.
func TestATopicThatIsGone(t *testing.T) {
	beside(t)
	rig := kafkatest.Real(t, kafkatest.Options{})
	c, topic, other := rig.Cluster("east"), rig.Name("gone"), rig.Name("other")
	c.CreateTopic(topic, 6, nil)
	c.CreateTopic(other, 1, nil)
	put(c, topic, 0, some("old", 10)...)
	path := file(t, "kcm.yaml", only([]string{at(c)}, listed{cluster: "east", topics: []string{topic, other}}))
	k := start(t, []string{"-m", path, "consume", "orders", "-o", "start", "-J", "--refresh", "1s"})
	k.gets(patience, 10)
	gone := time.Now()
	c.DeleteTopic(topic)
	told := k.heard(10*time.Second, gone, "east/"+topic)
	t.Logf("told %.1f s after the deletion began", told.Sub(gone).Seconds())
	put(c, other, 0, some("o", 10)...)
	k.gets(5*time.Second, 20)
	k.until(5*time.Second, "a while without it", until(time.Now().Add(3*time.Second)))
	c.CreateTopic(topic, 8, nil)
	put(c, topic, 0, some("new", 5)...)
	put(c, topic, 7, some("two", 5)...)
	k.gets(10*time.Second, 30)
	r := k.stop()
	r.exits(t, 0)
	if n := len(r.stderr); n > 8 {
		t.Errorf("%d lines on stderr: trouble of a topic is told for every partition", n)
	}
	got := tags(t, r.stdout)
	equal(t, "partition 7", from(place{"east", topic + "/7@"}, slashed(got)), slashed(expect(place{"east", topic}, 7, 0, some("two", 5)...)))
	equal(t, "other", from(place{"east", other}, got), expect(place{"east", other}, 0, 0, some("o", 10)...))
	t.Logf("told: %q", r.stderr)
}

// TestATopicMadeLongAfterTheEdit that names it, by its name or by a pattern, is
// found at the next refresh, as often as that happens.
func TestATopicMadeLongAfterTheEdit(t *testing.T) {
	beside(t)
	rig := kafkatest.Real(t, kafkatest.Options{})
	for name, entry := range map[string]func(topic string) string{
		"name": func(topic string) string { return topic }, "pattern": func(topic string) string { return "/" + topic + "/" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rig := rig.With(t)
			c, topic := rig.Cluster("east"), rig.Name("orders")
			c.CreateTopic(topic, 1, nil)
			path := file(t, "kcm.yaml", only([]string{at(c)}, listed{cluster: "east", topics: []string{topic}}))
			k := start(t, []string{"-m", path, "consume", "orders", "-o", "start", "-J", "--refresh", "1s"})
			k.awake(c, topic)
			for round := range 2 {
				later := rig.Name(fmt.Sprint("later", round))
				renamed(t, path, only([]string{at(c)}, listed{cluster: "east", topics: []string{topic, entry(later)}}))
				k.until(10*time.Second, "a while in which it is missed", until(time.Now().Add(6*time.Second)))
				made, n := time.Now(), k.out.count()
				c.CreateTopic(later, 1, nil)
				put(c, later, 0, "r0")
				k.gets(10*time.Second, n+1)
				d := time.Since(made)
				t.Logf("the first record came %v after the topic was made", ms(d))
				if d > 2500*time.Millisecond+ease {
					t.Errorf("the first record came %v after the topic was made, --refresh is 1s", ms(d))
				}
			}
			r := k.stop()
			r.exits(t, 0)
			t.Logf("told: %q", r.stderr)
		})
	}
}

// TestASecondNameForACluster that comes with an edit is refused, and the first
// goes on; a cluster that is only called otherwise from now on is read on where
// it was.
func TestASecondNameForACluster(t *testing.T) {
	beside(t)
	rig := kafkatest.Real(t, kafkatest.Options{})
	c, topic := rig.Cluster("east"), rig.Name("orders")
	c.CreateTopic(topic, 1, nil)
	put(c, topic, 0, some("r", 10)...)
	list := func(c string) listed { return listed{cluster: c, topics: []string{topic}} }
	alone := only([]string{at(c)}, list("east"))
	path := file(t, "kcm.yaml", alone)
	k := start(t, []string{"-m", path, "consume", "orders", "-o", "start", "-J", "--refresh", "1s"})
	k.gets(patience, 10)
	edited := time.Now()
	renamed(t, path, only([]string{at(c), "twin=" + c.Bootstrap()}, list("east"), list("twin")))
	k.heard(5*time.Second, edited, "twin")
	put(c, topic, 0, "r10")
	k.gets(5*time.Second, 11)
	k.until(5*time.Second, "a quiet time", until(time.Now().Add(1500*time.Millisecond)))
	if n := k.out.count(); n != 11 {
		t.Errorf("%d records, want 11: the second name is read as well", n)
	}
	renamed(t, path, alone)
	k.until(5*time.Second, "a quiet time", until(time.Now().Add(500*time.Millisecond)))
	edited = time.Now()
	renamed(t, path, only([]string{"ost=" + c.Bootstrap()}, list("ost")))
	k.heard(5*time.Second, edited, "- east/"+topic)
	k.heard(5*time.Second, edited, "+ ost/"+topic)
	put(c, topic, 0, "r11")
	k.gets(5*time.Second, 12)
	r := k.stop()
	r.exits(t, 0)
	got := tags(t, r.stdout)
	equal(t, "east", from(place{"east", topic}, got), expect(place{"east", topic}, 0, 0, some("r", 11)...))
	equal(t, "ost", from(place{"ost", topic}, got), expect(place{"ost", topic}, 0, 11, "r11"))
	t.Logf("told: %q", r.stderr)
}

// TestABacklogIsDrained: all that a topic has when it is taken out comes, however
// much of that was not read yet.
func TestABacklogIsDrained(t *testing.T) {
	beside(t)
	rig := kafkatest.Real(t, kafkatest.Options{})
	c, topic, other := rig.Cluster("east"), rig.Name("orders"), rig.Name("other")
	c.CreateTopic(topic, 1, nil)
	c.CreateTopic(other, 1, nil)
	c.ProduceWith(topic, []kgo.Opt{kgo.ProducerBatchMaxBytes(1 << 20)}, heavy(1000)...)
	path := file(t, "kcm.yaml", only([]string{at(c)}, listed{cluster: "east", topics: []string{topic, other}}))
	pr, pw, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer pr.Close()
	k := start(t, []string{"-m", path, "consume", "orders", "-o", "start", "-f", "raw"}, into(pw))
	pw.Close()
	waitStill(t, k)
	edited := time.Now()
	renamed(t, path, only([]string{at(c)}, listed{cluster: "east", topics: []string{other}}))
	k.until(10*time.Second, "a while in which nobody reads", until(time.Now().Add(3*time.Second)))
	var out lines
	done := make(chan error, 1)
	go func() {
		_, err := out.readFrom(pr)
		done <- err
	}()
	k.until(20*time.Second, "all of it", func() bool { return out.count() >= 1000 })
	told := k.heard(10*time.Second, edited, "- east/"+topic)
	t.Logf("told %.1f s after the edit: %q", told.Sub(edited).Seconds(), k.err.all())
	put(c, other, 0, "1000 is the last")
	k.until(5*time.Second, "what the other topic has", func() bool { return out.count() == 1001 })
	k.stop().exits(t, 0)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for n, l := range out.all() {
		if number, _, _ := strings.Cut(l, " "); number != strconv.Itoa(n) {
			t.Fatalf("line %d: %.50q", n, l)
		}
	}
}

// TestEditsAsJSON: each change is one object on a line with --progress json, and
// nothing at all is told with -q.
func TestEditsAsJSON(t *testing.T) {
	rig := kafkatest.Real(t, kafkatest.Options{})
	east, west, topic := rig.Cluster("east"), rig.Cluster("west"), rig.Name("orders")
	for _, c := range []*kafkatest.Cluster{east, west} {
		c.CreateTopic(topic, 2, nil)
		put(c, topic, 1, some("r", 10)...)
	}
	list := func(c string) listed { return listed{cluster: c, topics: []string{topic}} }
	alone, whole := only([]string{at(east)}, list("east")), only([]string{at(east), at(west)}, list("east"), list("west"))
	path := file(t, "kcm.yaml", alone)
	args := []string{"-m", path, "consume", "orders", "-o", "start", "-J"}
	k, quiet := start(t, append(args, "--progress", "json")), start(t, append(args, "-q"))
	all := []*kcm{k, quiet}
	for _, k := range all {
		k.gets(patience, 10)
	}
	renamed(t, path, whole)
	for _, k := range all {
		k.gets(5*time.Second, 20)
	}
	renamed(t, path, alone)
	k.told(5*time.Second, `"drained"`)
	put(east, topic, 0, "last")
	for _, k := range all {
		k.gets(5*time.Second, 21)
	}
	r := k.stop()
	r.exits(t, 0)
	events := map[string]int{}
	for _, l := range r.stderr {
		var e struct{ Time, Event, Cluster, Topic string }
		if err := json.Unmarshal([]byte(l), &e); err != nil {
			t.Errorf("%v in %s", err, l)
		}
		if e.Event != "" {
			events[e.Event+" "+e.Cluster+"/"+e.Topic]++
		}
	}
	if at := "west/" + topic; events["added "+at] == 0 || events["drained "+at] == 0 {
		t.Errorf("events: %v", events)
	}
	t.Logf("told: %q", r.stderr)
	q := quiet.stop()
	q.exits(t, 0)
	if len(q.stderr) > 0 {
		t.Errorf("-q tells %q", q.stderr)
	}
}
