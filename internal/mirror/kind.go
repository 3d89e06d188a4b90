package mirror

import "strings"

// Kind is one of MirrorMaker 2's own topics.
type Kind uint8

// What a topic holds.
const (
	Other Kind = iota // no topic of MirrorMaker 2, as far as its name tells
	Checkpoints
	OffsetSyncs
	Heartbeats
)

// Named is what a topic's name tells without the policy that made it.
type Named struct {
	Kind      Kind
	Alias     string // in the name of a topic of checkpoints or offset syncs; the heartbeats' sources, with separators
	Separator string // between the parts of the name; empty where there are none
}

// Recognize tells MirrorMaker 2's own topics by their names, whatever separator
// of dots, dashes and underscores they were made with. Of heartbeats it is not
// sure: anybody may call a topic heartbeats.
func Recognize(topic string) Named {
	const syncs, checkpoints, internal, heartbeats = "mm2-offset-syncs", "checkpoints", "internal", "heartbeats"
	if body, ok := strings.CutSuffix(topic, heartbeats); ok {
		alias, sep := cutSeparator(body)
		if body == "" || sep != "" && alias != "" {
			return Named{Kind: Heartbeats, Alias: alias, Separator: sep}
		}
		return Named{}
	}
	body, ok := strings.CutSuffix(topic, internal)
	if !ok {
		return Named{}
	}
	body, sep := cutSeparator(body)
	if sep == "" {
		return Named{}
	}
	if rest, ok := strings.CutPrefix(body, syncs); ok {
		alias, ok := strings.CutPrefix(rest, sep)
		if ok && alias != "" {
			return Named{Kind: OffsetSyncs, Alias: alias, Separator: sep}
		}
	}
	if alias, ok := strings.CutSuffix(body, sep+checkpoints); ok && alias != "" {
		return Named{Kind: Checkpoints, Alias: alias, Separator: sep}
	}
	return Named{}
}

// cutSeparator cuts the dots, dashes and underscores at the end off a name.
func cutSeparator(name string) (before, separator string) {
	before = strings.TrimRight(name, "._-")
	return before, name[len(before):]
}
