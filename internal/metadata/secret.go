package metadata

import "fmt"

// mask stands for a secret wherever one would be shown.
const mask = "******"

// Secret is a text that no format verb, encoder or log shows. The empty Secret
// is none, and shows as an empty text.
type Secret string

// Reveal returns the text, for the client that needs it.
func (s Secret) Reveal() string { return string(s) }

// String returns six stars, or nothing for the empty Secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return mask
}

// Format writes String's text for every verb, %x and %#v among them.
func (s Secret) Format(f fmt.State, _ rune) { fmt.Fprint(f, s.String()) }

// MarshalText masks the secret in JSON and YAML.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
