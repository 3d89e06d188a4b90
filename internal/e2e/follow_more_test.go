//go:build kafka

package e2e

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kcm-cli/kcm/internal/kafkatest"
)

// TestStandby: a source in standby is not read; when it becomes active, it is
// read from where the command says.
func TestStandby(t *testing.T) {
	beside(t)
	rig := kafkatest.Real(t, kafkatest.Options{})
	east, west, topic := rig.Cluster("east"), rig.Cluster("west"), rig.Name("orders")
	for _, c := range []*kafkatest.Cluster{east, west} {
		c.CreateTopic(topic, 1, nil)
		put(c, topic, 0, some("r", 20)...)
	}
	text := func(more string) string {
		return only([]string{at(east), at(west)}, listed{cluster: "east", topics: []string{topic}}, listed{cluster: "west", topics: []string{topic}, more: more})
	}
	path := file(t, "kcm.yaml", text("role: standby"))
	k := start(t, []string{"-m", path, "consume", "orders", "-o", "start", "-J"})
	k.gets(patience, 20)
	k.until(5*time.Second, "a quiet time", until(time.Now().Add(500*time.Millisecond)))
	if n := k.out.count(); n != 20 {
		t.Errorf("%d records while west stands by, want 20", n)
	}
	for round := range 2 {
		edited := time.Now()
		renamed(t, path, text("role: active"))
		k.gets(5*time.Second, 40+5*round)
		k.heard(time.Second, edited, "+ west/"+topic)
		edited = time.Now()
		renamed(t, path, text("role: standby"))
		k.heard(5*time.Second, edited, "- west/"+topic)
		put(west, topic, 0, some(fmt.Sprint("s", round, "-"), 5)...)
	}
	r := k.stop()
	r.exits(t, 0)
	got := tags(t, r.stdout)
	equal(t, "west", from(place{"west", topic}, got), expect(place{"west", topic}, 0, 0, append(some("r", 20), some("s0-", 5)...)...))
	equal(t, "east", from(place{"east", topic}, got), expect(place{"east", topic}, 0, 0, some("r", 20)...))
}

// TestRetain: a position is forgotten after --retain; then a topic begins by rule
// again, and that is told.
func TestRetain(t *testing.T) {
	beside(t)
	rig := kafkatest.Real(t, kafkatest.Options{})
	c, topic, other := rig.Cluster("east"), rig.Name("orders"), rig.Name("other")
	c.CreateTopic(topic, 1, nil)
	c.CreateTopic(other, 1, nil)
	put(c, topic, 0, some("r", 10)...)
	with := only([]string{at(c)}, listed{cluster: "east", topics: []string{topic, other}})
	path := file(t, "kcm.yaml", with)
	k := start(t, []string{"-m", path, "consume", "orders", "-o", "start", "-J", "--retain", "1s"})
	k.gets(patience, 10)
	edited := time.Now()
	renamed(t, path, only([]string{at(c)}, listed{cluster: "east", topics: []string{other}}))
	gone := k.heard(5*time.Second, edited, "- east/"+topic)
	k.until(5*time.Second, "the end of --retain", until(gone.Add(2*time.Second)))
	back := time.Now()
	renamed(t, path, with)
	k.gets(5*time.Second, 20)
	k.heard(time.Second, back, "+ east/"+topic)
	r := k.stop()
	r.exits(t, 0)
	p := place{"east", topic}
	equal(t, "records", tags(t, r.stdout), append(expect(p, 0, 0, some("r", 10)...), expect(p, 0, 0, some("r", 10)...)...))
	t.Logf("told: %q", r.stderr)
}

// TestTooManyFailures to read the metadata end a run that was told so.
func TestTooManyFailures(t *testing.T) {
	beside(t)
	rig := kafkatest.Real(t, kafkatest.Options{})
	c, topic := rig.Cluster("east"), rig.Name("orders")
	c.CreateTopic(topic, 1, nil)
	put(c, topic, 0, some("r", 10)...)
	path := file(t, "kcm.yaml", only([]string{at(c)}, listed{cluster: "east", topics: []string{topic}}))
	k := start(t, []string{"-m", path, "consume", "orders", "-o", "start", "-J", "--refresh", "1s", "--max-refresh-failures", "3"})
	k.gets(patience, 10)
	edited := time.Now()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	r := k.end(15 * time.Second)
	if d := time.Since(edited); d < 2*time.Second {
		t.Errorf("ended %v after the first failure", ms(d))
	}
	if r.code == 0 {
		t.Error("exit code 0")
	}
	t.Logf("exit code %d, told: %q", r.code, r.stderr)
}

