package offsets_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/kafkatest"
	"github.com/kcm-cli/kcm/internal/offsets"
)

func TestMain(m *testing.M) {
	if kafkatest.Wanted() {
		os.Exit(kafkatest.M(m).Run()) // the shared brokers' clients live as long as the binary
	}
	goleak.VerifyTestMain(kafkatest.M(m))
}

// open makes kcm's view of a cluster.
func open(t *testing.T, c *kafkatest.Cluster) *cluster.Cluster {
	t.Helper()
	out, err := cluster.New(cluster.Config{Name: c.Name(), Bootstrap: strings.Split(c.Bootstrap(), ",")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(out.Close)
	return out
}

var everything = offsets.Detail{Members: true, Commits: true}

func named(names ...string) offsets.Selection { return offsets.Selection{Names: names} }

// show is a group in one line, its lags behind.
func show(g offsets.GroupLag) string {
	line := fmt.Sprintf("%s %s %s", g.Name, g.Kind, g.State)
	if g.Err != nil {
		line += " error " + g.Err.Error()
	}
	for _, l := range g.Lags {
		line += fmt.Sprintf("; %s/%d %s %s..%s lag %s", l.Topic, l.Partition.Partition, num(l.Committed), num(l.Start), num(l.End), num(l.Lag))
		if l.Member != nil {
			line += " by " + l.Member.Client
		}
		if l.Err != nil {
			line += " (" + l.Err.Error() + ")"
		}
	}
	return line
}

func num(n *int64) string {
	if n == nil {
		return "-"
	}
	return fmt.Sprint(*n)
}

func shown(t *testing.T, c *cluster.Cluster, s offsets.Selection, scope offsets.Scope) []string {
	t.Helper()
	groups, err := offsets.Groups(t.Context(), c, s, everything)
	if err != nil {
		t.Fatal(err)
	}
	lags, err := offsets.Lags(t.Context(), c, groups, scope)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, g := range lags {
		lines = append(lines, show(g))
	}
	return lines
}

func TestLags(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		k := rig.Cluster("east")
		topic, other := rig.Name("t"), rig.Name("u")
		k.CreateTopic(topic, 3, nil)
		k.CreateTopic(other, 1, nil)
		for p, n := range []int{5, 2, 0} {
			for range n {
				k.Produce(topic, kafkatest.Record{Partition: int32(p), Value: []byte("x")})
			}
		}
		k.DeleteRecords(topic, 0, 2)
		a, b := rig.Name("a"), rig.Name("b")
		k.Commit(a, topic, 0, 3)
		k.Commit(a, other, 0, 0)
		k.Commit(b, topic, 1, 2)
		c := open(t, k)

		want := []string{
			a + " classic Empty; " + topic + "/0 3 2..5 lag 2; " + other + "/0 0 0..0 lag 0",
			b + " classic Empty; " + topic + "/1 2 0..2 lag 0",
		}
		if got := shown(t, c, named(b, a), nil); !slices.Equal(got, want) {
			t.Errorf("named:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		match := regexp.MustCompile(`\A(?:` + regexp.QuoteMeta(a) + "|" + regexp.QuoteMeta(b) + `)\z`)
		if got := shown(t, c, offsets.Selection{Match: match}, nil); !slices.Equal(got, want) {
			t.Errorf("matched:\n%s", strings.Join(got, "\n"))
		}
		// In a scope all its partitions are there, and no others.
		scope := offsets.Scope{{Stream: "s", Topic: topic, Partitions: []int32{1, 2}}}
		want = []string{a + " classic Empty; " + topic + "/1 - 0..2 lag -; " + topic + "/2 - 0..0 lag -"}
		if got := shown(t, c, named(a), scope); !slices.Equal(got, want) {
			t.Errorf("in a scope:\n%s", strings.Join(got, "\n"))
		}
		// What nobody has is said to be so.
		nobody := rig.Name("nobody")
		if got := shown(t, c, named(nobody), nil); !slices.Equal(got, []string{nobody + "  Dead"}) {
			t.Errorf("unknown: %q", got)
		}
	})
}

// join makes a member of a group and waits until it has partitions.
func join(t *testing.T, k *kafkatest.Cluster, group, topic string, opts ...kgo.Opt) {
	t.Helper()
	has := make(chan struct{})
	var once sync.Once
	cl := k.Client(append([]kgo.Opt{
		kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.ClientID("reader"), kgo.DisableAutoCommit(),
		kgo.OnPartitionsAssigned(func(context.Context, *kgo.Client, map[string][]int32) { once.Do(func() { close(has) }) }),
	}, opts...)...)
	ctx, cancel := context.WithCancel(t.Context())
	var polling sync.WaitGroup
	polling.Go(func() {
		for ctx.Err() == nil {
			cl.PollFetches(ctx)
		}
	})
	t.Cleanup(func() { cancel(); polling.Wait() })
	select {
	case <-has:
	case <-time.After(time.Minute):
		t.Fatal("the member is given nothing")
	}
}

func TestMembersOfBothProtocols(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		k := rig.Cluster("east")
		topic := rig.Name("t")
		k.CreateTopic(topic, 2, nil)
		k.Produce(topic, kafkatest.Record{Value: []byte("x")})
		classic, modern := rig.Name("classic"), rig.Name("modern")
		join(t, k, classic, topic, kgo.Balancers(kgo.RangeBalancer()), kgo.InstanceID("one"))
		join(t, k, modern, topic, kgo.ServerSideBalancer(), kgo.Balancers(kgo.RangeBalancer()))
		c := open(t, k)
		deadline := time.Now().Add(time.Minute)
		for {
			groups, err := offsets.Groups(t.Context(), c, named(classic, modern), everything)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, g := range groups {
				for _, m := range g.Members {
					got = append(got, fmt.Sprintf("%s %s %s %q %s %d %v", g.Kind, g.State, m.Client, m.Instance, g.Protocol, len(m.Assigned), m.Opaque))
				}
			}
			want := []string{`classic Stable reader "one" consumer 2 false`, `consumer Stable reader "" consumer 2 false`}
			if slices.Equal(got, want) {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("got %q, want %q", got, want)
			}
			time.Sleep(50 * time.Millisecond)
		}
	})
}

