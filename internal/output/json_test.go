package output

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/kcm-cli/kcm/internal/record"
)

func TestJSON(t *testing.T) {
	const head = `{"stream":"orders","cluster":"east","topic":"orders","partition":0,"offset":42,"timestamp":1725999704063,"timestamp_type":"create",`
	for _, c := range []struct {
		name       string
		key, value *record.Value
		headers    []record.Header
		want       string
	}{
		{
			"the documented record", textValue("k1"), jsonValue(`{"id":1}`),
			[]record.Header{header("trace", "ab")},
			`"key":"k1","value":{"id":1},"headers":[{"key":"trace","value":"ab"}]}`,
		},
		{"null and null", null, null, nil, `"key":null,"value":null,"headers":[]}`},
		{"null and empty", null, textValue(""), nil, `"key":null,"value":"","headers":[]}`},
		{"empty and null", textValue(""), null, nil, `"key":"","value":null,"headers":[]}`},
		{"empty and empty", textValue(""), textValue(""), nil, `"key":"","value":"","headers":[]}`},
		{"the word null", textValue("null"), textValue("null"), nil, `"key":"null","value":"null","headers":[]}`},
		{
			"big numbers", null, jsonValue(`{"a":9007199254740993,"b":327267367867168100000,"c":0.10,"d":1e400,"e":1.0}`), nil,
			`"key":null,"value":{"a":9007199254740993,"b":327267367867168100000,"c":0.10,"d":1e400,"e":1.0},"headers":[]}`,
		},
		{
			"bytes", binaryValue("\x00\x00\x00\x00\x07\x02\xff"), binaryValue("\xff\xfe\x00A\xc3(\n\x80"), nil,
			`"key":"AAAAAAcC/w==","key_encoding":"base64","value":"//4AQcMoCoA=","value_encoding":"base64","headers":[]}`,
		},
		{
			"markup and U+2028", null, textValue("<a href=\"x\">&</a>\u2028"), nil,
			`"key":null,"value":"<a href=\"x\">&</a>` + "\u2028" + `","headers":[]}`,
		},
		{"lone surrogate", null, binaryValue("\xed\xa0\x80"), nil, `"key":null,"value":"7aCA","value_encoding":"base64","headers":[]}`},
		{
			"control characters", null, textValue("\x00\b\f\n\r\t\x1b[31m\x1f\x7f\\"), nil,
			`"key":null,"value":"\u0000\b\f\n\r\t\u001b[31m\u001f` + "\x7f" + `\\","headers":[]}`,
		},
		{"headers", null, null, []record.Header{
			header("t", "1"), header("u", "\xff\x00"), header("t", "2"),
			{Key: []byte("v")},
			{Key: []byte("w"), Value: []byte{}},
			header("t", "1"), header("", "x"), header("\xff", "y"),
		}, `"key":null,"value":null,"headers":[{"key":"t","value":"1"},{"key":"u","value":"/wA=","encoding":"base64"},` +
			`{"key":"t","value":"2"},{"key":"v","value":null},{"key":"w","value":""},{"key":"t","value":"1"},{"key":"","value":"x"},` +
			`{"key":"/w==","key_encoding":"base64","value":"y"}]}`},
		{
			"schema ids", &record.Value{Kind: record.JSON, Bytes: []byte("1"), SchemaID: "7"},
			&record.Value{Kind: record.JSON, Bytes: []byte("2"), SchemaID: "0f-1"}, nil,
			`"key":1,"key_schema_id":7,"value":2,"value_schema_id":"0f-1","headers":[]}`,
		},
		{
			"errors", &record.Value{Kind: record.Text, Bytes: []byte("k"), Err: errors.New(`no "x"`)},
			&record.Value{Kind: record.Binary, Bytes: []byte{0xff}, SchemaID: "999", Err: errors.New("bad \xff\nend")}, nil,
			`"key":"k","key_error":"no \"x\"","value":"/w==","value_encoding":"base64","value_schema_id":999,"value_error":"bad ` + "\ufffd" + `\nend","headers":[]}`,
		},
	} {
		rec := &record.Record{Offset: 42, Timestamp: 1725999704063, Headers: headers(t, c.headers...)}
		got := string(format(t, "json", Options{}).Append([]byte("before "), rec, c.key, c.value))
		if want := "before " + head + c.want + "\n"; got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, want)
		}
		if !json.Valid([]byte(strings.TrimPrefix(got, "before "))) || !utf8.ValidString(got) {
			t.Errorf("%s is not JSON in UTF-8", c.name)
		}
	}
}

