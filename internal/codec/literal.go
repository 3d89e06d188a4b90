package codec

// Literal is text that is written as it is, again and again, such as the name of
// a field. Most are short: those are written by moves of a fixed size, which are
// several times faster than a call for a few bytes.
type Literal struct {
	short [shortLiteral]byte
	n     int    // of short
	long  []byte // instead, when it does not fit
}

const shortLiteral = 24

// NewLiteral returns the literal of text.
func NewLiteral(text []byte) Literal {
	l := Literal{n: len(text)}
	if len(text) > shortLiteral {
		return Literal{long: text}
	}
	copy(l.short[:], text)
	return l
}

// Append appends the text. It may write over what lies behind the length of dst,
// within its capacity.
func (l *Literal) Append(dst []byte) []byte {
	end := len(dst) + shortLiteral
	if l.long != nil || cap(dst) < end {
		return l.slow(dst)
	}
	whole := dst[:end]
	*(*[shortLiteral]byte)(whole[len(dst):]) = l.short
	return whole[:len(dst)+l.n]
}

func (l *Literal) slow(dst []byte) []byte {
	return append(append(dst, l.short[:l.n]...), l.long...)
}

// Len is the length of the text.
func (l *Literal) Len() int { return l.n + len(l.long) }

// String is the text.
func (l *Literal) String() string { return string(l.slow(nil)) }
