package output

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

func TestAppendDecimal(t *testing.T) {
	check := func(n int64) {
		if got, want := string(appendDecimal([]byte("x"), n)), "x"+strconv.FormatInt(n, 10); got != want {
			t.Fatalf("%d: got %q, want %q", n, got, want)
		}
	}
	for n := range int64(20_000) {
		check(n)
		check(-n)
		check(n * 9999)
	}
	for p := int64(1); p > 0 && p <= 1e18; p *= 10 {
		check(p)
		check(p - 1)
		check(p + 1)
	}
	check(math.MaxInt64)
	check(math.MinInt64)
	r := rand.New(rand.NewPCG(1, 2))
	for range 200_000 {
		check(r.Int64() >> r.IntN(63))
	}
}

func BenchmarkDecimal(b *testing.B) {
	var dst []byte
	for i := range b.N {
		dst = appendDecimal(appendDecimal(dst[:0], 1725999704063+int64(i)), int64(i))
	}
}
