package source

import (
	"fmt"
	"strings"

	"github.com/kcm-cli/kcm/internal/cluster"
)

// joins implements memberHandler.
func (g *grouping) joins(info cluster.GroupInfo) {
	where, group := g.r.name, g.r.e.Group
	g.mu.Lock()
	g.shared = len(info.Members) > 0
	g.mu.Unlock()
	switch n := len(info.Members); {
	case n > 0:
		g.r.event(Event{Kind: Note, Text: fmt.Sprintf("%s: group %s has %s: %s", where, group, membersAre(n), membersText(info.Members))})
	case info.Kind == cluster.ClassicGroup && info.Protocol == "":
		g.r.event(Event{Kind: Note, Text: fmt.Sprintf("%s: group %s has commits of a client that never joined it, as Flink does: if that still runs, both read the same records", where, group)})
	}
}

func membersAre(n int) string {
	if n == 1 {
		return "a member"
	}
	return fmt.Sprintf("%d members", n)
}

// membersText names the first few members.
func membersText(list []cluster.GroupMember) string {
	var names []string
	for _, m := range list[:min(len(list), mostNamed)] {
		names = append(names, fmt.Sprintf("%s (%s)", m.ClientID, m.Host))
	}
	if more := len(list) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

// partsText says which partitions, topic by topic.
func (g *grouping) partsText(parts []cluster.TopicPartition) string {
	var topics []string
	ids := map[string][]int32{}
	for _, p := range parts {
		if ids[p.Topic] == nil {
			topics = append(topics, p.Topic)
		}
		ids[p.Topic] = append(ids[p.Topic], p.Partition)
	}
	var list []string
	for _, t := range topics[:min(len(topics), mostNamed)] {
		g.mu.Lock()
		all := g.parts[t]
		g.mu.Unlock()
		list = append(list, fmt.Sprintf("%s (%s)", t, partitionsText(ids[t], all)))
	}
	if more := len(topics) - len(list); more > 0 {
		list = append(list, fmt.Sprintf("and partitions of %d more topics", more))
	}
	return strings.Join(list, ", ")
}