// answers has a request answered by the test.
func answers(k *kafkatest.Cluster, key kmsg.Key, answer func(kmsg.Request) kmsg.Response) {
	f := k.Fake()
	f.ControlKey(key.Int16(), func(req kmsg.Request) (kmsg.Response, error, bool) {
		f.KeepControl()
		resp := answer(req)
		return resp, nil, resp != nil
	})
}

// TestDeletedTopic: commits on a topic that is gone stay visible, and spoil
// nothing.
func TestDeletedTopic(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{})
	k := rig.Cluster("east")
	k.CreateTopic("there", 3, nil)
	k.Commit("g1", "there", 1, 0)
	k.Commit("g2", "there", 0, 0)
	answers(k, kmsg.OffsetFetch, func(kreq kmsg.Request) kmsg.Response {
		req := kreq.(*kmsg.OffsetFetchRequest)
		if req.Version > 9 {
			t.Errorf("version %d leaves deleted topics out", req.Version)
		}
		resp := req.ResponseKind().(*kmsg.OffsetFetchResponse)
		for _, g := range req.Groups {
			rg := kmsg.NewOffsetFetchResponseGroup()
			rg.Group = g.Group
			for _, topic := range []string{"gone", "there"} {
				rt := kmsg.NewOffsetFetchResponseGroupTopic()
				rt.Topic = topic
				rp := kmsg.NewOffsetFetchResponseGroupTopicPartition()
				rp.Offset, rp.Metadata = 7, kmsg.StringPtr("")
				if topic == "there" {
					rp.Offset = 0
				}
				rt.Partitions = append(rt.Partitions, rp)
				rg.Topics = append(rg.Topics, rt)
			}
			resp.Groups = append(resp.Groups, rg)
		}
		return resp
	})
	want := []string{
		"g1 classic Empty; gone/0 7 -..- lag - (east/gone: no such topic); there/0 0 0..0 lag 0",
		"g2 classic Empty; gone/0 7 -..- lag - (east/gone: no such topic); there/0 0 0..0 lag 0",
	}
	if got := shown(t, open(t, k), offsets.Selection{All: true}, nil); !slices.Equal(got, want) {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
	if k.HasTopic("gone") {
		t.Error("the topic was created")
	}
}

