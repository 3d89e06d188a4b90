//go:build kafka

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kcm-cli/kcm/internal/kafkatest"
)

// tags are the values of all lines of -J with where they were read, as
// cluster/topic/partition@offset=value.
func tags(t *testing.T, stdout []string) []string {
	t.Helper()
	var list []string
	for _, l := range stdout {
		p := parse(t, []byte(l))
		list = append(list, fmt.Sprintf("%s/%s/%d@%d=%s", p.Cluster, p.Topic, p.Partition, p.Offset, p.text(t)))
	}
	return list
}

// from returns those tags that belong to a place.
func from(p place, all []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return !strings.HasPrefix(s, p.String()+"/") })
}

// expect are the tags of the values in one partition, from offset on.
func expect(p place, partition int, offset int, values ...string) []string {
	var list []string
	for i, v := range values {
		list = append(list, fmt.Sprintf("%s/%d@%d=%s", p, partition, offset+i, v))
	}
	return list
}

// some are n values.
func some(prefix string, n int) []string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf("%s%d", prefix, i))
	}
	return list
}

// put writes values to a partition.
func put(c *kafkatest.Cluster, topic string, partition int32, values ...string) {
	var list []kafkatest.Record
	for _, v := range values {
		list = append(list, kafkatest.Record{Partition: partition, Value: []byte(v)})
	}
	c.Produce(topic, list...)
}

// awake writes to a topic until a run that began at the end shows that it
// follows; what was written for that begins with "awake".
func (k *kcm) awake(c *kafkatest.Cluster, topic string) {
	k.t.Helper()
	n := 0
	k.until(patience, "the first record", func() bool {
		put(c, topic, 0, fmt.Sprintf("awake%d", n))
		n++
		return k.out.count() > 0
	})
	k.until(5*time.Second, "all records so far", func() bool {
		l := k.out.all()
		return len(l) > 0 && strings.Contains(l[len(l)-1], fmt.Sprintf(`"awake%d"`, n-1))
	})
}

// TestATopicMadeAgain is told, and read from its start or as the command says,
// while another topic flows.
func TestATopicMadeAgain(t *testing.T) {
	beside(t)
	rig := kafkatest.Real(t, kafkatest.Options{})
	for name, tc := range map[string]struct {
		args []string
		read bool // the new one is read
		code int
	}{
		"by default":          {nil, true, 0},
		"--on-recreate start": {[]string{"--on-recreate", "start"}, true, 0},
		"--on-recreate stop":  {[]string{"--on-recreate", "stop"}, false, 3},
		"--on-recreate fail":  {[]string{"--on-recreate", "fail"}, false, 1},
		"with a slow refresh": {[]string{"--refresh", "1h"}, true, 0},
		"more than it had":    {nil, true, 0},
		"from the end":        {[]string{"-o", "end"}, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			rig := rig.With(t)
			c, topic, other := rig.Cluster("east"), rig.Name("again"), rig.Name("other")
			c.CreateTopic(topic, 1, nil)
			c.CreateTopic(other, 1, nil)
			args := []string{"-m", file(t, "kcm.yaml", only([]string{at(c)}, listed{cluster: "east", topics: []string{topic, other}})), "consume", "orders", "-J"}
			if !slices.Contains(tc.args, "end") {
				args = append(args, "-o", "start")
			}
			if !slices.Contains(tc.args, "--refresh") {
				args = append(args, "--refresh", "1s")
			}
			k := start(t, append(args, tc.args...))
			k.awake(c, other)
			before := k.out.count()
			put(c, topic, 0, some("old", 100)...)
			k.gets(patience, before+100)
			gone := time.Now()
			c.DeleteTopic(topic)
			put(c, other, 0, some("between", 10)...)
			c.CreateTopic(topic, 1, nil)
			fresh := some("new", 5)
			if name == "more than it had" {
				fresh = some("new", 150)
			}
			put(c, topic, 0, fresh...)
			k.heard(30*time.Second, gone, "east/"+topic, "made again")
			want := append(expect(place{"east", topic}, 0, 0, some("old", 100)...), expect(place{"east", topic}, 0, 0, fresh...)...)
			if tc.read {
				k.gets(30*time.Second, before+110+len(fresh))
				t.Logf("the new topic's first records came %.1f s after the deletion began", time.Since(gone).Seconds())
			} else {
				want = want[:100]
			}
			if tc.code == 1 {
				r := k.end(15 * time.Second)
				r.exits(t, 1)
				equal(t, "the topic", from(place{"east", topic}, tags(t, r.stdout)), want)
				return
			}
			now := k.out.count()
			put(c, other, 0, some("after", 10)...)
			k.gets(5*time.Second, max(now+10, before+120))
			r := k.stop()
			r.exits(t, tc.code)
			equal(t, "the topic", from(place{"east", topic}, tags(t, r.stdout)), want)
			t.Logf("told: %q", r.stderr)
		})
	}
}

