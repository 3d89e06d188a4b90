package metadata

import (
	"net/url"
	"strconv"
	"strings"
)

// part is what one document defines.
type part struct {
	clusters []*Cluster
	mentions []*Cluster // clusters that Flink's form names in its streams
	streams  []*Stream
}

// native reads kcm's own form.
func (d *decoder) native(n *node) part {
	var p part
	d.fields(n, "the document", []field{
		{"clusters", func(_ string, n *node) {
			d.named(n, "clusters", func(name string, at Origin, n *node) {
				p.clusters = append(p.clusters, d.cluster(name, at, n))
			})
		}},
		{"streams", func(_ string, n *node) {
			d.named(n, "streams", func(name string, at Origin, n *node) {
				p.streams = append(p.streams, d.stream(name, at, n))
			})
		}},
	})
	if n.kind == mapping && len(n.pairs) == 0 {
		d.failAt(n, emptyText)
	}
	return p
}

func (d *decoder) cluster(name string, at Origin, n *node) *Cluster {
	c := &Cluster{Name: name, Origin: at, Dir: d.doc.dir, Places: map[string]Origin{}}
	d.places(c.Places, "", n)
	var derived, given []Property
	d.fields(n, "a cluster", []field{
		{"bootstrap", func(k string, n *node) { c.Bootstrap = d.addresses(k, n) }},
		{"clusterId", func(k string, n *node) { c.ClusterID = d.filled(k, n) }},
		{"tls", func(_ string, n *node) { c.TLS = d.tls(n) }},
		{"sasl", func(_ string, n *node) { c.SASL, derived = d.sasl(n) }},
		{"propertiesFile", func(k string, n *node) { c.PropertiesFile = d.path(k, n) }},
		{"properties", func(k string, n *node) { given = d.properties(k, n) }},
		{"schemaRegistry", func(_ string, n *node) { c.SchemaRegistry = d.registry(n) }},
		{"mirror", func(_ string, n *node) { c.Mirror = d.mirror(name, n) }},
	})
	c.Properties = append(derived, given...)
	return c
}

// places notes where the values of a cluster's fields stand.
func (d *decoder) places(places map[string]Origin, prefix string, n *node) {
	for _, p := range n.pairs {
		places[prefix+p.key] = d.at(p.value)
		if prefix == "" && (p.key == "tls" || p.key == "sasl") {
			d.places(places, p.key+".", p.value)
		}
	}
}

// addresses reads a list of HOST:PORT, or one text with commas.
func (d *decoder) addresses(key string, n *node) []string {
	if n.kind == text {
		return d.addressList(key, n, d.text(key, n))
	}
	if n.kind != list {
		d.failAt(n, "%s must be a list or a text, this is %s", key, n.kind)
		return nil
	}
	var all []string
	for _, item := range d.entries(key, n) {
		all = append(all, d.addressList("an entry of "+key, item, d.text("an entry of "+key, item))...)
	}
	return all
}

func (d *decoder) addressList(key string, n *node, s string) []string {
	addresses, bad, why := splitAddresses(s)
	if why != "" {
		shown := strconv.Quote(hideUserInfo(bad))
		if expands(n.text) {
			shown = quote(n)
		}
		d.failAt(n, "%s: %s %s", key, shown, why)
	}
	return addresses
}

func (d *decoder) tls(n *node) *TLS {
	t := &TLS{Origin: d.at(n)}
	if n.kind != mapping {
		d.failAt(n, "tls must be a mapping, this is %s; tls: {} uses the system's roots", n.kind)
	}
	d.fields(n, "tls", []field{
		{"ca", func(k string, n *node) { t.CA = d.pem(k, n) }},
		{"cert", func(k string, n *node) { t.Cert = d.pem(k, n) }},
		{"key", func(k string, n *node) { t.Key = d.pem(k, n) }},
		{"keyPassword", func(k string, n *node) { t.KeyPassword = Secret(d.text(k, n)) }},
		{"serverName", func(k string, n *node) { t.ServerName = d.text(k, n) }},
		{"insecureSkipVerify", func(k string, n *node) { t.InsecureSkipVerify = new(d.flag(k, n)) }},
	})
	if t.Cert.IsZero() != t.Key.IsZero() {
		d.failAt(n, "tls: cert and key go together; one of them is missing")
	}
	return t
}

