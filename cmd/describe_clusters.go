package cmd

import (
	"context"
	"fmt"
	"maps"
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

// featureDoc is a feature that a cluster has at some level (KIP-584), with the
// levels that all of its brokers know.
type featureDoc struct {
	Name         string `json:"name"`
	Level        int16  `json:"level"`
	SupportedMin *int16 `json:"supported_min"`
	SupportedMax *int16 `json:"supported_max"`
}

// ClusterDoc is a cluster.
type ClusterDoc struct {
	Name      string       `json:"name"`
	Bootstrap []string     `json:"bootstrap"`
	TLS       bool         `json:"tls"`
	SASL      *string      `json:"sasl"`
	ClusterID *string      `json:"cluster_id"` // what the cluster says
	Brokers   []brokerDoc  `json:"brokers"`
	Features  []featureDoc `json:"features"`
	Streams   []string     `json:"streams"`
	Registry  []string     `json:"schema_registry"` // its addresses
	Error     *string      `json:"error"`
	Declared  *string      `json:"declared_cluster_id"` // what the metadata says

	contacted bool
}

func newClusterDoc(view *metadata.View, m *metadata.Cluster) ClusterDoc {
	d := ClusterDoc{Name: m.Name, Bootstrap: m.Bootstrap, Declared: optional(m.ClusterID)}
	if m.SchemaRegistry != nil {
		d.Registry = m.SchemaRegistry.Shown()
	}
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

// clusterAnswer is what a cluster says about itself.
type clusterAnswer struct {
	contacted bool
	id        string
	brokers   []brokerDoc
	features  []featureDoc
	err       error // there is no more to say because of it
}

func askAboutItself(ctx context.Context, r respondent) (clusterAnswer, error) {
	info, err := r.meet(ctx)
	if err != nil {
		return clusterAnswer{err: err}, err
	}
	a := clusterAnswer{contacted: true, id: info.ClusterID}
	brokers, err := r.Brokers(ctx)
	if err != nil {
		a.err = err
		return a, err
	}
	some := false
	controller := r.Controller(ctx)
	for _, b := range brokers {
		some = some || b.Err == nil
		if b.Err != nil && err == nil {
			err = b.Err
		}
		a.brokers = append(a.brokers, brokerDoc{
			ID: b.ID, Address: net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port))), Rack: optional(b.Rack),
			Controller: isController(b.ID, controller), Version: optional(b.Version), Error: errorOf(b.Err),
		})
	}
	a.features = newFeatureDocs(brokers)
	return a, lessen(err, some)
}

// newFeatureDocs takes the levels from the broker that knows the latest.
func newFeatureDocs(brokers []cluster.Broker) []featureDoc {
	latest := cluster.Features{Epoch: -1}
	for _, b := range brokers {
		if b.Err == nil && b.Epoch > latest.Epoch {
			latest = b.Features
		}
	}
	var list []featureDoc
	for _, name := range slices.Sorted(maps.Keys(latest.Finalized)) {
		d := featureDoc{Name: name, Level: latest.Finalized[name]}
		for _, b := range brokers {
			span, ok := b.Supported[name]
			if !ok {
				continue
			}
			if d.SupportedMin == nil {
				d.SupportedMin, d.SupportedMax = &span[0], &span[1]
			}
			*d.SupportedMin, *d.SupportedMax = max(*d.SupportedMin, span[0]), min(*d.SupportedMax, span[1])
		}
		list = append(list, d)
	}
	return list
}

// fill puts in what came of asking the cluster.
func (d *ClusterDoc) fill(r reply[clusterAnswer]) {
	if r.cluster != nil {
		d.configured(r.cluster)
	}
	a := r.answer
	d.contacted, d.ClusterID, d.Brokers, d.Error = a.contacted, optional(a.id), a.brokers, errorOf(a.err)
	d.Features = a.features
	if r.err != nil && !a.contacted {
		d.Error = errorOf(r.err)
	}
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
	doc, errs, err := listClusters(ctx, o, view, view.Clusters...)
	if err != nil {
		return nil, nil, err
	}
	return doc, errs, nil
}

