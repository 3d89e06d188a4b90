//go:build kafka

package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/kcm-cli/kcm/internal/kafkatest"
)

// TestTakenOutInATransaction: a drain waits for the transaction that is open; one
// that stays open is told, and what is behind it comes when the topic is back.
func TestTakenOutInATransaction(t *testing.T) {
	beside(t)
	rig := kafkatest.Real(t, kafkatest.Options{})
	for name, tc := range map[string]struct {
		args []string
		ends func(*kafkatest.Tx) // while it is drained
		told []string
		then []string // what the drain gives
		back []string // what comes after it is back
	}{
		"it stays open": {
			[]string{"--read-committed", "--drain-timeout", "3s"},
			nil,
			[]string{"not drained: 5 offsets", "behind an open transaction (producer id "},
			nil,
			[]string{"a0", "a1", "a2", "n0", "n1", "l0"},
		},
		"it is committed": {
			[]string{"--read-committed", "--drain-timeout", "30s"},
			(*kafkatest.Tx).Commit,
			[]string{"drained at"},
			[]string{"a0", "a1", "a2", "n0", "n1"},
			[]string{"l0"},
		},
		"it is aborted": {
			[]string{"--read-committed", "--drain-timeout", "30s"},
			(*kafkatest.Tx).Abort,
			[]string{"drained at"},
			[]string{"n0", "n1"},
			[]string{"l0"},
		},
		"read_uncommitted": {
			[]string{"--drain-timeout", "3s"},
			nil,
			[]string{"drained at 0:10"},
			nil,
			[]string{"l0"},
		},
		"--on-remove stop": {
			[]string{"--read-committed", "--on-remove", "stop"},
			nil,
			nil, nil,
			[]string{"a0", "a1", "a2", "n0", "n1", "l0"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rig := rig.With(t)
			c, topic, other := rig.Cluster("east"), rig.Name("tx"), rig.Name("other")
			c.CreateTopic(topic, 1, nil)
			c.CreateTopic(other, 1, nil)
			with := only([]string{at(c)}, listed{cluster: "east", topics: []string{topic, other}})
			path := file(t, "kcm.yaml", with)
			put(c, topic, 0, some("p", 5)...)
			tx := c.Begin(topic)
			tx.Produce(topic, texts("a0", "a1", "a2")...)
			put(c, topic, 0, "n0", "n1")
			want := some("p", 5)
			if name == "read_uncommitted" {
				want = append(want, "a0", "a1", "a2", "n0", "n1")
			}
			k := start(t, append([]string{"-m", path, "consume", "orders", "-o", "start", "-J", "--refresh", "1s"}, tc.args...))
			k.gets(patience, len(want))
			edited := time.Now()
			renamed(t, path, only([]string{at(c)}, listed{cluster: "east", topics: []string{other}}))
			if tc.ends != nil {
				k.until(5*time.Second, "a moment of draining", until(time.Now().Add(time.Second)))
				if n := k.out.count(); n != len(want) {
					t.Errorf("%d records before the transaction ended, want %d", n, len(want))
				}
				tc.ends(tx)
			}
			want = append(want, tc.then...)
			k.gets(10*time.Second, len(want))
			told := k.heard(15*time.Second, edited, append(tc.told, "east/"+topic)...)
			t.Logf("told %.1f s after the edit: %q", told.Sub(edited).Seconds(), k.err.all())
			if tc.ends == nil {
				tx.Commit()
			}
			put(c, topic, 0, "l0")
			put(c, other, 0, "o0")
			k.gets(5*time.Second, len(want)+1)
			renamed(t, path, with)
			want = append(want, tc.back...)
			k.gets(10*time.Second, len(want)+1)
			k.until(5*time.Second, "a quiet time", until(time.Now().Add(500*time.Millisecond)))
			r := k.stop()
			r.exits(t, 0)
			var got []string
			for _, l := range r.stdout {
				if p := parse(t, []byte(l)); p.Topic == topic {
					got = append(got, p.text(t))
				}
			}
			equal(t, "records", got, want)
		})
	}
}

