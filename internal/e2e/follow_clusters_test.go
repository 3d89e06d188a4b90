//go:build kafka

package e2e

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/kcm-cli/kcm/internal/kafkatest"
)

// countedHole is a blackHole that counts who comes.
func countedHole(t *testing.T) (address string, dials *atomic.Int64) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	dials = new(atomic.Int64)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			dials.Add(1)
			t.Cleanup(func() { c.Close() })
		}
	}()
	return l.Addr().String(), dials
}

// TestADeadClusterIsTakenOut while another is put in: that one comes at once, the
// dead one is told of and let alone, and nothing else pauses.
func TestADeadClusterIsTakenOut(t *testing.T) {
	rig := kafkatest.Real(t, kafkatest.Options{})
	for _, name := range []string{"a closed port", "a black hole", "a stopped broker"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rig := rig.With(t)
			c1, c3, south := rig.Cluster("east"), rig.Cluster("west"), rig.Cluster("south")
			topic := rig.Name("orders")
			c1.CreateTopic(topic, 1, nil)
			c3.CreateTopic(topic, 1, nil)
			for n := range 5 {
				put(c3, topic, 0, fmt.Sprintf("west/%s/0/%d", topic, n))
			}
			address, dials := closedPort(t), new(atomic.Int64)
			switch name {
			case "a black hole":
				address, dials = countedHole(t)
			case "a stopped broker":
				address = south.Bootstrap()
				south.CreateTopic(topic, 1, nil)
				put(south, topic, 0, fmt.Sprintf("dead/%s/0/0", topic))
			}
			s := write(t, c1, 200, 1_000_000)
			s.add(topic, 1)
			list := func(c string) listed { return listed{cluster: c, topics: []string{topic}} }
			path := file(t, "kcm.yaml", only([]string{at(c1), "dead=" + address}, list("east"), list("dead")))
			g := newLedger()
			k := start(t, []string{"-m", path, "consume", "orders", "-o", "start", "-J"}, each(g.take))
			k.gets(patience, 200)
			if name == "a stopped broker" {
				k.until(10*time.Second, "its record", func() bool { return g.next("orders@dead/"+topic+"/0") == 1 })
				south.Pause(south.FirstNode())
				defer south.Continue(south.FirstNode())
				k.until(10*time.Second, "more records", until(time.Now().Add(time.Second))) // in which it is not missed yet
			} else {
				k.told(soon, "kcm: dead: ")
			}
			edited := time.Now()
			renamed(t, path, only([]string{at(c1), at(c3)}, list("east"), list("west")))
			k.until(5*time.Second, "the new cluster", func() bool { return g.next("orders@west/"+topic+"/0") > 0 })
			if d := time.Since(edited); d > 2*time.Second+ease {
				t.Errorf("the new cluster's first record came %v after the edit", ms(d))
			} else {
				t.Logf("the new cluster's first record came %v after the edit", ms(d))
			}
			told := k.heard(10*time.Second, edited, "- dead")
			t.Logf("its removal was told %v after the edit: %q", ms(told.Sub(edited)), k.err.all())
			gone := dials.Load()
			k.until(20*time.Second, "a quiet time", until(time.Now().Add(4*time.Second)))
			if n := dials.Load(); n != gone {
				t.Errorf("%d dials to a cluster that is not in the metadata", n-gone)
			}
			if d := g.widest("orders@east/"+topic+"/0", span{edited, time.Now()}); d > 3*time.Second {
				t.Errorf("east paused for %v", ms(d))
			}
			s.stopped()
			n := s.acked()[place{"east", topic}][0]
			k.until(10*time.Second, "all of east", func() bool { return g.next("orders@east/"+topic+"/0") == n })
			r := k.stop()
			r.exits(t, 0)
			g.check(t)
			r.says(t, 1, "+ west/"+topic)
		})
	}
}

