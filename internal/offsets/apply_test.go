package offsets_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kcm-cli/kcm/internal/kafkatest"
	"github.com/kcm-cli/kcm/internal/offsets"
)

// resetTwo plans that partition 0 of a group goes to 3, and that the commit of
// partition 2 is removed.
func resetTwo(t *testing.T, k *kafkatest.Cluster, topic string) (apply func(context.Context) []string) {
	t.Helper()
	k.Commit("g", topic, 0, 5)
	k.Commit("g", topic, 2, 1)
	c := open(t, k)
	changes := twoChanges(t, c, "g", topic)
	return func(ctx context.Context) []string {
		offsets.Apply(ctx, c, changes)
		return allChanged(changes)
	}
}

// answered is the answer to a request with one error code everywhere.
func answered(req kmsg.Request, code int16) kmsg.Response {
	switch r := req.(type) {
	case *kmsg.OffsetCommitRequest:
		resp := r.ResponseKind().(*kmsg.OffsetCommitResponse)
		for _, rt := range r.Topics {
			st := kmsg.NewOffsetCommitResponseTopic()
			st.Topic = rt.Topic
			for _, p := range rt.Partitions {
				st.Partitions = append(st.Partitions, kmsg.OffsetCommitResponseTopicPartition{Partition: p.Partition, ErrorCode: code})
			}
			resp.Topics = append(resp.Topics, st)
		}
		return resp
	case *kmsg.OffsetDeleteRequest:
		resp := r.ResponseKind().(*kmsg.OffsetDeleteResponse)
		for _, rt := range r.Topics {
			st := kmsg.NewOffsetDeleteResponseTopic()
			st.Topic = rt.Topic
			for _, p := range rt.Partitions {
				st.Partitions = append(st.Partitions, kmsg.OffsetDeleteResponseTopicPartition{Partition: p.Partition, ErrorCode: code})
			}
			resp.Topics = append(resp.Topics, st)
		}
		return resp
	default:
		fetch := req.(*kmsg.OffsetFetchRequest)
		resp := fetch.ResponseKind().(*kmsg.OffsetFetchResponse)
		for _, g := range fetch.Groups {
			rg := kmsg.NewOffsetFetchResponseGroup()
			rg.Group, rg.ErrorCode = g.Group, code
			resp.Groups = append(resp.Groups, rg)
		}
		return resp
	}
}

// TestFaultsWhileChanging: whatever brokers say or do not say, each commit is told as
// what it is then.
func TestFaultsWhileChanging(t *testing.T) {
	committing, deleting, reading := kmsg.OffsetCommit.Int16(), kmsg.OffsetDelete.Int16(), kmsg.OffsetFetch.Int16()
	answer := func(code int16) func(kmsg.Request) kmsg.Response {
		return func(req kmsg.Request) kmsg.Response { return answered(req, code) }
	}
	for name, test := range map[string]struct {
		key   int16
		fault func(kmsg.Request) kmsg.Response
		want  [2]string
	}{
		"refused": {
			committing, answer(kerr.TopicAuthorizationFailed.Code),
			[2]string{"0: 5 -> 3 unchanged ! not authorized to read", "2: 1 -> - changed"},
		},
		"a member has joined": {
			committing, answer(kerr.UnknownMemberID.Code),
			[2]string{"0: 5 -> 3 unchanged ! a member has joined group g in the meantime", "2: 1 -> - unchanged ! a member has joined group g in the meantime"},
		},
		"members subscribe": {
			deleting, answer(kerr.GroupSubscribedToTopic.Code),
			[2]string{"0: 5 -> 3 changed", "2: 1 -> - unchanged ! members of group g subscribe to it"},
		},
		"a topic that is gone": {
			deleting, answer(kerr.UnknownTopicOrPartition.Code),
			[2]string{"0: 5 -> 3 changed", "2: 1 -> - unchanged ! brokers remove no commit on a topic that does not exist"},
		},
		"a lie": {
			committing, answer(0),
			[2]string{"0: 5 -> 3 unchanged ! partition 0: group g: the broker said that it was changed, but it is as it was", "2: 1 -> - changed"},
		},
		"no way to read it back": {
			reading, answer(kerr.GroupAuthorizationFailed.Code),
			[2]string{"0: 5 -> 3 unknown ! not authorized to use the group g", "2: 1 -> - unknown ! not authorized to use the group g"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			k, topic := logsOf(kafkatest.Fake(t, kafkatest.Options{}))
			apply := resetTwo(t, k, topic)
			k.Fake().ControlKey(test.key, func(req kmsg.Request) (kmsg.Response, error, bool) {
				k.Fake().KeepControl()
				return test.fault(req), nil, true
			})
			if got := apply(t.Context()); !slices.Equal(got, test.want[:]) {
				t.Errorf("%q", got)
			}
		})
	}
}

