// Package settings decides what every setting is and where it came from: flag,
// environment, config file or default, in that order. It is the only importer
// of viper. It must not know Kafka, cobra or what a setting means; its callers
// describe their flags in neutral words and inject the environment.
package settings

import "strings"

// Flag describes one flag and what the command line said about it.
type Flag struct {
	// Command is the path of the command that owns the flag, its words parted
	// by blanks; empty for a global flag.
	Command string
	// Name is the long name, and the key in the config file unless Key is set.
	Name string
	Key  string
	// Given says that the command line holds the flag; Values are what it says.
	Given  bool
	Values []string
	// Default is what holds when nobody says anything; empty for none.
	Default string
	// Shape says how several values are written down.
	Shape Shape
	// Type is the type of a value, in the words of package flag: bool, int64,
	// count, duration, string. It only says how a value is shown as data.
	Type string
	// Address says that values are addresses, which may hold user-info.
	Address bool
}

// Shape says how the values of a flag stand in a file or variable. In a file all
// but Single may be a YAML list.
type Shape uint8

// The shapes.
const (
	Single   Shape = iota // one value
	Repeated              // each text is one value, whatever it holds
	Commas                // values are parted by commas
	Named                 // as [NAME=]A,B: a comma parts values only where a new NAME= follows
	// Pairs are key=value pairs that add up over the sources, each key being a
	// setting of its own: in a file a mapping or a list, in a variable parted by
	// lines or by the commas after which a new key follows.
	Pairs
)

// key returns the name under which file and environment know the flag.
func (f Flag) key() string {
	if f.Key != "" {
		return f.Key
	}
	return f.Name
}

// Label names the setting for people: COMMAND.KEY, or KEY for a global one.
func (f Flag) Label() string { return strings.Join(f.path(), ".") }

// EnvName returns the name of the environment variable: KCM_COMMAND_FLAG, or
// KCM_FLAG for a global flag.
func (f Flag) EnvName() string {
	return "KCM_" + strings.ToUpper(strings.ReplaceAll(strings.Join(f.path(), "_"), "-", "_"))
}

// path returns the keys that lead to the setting in the config file.
func (f Flag) path() []string { return append(strings.Fields(f.Command), f.key()) }

// CommandLineOnly reports whether a flag must be typed each time, because a
// forgotten variable or file must never name a group, redirect records or
// consent to a change.
func CommandLineOnly(name string) bool {
	switch name {
	case "group", "from", "to", "state", "out", "execute", "apply":
		return true
	default:
		return strings.HasPrefix(name, "allow-")
	}
}

// Source is a kind of place that settings come from. A greater one wins.
type Source uint8

// The sources.
const (
	Default Source = iota
	File
	Env
	CommandLine
)

// Value is one text and where it came from.
type Value struct {
	Text   string
	Source Source
	Origin string // "flag", "env KCM_X", "FILE:LINE" or "default"
	// Doubtful marks a pair of a variable that may be the rest of a secret, parted
	// from it by a comma: even its key must not be shown.
	Doubtful bool
}

// Setting is a flag with the values that hold: one for a plain flag, any number
// for a list.
type Setting struct {
	Flag   Flag
	Values []Value
}

// Text returns the value, the last of a list; "" when there is none.
func (s Setting) Text() string {
	if len(s.Values) == 0 {
		return ""
	}
	return s.Values[len(s.Values)-1].Text
}

// Texts returns all values.
func (s Setting) Texts() []string {
	list := make([]string, len(s.Values))
	for i, v := range s.Values {
		list[i] = v.Text
	}
	return list
}

// Source returns the greatest source among the values.
func (s Setting) Source() Source {
	top := Default
	for _, v := range s.Values {
		top = max(top, v.Source)
	}
	return top
}

// Origin names where the value came from; "default" when nobody set it.
func (s Setting) Origin() string {
	if len(s.Values) == 0 {
		return "default"
	}
	return s.Values[len(s.Values)-1].Origin
}
