package replay

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/kcm-cli/kcm/internal/codec"
	"github.com/kcm-cli/kcm/internal/output"
	"github.com/kcm-cli/kcm/internal/record"
)

var east = record.Split{Cluster: "east", Topic: "orders", Partition: 3}

// line writes a record as -f json does.
func line(t testing.TB, rec *record.Record, key, value record.Value) []byte {
	t.Helper()
	f, err := output.NewFormat(output.FormatJSON, output.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return f.ForSplit("orders", east).Append(nil, rec, &key, &value)
}

func decode(t testing.TB, name string, raw []byte) record.Value {
	t.Helper()
	pair, err := codec.Choice{Value: name}.Pair(codec.Env{})
	if err != nil {
		t.Fatal(err)
	}
	var v record.Value
	pair.Value.Decode(&v, nil, raw, nil)
	return v
}

func headers(list ...record.Header) record.Headers {
	var raw []byte
	for _, h := range list {
		raw = append(binary.AppendVarint(raw, int64(len(h.Key))), h.Key...)
		if h.Value == nil {
			raw = binary.AppendVarint(raw, -1)
			continue
		}
		raw = append(binary.AppendVarint(raw, int64(len(h.Value))), h.Value...)
	}
	return record.Headers{Count: len(list), Raw: raw}
}

func TestALineGivesBackTheRecord(t *testing.T) {
	hs := headers(
		record.Header{Key: []byte("t"), Value: []byte("1")}, record.Header{Key: []byte("u"), Value: []byte{0xff, 0}},
		record.Header{Key: []byte("t"), Value: []byte("2")}, record.Header{Key: []byte("v")},
		record.Header{Key: []byte("w"), Value: []byte{}}, record.Header{Key: []byte{0xfe}, Value: []byte("x")}, record.Header{Key: []byte{}, Value: []byte("\n\"\\")},
	)
	for _, want := range []record.Record{
		{Offset: 0, Timestamp: 1725999704063},
		{Offset: math.MaxInt64, Timestamp: math.MinInt64, Key: []byte{}, Value: []byte{}},
		{Offset: 42, Timestamp: -1, TimestampType: record.LogAppendTime, Key: []byte("k1"), Value: []byte(`{"id":9007199254740993,"x":0.10,"d":1e400,"u":"\u0041\/"}`), Headers: hs},
		{Offset: 7, Timestamp: math.MaxInt64, Key: []byte("null"), Value: []byte("null")},
		{Offset: 8, Key: []byte("42"), Value: []byte("[1,2")},
		{Offset: 9, Key: []byte("\"q\"\\\x00\x1f\t\b\f\r\n/\u2028é🎉"), Value: []byte("<a href='x'>&</a>")},
		{Offset: 10, Key: []byte{0xff}, Value: []byte{0xed, 0xa0, 0x80}, Headers: headers(record.Header{Key: []byte("k"), Value: []byte("")})},
		{Offset: 11, Value: []byte(`[{"a":[[]],"b":"]}\""},{}]`)},
	} {
		text := line(t, &want, decode(t, "auto", want.Key), decode(t, "auto", want.Value))
		var p parser
		for _, head := range [][]byte{nil, appendHead(nil, Key{"orders", east})} {
			if err := p.parse(text, head); err != nil {
				t.Errorf("%s: %v", text, err)
				continue
			}
			same(t, &p.rec, &want)
		}
		if string(p.stream) != "orders" && string(p.cluster) != "east" && string(p.topic) != "orders" || p.partition != 3 {
			t.Errorf("it is taken for %s %s/%s/%d", p.stream, p.cluster, p.topic, p.partition)
		}
	}
}

func same(t testing.TB, got, want *record.Record) {
	t.Helper()
	if got.Offset != want.Offset || got.Timestamp != want.Timestamp || got.TimestampType != want.TimestampType {
		t.Errorf("got %d %d %v, want %d %d %v", got.Offset, got.Timestamp, got.TimestampType, want.Offset, want.Timestamp, want.TimestampType)
	}
	sameBytes(t, "key", got.Key, want.Key)
	sameBytes(t, "value", got.Value, want.Value)
	if got.Headers.Count != want.Headers.Count || !bytes.Equal(got.Headers.Raw, want.Headers.Raw) {
		t.Errorf("headers %d %q, want %d %q", got.Headers.Count, got.Headers.Raw, want.Headers.Count, want.Headers.Raw)
	}
	if !record.CheckHeaders(got.Headers.Count, got.Headers.Raw) {
		t.Errorf("the headers are not well-formed: %q", got.Headers.Raw)
	}
}

func sameBytes(t testing.TB, what string, got, want []byte) {
	t.Helper()
	if !bytes.Equal(got, want) || (got == nil) != (want == nil) {
		t.Errorf("%s %q (null %v), want %q (null %v)", what, got, got == nil, want, want == nil)
	}
}

// What a schema took part in is no longer what was stored, and is kept as it was
// shown.
func TestWhatADecoderMadeIsKept(t *testing.T) {
	rec := record.Record{Offset: 1}
	for _, tt := range []struct {
		name  string
		shown record.Value
		bytes string
		kept  *record.Value // nil: the stored bytes are known
	}{
		{"a decoded object", record.Value{Kind: record.JSON, Bytes: []byte(`{"a":1}`), SchemaID: "7"}, `{"a":1}`, &record.Value{Kind: record.JSON, Bytes: []byte(`{"a":1}`), SchemaID: "7"}},
		{"an id that is a word", record.Value{Kind: record.JSON, Bytes: []byte(`5`), SchemaID: "a-b"}, `5`, &record.Value{Kind: record.JSON, Bytes: []byte(`5`), SchemaID: "a-b"}},
		{"a decoded null", record.Value{Kind: record.JSON, Bytes: []byte(`null`), SchemaID: "7"}, `null`, &record.Value{Kind: record.JSON, Bytes: []byte(`null`), SchemaID: "7"}},
		{"decoded bytes", record.Value{Kind: record.Binary, Bytes: []byte{1, 0xff}, SchemaID: "7"}, "\x01\xff", &record.Value{Kind: record.Binary, Bytes: []byte{1, 0xff}, SchemaID: "7"}},
		{"a text", record.Value{Kind: record.Text, Bytes: []byte(`00ff`)}, `00ff`, &record.Value{Kind: record.Text, Bytes: []byte(`00ff`)}},
		{"a number", record.Value{Kind: record.JSON, Bytes: []byte(`12.50`)}, `12.50`, &record.Value{Kind: record.JSON, Bytes: []byte(`12.50`)}},
		{"bytes", record.Value{Kind: record.Binary, Bytes: []byte{0xff}}, "\xff", nil},
		{"a failure", record.Value{Kind: record.Text, Bytes: []byte(`x`), SchemaID: "7", Err: errors.New("no")}, `x`, nil},
		{"a failure with bytes", record.Value{Kind: record.Binary, Bytes: []byte{0, 0xff}, Err: errors.New("no")}, "\x00\xff", nil},
	} {
		var p parser
		if err := p.parse(line(t, &rec, record.Value{}, tt.shown), nil); err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if string(p.rec.Value) != tt.bytes {
			t.Errorf("%s: bytes %q, want %q", tt.name, p.rec.Value, tt.bytes)
		}
		var got *record.Value
		if p.rec.Decoded != nil {
			got = p.rec.Decoded.Value
		}
		switch {
		case tt.kept == nil && got != nil:
			t.Errorf("%s: kept as %+v", tt.name, got)
		case tt.kept != nil && (got == nil || got.Kind != tt.kept.Kind || string(got.Bytes) != string(tt.kept.Bytes) || got.SchemaID != tt.kept.SchemaID):
			t.Errorf("%s: kept as %+v, want %+v", tt.name, got, tt.kept)
		}
	}
}

func TestOtherFormsOfTheSameLineAreTaken(t *testing.T) {
	for _, text := range []string{
		`{"offset":5,"partition":3,"topic":"orders","cluster":"east","stream":"orders","headers":[],"value":{"a":1},"key":"k","timestamp_type":"create","timestamp":9}`,
		` { "stream" : "orders" , "cluster":"east","topic":"orders","partition":3,"offset":5,"timestamp":9,"timestamp_type":"create","key":"k","value":{"a":1},"headers": [ ] } `,
		`{"stream":"orders","cluster":"east","topic":"orders","partition":3,"offset":5,"timestamp":9,"timestamp_type":"create","key":"\u006b","value":{"a":1},"later":[{"x":"}"}],"headers":[],"n":-1.5e3}`,
		"{\"stream\":\"orders\",\"cluster\":\"east\",\"topic\":\"orders\",\"partition\":3,\"offset\":5,\"timestamp\":9,\"timestamp_type\":\"create\",\"key\":\"k\",\"value\":{\"a\":1},\"headers\":[]}\r",
	} {
		var p parser
		if err := p.parse([]byte(text), nil); err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		same(t, &p.rec, &record.Record{Offset: 5, Timestamp: 9, Key: []byte("k"), Value: []byte(`{"a":1}`)})
	}
}

func TestWhatIsNoSuchLineIsRefused(t *testing.T) {
	const good = `{"stream":"orders","cluster":"east","topic":"orders","partition":3,"offset":5,"timestamp":9,"timestamp_type":"create","key":"k","value":{"a":1},"headers":[]}`
	for _, tt := range []struct{ name, text, want string }{
		{"nothing", "", "it ends in the middle"},
		{"a word", "hello", `it is no JSON object: "hello"`},
		{"an array", "[1]", `it is no JSON object: "[1]"`},
		{"an empty object", "{}", "it lacks stream, cluster, topic, partition, offset, timestamp, timestamp_type, key, value, headers"},
		{"kcat's", `{"topic":"orders","partition":0,"offset":1,"tstype":"create","ts":1,"broker":1,"key":"k","payload":"v"}`, "it lacks stream, cluster, timestamp, timestamp_type, value, headers"},
		{"no headers", strings.Replace(good, `,"headers":[]`, "", 1), "it lacks headers"},
		{"a member twice", strings.Replace(good, `"key"`, `"offset":5,"key"`, 1), "offset: it is there twice"},
		{"an offset with a fraction", strings.Replace(good, `"offset":5`, `"offset":5.0`, 1), `offset: an integer is expected, not "5.0,\"timestamp\":9,\"timestamp_type\":\"crea"…`},
		{"an offset below 0", strings.Replace(good, `"offset":5`, `"offset":-5`, 1), "offset: -5 is no offset"},
		{"an offset beyond int64", strings.Replace(good, `"offset":5`, `"offset":9223372036854775808`, 1), `offset: an integer is expected, not "9223372036854775808,\"timestamp\":9,\"times"…`},
		{"a partition beyond int32", strings.Replace(good, `"partition":3`, `"partition":2147483648`, 1), "partition: 2147483648 is no partition"},
		{"an unknown timestamp type", strings.Replace(good, `create`, `none`, 1), `timestamp_type: "none" is neither create nor append`},
		{"an unknown encoding", strings.Replace(good, `"headers"`, `"value_encoding":"hex","headers"`, 1), `value_encoding: "hex" is not known; base64 is`},
		{"base64 of an object", strings.Replace(good, `"headers"`, `"value_encoding":"base64","headers"`, 1), "value: its encoding is base64, but it is no string"},
		{"bad base64", strings.Replace(good, `"key":"k"`, `"key":"k","key_encoding":"base64"`, 1), `key: not valid base64: "k"`},
		{"a value that is no JSON", strings.Replace(good, `{"a":1}`, `{"a":1]`, 1), `value: not valid JSON: "{\"a\":1]"`},
		{"a value that is missing", strings.Replace(good, `{"a":1}`, ``, 1), `value: a value is expected, not ",\"headers\":[]}"`},
		{"half a surrogate pair", strings.Replace(good, `"topic":"orders"`, `"topic":"\ud800"`, 1), `topic: not a character: "\\ud800\",\"partition\":3,\"offset\":5,\"timest"…`},
		{"a control character", strings.Replace(good, `"k"`, "\"\x01\"", 1), `key: a control character in a string: "\x01\",\"value\":{\"a\":1},\"headers\":[]}"`},
		{"bytes that are no UTF-8", strings.Replace(good, `"k"`, "\"\xff\"", 1), "it is not valid UTF-8"},
		{"two records", good + good[:9], `something follows the record: "{\"stream\""`},
		{"a header without a value", strings.Replace(good, `[]`, `[{"key":"a"}]`, 1), "headers: a header without key or value"},
		{"a header with a number", strings.Replace(good, `[]`, `[{"key":"a","value":1}]`, 1), `headers: a string is expected, not "1}]}"`},
	} {
		var p parser
		err := p.parse([]byte(tt.text), nil)
		if err == nil || err.Error() != tt.want {
			t.Errorf("%s:\n got %v\nwant %s", tt.name, err, tt.want)
		}
	}
	for n := range len(good) { // a line that is cut off anywhere
		var p parser
		if err := p.parse([]byte(good[:n]), nil); !errors.Is(err, errShort) {
			t.Errorf("%s: %v", good[:n], err)
		}
	}
}

// What -f json has written comes back byte for byte when it is written again with
// the same decoders.
func FuzzRoundTrip(f *testing.F) {
	f.Add(int64(1), int64(-5), false, []byte("k"), []byte(`{"a":[1,2]}`), []byte("h"), []byte{0xff}, uint8(0))
	f.Add(int64(9), int64(math.MinInt64), true, []byte{}, []byte("\xff\x00"), []byte(""), []byte(nil), uint8(3))
	f.Add(int64(0), int64(0), true, []byte(`"\ud800"`), []byte(" {\n} "), []byte("\u2028"), []byte(""), uint8(9))
	decoders := []string{"auto", "raw", "string", "json", "int32", "hex"}
	f.Fuzz(func(t *testing.T, offset, timestamp int64, appended bool, key, value, hk, hv []byte, how uint8) {
		rec := record.Record{Offset: offset & math.MaxInt64, Timestamp: timestamp, Key: key, Value: value, Headers: headers(record.Header{Key: hk, Value: hv}, record.Header{Key: hk, Value: key})}
		if appended {
			rec.TimestampType = record.LogAppendTime
		}
		name := decoders[int(how)%len(decoders)]
		want := line(t, &rec, decode(t, name, key), decode(t, name, value))
		var p parser
		if err := p.parse(want, appendHead(nil, Key{"orders", east})); err != nil {
			t.Fatalf("%s: %v", want, err)
		}
		same(t, &record.Record{Offset: p.rec.Offset, Timestamp: p.rec.Timestamp, TimestampType: p.rec.TimestampType, Headers: p.rec.Headers}, &record.Record{Offset: rec.Offset, Timestamp: rec.Timestamp, TimestampType: rec.TimestampType, Headers: rec.Headers})
		again := func(raw []byte, kept *record.Value) record.Value {
			if kept != nil && !codec.Repeats(name) {
				return *kept
			}
			return decode(t, name, raw)
		}
		d := record.Decoded{}
		if p.rec.Decoded != nil {
			d = *p.rec.Decoded
		}
		got := line(t, &p.rec, again(p.rec.Key, d.Key), again(p.rec.Value, d.Value))
		if name == "json" && bytes.ContainsRune(want, '\\') {
			return // a string that is the whole value is written with the escapes it needs
		}
		if string(got) != string(want) {
			t.Errorf("with %s\n got %s\nwant %s", name, got, want)
		}
	})
}

// A line that is taken is JSON, and says what encoding/json finds in it.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"stream":"o","cluster":"e","topic":"t","partition":3,"offset":5,"timestamp":9,"timestamp_type":"create","key":"k","value":{"a":1},"headers":[{"key":"a","value":null}]}`))
	f.Add([]byte(`{"stream":"o","cluster":"e","topic":"t","partition":3,"offset":5,"timestamp":9,"timestamp_type":"append","key":"\ud83c\udf89","value":"aGk=","value_encoding":"base64","value_schema_id":1,"headers":[],"z":[}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var p parser
		if err := p.parse(text, nil); err != nil {
			return
		}
		var want struct {
			Stream, Cluster, Topic string
			Partition              int32
			Offset, Timestamp      int64
			Headers                []struct{ Key string }
		}
		if err := json.Unmarshal(text, &want); err != nil {
			if json.Valid(text) {
				t.Fatalf("%s: %v", text, err)
			}
			return // what nobody uses is not looked at
		}
		if string(p.topic) != want.Topic && !strings.EqualFold(string(p.topic), want.Topic) || p.rec.Headers.Count != len(want.Headers) {
			if !bytes.ContainsFunc(text, func(r rune) bool { return r >= 'A' && r <= 'Z' }) { // encoding/json folds names
				t.Errorf("%s: got %s, %d headers; want %+v", text, p.topic, p.rec.Headers.Count, want)
			}
		}
		if !record.CheckHeaders(p.rec.Headers.Count, p.rec.Headers.Raw) || len(slices.Collect(p.rec.Headers.All())) != p.rec.Headers.Count {
			t.Errorf("%s: headers are not well-formed", text)
		}
	})
}
