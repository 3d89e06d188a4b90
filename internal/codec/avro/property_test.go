package avro

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"
	"time"

	twmb "github.com/twmb/avro"
	"pgregory.net/rapid"
)

// drawn is a type that was drawn, with a way to draw values of it.
type drawn struct {
	tag    string // in a union
	schema any
	value  func(t *rapid.T) sample
}

// sample is a value: as twmb/avro encodes it, and the JSON that it has to become.
type sample struct{ in, plain, tagged any }

func same(in, shown any) sample { return sample{in, shown, shown} }

// namer gives every named type a name of its own, with or without a namespace.
type namer struct{ count int }

func (n *namer) next(t *rapid.T, def map[string]any) (full string) {
	n.count++
	name := "T" + strconv.Itoa(n.count)
	switch rapid.IntRange(0, 2).Draw(t, "namespace") {
	case 0:
		def["name"], def["namespace"] = name, "a.b"
		return "a.b." + name
	case 1:
		def["name"] = "c." + name
		return "c." + name
	default:
		def["name"], def["namespace"] = name, ""
		return name
	}
}

func scalar(name string, value func(t *rapid.T) sample) drawn {
	return drawn{name, name, value}
}

func whole32(t *rapid.T) sample {
	n := rapid.Int32().Draw(t, "int")
	return same(n, n)
}

func whole64(t *rapid.T) sample {
	n := rapid.Int64().Draw(t, "long")
	return same(n, n)
}

func float(f float64, bits int) any {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 0):
		return strings.TrimPrefix(fmt.Sprintf("%+f", f)[:1], "+") + "Infinity"
	}
	if abs := math.Abs(f); abs >= 1 && abs < 1e21 { // whole ones have their digits compared
		return json.Number(strconv.FormatFloat(f, 'f', -1, bits))
	}
	return json.Number(strconv.FormatFloat(f, 'g', -1, bits))
}

func latin(b []byte) string {
	var out strings.Builder
	for _, c := range b {
		out.WriteRune(rune(c))
	}
	return out.String()
}

func octets(b []byte) sample {
	return sample{b, base64.StdEncoding.EncodeToString(b), latin(b)}
}

var primitives = []drawn{
	scalar("null", func(*rapid.T) sample { return same(nil, nil) }),
	scalar("boolean", func(t *rapid.T) sample {
		b := rapid.Bool().Draw(t, "boolean")
		return same(b, b)
	}),
	scalar("int", whole32),
	scalar("long", whole64),
	scalar("float", func(t *rapid.T) sample {
		f := rapid.OneOf(rapid.Float32(), rapid.SampledFrom([]float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))})).Draw(t, "float")
		return same(f, float(float64(f), 32))
	}),
	scalar("double", func(t *rapid.T) sample {
		f := rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1)})).Draw(t, "double")
		return same(f, float(f, 64))
	}),
	scalar("bytes", func(t *rapid.T) sample { return octets(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) }),
	scalar("string", func(t *rapid.T) sample {
		s := rapid.String().Draw(t, "string")
		return same(s, s)
	}),
}

// times draws a point in time in units of 10^-decimals seconds, within RFC 3339's
// years or not.
func times(name string, decimals int) drawn {
	layout := "2006-01-02T15:04:05." + strings.Repeat("0", decimals)
	if !strings.HasPrefix(name, "local") {
		layout += "Z07:00"
	}
	unit := int64(math.Pow10(decimals))
	return drawn{"long", map[string]any{"type": "long", "logicalType": name}, func(t *rapid.T) sample {
		n := rapid.Int64().Draw(t, name)
		seconds, rest := new(big.Int).DivMod(big.NewInt(n), big.NewInt(unit), new(big.Int))
		at := time.Unix(seconds.Int64(), rest.Int64()*(1e9/unit)).UTC()
		if s := seconds.Int64(); s < -62167219200 || s >= 253402300800 {
			return same(n, n)
		}
		return sample{n, at.Format(layout), n}
	}}
}