// TestOutAndBack: what was written while a cluster or a topic was out comes when
// it is back, once, and nothing before it again.
func TestOutAndBack(t *testing.T) {
	beside(t)
	rig := kafkatest.Real(t, kafkatest.Options{})
	east, west, topic, second := rig.Cluster("east"), rig.Cluster("west"), rig.Name("orders"), rig.Name("second")
	for _, c := range []*kafkatest.Cluster{east, west} {
		c.CreateTopic(topic, 1, nil)
		c.CreateTopic(second, 1, nil)
		put(c, topic, 0, some("r", 100)...)
		put(c, second, 0, some("r", 100)...)
	}
	both := []string{at(east), at(west)}
	whole := only(both, listed{cluster: "east", topics: []string{topic, second}}, listed{cluster: "west", topics: []string{topic, second}})
	path := file(t, "kcm.yaml", whole)
	k := start(t, []string{"-m", path, "consume", "orders", "-o", "start", "-J"})
	k.gets(patience, 400)
	for _, tc := range []struct {
		name, without string
		out           []place
	}{
		{"a cluster", only(both, listed{cluster: "east", topics: []string{topic, second}}), []place{{"west", topic}, {"west", second}}},
		{"a topic", only(both, listed{cluster: "east", topics: []string{topic}}, listed{cluster: "west", topics: []string{topic, second}}), []place{{"east", second}}},
	} {
		edited, before := time.Now(), k.out.count()
		renamed(t, path, tc.without)
		for _, p := range tc.out {
			k.heard(5*time.Second, edited, "- "+p.String(), "drained at 0:100")
			c := east
			if p.cluster == "west" {
				c = west
			}
			put(c, p.topic, 0, some("late", 20)...)
		}
		k.until(5*time.Second, "a quiet time", until(time.Now().Add(time.Second)))
		if n := k.out.count(); n != before {
			t.Errorf("%s: %d records came while it was out", tc.name, n-before)
		}
		back := time.Now()
		renamed(t, path, whole)
		k.gets(5*time.Second, before+20*len(tc.out))
		for _, p := range tc.out {
			k.heard(time.Second, back, "+ "+p.String())
		}
	}
	r := k.stop()
	r.exits(t, 0)
	got := tags(t, r.stdout)
	for _, p := range []place{{"east", topic}, {"east", second}, {"west", topic}, {"west", second}} {
		want := some("r", 100)
		if p != (place{"east", topic}) {
			want = append(want, some("late", 20)...)
		}
		equal(t, p.String(), from(p, got), expect(p, 0, 0, want...))
	}
}

// TestFlaps: ten edits in five seconds take a cluster out and put it back while
// it is written to.
func TestFlaps(t *testing.T) {
	beside(t)
	rig := kafkatest.Real(t, kafkatest.Options{})
	east, west, topic := rig.Cluster("east"), rig.Cluster("west"), rig.Name("orders")
	for _, c := range []*kafkatest.Cluster{east, west} {
		c.CreateTopic(topic, 2, nil)
	}
	list := func(c string) listed { return listed{cluster: c, topics: []string{topic}} }
	whole := only([]string{at(east), at(west)}, list("east"), list("west"))
	path, g := file(t, "kcm.yaml", whole), newLedger()
	k := start(t, []string{"-m", path, "consume", "orders", "-o", "start", "-J"}, each(g.take))
	var scribes []*scribe
	for _, c := range []*kafkatest.Cluster{east, west} {
		s := write(t, c, 200, 1000)
		s.add(topic, 2)
		scribes = append(scribes, s)
	}
	k.gets(patience, 50)
	for i := range 10 {
		if i%2 == 0 {
			renamed(t, path, only([]string{at(east)}, list("east")))
		} else {
			renamed(t, path, whole)
		}
		k.until(5*time.Second, "the next edit", until(time.Now().Add(500*time.Millisecond)))
	}
	for _, s := range scribes {
		s.finished()
		for n, want := range s.acked()[place{s.c.Name(), topic}] {
			split := fmt.Sprintf("orders@%s/%s/%d", s.c.Name(), topic, n)
			k.until(10*time.Second, fmt.Sprintf("%d records of %s", want, split), func() bool { return g.next(split) == want })
		}
	}
	r := k.stop()
	r.exits(t, 0)
	g.check(t)
	t.Logf("told:\n%s", strings.Join(r.stderr, "\n"))
}

