package registry

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/kcm-cli/kcm/internal/codec"
)

// difference says in what two definitions differ that should mean the same;
// "" if in nothing but versions and layout.
func difference(a, b codec.Definition) string {
	switch {
	case a.Type != b.Type:
		return "their types: " + string(a.Type) + " and " + string(b.Type)
	case !sameText(a.Type, a.Text, b.Text):
		return "their texts"
	case len(a.References) != len(b.References):
		return "their references: " + strconv.Itoa(len(a.References)) + " and " + strconv.Itoa(len(b.References))
	}
	for _, ref := range a.References {
		i := slices.IndexFunc(b.References, func(r codec.Reference) bool { return r.Name == ref.Name })
		if i < 0 {
			return "their references: only one has " + ref.Name
		}
		if !sameText(a.Type, ref.Text, b.References[i].Text) {
			return "the text of their reference " + ref.Name
		}
	}
	return ""
}

// sameText compares texts but for their layout.
func sameText(t codec.SchemaType, a, b string) bool {
	if a == b {
		return true
	}
	if t == codec.Protobuf {
		return slices.Equal(protoWords(a), protoWords(b))
	}
	x, errX := anyJSON(a)
	y, errY := anyJSON(b)
	return errX == nil && errY == nil && reflect.DeepEqual(x, y)
}

func anyJSON(text string) (v any, err error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

// protoWords splits a .proto text into words, strings and signs, without
// comments.
func protoWords(text string) (words []string) {
	for text != "" {
		n, isWord := protoWord(text)
		if isWord {
			words = append(words, text[:n])
		}
		text = text[n:]
	}
	return words
}

// protoWord is the length of what text begins with; blanks and comments are no
// words.
func protoWord(text string) (n int, isWord bool) {
	until := func(end string, from int) int {
		if i := strings.Index(text[from:], end); i >= 0 {
			return from + i + len(end)
		}
		return len(text)
	}
	switch c := text[0]; {
	case strings.HasPrefix(text, "//"):
		return until("\n", 2), false
	case strings.HasPrefix(text, "/*"):
		return until("*/", 2), false
	case strings.IndexByte(" \t\r\n\f\v", c) >= 0:
		return 1, false
	case c == '"' || c == '\'':
		for n = 1; n < len(text) && text[n] != c; n++ {
			if text[n] == '\\' {
				n++
			}
		}
		return min(n+1, len(text)), true
	case !wordByte(c):
		return 1, true
	}
	for n < len(text) && wordByte(text[n]) {
		n++
	}
	return n, true
}

func wordByte(c byte) bool {
	return c == '_' || c == '.' || c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
