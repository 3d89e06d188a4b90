package metadata

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/token"
)

// The bounds of what the YAML library is handed. The time it takes for the keys
// of one mapping grows with their square, for a missing value it copies the rest
// of the file, and its recursion over brackets, tags and anchors has no limit of
// its own.
const (
	maxMarks     = 500_000 // characters that can start a token
	maxDepth     = 100
	maxKeys      = 20_000 // in one mapping, or entries in one block list
	maxDocuments = 1_000
	maxEmpty     = 200 // keys and entries without a value
)

var isMark = [128]bool{
	'\n': true, ':': true, ',': true, '-': true, '?': true, '[': true, ']': true,
	'{': true, '}': true, '&': true, '*': true, '!': true, '#': true, '"': true, '\'': true,
}

func tooMuch(tk *token.Token, format string, args ...any) *parseError {
	return &parseError{tk.Position.Line, tk.Position.Column, fmt.Sprintf(format, args...)}
}

const notYAML = "this is not valid YAML; check the indentation, and quote values with special characters"

// level is one open mapping, list or bracket.
type level struct {
	column  int
	bracket bool
	braces  bool // the bracket of a mapping
	keys    int  // block: keys and entries; bracket of a mapping: commas
	run     int  // of a bracket: keys, tags and anchors since the last comma
}

// shape follows which levels are open along the tokens.
type shape struct {
	open  []level
	docs  int
	empty int
	run   int // tags, anchors and ? in a row
}

// checkShape refuses what would make the parser slow or exhaust its stack.
func checkShape(tokens token.Tokens) *parseError {
	var s shape
	for _, tk := range tokens {
		s.take(tk)
		top := s.top()
		switch {
		case s.docs > maxDocuments:
			return tooMuch(tk, "more than %d documents in one file", maxDocuments)
		case len(s.open) > maxDepth || top.run > maxDepth || s.run > maxDepth:
			return tooMuch(tk, "nested more than %d deep", maxDepth)
		case s.empty > maxEmpty:
			return tooMuch(tk, "more than %d keys and entries without a value", maxEmpty)
		case top.keys > maxKeys:
			return tooMuch(tk, "more than %d entries in one mapping or list; split the file, a directory is a source too", maxKeys)
		}
	}
	return nil
}

func (s *shape) take(tk *token.Token) {
	s.countRun(tk)
	if s.lacksValue(tk) {
		s.empty++
	}
	switch tk.Type {
	case token.SequenceStartType, token.MappingStartType:
		s.open = append(s.open, level{bracket: true, braces: tk.Type == token.MappingStartType})
	case token.SequenceEndType, token.MappingEndType:
		s.closeBracket()
	case token.CollectEntryType:
		if top := s.top(); top.bracket {
			top.run = 0
			top.keys++
		}
	case token.DocumentHeaderType, token.DocumentEndType:
		s.open = s.open[:0]
		s.docs++
	case token.MappingKeyType, token.TagType, token.AnchorType:
		s.enter(tk.Position.Column)
	case token.SequenceEntryType:
		s.enter(tk.Position.Column).count()
	case token.MappingValueType:
		s.enter(keyColumn(tk)).count()
	}
}

// countRun counts what applies to one value. The name behind an anchor's & is a
// token of its own.
func (s *shape) countRun(tk *token.Token) {
	switch {
	case tk.Type == token.MappingKeyType, tk.Type == token.TagType, tk.Type == token.AnchorType:
		s.run++
	case tk.Prev == nil || tk.Prev.Type != token.AnchorType:
		s.run = 0
	}
}