func dates(t *rapid.T) sample {
	n := rapid.OneOf(rapid.Int32(), rapid.Int32Range(-800_000, 3_000_000)).Draw(t, "date")
	if n < -719528 || n > 2932896 {
		return same(n, n)
	}
	return sample{n, time.Unix(int64(n)*86400, 0).UTC().Format(time.DateOnly), n}
}

// decimals draws a decimal type on bytes.
func decimals(t *rapid.T) drawn {
	precision := rapid.IntRange(1, 50).Draw(t, "precision")
	scale := rapid.IntRange(0, precision).Draw(t, "scale")
	schema := map[string]any{"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}
	return drawn{"bytes", schema, func(t *rapid.T) sample {
		digits := rapid.StringOfN(rapid.RuneFrom([]rune("0123456789")), 1, precision, -1).Draw(t, "digits")
		n, _ := new(big.Int).SetString(rapid.SampledFrom([]string{"", "-"}).Draw(t, "sign")+digits, 10)
		power := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)
		rat := new(big.Rat).SetFrac(n, power)
		return sample{rat, rat.FloatString(scale), latin(twosComplement(n))}
	}}
}

// twosComplement is n in as few bytes as hold it.
func twosComplement(n *big.Int) []byte {
	size := 1
	for new(big.Int).Rsh(n, uint(8*size-1)).BitLen() > 0 && new(big.Int).Rsh(n, uint(8*size-1)).Cmp(big.NewInt(-1)) != 0 {
		size++
	}
	mask := new(big.Int).Lsh(big.NewInt(1), uint(8*size))
	return new(big.Int).Mod(n, mask).FillBytes(make([]byte, size))
}

func logicals(t *rapid.T, n *namer) drawn {
	switch i := rapid.IntRange(0, 9).Draw(t, "logical"); i {
	case 0:
		return decimals(t)
	case 1:
		return drawn{"int", map[string]any{"type": "int", "logicalType": "date"}, dates}
	case 2:
		def := map[string]any{"type": "fixed", "size": 16, "logicalType": "uuid"}
		return drawn{n.next(t, def), def, func(t *rapid.T) sample {
			b := rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "uuid")
			h := hex.EncodeToString(b)
			return sample{b, h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:], latin(b)}
		}}
	case 3:
		def := map[string]any{"type": "fixed", "size": 2, "logicalType": "unknown"}
		return drawn{n.next(t, def), def, func(t *rapid.T) sample { return octets(rapid.SliceOfN(rapid.Byte(), 2, 2).Draw(t, "fixed")) }}
	default:
		names := []string{"timestamp-millis", "timestamp-micros", "timestamp-nanos", "local-timestamp-millis", "local-timestamp-micros", "local-timestamp-nanos"}
		return times(names[i-4], 3*((i-4)%3+1))
	}
}

func types(t *rapid.T, n *namer, depth int) drawn {
	most := 3
	if depth == 0 {
		most = 2
	}
	switch rapid.IntRange(0, most).Draw(t, "family") {
	case 0, 1:
		return rapid.SampledFrom(primitives).Draw(t, "primitive")
	case 2:
		return logicals(t, n)
	}
	switch rapid.IntRange(0, 4).Draw(t, "complex") {
	case 0:
		items := types(t, n, depth-1)
		return drawn{"array", map[string]any{"type": "array", "items": items.schema}, func(t *rapid.T) sample {
			out := sample{[]any{}, []any{}, []any{}}
			for range rapid.IntRange(0, 3).Draw(t, "items") {
				s := items.value(t)
				out = sample{append(out.in.([]any), s.in), append(out.plain.([]any), s.plain), append(out.tagged.([]any), s.tagged)}
			}
			return out
		}}
	case 1:
		values := types(t, n, depth-1)
		return drawn{"map", map[string]any{"type": "map", "values": values.schema}, func(t *rapid.T) sample {
			return object(t, rapid.SliceOfNDistinct(rapid.String(), 0, 3, rapid.ID[string]).Draw(t, "keys"), func(int) drawn { return values })
		}}
	case 2:
		def := map[string]any{"type": "enum", "symbols": []string{"A", "B", "C"}}
		return drawn{n.next(t, def), def, func(t *rapid.T) sample {
			s := rapid.SampledFrom([]string{"A", "B", "C"}).Draw(t, "symbol")
			return same(s, s)
		}}
	case 3:
		return unions(t, n, depth)
	default:
		return records(t, n, depth)
	}
}

