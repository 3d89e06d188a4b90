package cmd

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/metadata"
	"github.com/kcm-cli/kcm/internal/offsets"
	"github.com/kcm-cli/kcm/internal/output"
)

// describeGroupCmds are the commands about groups.
func describeGroupCmds(env *Env) []*cobra.Command {
	return []*cobra.Command{
		describeSub(env, describeWords{use: "groups [CLUSTER]", short: "List the groups of every cluster, or of one"}, takesAtMostOne("CLUSTER"),
			func(ctx context.Context, o *describeOptions, view *metadata.View, args []string) (document, []error, error) {
				return describeGroups(ctx, o, view, args)
			}, completeClusters(env)),
		describeSub(env, describeWords{use: "group [CLUSTER/]NAME", short: "Show a group with its members and their lag, on every cluster that has it or on one"}, takesOne("the name of a group", "[CLUSTER/]NAME"),
			func(ctx context.Context, o *describeOptions, view *metadata.View, args []string) (document, []error, error) {
				return describeGroup(ctx, o, view, args[0])
			}, completeDescribedGroup(env)),
	}
}

// groupHead is what a group is, on one cluster.
type groupHead struct {
	Cluster     string  `json:"cluster"`
	Group       string  `json:"group"`
	Kind        *string `json:"kind"` // classic, consumer, share or streams
	State       *string `json:"state"`
	Protocol    *string `json:"protocol"` // of a classic group; null if nobody ever joined
	Assignor    *string `json:"assignor"`
	Coordinator *int32  `json:"coordinator"`

	name string // as it is
}

func newGroupHead(name string, g *offsets.Group) groupHead {
	return groupHead{
		Cluster: name, Group: output.Exact(g.Name), name: g.Name, Kind: optional(string(g.Kind)), State: optional(g.State),
		Protocol: optional(output.Exact(g.Protocol)), Assignor: optional(output.Exact(g.Assignor)), Coordinator: known(g.Coordinator),
	}
}

// listedGroup is a group in a list.
type listedGroup struct {
	groupHead
	Members *int    `json:"members"`
	Error   *string `json:"error"`
}

// groupsDoc lists groups of clusters.
type groupsDoc struct {
	Groups []listedGroup `json:"groups"`
	Failed []failedDoc   `json:"failed"`

	count int
}

func (d *groupsDoc) asked() int { return d.count }

// groupsAnswer is what a cluster says about its groups.
type groupsAnswer struct {
	groups []offsets.Group
	err    error // some brokers did not say which they have
}

func describeGroups(ctx context.Context, o *describeOptions, view *metadata.View, args []string) (document, []error, error) {
	if o.offline {
		return nil, nil, fault.New(fault.Usage, "--offline: groups are known to the clusters only")
	}
	names, err := clusterNames(view, args)
	if err != nil {
		return &groupsDoc{Failed: []failedDoc{{args[0], err.Error()}}}, nil, err
	}
	replies, err := eachCluster(ctx, o, view, names, askGroups)
	if err != nil {
		return nil, nil, err
	}
	doc := &groupsDoc{count: len(names)}
	for i, r := range replies {
		for j := range r.answer.groups {
			g := &r.answer.groups[j]
			l := listedGroup{groupHead: newGroupHead(names[i], g), Error: errorOf(g.Err)}
			if g.Err == nil {
				l.Members = new(len(g.Members))
			}
			doc.Groups = append(doc.Groups, l)
		}
		if r.err != nil && (len(r.answer.groups) == 0 || r.answer.err != nil) {
			doc.Failed = append(doc.Failed, failedDoc{names[i], r.err.Error()})
		}
	}
	return doc, troubles(replies), nil
}

func askGroups(ctx context.Context, r respondent) (a groupsAnswer, err error) {
	if _, err := r.meet(ctx); err != nil {
		return a, err
	}
	a.groups, a.err = offsets.Groups(ctx, r.Cluster, offsets.Selection{All: true}, offsets.Detail{Members: true})
	first, some := a.err, false
	for i := range a.groups {
		if err := a.groups[i].Err; err == nil {
			some = true
		} else if first == nil {
			first = err
		}
	}
	return a, lessen(first, some)
}

func (d *groupsDoc) tables(wide bool) []output.Table {
	t := output.Table{Columns: []output.Column{
		{Header: "CLUSTER"}, {Header: "GROUP"}, {Header: "KIND"}, {Header: "STATE"}, {Header: "MEMBERS", Right: true}, {Header: "COORDINATOR", Right: true},
	}}
	if wide {
		t.Columns = append(t.Columns, output.Column{Header: "PROTOCOL"}, output.Column{Header: "ASSIGNOR"})
	}
	t.Columns = append(t.Columns, output.Column{Header: "ERROR"})
	for i := range d.Groups {
		g := &d.Groups[i]
		row := output.Text(g.Cluster, g.name, text(g.Kind), text(g.State), number(g.Members), number(g.Coordinator))
		if wide {
			row = append(row, output.Text(text(g.Protocol), text(g.Assignor))...)
		}
		t.Rows = append(t.Rows, append(row, trouble(g.Error)))
	}
	for _, f := range d.Failed {
		row := output.Text(f.Cluster, "-", "-", "-", "-", "-")
		if wide {
			row = append(row, output.Text("-", "-")...)
		}
		t.Rows = append(t.Rows, append(row, trouble(&f.Error)))
	}
	return []output.Table{t}
}

