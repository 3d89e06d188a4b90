package produce

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kcm-cli/kcm/internal/fault"
)

// verdict is what becomes of the first batch of a partition that came back.
type verdict uint8

const (
	again  verdict = iota // as it is, with the sequence that it has
	renew                 // under another producer id
	halve                 // in two parts, to find the record that is refused
	refuse                // never
)

// refused is a broker's answer with what it says besides the code.
type refused struct {
	code    *kerr.Error
	message string
}

// Error is the broker's message, or the code's.
func (r *refused) Error() string {
	if r.message != "" {
		return r.message
	}
	return r.code.Description
}

// Unwrap returns the code.
func (r *refused) Unwrap() error { return r.code }

func refusal(code error, p *kmsg.ProduceResponseTopicPartition) error {
	ke, ok := errors.AsType[*kerr.Error](code)
	if !ok {
		return code
	}
	r := &refused{code: ke}
	if p.ErrorMessage != nil {
		r.message = *p.ErrorMessage
	}
	for _, e := range p.ErrorRecords {
		if e.ErrorMessage != nil && *e.ErrorMessage != "" {
			r.message = *e.ErrorMessage
			break
		}
	}
	return r
}

// verdicts are what codes mean that are not merely tried again.
var verdicts = map[*kerr.Error]verdict{
	// Lost track of the producer: retention has removed all that it wrote, or a
	// leader without it was elected. What may be there already is written again.
	kerr.UnknownProducerID:    renew,
	kerr.InvalidProducerEpoch: renew,
	kerr.ProducerFenced:       renew,
	// Behind a batch that is tried again this is to be expected; of the first it
	// means the same as those above.
	kerr.OutOfOrderSequenceNumber: renew,

	kerr.MessageTooLarge:    halve,
	kerr.RecordListTooLarge: halve,
	kerr.InvalidTimestamp:   halve,
	kerr.InvalidRecord:      halve,
	kerr.CorruptMessage:     halve,

	kerr.TopicAuthorizationFailed:           refuse,
	kerr.ClusterAuthorizationFailed:         refuse,
	kerr.InvalidTopicException:              refuse,
	kerr.InvalidRequiredAcks:                refuse,
	kerr.UnsupportedForMessageFormat:        refuse,
	kerr.UnsupportedCompressionType:         refuse,
	kerr.UnsupportedVersion:                 refuse,
	kerr.PolicyViolation:                    refuse,
	kerr.InvalidRequest:                     refuse,
	kerr.SecurityDisabled:                   refuse,
	kerr.TransactionalIDAuthorizationFailed: refuse,
}

// verdictOn decides about the first batch that came back. Whatever is not known to
// be final is tried again.
func (w *Writer) verdictOn(p *partition, b *Batch) verdict {
	code, ok := errors.AsType[*kerr.Error](b.err)
	if !ok {
		p.failedOn = b.sentTo.broker
		w.elsewhere(p)
		return again
	}
	v := verdicts[code]
	switch {
	case v == halve && b.Records < 2:
		return refuse
	case v == again:
		w.elsewhere(p)
	}
	return v
}

// whys are the sentences for refusals of a single record, with the setting that
// decides.
var whys = map[*kerr.Error]struct{ text, hint string }{
	kerr.MessageTooLarge:    {"it is too large", "max.message.bytes of the topic is the limit"},
	kerr.RecordListTooLarge: {"it is too large", "segment.bytes of the topic is the limit"},
	kerr.InvalidTimestamp:   {"its timestamp is out of range", "message.timestamp.after.max.ms and message.timestamp.before.max.ms of the topic are the limits"},
	kerr.InvalidRecord:      {"it is not valid there", "a compacted topic takes no record without a key"},
	kerr.CorruptMessage:     {"the broker finds it damaged", ""},
}

// explain is the error about a batch that was refused for good.
func (w *Writer) explain(b *Batch, p *partition) error {
	name := w.cfg.Cluster.Name()
	where := fmt.Sprintf("%s/%s/%d", name, p.key.topic, p.key.id)
	code, ok := errors.AsType[*kerr.Error](b.err)
	if !ok {
		return fault.New(fault.Failed, "%s: %s does not take the batch with offset %d: %w", b.Lane.From, where, b.offset(0), b.err).On(name)
	}
	why, known := whys[code]
	if !known {
		return w.forWriting(code, p.key.topic)
	}
	text := why.text
	if r, ok := errors.AsType[*refused](b.err); ok && r.message != "" {
		text += " (" + r.message + ")"
	}
	err := fault.New(fault.Partial, "%s: %s refuses the record at offset %d, %d bytes as a batch: %s", b.Lane.From, where, b.offset(0), len(b.Raw), text).On(name)
	if why.hint != "" {
		return err.WithHint("%s; what comes before the record has been written", why.hint)
	}
	return err
}

// forWriting explains an error about a topic as one of writing.
func (w *Writer) forWriting(err error, topic string) error {
	name := w.cfg.Cluster.Name()
	switch {
	case errors.Is(err, kerr.TopicAuthorizationFailed):
		return fault.New(fault.Auth, "%s/%s: not authorized to write", name, topic).On(name).
			WithHint("the principal needs WRITE and DESCRIBE on the topic")
	case errors.Is(err, kerr.ClusterAuthorizationFailed):
		return fault.New(fault.Auth, "%s: not authorized to write under a producer id", name).On(name).
			WithHint("the principal needs WRITE on a topic, before Kafka 2.8 IDEMPOTENT_WRITE on the cluster")
	}
	return w.cfg.Cluster.Explain(err, topic)
}
