package codec

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/record"
)

func mustHex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func decoder(t testing.TB, name string) Decoder {
	t.Helper()
	d, err := Env{Value: quoted{t: schemaTypes[name]}}.decoder(name, false)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDecode(t *testing.T) {
	const (
		asJSON = record.JSON
		text   = record.Text
		binary = record.Binary
	)
	for _, c := range []struct {
		decoder, raw string
		kind         record.Kind
		want         string
		err          string
	}{
		{"auto", `{"a":9007199254740993,"b":327267367867168100000,"c":0.10,"d":1e400,"e":1.0}`, asJSON, `{"a":9007199254740993,"b":327267367867168100000,"c":0.10,"d":1e400,"e":1.0}`, ""},
		{"auto", " {\n \"a b\" : [ 1 , \" \\\" \" ] }\n", asJSON, `{"a b":[1," \" "]}`, ""},
		{"auto", `[1]`, asJSON, `[1]`, ""},
		{"auto", `12`, text, `12`, ""},
		{"auto", `"quoted"`, text, `"quoted"`, ""},
		{"auto", `null`, text, `null`, ""},
		{"auto", `{"a`, text, `{"a`, ""},
		{"auto", `{} {}`, text, `{} {}`, ""},
		{"auto", ``, text, ``, ""},
		{"auto", "{\"a\":\"\xff\"}", binary, "{\"a\":\"\xff\"}", ""},
		{"auto", "\xed\xa0\x80", binary, "\xed\xa0\x80", ""},
		{"raw", `{"a": 1}`, text, `{"a": 1}`, ""},
		{"bytes", "\xff", binary, "\xff", ""},
		{"string", `{"a": 1}`, text, `{"a": 1}`, ""},
		{"string", "a\xff", binary, "a\xff", "not valid UTF-8"},
		{"json", ` 12.50 `, asJSON, `12.50`, ""},
		{"json", `"x"`, asJSON, `"x"`, ""},
		{"json", `hello`, text, `hello`, "not valid JSON"},
		{"json", `{"a`, text, `{"a`, "not valid JSON"},
		{"json", `{}x`, text, `{}x`, "not valid JSON"},
		{"json", ``, text, ``, "not valid JSON"},
		{"hex", "\x00\xffA", text, "00ff41", ""},
		{"base64", "\x00\xff", text, "AP8=", ""},
		{"hex", "", text, "", ""},
		{"uuid", "\x01\x23\x45\x67\x89\xab\xcd\xef\x01\x23\x45\x67\x89\xab\xcd\xef", text, "01234567-89ab-cdef-0123-456789abcdef", ""},
		{"uuid", "01234567-89AB-cdef-0123-456789abcdef", text, "01234567-89AB-cdef-0123-456789abcdef", ""},
		{"uuid", "01234567-89AB-cdef-0123-456789abcdeg", text, "01234567-89AB-cdef-0123-456789abcdeg", "not a UUID: 36 bytes, neither 16 nor its 36 characters"},
		{"uuid", "short", text, "short", "not a UUID: 5 bytes, neither 16 nor its 36 characters"},
		{"int8", "\xff", asJSON, "-1", ""},
		{"int16", "\x80\x00", asJSON, "-32768", ""},
		{"short", "\x7f\xff", asJSON, "32767", ""},
		{"int32", "\xff\xff\xff\xfe", asJSON, "-2", ""},
		{"int", "\x00\x00\x01\x00", asJSON, "256", ""},
		{"int32", "\x00\x00\x01\x00\x01", text, "\x00\x00\x01\x00\x01", "int32 is 4 bytes, not 5"},
		{"int32", "", text, "", "int32 is 4 bytes, not 0"},
		{"int64", "\x00\x20\x00\x00\x00\x00\x00\x01", asJSON, "9007199254740993", ""},
		{"long", "\x7f\xff\xff\xff\xff\xff\xff\xff", asJSON, "9223372036854775807", ""},
		{"long", "\x80\x00\x00\x00\x00\x00\x00\x00", asJSON, "-9223372036854775808", ""},
		{"uint8", "\xff", asJSON, "255", ""},
		{"uint64", "\xff\xff\xff\xff\xff\xff\xff\xff", asJSON, "18446744073709551615", ""},
		{"float32", "\x3d\xcc\xcc\xcd", asJSON, "0.1", ""},
		{"float", "\x7f\x80\x00\x00", asJSON, `"Infinity"`, ""},
		{"float64", "\x7f\xf8\x00\x00\x00\x00\x00\x00", asJSON, `"NaN"`, ""},
		{"double", "\xff\xf0\x00\x00\x00\x00\x00\x00", asJSON, `"-Infinity"`, ""},
		{"double", "\x3f\xf0\x00\x00\x00\x00\x00\x00", asJSON, "1", ""},
		{"double", "\x7f\xef\xff\xff\xff\xff\xff\xff", asJSON, "1.7976931348623157e+308", ""},
		{"double", "\x80\x00\x00\x00\x00\x00\x00\x00", asJSON, "-0", ""},
		{"double", "1.5", text, "1.5", "float64 is 8 bytes, not 3"},
	} {
		v, _ := decoded(decoder(t, c.decoder), nil, []byte(c.raw))
		var err string
		if v.Err != nil {
			err = v.Err.Error()
		}
		if v.Kind != c.kind || string(v.Bytes) != c.want || err != c.err {
			t.Errorf("%s of %q = kind %d %q, error %q", c.decoder, c.raw, v.Kind, v.Bytes, err)
		}
	}
}

func TestNullAndEmpty(t *testing.T) {
	for _, name := range Names() {
		d := decoder(t, name)
		v, dst := decoded(d, []byte("kept"), nil)
		if v.Kind != record.Null || v.Bytes != nil || v.Err != nil || string(dst) != "kept" {
			t.Errorf("%s of null = %+v", name, v)
		}
		if v, _ := decoded(d, nil, []byte{}); v.Kind == record.Null || v.Bytes == nil && v.Kind != record.Text {
			t.Errorf("%s of empty = %+v", name, v)
		}
	}
}

// TestScratchIsShared decodes a key and a value into one scratch buffer.
func TestScratchIsShared(t *testing.T) {
	key, dst := decoded(decoder(t, "int32"), nil, []byte{0, 0, 0, 7})
	value, dst := decoded(decoder(t, "json"), dst, []byte(`{ "a" : 1 }`))
	if string(key.Bytes) != "7" || string(value.Bytes) != `{"a":1}` || string(dst) != `7{"a":1}` {
		t.Errorf("key %q, value %q, scratch %q", key.Bytes, value.Bytes, dst)
	}
	failed, after := decoded(decoder(t, "msgpack"), dst, []byte{0x92, 0x01})
	if failed.Err == nil || len(after) != len(dst) {
		t.Errorf("a failed decode left %q in the scratch", after[len(dst):])
	}
}

func TestNewErrors(t *testing.T) {
	for _, c := range []struct{ name, message, hint string }{
		{"jsonn", `unknown decoder "jsonn"; decoders are ` + strings.Join(Names(), ", "), "did you mean json?"},
		{"Int32", `unknown decoder "Int32"; decoders are ` + strings.Join(Names(), ", "), "did you mean int32?"},
		{">IqH$", `unknown decoder ">IqH$"; decoders are ` + strings.Join(Names(), ", "), `kcat's pack strings are templates here, as in -f '%v{unpack{>IqH$}}\n'`},
		{"", `unknown decoder ""; decoders are ` + strings.Join(Names(), ", "), ""},
	} {
		_, _, err := named(c.name)
		if err == nil || fault.KindOf(err) != fault.Usage || err.Error() != c.message || fault.HintOf(err) != c.hint {
			t.Errorf("named(%q): %v, hint %q", c.name, err, fault.HintOf(err))
		}
	}
	if !slices.Contains(Names(), "float64") || slices.Contains(Names(), "double") {
		t.Errorf("Names() = %v", Names())
	}
}

func TestParseChoice(t *testing.T) {
	for _, c := range []struct {
		args []string
		want Choice
		err  string
	}{
		{nil, Choice{}, ""},
		{[]string{"json"}, Choice{"json", "json"}, ""},
		{[]string{"value=json"}, Choice{"", "json"}, ""},
		{[]string{"key=string", "value=hex"}, Choice{"string", "hex"}, ""},
		{[]string{"key=string,value=hex"}, Choice{"string", "hex"}, ""},
		{[]string{"json", "key=int32"}, Choice{"int32", "json"}, ""},
		{[]string{"header=json"}, Choice{}, `unknown side "header" in -s header=json; sides are key and value`},
		{[]string{"value=proto"}, Choice{Value: "protobuf"}, ""},
		{[]string{"json,"}, Choice{}, `unknown decoder ""; decoders are ` + strings.Join(Names(), ", ")},
	} {
		got, err := ParseChoice(c.args)
		message := ""
		if err != nil {
			message = err.Error()
			if fault.KindOf(err) != fault.Usage {
				t.Errorf("ParseChoice(%q): kind %d", c.args, fault.KindOf(err))
			}
		}
		if got != c.want || message != c.err {
			t.Errorf("ParseChoice(%q) = %+v, %q", c.args, got, message)
		}
	}
	pair, err := Choice{Value: "hex"}.Pair(Env{})
	if err != nil {
		t.Fatal(err)
	}
	key, _ := decoded(pair.Key, nil, []byte("{}"))
	value, _ := decoded(pair.Value, nil, []byte("{}"))
	if key.Kind != record.JSON || string(value.Bytes) != "7b7d" {
		t.Errorf("pair decodes to %+v and %+v", key, value)
	}
	if _, err := (Choice{Key: "nope"}).Pair(Env{}); err == nil {
		t.Error("a pair of an unknown decoder was made")
	}
}

func TestMsgpack(t *testing.T) {
	for _, c := range []struct{ name, raw, want string }{
		{"scalars", "98 c0 c2 c3 00 7f ff e0 a1 61", `[null,false,true,0,127,-1,-32,"a"]`},
		{"integers", "94 cf ffffffffffffffff d3 8000000000000000 cf 0020000000000001 cd ffff", `[18446744073709551615,-9223372036854775808,9007199254740993,65535]`},
		{"small integers", "94 cc ff d0 80 d1 8000 d2 80000000", `[255,-128,-32768,-2147483648]`},
		{"uint32", "ce ffffffff", `4294967295`},
		{"floats", "94 ca 3dcccccd cb 3fb999999999999a cb 7ff8000000000000 ca ff800000", `[0.1,0.1,"NaN","-Infinity"]`},
		{"map keeps order and equal keys", "83 a1 62 01 a1 61 02 a1 62 03", `{"b":1,"a":2,"b":3}`},
		{"keys that are no strings", "85 01 a1 78 c0 01 c4 01 ff 02 92 01 a1 22 03 cb 3ff8000000000000 04", `{"1":"x","null":1,"/w==":2,"[1,\"\\\"\"]":3,"1.5":4}`},
		{"bytes", "c4 03 00ff41", `"AP9B"`},
		{"string that is not UTF-8", "a2 ff fe", `"//4="`},
		{"escapes", "a8 22 5c 0a 0d 09 01 3c 26", `"\"\\\n\r\t\u0001<&"`},
		{"a map as key", "81 82 a1 61 91 01 02 c0 03", `{"{\"a\":[1],\"2\":null}":3}`},
		{"empty", "93 80 90 a0", `[{},[],""]`},
		{"timestamp 32", "d6 ff 66e0a118", `"2024-09-10T19:42:16Z"`},
		{"timestamp 64", "d7 ff ee6b27fc 66e0a118", `"2024-09-10T19:42:16.999999999Z"`},
		{"timestamp 96", "c7 0c ff 00000001 ffffffffffffffff", `"1969-12-31T23:59:59.000000001Z"`},
		{"timestamp 96 beyond RFC 3339", "c7 0c ff 00000000 7fffffffffffffff", `{"ext":-1,"data":"AAAAAH//////////"}`},
		{"extension", "d4 05 aa", `{"ext":5,"data":"qg=="}`},
		{"array 16 and map 16", "dc 0001 de 0001 a1 61 dd 00000000", `[{"a":[]}]`},
		{"str 8", "d9 01 61", `"a"`},
	} {
		v, _ := decoded(decoder(t, "msgpack"), nil, mustHex(t, c.raw))
		if v.Err != nil || v.Kind != record.JSON || string(v.Bytes) != c.want {
			t.Errorf("%s: %q, error %v", c.name, v.Bytes, v.Err)
		}
	}
}

func TestMsgpackDamaged(t *testing.T) {
	for _, c := range []struct{ name, raw, err string }{
		{"empty", "", "not valid MessagePack: ends in the middle of a value"},
		{"cut array", "92 01", "not valid MessagePack: ends in the middle of a value"},
		{"array of 4 billion", "dd ffffffff", "not valid MessagePack: ends in the middle of a value"},
		{"map of 4 billion", "df ffffffff 01", "not valid MessagePack: ends in the middle of a value"},
		{"string of 4 GB", "db ffffffff 61", "not valid MessagePack: ends in the middle of a value"},
		{"bytes of 4 GB", "c6 ffffffff 61", "not valid MessagePack: ends in the middle of a value"},
		{"extension of 4 GB", "c9 ffffffff 01 61", "not valid MessagePack: ends in the middle of a value"},
		{"left over", "01 02", "not valid MessagePack: bytes are left over behind the value"},
		{"too deep", strings.Repeat("91", 1001) + "01", "not valid MessagePack: nested deeper than 1000 levels"},
		{"keys in keys", strings.Repeat("81", 40) + "a122" + strings.Repeat("01", 40), "not valid MessagePack: a map as a key holds a key that is no plain value"},
		{"never used code", "c1", "not valid MessagePack: msgpack: invalid code=c1 decoding int64"},
	} {
		raw := mustHex(t, c.raw)
		v, _ := decoded(decoder(t, "msgpack"), nil, raw)
		if v.Err == nil || v.Err.Error() != c.err || !bytes.Equal(v.Bytes, raw) {
			t.Errorf("%s: %q, error %v", c.name, v.Bytes, v.Err)
		}
	}
}

func TestCBOR(t *testing.T) {
	for _, c := range []struct{ name, raw, want string }{
		{"integers", "86 00 17 1bffffffffffffffff 20 3bffffffffffffffff 1b0020000000000001", `[0,23,18446744073709551615,-1,-18446744073709551616,9007199254740993]`},
		{"simple", "86 f4 f5 f6 f7 e0 f8ff", `[false,true,null,null,"simple(0)","simple(255)"]`},
		{"floats", "86 f93c00 f97e00 f97c00 fa3dcccccd fb3fb999999999999a fbfff0000000000000", `[1,"NaN","Infinity",0.1,0.1,"-Infinity"]`},
		{"strings", "83 6161 4200ff 60", `["a","AP8=",""]`},
		{"strings in pieces", "82 7f 6161 6162 ff 5f 4100 41ff ff", `["ab","AP8="]`},
		{"map keeps order and equal keys", "a3 6162 01 6161 02 6162 03", `{"b":1,"a":2,"b":3}`},
		{"keys that are no strings", "a4 01 02 20 03 41ff 04 8101 05", `{"1":2,"-1":3,"/w==":4,"[1]":5}`},
		{"indefinite", "9f 01 bf 6161 02 ff 9f ff ff", `[1,{"a":2},[]]`},
		{"bignums", "82 c2 49 010000000000000000 c3 49 010000000000000000", `[18446744073709551616,-18446744073709551617]`},
		{"empty bignum", "c2 40", `0`},
		{"epoch", "c1 1a66e0a118", `"2024-09-10T19:42:16Z"`},
		{"epoch before 1970", "c1 20", `"1969-12-31T23:59:59Z"`},
		{"epoch float", "c1 fb41d9b8284600000 0", `"2024-09-10T19:42:16Z"`},
		{"epoch half", "c1 fbbfe0000000000000", `"1969-12-31T23:59:59.5Z"`},
		{"epoch beyond RFC 3339", "c1 1b0000003afff44180", `253402300800`},
		{"date string", "c0 74 323031332d30332d32315432303a30343a30305a", `"2013-03-21T20:04:00Z"`},
		{"self-described", "d9d9f7 81 01", `[1]`},
		{"unknown tag", "d8 2a 01", `1`},
	} {
		v, _ := decoded(decoder(t, "cbor"), nil, mustHex(t, c.raw))
		if v.Err != nil || v.Kind != record.JSON || string(v.Bytes) != c.want {
			t.Errorf("%s: %q, error %v", c.name, v.Bytes, v.Err)
		}
	}
}

func TestCBORDamaged(t *testing.T) {
	for _, c := range []struct{ name, raw, err string }{
		{"empty", "", "not valid CBOR: EOF"},
		{"cut array", "82 01", "not valid CBOR: unexpected EOF"},
		{"array of 2^63", "9b 7fffffffffffffff 01", "not valid CBOR: cbor: exceeded max number of elements 2147483647 for CBOR array"},
		{"bytes of 2^62", "5b 3fffffffffffffff 01", "not valid CBOR: unexpected EOF"},
		{"left over", "01 02", "not valid CBOR: bytes are left over behind the value"},
		{"too deep", strings.Repeat("81", 1100) + "01", "not valid CBOR: cbor: exceeded max nested level 1000"},
		{"keys in keys", strings.Repeat("a1", 40) + "6122" + strings.Repeat("01", 40), "not valid CBOR: a map as a key holds a key that is no plain value"},
		{"tagged keys in keys", strings.Repeat("a1c6", 40) + "6122" + strings.Repeat("01", 40), "not valid CBOR: a map as a key holds a key that is no plain value"},
		{"text that is not UTF-8", "61 ff", "not valid CBOR: not valid UTF-8"},
		{"bignum of 5000 bytes", "c2 59 1388" + strings.Repeat("ff", 5000), "not valid CBOR: bignum of more than 4096 bytes"},
	} {
		raw := mustHex(t, c.raw)
		v, _ := decoded(decoder(t, "cbor"), nil, raw)
		if v.Err == nil || v.Err.Error() != c.err || !bytes.Equal(v.Bytes, raw) {
			t.Errorf("%s: error %v", c.name, v.Err)
		}
	}
}

// FuzzDecode holds every decoder to its promises: kinds are what they say, and
// what failed is the stored bytes.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{"98c0c2c3007fffe0a161", "83a16201a16102a16203", "d7ffee6b27fc66e0a118", "9f01bf616102ff9fffff", "c249010000000000000000", "7b7d", "c0", "df00000001", "bb0000000000000001"} {
		b, err := hex.DecodeString(seed)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte(strings.Repeat("\x81", 60) + "\xa1\"" + strings.Repeat("\x01", 60)))
	f.Add([]byte(strings.Repeat("\xa1", 60) + "\x61\"" + strings.Repeat("\x01", 60)))
	names := slices.DeleteFunc(Names(), func(name string) bool { return schemaTypes[name] != "" })
	f.Fuzz(func(t *testing.T, raw []byte) {
		stored := bytes.Clone(raw)
		for _, name := range names {
			d, err := Env{}.decoder(name, false)
			if err != nil {
				t.Fatal(err)
			}
			v, _ := decoded(d, nil, raw)
			if !bytes.Equal(raw, stored) {
				t.Fatalf("%s changed the stored bytes", name)
			}
			switch {
			case v.Err != nil && !bytes.Equal(v.Bytes, raw):
				t.Fatalf("%s failed but does not show the stored bytes", name)
			case v.Kind == record.JSON && (!json.Valid(v.Bytes) || !utf8.Valid(v.Bytes) || bytes.ContainsAny(v.Bytes, "\n\r")):
				t.Fatalf("%s of %x is not JSON on one line: %q", name, raw, v.Bytes)
			case v.Kind == record.Text && !utf8.Valid(v.Bytes):
				t.Fatalf("%s of %x is not text: %q", name, raw, v.Bytes)
			case v.Kind == record.Null && raw != nil:
				t.Fatalf("%s of %x is null", name, raw)
			}
		}
		if v, _ := decodeBase64(nil, raw); base64.StdEncoding.EncodeToString(raw) != string(v.Bytes) {
			t.Fatalf("base64 is %q", v.Bytes)
		}
	})
}

