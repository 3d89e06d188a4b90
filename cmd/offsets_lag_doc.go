package cmd

import (
	"slices"
	"strconv"
	"time"

	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/metrics"
	"github.com/kcm-cli/kcm/internal/offsets"
	"github.com/kcm-cli/kcm/internal/output"
)

// lagRowDoc is a partition that a group has to do with.
type lagRowDoc struct {
	Stream    *string `json:"stream"`
	Topic     string  `json:"topic"`
	Partition int32   `json:"partition"`
	Committed *int64  `json:"committed"`
	Start     *int64  `json:"start"`
	End       *int64  `json:"end"`
	Lag       *int64  `json:"lag"`
	MemberID  *string `json:"member_id"`
	ClientID  *string `json:"client_id"`
	Host      *string `json:"host"`
	Error     *string `json:"error"`
}

// groupLagDoc is a group on one cluster.
type groupLagDoc struct {
	Cluster    string      `json:"cluster"`
	Group      string      `json:"group"`
	Kind       *string     `json:"kind"` // null: there is no such group
	State      *string     `json:"state"`
	Members    *int        `json:"members"`
	TotalLag   *int64      `json:"total_lag"` // of what is known; null if nothing is
	Unknown    int         `json:"unknown"`   // partitions without a known lag
	Partitions []lagRowDoc `json:"partitions"`
	Error      *string     `json:"error"`

	name      string // as it is
	undecided bool   // there may be lag that is not known
}

// lagDoc is what offsets lag finds out.
type lagDoc struct {
	Time   *string       `json:"time,omitempty"` // of a round of a watch
	Groups []groupLagDoc `json:"groups"`
	Failed []failedDoc   `json:"failed"`

	maxLag  int64
	named   []string // the groups that were asked for by name
	count   int
	lacking error
}

func newLagDoc(o *offsetsLagOptions, scopes []clusterScope, replies []reply[lagAnswer]) *lagDoc {
	doc := &lagDoc{maxLag: o.maxLag, named: o.groups.Names, count: len(scopes)}
	if o.watch {
		doc.Time = new(o.now().UTC().Format(time.RFC3339))
	}
	for i, r := range replies {
		name := scopes[i].cluster
		for j := range r.answer.groups {
			doc.Groups = append(doc.Groups, newGroupLagDoc(name, &r.answer.groups[j]))
		}
		for _, err := range r.answer.lacking {
			doc.Failed = append(doc.Failed, failedDoc{name, err.Error()})
		}
		if r.err != nil && (!r.answer.reached || !doc.tells(name, r.answer)) {
			doc.Failed = append(doc.Failed, failedDoc{name, r.err.Error()})
		}
	}
	return doc
}

// tells reports whether an error of the cluster stands with one of its parts.
func (d *lagDoc) tells(name string, a lagAnswer) bool {
	return len(a.lacking) > 0 || slices.ContainsFunc(d.Groups, func(g groupLagDoc) bool {
		return g.Cluster == name && (g.Error != nil || slices.ContainsFunc(g.Partitions, func(r lagRowDoc) bool { return r.Error != nil }))
	})
}

func newGroupLagDoc(name string, g *offsets.GroupLag) groupLagDoc {
	d := groupLagDoc{
		Cluster: name, Group: output.Exact(g.Name), name: g.Name,
		Kind: optional(string(g.Kind)), State: optional(g.State), Error: errorOf(g.Err),
		Partitions: make([]lagRowDoc, len(g.Lags)),
	}
	if g.Err == nil {
		d.Members = new(len(g.Members))
	} else if g.Kind == cluster.NoGroup {
		d.State = nil // it is not known
	}
	sum, known, unknown := g.Total()
	if d.Unknown = unknown; known > 0 {
		d.TotalLag = &sum
	}
	members := map[*offsets.Member][3]*string{}
	for i := range g.Lags {
		l := &g.Lags[i]
		row := &d.Partitions[i]
		*row = lagRowDoc{
			Stream: optional(l.Stream), Topic: l.Topic, Partition: l.Partition.Partition,
			Committed: l.Committed, Start: l.Start, End: l.End, Lag: l.Lag, Error: errorOf(l.Err),
		}
		if l.Member != nil {
			who, ok := members[l.Member]
			if !ok {
				who = [3]*string{new(output.Exact(l.Member.ID)), new(output.Exact(l.Member.Client)), new(output.Exact(l.Member.Host))}
				members[l.Member] = who
			}
			row.MemberID, row.ClientID, row.Host = who[0], who[1], who[2]
		}
		empty := l.Start != nil && l.End != nil && *l.Start == *l.End
		d.undecided = d.undecided || l.Lag == nil && !empty && !cluster.IsMissing(l.Err)
	}
	d.undecided = d.undecided || g.Err != nil
	return d
}

