//go:build kafka

package e2e

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/kcm-cli/kcm/internal/kafkatest"
)

// TestAPipeThatIsClosedInAGroup: nothing is committed that its reader has not
// taken, and the next run goes on there.
func TestAPipeThatIsClosedInAGroup(t *testing.T) {
	rig := kafkatest.Real(t, kafkatest.Options{})
	c := rig.Cluster("east")
	topic := rig.Name("orders")
	c.CreateTopic(topic, 1, nil)
	c.Produce(topic, numbered(c, 0, 0, 100_000)...)
	for name, take := range map[string]int{"at once": 1, "some": 5_000, "much": 300_000} {
		t.Run(name, func(t *testing.T) {
			group := rig.With(t).Name("g")
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			k := start(t, []string{"consume", "-b", c.Bootstrap(), topic, "-g", group, "-o", "start", "-f", `%v\n`}, into(w))
			w.Close()
			taken := make([]byte, take)
			if _, err := io.ReadFull(r, taken); err != nil {
				t.Fatal(err)
			}
			time.Sleep(1500 * time.Millisecond) // for the commits that come every second
			r.Close()
			at := time.Now()
			res := k.end(10 * time.Second)
			res.exits(t, 0)
			if d := k.ended.Sub(at); d > 2*time.Second+ease {
				t.Errorf("it ended %v after the pipe was closed", d)
			}
			whole := int64(bytes.Count(taken, []byte("\n")))
			if n := c.Committed(group, topic, 0); max(n, 0) != whole {
				t.Errorf("%d lines were taken, the commit is %d", whole, n)
			}
			next := run(t, []string{"consume", "-b", c.Bootstrap(), topic, "-g", group, "-e", "-f", `%v\n`})
			next.exits(t, 0)
			equal(t, "the rest", next.stdout, counted(c, 0, 100_000)[whole:])
		})
	}
}

// TestAnInterruptInAGroup commits exactly what has been printed.
func TestAnInterruptInAGroup(t *testing.T) {
	beside(t)
	rig := kafkatest.Real(t, kafkatest.Options{})
	east, west := rig.Cluster("east"), rig.Cluster("west")
	topic, group := rig.Name("orders"), rig.Name("g")
	var scribes []*scribe
	for _, c := range []*kafkatest.Cluster{east, west} {
		c.CreateTopic(topic, 3, nil)
		s := write(t, c, 3000, 1_000_000)
		s.add(topic, 3)
		scribes = append(scribes, s)
	}
	g := newLedger()
	args := []string{"-m", metadata(t, "orders", topic, at(east), at(west)), "consume", "orders", "-g", group, "-o", "start", "-J"}
	for range 4 {
		k := start(t, args, each(g.take))
		k.gets(20*time.Second, 2000+rand.IntN(3000))
		k.stop().exits(t, 0)
		for _, c := range []*kafkatest.Cluster{east, west} {
			for p := range 3 {
				if printed, at := g.next(fmt.Sprintf("orders@%s/%s/%d", c.Name(), topic, p)), c.Committed(group, topic, int32(p)); printed != max(at, 0) {
					t.Errorf("%s, partition %d: %d printed, %d committed", c.Name(), p, printed, at)
				}
			}
		}
	}
	for _, s := range scribes {
		s.stopped()
	}
	run(t, append(args, "-e"), each(g.take)).exits(t, 0)
	g.check(t)
	for _, s := range scribes {
		for p, n := range s.acked()[place{s.c.Name(), topic}] {
			if got := g.next(fmt.Sprintf("orders@%s/%s/%d", s.c.Name(), topic, p)); got != n {
				t.Errorf("%s, partition %d: %d of %d records", s.c.Name(), p, got, n)
			}
		}
	}
}

