package metadata

import (
	"errors"
	"fmt"
	"math"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/spec"
)

func (d *decoder) stream(name string, at Origin, n *node) *Stream {
	s := &Stream{Name: name, Origin: at}
	d.fields(n, "a stream", []field{
		{"key", func(k string, n *node) { s.Key = d.decoder(k, n) }},
		{"value", func(k string, n *node) { s.Value = d.decoder(k, n) }},
		{"sources", func(k string, n *node) {
			for _, item := range d.entries(k, n) {
				s.Sources = append(s.Sources, d.source(item))
			}
		}},
	})
	if len(s.Sources) == 0 {
		d.fail(at, "stream %q has no sources", name)
	}
	d.onceEach(s)
	return s
}

// decoder reads a decoder's name or a synonym of one.
func (d *decoder) decoder(key string, n *node) string {
	if n.kind == text && slices.Contains(decoderSynonyms(), n.text) {
		return n.text
	}
	return d.word(key, n, d.decoders)
}

// onceEach refuses a cluster that a stream names twice.
func (d *decoder) onceEach(s *Stream) {
	first := map[string]Origin{}
	for _, src := range s.Sources {
		if at, ok := first[src.Cluster]; ok {
			d.fail(src.clusterAt, "stream %q names cluster %q twice, first at %s; list all topics in one source", s.Name, src.Cluster, at)
		}
		first[src.Cluster] = src.clusterAt
	}
}

func (d *decoder) source(n *node) Source {
	s := Source{Origin: d.at(n)}
	d.fields(n, "a source", []field{
		{"cluster", func(k string, n *node) { s.Cluster, s.clusterAt = d.filled(k, n), d.at(n) }},
		{"topics", func(k string, n *node) { s.Topics = d.topics(k, n) }},
		{"start", func(k string, n *node) { s.Start = d.spec(k, n, spec.ParseBound) }},
		{"stop", func(k string, n *node) { s.Stop = d.spec(k, n, spec.ParseStop) }},
		{"role", func(k string, n *node) {
			if s.Role = Role(d.word(k, n, []string{"active", "draining", "standby"})); s.Role == "active" {
				s.Role = Active
			}
		}},
		{"isolation", func(k string, n *node) {
			s.Isolation = Isolation(d.word(k, n, []string{string(ReadCommitted), string(ReadUncommitted)}))
		}},
		{"cutover", func(_ string, n *node) { s.Cutover = d.cutover(n) }},
	})
	switch {
	case s.Cluster == "":
		d.failAt(n, "a source has no cluster")
	case len(s.Topics) == 0:
		d.failAt(n, "a source has no topics")
	case s.Cutover != nil && s.Cutover.From == s.Cluster:
		d.fail(s.Cutover.Origin, "cutover from cluster %q to itself", s.Cluster)
	}
	return s
}

// spec reads a start or a stop, which YAML may take for a number.
func (d *decoder) spec(key string, n *node, parse func(string, time.Time) (spec.Bound, error)) *Spec {
	s := &Spec{Text: d.scalar(key, n), Origin: d.at(n)}
	if d.err != nil {
		return s
	}
	bound, err := parse(s.Text, d.now)
	switch {
	case err != nil && expands(n.text):
		d.failAt(n, "%s: %s is no offset spec", key, quote(n))
	case err != nil:
		d.err = fault.New(fault.Usage, "%s: %s: %s", s.Origin, key, err).WithHint("%s", fault.HintOf(err))
	}
	s.Bound = bound
	return s
}

func (d *decoder) topics(key string, n *node) []Topic {
	var all []Topic
	for _, item := range d.entries(key, n) {
		t := d.topic(item, d.text("an entry of "+key, item))
		for _, other := range all {
			if other.String() == t.String() {
				d.failAt(item, "topic %s is listed twice", quote(item))
			}
		}
		all = append(all, t)
	}
	return all
}

func (d *decoder) topic(n *node, s string) Topic {
	if !strings.HasPrefix(s, "/") {
		if why := badTopic(s, ", and a pattern stands between slashes"); why != "" {
			d.failAt(n, "%s is no topic name: %s", quote(n), why)
		}
		return Named(s)
	}
	re, closed := strings.CutSuffix(s[1:], "/")
	if !closed || re == "" {
		d.failAt(n, `%s is no pattern: one stands between slashes, "/orders-.*/"`, quote(n))
		return Topic{}
	}
	t, err := Pattern(re)
	if err != nil {
		d.failAt(n, "%s is no regular expression: %s", quote(n), regexpReason(err, expands(n.text)))
		return Topic{}
	}
	return t
}

// regexpReason says what is wrong with a pattern, and at which part of it.
func regexpReason(err error, hidden bool) string {
	if e, ok := errors.AsType[*syntax.Error](err); ok && hidden {
		return e.Code.String()
	}
	return strings.TrimPrefix(err.Error(), "error parsing regexp: ")
}

// badTopic says why Kafka would refuse a topic name; advice follows where it
// holds what no name holds.
func badTopic(name, advice string) string {
	switch {
	case name == "":
		return "it is empty"
	case name == "." || name == "..":
		return "Kafka refuses it"
	case len(name) > 249:
		return "it is longer than 249 characters"
	}
	for _, r := range name {
		ok := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("._-", r)
		if !ok {
			return fmt.Sprintf("it holds %q; letters, digits and . _ - are allowed%s", r, advice)
		}
	}
	return ""
}

func (d *decoder) cutover(n *node) *Cutover {
	c := &Cutover{At: map[string]map[int32]Cut{}, Origin: d.at(n)}
	d.fields(n, "cutover", []field{
		{"from", func(k string, n *node) { c.From = d.filled(k, n) }},
		{"at", func(k string, n *node) { d.cuts(k, n, c) }},
	})
	if c.From == "" || len(c.At) == 0 {
		d.failAt(n, "cutover needs from, a cluster, and at, its positions")
	}
	return c
}

func (d *decoder) cuts(key string, n *node, c *Cutover) {
	if n.kind != mapping {
		d.failAt(n, "%s must be a mapping from topics, this is %s", key, n.kind)
		return
	}
	for _, topic := range n.pairs {
		if topic.value.kind != mapping {
			d.failAt(topic.value, "at must map partitions to positions, this is %s", topic.value.kind)
			return
		}
		cuts := map[int32]Cut{}
		for _, p := range topic.value.pairs {
			partition, err := strconv.ParseInt(p.key, 10, 32)
			if err != nil || partition < 0 {
				d.fail(d.place(p.line, p.col), "%q is no partition", p.key)
				return
			}
			cuts[int32(partition)] = d.cut(p.value)
		}
		c.At[topic.key] = cuts
	}
}

func (d *decoder) cut(n *node) Cut {
	var at [2]int64
	if n.kind != list || len(n.items) != len(at) {
		d.failAt(n, "a cut is [SOURCE POSITION, TARGET POSITION]")
		return Cut{}
	}
	for i, item := range n.items {
		pos, err := strconv.ParseInt(item.text, 10, 64)
		if item.kind != number || err != nil || pos < 0 || pos == math.MaxInt64 {
			d.failAt(item, "a position is a number from 0 on")
		}
		at[i] = pos
	}
	return Cut{Source: at[0], Target: at[1]}
}
