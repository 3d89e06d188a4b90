package metadata

import "strings"

// flink reads the list of Flink's file metadata service (FLIP-246), which names
// clusters only inside streams. Its ids become kcm's names; besides what kcm's
// own names hold they may hold : = and commas, as bootstrap addresses do.
func (d *decoder) flink(n *node) part {
	var p part
	if len(n.items) == 0 {
		d.failAt(n, emptyText)
	}
	for _, item := range n.items {
		s := &Stream{Origin: d.at(item)}
		var at *node
		d.fields(item, "a stream of Flink's form", []field{
			{"streamId", func(k string, n *node) { s.Name, at = d.flinkName(k, n), n }},
			{"clusterMetadataList", func(k string, n *node) {
				for _, c := range d.entries(k, n) {
					mention, src := d.flinkCluster(c)
					p.mentions = append(p.mentions, mention)
					s.Sources = append(s.Sources, src)
				}
			}},
		})
		switch {
		case at == nil:
			d.failAt(item, "a stream of Flink's form has no streamId")
		case len(s.Sources) == 0:
			d.failAt(item, "a stream of Flink's form has no clusterMetadataList")
		default:
			s.Origin = d.at(at)
		}
		d.onceEach(s)
		p.streams = append(p.streams, s)
	}
	return p
}

func (d *decoder) flinkName(key string, n *node) string {
	name := d.scalar(key, n)
	if why := badName(name, "/"); why != "" && expands(n.text) {
		d.failAt(n, "%s is no name", quote(n))
	} else if why != "" {
		d.failAt(n, "%s", why)
	}
	return name
}

func (d *decoder) flinkCluster(n *node) (*Cluster, Source) {
	c := &Cluster{Origin: d.at(n), Dir: d.doc.dir}
	src := Source{Origin: c.Origin, clusterAt: c.Origin}
	// Flink's writer puts clusterId: null where there is none.
	if n.kind == mapping {
		pairs := make([]pair, 0, len(n.pairs))
		for _, p := range n.pairs {
			if p.key != "clusterId" || p.value.kind != null {
				pairs = append(pairs, p)
			}
		}
		given := *n
		given.pairs = pairs
		n = &given
	}
	d.fields(n, "a cluster of Flink's form", []field{
		{"clusterId", func(k string, n *node) { c.Name, src.clusterAt = d.flinkName(k, n), d.at(n) }},
		{"bootstrapServers", func(k string, n *node) { c.Bootstrap = d.addressList(k, n, d.text(k, n)) }},
		{"topics", func(k string, n *node) { src.Topics = d.flinkTopics(k, n) }},
	})
	if len(c.Bootstrap) == 0 {
		d.failAt(n, "a cluster of Flink's form has no bootstrapServers")
	}
	if len(src.Topics) == 0 {
		d.failAt(n, "a cluster of Flink's form has no topics")
	}
	if c.Name == "" {
		c.Name = strings.Join(c.Bootstrap, ",")
	}
	c.Origin, src.Cluster = src.clusterAt, c.Name
	return c, src
}

// flinkTopics reads a list of names; Flink knows no patterns there.
func (d *decoder) flinkTopics(key string, n *node) []Topic {
	var all []Topic
	for _, item := range d.entries(key, n) {
		name := d.scalar("an entry of "+key, item)
		switch why := badTopic(name, ", and Flink's form takes names only"); {
		case len(name) > 1 && strings.HasPrefix(name, "/") && strings.HasSuffix(name, "/"):
			d.failAt(item, "%s is no topic name; Flink's form takes names only, a pattern needs kcm's own form", quote(item))
		case why != "":
			d.failAt(item, "%s is no topic name: %s", quote(item), why)
		}
		if !contains(all, name) { // Flink keeps them as a set
			all = append(all, Named(name))
		}
	}
	return all
}

func contains(topics []Topic, name string) bool {
	for _, t := range topics {
		if t.Name == name {
			return true
		}
	}
	return false
}