func records(t *rapid.T, n *namer, depth int) drawn {
	def := map[string]any{"type": "record"}
	full := n.next(t, def)
	var names []string
	var parts []drawn
	fields := []any{}
	for i := range rapid.IntRange(0, 5).Draw(t, "fields") {
		part := types(t, n, depth-1)
		names, parts = append(names, "f"+strconv.Itoa(i)), append(parts, part)
		fields = append(fields, map[string]any{"name": names[i], "type": part.schema})
	}
	def["fields"] = fields
	return drawn{full, def, func(t *rapid.T) sample {
		return object(t, names, func(i int) drawn { return parts[i] })
	}}
}

func object(t *rapid.T, names []string, part func(i int) drawn) sample {
	in, plain, tagged := map[string]any{}, map[string]any{}, map[string]any{}
	for i, name := range names {
		s := part(i).value(t)
		in[name], plain[name], tagged[name] = s.in, s.plain, s.tagged
	}
	return sample{in, plain, tagged}
}

// unions draws a union of types that differ in their tags.
func unions(t *rapid.T, n *namer, depth int) drawn {
	var branches []drawn
	var schemas []any
	seen := map[string]bool{"union": true}
	for range rapid.IntRange(1, 4).Draw(t, "branches") {
		b := types(t, n, depth-1)
		if !seen[b.tag] {
			seen[b.tag] = true
			branches, schemas = append(branches, b), append(schemas, b.schema)
		}
	}
	if len(branches) == 0 {
		branches, schemas = primitives[:1], []any{"null"}
	}
	return drawn{"union", schemas, func(t *rapid.T) sample {
		b := rapid.SampledFrom(branches).Draw(t, "branch")
		s := b.value(t)
		if b.tag == "null" {
			return s
		}
		return sample{map[string]any{b.tag: s.in}, s.plain, map[string]any{b.tag: s.tagged}}
	}}
}

// TestAnotherLibrarysValues has twmb/avro encode drawn values of drawn schemas.
func TestAnotherLibrarysValues(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		d := types(r, &namer{}, 4)
		s := d.value(r)
		text, err := json.Marshal(d.schema)
		if err != nil {
			r.Fatal(err)
		}
		library, err := twmb.Parse(string(text))
		if err != nil {
			r.Fatalf("%s: %v", text, err)
		}
		payload, err := library.Encode(s.in)
		if err != nil {
			r.Fatalf("%s of %v: %v", text, s.in, err)
		}
		for _, tagged := range []bool{false, true} {
			want := s.plain
			if tagged {
				want = s.tagged
			}
			wanted, err := json.Marshal(want)
			if err != nil {
				r.Fatal(err)
			}
			ours := schemaOf(t, Options{Tagged: tagged, SingleObject: true}, string(text))
			got, err := ours.AppendJSON(nil, payload)
			if err != nil || !sameJSON(t, string(got), string(wanted)) {
				r.Fatalf("%s of %x, tagged %v: %s, %v; want %s", text, payload, tagged, got, err, wanted)
			}
			if ours.Canonical() != string(library.Canonical()) {
				r.Fatalf("%s: %s, the library has %s", text, ours.Canonical(), library.Canonical())
			}
		}
	})
}
