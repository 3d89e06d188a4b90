package metadata

import (
	"slices"
	"strings"

	"github.com/goccy/go-yaml/token"
)

// checkTokens refuses what the library reads as something else than what
// stands there, or refuses itself with words that help nobody. It runs after
// checkShape; as everywhere here none of the text is repeated.
func checkTokens(tokens token.Tokens) *parseError {
	var open []token.Type // the brackets around
	for _, tk := range tokens {
		switch tk.Type {
		case token.SequenceStartType, token.MappingStartType:
			open = append(open, tk.Type)
		case token.SequenceEndType, token.MappingEndType:
			open = open[:max(0, len(open)-1)]
		case token.DocumentHeaderType, token.DocumentEndType:
			open = open[:0]
		case token.TagType:
			if why := badTag(tk); why != "" {
				return tooMuch(tk, "%s", why)
			}
		}
		if !isPlain(tk) {
			continue
		}
		why := lost(tk)
		if why == "" && len(open) > 0 {
			why = badInBrackets(tk, open[len(open)-1] == token.MappingStartType)
		}
		if why != "" {
			return tooMuch(tk, "%s", why)
		}
	}
	return nil
}

// isPlain reports a scalar without quotes; a block text is none, nor the name
// of an anchor.
func isPlain(tk *token.Token) bool {
	switch tk.Type {
	case token.StringType, token.IntegerType, token.FloatType, token.BoolType, token.NullType,
		token.BinaryIntegerType, token.OctetIntegerType, token.HexIntegerType, token.InfinityType, token.NanType:
	default:
		return false
	}
	prev := tk.Prev
	if prev != nil && prev.Type == token.CommentType {
		prev = prev.Prev // one may stand behind the mark of a block text
	}
	return prev == nil || !slices.Contains([]token.Type{
		token.LiteralType, token.FoldedType, token.AnchorType, token.AliasType, token.DirectiveType,
	}, prev.Type)
}

// lost says what of a plain scalar the library drops: it takes tabs out.
func lost(tk *token.Token) string {
	origin := strings.TrimSpace(tk.Origin)
	switch {
	case strings.ContainsRune(origin, '\t'):
		return "a tab inside a text without quotes; quote it"
	case !slices.Equal(strings.Fields(origin), strings.Fields(tk.Value)):
		return "this text cannot be read without quotes; quote it"
	}
	return ""
}

// badInBrackets says what a plain scalar inside brackets must not be. The
// library would take a value that holds a colon and a blank for one text.
func badInBrackets(tk *token.Token, braces bool) string {
	colon := strings.Contains(tk.Value, ": ") || strings.HasSuffix(tk.Value, ":")
	if colon {
		return `a value that holds ": " inside { } or [ ] must be quoted; between entries stands a comma`
	}
	next := tk.Next
	for next != nil && next.Type == token.CommentType {
		next = next.Next
	}
	if !braces || next == nil || next.Position.Line == tk.Position.Line || !isPlain(next) {
		return ""
	}
	if after := next.Next; after != nil && after.Type == token.MappingValueType {
		return "a comma or a closing } is missing between this value and the key in the next line"
	}
	return "a text inside { } that goes on in the next line must be quoted"
}

// badTag says why a tag cannot be read. The library knows more of them, and
// reads neither a strange one nor an anchor between a tag and its brackets.
func badTag(tk *token.Token) string {
	next := tk.Next
	opens := next != nil && (next.Type == token.MappingStartType || next.Type == token.SequenceStartType)
	switch tk.Value {
	case "!!map", "!!seq":
	case "!!str", "!!int", "!!float", "!!bool", "!!null":
		if opens {
			return "this tag does not fit the { or [ behind it"
		}
	default:
		return unknownTag
	}
	if next != nil && next.Type == token.AnchorType {
		return "a tag before an anchor cannot be read; write the anchor first, or leave the tag out"
	}
	return ""
}

const (
	unknownTag = "kcm knows no such tag; quote a text that begins with !"
	emptyTag   = "a tag without a value; quote a text that begins with !"
)

// checkLastTag finds a tag that ends the text without a line end: the scanner
// gives no token for it, and the value would be nothing.
func checkLastTag(src string, tokens token.Tokens) *parseError {
	line := src[strings.LastIndexByte(src, '\n')+1:]
	words := strings.Fields(line)
	if len(words) == 0 || !strings.HasPrefix(words[len(words)-1], "!") {
		return nil
	}
	word := words[len(words)-1]
	if len(tokens) > 0 && strings.Contains(tokens[len(tokens)-1].Origin, word) {
		return nil
	}
	before := []rune(line[:strings.LastIndex(line, word)])
	return &parseError{strings.Count(src, "\n") + 1, len(before) + 1, emptyTag}
}
