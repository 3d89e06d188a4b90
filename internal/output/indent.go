package output

import "bytes"

// deepestIndent is how deep arrays and objects are spread over lines; what lies
// deeper stays on one. Indentation grows with the square of the depth, and a
// record of 20 kB may nest thousands of levels.
const deepestIndent = 64

// jsonLook says how JSON is shown.
type jsonLook struct {
	prefix string      // begins each line but the first: a newline and blanks
	colors *jsonColors // nil is none
	safe   bool        // no string may hold what a terminal acts on
}

// jsonColors are the styles of JSON's tokens.
type jsonColors struct{ key, text, number, word, null style }

// appendIndented spreads a JSON text over several lines: digits, escapes and the
// order of keys stay. src is valid and compact.
func appendIndented(dst, src []byte, look jsonLook) []byte {
	w := indenter{jsonLook: look}
	if w.colors == nil {
		w.colors = new(jsonColors)
	}
	for len(src) > 0 {
		dst, src = w.token(dst, src)
	}
	return dst
}

// indenter knows where in a JSON text it is.
type indenter struct {
	jsonLook
	depth  int
	opened bool // the last token was an opening bracket
}

// token writes the first token of src and returns what is behind it.
func (w *indenter) token(dst, src []byte) (to, rest []byte) {
	c := src[0]
	if w.opened && c != '}' && c != ']' {
		w.depth++
		dst = w.line(dst)
	}
	opened := w.opened
	w.opened = false
	switch c {
	case '{', '[':
		w.opened = true
	case '}', ']':
		if !opened { // an empty one stays on its line
			w.depth--
			dst = w.close(dst)
		}
	case ',':
		return w.line(append(dst, c)), src[1:]
	case ':':
		return append(dst, ':', ' '), src[1:]
	case '"':
		return w.text(dst, src)
	default:
		return w.scalar(dst, src)
	}
	return append(dst, c), src[1:]
}

func (w *indenter) line(dst []byte) []byte {
	if w.depth > deepestIndent {
		return dst
	}
	return w.newline(dst)
}

// close goes to the line of a closing bracket, which is that of the level around.
func (w *indenter) close(dst []byte) []byte {
	if w.depth >= deepestIndent {
		return dst
	}
	return w.newline(dst)
}

func (w *indenter) newline(dst []byte) []byte {
	return appendBlanks(append(dst, w.prefix...), 2*w.depth)
}

// text writes a string; one in front of a colon is a key.
func (w *indenter) text(dst, src []byte) (to, rest []byte) {
	end := stringEnd(src)
	s := &w.colors.text
	if end < len(src) && src[end] == ':' {
		s = &w.colors.key
	}
	dst = append(dst, s.on...)
	if w.safe {
		dst = appendSafe(dst, src[:end])
	} else {
		dst = append(dst, src[:end]...)
	}
	return append(dst, s.off...), src[end:]
}

// stringEnd returns where the string that begins src ends.
func stringEnd(src []byte) int {
	for i := 1; i < len(src); i++ {
		i += bytes.IndexAny(src[i:], `"\`)
		if src[i] == '"' {
			return i + 1
		}
		i++ // what is escaped
	}
	return len(src)
}

func (w *indenter) scalar(dst, src []byte) (to, rest []byte) {
	end := 1
	for end < len(src) && src[end] != ',' && src[end] != '}' && src[end] != ']' {
		end++
	}
	s := &w.colors.number
	switch src[0] {
	case 't', 'f':
		s = &w.colors.word
	case 'n':
		s = &w.colors.null
	}
	dst = append(append(append(dst, s.on...), src[:end]...), s.off...)
	return dst, src[end:]
}