// TestAnotherListenerOfTheSameCluster is gone over to in the middle of reading.
func TestAnotherListenerOfTheSameCluster(t *testing.T) {
	rig := kafkatest.Real(t, kafkatest.Options{})
	c, topic := rig.Cluster("east"), rig.Name("orders")
	c.CreateTopic(topic, 3, nil)
	certs := c.Certificates()
	sasl := fmt.Sprintf("sasl: {mechanism: SCRAM-SHA-512, username: %s, password: %s}", kafkatest.AppUser, kafkatest.AppPassword)
	path, g := "", newLedger()
	text := func(l kafkatest.Listener, members ...string) string {
		all := strings.Join(append([]string{fmt.Sprintf("bootstrap: %q", c.BootstrapFor(l))}, members...), ", ")
		return only([]string{"east={" + all + "}"}, listed{cluster: "east", topics: []string{topic}})
	}
	path = file(t, "kcm.yaml", text(kafkatest.Plaintext))
	k := start(t, []string{"-m", path, "consume", "orders", "-o", "start", "-J"}, each(g.take))
	s := write(t, c, 600, 1_000_000)
	s.add(topic, 3)
	k.gets(patience, 200)
	for name, next := range map[string]string{
		"TLS":  text(kafkatest.TLS, fmt.Sprintf("tls: {ca: %q}", certs.CA)),
		"SASL": text(kafkatest.SASL, sasl),
		"both": text(kafkatest.SASLTLS, sasl, fmt.Sprintf("tls: {ca: %q}", certs.CA)),
	} {
		before, edited := k.sockets(), time.Now()
		renamed(t, path, next)
		k.until(10*time.Second, "new connections only", func() bool { return apart(before, k.sockets()) })
		n := k.out.count()
		k.gets(5*time.Second, n+200)
		var widest time.Duration
		for p := range 3 {
			widest = max(widest, g.widest(fmt.Sprintf("orders@east/%s/%d", topic, p), span{edited, time.Now()}))
		}
		t.Logf("%s: the longest pause was %v", name, ms(widest))
	}
	s.stopped()
	for p, n := range s.acked()[place{"east", topic}] {
		split := fmt.Sprintf("orders@east/%s/%d", topic, p)
		k.until(10*time.Second, split, func() bool { return g.next(split) == n })
	}
	r := k.stop()
	r.exits(t, 0)
	g.check(t)
	t.Logf("told: %q", r.stderr)
}

// apart reports whether the process has sockets, and none of those before.
func apart(before, now map[string]bool) bool {
	for inode := range now {
		if before[inode] {
			return false
		}
	}
	return len(now) > 0
}

// TestAnotherClusterUnderTheName is told, and begun by rule instead of at
// positions that are another cluster's.
func TestAnotherClusterUnderTheName(t *testing.T) {
	rig := kafkatest.Real(t, kafkatest.Options{})
	east, west, topic := rig.Cluster("east"), rig.Cluster("west"), rig.Name("orders")
	for _, c := range []*kafkatest.Cluster{east, west} {
		c.CreateTopic(topic, 1, nil)
	}
	put(east, topic, 0, some("old", 100)...)
	put(west, topic, 0, some("new", 130)...)
	one := listed{cluster: "c", topics: []string{topic}}
	path := file(t, "kcm.yaml", only([]string{"c=" + east.Bootstrap()}, one))
	k := start(t, []string{"-m", path, "consume", "orders", "-o", "start", "-J"})
	k.gets(patience, 100)
	edited := time.Now()
	renamed(t, path, only([]string{"c=" + west.Bootstrap()}, one))
	k.gets(10*time.Second, 230)
	k.heard(time.Second, edited, "c")
	put(west, topic, 0, "new130")
	k.gets(5*time.Second, 231)
	r := k.stop()
	r.exits(t, 0)
	p := place{"c", topic}
	equal(t, "records", tags(t, r.stdout), append(expect(p, 0, 0, some("old", 100)...), expect(p, 0, 0, some("new", 131)...)...))
	t.Logf("told: %q", r.stderr)
	if !slices.ContainsFunc(r.stderr, func(l string) bool {
		return strings.Contains(l, "cluster id") || strings.Contains(l, "another cluster")
	}) {
		t.Error("nothing says that it is another cluster")
	}
}

