package filter

import "github.com/kcm-cli/kcm/internal/record"

// root is where in the record a path begins.
type root uint8

const (
	rootRecord root = iota // the record itself
	rootStream
	rootCluster
	rootTopic
	rootPartition
	rootOffset
	rootTimestamp
	rootTimestampType
	rootKey
	rootValue
)

// roots are the keys of the JSON record that every record has, but for headers.
var roots = map[string]root{
	"stream": rootStream, "cluster": rootCluster, "topic": rootTopic, "partition": rootPartition,
	"offset": rootOffset, "timestamp": rootTimestamp, "timestamp_type": rootTimestampType,
	"key": rootKey, "value": rootValue,
}

// path leads to a part of a record.
type path struct {
	root  root
	steps []step // from there
}

// step is a name in an object, or an index into an array.
type step struct {
	name  string
	array bool
	index int
}

// eval finds what the path leads to. It returns false where jq has an error,
// and where only the JSON record itself would tell.
func (p *path) eval(v *view, d *datum) bool {
	switch {
	case p.root == rootRecord || p.root > rootPartition && v.rec == nil:
		return false
	case p.root == rootKey:
		return p.into(v.d.Key(), d)
	case p.root == rootValue:
		return p.into(v.d.Value(), d)
	case len(p.steps) > 0: // into a text or number
		return false
	default:
		return p.root.eval(v, d)
	}
}

// eval gives what is no key and no value.
func (r root) eval(v *view, d *datum) bool {
	switch r {
	case rootStream:
		return d.setText(v.stream)
	case rootCluster:
		return d.setText(v.cluster)
	case rootTopic:
		return d.setText(v.topic)
	case rootPartition:
		return d.setInt(int64(v.partition))
	case rootOffset:
		return d.setInt(v.rec.Offset)
	case rootTimestamp:
		return d.setInt(v.rec.Timestamp)
	default:
		return d.setText([]byte(v.rec.TimestampType.String()))
	}
}

// into follows the steps into a decoded key or value.
func (p *path) into(value *record.Value, d *datum) bool {
	switch value.Kind {
	case record.Null:
		d.kind = kindNull // and so is whatever it leads to
		return true
	case record.Text:
		return len(p.steps) == 0 && d.setText(value.Bytes)
	case record.JSON:
		return p.intoJSON(value.Bytes, d)
	default: // shown as base64
		return false
	}
}

func (p *path) intoJSON(b []byte, d *datum) bool {
	i := 0
	for k := range p.steps {
		s := &p.steps[k]
		switch {
		case b[i] == 'n':
			d.kind = kindNull
			return true
		case b[i] == '{' && !s.array:
			i = member(b, i, s.name)
		case b[i] == '[' && s.array:
			i = element(b, i, s.index)
		default:
			return false
		}
		if i < 0 {
			d.kind = kindNull
			return true
		}
	}
	d.setJSON(b, i)
	return true
}
