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

// topicDoc is a topic on one cluster.
type topicDoc struct {
	Cluster     string         `json:"cluster"`
	Topic       string         `json:"topic"`
	TopicID     *string        `json:"topic_id"`
	Internal    bool           `json:"internal"`
	Replication *int           `json:"replication_factor"`
	Partitions  []partitionDoc `json:"partitions"`
	Configs     []configDoc    `json:"configs"`
	Error       *string        `json:"error"`
}

// configDoc is a setting of a topic that is not the default.
type configDoc struct {
	Name  string  `json:"name"`
	Value *string `json:"value"` // null when the broker does not show it
}

// failedDoc is a cluster that could not be asked.
type failedDoc struct {
	Cluster string `json:"cluster"`
	Error   string `json:"error"`
}

// topicsDoc lists topics of clusters.
type topicsDoc struct {
	Topics []topicDoc  `json:"topics"`
	Failed []failedDoc `json:"failed"`
	Error  *string     `json:"error"` // there is no such topic

	topic   string // empty: all; else with partitions one by one
	count   int
	lacking error // no cluster that was reached has the topic
}

func (d *topicsDoc) verdict() error { return d.lacking }

func (d *topicsDoc) asked() int { return d.count }

func describeTopics(ctx context.Context, o *describeOptions, view *metadata.View, args []string) (document, []error, error) {
	if o.offline {
		return nil, nil, fault.New(fault.Usage, "--offline: topics are known to the clusters only")
	}
	names, err := clusterNames(view, args)
	if err != nil {
		return lostCluster(args[0], "", err), nil, err
	}
	return askTopics(ctx, o, view, topicQuery{clusters: names})
}

func describeTopic(ctx context.Context, o *describeOptions, view *metadata.View, word string) (document, []error, error) {
	if o.offline {
		return nil, nil, fault.New(fault.Usage, "--offline: topics are known to the clusters only")
	}
	if strings.HasPrefix(word, "/") {
		return nil, nil, fault.New(fault.Usage, "describe topic takes a name, not %s", word).
			WithHint("[CLUSTER/]NAME; kcm describe topics lists them")
	}
	q := topicQuery{topic: word}
	var args []string
	if name, topic, ok := strings.Cut(word, "/"); ok {
		args, q.topic = []string{name}, topic
	}
	var err error
	if q.clusters, err = clusterNames(view, args); err != nil {
		return lostCluster(args[0], q.topic, err), nil, err
	}
	return askTopics(ctx, o, view, q)
}

// lostCluster shows that the metadata does not have a cluster, any more.
func lostCluster(name, topic string, err error) *topicsDoc {
	return &topicsDoc{Failed: []failedDoc{{name, err.Error()}}, topic: topic}
}

// clusterNames are the clusters to ask: the one named, or all.
func clusterNames(view *metadata.View, args []string) ([]string, error) {
	if len(args) > 0 {
		return args, mustCluster(view, args[0])
	}
	var names []string
	for _, c := range view.Clusters {
		names = append(names, c.Name)
	}
	return names, nil
}

// topicQuery is one topic, or all, on some clusters.
type topicQuery struct {
	clusters []string
	topic    string
}

func askTopics(ctx context.Context, o *describeOptions, view *metadata.View, q topicQuery) (document, []error, error) {
	replies, err := eachCluster(ctx, o, view, q.clusters, q.ask)
	if err != nil {
		return nil, nil, err
	}
	doc := &topicsDoc{topic: q.topic, count: len(q.clusters)}
	var near []string
	for i, r := range replies {
		doc.Topics = append(doc.Topics, r.answer.topics...)
		near = append(near, r.answer.near...)
		if r.err != nil && len(r.answer.topics) == 0 {
			doc.Failed = append(doc.Failed, failedDoc{q.clusters[i], r.err.Error()})
		}
	}
	failed := troubles(replies)
	if q.topic == "" || len(doc.Topics) > 0 || len(failed) == len(replies) {
		return doc, failed, nil
	}
	slices.Sort(near)
	lacking := notFound(q.topic, slices.Compact(near))
	doc.Error = errorOf(lacking)
	if len(failed) == 0 {
		return doc, nil, lacking
	}
	var living []string
	for i, r := range replies {
		if r.err == nil {
			living = append(living, q.clusters[i])
		}
	}
	doc.lacking = fault.New(fault.Partial, "there is no topic %s on %s; %w", q.topic, strings.Join(living, ", "), someFailed(failed))
	if hint := fault.HintOf(lacking); hint != "" {
		doc.lacking = fault.New(fault.Partial, "%w", doc.lacking).WithHint("%s", hint)
	}
	return doc, failed, nil
}

// topicsAnswer is what a cluster says about its topics.
type topicsAnswer struct {
	topics []topicDoc
	near   []string // the names nearest to one that is not there
}

