//go:build kafka

package e2e

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kcm-cli/kcm/internal/kafkatest"
)

// effort is how long a trial of edits is.
type effort struct {
	edits, records, perSecond int
	seed                      uint64
	strict                    bool // pauses fail the test
}

// spent returns the effort that the environment asks for: KCM_SOAK=1 is the long
// form, in which pauses count; KCM_SOAK_SEED repeats a run's edits.
func spent(t *testing.T) effort {
	t.Helper()
	e := effort{edits: 12, records: 30_000, perSecond: 1000, seed: uint64(time.Now().UnixNano()) % 1_000_000}
	if os.Getenv("KCM_SOAK") == "1" {
		e = effort{edits: 30, records: 300_000, perSecond: 3000, seed: e.seed, strict: true}
	}
	if s := os.Getenv("KCM_SOAK_SEED"); s != "" {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatalf("KCM_SOAK_SEED: %v", err)
		}
		e.seed = n
	}
	t.Logf("%d edits, %d records on each cluster, KCM_SOAK_SEED=%d", e.edits, e.records, e.seed)
	return e
}

// step is one version of the metadata and when and how it was written.
type step struct {
	at   time.Time
	what string
	on   map[place]bool // places that it lists
}

// trial is a run of kcm whose metadata is edited while records are written
// everywhere, and one beside it whose metadata stays and lists all: what that
// one misses for a while is the machine's doing.
type trial struct {
	t        *testing.T
	effort   effort
	rng      *rand.Rand
	clusters []*kafkatest.Cluster
	topics   []string
	later    []string // topics that are made in the course
	streamOf func(topic string) string
	render   func(on map[place]bool) string
	finally  func() // before the run is stopped

	path    string
	k       *kcm
	got     *ledger
	other   *ledger
	scribes []*scribe
	steps   []step
	out     map[string]*leaving // splits that are not listed now
	inPlace time.Time           // of the last write in place
}

// leaving is a split that an edit took out.
type leaving struct {
	at     time.Time
	want   int64 // records that it had by then
	warned bool
	still  int64 // records that have come by the time when nothing may come any more
}

const splitsEach = 2 // partitions of every topic

// begin starts the writers, the run under trial and the one beside it.
func (y *trial) begin(args []string, on map[place]bool) {
	y.rng = rand.New(rand.NewPCG(y.effort.seed, 1))
	y.got, y.other, y.out = newLedger(), newLedger(), map[string]*leaving{}
	for _, c := range y.clusters {
		s := write(y.t, c, y.effort.perSecond, y.effort.records)
		for _, topic := range y.topics {
			if !c.HasTopic(topic) {
				c.CreateTopic(topic, splitsEach, nil)
			}
			s.add(topic, splitsEach)
		}
		y.scribes = append(y.scribes, s)
	}
	var still []listed
	for _, c := range y.clusters {
		still = append(still, listed{cluster: c.Name(), topics: append(slices.Clone(y.topics), y.later...)})
	}
	y.path = file(y.t, "kcm.yaml", y.render(on))
	y.k = start(y.t, append([]string{"-m", y.path, "consume", "-o", "start", "-J", "--refresh", "1s"}, args...), each(y.got.take))
	start(y.t, []string{"-m", file(y.t, "still.yaml", only(y.addresses(), still...)), "consume", "orders", "-o", "start", "-J", "--refresh", "1s"}, each(y.other.take))
	y.steps = []step{{y.k.began, "the first version", on}}
}

func (y *trial) addresses() []string {
	var all []string
	for _, c := range y.clusters {
		all = append(all, at(c))
	}
	return all
}

func (y *trial) split(p place, partition int) string {
	return fmt.Sprintf("%s@%s/%d", y.streamOf(p.topic), p, partition)
}

func (y *trial) acked(p place, partition int) int64 {
	for _, s := range y.scribes {
		if list := s.acked()[p]; list != nil {
			return list[partition]
		}
	}
	return 0
}

