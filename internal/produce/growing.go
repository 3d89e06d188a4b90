package produce

import (
	"math/rand/v2"
	"time"
)

// growing is the pause before try n, from 1: it doubles up to most, a fifth of it
// left to chance.
func growing(n int, first, most time.Duration) time.Duration {
	d := min(most, first<<min(n-1, 20))
	return d*9/10 + rand.N(d/5+1) //nolint:gosec // spreading, not secrecy
}