// ask looks the topics of one cluster up. A topic that is not there is no
// error, but the names nearest to it are returned.
func (q topicQuery) ask(ctx context.Context, r respondent) (a topicsAnswer, err error) {
	if _, err := r.meet(ctx); err != nil {
		return a, err
	}
	var names []string
	if q.topic != "" {
		names = []string{q.topic}
	}
	topics, err := r.Topics(ctx, names...)
	if err != nil {
		return a, err
	}
	var first error
	some := false
	for _, t := range topics {
		if q.topic != "" && cluster.IsMissing(t.Err) {
			a.near, _ = r.Nearest(ctx, q.topic)
			return a, nil
		}
		d := topicDoc{Cluster: r.Name(), Topic: t.Name, TopicID: optional(cluster.IDText(t.ID)), Internal: t.Internal || metadata.Internal(t.Name)}
		err := t.Err
		if err == nil {
			err = q.detail(ctx, r.Cluster, t, &d)
		} else {
			err = r.Explain(err, t.Name)
			d.Error = errorOf(err)
		}
		if first == nil {
			first = err
		}
		some = some || gave(d.Partitions)
		a.topics = append(a.topics, d)
	}
	return a, lessen(first, some)
}

// detail fills in the partitions, and for a single topic its offsets and settings.
func (q topicQuery) detail(ctx context.Context, c *cluster.Cluster, t cluster.Topic, d *topicDoc) (err error) {
	if len(t.Partitions) > 0 {
		n := len(t.Partitions[0].Replicas)
		d.Replication = &n
	}
	if q.topic == "" {
		for _, p := range t.Partitions {
			pd, perr := describePartition(t.Name, p, nil)
			d.Partitions = append(d.Partitions, pd)
			if err == nil {
				err = perr
			}
		}
		return err
	}
	if d.Partitions, err = describePartitions(ctx, c, []cluster.Topic{t}); err != nil && len(d.Partitions) == 0 {
		d.Error = errorOf(err)
		return err
	}
	configs, cerr := c.TopicConfigs(ctx, t.Name)
	if cerr != nil {
		return cerr
	}
	for _, e := range configs[0].Entries {
		if !e.Default {
			d.Configs = append(d.Configs, configDoc{e.Name, e.Value})
		}
	}
	return err
}

func (d *topicsDoc) tables(wide bool) []output.Table {
	t := output.Table{Columns: []output.Column{
		{Header: "CLUSTER"}, {Header: "TOPIC"}, {Header: "PARTITIONS", Right: true}, {Header: "REPLICAS", Right: true},
	}}
	if wide {
		t.Columns = append(t.Columns, output.Column{Header: "TOPIC ID"}, output.Column{Header: "INTERNAL"})
	}
	t.Columns = append(t.Columns, output.Column{Header: "ERROR"})
	for _, td := range d.Topics {
		row := output.Text(td.Cluster, td.Topic, td.partitions(), number(td.Replication))
		if wide {
			row = append(row, output.Text(text(td.TopicID), yesNo(td.Internal))...)
		}
		t.Rows = append(t.Rows, append(row, trouble(td.firstError())))
	}
	for _, f := range d.Failed {
		row := output.Text(f.Cluster, "-", "-", "-")
		if wide {
			row = append(row, output.Text("-", "-")...)
		}
		t.Rows = append(t.Rows, append(row, trouble(&f.Error)))
	}
	if d.Error != nil {
		row := output.Text("-", d.topic, "-", "-")
		if wide {
			row = append(row, output.Text("-", "-")...)
		}
		t.Rows = append(t.Rows, append(row, trouble(d.Error)))
	}
	tables := []output.Table{t}
	if d.topic != "" {
		tables = append(tables, d.details(wide)...)
	}
	return tables
}

// partitions is their number, - for a topic that may not be looked at.
func (td topicDoc) partitions() string {
	if td.Error != nil && len(td.Partitions) == 0 {
		return "-"
	}
	return strconv.Itoa(len(td.Partitions))
}

func (td topicDoc) firstError() *string {
	return sourceDoc{Partitions: td.Partitions, Error: td.Error}.firstError()
}

// details are the partitions of a single topic, and its settings.
func (d *topicsDoc) details(wide bool) []output.Table {
	var rows []partitionRow
	configs := output.Table{Columns: []output.Column{{Header: "CLUSTER"}, {Header: "SETTING"}, {Header: "VALUE"}}}
	for _, td := range d.Topics {
		for _, p := range td.Partitions {
			rows = append(rows, partitionRow{td.Cluster, p})
		}
		for _, c := range td.Configs {
			configs.Rows = append(configs.Rows, output.Text(td.Cluster, c.Name, text(c.Value)))
		}
	}
	var tables []output.Table
	if len(rows) > 0 {
		tables = append(tables, partitionTable(wide, rows))
	}
	if len(configs.Rows) > 0 {
		tables = append(tables, configs)
	}
	return tables
}
