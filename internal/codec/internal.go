package codec

import (
	"errors"

	"github.com/kcm-cli/kcm/internal/record"
)

// ErrOther is wrapped by the errors of an Internal whose topic is no such topic
// after all: anybody may call a topic heartbeats. Its records are shown as any others.
var ErrOther = errors.New("not a record of this kind")

// internal decodes one side of the records of a topic of Kafka's own.
type internal struct {
	topic Internal
	key   bool
	other Decoder
}

func newInternal(e Env, key bool) *internal {
	i := &internal{topic: e.Internal, key: key, other: &auto{}}
	if e.Registry != nil {
		i.other = newFramed(e, "", key)
	}
	return i
}

// Decode implements Decoder.
func (i *internal) Decode(v *record.Value, dst, raw []byte, r *record.Record) []byte {
	if raw == nil {
		*v = record.Value{}
		return dst
	}
	start := len(dst)
	var grown []byte
	var err error
	if i.key || r == nil {
		grown, err = i.topic.AppendKey(dst, raw)
	} else {
		grown, err = i.topic.AppendValue(dst, r.Key, raw)
	}
	if errors.Is(err, ErrOther) {
		return i.other.Decode(v, dst, raw, r)
	}
	if err != nil {
		*v = plain(raw)
		v.Err = err
		return dst
	}
	*v = record.Value{Kind: record.JSON, Bytes: grown[start:]}
	return grown
}
