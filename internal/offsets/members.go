package offsets

import (
	"context"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kcm-cli/kcm/internal/cluster"
)

// describe asks for states and members. Groups that were only named may be of any
// kind: they are asked for as one kind after the other.
func (r *groupReader) describe(ctx context.Context) {
	of := func(kind cluster.GroupKind) func(*Group) bool {
		return func(g *Group) bool { return g.Kind == kind || g.Kind == cluster.NoGroup }
	}
	r.about(ctx, &subject{of(cluster.ConsumerGroup), consumerRequest, r.takeConsumer})
	r.about(ctx, &subject{of(cluster.ClassicGroup), classicRequest, r.takeClassic})
	r.about(ctx, &subject{of(cluster.ShareGroup), shareRequest, r.takeShare})
	r.about(ctx, &subject{of(cluster.StreamsGroup), streamsRequest, r.takeStreams})
}

// described returns the group that an answer is about; nil if there is no more to
// say, for it is not of that kind, or may not be seen.
func (r *groupReader) described(name string, code int16) *Group {
	g := r.groups[name]
	if g == nil {
		return nil
	}
	switch err := kerr.ErrorForCode(code); {
	case err == nil:
		return g
	case !absent(err) && g.Err == nil:
		g.Err = r.c.ExplainGroup(err, name)
	}
	return nil
}

func classicRequest(names []string) kmsg.Request {
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Groups = names
	return req
}

func (r *groupReader) takeClassic(_ *question, kresp kmsg.Response) (moved []string) {
	resp, ok := kresp.(*kmsg.DescribeGroupsResponse)
	if !ok {
		return nil
	}
	for i := range resp.Groups {
		d := &resp.Groups[i]
		if moves(d.ErrorCode) {
			moved = append(moved, d.Group)
			continue
		}
		g := r.described(d.Group, d.ErrorCode)
		if g == nil || d.State == "Dead" { // what older brokers say of what they do not know
			continue
		}
		g.Kind, g.State, g.Protocol, g.Assignor = cluster.ClassicGroup, d.State, d.ProtocolType, d.Protocol
		for j := range d.Members {
			g.Members = append(g.Members, classicMember(d.ProtocolType, &d.Members[j]))
		}
	}
	return moved
}

func classicMember(protocol string, m *kmsg.DescribeGroupsResponseGroupMember) Member {
	out := Member{ID: m.MemberID, Client: m.ClientID, Host: host(m.ClientHost), Instance: deref(m.InstanceID)}
	if protocol != "consumer" {
		out.Opaque = true
		return out
	}
	if len(m.MemberAssignment) == 0 { // members have not agreed yet
		return out
	}
	var a kmsg.ConsumerMemberAssignment
	if err := a.ReadFrom(m.MemberAssignment); err != nil {
		out.Opaque = true
		return out
	}
	for _, t := range a.Topics {
		out.assign(t.Topic, t.Partitions)
	}
	out.sort()
	return out
}

func (m *Member) assign(topic string, partitions []int32) {
	for _, p := range partitions {
		m.Assigned = append(m.Assigned, Partition{Topic: topic, Partition: p})
	}
}

func (m *Member) sort() {
	slices.SortFunc(m.Assigned, ComparePartitions)
	m.Assigned = slices.Compact(m.Assigned)
}

func consumerRequest(names []string) kmsg.Request {
	req := kmsg.NewPtrConsumerGroupDescribeRequest()
	req.Groups = names
	return req
}

func (r *groupReader) takeConsumer(_ *question, kresp kmsg.Response) (moved []string) {
	resp, ok := kresp.(*kmsg.ConsumerGroupDescribeResponse)
	if !ok {
		return nil
	}
	for i := range resp.Groups {
		d := &resp.Groups[i]
		if moves(d.ErrorCode) {
			moved = append(moved, d.Group)
			continue
		}
		g := r.described(d.Group, d.ErrorCode)
		if g == nil {
			continue
		}
		g.Kind, g.State, g.Protocol, g.Assignor = cluster.ConsumerGroup, d.State, "consumer", d.AssignorName
		for j := range d.Members {
			m := &d.Members[j]
			out := Member{ID: m.MemberID, Client: m.ClientID, Host: host(m.ClientHost), Instance: deref(m.InstanceID)}
			for _, t := range m.Assignment.TopicPartitions {
				out.assign(t.Topic, t.Partitions)
			}
			out.sort()
			g.Members = append(g.Members, out)
		}
	}
	return moved
}

func shareRequest(names []string) kmsg.Request {
	req := kmsg.NewPtrShareGroupDescribeRequest()
	req.GroupIDs = names
	return req
}

func (r *groupReader) takeShare(_ *question, kresp kmsg.Response) (moved []string) {
	resp, ok := kresp.(*kmsg.ShareGroupDescribeResponse)
	if !ok {
		return nil
	}
	for i := range resp.Groups {
		d := &resp.Groups[i]
		if moves(d.ErrorCode) {
			moved = append(moved, d.GroupID)
			continue
		}
		g := r.described(d.GroupID, d.ErrorCode)
		if g == nil {
			continue
		}
		g.Kind, g.State, g.Protocol, g.Assignor = cluster.ShareGroup, d.GroupState, "share", d.Assignor
		for j := range d.Members {
			m := &d.Members[j]
			out := Member{ID: m.MemberID, Client: m.ClientID, Host: host(m.ClientHost)}
			for _, t := range m.Assignment.TopicPartitions {
				out.assign(t.Topic, t.Partitions)
			}
			out.sort()
			g.Members = append(g.Members, out)
		}
	}
	return moved
}

func streamsRequest(names []string) kmsg.Request {
	req := kmsg.NewPtrStreamsGroupDescribeRequest()
	req.Groups = names
	return req
}

func (r *groupReader) takeStreams(_ *question, kresp kmsg.Response) (moved []string) {
	resp, ok := kresp.(*kmsg.StreamsGroupDescribeResponse)
	if !ok {
		return nil
	}
	for i := range resp.Groups {
		d := &resp.Groups[i]
		if moves(d.ErrorCode) {
			moved = append(moved, d.Group)
		} else if g := r.described(d.Group, d.ErrorCode); g != nil {
			takeStreams(g, d)
		}
	}
	return moved
}

func takeStreams(g *Group, d *kmsg.StreamsGroupDescribeResponseGroup) {
	g.Kind, g.State, g.Protocol = cluster.StreamsGroup, d.State, "streams"
	sources := map[string][]string{} // by subtopology
	if d.Topology != nil {
		for _, s := range d.Topology.Subtopologies {
			sources[s.SubtopologyID] = slices.Clone(s.SourceTopics)
			for _, t := range s.RepartitionSourceTopics {
				sources[s.SubtopologyID] = append(sources[s.SubtopologyID], t.Topic)
			}
		}
	}
	for i := range d.Members {
		m := &d.Members[i]
		out := Member{ID: m.MemberID, Client: m.ClientID, Host: host(m.ClientHost), Instance: deref(m.InstanceID)}
		for _, task := range m.Assignment.ActiveTasks {
			for _, topic := range sources[task.SubtopologyID] {
				out.assign(topic, task.Partitions)
			}
		}
		out.sort()
		g.Members = append(g.Members, out)
	}
}

func host(s string) string { return strings.TrimPrefix(s, "/") }