// TestAnswerLost: what was committed counts as changed although the broker's answer
// said otherwise, because it is read back.
func TestAnswerLost(t *testing.T) {
	k, topic := logsOf(kafkatest.Fake(t, kafkatest.Options{}))
	apply := resetTwo(t, k, topic)
	k.Commit("g", topic, 0, 3) // what kcm's own request did, for all that it can see
	k.Fake().ControlKey(kmsg.OffsetCommit.Int16(), func(req kmsg.Request) (kmsg.Response, error, bool) {
		k.Fake().KeepControl()
		return answered(req, kerr.RequestTimedOut.Code), nil, true
	})
	if got := apply(t.Context()); !slices.Equal(got, []string{"0: 5 -> 3 changed", "2: 1 -> - changed"}) {
		t.Errorf("%q", got)
	}
}

// TestSomebodyElse: a commit that is neither the old nor the new one is told.
func TestSomebodyElse(t *testing.T) {
	k, topic := logsOf(kafkatest.Fake(t, kafkatest.Options{}))
	apply := resetTwo(t, k, topic)
	k.Commit("g", topic, 0, 8)
	k.Fake().ControlKey(kmsg.OffsetCommit.Int16(), func(req kmsg.Request) (kmsg.Response, error, bool) {
		k.Fake().KeepControl()
		return answered(req, 0), nil, true
	})
	want := []string{"0: 5 -> 3 unknown ! partition 0: group g: somebody else has committed at the same time", "2: 1 -> - changed"}
	if got := apply(t.Context()); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestCutShort: groups that have not been begun when a run ends are left alone.
func TestCutShort(t *testing.T) {
	k, topic := logsOf(kafkatest.Fake(t, kafkatest.Options{}))
	apply := resetTwo(t, k, topic)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got := apply(ctx)
	if len(got) != 2 || !strings.HasPrefix(got[0], "0: 5 -> 3 unchanged ! ") || !strings.HasPrefix(got[1], "2: 1 -> - unchanged ! ") {
		t.Errorf("%q", got)
	}
}

// TestOneRequestAGroup: the commits of a group go in one request, unless that would
// grow too large for the brokers' log.
func TestOneRequestAGroup(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{})
	k := rig.Cluster("east")
	k.CreateTopic("t", 300, nil)
	c := open(t, k)
	var requests, parts atomic.Int32
	k.Fake().ControlKey(kmsg.OffsetCommit.Int16(), func(req kmsg.Request) (kmsg.Response, error, bool) {
		k.Fake().KeepControl()
		requests.Add(1)
		for _, rt := range req.(*kmsg.OffsetCommitRequest).Topics {
			parts.Add(int32(len(rt.Partitions)))
		}
		return nil, nil, false
	})
	long := strings.Repeat("m", 4000)
	for _, test := range []struct {
		metadata       *string
		groups         int
		requests, each int32
	}{{nil, 4, 4, 300}, {&long, 1, 3, 300}} {
		requests.Store(0)
		parts.Store(0)
		var wishes []offsets.Wish
		for g := range test.groups {
			for p := range int32(300) {
				wishes = append(wishes, offsets.Wish{Group: fmt.Sprint("g", g), Partition: offsets.Partition{Topic: "t", Partition: p}, Target: offsets.Target{Metadata: test.metadata}})
			}
		}
		changes, err := offsets.Planner{}.Plan(t.Context(), c, wishes)
		if err != nil {
			t.Fatal(err)
		}
		carryOut(t.Context(), t, c, changes)
		for _, ch := range changes {
			if ch.Outcome != offsets.Changed {
				t.Fatalf("%s", changed(ch))
			}
		}
		if requests.Load() != test.requests || parts.Load() != test.each*int32(test.groups) {
			t.Errorf("%d requests for %d partitions", requests.Load(), parts.Load())
		}
	}
}
