package source

import (
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

// joining is a way to join a group.
type joining struct {
	opts   []kgo.Opt
	server bool // the brokers assign
}

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
func (m *member) choose(info cluster.GroupInfo, refused error) (joining, error) {
	where := m.cluster.Name()
	no := func(format string, args ...any) (joining, error) {
		return joining{}, fault.New(fault.Refused, "%s: group %s "+format, append([]any{where, m.group}, args...)...).On(where)
	}
	switch {
	case info.Kind == cluster.ShareGroup, info.Kind == cluster.StreamsGroup:
		return no("is a %s group, which keeps its positions itself", info.Kind)
	case info.Kind == cluster.ClassicGroup && info.Protocol != "" && info.Protocol != "consumer":
		return no("is no consumers' group but of type %s", info.Protocol)
	case info.Kind == cluster.ClassicGroup && len(info.Members) > 0 && info.Assignor == "stream":
		return no("is that of a Kafka Streams application")
	}
	server := m.protocol == GroupServer || m.protocol == GroupAsIs && info.Kind == cluster.ConsumerGroup && info.ReliableCommits
	if server && !info.AssignedByBrokers {
		return joining{}, fault.New(fault.Failed, "%s: the brokers do not have the protocol of --group-protocol consumer", where).
			On(where).WithHint("Kafka 4.0 and later do; --group-protocol classic")
	}
	if server {
		return joining{opts: []kgo.Opt{kgo.Balancers(serverAssignor(info)), kgo.ServerSideBalancer()}, server: true}, nil
	}
	if refused != nil && len(info.Members) == 0 && info.Kind != cluster.ConsumerGroup {
		refused = nil // whoever was in the way has left
	}
	list, err := m.classic(info, refused)
	return joining{opts: []kgo.Opt{kgo.Balancers(list...)}}, err
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
