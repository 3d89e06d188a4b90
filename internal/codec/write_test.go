package codec

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestIsPlainFindsEveryOddByteAtEveryPlace(t *testing.T) {
	for size := range 40 {
		s := bytes.Repeat([]byte("~"), size)
		if !IsPlain(s) {
			t.Errorf("%q is not plain", s)
		}
		for at := range s {
			for c := range 256 {
				s[at] = byte(c)
				want := c >= ' ' && c != '"' && c != '\\' && c < 0x80
				if IsPlain(s) != want {
					t.Fatalf("%q: %v", s, !want)
				}
			}
			s[at] = ' '
		}
	}
}

func TestAppendText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.SliceOf(rapid.Byte()), rapid.SliceOf(rapid.SampledFrom([]byte(`ab"\/`+"\n\x00\x7f")))).Draw(t, "s")
		room := rapid.IntRange(1, 64).Draw(t, "room")
		out, ok := AppendText(append(make([]byte, 0, room), 'x'), s)
		if ok != utf8.Valid(s) {
			t.Fatalf("ok is %v", ok)
		}
		if !ok {
			if string(out) != "x" {
				t.Fatalf("%q is written", out)
			}
			return
		}
		var back string
		if err := json.Unmarshal(out[1:], &back); err != nil || back != string(s) {
			t.Fatalf("%s reads as %q, %v", out, back, err)
		}
	})
}

// A float is written as strconv writes it, whichever way is taken.
func TestAppendFloat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.OneOf(
			rapid.Float64(),
			rapid.Float64Range(-1e12, 1e12),
			rapid.Map(rapid.Int64Range(-2e14, 2e14), func(n int64) float64 { return float64(n) / 1000 }),
			rapid.Map(rapid.Int64Range(-1e6, 1e6), func(n int64) float64 { return float64(n) / 1e4 }),
			rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1e11, 0.001, 0.0005, 0.1, 1.005, 2.675, 99999999999.999}),
		).Draw(t, "f")
		for _, bits := range []int{64, 32} {
			if bits == 32 {
				f = float64(float32(f))
			}
			format := byte('f')
			if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
				format = 'e'
			}
			want := strconv.FormatFloat(f, format, -1, bits)
			if math.IsInf(f, 0) {
				want = strings.Replace(strconv.Quote(want+"inity"), "+", "", 1)
			}
			if got := string(AppendFloat(nil, f, bits)); got != want {
				t.Fatalf("%s, want %s", got, want)
			}
		}
	})
}