// TestOddGroups: protocols that are no consumer's, assignments that make no sense,
// groups of other kinds, names of any bytes, and one group that may not be seen.
func TestOddGroups(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{})
	k := rig.Cluster("east")
	odd := "o\xffd\x1b[31m/\n"
	answers(k, kmsg.ListGroups, func(req kmsg.Request) kmsg.Response {
		resp := req.ResponseKind().(*kmsg.ListGroupsResponse)
		for name, kind := range map[string]string{odd: "Classic", "connect": "Classic", "broken": "classic", "denied": "Classic", "queue": "Share", "flow": "Streams"} {
			g := kmsg.NewListGroupsResponseGroup()
			g.Group, g.GroupType, g.GroupState = name, kind, "Stable"
			resp.Groups = append(resp.Groups, g)
		}
		return resp
	})
	answers(k, kmsg.DescribeGroups, func(kreq kmsg.Request) kmsg.Response {
		req := kreq.(*kmsg.DescribeGroupsRequest)
		resp := req.ResponseKind().(*kmsg.DescribeGroupsResponse)
		for _, name := range req.Groups {
			g := kmsg.NewDescribeGroupsResponseGroup()
			g.Group, g.State, g.ProtocolType, g.Protocol = name, "Stable", "consumer", "range"
			m := kmsg.NewDescribeGroupsResponseGroupMember()
			m.MemberID, m.ClientID, m.ClientHost = "m-"+name, "client", "/10.0.0.1"
			a := kmsg.NewConsumerMemberAssignment()
			a.Topics = []kmsg.ConsumerMemberAssignmentTopic{{Topic: "t", Partitions: []int32{1, 0}}}
			m.MemberAssignment = a.AppendTo(nil)
			switch name {
			case "connect":
				g.ProtocolType, m.MemberAssignment = "connect", []byte{0, 1, 2}
			case "broken":
				m.MemberAssignment = []byte{0, 0, 0x7f, 0xff, 0xff, 0xff, 1}
			case "denied":
				g.ErrorCode = kerr.GroupAuthorizationFailed.Code
			}
			g.Members = append(g.Members, m)
			resp.Groups = append(resp.Groups, g)
		}
		return resp
	})
	answers(k, kmsg.ShareGroupDescribe, func(kreq kmsg.Request) kmsg.Response {
		req := kreq.(*kmsg.ShareGroupDescribeRequest)
		resp := req.ResponseKind().(*kmsg.ShareGroupDescribeResponse)
		g := kmsg.NewShareGroupDescribeResponseGroup()
		g.GroupID, g.GroupState = req.GroupIDs[0], "Stable"
		m := kmsg.NewShareGroupDescribeResponseGroupMember()
		m.MemberID = "m"
		m.Assignment.TopicPartitions = []kmsg.ShareGroupDescribeResponseGroupMemberAssignmentTopicPartition{{Topic: "t", Partitions: []int32{0}}}
		g.Members = append(g.Members, m)
		resp.Groups = append(resp.Groups, g)
		return resp
	})
	groups, err := offsets.Groups(t.Context(), open(t, k), offsets.Selection{All: true}, everything)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, g := range groups {
		line := fmt.Sprintf("%s %s %s", g.Kind, g.State, g.Protocol)
		for _, m := range g.Members {
			line += fmt.Sprintf(" %s@%s %v %v", m.ID, m.Host, m.Assigned, m.Opaque)
		}
		if g.Err != nil {
			line += fmt.Sprintf(" %s %d", g.Err, fault.KindOf(g.Err))
		}
		got[g.Name] = line
	}
	want := map[string]string{
		odd:       "classic Stable consumer m-" + odd + "@10.0.0.1 [{t 0} {t 1}] false",
		"connect": "classic Stable connect m-connect@10.0.0.1 [] true",
		"broken":  "classic Stable consumer m-broken@10.0.0.1 [] true",
		"denied":  "classic Stable  east: not authorized to use the group denied 4",
		"queue":   "share Stable share m@ [{t 0}] false",
		"flow":    "streams Stable ", // kfake does not know the request: what the listing says stays
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestUnknownKinds: a group that is named may be of any kind.
func TestUnknownKinds(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{})
	k := rig.Cluster("east")
	answers(k, kmsg.ShareGroupDescribe, func(kreq kmsg.Request) kmsg.Response {
		req := kreq.(*kmsg.ShareGroupDescribeRequest)
		resp := req.ResponseKind().(*kmsg.ShareGroupDescribeResponse)
		g := kmsg.NewShareGroupDescribeResponseGroup()
		g.GroupID, g.GroupState = req.GroupIDs[0], "Empty"
		resp.Groups = append(resp.Groups, g)
		return resp
	})
	groups, err := offsets.Groups(t.Context(), open(t, k), named("queue"), everything)
	if err != nil || len(groups) != 1 || groups[0].Kind != cluster.ShareGroup || groups[0].State != "Empty" || groups[0].Err != nil {
		t.Errorf("%+v, %v", groups, err)
	}
}