// TestABoundedRun keeps the set that it began with and says that the metadata has
// changed.
func TestABoundedRun(t *testing.T) {
	beside(t)
	rig := kafkatest.Real(t, kafkatest.Options{})
	east, west, topic := rig.Cluster("east"), rig.Cluster("west"), rig.Name("orders")
	east.CreateTopic(topic, 1, nil)
	west.CreateTopic(topic, 1, nil)
	east.ProduceWith(topic, []kgo.Opt{kgo.ProducerBatchMaxBytes(1 << 20)}, heavy(1000)...)
	put(west, topic, 0, some("r", 10)...)
	both := []string{at(east), at(west)}
	path := file(t, "kcm.yaml", only(both, listed{cluster: "east", topics: []string{topic}}))
	pr, pw, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer pr.Close()
	k := start(t, []string{"-m", path, "consume", "orders", "-e", "-f", "raw"}, into(pw))
	pw.Close()
	waitStill(t, k)
	renamed(t, path, only(both, listed{cluster: "east", topics: []string{topic}}, listed{cluster: "west", topics: []string{topic}}))
	k.until(10*time.Second, "time to see it", until(time.Now().Add(2*time.Second)))
	var out lines
	if _, err := out.readFrom(pr); err != nil {
		t.Fatal(err)
	}
	r := k.end(patience)
	r.exits(t, 0)
	for n, l := range out.all() {
		if number, _, ok := strings.Cut(l, " "); !ok || number != strconv.Itoa(n) {
			t.Fatalf("line %d: %.50q", n, l)
		}
	}
	if n := out.count(); n != 1000 {
		t.Errorf("%d records, want 1000", n)
	}
	r.says(t, 1, "metadata", "changed")
	t.Logf("told: %q", r.stderr)
}

// TestNothingIsLeftBehind by clusters that come and go: no connection, no memory,
// no work.
func TestNothingIsLeftBehind(t *testing.T) {
	rig := kafkatest.Real(t, kafkatest.Options{})
	east, west, topic := rig.Cluster("east"), rig.Cluster("west"), rig.Name("orders")
	for _, c := range []*kafkatest.Cluster{east, west} {
		c.CreateTopic(topic, 6, nil)
		put(c, topic, 0, some("r", 10)...)
	}
	list := func(c string) listed { return listed{cluster: c, topics: []string{topic}} }
	alone, whole := only([]string{at(east)}, list("east")), only([]string{at(east), at(west)}, list("east"), list("west"))
	path := file(t, "kcm.yaml", alone)
	k := start(t, []string{"-m", path, "consume", "orders", "-o", "start", "-J"})
	k.gets(patience, 10)
	round := func(n int) {
		edited := time.Now()
		renamed(t, path, whole)
		k.heard(5*time.Second, edited, "+ west/"+topic)
		put(west, topic, int32(n%6), "one more")
		k.gets(5*time.Second, 21+n)
		edited = time.Now()
		renamed(t, path, alone)
		k.heard(5*time.Second, edited, "- west/"+topic)
	}
	k.until(5*time.Second, "what has begun may end", until(time.Now().Add(time.Second)))
	few, small := len(k.connections()), int64(0)
	const rounds = 60
	for n := range rounds {
		round(n)
		if n == 5 {
			small = k.peak()
		}
	}
	t.Logf("after %d rounds: %d connections, at most %d MB; before %d, after 5 rounds %d MB", rounds, len(k.connections()), k.peak()>>20, few, small>>20)
	elsewhere := func() (n int) {
		for _, to := range k.connections() {
			if to == port(t, west.Bootstrap()) {
				n++
			}
		}
		return n
	}
	k.until(5*time.Second, "an end of all connections to west", func() bool { return elsewhere() == 0 })
	k.until(10*time.Second, "an end of all connections but the first", func() bool { return len(k.connections()) <= few })
	if k.peak() > small+(20<<20) {
		t.Errorf("memory has grown from %d to %d MB", small>>20, k.peak()>>20)
	}
	before := k.cpu()
	k.until(10*time.Second, "four seconds of nothing", until(time.Now().Add(4*time.Second)))
	if spent := k.cpu() - before; spent > 200*time.Millisecond {
		t.Errorf("4 s of waiting took %v of processor time", spent)
	}
	r := k.stop()
	r.exits(t, 0)
	if len(r.stdout) != 20+rounds {
		t.Errorf("%d records, want %d", len(r.stdout), 20+rounds)
	}
}

// TestStoppedInADrain: a drain that has to wait does not hold the end up.
func TestStoppedInADrain(t *testing.T) {
	rig := kafkatest.Real(t, kafkatest.Options{})
	c, topic, other := rig.Cluster("east"), rig.Name("tx"), rig.Name("other")
	c.CreateTopic(topic, 1, nil)
	c.CreateTopic(other, 1, nil)
	put(c, topic, 0, some("r", 5)...)
	c.Begin(topic).Produce(topic, texts("open")...)
	path := file(t, "kcm.yaml", only([]string{at(c)}, listed{cluster: "east", topics: []string{topic, other}}))
	k := start(t, []string{"-m", path, "consume", "orders", "-o", "start", "-J", "--read-committed"})
	k.gets(patience, 5)
	renamed(t, path, only([]string{at(c)}, listed{cluster: "east", topics: []string{other}}))
	put(c, other, 0, "o0")
	k.gets(5*time.Second, 6)
	k.until(5*time.Second, "a moment of draining", until(time.Now().Add(time.Second)))
	r := k.stop()
	r.exits(t, 0)
	equal(t, "records", values(t, r.stdout), append(some("r", 5), "o0"))
	t.Logf("told: %q", r.stderr)
}
