package codec

import (
	"bytes"
	"encoding/json"
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
		out, ok := AppendText([]byte("x"), s)
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
