//go:build kafka

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kcm-cli/kcm/internal/kafkatest"
)

// pool takes values from several readers and knows how often each has come.
type pool struct {
	mu   sync.Mutex
	seen map[string]int
}

func newPool() *pool { return &pool{seen: map[string]int{}} }

func (p *pool) take(value []byte) {
	p.mu.Lock()
	p.seen[string(value)]++
	p.mu.Unlock()
}

// distinct is how many values have come, again how many came more than once.
func (p *pool) distinct() (n, again int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, times := range p.seen {
		if times > 1 {
			again++
		}
	}
	return len(p.seen), again
}

// holds checks that everything a scribe has written has come.
func (p *pool) holds(t *testing.T, s *scribe) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for at, counts := range s.acked() {
		for partition, n := range counts {
			var lost []int64
			for i := range n {
				if p.seen[fmt.Sprintf("%s/%d/%d", at, partition, i)] == 0 {
					lost = append(lost, i)
				}
			}
			if len(lost) > 0 {
				t.Errorf("%s/%d: %d of %d records are lost, from %d to %d", at, partition, len(lost), n, lost[0], lost[len(lost)-1])
			}
		}
	}
}

// forgive takes one record that has not come as come.
func (p *pool) forgive(s *scribe) {
	for at, counts := range s.acked() {
		for partition, n := range counts {
			for i := range n {
				if v := fmt.Sprintf("%s/%d/%d", at, partition, i); p.seen[v] == 0 {
					p.take([]byte(v))
					return
				}
			}
		}
	}
}

// total is how many records a scribe's splits have.
func (s *scribe) total() (n int) {
	for _, counts := range s.acked() {
		for _, one := range counts {
			n += int(one)
		}
	}
	return n
}

// other is an ordinary consumer of a group, made with another client.
type other struct {
	name string
	stop func()
}

// seat is what a member of a group is subscribed to.
type seat struct{ group, topic string }

// consumer begins a kgo consumer that commits as usual clients do.
func consumer(t *testing.T, c *kafkatest.Cluster, p *pool, at seat, opts ...kgo.Opt) other {
	t.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(strings.Split(c.Bootstrap(), ",")...), kgo.ClientID("other"), kgo.ConsumerGroup(at.group), kgo.ConsumeTopics(at.topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.BlockRebalanceOnPoll(), kgo.AutoCommitMarks(), kgo.AutoCommitInterval(200 * time.Millisecond),
		kgo.OnPartitionsRevoked(func(ctx context.Context, cl *kgo.Client, _ map[string][]int32) { _ = cl.CommitMarkedOffsets(ctx) }),
	}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			fetches := cl.PollFetches(ctx)
			if ctx.Err() != nil {
				return
			}
			fetches.EachRecord(func(r *kgo.Record) {
				p.take(r.Value)
				cl.MarkCommitRecords(r)
			})
			cl.AllowRebalance()
		}
	}()
	stop := sync.OnceFunc(func() {
		cancel()
		<-done
		cl.AllowRebalance()
		_ = cl.CommitMarkedOffsets(context.WithoutCancel(ctx))
		cl.Close()
	})
	t.Cleanup(stop)
	return other{"other", stop}
}

// kcatMember begins a kcat that is a member of the group.
func kcatMember(t *testing.T, c *kafkatest.Cluster, p *pool, group, topic string) other {
	t.Helper()
	path, err := exec.LookPath("kcat")
	if err != nil {
		t.Fatal("kcat is not installed")
	}
	out := &lines{take: p.take}
	cmd := exec.Command(path, "-b", c.Bootstrap(), "-u", "-q", "-X", "auto.offset.reset=earliest", "-G", group, topic) //nolint:gosec // kcat
	cmd.Stdout = out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop := sync.OnceFunc(func() {
		_ = cmd.Process.Signal(syscall.SIGINT)
		_ = cmd.Wait()
	})
	t.Cleanup(stop)
	return other{"rdkafka", stop}
}