// assignedDoc is what a member has of one topic.
type assignedDoc struct {
	Topic      string  `json:"topic"`
	Partitions []int32 `json:"partitions"`
}

// memberDoc is one member of a group.
type memberDoc struct {
	MemberID   string         `json:"member_id"`
	InstanceID *string        `json:"instance_id"`
	ClientID   string         `json:"client_id"`
	Host       string         `json:"host"`
	Assigned   *[]assignedDoc `json:"assigned"` // null: its protocol is not a consumer's
}

// oneGroupDoc is a group on one cluster.
type oneGroupDoc struct {
	groupHead
	TotalLag   *int64      `json:"total_lag"`
	Unknown    int         `json:"unknown"`
	Members    []memberDoc `json:"members"`
	Partitions []lagRowDoc `json:"partitions"`
	Error      *string     `json:"error"`
}

// groupDoc is a group on every cluster that has it.
type groupDoc struct {
	Groups []oneGroupDoc `json:"groups"`
	Failed []failedDoc   `json:"failed"`
	Error  *string       `json:"error"` // there is no such group

	name    string
	count   int
	lacking error
}

func (d *groupDoc) asked() int { return d.count }

func (d *groupDoc) verdict() error { return d.lacking }

// describedGroup reads [CLUSTER/]NAME. Names of groups may hold a slash: what stands
// before it is a cluster only if there is one of that name.
func describedGroup(view *metadata.View, word string) (clusters []string, group string) {
	if name, rest, ok := strings.Cut(word, "/"); ok && view.Cluster(name) != nil && rest != "" {
		return []string{name}, rest
	}
	return allClusters(view), word
}

func describeGroup(ctx context.Context, o *describeOptions, view *metadata.View, word string) (document, []error, error) {
	if o.offline {
		return nil, nil, fault.New(fault.Usage, "--offline: groups are known to the clusters only")
	}
	clusters, group := describedGroup(view, word)
	if group == "" {
		return nil, nil, fault.New(fault.Usage, "a group has a name").WithHint("kcm describe groups lists them")
	}
	lag := &offsetsLagOptions{}
	lag.describeOptions, lag.groups = *o, groupChoice{offsets.Selection{Names: []string{group}}}
	scopes := make([]clusterScope, len(clusters))
	for i, name := range clusters {
		scopes[i] = clusterScope{cluster: name, view: view}
	}
	replies, err := eachCluster(ctx, o, view, clusters, func(ctx context.Context, r respondent) (lagAnswer, error) {
		return lag.ask(ctx, r, clusterScope{cluster: r.Name(), view: view})
	})
	if err != nil {
		return nil, nil, err
	}
	doc := &groupDoc{name: group, count: len(clusters)}
	for i, r := range replies {
		doc.take(clusters[i], r)
	}
	failed := troubles(replies)
	if len(doc.Groups) > 0 || len(failed) == len(replies) {
		return doc, failed, nil
	}
	lacking := lag.unknown(scopes, replies)
	if doc.Error = errorOf(lacking); len(failed) == 0 {
		return doc, nil, lacking
	}
	doc.lacking = withFailures(lacking, failed)
	return doc, failed, nil
}

func (d *groupDoc) take(name string, r reply[lagAnswer]) {
	shown := false
	for i := range r.answer.groups {
		g := &r.answer.groups[i]
		if g.Kind == cluster.NoGroup && g.Err == nil {
			continue
		}
		shown = true
		l := newGroupLagDoc(name, g)
		one := oneGroupDoc{groupHead: newGroupHead(name, &g.Group), TotalLag: l.TotalLag, Unknown: l.Unknown, Partitions: l.Partitions, Error: l.Error}
		one.State = l.State
		for j := range g.Members {
			one.Members = append(one.Members, newMemberDoc(&g.Members[j]))
		}
		d.Groups = append(d.Groups, one)
	}
	if r.err != nil && !shown {
		d.Failed = append(d.Failed, failedDoc{name, r.err.Error()})
	}
}

func newMemberDoc(m *offsets.Member) memberDoc {
	d := memberDoc{MemberID: output.Exact(m.ID), InstanceID: optional(output.Exact(m.Instance)), ClientID: output.Exact(m.Client), Host: output.Exact(m.Host)}
	if m.Opaque {
		return d
	}
	list := []assignedDoc{}
	for _, at := range m.Assigned {
		if n := len(list); n == 0 || list[n-1].Topic != at.Topic {
			list = append(list, assignedDoc{Topic: at.Topic})
		}
		last := &list[len(list)-1]
		last.Partitions = append(last.Partitions, at.Partition)
	}
	d.Assigned = &list
	return d
}

