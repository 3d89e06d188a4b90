package cmd

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/metadata"
	"github.com/kcm-cli/kcm/internal/output"
	"github.com/kcm-cli/kcm/internal/source"
)

// sourceDoc is what a stream takes from one cluster.
type sourceDoc struct {
	Cluster    string         `json:"cluster"`
	Topics     []string       `json:"topics"` // as the metadata has them
	Role       string         `json:"role"`
	Start      *string        `json:"start"`
	Stop       *string        `json:"stop"`
	Isolation  *string        `json:"isolation"`
	Partitions []partitionDoc `json:"partitions"`
	Error      *string        `json:"error"`

	contacted bool
	refused   bool   // nothing is known, because a topic may not or cannot be looked at
	clusterID string // of the cluster that answered
}

// StreamDoc is a stream with its sources.
type StreamDoc struct {
	Name    string      `json:"name"`
	Key     *string     `json:"key"`
	Value   *string     `json:"value"`
	Sources []sourceDoc `json:"sources"`
}

func newStreamDoc(s *metadata.Stream) StreamDoc {
	d := StreamDoc{Name: s.Name, Key: optional(s.Key), Value: optional(s.Value)}
	for _, src := range s.Sources {
		sd := sourceDoc{Cluster: src.Cluster, Role: src.Role.String(), Isolation: optional(string(src.Isolation)), Start: specText(src.Start), Stop: specText(src.Stop)}
		for _, t := range src.Topics {
			sd.Topics = append(sd.Topics, t.String())
		}
		d.Sources = append(d.Sources, sd)
	}
	return d
}

func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func specText(s *metadata.Spec) *string {
	if s == nil {
		return nil
	}
	return &s.Text
}

// streamsDoc lists streams.
type streamsDoc struct {
	Streams []StreamDoc `json:"streams"`

	offline bool
	count   int // clusters asked
}

func (d *streamsDoc) asked() int { return d.count }

func describeStreams(ctx context.Context, o *describeOptions, view *metadata.View) (document, []error, error) {
	if view.AdHoc {
		return nil, nil, fault.New(fault.Usage, "without metadata there are no streams: each topic is one").
			WithHint("kcm describe topics lists the topics")
	}
	doc := &streamsDoc{offline: o.offline}
	for _, s := range view.Streams {
		doc.Streams = append(doc.Streams, newStreamDoc(s))
	}
	errs, n, err := askSources(ctx, o, view, view.Streams, doc.Streams)
	doc.count = n
	return doc, errs, err
}

func describeStream(ctx context.Context, o *describeOptions, view *metadata.View, name string) (document, []error, error) {
	sel, err := view.Select([]string{name}, false, false)
	if err != nil {
		return nil, nil, err
	}
	if err := sel.Err(); err != nil {
		return &oneStreamDoc{StreamDoc: StreamDoc{Name: name}, Error: errorOf(err)}, nil, err
	}
	doc := &oneStreamDoc{StreamDoc: newStreamDoc(sel.Streams[0]), offline: o.offline}
	docs := []StreamDoc{doc.StreamDoc}
	errs, n, err := askSources(ctx, o, view, sel.Streams[:1], docs)
	doc.StreamDoc, doc.count = docs[0], n
	return doc, errs, err
}

// askSources fills in what the clusters say about the sources of streams. Each
// cluster is asked once; offline only its settings are checked. It returns the
// clusters' errors and their number.
func askSources(ctx context.Context, o *describeOptions, view *metadata.View, streams []*metadata.Stream, docs []StreamDoc) ([]error, int, error) {
	var names []string
	for _, s := range streams {
		for _, src := range s.Sources {
			if !slices.Contains(names, src.Cluster) {
				names = append(names, src.Cluster)
			}
		}
	}
	replies, err := eachCluster(ctx, o, view, names, func(ctx context.Context, r respondent) ([]sourceAnswer, error) {
		if o.offline {
			return nil, nil
		}
		return askCluster(ctx, r, streams)
	})
	if err != nil {
		return nil, 0, err
	}
	for i, r := range replies {
		for _, a := range r.answer {
			docs[a.stream].Sources[a.source].take(a)
		}
		if r.err != nil {
			blame(docs, names[i], r.err)
		}
	}
	for _, d := range docs {
		d.warnOfTwins(o.env.run.notices)
	}
	return troubles(replies), len(names), nil
}