// TestAPasswordThatChanges in the file that the metadata names is taken without
// an edit of the metadata, and nothing is read twice.
func TestAPasswordThatChanges(t *testing.T) {
	rig := kafkatest.Real(t, kafkatest.Options{})
	c, topic, user := rig.Cluster("south"), rig.Name("orders"), rig.Name("user")
	c.CreateTopic(topic, 1, nil)
	password := func(word string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		done, err := c.Admin().AlterUserSCRAMs(ctx, nil, []kadm.UpsertSCRAM{{User: user, Mechanism: kadm.ScramSha256, Iterations: 4096, Password: word}})
		if err := errors.Join(err, done[user].Err); err != nil {
			t.Fatal(err)
		}
		cl, err := kgo.NewClient(kgo.SeedBrokers(c.BootstrapFor(kafkatest.SASL)), kgo.SASL(scram.Auth{User: user, Pass: word}.AsSha256Mechanism()))
		if err != nil {
			t.Fatal(err)
		}
		defer cl.Close()
		for err = cl.Ping(ctx); err != nil; err = cl.Ping(ctx) { // the broker hears of it a little later
			if ctx.Err() != nil {
				t.Fatal(err)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	password("before-1")
	secret := file(t, "password", "before-1\n")
	members := fmt.Sprintf("{bootstrap: %q, sasl: {mechanism: SCRAM-SHA-256, username: %s, password: %q}}", c.BootstrapFor(kafkatest.SASL), user, "file:"+secret)
	k := start(t, []string{
		"-m", file(t, "kcm.yaml", only([]string{"south=" + members}, listed{cluster: "south", topics: []string{topic}})),
		"consume", "orders", "-o", "start", "-J", "--refresh", "1s",
	})
	put(c, topic, 0, some("r", 50)...)
	k.gets(patience, 50)
	password("after-22")
	before := k.sockets()
	renamed(t, secret, "after-22\n")
	k.until(10*time.Second, "new connections only", func() bool { return apart(before, k.sockets()) })
	put(c, topic, 0, some("s", 50)...)
	k.gets(10*time.Second, 100)
	c.Kill9(c.FirstNode())
	k.told(15*time.Second, "kcm: south: lost")
	c.Restart(c.FirstNode())
	put(c, topic, 0, some("t", 50)...)
	k.gets(15*time.Second, 150)
	r := k.stop()
	r.exits(t, 0)
	equal(t, "records", tags(t, r.stdout), expect(place{"south", topic}, 0, 0, slices.Concat(some("r", 50), some("s", 50), some("t", 50))...))
	r.says(t, 1, "south: lost") // every broker, or the one that there is
	r.says(t, 1, "refuses the connection")
	r.says(t, 1, "south: back")
	for _, l := range append(r.stderr, r.stdout...) {
		if strings.Contains(l, "before-1") || strings.Contains(l, "after-22") {
			t.Errorf("the password is shown: %s", l)
		}
	}
	t.Logf("told: %q", r.stderr)
	if _, err := os.Stat(secret); err != nil {
		t.Error(err)
	}
}