// on returns a group's name that a node coordinates.
func on(k *kafkatest.Cluster, node int32, base string) string {
	for i := 0; ; i++ {
		if name := fmt.Sprintf("%s-%d", base, i); k.Fake().CoordinatorFor(name) == node {
			return name
		}
	}
}

// TestBrokerThatDoesNotAnswer: the other groups are there within 5 s, and what is
// missing is said.
func TestBrokerThatDoesNotAnswer(t *testing.T) {
	for name, stop := range map[string]func(*kafkatest.Cluster, int32){
		"killed": (*kafkatest.Cluster).Kill9, "paused": (*kafkatest.Cluster).Pause,
	} {
		t.Run(name, func(t *testing.T) {
			rig := kafkatest.Fake(t, kafkatest.Options{Brokers: 3})
			k := rig.Cluster("east")
			k.CreateTopic("t", 3, nil)
			alive, dead := on(k, 0, "alive"), on(k, 2, "dead")
			k.Commit(alive, "t", 0, 0)
			k.Commit(dead, "t", 0, 0)
			for p := range int32(3) {
				if err := k.Fake().MoveTopicPartition("t", p, p); err != nil {
					t.Fatal(err)
				}
			}
			c := open(t, k)
			if _, err := c.Connect(t.Context()); err != nil {
				t.Fatal(err)
			}
			stop(k, 2)
			began := time.Now()
			groups, err := offsets.Groups(t.Context(), c, named(alive, dead), everything)
			took := time.Since(began)
			if err != nil || took > 4500*time.Millisecond {
				t.Fatalf("%v after %s", err, took)
			}
			for _, g := range groups {
				switch {
				case g.Name == alive && (g.Err != nil || g.State != "Empty" || len(g.Commits) != 1):
					t.Errorf("%s: %+v", alive, g)
				case g.Name == dead && (fault.KindOf(g.Err) != fault.Unreachable || !strings.HasPrefix(g.Err.Error(), "east: ")):
					t.Errorf("%s: %v", dead, g.Err)
				}
			}
			began = time.Now()
			groups, err = offsets.Groups(t.Context(), c, offsets.Selection{All: true}, everything)
			if took := time.Since(began); took > 4500*time.Millisecond || fault.KindOf(err) != fault.Unreachable || len(groups) != 1 || groups[0].Name != alive {
				t.Errorf("all: %v, %v after %s", groups, err, took)
			}
		})
	}
}

// TestManyGroups: what can be asked together is, and a thousand groups take no
// more than a moment.
func TestManyGroups(t *testing.T) {
	const groupCount, partitions = 1000, 100
	rig := kafkatest.Fake(t, kafkatest.Options{Brokers: 3})
	k := rig.Cluster("east")
	k.CreateTopic("t", partitions, nil)
	adm := kadm.NewClient(k.Client())
	commits := kadm.Offsets{}
	for p := range int32(partitions) {
		commits.AddOffset("t", p, 0, -1)
	}
	var committing sync.WaitGroup
	for i := range groupCount {
		committing.Go(func() {
			if err := adm.CommitAllOffsets(t.Context(), fmt.Sprintf("g%04d", i), commits); err != nil {
				t.Error(err)
			}
		})
	}
	committing.Wait()
	var mu sync.Mutex
	counts := map[string]int{}
	k.Fake().Control(func(req kmsg.Request) (kmsg.Response, error, bool) {
		k.Fake().KeepControl()
		mu.Lock()
		defer mu.Unlock()
		counts[kmsg.NameForKey(req.Key())]++
		return nil, nil, false
	})
	c := open(t, k)
	began := time.Now()
	lines := shown(t, c, offsets.Selection{All: true}, nil)
	took := time.Since(began)
	if len(lines) != groupCount || strings.Count(lines[0], "lag 0") != partitions {
		t.Errorf("%d groups, the first %s", len(lines), lines[0])
	}
	mu.Lock()
	defer mu.Unlock()
	// A request of many groups is cut: no answer gets too large.
	for name, most := range map[string]int{"ListGroups": 3, "DescribeGroups": 6, "OffsetFetch": 6, "ListOffsets": 6, "ConsumerGroupDescribe": 0} {
		if counts[name] > most {
			t.Errorf("%d × %s, more than %d", counts[name], name, most)
		}
	}
	t.Logf("%s; %v", took, counts)
	if took > 20*time.Second {
		t.Errorf("took %s", took)
	}
}

