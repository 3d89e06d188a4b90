package codec

import (
	"bytes"
	"strings"
	"testing"
)

func TestLiteral(t *testing.T) {
	for n := range 2 * shortLiteral {
		text := []byte(strings.Repeat("abcdefg", n)[:n])
		l := NewLiteral(text)
		if l.Len() != n || l.String() != string(text) {
			t.Errorf("%d: %q of %d bytes", n, l.String(), l.Len())
		}
		for room := 1; room < 3*shortLiteral; room++ {
			if got := l.Append(append(make([]byte, 0, room), 'x')); !bytes.Equal(got, append([]byte("x"), text...)) {
				t.Fatalf("%d bytes into room for %d: %q", n, room, got)
			}
		}
	}
}