// TestPartitionsAdded to a topic are read from their start, at whatever the run
// began.
func TestPartitionsAdded(t *testing.T) {
	beside(t)
	rig := kafkatest.Real(t, kafkatest.Options{})
	for name, args := range map[string][]string{
		"metadata": {"-m"}, "-b": {"-b"}, "from the start": {"-m", "-o", "start"},
	} {
		t.Run(name, func(t *testing.T) {
			rig := rig.With(t)
			c, topic := rig.Cluster("east"), rig.Name("wider")
			c.CreateTopic(topic, 1, nil)
			all := []string{"-m", metadata(t, "orders", topic, at(c)), "consume", "orders", "-J", "--refresh", "1s"}
			if args[0] == "-b" {
				all = []string{"-b", "east=" + c.Bootstrap(), "consume", topic, "-J", "--refresh", "1s"}
			}
			k := start(t, append(all, args[1:]...))
			k.awake(c, topic)
			before := k.out.count()
			added := time.Now()
			c.AddPartitions(topic, 3)
			put(c, topic, 1, some("a", 5)...)
			put(c, topic, 2, some("b", 5)...)
			k.gets(10*time.Second, before+10)
			t.Logf("the first records came %.1f s after the partitions", time.Since(added).Seconds())
			put(c, topic, 1, some("c", 5)...)
			put(c, topic, 2, some("d", 5)...)
			put(c, topic, 0, "last")
			k.gets(5*time.Second, before+21)
			k.heard(time.Second, added, "+ east/"+topic)
			r := k.stop()
			r.exits(t, 0)
			p, got := place{"east", topic}, tags(t, r.stdout)
			for n, want := range map[int][]string{1: append(some("a", 5), some("c", 5)...), 2: append(some("b", 5), some("d", 5)...)} {
				equal(t, fmt.Sprint("partition ", n), from(place{"east", fmt.Sprintf("%s/%d@", topic, n)}, slashed(got)), slashed(expect(p, n, 0, want...)))
			}
		})
	}
}

// slashed lets from select a partition.
func slashed(list []string) []string {
	var out []string
	for _, s := range list {
		out = append(out, strings.Replace(s, "@", "@/", 1))
	}
	return out
}

