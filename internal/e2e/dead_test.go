//go:build kafka

package e2e

import (
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kcm-cli/kcm/internal/kafkatest"
)

// closedPort is an address that refuses connections.
func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// blackHole is an address that takes connections and never answers.
func blackHole(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { c.Close() })
		}
	}()
	return l.Addr().String()
}

// soon is the five seconds within which trouble is told.
const soon = 5*time.Second + ease

// TestAClusterThatIsDeadFromTheStart is told within five seconds, whatever way
// it is dead, and keeps nothing else from flowing.
func TestAClusterThatIsDeadFromTheStart(t *testing.T) {
	rig := kafkatest.Real(t, kafkatest.Options{})
	east, west := rig.Cluster("east"), rig.Cluster("west")
	topic := rig.Name("orders")
	east.CreateTopic(topic, 1, nil)
	east.Produce(topic, numbered(east, 0, 0, 50)...)
	west.CreateTopic(topic, 1, nil)
	west.Pause(west.FirstNode())
	for name, dead := range map[string]struct{ address, says string }{
		"closed port":    {closedPort(t), "refuses the connection"},
		"black hole":     {blackHole(t), "accepts the connection but never answers"},
		"stopped broker": {west.Bootstrap(), "accepts the connection but never answers"},
		"unknown host":   {"no-such-host.invalid:9092", "does not resolve"},
	} {
		t.Run(name, func(t *testing.T) {
			meta := metadata(t, "orders", topic, at(east), "dead="+dead.address)
			alone := metadata(t, "orders", topic, "dead="+dead.address)

			follow := start(t, []string{"-m", meta, "consume", "orders", "-o", "start", "-J"})
			cutShort := start(t, []string{"-m", alone, "consume", "orders", "-e", "-J"})
			ends := start(t, []string{"-m", meta, "consume", "orders", "-e", "-J", "--give-up", "3s"})
			never := start(t, []string{"-m", alone, "consume", "orders", "-J", "--give-up", "3s"})
			none := start(t, []string{"-m", alone, "consume", "orders", "-e", "-J", "--give-up", "3s"})

			follow.gets(5*time.Second, 50)
			d := follow.told(soon, "kcm: dead: ", dead.says)
			t.Logf("told %.1f s after the start", d.Seconds())
			if d > soon {
				t.Errorf("told after %v, want %v at most", d, soon)
			}
			cutShort.told(soon, dead.says)
			cutShort.stop().exits(t, 130)
			r := follow.stop()
			r.exits(t, 0)
			r.says(t, 1, "kcm: dead: ", dead.says)
			equal(t, "east", values(t, r.stdout), counted(east, 0, 50))

			r = ends.end(patience)
			r.exits(t, 3)
			equal(t, "east", values(t, r.stdout), counted(east, 0, 50))
			r.says(t, 1, "partial", "dead")
			tidy(t, r)
			if r.took > 10*time.Second+ease {
				t.Errorf("gave up after %v", r.took)
			}
			for _, k := range []*kcm{never, none} {
				r = k.end(patience)
				r.exits(t, 5)
				tidy(t, r)
				if r.took > 10*time.Second+ease {
					t.Errorf("gave up after %v", r.took)
				}
			}
		})
	}
}

// tidy checks that no line of stderr is said twice and all have the form of a
// message.
func tidy(t *testing.T, r result) {
	t.Helper()
	seen := map[string]bool{}
	for _, l := range r.stderr {
		if seen[l] || !strings.HasPrefix(l, "kcm: ") {
			t.Errorf("told twice, or not in the form of a message: %q in\n%s", l, strings.Join(r.stderr, "\n"))
		}
		seen[l] = true
	}
}

