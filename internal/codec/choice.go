package codec

import (
	"strings"

	"github.com/kcm-cli/kcm/internal/fault"
)

// Choice names the decoders of keys and values; an empty name is no choice.
type Choice struct{ Key, Value string }

// Or fills what c leaves open from other.
func (c Choice) Or(other Choice) Choice {
	if c.Key == "" {
		c.Key = other.Key
	}
	if c.Value == "" {
		c.Value = other.Value
	}
	return c
}

// ParseChoice reads the values of the flag -s: each is [key=|value=]NAME or
// several of those with commas between; a NAME alone is for both. The last one
// for a side wins. Unknown sides and names are errors of kind fault.Usage.
func ParseChoice(args []string) (Choice, error) {
	var c Choice
	for _, arg := range args {
		for part := range strings.SplitSeq(arg, ",") {
			side, name, found := strings.Cut(part, "=")
			if !found {
				side, name = "", part
			}
			if _, err := New(name); err != nil {
				return Choice{}, err
			}
			switch {
			case !found:
				c = Choice{Key: name, Value: name}
			case side == "key":
				c.Key = name
			case side == "value":
				c.Value = name
			default:
				return Choice{}, fault.New(fault.Usage, "unknown side %q in -s %s; sides are key and value", side, arg)
			}
		}
	}
	return c, nil
}

// Pair holds the decoders of one stream's keys and values.
type Pair struct{ Key, Value Decoder }

// Pair makes the decoders that c names; Auto where it names none.
func (c Choice) Pair() (Pair, error) {
	c = c.Or(Choice{Key: Auto, Value: Auto})
	key, err := New(c.Key)
	if err != nil {
		return Pair{}, err
	}
	value, err := New(c.Value)
	return Pair{Key: key, Value: value}, err
}

// ShowsStored reports whether the decoder of that name shows the stored bytes
// themselves, but perhaps for whitespace between the tokens of JSON: what is
// looked for in its text is found in the bytes as well. An empty name is Auto.
func ShowsStored(name string) bool {
	switch name {
	case "", Auto, "raw", "bytes", "string", "str", "text", "json":
		return true
	default:
		return false
	}
}

// Repeats reports whether the decoder of that name, given the text or JSON that
// it has shown, shows the same once more. An empty name is Auto.
func Repeats(name string) bool { return name != "json" && ShowsStored(name) }