// TestAFileReplacedEveryWay: each version adds a topic, which comes within two
// seconds; a file that is away for a while changes nothing.
func TestAFileReplacedEveryWay(t *testing.T) {
	beside(t)
	rig := kafkatest.Real(t, kafkatest.Options{})
	for name, tc := range map[string]struct {
		first, next func(t *testing.T, dir string, n int, text string)
		within      time.Duration
	}{
		"a Kubernetes mount": {mounted, mounted, 2 * time.Second},
		"moved over":         {plainly, func(t *testing.T, dir string, _ int, text string) { renamed(t, filepath.Join(dir, "kcm.yaml"), text) }, 2 * time.Second},
		"in place":           {plainly, plainly, 3 * time.Second},
		"away for a while": {plainly, func(t *testing.T, dir string, n int, text string) {
			if err := os.Remove(filepath.Join(dir, "kcm.yaml")); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Second) // so long is the file away
			plainly(t, dir, n, text)
		}, 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			rig := rig.With(t)
			c, dir := rig.Cluster("east"), t.TempDir()
			var topics []string
			for i := range 4 {
				topics = append(topics, rig.Name(fmt.Sprint("t", i)))
				c.CreateTopic(topics[i], 1, nil)
				put(c, topics[i], 0, some("r", 5)...)
			}
			text := func(n int) string {
				return only([]string{at(c)}, listed{cluster: "east", topics: topics[:n]})
			}
			tc.first(t, dir, 0, text(1))
			k := start(t, []string{"-m", filepath.Join(dir, "kcm.yaml"), "consume", "orders", "-o", "start", "-J", "--refresh", "1h"})
			k.gets(patience, 5)
			for n := 1; n <= 3; n++ {
				tc.next(t, dir, n, text(n+1))
				edited := time.Now()
				put(c, topics[0], 0, fmt.Sprint("r", n+4))
				k.gets(tc.within+3*time.Second, 6*(n+1)-1)
				d := k.heard(tc.within, edited.Add(-3*time.Second), "+ east/"+topics[n]).Sub(edited)
				t.Logf("version %d: told %v after it was written", n, ms(d))
				if d > tc.within+ease {
					t.Errorf("version %d: told %v after it was written", n, ms(d))
				}
			}
			r := k.stop()
			r.exits(t, 0)
			r.says(t, 0, "- east/")
			got := tags(t, r.stdout)
			for i, topic := range topics {
				n := 5
				if i == 0 {
					n = 8
				}
				equal(t, topic, from(place{"east", topic}, got), expect(place{"east", topic}, 0, 0, some("r", n)...))
			}
		})
	}
}

// plainly writes the file in place.
func plainly(t *testing.T, dir string, _ int, text string) {
	t.Helper()
	inPlace(t, filepath.Join(dir, "kcm.yaml"), text)
}

