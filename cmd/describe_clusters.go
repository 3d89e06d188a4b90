package cmd

import (
	"context"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/metadata"
	"github.com/kcm-cli/kcm/internal/output"
)

// brokerDoc is one broker.
type brokerDoc struct {
	ID         int32   `json:"id"`
	Address    string  `json:"address"`
	Rack       *string `json:"rack"`
	Controller *bool   `json:"controller"` // null: not known for certain
	Version    *string `json:"version"`    // a guess from what it supports
	Error      *string `json:"error"`
}

// ClusterDoc is a cluster.
type ClusterDoc struct {
	Name      string      `json:"name"`
	Bootstrap []string    `json:"bootstrap"`
	TLS       bool        `json:"tls"`
	SASL      *string     `json:"sasl"`
	ClusterID *string     `json:"cluster_id"` // what the cluster says
	Brokers   []brokerDoc `json:"brokers"`
	Streams   []string    `json:"streams"`
	Error     *string     `json:"error"`
	Declared  *string     `json:"declared_cluster_id"` // what the metadata says

	contacted bool
}

func newClusterDoc(view *metadata.View, m *metadata.Cluster) ClusterDoc {
	d := ClusterDoc{Name: m.Name, Bootstrap: m.Bootstrap, Declared: optional(m.ClusterID)}
	for _, s := range view.Streams {
		if slices.ContainsFunc(s.Sources, func(src metadata.Source) bool { return src.Cluster == m.Name }) {
			d.Streams = append(d.Streams, s.Name)
		}
	}
	return d
}

// configured fills in what a cluster's settings say.
func (d *ClusterDoc) configured(c *cluster.Cluster) {
	d.Bootstrap = c.Bootstrap()
	tls, mechanism := c.Security()
	d.TLS, d.SASL = tls, optional(mechanism)
}

// ask fills in what the cluster says about itself.
func (d *ClusterDoc) ask(ctx context.Context, env *Env, c *cluster.Cluster) error {
	d.configured(c)
	info, err := meet(ctx, env, c)
	if err != nil {
		d.Error = errorOf(err)
		return err
	}
	d.contacted = true
	if info.ClusterID != "" {
		d.ClusterID = &info.ClusterID
	}
	brokers, err := c.Brokers(ctx)
	if err != nil {
		d.Error = errorOf(err)
		return err
	}
	some := false
	controller := c.Controller(ctx)
	for _, b := range brokers {
		some = some || b.Err == nil
		if b.Err != nil && err == nil {
			err = b.Err
		}
		d.Brokers = append(d.Brokers, brokerDoc{
			ID: b.ID, Address: net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port))), Rack: optional(b.Rack),
			Controller: isController(b.ID, controller), Version: optional(b.Version), Error: errorOf(b.Err),
		})
	}
	return lessen(err, some)
}

// isController is nil when nobody knows who the controller is.
func isController(broker, controller int32) *bool {
	if controller < 0 {
		return nil
	}
	return new(broker == controller)
}

// clustersDoc lists clusters.
type clustersDoc struct {
	Clusters []ClusterDoc `json:"clusters"`
	offline  bool
}

func (d *clustersDoc) asked() int { return len(d.Clusters) }

func describeClusters(ctx context.Context, o *describeOptions, view *metadata.View) (document, []error, error) {
	doc := &clustersDoc{offline: o.offline}
	var names []string
	for _, m := range view.Clusters {
		names = append(names, m.Name)
		doc.Clusters = append(doc.Clusters, newClusterDoc(view, m))
	}
	errs, err := eachCluster(o.env, view, names, func(i int, c *cluster.Cluster) error {
		if o.offline {
			doc.Clusters[i].configured(c)
			return nil
		}
		return doc.Clusters[i].ask(ctx, o.env, c)
	})
	if err != nil {
		return nil, nil, err
	}
	for i, err := range errs {
		if err != nil && doc.Clusters[i].Error == nil && !doc.Clusters[i].contacted {
			doc.Clusters[i].Error = errorOf(err)
		}
	}
	return doc, present(errs), nil
}

func describeCluster(ctx context.Context, o *describeOptions, view *metadata.View, name string) (document, []error, error) {
	if err := mustCluster(view, name); err != nil {
		return nil, nil, err
	}
	doc := &oneClusterDoc{ClusterDoc: newClusterDoc(view, view.Cluster(name)), offline: o.offline}
	list, errs, err := describeClusters(ctx, o, &metadata.View{Clusters: []*metadata.Cluster{view.Cluster(name)}, Streams: view.Streams})
	if all, ok := list.(*clustersDoc); ok && err == nil {
		doc.ClusterDoc = all.Clusters[0]
	}
	return doc, errs, err
}

func (d *clustersDoc) tables(wide bool) []output.Table {
	t := output.Table{Columns: []output.Column{{Header: "CLUSTER"}, {Header: "BOOTSTRAP"}}}
	if wide {
		t.Columns = append(t.Columns, output.Column{Header: "TLS"}, output.Column{Header: "SASL"}, output.Column{Header: "STREAMS"})
	}
	if d.offline {
		t.Columns = append(t.Columns, output.Column{Header: "DECLARED ID"})
	} else {
		t.Columns = append(t.Columns, output.Column{Header: "CLUSTER ID"}, output.Column{Header: "BROKERS", Right: true}, output.Column{Header: "ERROR"})
	}
	for _, c := range d.Clusters {
		row := output.Text(c.Name, strings.Join(c.Bootstrap, ","))
		if wide {
			row = append(row, output.Text(yesNo(c.TLS), text(c.SASL), dash(strings.Join(c.Streams, ",")))...)
		}
		if d.offline {
			row = append(row, output.Cell{Text: text(c.Declared)})
		} else {
			row = append(row, output.Cell{Text: text(c.ClusterID)}, output.Cell{Text: c.brokerCount()}, trouble(c.firstError()))
		}
		t.Rows = append(t.Rows, row)
	}
	return []output.Table{t}
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func yesNoUnknown(b *bool) string {
	if b == nil {
		return "-"
	}
	return yesNo(*b)
}

func (d ClusterDoc) brokerCount() string {
	if !d.contacted {
		return "-"
	}
	return strconv.Itoa(len(d.Brokers))
}

func (d ClusterDoc) firstError() *string {
	if d.Error != nil {
		return d.Error
	}
	for _, b := range d.Brokers {
		if b.Error != nil {
			return b.Error
		}
	}
	return nil
}

// oneClusterDoc is a cluster, broker by broker.
type oneClusterDoc struct {
	ClusterDoc
	offline bool
}

func (d *oneClusterDoc) asked() int { return 1 }

func (d *oneClusterDoc) tables(wide bool) []output.Table {
	head := (&clustersDoc{Clusters: []ClusterDoc{d.ClusterDoc}, offline: d.offline}).tables(wide)
	if len(d.Brokers) == 0 {
		return head
	}
	t := output.Table{Columns: []output.Column{
		{Header: "BROKER", Right: true}, {Header: "ADDRESS"}, {Header: "RACK"}, {Header: "VERSION"}, {Header: "CONTROLLER"}, {Header: "ERROR"},
	}}
	for _, b := range d.Brokers {
		row := output.Text(strconv.Itoa(int(b.ID)), b.Address, text(b.Rack), text(b.Version), yesNoUnknown(b.Controller))
		t.Rows = append(t.Rows, append(row, trouble(b.Error)))
	}
	return append(head, t)
}