// TestDraining: a source that is marked so is read until it is quiet, whether
// the run knew it before or not.
func TestDraining(t *testing.T) {
	beside(t)
	rig := kafkatest.Real(t, kafkatest.Options{})
	for _, name := range []string{"marked later", "from the start"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rig := rig.With(t)
			east, west, topic := rig.Cluster("east"), rig.Cluster("west"), rig.Name("orders")
			for _, c := range []*kafkatest.Cluster{east, west} {
				c.CreateTopic(topic, 1, nil)
				put(c, topic, 0, some("r", 20)...)
			}
			text := func(more string) string {
				return only([]string{at(east), at(west)}, listed{cluster: "east", topics: []string{topic}, more: more}, listed{cluster: "west", topics: []string{topic}})
			}
			path := file(t, "kcm.yaml", text(""))
			if name == "from the start" {
				renamed(t, path, text("role: draining"))
			}
			k := start(t, []string{"-m", path, "consume", "orders", "-o", "start", "-J", "--refresh", "4s"})
			k.gets(patience, 40)
			edited := k.began
			if name != "from the start" {
				edited = time.Now()
				renamed(t, path, text("role: draining"))
			}
			n := 20
			for range 10 { // never quiet for four seconds
				k.until(5*time.Second, "a moment", until(time.Now().Add(500*time.Millisecond)))
				put(east, topic, 0, fmt.Sprint("r", n))
				n++
				k.gets(4*time.Second, n+20)
			}
			last := time.Now()
			gone := k.heard(10*time.Second, edited, "- east/"+topic)
			d := gone.Sub(last)
			t.Logf("detached %v after the last record", ms(d))
			if d < 3*time.Second || d > 5*time.Second+ease {
				t.Errorf("detached %v after the last record, want the 4s of --refresh", ms(d))
			}
			put(west, topic, 0, "r20")
			k.gets(5*time.Second, n+21)
			r := k.stop()
			r.exits(t, 0)
			got := tags(t, r.stdout)
			equal(t, "east", from(place{"east", topic}, got), expect(place{"east", topic}, 0, 0, some("r", n)...))
			equal(t, "west", from(place{"west", topic}, got), expect(place{"west", topic}, 0, 0, some("r", 21)...))
			t.Logf("told: %q", r.stderr)
		})
	}
}

// TestTakenOutSoonAfterItWasMade: the drain of a topic that has only just been
// found reads all of its partitions out.
func TestTakenOutSoonAfterItWasMade(t *testing.T) {
	beside(t)
	rig := kafkatest.Real(t, kafkatest.Options{})
	c, stays := rig.Cluster("east"), rig.Name("stays")
	c.CreateTopic(stays, 1, nil)
	s, g := write(t, c, 1000, 1_000_000), newLedger()
	s.add(stays, 1)
	text := func(topics ...string) string { return only([]string{at(c)}, listed{cluster: "east", topics: topics}) }
	path := file(t, "kcm.yaml", text(stays))
	k := start(t, []string{"-m", path, "consume", "orders", "-o", "start", "-J", "--refresh", "200ms"}, each(g.take))
	k.gets(patience, 100)
	const rounds, partitions = 10, 4
	for round := range rounds {
		topic := rig.Name(fmt.Sprint("new", round))
		renamed(t, path, text("/"+stays+"|"+topic+"/"))
		made := time.Now()
		c.CreateTopic(topic, partitions, nil)
		created := time.Now()
		s.add(topic, partitions)
		found := k.heard(10*time.Second, made, "+ east/"+topic)
		k.until(5*time.Second, "a moment", until(time.Now().Add(time.Duration(round)*150*time.Millisecond)))
		had, edited := s.acked()[place{"east", topic}], time.Now()
		renamed(t, path, text(stays))
		k.heard(10*time.Second, edited, "- east/"+topic)
		k.until(5*time.Second, "a moment", until(time.Now().Add(200*time.Millisecond)))
		var got []int64
		for p := range partitions {
			got = append(got, g.next(fmt.Sprintf("orders@east/%s/%d", topic, p)))
			if got[p] < had[p] {
				t.Errorf("round %d: partition %d had %d records when it was taken out, and %d came", round, p, had[p], got[p])
			}
		}
		t.Logf("round %d: made in %v, found %v later; had %v, drained at %v", round, ms(created.Sub(made)), ms(found.Sub(created)), had, got)
	}
	s.stopped()
	r := k.stop()
	r.exits(t, 0)
	g.check(t)
	if t.Failed() {
		for _, l := range k.err.since(time.Time{}) {
			t.Logf("%.2f s: %s", l.at.Sub(k.began).Seconds(), l.text)
		}
	}
}