func TestJSONNumbers(t *testing.T) {
	for _, c := range []struct {
		rec  record.Record
		want string
	}{
		{record.Record{Offset: 9223372036854775807, Timestamp: -1}, `"offset":9223372036854775807,"timestamp":-1,"timestamp_type":"create"`},
		{record.Record{Timestamp: 1700000000123456, TimestampType: record.LogAppendTime}, `"offset":0,"timestamp":1700000000123456,"timestamp_type":"append"`},
		{record.Record{Timestamp: -9223372036854775808}, `"offset":0,"timestamp":-9223372036854775808,"timestamp_type":"create"`},
	} {
		if got := string(format(t, "json", Options{}).Append(nil, &c.rec, null, null)); !strings.Contains(got, c.want) {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
	for id, want := range map[string]bool{"0": true, "7": true, "123456789012345": true, "1234567890123456": false, "07": false, "": false, "1e3": false, "-1": false} {
		if isNumber(id) != want {
			t.Errorf("isNumber(%q) is %v", id, !want)
		}
	}
}

func TestJSONNamesAreEscaped(t *testing.T) {
	f, err := NewFormat("json", Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := f.ForSplit(`a"b`, record.Split{Cluster: `c\d`, Topic: "e\n", Partition: 2147483647}).Append(nil, &record.Record{}, null, null)
	want := `{"stream":"a\"b","cluster":"c\\d","topic":"e\n","partition":2147483647,"offset":0,"timestamp":0,"timestamp_type":"create","key":null,"value":null,"headers":[]}` + "\n"
	if string(got) != want {
		t.Errorf("got %s", got)
	}
}

func TestPrettyJSON(t *testing.T) {
	got := string(format(t, "json", Options{Pretty: true}).Append([]byte("x\n"), &record.Record{Offset: 1, Timestamp: 2},
		textValue("<k>"), jsonValue(`{"a":9007199254740993,"d":1e400,"e":1.0,"s":"\u00e9 {}"}`)))
	want := `x
{
  "stream": "orders",
  "cluster": "east",
  "topic": "orders",
  "partition": 0,
  "offset": 1,
  "timestamp": 2,
  "timestamp_type": "create",
  "key": "<k>",
  "value": {
    "a": 9007199254740993,
    "d": 1e400,
    "e": 1.0,
    "s": "\u00e9 {}"
  },
  "headers": []
}
`
	if got != want {
		t.Errorf("got %s", got)
	}
}

func TestKcatJSON(t *testing.T) {
	for _, c := range []struct {
		name       string
		rec        record.Record
		key, value *record.Value
		want       string
	}{
		{
			"as kcat 1.7.1",
			record.Record{Timestamp: 1725999704063, Headers: headers(t, header("trace", "ab"), header("t", "2"), record.Header{Key: []byte("t")}, header("", "x"))},
			textValue("k1"), textValue(`{"id": 1}`),
			`{"topic":"orders","partition":0,"offset":0,"tstype":"create","ts":1725999704063,"headers":["trace","ab","t","2","t",null,"","x"],"key":"k1","payload":"{\"id\": 1}"}`,
		},
		{
			"null",
			record.Record{Offset: 1, Timestamp: -1},
			null, null,
			`{"topic":"orders","partition":0,"offset":1,"tstype":"create","ts":-1,"key":null,"payload":null}`,
		},
		{
			"empty, appended",
			record.Record{Offset: 2, TimestampType: record.LogAppendTime},
			textValue(""), textValue(""),
			`{"topic":"orders","partition":0,"offset":2,"tstype":"logappend","ts":0,"key":"","payload":""}`,
		},
		{
			"bytes",
			record.Record{Headers: headers(t, header("b", "\xff\x00"))},
			binaryValue("\xff"), binaryValue("\xfe"),
			`{"topic":"orders","partition":0,"offset":0,"tstype":"create","ts":0,"headers":["b","/wA="],"key":"/w==","key_encoding":"base64","payload":"/g==","payload_encoding":"base64"}`,
		},
		{
			"schemas and errors",
			record.Record{},
			&record.Value{Kind: record.JSON, Bytes: []byte("1"), SchemaID: "3"},
			&record.Value{Kind: record.Text, Bytes: []byte("x"), SchemaID: "4", Err: errors.New("cut")},
			`{"topic":"orders","partition":0,"offset":0,"tstype":"create","ts":0,"key":1,"key_schema_id":3,"payload":"x","payload_error":"cut","value_schema_id":4}`,
		},
	} {
		if got := string(format(t, "kcat-json", Options{}).Append(nil, &c.rec, c.key, c.value)); got != c.want+"\n" {
			t.Errorf("%s:\ngot  %swant %s", c.name, got, c.want)
		}
	}
}

// shown is a JSON record as a reader takes it apart.
type shown struct {
	Stream, Cluster, Topic string
	Offset, Timestamp      int64
	Key, Value             any
	KeyEncoding            string `json:"key_encoding"`
	ValueEncoding          string `json:"value_encoding"`
	Headers                []struct {
		Key         string
		KeyEncoding string `json:"key_encoding"`
		Value       any
		Encoding    string
	}
}

func rebuild(t *testing.T, v any, encoding string) []byte {
	t.Helper()
	if v == nil {
		return nil
	}
	s, ok := v.(string)
	if !ok {
		t.Fatalf("%v is no string", v)
	}
	if encoding == "" {
		return append([]byte{}, s...)
	}
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil || encoding != "base64" {
		t.Fatalf("%q in %q: %v", s, encoding, err)
	}
	return b
}

// asRaw is what the decoder raw makes of bytes.
func asRaw(b []byte) *record.Value {
	switch {
	case b == nil:
		return &record.Value{}
	case utf8.Valid(b):
		return &record.Value{Kind: record.Text, Bytes: b}
	default:
		return &record.Value{Kind: record.Binary, Bytes: b}
	}
}

// FuzzJSON takes every line apart again and finds the stored bytes in it.
func FuzzJSON(f *testing.F) {
	f.Add([]byte("k1"), []byte("<a href=\"x\">&</a>\u2028"), []byte("t"), []byte("1"), int64(-1), byte(0))
	f.Add([]byte("\xed\xa0\x80"), []byte("\xff\xfe\x00A\xc3(\n\x80"), []byte("\xff"), []byte("12345678\x1f"), int64(1700000000123456), byte(0))
	f.Add([]byte(""), []byte(""), []byte(""), []byte(""), int64(0), byte(7))
	f.Fuzz(func(t *testing.T, key, value, headerKey, headerValue []byte, ts int64, nulls byte) {
		if nulls&1 != 0 {
			key = nil
		}
		if nulls&2 != 0 {
			value = nil
		}
		if nulls&4 != 0 {
			headerValue = nil
		}
		rec := &record.Record{Offset: 5, Timestamp: ts, Headers: headers(t,
			record.Header{Key: headerKey, Value: headerValue}, record.Header{Key: headerKey, Value: headerValue})}
		line := format(t, "json", Options{}).Append(nil, rec, asRaw(key), asRaw(value))
		if !utf8.Valid(line) || bytes.IndexByte(line, '\n') != len(line)-1 {
			t.Fatalf("not one line of UTF-8: %q", line)
		}
		var got shown
		if err := json.Unmarshal(line, &got); err != nil {
			t.Fatalf("%v: %q", err, line)
		}
		if got.Timestamp != ts || got.Offset != 5 || len(got.Headers) != 2 {
			t.Fatalf("got %+v", got)
		}
		same := func(what string, got, want []byte) {
			if !bytes.Equal(got, want) || (got == nil) != (want == nil) {
				t.Fatalf("%s is %q, want %q", what, got, want)
			}
		}
		same("key", rebuild(t, got.Key, got.KeyEncoding), key)
		same("value", rebuild(t, got.Value, got.ValueEncoding), value)
		for _, h := range got.Headers {
			same("header key", rebuild(t, h.Key, h.KeyEncoding), append([]byte{}, headerKey...))
			same("header value", rebuild(t, h.Value, h.Encoding), headerValue)
		}
		if kcat := format(t, "kcat-json", Options{}).Append(nil, rec, asRaw(key), asRaw(value)); !json.Valid(kcat) || !utf8.Valid(kcat) {
			t.Fatalf("kcat-json is not valid: %q", kcat)
		}
	})
}

func benchmarkFormat(b *testing.B, name string, key, value *record.Value) {
	f := format(b, name, Options{})
	rec := &record.Record{Offset: 123456789, Timestamp: 1725999704063, Key: key.Bytes, Value: value.Bytes}
	dst := make([]byte, 0, 1024)
	b.ReportAllocs()
	for b.Loop() {
		dst = f.Append(dst[:0], rec, key, value)
	}
	if len(dst) == 0 {
		b.Fatal("nothing written")
	}
}

// typical is a value of 140 bytes with six fields.
const typical = `{"id":1234567,"user":"u-48213","type":"order.created","amount":129.90,"currency":"EUR","note":"left at the door, please ring twice, thank you"}`

func BenchmarkJSON(b *testing.B) {
	benchmarkFormat(b, "json", textValue("key-123456"), jsonValue(typical))
}

func BenchmarkJSONText(b *testing.B) {
	benchmarkFormat(b, "json", textValue("key-123456"), textValue(typical))
}

func BenchmarkKcatJSON(b *testing.B) {
	benchmarkFormat(b, "kcat-json", textValue("key-123456"), textValue(typical))
}

func BenchmarkRaw(b *testing.B) {
	benchmarkFormat(b, "raw", textValue("key-123456"), textValue(typical))
}

func BenchmarkText(b *testing.B) {
	benchmarkFormat(b, "text", textValue("key-123456"), jsonValue(typical))
}

func BenchmarkTemplate(b *testing.B) {
	benchmarkFormat(b, `%t %p %o %k %v %h{%k=%v }\n`, textValue("key-123456"), jsonValue(typical))
}