func (d *lagDoc) asked() int { return d.count }

// any reports whether there is a group to be shown.
func (d *lagDoc) any() bool {
	return slices.ContainsFunc(d.Groups, func(g groupLagDoc) bool { return g.Kind != nil || g.Error != nil })
}

// groupTotal is a group over all its clusters.
type groupTotal struct {
	lag, unknown int64
	known        bool
	clusters     int
	undecided    bool
}

// totals adds groups up, in the order of their first cluster.
func (d *lagDoc) totals() (names []string, by map[string]*groupTotal) {
	by = map[string]*groupTotal{}
	for i := range d.Groups {
		g := &d.Groups[i]
		t := by[g.name]
		if t == nil {
			t = &groupTotal{}
			by[g.name] = t
			names = append(names, g.name)
		}
		if g.Kind == nil && g.Error == nil {
			continue
		}
		t.clusters++
		t.unknown += int64(g.Unknown)
		t.undecided = t.undecided || g.undecided
		if g.TotalLag != nil {
			t.lag, t.known = t.lag+*g.TotalLag, true
		}
	}
	return names, by
}

// verdict answers --max-lag.
func (d *lagDoc) verdict() error {
	if d.maxLag > anyLag {
		names, by := d.totals()
		for _, name := range names {
			if t := by[name]; t.lag > d.maxLag {
				return fault.New(fault.Failed, "the lag of group %s is %d, above %d", name, t.lag, d.maxLag)
			}
		}
		for _, name := range d.named {
			if t := by[name]; d.lacking == nil && t != nil && !t.known && t.unknown == 0 {
				return fault.New(fault.Partial, "the lag of group %s is not known: it has committed nothing and reads nothing there", name)
			}
		}
		for _, name := range names {
			if by[name].undecided && d.lacking == nil {
				return fault.New(fault.Partial, "the lag of group %s is %d where it is known, and not known in %s", name, by[name].lag, count(by[name].unknown, "partition"))
			}
		}
	}
	return d.lacking
}

// sortedGroups are the groups by name, each with its clusters in order.
func (d *lagDoc) sortedGroups() []*groupLagDoc {
	list := make([]*groupLagDoc, len(d.Groups))
	for i := range d.Groups {
		list[i] = &d.Groups[i]
	}
	slices.SortStableFunc(list, func(a, b *groupLagDoc) int {
		switch {
		case a.name < b.name:
			return -1
		case a.name > b.name:
			return 1
		default:
			return 0
		}
	})
	return list
}

func (d *lagDoc) tables(bool) []output.Table {
	t := output.Table{Columns: []output.Column{
		{Header: "GROUP"},
		{Header: "CLUSTER"},
		{Header: "STREAM"},
		{Header: "TOPIC"},
		{Header: "PARTITION", Right: true},
		{Header: "COMMITTED", Right: true},
		{Header: "START", Right: true},
		{Header: "END", Right: true},
		{Header: "LAG", Right: true},
		{Header: "CLIENT"},
		{Header: "HOST"},
		{Header: "ERROR"},
	}}
	groups := d.sortedGroups()
	for _, g := range groups {
		for i := range g.Partitions {
			r := &g.Partitions[i]
			row := output.Text(g.name, g.Cluster, text(r.Stream), r.Topic, strconv.Itoa(int(r.Partition)),
				number(r.Committed), number(r.Start), number(r.End), number(r.Lag), text(r.ClientID), text(r.Host))
			t.Rows = append(t.Rows, append(row, trouble(r.Error)))
		}
	}
	totals := d.totalTable(groups)
	if len(t.Rows) == 0 {
		return []output.Table{totals}
	}
	return []output.Table{t, totals}
}

