package metadata

import (
	"strings"
	"unicode"

	"github.com/kcm-cli/kcm/internal/fault"
)

// TokenVariable is the environment variable that holds the bearer token of http
// sources: the token, or file:PATH, which is read at each request.
const TokenVariable = "KCM_METADATA_TOKEN"

// bearer returns the bearer token, "" for none.
func bearer(source string, getenv func(string) (string, bool)) (string, error) {
	if getenv == nil {
		return "", nil
	}
	t, _ := getenv(TokenVariable)
	if strings.HasPrefix(t, filePrefix) {
		path := filePath(t)
		content, err := readBounded(path, maxValueFile)
		if err != nil {
			return "", fault.New(fault.Usage, "metadata source %s: %s: cannot read %s: %s", source, TokenVariable, path, reason(err))
		}
		t = content
	}
	t = dropNewline(t)
	if strings.ContainsFunc(t, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }) {
		return "", fault.New(fault.Usage, "metadata source %s: %s holds a blank, a line break or a control character", source, TokenVariable)
	}
	return t, nil
}
