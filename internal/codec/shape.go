package codec

// shape is what the last JSON value was made of besides its strings, numbers
// and words: braces, brackets, commas, colons and keys. The values of a topic
// mostly have the same shape one after the other, and a text that differs from
// a valid one in well-formed scalars only is valid too: comparing the rest is
// quicker than reading it.
type shape struct {
	text   []byte // the segments, one behind the other; a scalar stood between each two
	ends   []int  // where they end in text
	misses int    // in a row
	rest   int    // values that are not tried, after too many misses
}

const (
	manyMisses = 8    // after that the shapes are taken to differ
	shapeRest  = 1000 // values, before they are tried again
	longShape  = 4096 // bytes; a longer one costs too much to learn
)

// valid is ValidJSON for one of several values in a row.
func (s *shape) valid(b []byte) (ok, spaced bool) {
	if s.rest > 0 {
		s.rest--
		return ValidJSON(b)
	}
	if s.fits(b) {
		s.misses = 0
		return true, false
	}
	ok, spaced = ValidJSON(b)
	if !ok || spaced {
		return ok, spaced
	}
	if s.misses++; s.misses > manyMisses {
		s.misses, s.rest = 0, shapeRest
		return true, false
	}
	s.learn(b)
	return true, false
}

// fits reports whether b has the shape, and is valid.
func (s *shape) fits(b []byte) bool {
	i, from := 0, 0
	for k, end := range s.ends {
		segment := s.text[from:end]
		from = end
		if len(b)-i < len(segment) || string(b[i:i+len(segment)]) != string(segment) {
			return false
		}
		if i += len(segment); k == len(s.ends)-1 {
			return i == len(b)
		}
		if i >= len(b) {
			return false
		}
		if i = scalar(b, i); i > len(b) {
			return false
		}
	}
	return false
}

// scalar reads a string, number or word; i is within b.
func scalar(b []byte, i int) int {
	switch b[i] {
	case '"':
		return text(b, i+1)
	case 't':
		return word(b, i, "true")
	case 'f':
		return word(b, i, "false")
	case 'n':
		return word(b, i, "null")
	default:
		return number(b, i)
	}
}

// learn takes over the shape of b, which is valid and without whitespace.
func (s *shape) learn(b []byte) {
	s.text, s.ends = s.text[:0], s.ends[:0]
	if len(b) > longShape {
		return
	}
	for i := 0; i < len(b); {
		switch c := b[i]; c {
		case '{', '}', '[', ']', ',', ':':
			s.text = append(s.text, c)
			i++
			continue
		}
		end := scalar(b, i)
		if end < len(b) && b[end] == ':' { // a key
			s.text = append(s.text, b[i:end]...)
		} else {
			s.ends = append(s.ends, len(s.text))
		}
		i = end
	}
	s.ends = append(s.ends, len(s.text))
}