// totalTable has a line for each group on each cluster, and one for a group that is
// on several.
func (d *lagDoc) totalTable(groups []*groupLagDoc) output.Table {
	t := output.Table{Columns: []output.Column{
		{Header: "GROUP"},
		{Header: "CLUSTER"},
		{Header: "KIND"},
		{Header: "STATE"},
		{Header: "MEMBERS", Right: true},
		{Header: "PARTITIONS", Right: true},
		{Header: "TOTAL LAG", Right: true},
		{Header: "UNKNOWN", Right: true},
		{Header: "ERROR"},
	}}
	_, by := d.totals()
	for i, g := range groups {
		row := output.Text(g.name, g.Cluster, text(g.Kind), text(g.State), number(g.Members),
			strconv.Itoa(len(g.Partitions)), number(g.TotalLag), strconv.Itoa(g.Unknown))
		t.Rows = append(t.Rows, append(row, trouble(g.Error)))
		last := i+1 == len(groups) || groups[i+1].name != g.name
		if sum := by[g.name]; last && sum.clusters > 1 {
			lag := "-"
			if sum.known {
				lag = strconv.FormatInt(sum.lag, 10)
			}
			t.Rows = append(t.Rows, output.Text(g.name, "all", "", "", "", "", lag, strconv.FormatInt(sum.unknown, 10)))
		}
	}
	for _, f := range d.Failed {
		t.Rows = append(t.Rows, append(output.Text("-", f.Cluster, "-", "-", "-", "-", "-", "-"), trouble(&f.Error)))
	}
	return t
}

// csv implements csvDocument.
func (d *lagDoc) csv() [][]string {
	lines := [][]string{{"cluster", "group", "state", "stream", "topic", "partition", "committed", "start", "end", "lag", "member_id", "client_id", "host", "error"}}
	for i := range d.Groups {
		g := &d.Groups[i]
		if len(g.Partitions) == 0 {
			lines = append(lines, []string{g.Cluster, g.Group, orEmpty(g.State), "", "", "", "", "", "", "", "", "", "", orEmpty(g.Error)})
		}
		for j := range g.Partitions {
			r := &g.Partitions[j]
			lines = append(lines, []string{
				g.Cluster, g.Group, orEmpty(g.State), orEmpty(r.Stream), r.Topic, strconv.Itoa(int(r.Partition)),
				digits(r.Committed), digits(r.Start), digits(r.End), digits(r.Lag),
				orEmpty(r.MemberID), orEmpty(r.ClientID), orEmpty(r.Host), orEmpty(r.Error),
			})
		}
	}
	for _, f := range d.Failed {
		lines = append(lines, []string{f.Cluster, "", "", "", "", "", "", "", "", "", "", "", "", f.Error})
	}
	return lines
}

// metrics are the lags as Prometheus gets them.
func (d *lagDoc) metrics(scopes []clusterScope, replies []reply[lagAnswer]) metrics.Lags {
	m := metrics.Lags{Up: map[string]bool{}}
	for i, r := range replies {
		m.Up[scopes[i].cluster] = r.answer.reached
		for _, g := range r.answer.groups {
			if g.Kind == cluster.NoGroup {
				continue
			}
			mg := metrics.GroupLag{Cluster: scopes[i].cluster, Group: g.Name, Kind: string(g.Kind), State: g.State, Members: len(g.Members)}
			for j := range g.Lags {
				mg.Add(g.Lags[j].Topic, g.Lags[j].Lag)
			}
			m.Groups = append(m.Groups, mg)
		}
	}
	return m
}
