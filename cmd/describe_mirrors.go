package cmd

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/kcm-cli/kcm/internal/metadata"
	"github.com/kcm-cli/kcm/internal/offsets"
	"github.com/kcm-cli/kcm/internal/output"
)

// upstreamDoc is a cluster that is mirrored.
type upstreamDoc struct {
	Alias string `json:"alias"`
	Hops  int    `json:"hops"`
}

// flowDoc is a flow of MirrorMaker 2.
type flowDoc struct {
	Source        string   `json:"source"`
	Target        string   `json:"target"`
	Heartbeat     *string  `json:"heartbeat"` // times; null: none was found
	HeartbeatAge  *float64 `json:"heartbeat_age_seconds"`
	Checkpoint    *string  `json:"checkpoint"`
	CheckpointAge *float64 `json:"checkpoint_age_seconds"`
}

// remoteDoc is a mirrored topic.
type remoteDoc struct {
	Topic    string `json:"topic"`
	Source   string `json:"source"`
	Upstream string `json:"upstream_topic"`
}

// mirrorsDoc is what is mirrored to a cluster.
type mirrorsDoc struct {
	Cluster     string        `json:"cluster"`
	Alias       string        `json:"alias"`
	Upstream    []upstreamDoc `json:"upstream_clusters"`
	Flows       []flowDoc     `json:"flows"`
	Heartbeats  []string      `json:"heartbeat_topics"`
	Checkpoints []string      `json:"checkpoint_topics"`
	Remote      []remoteDoc   `json:"remote_topics"`
	Error       *string       `json:"error"`
}

func newDescribeMirrorsCmd(env *Env) *cobra.Command {
	var policy string
	cmd := describeSub(env, describeWords{use: "mirrors CLUSTER", short: "Show what MirrorMaker 2 mirrors to a cluster"}, takesOne("the name of a cluster", "CLUSTER"),
		func(ctx context.Context, o *describeOptions, view *metadata.View, args []string) (document, []error, error) {
			if err := oneOf("--policy", policy, "default", "identity"); err != nil {
				return nil, nil, err
			}
			return describeMirrors(ctx, o, view, mirrorsQuestion{args[0], policy == "identity"})
		}, completeClusters(env))
	cmd.Long = `mirrors shows what MirrorMaker 2 mirrors to a cluster, as its topics tell: the
clusters upstream and how many hops away they are, the topics of heartbeats and
checkpoints, the mirrored topics, and when the last heartbeat and the last checkpoint
of each flow were written. mirror: in the metadata says how MirrorMaker 2 separates
names there.

A topic belongs to the cluster before the first separator in its name, as it does
for MirrorMaker 2 itself: orders.v1 looks like a topic of a cluster orders.`
	cmd.Flags().StringVar(&policy, "policy", "default", "how MirrorMaker 2 names copies: `default` or identity")
	completeFlags(cmd, map[string]completeFunc{"policy": oneOfWords("default", "identity")})
	return cmd
}

// mirrorsQuestion is what describe mirrors is asked.
type mirrorsQuestion struct {
	cluster  string
	identity bool
}

// mirrorsAnswer is what a cluster says. A part may be there beside an error.
type mirrorsAnswer struct{ found *offsets.Mirrors }

func describeMirrors(ctx context.Context, o *describeOptions, view *metadata.View, q mirrorsQuestion) (document, []error, error) {
	if err := mustCluster(view, q.cluster); err != nil {
		return &mirrorsDoc{Cluster: q.cluster, Error: errorOf(err)}, nil, err
	}
	m := view.Cluster(q.cluster)
	doc := &mirrorsDoc{Cluster: q.cluster, Alias: aliasOf(m)}
	if o.offline {
		return doc, nil, nil
	}
	p := policyOf(m)
	p.Identity = q.identity
	replies, err := eachCluster(ctx, o, view, []string{q.cluster}, func(ctx context.Context, r respondent) (mirrorsAnswer, error) {
		if _, err := r.meet(ctx); err != nil {
			return mirrorsAnswer{}, err
		}
		found, err := offsets.FindMirrors(ctx, r.Cluster, p, o.env.run.globals.giveUp)
		return mirrorsAnswer{found}, lessen(err, found != nil)
	})
	if err != nil {
		return nil, nil, err
	}
	r := replies[0]
	if r.answer.found != nil {
		doc.fill(r.answer.found, o.env.Now())
	}
	doc.Error = errorOf(r.err)
	return doc, troubles(replies), nil
}

