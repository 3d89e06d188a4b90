package jsonschema

import (
	"encoding/json"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// value says what is wrong with a value by itself. Numbers are exact, unlike those
// in the library's own texts.
func value(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Pattern:
		return clip(strconv.Quote(k.Got)) + " does not match the pattern " + clip(strconv.Quote(k.Want))
	case *kind.Format:
		return shortJSON(k.Got) + " is no " + k.Want + because(k)
	case *kind.Const:
		return gotWant(shortJSON(k.Got), "", shortJSON(k.Want))
	case *kind.Enum:
		return gotWant(shortJSON(k.Got), "one of ", shortJSON(k.Want))
	case *kind.Minimum:
		return gotWant(exact(k.Got), "at least ", exact(k.Want))
	case *kind.Maximum:
		return gotWant(exact(k.Got), "at most ", exact(k.Want))
	case *kind.ExclusiveMinimum:
		return gotWant(exact(k.Got), "more than ", exact(k.Want))
	case *kind.ExclusiveMaximum:
		return gotWant(exact(k.Got), "less than ", exact(k.Want))
	case *kind.MultipleOf:
		return gotWant(exact(k.Got), "a multiple of ", exact(k.Want))
	}
	return clip(oneLine(k.LocalizedString(message.NewPrinter(language.English))))
}

func gotWant(got, relation, want string) string { return "got " + got + ", want " + relation + want }

// exact writes a number with all its digits: every number of JSON has finitely
// many.
func exact(r *big.Rat) string {
	digits, _ := r.FloatPrec()
	return clip(r.FloatString(digits))
}

func missing(properties []string, because string) string {
	text := "missing: " + names(properties)
	if because != "" {
		text += ", which has to be there with " + names([]string{because})
	}
	return text
}

// names lists properties in their alphabetical order, the first few of many.
func names(properties []string) string {
	const few = 3
	properties = slices.Sorted(slices.Values(properties))
	var quoted []string
	for _, p := range properties[:min(few, len(properties))] {
		quoted = append(quoted, clip(strconv.Quote(p)))
	}
	if more := len(properties) - few; more > 0 {
		quoted = append(quoted, strconv.Itoa(more)+" more")
	}
	return strings.Join(quoted, ", ")
}

// because gives the reason of a format's failure where it adds anything.
func because(k *kind.Format) string {
	if k.Err == nil {
		return ""
	}
	return ": " + clip(oneLine(k.Err.Error()))
}

// shortJSON writes a value as JSON, cut where it becomes long.
func shortJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "a value"
	}
	return clip(string(b))
}

// oneLine replaces what would end or disturb a line.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, s)
}

// clip cuts a long text, between characters.
func clip(s string) string {
	if len(s) <= maxShown {
		return s
	}
	end := maxShown
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}