// assignedText is what a member has, in a cell: orders[0-2,5] refunds[1].
func (d memberDoc) assignedText() string {
	if d.Assigned == nil {
		return "(not a consumer's)"
	}
	parts := make([]string, len(*d.Assigned))
	for i, a := range *d.Assigned {
		parts[i] = a.Topic + "[" + spans(a.Partitions) + "]"
	}
	return dash(strings.Join(parts, " "))
}

// spans writes ascending numbers with those that follow one another as 0-2.
func spans(list []int32) string {
	var parts []string
	for i := 0; i < len(list); {
		j := i
		for j+1 < len(list) && list[j+1] == list[j]+1 {
			j++
		}
		part := strconv.Itoa(int(list[i]))
		if j > i {
			part += "-" + strconv.Itoa(int(list[j]))
		}
		parts = append(parts, part)
		i = j + 1
	}
	return strings.Join(parts, ",")
}

func (d *groupDoc) tables(bool) []output.Table {
	head := output.Table{Columns: []output.Column{
		{Header: "CLUSTER"},
		{Header: "GROUP"},
		{Header: "KIND"},
		{Header: "STATE"},
		{Header: "PROTOCOL"},
		{Header: "ASSIGNOR"},
		{Header: "COORDINATOR", Right: true},
		{Header: "MEMBERS", Right: true},
		{Header: "TOTAL LAG", Right: true},
		{Header: "UNKNOWN", Right: true},
		{Header: "ERROR"},
	}}
	members := output.Table{Columns: []output.Column{
		{Header: "CLUSTER"}, {Header: "MEMBER"}, {Header: "INSTANCE"}, {Header: "CLIENT"}, {Header: "HOST"}, {Header: "ASSIGNED"},
	}}
	for i := range d.Groups {
		g := &d.Groups[i]
		count := strconv.Itoa(len(g.Members))
		if g.Error != nil && len(g.Members) == 0 {
			count = "-"
		}
		row := output.Text(g.Cluster, g.name, text(g.Kind), text(g.State), text(g.Protocol), text(g.Assignor), number(g.Coordinator),
			count, number(g.TotalLag), strconv.Itoa(g.Unknown))
		head.Rows = append(head.Rows, append(row, trouble(g.Error)))
		for _, m := range g.Members {
			members.Rows = append(members.Rows, output.Text(g.Cluster, m.MemberID, text(m.InstanceID), m.ClientID, m.Host, m.assignedText()))
		}
	}
	for _, f := range d.Failed {
		head.Rows = append(head.Rows, append(output.Text(f.Cluster, d.name, "-", "-", "-", "-", "-", "-", "-", "-"), trouble(&f.Error)))
	}
	if d.Error != nil {
		head.Rows = append(head.Rows, append(output.Text("-", d.name, "-", "-", "-", "-", "-", "-", "-", "-"), trouble(d.Error)))
	}
	tables := []output.Table{head}
	if len(members.Rows) > 0 {
		tables = append(tables, members)
	}
	if rows := d.lagTable(); len(rows.Rows) > 0 {
		tables = append(tables, rows)
	}
	return tables
}

func (d *groupDoc) lagTable() output.Table {
	t := output.Table{Columns: []output.Column{
		{Header: "CLUSTER"},
		{Header: "TOPIC"},
		{Header: "PARTITION", Right: true},
		{Header: "COMMITTED", Right: true},
		{Header: "START", Right: true},
		{Header: "END", Right: true},
		{Header: "LAG", Right: true},
		{Header: "CLIENT"},
		{Header: "ERROR"},
	}}
	for i := range d.Groups {
		for j := range d.Groups[i].Partitions {
			r := &d.Groups[i].Partitions[j]
			row := output.Text(d.Groups[i].Cluster, r.Topic, strconv.Itoa(int(r.Partition)), number(r.Committed), number(r.Start), number(r.End), number(r.Lag), text(r.ClientID))
			t.Rows = append(t.Rows, append(row, trouble(r.Error)))
		}
	}
	return t
}

// completeDescribedGroup completes NAME and, once a word has a cluster before a
// slash, CLUSTER/NAME.
func completeDescribedGroup(env *Env) completeFunc {
	return completing(env, func(ctx context.Context, view *metadata.View, word string) []string {
		if name, _, ok := strings.Cut(word, "/"); ok && view.Cluster(name) != nil {
			return prefixed(name+"/", groupNames(ctx, env, view, name))
		}
		names := askEach(allClusters(view), func(name string) []string { return groupNames(ctx, env, view, name) })
		slices.Sort(names)
		return names
	})
}
