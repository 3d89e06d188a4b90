package settings

import (
	"net/url"
	"regexp"
	"strings"
)

// masked stands for a secret.
const masked = "***"

// authority finds user-info in text: all between the first :// and the last @,
// because a password may hold any letter.
var authority = regexp.MustCompile(`(?s)://.*@`)

// Mask returns the text of a value for people to see: passwords in addresses
// and the values of their queries are gone, and the value of every property that
// is not known to be harmless.
func (s Setting) Mask(v Value) string {
	switch {
	case s.Flag.Shape == Pairs:
		return maskPair(v)
	case s.Flag.Address && !strings.Contains(v.Text, "://"):
		return maskUser(v.Text)
	default:
		return MaskURL(v.Text)
	}
}

func maskPair(v Value) string {
	key, value, ok := strings.Cut(v.Text, "=")
	switch {
	case !ok:
		return masked
	case v.Doubtful || !IsKey(key):
		return masked + "=" + masked
	case !isHarmless(key):
		return key + "=" + masked
	default:
		return key + "=" + maskUser(MaskURL(value))
	}
}

// keyShape is what the key of a property looks like, with or without a cluster
// before it. Anything else may be a secret that lost its "=".
var keyShape = regexp.MustCompile(`^\s*([^:/=,\s]+:)?[A-Za-z0-9._-]+\s*$`)

// IsKey reports whether text can be the key of a property, so that a message may
// show it.
func IsKey(text string) bool {
	scope, _, scoped := strings.Cut(text, ":")
	return keyShape.MatchString(text) && (!scoped || !isKnown(scope))
}

// maskUser hides the user-info of addresses without a scheme, [NAME=]USER:PASSWORD@HOST.
func maskUser(text string) string {
	at := strings.LastIndexByte(text, '@')
	if at < 0 || strings.Contains(text, "://") {
		return text
	}
	user, _, ok := strings.Cut(text[:at], ":")
	if !ok {
		name, _, named := strings.Cut(text[:at], "=")
		if !named {
			return masked + text[at:]
		}
		return name + "=" + masked + text[at:]
	}
	return user + ":" + masked + text[at:]
}

// MaskURL returns text without the secrets that an address in it may hold.
func MaskURL(text string) string {
	text = authority.ReplaceAllStringFunc(text, func(m string) string {
		user, _, ok := strings.Cut(strings.TrimPrefix(m, "://"), ":")
		if !ok {
			return "://" + masked + "@"
		}
		return "://" + user + ":" + masked + "@"
	})
	if before, query, ok := strings.Cut(text, "?"); ok && strings.Contains(before, "://") {
		return before + "?" + maskQuery(query)
	}
	return text
}

func maskQuery(query string) string {
	values, err := url.ParseQuery(query)
	if err != nil {
		return masked
	}
	alone := false
	for key := range values {
		if values.Get(key) == "" { // a secret may stand there without a name
			values.Del(key)
			alone = true
			continue
		}
		values.Set(key, masked)
	}
	if alone {
		values.Set(masked, "")
	}
	text, _ := url.QueryUnescape(strings.TrimSuffix(values.Encode(), "="))
	return text
}