// TestMembersThatAreKilled at any moment lose nothing: what a file has collected
// of all of them has every record.
func TestMembersThatAreKilled(t *testing.T) {
	beside(t)
	rig := kafkatest.Real(t, kafkatest.Options{})
	kills := 5
	if os.Getenv("KCM_SOAK") == "1" {
		kills = 50
	}
	for name, tc := range map[string]struct {
		kills int
		args  []string
	}{
		"with a name":    {kills, []string{"-X", "group.instance.id=one"}}, // the next one need not wait for the end of the session
		"without a name": {(kills + 4) / 5, []string{"-X", "session.timeout.ms=6000"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rig := rig.With(t)
			c := rig.Cluster("east")
			topic, group := rig.Name("orders"), rig.Name("g")
			c.CreateTopic(topic, 3, nil)
			s := write(t, c, 5000, 10_000_000)
			s.add(topic, 3)
			path := filepath.Join(t.TempDir(), "collected")
			out, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
			if err != nil {
				t.Fatal(err)
			}
			defer out.Close()
			size := func() int64 {
				info, err := out.Stat()
				if err != nil {
					t.Fatal(err)
				}
				return info.Size()
			}
			args := append([]string{"consume", "-b", c.Bootstrap(), topic, "-g", group, "-o", "start", "-f", `%v\n`}, tc.args...)
			for range tc.kills {
				before := size()
				k := start(t, args, into(out))
				k.until(30*time.Second, "records", func() bool { return size() > before })
				time.Sleep(time.Duration(rand.IntN(2500)) * time.Millisecond)
				k.signal(syscall.SIGKILL)
				<-k.done
			}
			s.stopped()
			run(t, append(args, "-e"), into(out)).exits(t, 0)
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			p, n := newPool(), 0
			for line := range bytes.Lines(text) {
				p.take(bytes.TrimSuffix(line, []byte("\n")))
				n++
			}
			p.holds(t, s)
			t.Logf("%d kills: %d lines for %d records", tc.kills, n, s.total())
		})
	}
}

// TestATopicMadeAgainInAGroup: its old position is never the new one's.
func TestATopicMadeAgainInAGroup(t *testing.T) {
	beside(t)
	rig := kafkatest.Real(t, kafkatest.Options{})
	for _, protocol := range []string{"classic", "consumer"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			rig := rig.With(t)
			c, topic, flowing, group := rig.Cluster("east"), rig.Name("again"), rig.Name("other"), rig.Name("g")
			c.CreateTopic(topic, 1, nil)
			c.CreateTopic(flowing, 1, nil)
			args := []string{
				"-m", file(t, "kcm.yaml", only([]string{at(c)}, listed{cluster: "east", topics: []string{topic, flowing}})),
				"consume", "orders", "-J", "-g", group, "-o", "start", "--refresh", "1s", "--group-protocol", protocol,
			}
			k := start(t, args)
			put(c, flowing, 0, some("first", 1)...)
			put(c, topic, 0, some("old", 100)...)
			k.gets(20*time.Second, 101)
			for c.Committed(group, topic, 0) != 100 {
				time.Sleep(20 * time.Millisecond)
			}
			gone := time.Now()
			c.DeleteTopic(topic)
			put(c, flowing, 0, some("between", 10)...)
			c.CreateTopic(topic, 1, nil)
			put(c, topic, 0, some("new", 5)...)
			put(c, flowing, 0, some("after", 10)...)
			k.gets(30*time.Second, 126)
			t.Logf("the new topic's records came %.1f s after the deletion began", time.Since(gone).Seconds())
			r := k.stop()
			r.exits(t, 0)
			equal(t, "the topic", from(place{"east", topic}, tags(t, r.stdout)),
				append(expect(place{"east", topic}, 0, 0, some("old", 100)...), expect(place{"east", topic}, 0, 0, some("new", 5)...)...))
			if n := c.Committed(group, topic, 0); n != 5 {
				t.Errorf("the new topic is committed at %d, want 5; told:\n%s", n, strings.Join(r.stderr, "\n"))
			}
			if n := c.Committed(group, flowing, 0); n != 21 {
				t.Errorf("the other topic is committed at %d, want 21", n)
			}
			next := run(t, append(args, "-e"))
			next.exits(t, 0)
			equal(t, "the next run", next.stdout, nil)
		})
	}
}

// TestACoordinatorThatMoves while records flow: nothing is lost, and what is
// committed at the end is what was printed.
func TestACoordinatorThatMoves(t *testing.T) {
	beside(t)
	rig := kafkatest.Real(t, kafkatest.Options{})
	c := rig.Cluster("three")
	topic := rig.Name("orders")
	c.CreateTopic(topic, 6, nil)
	s := write(t, c, 1000, 10_000_000)
	s.add(topic, 6)
	var runs []*kcm
	groups := map[string]string{}
	p := map[string]*pool{}
	for _, protocol := range []string{"classic", "consumer"} {
		group := rig.Name(protocol)
		groups[protocol], p[protocol] = group, newPool()
		k := start(t, []string{"consume", "-b", c.Bootstrap(), topic, "-g", group, "-o", "start", "--group-protocol", protocol, "-f", `%v\n`}, each(p[protocol].take))
		k.gets(30*time.Second, 500)
		runs = append(runs, k)
	}
	moves := []string{"classic"}
	if os.Getenv("KCM_SOAK") == "1" {
		moves = append(moves, "consumer")
	}
	for _, protocol := range moves {
		res := c.Admin().FindGroupCoordinators(t.Context(), groups[protocol])
		node := res[groups[protocol]].NodeID
		c.Kill9(node)
		time.Sleep(3 * time.Second)
		c.Restart(node)
		for _, k := range runs {
			k.gets(60*time.Second, k.out.count()+1000)
		}
	}
	s.stopped()
	for i, protocol := range []string{"classic", "consumer"} {
		k, mine := runs[i], p[protocol]
		k.until(60*time.Second, "the last record", func() bool { n, _ := mine.distinct(); return n == s.total() })
		k.stop().exits(t, 0)
		mine.holds(t, s)
		_, again := mine.distinct()
		t.Logf("%s: %d records, %d more than once; told:\n%s", protocol, s.total(), again, strings.Join(k.err.all(), "\n"))
		for partition, n := range s.acked()[place{c.Name(), topic}] {
			if at := c.Committed(groups[protocol], topic, int32(partition)); at != n {
				t.Errorf("%s: partition %d is committed at %d, want %d", protocol, partition, at, n)
			}
		}
	}
}