func (d *mirrorsDoc) asked() int { return 1 }

func (d *mirrorsDoc) fill(m *offsets.Mirrors, now time.Time) {
	d.Heartbeats, d.Checkpoints = m.Heartbeats, m.Checkpoints
	for _, u := range m.Upstream {
		d.Upstream = append(d.Upstream, upstreamDoc{u.Alias, u.Hops})
	}
	for _, r := range m.Remote {
		d.Remote = append(d.Remote, remoteDoc{r.Topic, r.Source, r.Upstream})
	}
	for _, f := range m.Flows {
		fd := flowDoc{Source: f.Source, Target: d.Alias}
		fd.Heartbeat, fd.HeartbeatAge = since(f.Heartbeat, now)
		fd.Checkpoint, fd.CheckpointAge = since(f.Checkpoint, now)
		d.Flows = append(d.Flows, fd)
	}
}

// since shows a time and how long ago it was; nil for none. Clocks may differ.
func since(at, now time.Time) (text *string, seconds *float64) {
	if at.IsZero() {
		return nil, nil
	}
	age := max(now.Sub(at), 0).Round(time.Millisecond).Seconds()
	return new(at.Format("2006-01-02T15:04:05.000Z")), &age
}

func (d *mirrorsDoc) tables(wide bool) []output.Table {
	flows := output.Table{Columns: []output.Column{
		{Header: "FLOW"}, {Header: "HOPS", Right: true}, {Header: "LAST HEARTBEAT"}, {Header: "LAST CHECKPOINT"}, {Header: "TOPICS", Right: true}, {Header: "ERROR"},
	}}
	counts, direct := map[string]int{}, map[string]bool{}
	for _, r := range d.Remote {
		counts[r.Source]++
	}
	for _, f := range d.Flows {
		direct[f.Source] = true
		hops := "-"
		for _, u := range d.Upstream {
			if u.Alias == f.Source {
				hops = strconv.Itoa(u.Hops)
			}
		}
		flows.Rows = append(flows.Rows, append(output.Text(f.Source+"->"+f.Target, hops, ago(f.Heartbeat, f.HeartbeatAge), ago(f.Checkpoint, f.CheckpointAge),
			strconv.Itoa(counts[f.Source])), output.Cell{}))
	}
	for _, u := range d.Upstream {
		if !direct[u.Alias] {
			flows.Rows = append(flows.Rows, output.Text(u.Alias+"->…->"+d.Alias, strconv.Itoa(u.Hops), "-", "-", strconv.Itoa(counts[u.Alias])))
		}
	}
	if d.Error != nil {
		flows.Rows = append(flows.Rows, append(output.Text(d.Cluster, "-", "-", "-", "-"), trouble(d.Error)))
	}
	tables := []output.Table{flows}
	if topics := d.topics(wide); len(topics.Rows) > 0 {
		tables = append(tables, topics)
	}
	return tables
}

// topics lists MirrorMaker 2's own topics and, with wide, the mirrored ones.
func (d *mirrorsDoc) topics(wide bool) output.Table {
	t := output.Table{Columns: []output.Column{{Header: "TOPIC"}, {Header: "IS"}}}
	for _, name := range d.Heartbeats {
		t.Rows = append(t.Rows, output.Text(name, "heartbeats"))
	}
	for _, name := range d.Checkpoints {
		t.Rows = append(t.Rows, output.Text(name, "checkpoints"))
	}
	for _, r := range d.Remote {
		if wide {
			t.Rows = append(t.Rows, output.Text(r.Topic, r.Upstream+" of "+r.Source))
		}
	}
	return t
}

// ago shows how long ago something was.
func ago(at *string, seconds *float64) string {
	if at == nil {
		return "-"
	}
	return time.Duration(*seconds*float64(time.Second)).Round(time.Second).String() + " ago"
}