// edit writes the next version.
func (y *trial) edit(on map[place]bool, what string) {
	y.t.Helper()
	before := y.steps[len(y.steps)-1].on
	// A file written in place has to stand still for a while: two such writes in
	// a row would only put off the first.
	inPlaceNow := y.rng.IntN(10) < 3 && time.Since(y.inPlace) > 5*time.Second
	text := y.render(on) + fmt.Sprintf("# version %d\n", len(y.steps))
	for p := range before {
		for n := range splitsEach {
			if on[p] {
				continue
			}
			l := &leaving{at: time.Now(), still: -1}
			if !y.unseen(p) {
				l.want = y.acked(p, n)
			}
			y.out[y.split(p, n)] = l
		}
	}
	now := time.Now()
	if inPlaceNow {
		inPlace(y.t, y.path, text)
		what += ", in place"
		y.inPlace = now
	} else {
		renamed(y.t, y.path, text)
	}
	for p := range on {
		for n := range splitsEach {
			delete(y.out, y.split(p, n))
		}
	}
	y.steps = append(y.steps, step{now, what, on})
}

// unseen reports whether a place came with a version that was not acted on yet,
// because the next one is written before the file stood still.
func (y *trial) unseen(p place) bool {
	last := len(y.steps) - 1
	if last == 0 || !y.steps[last].at.Equal(y.inPlace) || time.Since(y.inPlace) > 4*time.Second || y.steps[last-1].on[p] {
		return false
	}
	return !slices.ContainsFunc(y.k.err.since(y.steps[last].at), func(l line) bool { return strings.Contains(l.text, "+ "+p.String()) })
}

// watch looks after the splits that are not listed until d has passed: within
// ten seconds all that they had at the edit has to be there, and then nothing
// may come any more. (A file written in place may be acted on 3 s later.)
func (y *trial) watch(d time.Duration) {
	y.t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		for split, l := range y.out {
			next, age := y.got.next(split), time.Since(l.at)
			switch {
			case age < 10*time.Second || l.warned:
			case next < l.want:
				l.warned = true
				y.t.Errorf("%s: not drained %v after it left the metadata: %d records, had %d then", split, age.Round(time.Second), next, l.want)
			case l.still < 0:
				l.still = next
			case next != l.still:
				l.warned = true
				y.t.Errorf("%s: still read %v after it left the metadata: offset %d", split, age.Round(time.Second), next)
			}
		}
		select {
		case <-y.k.done:
			y.t.Fatalf("kcm ended with %d:\n%s", y.k.cmd.ProcessState.ExitCode(), strings.Join(y.k.err.all(), "\n"))
		default:
		}
	}
}

// anything makes a random change to what is on; pin stays.
func (y *trial) anything(pin place) (map[place]bool, string) {
	on := maps.Clone(y.steps[len(y.steps)-1].on)
	var all []place
	for _, c := range y.clusters {
		for _, topic := range y.topics {
			all = append(all, place{c.Name(), topic})
		}
	}
	free := slices.DeleteFunc(slices.Clone(all), func(p place) bool { return p == pin })
	p := free[y.rng.IntN(len(free))]
	toggle := func(p place) {
		if on[p] {
			delete(on, p)
		} else {
			on[p] = true
		}
	}
	switch y.rng.IntN(6) {
	case 0:
		return on, "nothing new"
	case 1: // the whole cluster
		was := on[p]
		for _, q := range free {
			if q.cluster == p.cluster {
				on[q] = true
				if was {
					delete(on, q)
				}
			}
		}
		return on, fmt.Sprintf("%s: all %v", p.cluster, !was)
	case 2: // replaced
		if q := free[y.rng.IntN(len(free))]; on[p] && !on[q] {
			delete(on, p)
			on[q] = true
			return on, fmt.Sprintf("%s by %s", p, q)
		}
	case 3:
		for _, q := range free {
			if y.rng.IntN(2) == 0 {
				toggle(q)
			}
		}
		return on, "several"
	}
	toggle(p)
	return on, fmt.Sprintf("%s: %v", p, on[p])
}