func BenchmarkAuto(b *testing.B) {
	d := decoder(b, "auto")
	raw, scratch := []byte(typical), []byte(nil)
	b.ReportAllocs()
	for b.Loop() {
		var v record.Value
		if scratch = d.Decode(&v, scratch[:0], raw, nil); v.Kind != record.JSON {
			b.Fatal("not JSON")
		}
	}
}

func BenchmarkMsgpack(b *testing.B) {
	d := decoder(b, "msgpack")
	raw, scratch := mustHex(b, "84 a2 6964 ce 0012d687 a4 75736572 a7 752d3438323133 a6 616d6f756e74 cb 40603ccccccccccd a4 74616773 92 a1 61 a1 62"), []byte(nil)
	b.ReportAllocs()
	for b.Loop() {
		var v record.Value
		if scratch = d.Decode(&v, scratch[:0], raw, nil); v.Err != nil {
			b.Fatal(v.Err)
		}
	}
}

func BenchmarkCBOR(b *testing.B) {
	d := decoder(b, "cbor")
	raw, scratch := mustHex(b, "a4 62 6964 1a 0012d687 64 75736572 67 752d3438323133 66 616d6f756e74 fb 40603ccccccccccd 64 74616773 82 61 61 61 62"), []byte(nil)
	b.ReportAllocs()
	for b.Loop() {
		var v record.Value
		if scratch = d.Decode(&v, scratch[:0], raw, nil); v.Err != nil {
			b.Fatal(v.Err)
		}
	}
}

// decoded calls Decode on a Value that holds something from before.
func decoded(d Decoder, dst, raw []byte) (record.Value, []byte) {
	v := record.Value{Kind: record.Binary, Bytes: []byte("old"), SchemaID: "old", Err: errNotJSON}
	dst = d.Decode(&v, dst, raw, nil)
	return v, dst
}