// mounted replaces the file as a kubelet does: kcm.yaml is a link into the
// directory that the link ..data stands for, and that link is replaced.
func mounted(t *testing.T, dir string, n int, text string) {
	t.Helper()
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	of := func(n int) string { return fmt.Sprintf("..2026_%d", n) }
	must(os.Mkdir(filepath.Join(dir, of(n)), 0o700))
	must(os.WriteFile(filepath.Join(dir, of(n), "kcm.yaml"), []byte(text), 0o600))
	must(os.Symlink(of(n), filepath.Join(dir, "..data_tmp")))
	must(os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")))
	if n == 0 {
		must(os.Symlink("..data/kcm.yaml", filepath.Join(dir, "kcm.yaml")))
		return
	}
	must(os.RemoveAll(filepath.Join(dir, of(n-1))))
}

// TestBadVersions are told once each and change nothing; the next good one is
// taken. At the start the same are fatal.
func TestBadVersions(t *testing.T) {
	beside(t)
	rig := kafkatest.Real(t, kafkatest.Options{})
	east, west := rig.Cluster("east"), rig.Cluster("west")
	topic, added := rig.Name("orders"), rig.Name("added")
	good := only([]string{at(east), at(west)}, listed{cluster: "east", topics: []string{topic}}, listed{cluster: "west", topics: []string{topic}})
	better := only([]string{at(east), at(west)}, listed{cluster: "east", topics: []string{topic, added}}, listed{cluster: "west", topics: []string{topic}})
	bad := map[string]string{
		"empty":            "",
		"cut in a word":    good[:len(good)*2/3],
		"a tab":            strings.Replace(good, "  orders:", "\torders:", 1),
		"a stream twice":   good + "  orders: {sources: [{cluster: east, topics: [x]}]}\n",
		"a misspelt key":   strings.Replace(good, "topics:", "topcis:", 1),
		"unknown cluster":  strings.Replace(good, "cluster: west", "cluster: wset", 1),
		"unset variable":   strings.Replace(good, `bootstrap: "`, `bootstrap: "${NOBODY_SETS_THIS}`, 1),
		"not even text":    "\x00\xff\xfe",
		"a cluster in two": good + "clusters: {}\n",
	}
	g := newLedger()
	var scribes []*scribe
	for _, c := range []*kafkatest.Cluster{east, west} {
		c.CreateTopic(topic, 1, nil)
		s := write(t, c, 200, 1_000_000)
		s.add(topic, 1)
		scribes = append(scribes, s)
	}
	east.CreateTopic(added, 1, nil)
	path := file(t, "kcm.yaml", good)
	k := start(t, []string{"-m", path, "consume", "orders", "-o", "start", "-J", "--refresh", "500ms"}, each(g.take))
	k.gets(patience, 100)
	for name, text := range bad {
		written := time.Now()
		renamed(t, path, text)
		first := k.heard(5*time.Second, written, path)
		k.until(10*time.Second, "more records", until(time.Now().Add(1200*time.Millisecond)))
		var lines []string
		for _, l := range k.err.since(written) {
			lines = append(lines, l.text)
		}
		t.Logf("%s: told after %v: %q", name, ms(first.Sub(written)), lines)
		if n := len(slices.DeleteFunc(lines, func(l string) bool { return strings.HasPrefix(l, "kcm: hint: ") })); n != 1 {
			t.Errorf("%s: %d lines, want 1", name, n)
		}
		fatal := run(t, []string{"-m", file(t, "kcm.yaml", text), "consume", "orders"})
		fatal.exits(t, 2)
	}
	// A directory in the place of the file.
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	k.until(10*time.Second, "more records", until(time.Now().Add(2*time.Second)))
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	// A version that reads as one with fewer topics while it is being written.
	parts := strings.SplitAfter(better, "\n")
	text := ""
	for i, part := range parts {
		text += part
		inPlace(t, path, text)
		if i < len(parts)-1 {
			time.Sleep(200 * time.Millisecond) // the next piece
		}
	}
	add := write(t, east, 200, 100)
	add.add(added, 1)
	k.until(10*time.Second, "the added topic", func() bool { return g.next("orders@east/"+added+"/0") == 100 })
	flowing := span{k.began.Add(2 * time.Second), time.Now()}
	want := map[string]int64{"orders@east/" + added + "/0": 100}
	for _, s := range scribes {
		s.stopped()
		want[fmt.Sprintf("orders@%s/%s/0", s.c.Name(), topic)] = s.acked()[place{s.c.Name(), topic}][0]
	}
	for split, n := range want {
		k.until(10*time.Second, split, func() bool { return g.next(split) == n })
	}
	for _, c := range []string{"east", "west"} {
		d := g.widest("orders@"+c+"/"+topic+"/0", flowing)
		t.Logf("%s: longest pause %v", c, ms(d))
		if d > 3*time.Second {
			t.Errorf("%s paused for %v", c, ms(d))
		}
	}
	r := k.stop()
	r.exits(t, 0)
	g.check(t)
	for _, l := range r.stderr {
		if strings.Contains(l, "- east/") || strings.Contains(l, "- west/") {
			t.Errorf("a bad version has taken something away: %s", l)
		}
	}
}

// until is a condition that holds from a time on.
func until(at time.Time) func() bool { return func() bool { return time.Now().After(at) } }

// TestAVersionThatListsNothing of what is wanted is warned of; a good one brings
// everything back.
func TestAVersionThatListsNothing(t *testing.T) {
	rig := kafkatest.Real(t, kafkatest.Options{})
	c, topic := rig.Cluster("east"), rig.Name("orders")
	c.CreateTopic(topic, 1, nil)
	put(c, topic, 0, some("r", 5)...)
	good := only([]string{at(c)}, listed{cluster: "east", topics: []string{topic}})
	path := file(t, "kcm.yaml", good)
	k := start(t, []string{"-m", path, "consume", "orders", "-o", "start", "-J"})
	k.gets(patience, 5)
	edited := time.Now()
	renamed(t, path, strings.Replace(good, "  orders:", "  others:", 1))
	k.heard(5*time.Second, edited, "- east/"+topic)
	k.heard(5*time.Second, edited, "orders")
	put(c, topic, 0, "r5", "r6")
	back := time.Now()
	renamed(t, path, good)
	k.gets(5*time.Second, 7)
	k.heard(5*time.Second, back, "+ east/"+topic)
	r := k.stop()
	r.exits(t, 0)
	equal(t, "records", tags(t, r.stdout), expect(place{"east", topic}, 0, 0, some("r", 7)...))
	t.Logf("told: %q", r.stderr)
}