// run makes the scripted edits and then random ones, until there were as many
// as the effort asks for, and ends with everything read.
func (y *trial) run(scripted []func() (map[place]bool, string)) {
	y.t.Helper()
	whole := time.Duration(y.effort.records/y.effort.perSecond) * time.Second
	quiet := 3 * time.Second
	mean := (whole - 2*quiet) * 85 / 100 / time.Duration(y.effort.edits) // so that the writers outlast the edits
	y.watch(quiet)
	var pin place
	for i := range y.effort.edits - 1 {
		if i < len(scripted) {
			y.edit(scripted[i]())
		} else {
			if on := y.steps[len(y.steps)-1].on; len(on) > 0 && ((i-len(scripted))%8 == 0 || !on[pin]) {
				places := slices.SortedFunc(maps.Keys(on), func(a, b place) int { return cmp.Compare(a.String(), b.String()) })
				pin = places[y.rng.IntN(len(places))]
			}
			y.edit(y.anything(pin))
		}
		y.watch(mean/4 + time.Duration(y.rng.Int64N(int64(mean)*3/2)))
	}
	y.edit(y.all(), "all of it")
	for _, s := range y.scribes {
		s.finished()
	}
	y.end()
}

// all lists every place.
func (y *trial) all() map[place]bool {
	on := map[place]bool{}
	for _, c := range y.clusters {
		for _, topic := range y.topics {
			on[place{c.Name(), topic}] = true
		}
	}
	return on
}

// end waits until every record is there and says what happened on the way.
func (y *trial) end() {
	y.t.Helper()
	want, total := map[string]int64{}, int64(0)
	for _, s := range y.scribes {
		for p, list := range s.acked() {
			for n, count := range list {
				want[y.split(p, n)] = count
				total += count
			}
		}
	}
	missing := func() []string {
		var list []string
		for split, n := range want {
			if next := y.got.next(split); next != n {
				list = append(list, fmt.Sprintf("%s: %d of %d", split, next, n))
			}
		}
		slices.Sort(list)
		return list
	}
	for deadline := time.Now().Add(hang); len(missing()) > 0 && time.Now().Before(deadline); {
		time.Sleep(20 * time.Millisecond)
	}
	caught := time.Now()
	for _, m := range missing() {
		y.t.Errorf("not all there %v after the last version: %s", caught.Sub(y.steps[len(y.steps)-1].at).Round(time.Second), m)
	}
	for _, split := range y.got.known() {
		if _, ok := want[split]; !ok {
			y.t.Errorf("records of %s, which nobody asked for", split)
		}
	}
	y.pauses()
	if y.finally != nil {
		y.finally()
	}
	r := y.k.stop()
	r.exits(y.t, 0)
	r.figures(y.t, fmt.Sprintf("%d records through %d edits", total, len(y.steps)-1))
	r.below(y.t, 120)
	y.got.check(y.t)
	y.told(r.stderr)
}

// told shows the versions and what the run said; a line of no known form is a
// fault.
func (y *trial) told(stderr []string) {
	form := regexp.MustCompile(`^(kcm: )?([+-] [^ ]+/[^ ]+|following; -e stops at the end)`)
	counts := map[string]int{}
	for _, l := range stderr {
		if m := form.FindStringSubmatch(l); m != nil {
			counts[m[2][:1]]++
		} else {
			counts["other"]++
		}
	}
	y.t.Logf("stderr has %d lines: %v", len(stderr), counts)
	if !y.t.Failed() {
		return
	}
	for i, s := range y.steps {
		var on []string
		for p := range s.on {
			on = append(on, p.String())
		}
		slices.Sort(on)
		y.t.Logf("version %d, %.2f s, %s: %s", i, s.at.Sub(y.k.began).Seconds(), s.what, strings.Join(on, " "))
	}
	for _, l := range y.k.err.since(time.Time{}) {
		y.t.Logf("stderr, %.2f s: %s", l.at.Sub(y.k.began).Seconds(), l.text)
	}
}

