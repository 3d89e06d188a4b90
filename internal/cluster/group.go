package cluster

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kcm-cli/kcm/internal/fault"
)

// GroupKind is what kind of group a name belongs to. Brokers keep all kinds
// under one set of names.
type GroupKind string

// The kinds of group.
const (
	NoGroup       GroupKind = ""         // there is none of that name
	ClassicGroup  GroupKind = "classic"  // members agree on assignments themselves; so does a group that has commits only
	ConsumerGroup GroupKind = "consumer" // the broker assigns (KIP-848)
	ShareGroup    GroupKind = "share"    // KIP-932
	StreamsGroup  GroupKind = "streams"  // KIP-1071
)

// GroupInfo is what a cluster says about one group.
type GroupInfo struct {
	Kind     GroupKind
	State    string // as the broker calls it: Stable, PreparingRebalance, Empty, Dead …
	Protocol string // of a classic group: its protocol type; empty if no member ever joined
	Assignor string // in use; empty while members have not agreed on one
	Members  []GroupMember

	// AssignedByBrokers says that the brokers have the protocol of KIP-848, and
	// ReliableCommits that they are of 4.3 or later, before which a member of that
	// protocol can be refused a commit through no fault of its own.
	AssignedByBrokers, ReliableCommits bool
	// CommitsByID says that commits name topics by their ids, so that a broker
	// refuses what is of a topic that was made again (4.2 and later).
	CommitsByID bool
}

// GroupMember is one member of a group.
type GroupMember struct {
	ID       string
	ClientID string
	Host     string
	// Aims says that the broker means it to have partitions, whether it has them
	// already or waits for others to give them back. Of a consumer group only.
	Aims bool
}

// Settled reports whether nobody waits for partitions that others still have.
func (g GroupInfo) Settled() bool { return g.State == "Stable" }

// DescribeGroup says what kind of group a name belongs to and who its members
// are. It ends within 5 s.
func (c *Cluster) DescribeGroup(ctx context.Context, name string) (GroupInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, lookupLimit)
	defer cancel()
	cl, err := c.Control()
	if err != nil {
		return GroupInfo{}, err
	}
	return c.describeGroup(ctx, cl, name)
}

func (c *Cluster) describeGroup(ctx context.Context, cl *kgo.Client, name string) (GroupInfo, error) {
	versions, err := kmsg.NewPtrApiVersionsRequest().RequestWith(ctx, cl)
	if err != nil {
		return GroupInfo{}, c.Explain(err, "")
	}
	highest := func(key kmsg.Key) int16 {
		i := slices.IndexFunc(versions.ApiKeys, func(k kmsg.ApiVersionsResponseApiKey) bool { return k.ApiKey == key.Int16() })
		if i < 0 {
			return -1
		}
		return versions.ApiKeys[i].MaxVersion
	}
	var info GroupInfo
	for _, ask := range []struct {
		since int16 // the highest version that the broker must have at least; -1 is any
		key   kmsg.Key
		how   func(context.Context, *kgo.Client, string, *GroupInfo) error
	}{
		{-1, kmsg.DescribeGroups, askClassic},
		{0, kmsg.ConsumerGroupDescribe, askConsumer},
		{0, kmsg.ShareGroupDescribe, askShare},
		{0, kmsg.StreamsGroupDescribe, askStreams},
	} {
		if info.Kind != NoGroup || highest(ask.key) < ask.since {
			continue
		}
		if err := ask.how(ctx, cl, name, &info); err != nil {
			return GroupInfo{}, c.explainGroup(err, name)
		}
	}
	info.CommitsByID = highest(kmsg.OffsetCommit) >= 10
	info.AssignedByBrokers = highest(kmsg.ConsumerGroupHeartbeat) >= 1
	// No request that groups use was changed in 4.3; this one was (KIP-1066).
	info.ReliableCommits = info.AssignedByBrokers && highest(kmsg.DescribeLogDirs) >= 5
	return info, nil
}

// explainGroup is Explain for what a group is asked.
func (c *Cluster) explainGroup(err error, name string) error {
	switch {
	case errors.Is(err, kerr.GroupAuthorizationFailed):
		return c.kind(fault.Auth, err, c.name, "not authorized to use the group %s", name).
			WithHint("the principal needs READ on the group")
	case kerr.IsRetriable(err):
		return c.kind(fault.Unreachable, err, c.name, "the coordinator of group %s is not available", name)
	default:
		return c.Explain(err, "")
	}
}

