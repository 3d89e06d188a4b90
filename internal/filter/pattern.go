package filter

import (
	"strings"

	"github.com/kcm-cli/kcm/internal/codec"
	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/record"
)

// selector says which part of a record a pattern is about.
type selector uint8

const (
	selKey selector = iota
	selValue
	selHeader // the key or the value of any header, or the value of a named one
	selHeaderKey
	selHeaderValue
	selStream
	selCluster
	selTopic
)

// selectors are the words for them, the short one first.
var selectors = []struct {
	words []string
	sel   selector
}{
	{[]string{"k", "key"}, selKey},
	{[]string{"v", "value"}, selValue},
	{[]string{"h", "header", "headers"}, selHeader},
	{[]string{"hk", "header-key"}, selHeaderKey},
	{[]string{"hv", "header-value"}, selHeaderValue},
	{[]string{"s", "stream"}, selStream},
	{[]string{"c", "cluster"}, selCluster},
	{[]string{"t", "topic"}, selTopic},
}

// Selectors lists the words that may stand before the colon of a pattern, the
// short ones.
func Selectors() []string {
	var list []string
	for _, s := range selectors {
		list = append(list, s.words[0])
	}
	return list
}

// fixed reports whether s is the same for all records of a partition.
func (s selector) fixed() bool { return s >= selStream }

// name is what a fixed selector selects.
func (s selector) name(o Origin) string {
	switch s {
	case selStream:
		return o.Stream
	case selCluster:
		return o.Split.Cluster
	default:
		return o.Split.Topic
	}
}

// pattern is one -G.
type pattern struct {
	negate bool
	sel    selector
	header string // of selHeader: the header's name
	named  bool   // there is such a name, which may be empty
	match  matcher
}

// parsePattern reads [!|not:]SEL:RE, where SEL may be h:NAME.
func parsePattern(text string) (pattern, error) {
	var p pattern
	rest := text
	for _, not := range []string{"!", "not:"} {
		if cut, ok := strings.CutPrefix(rest, not); ok {
			p.negate, rest = true, cut
			break
		}
	}
	word, re, ok := strings.Cut(rest, ":")
	if !ok {
		return p, fault.New(fault.Usage, "-G %s says not where to look", text).
			WithHint("-G v:%s looks in values, -G k:%s in keys; kcm help filters", rest, rest)
	}
	if p.sel, ok = selectorOf(word); !ok {
		return p, unknownSelector(text, word, rest)
	}
	if p.sel == selHeader {
		if name, after, found := strings.Cut(re, ":"); found && isHeaderName(name) {
			p.header, p.named, re = name, true, after
		}
	}
	var err error
	if p.match, err = newMatcher(re); err != nil {
		return p, usage("-G %s: %w", text, err)
	}
	return p, nil
}

func selectorOf(word string) (selector, bool) {
	for _, s := range selectors {
		for _, w := range s.words {
			if w == word {
				return s.sel, true
			}
		}
	}
	return 0, false
}

func unknownSelector(text, word, rest string) error {
	err := fault.New(fault.Usage, "-G %s: there is no selector %q; selectors are %s", text, word, strings.Join(Selectors(), ", "))
	if strings.HasPrefix(word, "!") || word == "not" {
		return err.WithHint("one ! or not: is enough")
	}
	var words []string
	for _, s := range selectors {
		words = append(words, s.words...)
	}
	if near := fault.Nearest(strings.ToLower(word), words); near != "" && len(word) > 1 {
		return err.WithHint("did you mean %s:?", near)
	}
	return err.WithHint("-G v:%s looks for %s in values; kcm help filters", rest, rest)
}

// isHeaderName tells a header's name from the beginning of a pattern that holds
// a colon itself, as in h:(?i:abc).
func isHeaderName(s string) bool { return !strings.ContainsAny(s, `\+*?()|[]{}^$`) }

// decoded reports whether p is looked for in what the decoders of c make of a
// record: only where they show something else than the stored bytes.
func (p *pattern) decoded(c codec.Choice) bool {
	switch p.sel {
	case selKey:
		return !codec.ShowsStored(c.Key)
	case selValue:
		return !codec.ShowsStored(c.Value)
	default:
		return false
	}
}

// hits reports whether p is found. What is null has no match.
func (p *placed) hits(rec *record.Record, d Decoded) bool {
	switch p.sel {
	case selValue:
		if rec.Value == nil || !p.decoded {
			return rec.Value != nil && p.match.in(rec.Value)
		}
		return p.match.in(d.Value().Bytes)
	case selKey:
		if rec.Key == nil || !p.decoded {
			return rec.Key != nil && p.match.in(rec.Key)
		}
		return p.match.in(d.Key().Bytes)
	default:
		return p.inHeaders(rec.Headers)
	}
}

func (p *pattern) inHeaders(headers record.Headers) bool {
	for h := range headers.All() {
		if p.named && string(h.Key) != p.header {
			continue
		}
		if p.sel != selHeaderValue && !p.named && p.match.in(h.Key) {
			return true
		}
		if p.sel != selHeaderKey && h.Value != nil && p.match.in(h.Value) {
			return true
		}
	}
	return false
}