// pauses measures, for each edit and each split that was read before it and goes
// on to be read, the longest time without a record, and by how much that passes
// what the run beside it saw, or what a quiet time shows.
func (y *trial) pauses() {
	first := span{y.k.began.Add(time.Second), y.steps[1].at}
	var usual time.Duration
	for p := range y.steps[0].on {
		for n := range splitsEach {
			usual = max(usual, y.got.widest(y.split(p, n), first))
		}
	}
	type pause struct {
		length, beside, over time.Duration
		what                 string
		version              int
	}
	var list []pause
	versions := map[int]bool{}
	for i, s := range y.steps[1 : len(y.steps)-1] {
		w := span{s.at, y.steps[i+2].at}
		if most := s.at.Add(5 * time.Second); w.to.After(most) {
			w.to = most
		}
		near := span{w.from.Add(-50 * time.Millisecond), w.to.Add(50 * time.Millisecond)}
		for p := range s.on {
			if !y.stays(p, i+1) {
				continue
			}
			for n := range splitsEach {
				q := pause{length: y.got.widest(y.split(p, n), w), beside: y.other.widest(fmt.Sprintf("orders@%s/%d", p, n), near)}
				q.over = q.length - max(q.beside, usual)
				q.version = i + 1
				q.what = fmt.Sprintf("%s/%d at version %d (%s)", p, n, i+1, s.what)
				list = append(list, q)
			}
		}
	}
	if len(list) == 0 {
		y.t.Log("no split stayed through an edit")
		return
	}
	slices.SortFunc(list, func(a, b pause) int { return cmp.Compare(b.over, a.over) })
	var lengths []time.Duration
	for _, q := range list {
		lengths = append(lengths, q.length)
	}
	slices.Sort(lengths)
	y.t.Logf("%d times a split stayed through an edit: its longest pause was %v in the median, %v at most; without edits %v",
		len(list), ms(lengths[len(lengths)/2]), ms(lengths[len(lengths)-1]), ms(usual))
	for i, q := range list {
		if i < 3 {
			y.t.Logf("%s: paused %v, beside it %v", q.what, ms(q.length), ms(q.beside))
		}
		if q.over > 100*time.Millisecond {
			versions[q.version] = true
			y.t.Logf("%s: paused %v, %v more than usual", q.what, ms(q.length), ms(q.over))
		}
	}
	// The machine has others to serve: once may be its doing, twice is not.
	if y.effort.strict && (len(versions) > 1 || list[0].over > 500*time.Millisecond) {
		y.t.Errorf("pauses of more than 100 ms at versions %v", slices.Sorted(maps.Keys(versions)))
	}
}

// stays reports whether a place is read without a break around version i: it was
// listed for long enough to have been caught up with.
func (y *trial) stays(p place, i int) bool {
	since := y.steps[i].at
	for j := i; j >= 0 && y.steps[j].on[p]; j-- {
		since = y.steps[j].at
	}
	return y.steps[i].on[p] && y.steps[i-1].on[p] && (since.Equal(y.steps[0].at) || y.steps[i].at.Sub(since) > 5*time.Second)
}

func ms(d time.Duration) time.Duration { return d.Round(time.Millisecond) }

// newTrial is a trial on two clusters with topics of its own; render lists the
// topics as they are in the one stream orders.
func newTrial(t *testing.T, topics ...string) *trial {
	rig := kafkatest.Real(t, kafkatest.Options{})
	y := &trial{t: t, effort: spent(t), clusters: []*kafkatest.Cluster{rig.Cluster("east"), rig.Cluster("west")}}
	for _, topic := range topics {
		y.topics = append(y.topics, rig.Name(topic))
	}
	y.streamOf = func(string) string { return "orders" }
	y.render = func(on map[place]bool) string {
		return y.one(on, func(topics []string) []string { return topics })
	}
	return y
}

// one is a version with the stream orders over what is on.
func (y *trial) one(on map[place]bool, entries func(topics []string) []string) string {
	var clusters []string
	var of []listed
	for _, c := range y.clusters {
		var topics []string
		for _, topic := range y.topics {
			if on[place{c.Name(), topic}] {
				topics = append(topics, topic)
			}
		}
		if topics != nil {
			clusters = append(clusters, at(c))
			of = append(of, listed{cluster: c.Name(), topics: entries(topics)})
		}
	}
	return only(clusters, of...)
}

