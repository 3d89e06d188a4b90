package source

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/fault"
)

// GroupProtocol is how a group's partitions are assigned.
type GroupProtocol string

// The protocols of --group-protocol.
const (
	GroupAsIs    GroupProtocol = ""         // as the group is; classic for a new one
	GroupClassic GroupProtocol = "classic"  // by one of its members
	GroupServer  GroupProtocol = "consumer" // by the brokers (KIP-848)
)

// balancers are the assignors that this client has, by the names that members
// know them by.
func balancers() map[string]kgo.GroupBalancer {
	return map[string]kgo.GroupBalancer{
		"range": kgo.RangeBalancer(), "roundrobin": kgo.RoundRobinBalancer(),
		"sticky": kgo.StickyBalancer(), "cooperative-sticky": kgo.CooperativeStickyBalancer(),
	}
}

// choose says how to join a group without changing what it is. refused is why the
// last way did not do; nil at first.
func (m *member) choose(info cluster.GroupInfo, refused error) ([]kgo.Opt, error) {
	if err := m.refuse(info); err != nil {
		return nil, err
	}
	where := m.cluster.Name()
	server := m.protocol == GroupServer || m.protocol == GroupAsIs && info.Kind == cluster.ConsumerGroup && info.ReliableCommits
	if server && !info.AssignedByBrokers {
		return nil, fault.New(fault.Failed, "%s: the brokers do not have the protocol of --group-protocol consumer", where).
			On(where).WithHint("Kafka 4.0 and later do; --group-protocol classic")
	}
	if server {
		return []kgo.Opt{kgo.Balancers(serverAssignor(info)), kgo.ServerSideBalancer()}, nil
	}
	if refused != nil && len(info.Members) == 0 && info.Kind != cluster.ConsumerGroup {
		refused = nil // whoever was in the way has left
	}
	list, err := m.classic(info, refused)
	return []kgo.Opt{kgo.Balancers(list...)}, err
}

// refuse refuses groups that are no consumers' groups.
func (m *member) refuse(info cluster.GroupInfo) error {
	what := ""
	switch {
	case info.Kind == cluster.ShareGroup, info.Kind == cluster.StreamsGroup:
		what = fmt.Sprintf("is a %s group, which keeps its positions itself", info.Kind)
	case info.Kind != cluster.ClassicGroup:
	case info.Protocol != "" && info.Protocol != "consumer":
		what = "is no consumers' group but of type " + info.Protocol
	case len(info.Members) > 0 && info.Assignor == "stream":
		what = "is that of a Kafka Streams application"
	}
	if what == "" {
		return nil
	}
	where := m.cluster.Name()
	return fault.New(fault.Refused, "%s: group %s %s", where, m.group, what).On(where)
}

// serverAssignor votes for what the brokers use already.
func serverAssignor(info cluster.GroupInfo) kgo.GroupBalancer {
	if info.Kind == cluster.ConsumerGroup && info.Assignor == "range" {
		return kgo.RangeBalancer()
	}
	return kgo.StickyBalancer() // which the brokers call uniform
}

// classic are the assignors to offer to a group of the classic protocol.
func (m *member) classic(info cluster.GroupInfo, refused error) ([]kgo.GroupBalancer, error) {
	known := balancers()
	usual := []kgo.GroupBalancer{known["cooperative-sticky"], known["range"]}
	switch {
	case info.Kind != cluster.ClassicGroup || len(info.Members) == 0:
		return usual, nil
	case info.Assignor == "": // they have not agreed yet: whatever they agree on
		return []kgo.GroupBalancer{known["range"], known["roundrobin"], known["cooperative-sticky"], known["sticky"]}, nil
	case known[info.Assignor] == nil:
		where := m.cluster.Name()
		err := fault.New(fault.Refused, "%s: group %s uses the assignor %s, which kcm does not have", where, m.group, info.Assignor).
			On(where).WithHint("a group of another name, or -o group:%s to begin at its commits without joining", m.group)
		return nil, err
	case refused != nil:
		return nil, m.cluster.ExplainGroup(refused, m.group)
	default:
		return []kgo.GroupBalancer{known[info.Assignor]}, nil
	}
}