// listClusters asks some of the clusters of a view about themselves.
func listClusters(ctx context.Context, o *describeOptions, view *metadata.View, clusters ...*metadata.Cluster) (*clustersDoc, []error, error) {
	doc := &clustersDoc{offline: o.offline}
	var names []string
	for _, m := range clusters {
		names = append(names, m.Name)
		doc.Clusters = append(doc.Clusters, newClusterDoc(view, m))
	}
	replies, err := eachCluster(ctx, o, view, names, func(ctx context.Context, r respondent) (clusterAnswer, error) {
		if o.offline {
			return clusterAnswer{}, nil
		}
		return askAboutItself(ctx, r)
	})
	if err != nil {
		return nil, nil, err
	}
	for i, r := range replies {
		doc.Clusters[i].fill(r)
	}
	return doc, troubles(replies), nil
}

func describeCluster(ctx context.Context, o *describeOptions, view *metadata.View, name string) (document, []error, error) {
	if err := mustCluster(view, name); err != nil {
		return &oneClusterDoc{ClusterDoc: ClusterDoc{Name: name, Error: errorOf(err)}, offline: o.offline}, nil, err
	}
	list, errs, err := listClusters(ctx, o, view, view.Cluster(name))
	if err != nil {
		return nil, nil, err
	}
	return &oneClusterDoc{ClusterDoc: list.Clusters[0], offline: o.offline}, errs, nil
}

func (d *clustersDoc) tables(wide bool) []output.Table {
	t := output.Table{Columns: []output.Column{{Header: "CLUSTER"}, {Header: "BOOTSTRAP"}}}
	if wide {
		t.Columns = append(t.Columns, output.Column{Header: "TLS"}, output.Column{Header: "SASL"}, output.Column{Header: "STREAMS"}, output.Column{Header: "REGISTRY"})
	}
	if d.offline && !d.gone() {
		t.Columns = append(t.Columns, output.Column{Header: "DECLARED ID"})
	} else {
		t.Columns = append(t.Columns, output.Column{Header: "CLUSTER ID"}, output.Column{Header: "BROKERS", Right: true}, output.Column{Header: "ERROR"})
	}
	for _, c := range d.Clusters {
		row := output.Text(c.Name, dash(strings.Join(c.Bootstrap, ",")))
		if wide {
			row = append(row, output.Text(yesNo(c.TLS), text(c.SASL), dash(strings.Join(c.Streams, ",")), dash(strings.Join(c.Registry, ",")))...)
		}
		if d.offline && !d.gone() {
			row = append(row, output.Cell{Text: text(c.Declared)})
		} else {
			row = append(row, output.Cell{Text: text(c.ClusterID)}, output.Cell{Text: c.brokerCount()}, trouble(c.firstError()))
		}
		t.Rows = append(t.Rows, row)
	}
	return []output.Table{t}
}

// gone reports that an error has to be told without any cluster being asked.
func (d *clustersDoc) gone() bool {
	return slices.ContainsFunc(d.Clusters, func(c ClusterDoc) bool { return c.Error != nil })
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
	head = append(head, t)
	if len(d.Features) == 0 {
		return head
	}
	features := output.Table{Columns: []output.Column{{Header: "FEATURE"}, {Header: "LEVEL", Right: true}, {Header: "SUPPORTED"}}}
	for _, f := range d.Features {
		supported := "-"
		if f.SupportedMin != nil {
			supported = fmt.Sprintf("%d-%d", *f.SupportedMin, *f.SupportedMax)
		}
		features.Rows = append(features.Rows, output.Text(f.Name, strconv.Itoa(int(f.Level)), supported))
	}
	return append(head, features)
}