// console begins Apache's own console consumer as a member of the group. It ends
// when it has printed enough; stop waits for that.
func console(protocol string) func(*testing.T, *kafkatest.Cluster, *pool, string, string) other {
	return func(t *testing.T, c *kafkatest.Cluster, p *pool, group, topic string) other {
		t.Helper()
		done := make(chan struct{})
		go func() {
			defer close(done)
			out := c.Java("org.apache.kafka.tools.consumer.ConsoleConsumer", "--topic", topic, "--group", group, "--from-beginning",
				"--max-messages", "8000", "--command-property", "group.protocol="+protocol)
			for line := range strings.Lines(out) {
				p.take([]byte(strings.TrimSuffix(line, "\n")))
			}
		}()
		stop := func() { <-done }
		t.Cleanup(stop)
		return other{"console-consumer", stop}
	}
}

// members waits until a group has n members and none of them waits for partitions.
func members(t *testing.T, c *kafkatest.Cluster, group string, n int) (kind, assignor string) {
	t.Helper()
	adm := c.Admin()
	deadline := time.Now().Add(hang)
	for {
		var state string
		var count int
		if g, err := adm.DescribeGroups(t.Context(), group); err == nil && g[group].Err == nil && g[group].State != "Dead" {
			kind, state, assignor, count = "classic", g[group].State, g[group].Protocol, len(g[group].Members)
		} else if g, err := adm.DescribeConsumerGroups(t.Context(), group); err == nil && g[group].Err == nil {
			kind, state, assignor, count = "consumer", g[group].State, g[group].AssignorName, len(g[group].Members)
		}
		if count == n && state == "Stable" {
			return kind, assignor
		}
		if time.Now().After(deadline) {
			t.Fatalf("group %s: %s, %s with %d members, want %d", group, kind, state, count, n)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// TestAGroupBesideOthers joins groups of other clients as they are, takes its
// share while they go on and gives it back; nothing is lost, and no group becomes
// another kind of group.
func TestAGroupBesideOthers(t *testing.T) {
	beside(t)
	rig := kafkatest.Real(t, kafkatest.Options{})
	kgos := func(opts ...kgo.Opt) func(*testing.T, *kafkatest.Cluster, *pool, string, string) other {
		return func(t *testing.T, c *kafkatest.Cluster, p *pool, group, topic string) other {
			t.Helper()
			return consumer(t, c, p, seat{group, topic}, opts...)
		}
	}
	cases := map[string]struct {
		begin          func(*testing.T, *kafkatest.Cluster, *pool, string, string) other
		kind, assignor string
		args           []string
	}{
		"range":              {kgos(kgo.Balancers(kgo.RangeBalancer())), "classic", "range", nil},
		"roundrobin":         {kgos(kgo.Balancers(kgo.RoundRobinBalancer())), "classic", "roundrobin", nil},
		"cooperative-sticky": {kgos(kgo.Balancers(kgo.CooperativeStickyBalancer())), "classic", "cooperative-sticky", nil},
		"console":            {console("classic"), "classic", "range", nil},
		"console, KIP-848":   {console("consumer"), "consumer", "uniform", nil},
		"kcat":               {kcatMember, "classic", "range", nil},
		"uniform":            {kgos(kgo.Balancers(kgo.StickyBalancer()), kgo.ServerSideBalancer()), "consumer", "uniform", nil},
		"uniform, classic":   {kgos(kgo.Balancers(kgo.StickyBalancer()), kgo.ServerSideBalancer()), "consumer", "uniform", []string{"--group-protocol", "classic"}},
		"by the brokers":     {kgos(kgo.Balancers(kgo.RangeBalancer()), kgo.ServerSideBalancer()), "consumer", "range", nil},
	}
	if os.Getenv("KCM_SOAK") != "1" { // Java takes its time
		delete(cases, "console")
		delete(cases, "console, KIP-848")
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rig := rig.With(t)
			c := rig.Cluster("east")
			topic, group := rig.Name("orders"), rig.Name("g")
			c.CreateTopic(topic, 4, nil)
			s := write(t, c, 400, 1_000_000)
			s.add(topic, 4)
			p := newPool()
			first := tc.begin(t, c, p, group, topic)
			kind, assignor := members(t, c, group, 1)
			if kind != tc.kind || assignor != tc.assignor {
				t.Fatalf("the group is %s with %s, want %s with %s", kind, assignor, tc.kind, tc.assignor)
			}
			args := []string{"consume", "-b", c.Bootstrap(), topic, "-g", group, "-o", "start", "-f", `%v\n`}
			var mine pool
			mine.seen = map[string]int{}
			k := start(t, append(args, tc.args...), each(func(line []byte) { p.take(line); mine.take(line) }))
			k.told(10*time.Second, "group "+group+" has a member", first.name)
			k.until(20*time.Second, "a share", func() bool { n, _ := mine.distinct(); return n > 0 })
			if kind, assignor := members(t, c, group, 2); kind != tc.kind || assignor != tc.assignor {
				t.Errorf("the group has become %s with %s", kind, assignor)
			}
			first.stop()
			k.until(60*time.Second, "everything", func() bool {
				mine.mu.Lock()
				defer mine.mu.Unlock()
				parts := map[string]bool{}
				for v := range mine.seen {
					parts[strings.Split(v, "/")[2]] = true
				}
				return len(parts) == 4
			})
			s.stopped()
			deadline := time.Now().Add(hang)
			for n, _ := p.distinct(); n < s.total() && time.Now().Before(deadline); n, _ = p.distinct() {
				time.Sleep(20 * time.Millisecond)
			}
			r := k.stop()
			r.exits(t, 0)
			if first.name == "rdkafka" {
				p.forgive(s) // kcat commits the record at which it stops, and does not print it
			}
			p.holds(t, s)
			_, again := p.distinct()
			t.Logf("%d records, %d of them more than once; told: %q", s.total(), again, r.stderr)
			for partition, n := range s.acked()[place{c.Name(), topic}] {
				if at := c.Committed(group, topic, int32(partition)); at != n {
					t.Errorf("partition %d is committed at %d, want %d", partition, at, n)
				}
			}
		})
	}
}

// TestMembersComeAndGo while records are written: every one comes, and none twice
// when nobody is in a hurry.
func TestMembersComeAndGo(t *testing.T) {
	beside(t)
	rig := kafkatest.Real(t, kafkatest.Options{})
	for _, protocol := range []string{"classic", "consumer"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			rig := rig.With(t)
			c := rig.Cluster("east")
			topic, group := rig.Name("orders"), rig.Name("g")
			c.CreateTopic(topic, 6, nil)
			s := write(t, c, 1000, 1_000_000)
			s.add(topic, 6)
			p := newPool()
			begin := func() *kcm {
				return start(t, []string{"consume", "-b", c.Bootstrap(), topic, "-g", group, "-o", "start", "--group-protocol", protocol, "-f", `%v\n`}, each(p.take))
			}
			var list []*kcm
			list = append(list, begin())
			list[0].gets(20*time.Second, 100)
			for range 3 {
				k := begin()
				list = append(list, k)
				k.gets(20*time.Second, 100)
				r := list[0].stop()
				r.exits(t, 0)
				list = list[1:]
				k.gets(20*time.Second, k.out.count()+500)
			}
			s.stopped()
			list[0].until(20*time.Second, "the last record", func() bool { n, _ := p.distinct(); return n == s.total() })
			list[0].stop().exits(t, 0)
			p.holds(t, s)
			_, again := p.distinct()
			t.Logf("%d records, %d of them more than once", s.total(), again)
			if again > 0 {
				t.Errorf("%d records came more than once", again)
			}
			for partition, n := range s.acked()[place{c.Name(), topic}] {
				if at := c.Committed(group, topic, int32(partition)); at != n {
					t.Errorf("partition %d is committed at %d, want %d", partition, at, n)
				}
			}
		})
	}
}