// blame puts a cluster's error to the sources that it has said nothing about.
func blame(docs []StreamDoc, name string, err error) {
	for s := range docs {
		for j := range docs[s].Sources {
			if d := &docs[s].Sources[j]; d.Cluster == name && d.Error == nil && !d.contacted {
				d.Error = errorOf(err)
			}
		}
	}
}

// warnOfTwins tells that two sources of a stream are the same topic of the same
// cluster under two names: consume refuses that.
func (d *StreamDoc) warnOfTwins(n *Notices) {
	for i, one := range d.Sources {
		for _, other := range d.Sources[i+1:] {
			if one.clusterID == "" || one.clusterID != other.clusterID || one.Role == string(metadata.Standby) || other.Role == string(metadata.Standby) {
				continue
			}
			has := func(p partitionDoc) bool {
				return slices.ContainsFunc(other.Partitions, func(o partitionDoc) bool { return o.Topic == p.Topic })
			}
			if at := slices.IndexFunc(one.Partitions, has); at >= 0 {
				n.WarnOncef("%s: %s and %s are the same cluster (id %s), and %s would be read from both; consume refuses that",
					d.Name, one.Cluster, other.Cluster, one.clusterID, one.Partitions[at].Topic)
			}
		}
	}
}

// sourceAnswer is what a cluster says about one source of a stream.
type sourceAnswer struct {
	stream, source int // which one: indexes
	clusterID      string
	partitions     []partitionDoc
	err            error // of the source as a whole
	refused        bool
}

// askCluster asks a cluster about its sources. Its error is the first trouble.
func askCluster(ctx context.Context, r respondent, streams []*metadata.Stream) (answers []sourceAnswer, err error) {
	info, err := r.meet(ctx)
	if err != nil {
		return nil, err
	}
	var first error
	some := false
	for s := range streams {
		for j := range streams[s].Sources {
			src := &streams[s].Sources[j]
			if src.Cluster != r.Name() {
				continue
			}
			a := sourceAnswer{stream: s, source: j, clusterID: info.ClusterID}
			if err := a.ask(ctx, r.Cluster, src); first == nil {
				first = err
			}
			some = some || gave(a.partitions)
			answers = append(answers, a)
		}
	}
	return answers, lessen(first, some)
}

func (a *sourceAnswer) ask(ctx context.Context, c *cluster.Cluster, src *metadata.Source) error {
	topics, err := sourceTopics(ctx, c, src)
	if len(topics) > 0 {
		parts, perr := describePartitions(ctx, c, topics)
		a.partitions = parts
		if err == nil {
			err = perr
		}
	}
	if err != nil && !onPartition(a.partitions, err) {
		a.err = err
	}
	a.refused = len(a.partitions) == 0 && fault.KindOf(err) == fault.Auth
	return err
}

// take fills in what a cluster says about the source.
func (d *sourceDoc) take(a sourceAnswer) {
	d.contacted, d.refused, d.clusterID, d.Error = true, a.refused, a.clusterID, errorOf(a.err)
	d.Partitions = a.partitions
	for i := range d.Partitions {
		d.Partitions[i].Role = &d.Role
	}
}

func onPartition(parts []partitionDoc, err error) bool {
	return slices.ContainsFunc(parts, func(p partitionDoc) bool { return p.Error != nil && *p.Error == err.Error() })
}

// sourceTopics looks a source's topics up; patterns take what they match. The
// error is about the first topic that is missing or refused, or the first
// pattern that matches nothing.
func sourceTopics(ctx context.Context, c *cluster.Cluster, src *metadata.Source) ([]cluster.Topic, error) {
	var names []string
	pattern := slices.ContainsFunc(src.Topics, func(t metadata.Topic) bool { return t.Regexp != nil })
	for _, t := range src.Topics {
		if !pattern {
			names = append(names, t.Name)
		}
	}
	all, err := c.Topics(ctx, names...)
	if err != nil {
		return nil, err
	}
	var found []cluster.Topic
	for _, t := range all {
		switch taken := slices.ContainsFunc(src.Topics, func(e metadata.Topic) bool { return source.Takes(e, t) }); {
		case taken && t.Err == nil:
			found = append(found, t)
		case taken && err == nil:
			err = topicError(c, t)
		}
	}
	if err == nil {
		err = unmatched(c, src, all)
	}
	return found, err
}

