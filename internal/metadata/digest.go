package metadata

import (
	"crypto/sha256"
	"fmt"
)

// digest stands for the content of a file. No format verb shows it: a short
// password could be guessed from it.
type digest struct {
	sum [sha256.Size]byte
	why string // why it cannot be read; empty if it can
}

func digestOf(content string, err error) digest {
	if err != nil {
		return digest{why: reason(err)}
	}
	return digest{sum: sha256.Sum256([]byte(content))}
}

// Format writes the same for every digest and every verb.
func (digest) Format(f fmt.State, _ rune) { fmt.Fprint(f, "…") }