// TestGroupsOfOtherKinds are refused, and left as they are.
func TestGroupsOfOtherKinds(t *testing.T) {
	beside(t)
	rig := kafkatest.Real(t, kafkatest.Options{})
	c := rig.Cluster("east")
	topic := rig.Name("orders")
	c.CreateTopic(topic, 1, nil)
	put(c, topic, 0, "one")
	for name, tc := range map[string]struct {
		opts func(group string) []kgo.Opt
		text string
	}{
		"share": {func(g string) []kgo.Opt { return []kgo.Opt{kgo.ShareGroup(g)} }, "is a share group"},
		"an assignor of its own": {func(g string) []kgo.Opt {
			return []kgo.Opt{kgo.ConsumerGroup(g), kgo.Balancers(renamedAssignor{kgo.RangeBalancer()})}
		}, "uses the assignor own, which kcm does not have"},
		"connect": {func(g string) []kgo.Opt { return []kgo.Opt{kgo.ConsumerGroup(g), kgo.GroupProtocol("connect")} }, "is no consumers' group but of type connect"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			group := rig.With(t).Name("g")
			cl, err := kgo.NewClient(append(tc.opts(group), kgo.SeedBrokers(strings.Split(c.Bootstrap(), ",")...), kgo.ConsumeTopics(topic))...)
			if err != nil {
				t.Fatal(err)
			}
			defer cl.Close()
			ctx, cancel := context.WithTimeout(t.Context(), hang)
			defer cancel()
			for id := ""; id == "" && ctx.Err() == nil; {
				short, stop := context.WithTimeout(ctx, 500*time.Millisecond)
				cl.PollFetches(short)
				stop()
				if name != "share" {
					id, _ = cl.GroupMetadata()
				} else if g, err := c.Admin().DescribeShareGroups(ctx, group); err == nil && len(g[group].Members) > 0 {
					id = "there"
				}
			}
			if name != "share" {
				stable(t, c, group)
			}
			r := run(t, []string{"consume", "-b", c.Bootstrap(), topic, "-g", group, "-e"})
			r.exits(t, 6)
			r.says(t, 1, "kcm: default: group "+group+" "+tc.text)
			equal(t, "stdout", r.stdout, nil)
		})
	}
}

