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
	if o.offline {
		return doc, nil, nil
	}
	errs, n := askSources(ctx, o, view, view.Streams, doc.Streams)
	doc.count = n
	return doc, errs, nil
}

// laterNouns are what other versions describe as well.
var laterNouns = []string{"groups", "group", "schema", "mirrors"}

func describeStream(ctx context.Context, o *describeOptions, view *metadata.View, name string) (document, []error, error) {
	sel, err := view.Select([]string{name}, false, false)
	if err != nil {
		return nil, nil, err
	}
	if err := sel.Err(); err != nil {
		if slices.Contains(laterNouns, name) {
			err = fault.New(fault.Usage, "describe %s is not in this version", name)
		}
		return nil, nil, err
	}
	doc := &oneStreamDoc{StreamDoc: newStreamDoc(sel.Streams[0]), offline: o.offline}
	if o.offline {
		return doc, nil, nil
	}
	docs := []StreamDoc{doc.StreamDoc}
	errs, n := askSources(ctx, o, view, sel.Streams[:1], docs)
	doc.StreamDoc, doc.count = docs[0], n
	return doc, errs, nil
}

// askSources fills in what the clusters say about the sources of streams. Each
// cluster is asked once. It returns the clusters' errors and their number.
func askSources(ctx context.Context, o *describeOptions, view *metadata.View, streams []*metadata.Stream, docs []StreamDoc) ([]error, int) {
	var names []string
	for _, s := range streams {
		for _, src := range s.Sources {
			if !slices.Contains(names, src.Cluster) {
				names = append(names, src.Cluster)
			}
		}
	}
	errs := eachCluster(o.env, view, names, func(i int, c *cluster.Cluster) error {
		return askCluster(ctx, c, streams, docs)
	})
	for i, err := range errs {
		if err == nil {
			continue
		}
		for s := range docs {
			for j := range docs[s].Sources {
				if d := &docs[s].Sources[j]; d.Cluster == names[i] && d.Error == nil && !d.contacted {
					d.Error = errorOf(err)
				}
			}
		}
	}
	return present(errs), len(names)
}

// askCluster fills in one cluster's part. Its error is the first trouble.
func askCluster(ctx context.Context, c *cluster.Cluster, streams []*metadata.Stream, docs []StreamDoc) error {
	if _, err := c.Connect(ctx); err != nil {
		return err
	}
	var first error
	some := false
	for s := range streams {
		for j := range streams[s].Sources {
			src := &streams[s].Sources[j]
			if src.Cluster != c.Name() {
				continue
			}
			if err := docs[s].Sources[j].ask(ctx, c, src); first == nil {
				first = err
			}
			some = some || gave(docs[s].Sources[j].Partitions)
		}
	}
	return lessen(first, some)
}

// ask fills in what a cluster says about a source.
func (d *sourceDoc) ask(ctx context.Context, c *cluster.Cluster, src *metadata.Source) error {
	d.contacted = true
	topics, err := sourceTopics(ctx, c, src)
	if len(topics) > 0 {
		parts, perr := describePartitions(ctx, c, topics)
		d.Partitions = parts
		if err == nil {
			err = perr
		}
	}
	if err != nil && !onPartition(d.Partitions, err) {
		d.Error = errorOf(err)
	}
	return err
}

func onPartition(parts []partitionDoc, err error) bool {
	return slices.ContainsFunc(parts, func(p partitionDoc) bool { return p.Error != nil && *p.Error == err.Error() })
}

// sourceTopics looks a source's topics up; patterns take what they match. The
// error is about the first topic that is missing or refused.
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
		if !slices.ContainsFunc(src.Topics, func(e metadata.Topic) bool { return e.Matches(t.Name) }) {
			continue
		}
		if t.Err != nil {
			if err == nil {
				err = topicError(c, t)
			}
			continue
		}
		found = append(found, t)
	}
	return found, err
}

func topicError(c *cluster.Cluster, t cluster.Topic) error {
	if cluster.IsMissing(t.Err) {
		return fault.New(fault.Failed, "%s/%s: no such topic", c.Name(), t.Name).On(c.Name())
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
			row := output.Text(s.Name, src.Cluster, strings.Join(src.Topics, ","), src.Role)
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
	if !d.contacted {
		return "-"
	}
	return strconv.Itoa(len(d.Partitions))
}

func (d sourceDoc) total() *int64 {
	if !d.contacted {
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
	offline bool
	count   int
}

func (d *oneStreamDoc) asked() int { return d.count }

func (d *oneStreamDoc) tables(wide bool) []output.Table {
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
