package metadata

import (
	"regexp"
	"strings"
)

// Topic is one entry of a source's topics: a name or a pattern.
type Topic struct {
	Name   string         // empty for a pattern
	Regexp *regexp.Regexp // of Pattern, over whole names; nil for a name
}

// The pattern stands between these in Topic.Regexp.
const (
	anchorHead = `\A(?:`
	anchorTail = `)\z`
)

// Named returns the topic of that name.
func Named(topic string) Topic { return Topic{Name: topic} }

// Pattern compiles an RE2 pattern that must match whole topic names.
func Pattern(re string) (Topic, error) {
	// Compiled alone first: the anchors could turn a stray parenthesis into a
	// valid pattern of another meaning.
	if _, err := regexp.Compile(re); err != nil {
		return Topic{}, err
	}
	compiled, err := regexp.Compile(anchorHead + re + anchorTail)
	return Topic{Regexp: compiled}, err
}

// String gives the entry as the file has it: a name, or /pattern/.
func (t Topic) String() string {
	if t.Regexp == nil {
		return t.Name
	}
	return "/" + t.pattern() + "/"
}

func (t Topic) pattern() string {
	return strings.TrimSuffix(strings.TrimPrefix(t.Regexp.String(), anchorHead), anchorTail)
}

// Matches reports whether the entry takes the topic. A pattern takes internal
// topics only if it begins with an underscore.
func (t Topic) Matches(name string) bool {
	if t.Regexp == nil {
		return t.Name == name
	}
	return t.Regexp.MatchString(name) && (!Internal(name) || strings.HasPrefix(t.pattern(), "_"))
}

// Internal reports whether a topic's name says that it is no user's: it begins
// with two underscores, ends in .internal or -internal, or is _schemas.
func Internal(topic string) bool {
	return strings.HasPrefix(topic, "__") || topic == "_schemas" ||
		strings.HasSuffix(topic, ".internal") || strings.HasSuffix(topic, "-internal")
}