// TestUnstableCommit: with Stable a commit that a transaction holds up is an error
// of its partition alone.
func TestUnstableCommit(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{})
	k := rig.Cluster("east")
	k.CreateTopic("t", 1, nil)
	k.Commit("g", "t", 0, 0)
	answers(k, kmsg.OffsetFetch, func(kreq kmsg.Request) kmsg.Response {
		req := kreq.(*kmsg.OffsetFetchRequest)
		if !req.RequireStable {
			t.Error("it does not ask for stable commits")
		}
		resp := req.ResponseKind().(*kmsg.OffsetFetchResponse)
		rg := kmsg.NewOffsetFetchResponseGroup()
		rg.Group = "g"
		rt := kmsg.NewOffsetFetchResponseGroupTopic()
		rt.Topic = "t"
		rp := kmsg.NewOffsetFetchResponseGroupTopicPartition()
		rp.ErrorCode = kerr.UnstableOffsetCommit.Code
		rt.Partitions = append(rt.Partitions, rp)
		rg.Topics = append(rg.Topics, rt)
		resp.Groups = append(resp.Groups, rg)
		return resp
	})
	groups, err := offsets.Groups(t.Context(), open(t, k), named("g"), offsets.Detail{Commits: true, Stable: true})
	if err != nil {
		t.Fatal(err)
	}
	commit := groups[0].Commits[offsets.Partition{Topic: "t"}]
	if commit.Offset != -1 || commit.Err == nil || commit.Err.Error() != "east/t: an open transaction holds up the commit of group g" || !errors.Is(commit.Err, kerr.UnstableOffsetCommit) {
		t.Errorf("%+v", commit)
	}
}

// TestMovedCoordinator: a broker that does not coordinate a group any more, or not
// yet, is no error: the group is asked for where it is.
func TestMovedCoordinator(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{Brokers: 3})
	k := rig.Cluster("east")
	k.CreateTopic("t", 1, nil)
	k.Commit("g", "t", 0, 0)
	for key, code := range map[kmsg.Key]int16{kmsg.DescribeGroups: kerr.NotCoordinator.Code, kmsg.OffsetFetch: kerr.CoordinatorLoadInProgress.Code} {
		first := true
		answers(k, key, func(kreq kmsg.Request) kmsg.Response {
			if !first {
				return nil
			}
			first = false
			switch req := kreq.(type) {
			case *kmsg.DescribeGroupsRequest:
				resp := req.ResponseKind().(*kmsg.DescribeGroupsResponse)
				g := kmsg.NewDescribeGroupsResponseGroup()
				g.Group, g.ErrorCode = "g", code
				resp.Groups = append(resp.Groups, g)
				return resp
			case *kmsg.OffsetFetchRequest:
				resp := req.ResponseKind().(*kmsg.OffsetFetchResponse)
				g := kmsg.NewOffsetFetchResponseGroup()
				g.Group, g.ErrorCode = "g", code
				resp.Groups = append(resp.Groups, g)
				return resp
			}
			return nil
		})
	}
	c := open(t, k)
	if got := shown(t, c, named("g"), nil); !slices.Equal(got, []string{"g classic Empty; t/0 0 0..0 lag 0"}) {
		t.Errorf("got %q", got)
	}
	// One that never settles is said so, and soon.
	answers(k, kmsg.OffsetFetch, func(kreq kmsg.Request) kmsg.Response {
		resp := kreq.ResponseKind().(*kmsg.OffsetFetchResponse)
		g := kmsg.NewOffsetFetchResponseGroup()
		g.Group, g.ErrorCode = "g", kerr.NotCoordinator.Code
		resp.Groups = append(resp.Groups, g)
		return resp
	})
	groups, err := offsets.Groups(t.Context(), c, named("g"), everything)
	if err != nil || fault.KindOf(groups[0].Err) != fault.Unreachable || groups[0].Err.Error() != "east: the coordinator of group g is not available" {
		t.Errorf("%v, %v", groups[0].Err, err)
	}
}
