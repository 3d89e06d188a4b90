package metadata

import (
	"fmt"
	"slices"
	"strings"
)

// A sasl mapping is flat, as its mechanisms share no keys but these. What the
// cluster's client has no field for becomes a property of the Java client.
func saslKeys(mechanism string) []string {
	switch mechanism {
	case Plain, ScramSHA256, ScramSHA512:
		return []string{"mechanism", "username", "password"}
	case OAuthBearer:
		return []string{"mechanism", "token", "tokenFile", "tokenEndpoint", "clientId", "clientSecret", "scope", "extensions"}
	case GSSAPI:
		return []string{"mechanism", "principal", "keytab", "serviceName", "username", "password"}
	case MSKIAM:
		return []string{"mechanism", "profile", "region", "roleArn", "roleSessionName"}
	}
	return nil
}

// iamModule is the login module of Amazon's Java library, whose options are the
// only common form of these settings.
const iamModule = "software.amazon.msk.auth.iam.IAMLoginModule required"

func (d *decoder) sasl(n *node) (*SASL, []Property) {
	s := &SASL{Origin: d.at(n)}
	var derived []Property
	var options strings.Builder
	property := func(name string, read func(string, *node) string) func(string, *node) {
		return func(k string, n *node) {
			derived = append(derived, Property{Key: name, Value: Secret(read(k, n)), Origin: d.at(n), Field: true})
		}
	}
	option := func(name string) func(string, *node) {
		return func(k string, n *node) { fmt.Fprintf(&options, " %s=%s", name, jaasQuote(d.filled(k, n))) }
	}
	d.fields(n, "sasl", []field{
		{"mechanism", func(k string, n *node) { s.Mechanism = d.mechanism(k, n) }},
		{"username", func(k string, n *node) { s.Username = d.text(k, n) }},
		{"password", func(k string, n *node) { s.Password = Secret(d.text(k, n)) }},
		{"token", func(k string, n *node) { s.Token = Secret(d.filled(k, n)) }},
		{"tokenFile", func(k string, n *node) { s.TokenFile = d.path(k, n) }},
		{"tokenEndpoint", property("sasl.oauthbearer.token.endpoint.url", d.endpoint)},
		{"clientId", property("sasl.oauthbearer.client.credentials.client.id", d.filled)},
		{"clientSecret", property("sasl.oauthbearer.client.credentials.client.secret", d.filled)},
		{"scope", property("sasl.oauthbearer.scope", d.filled)},
		{"extensions", property("sasl.oauthbearer.extensions", d.extensions)},
		{"principal", property("sasl.kerberos.principal", d.filled)},
		{"keytab", property("sasl.kerberos.keytab", d.path)},
		{"serviceName", property("sasl.kerberos.service.name", d.filled)},
		{"profile", option("awsProfileName")},
		{"region", option("awsStsRegion")},
		{"roleArn", option("awsRoleArn")},
		{"roleSessionName", option("awsRoleSessionName")},
	})
	if options.Len() > 0 {
		derived = append(derived, Property{Key: "sasl.jaas.config", Value: Secret(iamModule + options.String() + ";"), Origin: s.Origin, Field: true})
	}
	d.checkSASL(n, s.Mechanism)
	return s, derived
}

// mechanism reads a mechanism's name in any case.
func (d *decoder) mechanism(key string, n *node) string {
	folded := *n
	if n.kind == text && !expands(n.text) {
		folded.text = strings.ToUpper(n.text)
	}
	return d.word(key, &folded, Mechanisms())
}

// checkSASL refuses keys that the mechanism has no use for, and ways of getting
// a token that exclude each other. What is missing may stand in properties.
func (d *decoder) checkSASL(n *node, mechanism string) {
	if n.kind != mapping {
		return
	}
	if len(n.pairs) == 0 {
		d.failAt(n, "sasl is empty; it must name a mechanism")
	}
	useful := saslKeys(mechanism)
	token := ""
	for _, p := range n.pairs {
		at := d.place(p.line, p.col)
		if useful != nil && !slices.Contains(useful, p.key) {
			d.fail(at, "sasl.%s means nothing for %s; allowed are %s", p.key, mechanism, strings.Join(useful, ", "))
		}
		if p.key == "token" || p.key == "tokenFile" || p.key == "tokenEndpoint" {
			if token != "" {
				d.fail(at, "sasl.%s and sasl.%s exclude each other", token, p.key)
			}
			token = p.key
		}
	}
}

// endpoint reads the address of a token endpoint.
func (d *decoder) endpoint(key string, n *node) string {
	urls, why := splitURLs(d.filled(key, n))
	if why != "" || len(urls) != 1 {
		d.failAt(n, "%s is no http:// or https:// address", key)
		return ""
	}
	return urls[0].String()
}

// extensions reads a mapping of SASL extensions (KIP-342) into the form of the
// property, a=b,c=d.
func (d *decoder) extensions(key string, n *node) string {
	var all []string
	for _, p := range d.properties(key, n) {
		if strings.ContainsAny(p.Key, ",=") || strings.ContainsAny(p.Value.Reveal(), ",=") {
			d.fail(p.Origin, "an extension holds no comma and no =")
		}
		all = append(all, p.Key+"="+p.Value.Reveal())
	}
	return strings.Join(all, ",")
}

// jaasQuote quotes an option's value the way sasl.jaas.config wants it.
func jaasQuote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
