package metadata

import (
	"crypto/sha256"
	"fmt"
)

// digest stands for the content of a file, or for the reason why it cannot be
// read. No format verb shows it: a short password could be guessed from it.
type digest struct {
	sum    [sha256.Size]byte
	absent bool // it cannot be read
}

func digestOf(content string, err error) digest {
	if err != nil {
		return digest{sum: sha256.Sum256([]byte(reason(err))), absent: true}
	}
	return digest{sum: sha256.Sum256([]byte(content))}
}

// Format writes the same for every digest and every verb.
func (digest) Format(f fmt.State, _ rune) { fmt.Fprint(f, "…") }
