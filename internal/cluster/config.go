package cluster

import (
	"context"
	"fmt"
	"net"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Config describes a cluster as its user wrote it. Explicit fields win over
// Properties one by one, Properties win over PropertiesFile.
type Config struct {
	Name      string   // how kcm calls the cluster; never the broker's id
	Bootstrap []string // host:port each; empty falls back to bootstrap.servers of the properties
	ClusterID string   // when set, any other cluster is refused
	Origin    string   // where the cluster is defined, for messages; may be empty
	// Places are where the values of the explicit fields stand, for messages, by
	// their names in YAML: "bootstrap", "tls.ca". Origin stands in for missing ones.
	Places map[string]string
	Dir    string // what relative paths in TLS, SASL and PropertiesFile are relative to; empty is the working directory

	TLS  *TLS  // nil leaves it to security.protocol; an empty TLS is TLS with the system's roots
	SASL *SASL // nil leaves it to the properties

	// Dial connects to an address, for networks other than TCP; nil: TCP.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error) `json:"-"`

	// Hooks are told what the cluster's Kafka clients do.
	Hooks []kgo.Hook `json:"-"`

	PropertiesFile string     // a Java properties file; read by New
	Properties     []Property // the lowest layer wins, then the Java name, then the first
}

// TLS are the explicit settings of a TLS connection. CA, Cert and Key hold a
// path or the PEM text itself.
type TLS struct {
	CA                 string
	Cert               string
	Key                Secret
	KeyPassword        Secret // of an encrypted key
	ServerName         string // checked instead of the host name that is dialed
	InsecureSkipVerify *bool  // believe any certificate; nil leaves it to the properties
}

// SASL are the explicit settings of an authentication. Mechanism is PLAIN,
// SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER, GSSAPI or AWS_MSK_IAM.
type SASL struct {
	Mechanism string
	Username  string
	Password  Secret
	Token     Secret // OAUTHBEARER: the token itself
	TokenFile string // OAUTHBEARER: a file that holds it, read again for each authentication
}

// Property is one client property, under its Java or its librdkafka name. Its
// value may be secret and is masked whenever it is printed.
type Property struct {
	Key    string
	Value  Secret
	Origin string // what the user sees as its place: "-X", "kcm.yaml:12:5", "east.properties:3"
	Dir    string // what a relative path in the value is relative to; empty is the working directory
	Layer  Layer  // the kind of place
}

// Layer is a kind of place for settings. The lowest layer that says something
// decides, whichever of several spellings it says it in.
type Layer uint8

// The layers.
const (
	FromField    Layer = iota // a field of YAML that has no field in Config
	FromCommand               // -X
	FromMetadata              // properties
	FromFile                  // the properties file
	fromNowhere  Layer = 255
)

// Secret is a text that is never printed: every verb of fmt, JSON and YAML show
// it masked. Reveal returns it.
type Secret string

const masked = "***"

// Reveal returns the text itself.
func (s Secret) Reveal() string { return string(s) }

// String returns a mask, or nothing for an empty secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return masked
}

// Format prints the mask whatever the verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = fmt.Fprint(f, s.String()) }

// MarshalText gives the mask to encoders.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Format prints the cluster's name alone, whatever the verb. Each struct that
// holds secrets has a Format of its own, because fmt prints a nested pointer by
// reflection when the verb does not suit it.
func (c Config) Format(f fmt.State, _ rune) { _, _ = fmt.Fprint(f, "cluster ", c.Name) }

// Format prints which fields are set, whatever the verb.
func (t TLS) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "{ca: %t, cert: %t, key: %t, serverName: %s, insecureSkipVerify: %t}",
		t.CA != "", t.Cert != "", t.Key != "", t.ServerName, t.InsecureSkipVerify != nil && *t.InsecureSkipVerify)
}

// Format prints mechanism and user, whatever the verb.
func (s SASL) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "{mechanism: %s, username: %s}", s.Mechanism, s.Username)
}

// Format prints the key and its place, whatever the verb.
func (p Property) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "%s=%s (%s)", p.Key, p.Value, p.Origin)
}