// unmatched is about the first entry of a source that takes none of all topics.
func unmatched(c *cluster.Cluster, src *metadata.Source, all []cluster.Topic) error {
	for _, e := range src.Topics {
		switch {
		case slices.ContainsFunc(all, func(t cluster.Topic) bool { return source.Takes(e, t) }):
		case e.Regexp != nil:
			return fault.New(fault.Failed, "%s: no topic matches %s", c.Name(), e).On(c.Name())
		default:
			return noTopic(c.Name(), e.Name)
		}
	}
	return nil
}

func noTopic(clusterName, topic string) error {
	return fault.New(fault.Failed, "%s/%s: no such topic", clusterName, topic).On(clusterName)
}

func topicError(c *cluster.Cluster, t cluster.Topic) error {
	if cluster.IsMissing(t.Err) {
		return noTopic(c.Name(), t.Name)
	}
	return c.Explain(t.Err, t.Name)
}

func (d *streamsDoc) tables(wide bool) []output.Table {
	t := output.Table{Columns: []output.Column{{Header: "STREAM"}, {Header: "CLUSTER"}, {Header: "TOPICS"}, {Header: "ROLE"}}}
	if !d.offline {
		t.Columns = append(t.Columns, output.Column{Header: "PARTITIONS", Right: true}, output.Column{Header: "OFFSETS", Right: true})
	}
	if wide {
		t.Columns = append(t.Columns, output.Column{Header: "START"}, output.Column{Header: "STOP"}, output.Column{Header: "ISOLATION"},
			output.Column{Header: "KEY"}, output.Column{Header: "VALUE"})
	}
	if !d.offline {
		t.Columns = append(t.Columns, output.Column{Header: "ERROR"})
	}
	for _, s := range d.Streams {
		for _, src := range s.Sources {
			row := append(output.Text(s.Name, src.Cluster, strings.Join(src.Topics, ",")), roleCell(src.Role))
			if !d.offline {
				row = append(row, output.Text(src.count(), number(src.total()))...)
			}
			if wide {
				row = append(row, output.Text(text(src.Start), text(src.Stop), text(src.Isolation), text(s.Key), text(s.Value))...)
			}
			if !d.offline {
				row = append(row, trouble(src.firstError()))
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return []output.Table{t}
}

func text(s *string) string {
	if s == nil {
		return "-"
	}
	return *s
}

func (d sourceDoc) count() string {
	if !d.contacted || d.refused {
		return "-"
	}
	return strconv.Itoa(len(d.Partitions))
}

func (d sourceDoc) total() *int64 {
	if !d.contacted || d.refused {
		return nil
	}
	return sum(d.Partitions)
}

func (d sourceDoc) firstError() *string {
	if d.Error != nil {
		return d.Error
	}
	for _, p := range d.Partitions {
		if p.Error != nil {
			return p.Error
		}
	}
	return nil
}

// oneStreamDoc is a stream, partition by partition.
type oneStreamDoc struct {
	StreamDoc
	Error *string `json:"error"` // the metadata does not have the stream, any more

	offline bool
	count   int
}

func (d *oneStreamDoc) asked() int { return d.count }

func (d *oneStreamDoc) tables(wide bool) []output.Table {
	if d.Error != nil {
		return []output.Table{{
			Columns: []output.Column{{Header: "STREAM"}, {Header: "ERROR"}},
			Rows:    [][]output.Cell{{{Text: d.Name}, trouble(d.Error)}},
		}}
	}
	head := (&streamsDoc{Streams: []StreamDoc{d.StreamDoc}, offline: d.offline}).tables(wide)
	if d.offline {
		return head
	}
	var rows []partitionRow
	for _, src := range d.Sources {
		for _, p := range src.Partitions {
			rows = append(rows, partitionRow{src.Cluster, p})
		}
	}
	if len(rows) == 0 {
		return head
	}
	return append(head, partitionTable(wide, rows))
}
