package output

import (
	"bytes"
	"errors"
	"math/rand"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/kcm-cli/kcm/internal/record"
)

func TestText(t *testing.T) {
	const head = "orders@east orders[0]@42 2024-09-10T20:21:44.063Z "
	nul, semi := "NULL", `;\n`
	for _, c := range []struct {
		name       string
		opt        Options
		key, value *record.Value
		want       string
	}{
		{"text and JSON", Options{}, textValue("k1"), jsonValue(`{"id":1}`), head + "k1 {\"id\":1}\n"},
		{"null", Options{}, null, null, head + "<null> <null>\n"},
		{"null and empty", Options{}, null, textValue(""), head + "<null> \n"},
		{"the word null", Options{}, textValue("null"), textValue("null"), head + "null null\n"},
		{"own null and end", Options{Null: &nul, Delimiter: &semi}, null, textValue("v"), head + "NULL v;\n"},
		{
			"terminal escapes",
			Options{},
			textValue("\x1b[31m"), textValue("a\nb\tc\r\x00\x7f\u009b1m\u202e\u2028\u200fé"),
			head + `\x1b[31m a\nb\tc\r\x00\x7f\u009b1m\u202e\u2028\u200fé` + "\n",
		},
		{"bytes", Options{}, binaryValue("\x00\x07\xff"), binaryValue("A\xc3(\x80"), head + `\x00\x07\xff A\xc3(\x80` + "\n"},
		{
			"an error",
			Options{},
			textValue("k"), &record.Value{Kind: record.Text, Bytes: []byte("hello"), Err: errors.New("not valid JSON")},
			head + "k hello (!value: not valid JSON)\n",
		},
		{
			"columns",
			Options{Columns: []string{"cluster", "partition", "timestamp", "headers", "value", "topic", "stream", "offset", "time", "key"}},
			textValue("k"), textValue("v"),
			"east 0 1725999704063 t=1,n=<null>,e= v orders orders 42 2024-09-10T20:21:44.063Z k\n",
		},
		{
			"the other columns",
			Options{Columns: []string{"timestamp_type", "value_schema_id", "value", "value"}},
			textValue("k"), &record.Value{Kind: record.JSON, Bytes: []byte("1"), SchemaID: "7"}, "create 7 1 1\n",
		},
	} {
		rec := &record.Record{Offset: 42, Timestamp: 1725999704063, Headers: headers(t, header("t", "1"), record.Header{Key: []byte("n")}, header("e", ""))}
		if got := string(format(t, "text", c.opt).Append(nil, rec, c.key, c.value)); got != c.want {
			t.Errorf("%s:\ngot  %q\nwant %q", c.name, got, c.want)
		}
	}
}

func TestTextTimes(t *testing.T) {
	f := format(t, "text", Options{Columns: []string{"time"}})
	for ms, want := range map[int64]string{
		-1:                   "-1",
		0:                    "1970-01-01T00:00:00.000Z",
		-2:                   "1969-12-31T23:59:59.998Z",
		1700000000123456:     "55840-11-08T22:15:23.456Z",
		253402300800000:      "10000-01-01T00:00:00.000Z",
		-62167219200001:      "-0001-12-31T23:59:59.999Z",
		951782400000:         "2000-02-29T00:00:00.000Z",
		9223372036854775807:  "292278994-08-17T07:12:55.807Z",
		-9223372036854775808: "-292275055-05-16T16:47:04.192Z",
	} {
		if got := string(f.Append(nil, &record.Record{Timestamp: ms}, nil, nil)); got != want+"\n" {
			t.Errorf("%d: %s, want %s", ms, got, want)
		}
	}
}

// TestTimeAgainstTime walks over all magnitudes of a timestamp.
func TestTimeAgainstTime(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for range 20000 {
		ms := int64(r.Uint64()) >> r.Intn(64)
		want := time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z")
		if got := string(appendTime(nil, ms)); got != want {
			t.Fatalf("%d: %s, want %s", ms, got, want)
		}
	}
}

func TestTextNeeds(t *testing.T) {
	for _, c := range []struct {
		columns []string
		want    Needs
	}{
		{nil, Needs{Key: true, Value: true}},
		{[]string{"offset", "headers"}, Needs{}},
		{[]string{"key"}, Needs{Key: true}},
		{[]string{"value_schema_id"}, Needs{Value: true}},
	} {
		f, err := NewFormat("text", Options{Columns: c.columns})
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Needs(); got != c.want {
			t.Errorf("%v needs %+v", c.columns, got)
		}
	}
}

func TestRaw(t *testing.T) {
	nul, nothing, zero := "NULL", "", `\x00`
	for _, c := range []struct {
		value []byte
		opt   Options
		want  string
	}{
		{[]byte("\xff\xfe\x00A\xc3(\n\x80"), Options{}, "\xff\xfe\x00A\xc3(\n\x80\n"},
		{[]byte(`<a href="x">&</a>`), Options{}, `<a href="x">&</a>` + "\n"},
		{nil, Options{}, "\n"},
		{[]byte{}, Options{}, "\n"},
		{nil, Options{Null: &nul}, "NULL\n"},
		{[]byte{}, Options{Null: &nul}, "\n"},
		{[]byte("a"), Options{Delimiter: &nothing}, "a"},
		{[]byte("a"), Options{Delimiter: &zero}, "a\x00"},
	} {
		if got := format(t, "raw", c.opt).Append(nil, &record.Record{Value: c.value}, nil, nil); string(got) != c.want {
			t.Errorf("%q: %q, want %q", c.value, got, c.want)
		}
	}
	f, err := NewFormat("raw", Options{})
	if err != nil || f.Needs() != (Needs{}) {
		t.Errorf("raw needs %+v, %v", f.Needs(), err)
	}
}

// FuzzText looks for anything that a terminal would act on.
func FuzzText(f *testing.F) {
	f.Add("s", []byte("\x1b]0;title\a"), []byte("a\r\nb\u009b2J\u202e\xff\xc2"), []byte("\u2029\ufeff"), int64(-1))
	f.Add("a\x1bb", []byte("1234567\x7f"), []byte("\xc2\x9b"), []byte(""), int64(0))
	f.Fuzz(func(t *testing.T, name string, key, value, headerKey []byte, ms int64) {
		for _, columns := range [][]string{nil, Columns()} {
			made, err := NewFormat("text", Options{Columns: columns, Align: true})
			if err != nil {
				t.Fatal(err)
			}
			failed := asRaw(value)
			failed.Err = errors.New(string(value))
			rec := &record.Record{Timestamp: ms, Headers: headers(t, record.Header{Key: headerKey, Value: value})}
			got := made.ForSplit(name, record.Split{Cluster: name, Topic: name}).Append(nil, rec, asRaw(key), failed)
			line, found := bytes.CutSuffix(got, []byte("\n"))
			if !found || !utf8.Valid(line) {
				t.Fatalf("not a line of UTF-8: %q", got)
			}
			if at := bytes.IndexFunc(line, func(r rune) bool {
				return unicode.IsControl(r) || strings.ContainsRune("\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c", r)
			}); at >= 0 {
				t.Fatalf("%q at %d of %q", line[at:], at, line)
			}
		}
	})
}
