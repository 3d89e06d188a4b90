package codec

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// typical is a value of 140 bytes with six fields.
const typical = `{"id":1234567,"user":"u-48213","type":"order.created","amount":129.90,"currency":"EUR","note":"left at the door, please ring twice, thank you"}`

func TestValidJSON(t *testing.T) {
	for _, c := range []struct {
		in         string
		ok, spaced bool
	}{
		{`{}`, true, false},
		{`[]`, true, false},
		{typical, true, false},
		{`{"a":9007199254740993,"b":327267367867168100000,"c":0.10,"d":1e400,"e":1.0}`, true, false},
		{`{"a": [1, 2]}`, true, true},
		{" \t\r\n1 ", true, true},
		{`" spaces inside "`, true, false},
		{`"\u12aF\"\\\/\b\f\n\r\t"`, true, false},
		{`"\ud800"`, true, false},
		{"\"\u2028é\U0001F600\"", true, false},
		{`-0`, true, false},
		{`-0.0e-10`, true, false},
		{`1E+5`, true, false},
		{`[[],{},[{}],""]`, true, false},
		{``, false, false},
		{` `, false, false},
		{`{`, false, false},
		{`{"a"`, false, false},
		{`{"a":1,}`, false, false},
		{`{a:1}`, false, false},
		{`[1,]`, false, false},
		{`[1 2]`, false, false},
		{`[1}`, false, false},
		{`1 2`, false, false},
		{`01`, false, false},
		{`1.`, false, false},
		{`.5`, false, false},
		{`-`, false, false},
		{`1e`, false, false},
		{`+1`, false, false},
		{`nul`, false, false},
		{`nulll`, false, false},
		{`NaN`, false, false},
		{"\"\x01\"", false, false},
		{"\"tab\tinside, long enough for a word\"", false, false},
		{`"\u12g4"`, false, false},
		{`"\x"`, false, false},
		{`"open`, false, false},
		{`"open\`, false, false},
		{"\"\xff\"", false, false},
		{"\"\xed\xa0\x80\"", false, false},
		{"\"\xc3(\"", false, false},
		{"\xef\xbb\xbf{}", false, false},
		{"{}\x00", false, false},
		{"{\"a\":1}\xff", false, false},
	} {
		ok, spaced := ValidJSON([]byte(c.in))
		if ok != c.ok || spaced != c.spaced {
			t.Errorf("ValidJSON(%q) = %v, %v, want %v, %v", c.in, ok, spaced, c.ok, c.spaced)
		}
		if oracle := json.Valid([]byte(c.in)) && utf8.ValidString(c.in); oracle != c.ok {
			t.Errorf("encoding/json says %v of %q", oracle, c.in)
		}
	}
}

func TestValidJSONDepth(t *testing.T) {
	for _, pair := range [][2]string{{"[", "]"}, {`{"a":`, "}"}, {`[{"a":`, "}]"}} {
		levels := strings.Count(pair[0], "[") + strings.Count(pair[0], "{")
		for _, n := range []int{1, 63, 64, 65, 128, 129, 200, maxDepth / levels} {
			in := strings.Repeat(pair[0], n) + "1" + strings.Repeat(pair[1], n)
			if ok, _ := ValidJSON([]byte(in)); !ok {
				t.Errorf("%d times %s is not valid", n, pair[0])
			}
			wrong := in[:len(in)-1] + "x"
			if ok, _ := ValidJSON([]byte(wrong)); ok {
				t.Errorf("%d times %s with a wrong end is valid", n, pair[0])
			}
		}
		n := maxDepth/levels + 1
		in := strings.Repeat(pair[0], n) + "1" + strings.Repeat(pair[1], n)
		if ok, _ := ValidJSON([]byte(in)); ok {
			t.Errorf("%d times %s is valid", n, pair[0])
		}
	}
}

// TestMixedLevels closes levels in the wrong order around the 64 that fit a word.
func TestMixedLevels(t *testing.T) {
	var open, shut strings.Builder
	closers := make([]byte, 0, 150)
	for i := range 150 {
		if i%3 == 0 {
			open.WriteString("[")
			closers = append(closers, ']')
		} else {
			open.WriteString(`{"k":`)
			closers = append(closers, '}')
		}
	}
	for i := len(closers) - 1; i >= 0; i-- {
		shut.WriteByte(closers[i])
	}
	if ok, _ := ValidJSON([]byte(open.String() + "0" + shut.String())); !ok {
		t.Fatal("mixed levels are not valid")
	}
	for i := range closers {
		wrong := []byte(shut.String())
		wrong[i] ^= ']' ^ '}'
		if ok, _ := ValidJSON(append([]byte(open.String()+"0"), wrong...)); ok {
			t.Fatalf("the wrong closer at %d was not seen", i)
		}
	}
}

func FuzzValid(f *testing.F) {
	for _, seed := range []string{typical, `[1,-2.5e3,true,null,"\u00e9\n"]`, "{\"\xff\":1}", " { \"a\" : [ ] } ", "[[[[{}]]]]", `"12345678\"`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		ok, spaced := ValidJSON(b)
		if want := json.Valid(b) && utf8.Valid(b); ok != want {
			t.Fatalf("ValidJSON(%q) = %v, want %v", b, ok, want)
		}
		if !ok {
			return
		}
		var want bytes.Buffer
		if err := json.Compact(&want, b); err != nil {
			t.Fatal(err)
		}
		if got := CompactJSON(nil, b); !bytes.Equal(got, want.Bytes()) {
			t.Fatalf("CompactJSON(%q) = %q, want %q", b, got, want.Bytes())
		}
		if spaced != (want.Len() != len(b)) {
			t.Fatalf("ValidJSON(%q): spaced is %v", b, spaced)
		}
	})
}

func BenchmarkValidJSON(b *testing.B) {
	in := []byte(typical)
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		if ok, _ := ValidJSON(in); !ok {
			b.Fatal("not valid")
		}
	}
}

func BenchmarkEncodingJSON(b *testing.B) {
	in := []byte(typical)
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		if !json.Valid(in) {
			b.Fatal("not valid")
		}
	}
}
