// Package metadata owns what the user wrote about clusters and streams: it
// reads the sources (files, directories, standard input, HTTP, Kubernetes
// manifests, Flink's list, or addresses from the command line), checks them
// strictly and hands out one View. A Watcher follows the sources and hands out a
// new View when they mean something else. The package contacts no broker,
// interprets no properties file, certificate or key store (a Watcher looks at
// their content to tell that it changed), and knows nothing of kgo.
package metadata

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/kcm-cli/kcm/internal/spec"
)

// View is one consistent reading of all metadata sources. It is never changed
// after it was made: a later reading is another View. Both lists keep the order
// in which the sources name things.
type View struct {
	Clusters []*Cluster
	Streams  []*Stream
	// Sources are the places that the view was read from, as messages show
	// them: user-info and queries of addresses are masked.
	Sources []string
	// AdHoc marks a view made of addresses alone. It holds no streams: a stream
	// there is a topic name over all clusters.
	AdHoc bool
}

// Cluster returns the cluster of that name, nil if there is none.
func (v *View) Cluster(name string) *Cluster {
	for _, c := range v.Clusters {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// Stream returns the stream of that name, nil if there is none.
func (v *View) Stream(name string) *Stream {
	for _, s := range v.Streams {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// Cluster is a named set of brokers with its credentials. Paths in it are
// absolute, but for those inside Properties.
type Cluster struct {
	Name string
	// Bootstrap holds HOST:PORT each, IPv6 hosts in brackets. It is empty only
	// if the properties are to name the brokers.
	Bootstrap []string
	ClusterID string // the brokers' cluster id; empty: any
	TLS       *TLS   // nil: not said
	SASL      *SASL  // nil: not said
	// PropertiesFile is a Java properties file and Properties its inline form.
	// The fields above win over both, Properties over the file, an earlier
	// property over a later one of the same key. Neither is interpreted here.
	PropertiesFile string
	Properties     []Property
	Dir            string          // what relative paths in Properties are relative to; empty: the working directory
	SchemaRegistry *SchemaRegistry // nil: none
	Mirror         *Mirror         // nil: not said
	Origin         Origin
	// Places are where the values of the fields stand, by the names of the file:
	// "bootstrap", "tls", "tls.ca". Only what the file has is in it.
	Places map[string]Origin
	// files are the contents of the files that the fields and properties name,
	// by path, as a Watcher found them.
	files map[string]digest
}

// Property is one entry of a cluster's properties, in the order of the file.
type Property struct {
	Key    string
	Value  Secret // properties hold passwords among the rest, so none is shown
	Origin Origin
	Field  bool // made of a field of sasl, which wins over properties
}

// TLS says how a connection is encrypted. The zero TLS uses the system's roots.
type TLS struct {
	CA                 PEM // roots; replaces the system's
	Cert, Key          PEM // the client's own; both or neither
	KeyPassword        Secret
	ServerName         string // empty: the name that was dialed
	InsecureSkipVerify *bool  // nil: not said
	Origin             Origin
}

// PEM is a certificate or key: a path, or the text itself. The zero PEM is none.
type PEM struct {
	Path string
	Text Secret // begins with -----BEGIN
}

// IsZero reports that there is none.
func (p PEM) IsZero() bool { return p == PEM{} }

// SASL holds the credentials of one mechanism. It may be incomplete: properties
// can hold the rest. What mechanisms other than these fields need, the sasl
// mapping of the file says in short keys, and the loader turns those into the
// Java client's properties at the head of Cluster.Properties.
type SASL struct {
	Mechanism string // one of Mechanisms; empty when only properties name it
	Username  string // PLAIN and SCRAM
	Password  Secret // PLAIN and SCRAM
	Token     Secret // OAUTHBEARER
	TokenFile string // OAUTHBEARER: a file that holds a token and is read at each login
	Origin    Origin
}

// The SASL mechanisms, as Kafka names them.
const (
	Plain       = "PLAIN"
	ScramSHA256 = "SCRAM-SHA-256"
	ScramSHA512 = "SCRAM-SHA-512"
	OAuthBearer = "OAUTHBEARER"
	GSSAPI      = "GSSAPI"
	MSKIAM      = "AWS_MSK_IAM"
)

// Mechanisms lists what SASL.Mechanism may be.
func Mechanisms() []string {
	return []string{Plain, ScramSHA256, ScramSHA512, OAuthBearer, GSSAPI, MSKIAM}
}

// SchemaRegistry is where the schemas of a cluster's records are.
type SchemaRegistry struct {
	URLs     []string // http or https, without user-info; tried in order
	Username string
	Password Secret
	Token    Secret // a bearer token in place of Username and Password
	TLS      *TLS   // nil: the system's roots
	IDBytes  int    // of a schema's id in keys and values: 4, or 8 as in Apicurio's own format
	Origin   Origin
}

// Shown returns the addresses as people may see them: without their queries,
// which may hold secrets.
func (r *SchemaRegistry) Shown() []string {
	var all []string
	for _, text := range r.URLs {
		u, err := url.Parse(text)
		if err != nil {
			continue // it was checked when it was read
		}
		all = append(all, (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}).String())
	}
	return all
}

// String shows the registry without secrets.
func (r *SchemaRegistry) String() string { return strings.Join(r.Shown(), ",") }

// GoString is String.
func (r *SchemaRegistry) GoString() string { return r.String() }

// Mirror says how MirrorMaker 2 knows a cluster (KIP-382, KIP-690, KIP-949).
type Mirror struct {
	Alias             string // default: the cluster's name
	Separator         string // replication.policy.separator; default "."
	InternalSeparator bool   // replication.policy.internal.topic.separator.enabled; default true
	Origin            Origin
}

// Stream is a logical name over topics of one or more clusters.
type Stream struct {
	Name       string
	Key, Value string   // decoders; empty: auto
	Sources    []Source // no cluster twice; at least one
	// ByTopic marks a stream that a selection made of a pattern over topics:
	// each topic found is a stream of its own, named like the topic.
	ByTopic bool
	Origin  Origin
}

// NameFor returns the stream name that records of topic are delivered under.
func (s *Stream) NameFor(topic string) string {
	if s.ByTopic {
		return topic
	}
	return s.Name
}

// Source is what a stream takes from one cluster.
type Source struct {
	Cluster   string
	clusterAt Origin
	Topics    []Topic // at least one
	Start     *Spec   // nil: not said
	Stop      *Spec   // nil: not said; a bound that nothing passes
	Role      Role
	Isolation Isolation
	Cutover   *Cutover // nil: none
	Origin    Origin
}

// Spec is a start or a stop. Two readings say the same if their Texts are
// equal: a duration in the Bound counts from the time of the reading.
type Spec struct {
	Text   string
	Bound  spec.Bound
	Origin Origin
}

// Role says how a source is read; the zero Role is Active.
type Role string

// The roles of a source.
const (
	Active   Role = ""         // read
	Draining Role = "draining" // read until its end stood still, then left
	Standby  Role = "standby"  // shown, never read as part of the stream
)

// String gives the word of the metadata file.
func (r Role) String() string {
	if r == Active {
		return "active"
	}
	return string(r)
}

// Isolation is a source's isolation level; the zero Isolation says nothing.
type Isolation string

// The isolation levels, as Kafka names them.
const (
	ReadUncommitted Isolation = "read_uncommitted"
	ReadCommitted   Isolation = "read_committed"
)

// Cutover is where the records of another cluster end and this source's begin.
type Cutover struct {
	From   string // the cluster that was read before
	At     map[string]map[int32]Cut
	Origin Origin
}

// Cut is one partition's cut: positions, that is next offsets, on both sides.
type Cut struct{ Source, Target int64 }

// Origin is a place in a source. A Line of zero means the source as a whole.
type Origin struct {
	File         string
	Line, Column int // from 1; columns count characters
}

// String gives file:line:column.
func (o Origin) String() string {
	if o.Line == 0 {
		return o.File
	}
	return o.File + ":" + strconv.Itoa(o.Line) + ":" + strconv.Itoa(o.Column)
}