// pem reads a path or the text of certificates and keys.
func (d *decoder) pem(key string, n *node) PEM {
	s := d.filled(key, n)
	if strings.HasPrefix(strings.TrimSpace(s), "-----BEGIN") {
		return PEM{Text: Secret(s)}
	}
	if strings.HasPrefix(n.text, filePrefix) {
		d.failAt(n, "%s: the file holds no PEM text; give the path without file: if it is a key store", key)
	}
	return PEM{Path: absolute(d.resolve(key, n, s))}
}

// properties reads a flat mapping. Nothing of a value is ever in a message.
func (d *decoder) properties(key string, n *node) []Property {
	if n.kind != mapping {
		d.failAt(n, "%s must be a mapping, this is %s", key, n.kind)
		return nil
	}
	var all []Property
	for _, p := range n.pairs {
		at := d.place(p.line, p.col)
		switch {
		case d.halfKey(p, key):
			return nil
		case p.value.kind == null:
			d.fail(at, "%s has no value; write \"\" if it is empty", quoteKey(p.key))
			return nil
		}
		all = append(all, Property{Key: p.key, Value: Secret(d.property(p)), Origin: at})
	}
	return all
}

// property reads one value. A URL of the form file://PATH is left alone: some
// of the Java client's properties hold such.
func (d *decoder) property(p pair) string {
	if p.value.kind == text && strings.HasPrefix(p.value.text, filePrefix+"//") {
		s, why := expandVars(p.value.text, d.getenv)
		if why != "" {
			d.failAt(p.value, "%s: %s", quoteKey(p.key), why)
		}
		return s
	}
	return d.scalar(quoteKey(p.key), p.value)
}

func (d *decoder) registry(n *node) *SchemaRegistry {
	r := &SchemaRegistry{IDBytes: 4, Origin: d.at(n)}
	var user, password *node
	var name, secret string
	d.fields(n, "schemaRegistry", []field{
		{"url", func(k string, n *node) { d.registryURLs(k, n, r) }},
		{"username", func(k string, n *node) { name, user = d.text(k, n), n }},
		{"password", func(k string, n *node) { secret, password = d.text(k, n), n }},
		{"token", func(k string, n *node) { r.Token = Secret(d.text(k, n)) }},
		{"tls", func(_ string, n *node) { r.TLS = d.tls(n) }},
		{"idBytes", func(k string, n *node) {
			if text := d.scalar(k, n); text == "8" {
				r.IDBytes = 8
			} else if text != "4" {
				d.failAt(n, "%s is 4, or 8 for ids as Apicurio's own serializers write them", k)
			}
		}},
	})
	if user != nil { // it goes before user-info, wherever it stands
		r.Username = name
	}
	if password != nil {
		r.Password = Secret(secret)
	}
	switch {
	case len(r.URLs) == 0:
		d.failAt(n, "schemaRegistry has no url")
	case r.Token != "" && (r.Username != "" || r.Password != ""):
		d.failAt(n, "schemaRegistry: token and username exclude each other")
	case password != nil && user == nil && r.Username == "":
		d.failAt(password, "schemaRegistry: password needs a username")
	}
	return r
}

func (d *decoder) registryURLs(key string, n *node, r *SchemaRegistry) {
	if why := r.setURLs(d.filled(key, n)); why != "" {
		d.failAt(n, "%s %s", key, why)
	}
}

// setURLs takes addresses with their user-info, which is the user and password
// of all of them.
func (r *SchemaRegistry) setURLs(s string) (why string) {
	urls, why := splitURLs(s)
	for _, u := range urls {
		if u.User != nil {
			password, _ := u.User.Password()
			r.Username, r.Password = u.User.Username(), Secret(password)
			u.User = nil
		}
		r.URLs = append(r.URLs, u.String())
	}
	return why
}

// splitURLs cuts one or several addresses apart at commas.
func splitURLs(s string) (urls []*url.URL, why string) {
	for one := range strings.SplitSeq(s, ",") {
		u, err := url.Parse(strings.TrimSpace(one))
		if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" || badPort(u.Port()) {
			return nil, "is no http:// or https:// address"
		}
		urls = append(urls, u)
	}
	return urls, ""
}

func (d *decoder) mirror(cluster string, n *node) *Mirror {
	m := &Mirror{Alias: cluster, Separator: ".", InternalSeparator: true, Origin: d.at(n)}
	d.fields(n, "mirror", []field{
		{"alias", func(k string, n *node) { m.Alias = d.filled(k, n) }},
		{"separator", func(k string, n *node) { m.Separator = d.filled(k, n) }},
		{"internalSeparator", func(k string, n *node) { m.InternalSeparator = d.flag(k, n) }},
	})
	return m
}