// renamedAssignor is an assignor under a name that only its own application knows.
type renamedAssignor struct{ kgo.GroupBalancer }

func (renamedAssignor) ProtocolName() string { return "own" }

// stable waits until the members of a classic group of any type have agreed.
func stable(t *testing.T, c *kafkatest.Cluster, group string) {
	t.Helper()
	for until := time.Now().Add(hang); ; time.Sleep(50 * time.Millisecond) {
		if g, err := c.Admin().DescribeGroups(t.Context(), group); err == nil && g[group].State == "Stable" {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("group %s does not become stable", group)
		}
	}
}

// TestOthersJoinAMember: clients that come to a group in which kcm was alone may
// make it another kind of group; kcm stays its member and nothing is lost.
func TestOthersJoinAMember(t *testing.T) {
	beside(t)
	rig := kafkatest.Real(t, kafkatest.Options{})
	for name, tc := range map[string]struct {
		begin func(*testing.T, *kafkatest.Cluster, *pool, string, string) other
		kind  string
	}{
		"kcat": {kcatMember, "classic"},
		"KIP-848": {func(t *testing.T, c *kafkatest.Cluster, p *pool, group, topic string) other {
			t.Helper()
			return consumer(t, c, p, seat{group, topic}, kgo.Balancers(kgo.StickyBalancer()), kgo.ServerSideBalancer())
		}, "consumer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rig := rig.With(t)
			c := rig.Cluster("east")
			topic, group := rig.Name("orders"), rig.Name("g")
			c.CreateTopic(topic, 4, nil)
			s := write(t, c, 400, 1_000_000)
			s.add(topic, 4)
			p := newPool()
			k := start(t, []string{"consume", "-b", c.Bootstrap(), topic, "-g", group, "-o", "start", "-f", `%v\n`}, each(p.take))
			k.gets(20*time.Second, 200)
			second := tc.begin(t, c, p, group, topic)
			if kind, _ := members(t, c, group, 2); kind != tc.kind {
				t.Errorf("the group is %s, want %s", kind, tc.kind)
			}
			before := k.out.count()
			k.gets(20*time.Second, before+300)
			second.stop()
			k.told(60*time.Second, "+ default/"+topic+" (", "from the commits of group "+group)
			s.stopped()
			deadline := time.Now().Add(hang)
			for n, _ := p.distinct(); n < s.total() && time.Now().Before(deadline); n, _ = p.distinct() {
				time.Sleep(20 * time.Millisecond)
			}
			r := k.stop()
			r.exits(t, 0)
			if second.name == "rdkafka" {
				p.forgive(s)
			}
			p.holds(t, s)
			_, again := p.distinct()
			t.Logf("%d records, %d of them more than once; told: %q", s.total(), again, r.stderr)
			for partition, n := range s.acked()[place{c.Name(), topic}] {
				if at := c.Committed(group, topic, int32(partition)); at != n {
					t.Errorf("partition %d is committed at %d, want %d", partition, at, n)
				}
			}
		})
	}
}
