package settings

import (
	"net/url"
	"regexp"
	"strings"
)

// masked stands for a secret.
const masked = "***"

// secretWord finds the names of properties whose values nobody may see.
var secretWord = regexp.MustCompile(`(?i)pass|\bpw|secret|token|jaas|credential|user\.info|oauthbearer\.config|\bpem\b|keystore\.key$|ssl\.key$|api.?key|private`)

// authority finds user-info in text: all between the first :// and the last @,
// because a password may hold any letter.
var authority = regexp.MustCompile(`(?s)://.*@`)

// Mask returns the text of a value for people to see: passwords in addresses,
// the values of their queries and the values of secret properties are gone.
func (s Setting) Mask(v Value) string {
	text := v.Text
	if s.Flag.Shape == Pairs {
		key, _, ok := strings.Cut(text, "=")
		if !ok {
			return masked
		}
		if secretWord.MatchString(key) {
			return key + "=" + masked
		}
	}
	return MaskURL(text)
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
	for key := range values {
		values.Set(key, masked)
	}
	text, _ := url.QueryUnescape(values.Encode())
	return text
}