// TestABrokerThatStopsAnswering is missed in a follow, and no hindrance to its
// end.
func TestABrokerThatStopsAnswering(t *testing.T) {
	rig := kafkatest.Real(t, kafkatest.Options{})
	east, west := rig.Cluster("east"), rig.Cluster("west")
	topic := rig.Name("orders")
	for _, c := range []*kafkatest.Cluster{east, west} {
		c.CreateTopic(topic, 1, nil)
		c.Produce(topic, numbered(c, 0, 0, 50)...)
	}
	meta := metadata(t, "orders", topic, at(east), at(west))
	k := start(t, []string{"-m", meta, "consume", "orders", "-o", "start", "-J"})
	short := start(t, []string{"-m", meta, "consume", "orders", "-o", "start", "-J"})
	for _, k := range []*kcm{k, short} {
		k.gets(patience, 100)
	}
	west.Pause(west.FirstNode())
	paused := time.Now()
	r := short.stop() // before anything was noticed
	r.exits(t, 0)
	k.told(20*time.Second, "kcm: west: lost")
	t.Logf("told %.1f s after it stopped answering", time.Since(paused).Seconds())
	east.Produce(topic, numbered(east, 0, 50, 50)...)
	k.gets(5*time.Second, 150)
	west.Continue(west.FirstNode())
	k.told(10*time.Second, "kcm: west: ", "back")
	west.Produce(topic, numbered(west, 0, 50, 50)...)
	k.gets(5*time.Second, 200)
	west.Pause(west.FirstNode())
	r = k.stop()
	r.exits(t, 0)
	r.says(t, 1, "west: lost")
	r.says(t, 1, "west: ", "back")
	got := values(t, r.stdout)
	equal(t, "east", of(east, 0, got), counted(east, 0, 100))
	equal(t, "west", of(west, 0, got), counted(west, 0, 100))
}

// TestAClusterLostInTheMiddle of a run with an end: what had come is whole, how
// far that went is told, and the other cluster is complete.
func TestAClusterLostInTheMiddle(t *testing.T) {
	rig := kafkatest.Real(t, kafkatest.Options{})
	for name, trouble := range map[string]func(*kafkatest.Cluster){
		"killed":  func(c *kafkatest.Cluster) { c.Kill9(c.FirstNode()) },
		"stopped": func(c *kafkatest.Cluster) { c.Pause(c.FirstNode()) },
	} {
		t.Run(name, func(t *testing.T) {
			rig := rig.With(t)
			east, west, topic := rig.Cluster("east"), rig.Cluster("west"), rig.Name("orders")
			east.CreateTopic(topic, 1, nil)
			east.Produce(topic, numbered(east, 0, 0, 50)...)
			west.CreateTopic(topic, 1, nil)
			west.ProduceWith(topic, []kgo.Opt{kgo.ProducerBatchMaxBytes(1 << 20)}, heavy(1000)...)
			pr, pw, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer pr.Close()
			k := start(t, []string{"-m", metadata(t, "orders", topic, at(east), at(west)), "consume", "orders", "-e", "-f", "raw", "--give-up", "3s"}, into(pw))
			pw.Close()
			waitStill(t, k)
			trouble(west)
			var out lines
			if _, err := out.readFrom(pr); err != nil {
				t.Fatal(err)
			}
			r := k.end(patience)
			r.exits(t, 3)
			r.figures(t, name)
			n := 0
			var others []string
			for _, l := range out.all() {
				if number, _, ok := strings.Cut(l, " "); !ok {
					others = append(others, l)
				} else if number != strconv.Itoa(n) {
					t.Fatalf("west gave %s, want %d", number, n)
				} else {
					n++
				}
			}
			equal(t, "east", others, counted(east, 0, 50))
			if n < 20 || n >= 1000 {
				t.Errorf("%d records came from west", n)
			}
			r.says(t, 1, "west: lost")
			r.says(t, 1, "west/"+topic+"/0: given up at offset "+strconv.Itoa(n)+" ")
			r.says(t, 1, "partial", "west")
			tidy(t, r)
		})
	}
}