// these is a version that lists exactly these places.
func these(what string, list ...place) func() (map[place]bool, string) {
	on := map[place]bool{}
	for _, p := range list {
		on[p] = true
	}
	return func() (map[place]bool, string) { return on, what }
}

// TestEditsOfTheMetadata: clusters come and go, a topic is replaced and comes
// back, and then anything happens, while a run follows.
func TestEditsOfTheMetadata(t *testing.T) {
	beside(t)
	y := newTrial(t, "orders", "orders.v2", "orders.v3")
	e, w, e2 := place{"east", y.topics[0]}, place{"west", y.topics[0]}, place{"east", y.topics[1]}
	on, _ := these("", e)()
	y.begin([]string{"orders"}, on)
	y.run([]func() (map[place]bool, string){
		these("west joins", e, w), these("east leaves", w), these("east is back", e, w), these("a topic is replaced", e2, w), these("and back", e, w),
	})
}

// TestEditsOfPatterns: the same where the topics are patterns; one topic is made
// while the run goes on, and one is deleted.
func TestEditsOfPatterns(t *testing.T) {
	beside(t)
	y := newTrial(t, "orders-eu", "orders-us", "orders-asia")
	all := regexp.QuoteMeta(strings.TrimPrefix(y.topics[0], "orders-eu"))
	y.render = func(on map[place]bool) string {
		return y.one(on, func(topics []string) []string {
			switch len(topics) {
			case len(y.topics):
				return []string{"/orders-.*" + all + "/"}
			case 1:
				return []string{"/" + regexp.QuoteMeta(topics[0]) + "/"}
			}
			return []string{"/(" + strings.Join(topics, "|") + ")/"}
		})
	}
	later := strings.Replace(y.topics[0], "-eu", "-africa", 1)
	e, w := place{"east", y.topics[0]}, place{"west", y.topics[0]}
	y.later = []string{later}
	y.finally = func() {
		at := time.Now()
		y.clusters[0].DeleteTopic(later)
		y.k.heard(15*time.Second, at, "- east/"+later)
	}
	y.begin([]string{"orders"}, y.all())
	y.run([]func() (map[place]bool, string){
		func() (map[place]bool, string) {
			y.join(later)
			return y.all(), "a topic is made"
		},
		these("east alone", e), these("west joins", e, w), these("east leaves", w),
		func() (map[place]bool, string) { return y.all(), "everything" },
	})
}

// join makes a topic, which is written to at once.
func (y *trial) join(topic string) {
	y.topics = append(y.topics, topic)
	for i, c := range y.clusters {
		c.CreateTopic(topic, splitsEach, nil)
		y.scribes[i].add(topic, splitsEach)
	}
}

// TestEditsOfStreams: the same where the command names a pattern of streams, and
// these come and go.
func TestEditsOfStreams(t *testing.T) {
	beside(t)
	y := newTrial(t, "orders-eu", "orders-us", "orders-asia")
	y.streamOf = func(topic string) string { return strings.ReplaceAll(topic[:len(topic)-9], "-", ".") }
	stranger := "no-orders-" + filepath.Base(t.Name())
	y.render = func(on map[place]bool) string {
		streams := map[string][]listed{"no.orders": {{cluster: "east", topics: []string{stranger}}}}
		for _, topic := range y.topics {
			for _, c := range y.clusters {
				if on[place{c.Name(), topic}] {
					streams[y.streamOf(topic)] = append(streams[y.streamOf(topic)], listed{cluster: c.Name(), topics: []string{topic}})
				}
			}
		}
		return version(y.addresses(), streams)
	}
	eu, us := place{"east", y.topics[0]}, place{"west", y.topics[1]}
	on, _ := these("", eu)()
	y.begin([]string{"-r", `orders\..*`}, on)
	y.run([]func() (map[place]bool, string){
		these("a stream joins", eu, us), these("a stream leaves", us), these("it is back", eu, us),
		func() (map[place]bool, string) { return y.all(), "all streams" },
	})
}