// TestAGroupThatMayNotBeUsed is exit code 4, beside a cluster that allows it 3.
func TestAGroupThatMayNotBeUsed(t *testing.T) {
	rig := kafkatest.Real(t, kafkatest.Options{})
	c := rig.Cluster("east")
	topic, shut, later := rig.Name("orders"), rig.Name("shut"), rig.Name("later")
	c.CreateTopic(topic, 1, nil)
	c.Produce(topic, numbered(c, 0, 0, 10)...)
	principal := "User:" + kafkatest.AppUser
	deny := func(group string) {
		c.CreateACLs(kadm.NewACLs().Deny(principal).Groups(group).Operations(kadm.OpRead, kadm.OpDescribe).ResourcePatternType(kadm.ACLPatternLiteral))
	}
	deny(shut)
	args := accesses(c, kafkatest.AppUser, kafkatest.AppPassword)["SCRAM-SHA-512"].forms(t, c, topic)["metadata"]
	for _, flags := range [][]string{{"-e"}, nil} {
		r := run(t, append(append(args, "consume", "s0", "-J", "-o", "start", "-g", shut), flags...))
		r.exits(t, 4)
		r.says(t, 1, "kcm: east: not authorized to use the group "+shut)
		equal(t, "stdout", r.stdout, nil)
		if r.took > 5*time.Second+ease {
			t.Errorf("%v took %v", flags, r.took)
		}
	}
	// What is forbidden while it runs is told as soon as the group is asked.
	k := start(t, append(args, "consume", "s0", "-J", "-o", "start", "-g", later))
	k.gets(20*time.Second, 10)
	deny(later)
	r := k.end(20 * time.Second)
	if r.code == 0 {
		t.Error("exit code 0")
	}
	r.says(t, 1, "kcm: east: not authorized to use the group "+later)
	t.Logf("exit code %d, told: %q", r.code, r.stderr)
}

// TestAMemberThatWasAsleep for longer than its session: others have read on
// meanwhile, it learns that it is no member any more, and spoils no commit.
func TestAMemberThatWasAsleep(t *testing.T) {
	beside(t)
	rig := kafkatest.Real(t, kafkatest.Options{})
	c := rig.Cluster("east")
	topic, group := rig.Name("orders"), rig.Name("g")
	c.CreateTopic(topic, 4, nil)
	s := write(t, c, 1000, 10_000_000)
	s.add(topic, 4)
	p := newPool()
	args := []string{"consume", "-b", c.Bootstrap(), topic, "-g", group, "-o", "start", "-f", `%v\n`, "-X", "session.timeout.ms=6000", "-X", "heartbeat.interval.ms=1000"}
	a := start(t, args, each(p.take))
	a.gets(20*time.Second, 500)
	b := start(t, args, each(p.take))
	b.gets(20*time.Second, 500)
	a.signal(syscall.SIGSTOP)
	members(t, c, group, 1) // its session is over
	b.gets(30*time.Second, b.out.count()+5000)
	a.signal(syscall.SIGCONT)
	a.told(15*time.Second, "group "+group+" has lost this run")
	a.gets(30*time.Second, a.out.count()+500)
	s.stopped()
	b.until(30*time.Second, "the last record", func() bool { n, _ := p.distinct(); return n == s.total() })
	a.stop().exits(t, 0)
	b.stop().exits(t, 0)
	p.holds(t, s)
	_, again := p.distinct()
	t.Logf("%d records, %d of them more than once; told the sleeper: %q", s.total(), again, a.err.all())
	for partition, n := range s.acked()[place{c.Name(), topic}] {
		if at := c.Committed(group, topic, int32(partition)); at != n {
			t.Errorf("partition %d is committed at %d, want %d", partition, at, n)
		}
	}
}