// lacksValue reports whether the parser will put a null behind tk.
func (s *shape) lacksValue(tk *token.Token) bool {
	next := tk.Next
	ends := next == nil || next.Type == token.CollectEntryType || next.Type == token.MappingEndType
	switch tk.Type {
	case token.StringType, token.SingleQuoteType, token.DoubleQuoteType:
		return s.top().braces && ends && tk.Prev.Type != token.MappingValueType
	case token.MappingKeyType, token.TagType:
		return ends
	case token.MappingValueType, token.SequenceEntryType:
		if ends || next.Position.Line == tk.Position.Line {
			return ends
		}
		// A list may stand at the column of the key that holds it.
		deeper := next.Position.Column > keyColumn(tk)
		return !deeper && (tk.Type == token.SequenceEntryType || next.Type != token.SequenceEntryType)
	}
	return false
}

// keyColumn returns where the key before a colon begins.
func keyColumn(tk *token.Token) int {
	if tk.Type == token.MappingValueType && tk.Prev != nil && tk.Prev.Position.Line == tk.Position.Line {
		return tk.Prev.Position.Column
	}
	return tk.Position.Column
}

// count counts an entry of a block; those of brackets are counted by commas.
func (l *level) count() {
	if !l.bracket {
		l.keys++
	}
}

// top returns the innermost level; a spare one if none is open.
func (s *shape) top() *level {
	if len(s.open) == 0 {
		return &level{}
	}
	return &s.open[len(s.open)-1]
}

func (s *shape) closeBracket() {
	for i := len(s.open) - 1; i >= 0; i-- {
		if s.open[i].bracket {
			s.open = s.open[:i]
			return
		}
	}
}

// enter leaves the levels right of a column and returns the one that stands
// there. Inside brackets columns mean nothing, and the bracket is returned.
func (s *shape) enter(column int) *level {
	for len(s.open) > 0 && !s.top().bracket && s.top().column > column {
		s.open = s.open[:len(s.open)-1]
	}
	top := s.top()
	if top.bracket {
		top.run++
		return top
	}
	if len(s.open) == 0 || top.column < column {
		s.open = append(s.open, level{column: column})
	}
	return s.top()
}

// explain turns the library's complaint into a sentence that says what to do.
// None of the text is repeated: it may hold a secret.
func explain(src string, line, col int, complaint string) *parseError {
	lines := strings.Split(src, "\n")
	at := func(i int) []rune {
		if i < 1 || i > len(lines) {
			return nil
		}
		return []rune(lines[i-1])
	}
	row := at(line)
	if i := tabIn(row); i >= 0 {
		return &parseError{line, i + 1, "a tab cannot indent YAML; use spaces"}
	}
	here, before := runeAt(row, col), runeAt(row, col-1)
	for here == ' ' { // some positions are those of the blank before
		col++
		before, here = here, runeAt(row, col)
	}
	return &parseError{line, col, sentence(before, here, complaint)}
}

func sentence(before, here rune, complaint string) string {
	missing := strings.Contains(complaint, "must be specified")
	switch {
	case strings.ContainsRune("@`", here), here == '%' && before != 0:
		return fmt.Sprintf("a value cannot begin with %c; quote it", here)
	case strings.ContainsRune("&|>", here):
		return fmt.Sprintf("what follows this %c cannot be read; quote a text that begins with it", here)
	case here == '{' && before == '$':
		return `a value with ${…} inside { } or [ ] must be quoted: "${…}"`
	case here == '[' && missing, before == ']' && missing:
		return "a value with [ inside { } or [ ] must be quoted"
	case strings.Contains(complaint, "not found"), strings.Contains(complaint, "end token"), missing:
		return "a { or [ is not closed, or a comma or a quote is missing; quote values that hold any of { } [ ] , @ ${"
	case strings.Contains(complaint, "end character"):
		return "a quote is not closed"
	case strings.Contains(complaint, "mapping value is not allowed"):
		return `a key where none can stand: check the indentation, and quote a value that holds ": "`
	}
	return notYAML
}

func tabIn(row []rune) int {
	for i, r := range row {
		if r == '\t' {
			return i
		}
		if r != ' ' {
			break
		}
	}
	return -1
}

func runeAt(row []rune, col int) rune {
	if col < 1 || col > len(row) {
		return 0
	}
	return row[col-1]
}