// ExplainGroup turns an error of a group's member or of its commits into one of
// the right kind that names the cluster and the group.
func (c *Cluster) ExplainGroup(err error, group string) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	if _, ok := errors.AsType[*fault.Error](err); ok {
		return err
	}
	known := c.explainGroup(err, group)
	if errors.Is(err, kerr.GroupAuthorizationFailed) || kerr.IsRetriable(err) {
		return known
	}
	text := strings.TrimPrefix(known.Error(), c.name+": ")
	return c.kind(fault.KindOf(known), err, c.name, "group %s: %s", group, text).WithHint("%s", fault.HintOf(known))
}

// UnstableCommit is the error of a commit that an open transaction is about to
// replace (KIP-447), so that what holds is not known yet.
func (c *Cluster) UnstableCommit(cause error, group, topic string) error {
	return c.kind(fault.Failed, cause, c.name+"/"+topic, "an open transaction holds up the commit of group %s", group)
}

// notThere reports whether an answer says that there is no such group of the kind
// that was asked for.
func notThere(code int16) (absent bool, err error) {
	err = kerr.ErrorForCode(code)
	return errors.Is(err, kerr.GroupIDNotFound) || errors.Is(err, kerr.UnsupportedVersion), err
}

// each goes over the groups that an answer describes, until one is not there. Use
// takes what is said of the others.
func each[G any](groups []G, code func(*G) int16, use func(*G)) error {
	for i := range groups {
		absent, err := notThere(code(&groups[i]))
		if absent {
			return nil
		}
		if err != nil {
			return err
		}
		use(&groups[i])
	}
	return nil
}

func askClassic(ctx context.Context, cl *kgo.Client, name string, info *GroupInfo) error {
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Groups = []string{name}
	resp, err := req.RequestWith(ctx, cl)
	if err != nil {
		return err
	}
	type group = kmsg.DescribeGroupsResponseGroup
	return each(resp.Groups, func(g *group) int16 { return g.ErrorCode }, func(g *group) {
		if g.State == "Dead" { // what older brokers say of what they do not know
			return
		}
		info.Kind, info.State, info.Protocol, info.Assignor = ClassicGroup, g.State, g.ProtocolType, g.Protocol
		for _, m := range g.Members {
			info.Members = append(info.Members, GroupMember{ID: m.MemberID, ClientID: m.ClientID, Host: hostOf(m.ClientHost)})
		}
	})
}

func askConsumer(ctx context.Context, cl *kgo.Client, name string, info *GroupInfo) error {
	req := kmsg.NewPtrConsumerGroupDescribeRequest()
	req.Groups = []string{name}
	resp, err := req.RequestWith(ctx, cl)
	if err != nil {
		return err
	}
	type group = kmsg.ConsumerGroupDescribeResponseGroup
	return each(resp.Groups, func(g *group) int16 { return g.ErrorCode }, func(g *group) {
		info.Kind, info.State, info.Protocol, info.Assignor = ConsumerGroup, g.State, "consumer", g.AssignorName
		for _, m := range g.Members {
			aims := len(m.TargetAssignment.TopicPartitions) > 0
			info.Members = append(info.Members, GroupMember{ID: m.MemberID, ClientID: m.ClientID, Host: hostOf(m.ClientHost), Aims: aims})
		}
	})
}

func askShare(ctx context.Context, cl *kgo.Client, name string, info *GroupInfo) error {
	req := kmsg.NewPtrShareGroupDescribeRequest()
	req.GroupIDs = []string{name}
	resp, err := req.RequestWith(ctx, cl)
	if err != nil {
		return err
	}
	type group = kmsg.ShareGroupDescribeResponseGroup
	return each(resp.Groups, func(g *group) int16 { return g.ErrorCode }, func(g *group) { info.Kind, info.State = ShareGroup, g.GroupState })
}

func askStreams(ctx context.Context, cl *kgo.Client, name string, info *GroupInfo) error {
	req := kmsg.NewPtrStreamsGroupDescribeRequest()
	req.Groups = []string{name}
	resp, err := req.RequestWith(ctx, cl)
	if err != nil {
		return err
	}
	type group = kmsg.StreamsGroupDescribeResponseGroup
	return each(resp.Groups, func(g *group) int16 { return g.ErrorCode }, func(g *group) { info.Kind, info.State = StreamsGroup, g.State })
}

// hostOf drops the slash that brokers put before an address.
func hostOf(host string) string { return strings.TrimPrefix(host, "/") }
