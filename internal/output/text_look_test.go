package output

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/kcm-cli/kcm/internal/record"
)

func TestTextColor(t *testing.T) {
	line := func(f Format, stream, cluster string) string {
		s := f.ForSplit(stream, record.Split{Cluster: cluster, Topic: "t"})
		return string(s.Append(nil, &record.Record{Timestamp: 0}, textValue("k"), null))
	}
	made := func(opt Options) Format {
		f, err := NewFormat("text", opt)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	const rest = " t[0]@0 \x1b[2m1970-01-01T00:00:00.000Z\x1b[0m \x1b[36mk\x1b[0m \x1b[2m<null>\x1b[0m\n"
	if got, want := line(made(Options{Color: true}), "s", "east"), "\x1b[92ms@east\x1b[0m"+rest; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := line(made(Options{Color: true, Colors256: true}), "s", "east"), "\x1b[38;5;64ms@east\x1b[0m"+rest; got != want {
		t.Errorf("with 256 colours got %q, want %q", got, want)
	}
	columns := made(Options{Color: true, Columns: []string{"cluster", "stream"}})
	if got, want := line(columns, "s", "east"), "\x1b[92meast\x1b[0m \x1b[92ms\x1b[0m\n"; got != want {
		t.Errorf("columns: got %q, want %q", got, want)
	}

	// Every name has a colour of its own while there are any, and keeps it.
	f := made(Options{Color: true})
	color := func(cluster string) string { before, _, _ := strings.Cut(line(f, "s", cluster), "s@"); return before }
	seen := map[string]string{}
	for i := range len(namesOf16) {
		cluster := fmt.Sprintf("c%d", i)
		c := color(cluster)
		if other, ok := seen[c]; ok {
			t.Errorf("%s has the colour of %s", cluster, other)
		}
		seen[c] = cluster
	}
	for c, cluster := range seen {
		if color(cluster) != c {
			t.Errorf("%s changed its colour", cluster)
		}
	}
	if _, ok := seen[color("one more")]; !ok {
		t.Error("a colour that is none of the palette's")
	}
}

// TestTextAligned looks at lines as they come: columns only grow, and what is
// wider than a column may be moves no other line.
func TestTextAligned(t *testing.T) {
	f, err := NewFormat("text", Options{Align: true})
	if err != nil {
		t.Fatal(err)
	}
	east := f.ForSplit("o", record.Split{Cluster: "east", Topic: "t"})
	far := f.ForSplit("o", record.Split{Cluster: "westward", Topic: "t", Partition: 11})
	var got []byte
	for _, l := range []struct {
		s          SplitFormat
		offset     int64
		key, value string
	}{
		{east, 9, "k", "a"},
		{far, 10, "日本", "b"},
		{east, 10, "e\u0301", "c"}, // combining: one column
		{east, 11, "👨‍👩‍👧", "d"},   // joined: two columns
		{east, 12, strings.Repeat("x", widestColumn+1), "e"},
		{east, 13, "\x1b[1m", "f"},
		{east, 14, "k", "g"},
	} {
		got = l.s.Append(got, &record.Record{Offset: l.offset}, textValue(l.key), textValue(l.value))
	}
	const at = " 1970-01-01T00:00:00.000Z "
	want := strings.Join([]string{
		"o@east     t[0]@9" + at + "k a",
		"o@westward t[11]@10" + at + "日本 b",
		"o@east     t[0]@10 " + at + "e\u0301    c",
		"o@east     t[0]@11 " + at + "👨‍👩‍👧   d",
		"o@east     t[0]@12 " + at + strings.Repeat("x", widestColumn+1) + " e",
		"o@east     t[0]@13 " + at + `\x1b[1m f`,
		"o@east     t[0]@14 " + at + "k       g",
		"",
	}, "\n")
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestTextAlignedColumns(t *testing.T) {
	opt := Options{Align: true, Color: true, Columns: []string{"key", "offset", "partition", "value", "timestamp"}}
	f, err := NewFormat("text", opt)
	if err != nil {
		t.Fatal(err)
	}
	zero, ten := f.ForSplit("o", east0), f.ForSplit("o", record.Split{Partition: 10})
	got := ten.Append(nil, &record.Record{Offset: 1000, Timestamp: 12345}, textValue("key"), textValue("long"))
	got = zero.Append(got, &record.Record{Offset: 7, Timestamp: -1}, null, textValue("v"))
	want := "\x1b[36mkey\x1b[0m 1000 10 long 12345\n" +
		"\x1b[36m\x1b[2m<null>\x1b[0m\x1b[0m    7  0 v       -1\n"
	if string(got) != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestTextPretty(t *testing.T) {
	const head = "orders@east orders[0]@42 2024-09-10T20:21:44.063Z"
	semi := `;\n`
	for _, c := range []struct {
		name       string
		opt        Options
		key, value *record.Value
		headers    bool
		want       string
	}{
		{"text", Options{}, textValue("k"), textValue("v"), false, head + "\n  key: k\n  value: v\n"},
		{"null, empty and the word", Options{Delimiter: &semi}, null, textValue(""), false, head + "\n  key: <null>\n  value: ;\n"},
		{"headers", Options{}, textValue("null"), null, true, head + "\n  key: null\n  value: <null>\n  headers:\n    t: 1\n    n: <null>\n    e: \n    t: \\n\n"},
		{
			"JSON keeps digits, repeats, order and escapes",
			Options{},
			jsonValue(`{"k":[]}`), jsonValue(`{"b":[1,9007199254740993,1e400,{}],"a":"\"\\","a":null,"s":"` + "\u009b" + `"}`), false,
			head + "\n  key:\n    {\n      \"k\": []\n    }\n  value:\n    {\n      \"b\": [\n        1,\n        9007199254740993,\n" +
				"        1e400,\n        {}\n      ],\n      \"a\": \"\\\"\\\\\",\n      \"a\": null,\n      \"s\": \"\\u009b\"\n    }\n",
		},
		{"a JSON scalar", Options{}, jsonValue(`"x"`), jsonValue(`12`), false, head + "\n  key: \"x\"\n  value: 12\n"},
		{"lines", Options{}, textValue("k"), textValue("one\r\n two\x1b[2J\n"), false, head + "\n  key: k\n  value:\n    one\n     two\\x1b[2J\n"},
		{"bytes have no lines", Options{}, textValue("k"), binaryValue("\xff\n"), false, head + "\n  key: k\n  value: \\xff\\n\n"},
		{
			"an error",
			Options{},
			textValue("k"), &record.Value{Kind: record.Text, Bytes: []byte("v"), Err: errors.New("not\nvalid")}, false,
			head + "\n  key: k\n  value: v\n  value error: not\\nvalid\n",
		},
		{"columns", Options{Columns: []string{"value", "topic", "offset", "headers"}}, textValue("k"), textValue("v"), false, "orders 42\n  value: v\n  headers:\n"},
		{"nothing that identifies", Options{Columns: []string{"key", "value"}}, textValue("k"), textValue("v"), true, "- key: k\n  value: v\n"},
		{
			"colour",
			Options{Color: true, Columns: []string{"value"}},
			null, jsonValue(`{"a":[1,"b",true,null]}`), false,
			"- \x1b[2mvalue\x1b[0m:\n    {\n      \x1b[34m\"a\"\x1b[0m: [\n        \x1b[33m1\x1b[0m,\n        \x1b[32m\"b\"\x1b[0m,\n" +
				"        \x1b[35mtrue\x1b[0m,\n        \x1b[2mnull\x1b[0m\n      ]\n    }\n",
		},
	} {
		c.opt.Pretty = true
		rec := &record.Record{Offset: 42, Timestamp: 1725999704063}
		if c.headers {
			rec.Headers = headers(t, header("t", "1"), record.Header{Key: []byte("n")}, header("e", ""), header("t", "\n"))
		}
		if got := string(format(t, "text", c.opt).Append(nil, rec, c.key, c.value)); got != c.want {
			t.Errorf("%s:\ngot  %q\nwant %q", c.name, got, c.want)
		}
	}
}

// FuzzTextPretty looks for what a terminal would act on, and for lines that
// could be taken for those of another record.
func FuzzTextPretty(f *testing.F) {
	f.Add([]byte("a\nb"), []byte(`{"a":["\u001b",1]}`), []byte("x\r\n"))
	f.Add([]byte("\x1b[0m"), []byte("orders@east\norders"), []byte(""))
	f.Fuzz(func(t *testing.T, key, value, headerKey []byte) {
		rec := &record.Record{Headers: headers(t, record.Header{Key: headerKey, Value: value})}
		got := string(format(t, "text", Options{Pretty: true}).Append(nil, rec, asAuto(key), asAuto(value)))
		lines := strings.Split(strings.TrimSuffix(got, "\n"), "\n")
		for i, line := range lines {
			if i > 0 && !strings.HasPrefix(line, "  ") {
				t.Fatalf("line %d is not indented: %q", i, got)
			}
			if strings.ContainsFunc(line, unicode.IsControl) {
				t.Fatalf("a control character in %q", line)
			}
		}
	})
}

func BenchmarkTextOnATerminal(b *testing.B) {
	f := format(b, "text", Options{Color: true, Align: true})
	rec := &record.Record{Offset: 123456789, Timestamp: 1725999704063}
	key, value := textValue("key-123456"), jsonValue(typical)
	dst := make([]byte, 0, 1024)
	b.ReportAllocs()
	for b.Loop() {
		dst = f.Append(dst[:0], rec, key, value)
	}
}

func BenchmarkTextPretty(b *testing.B) {
	f := format(b, "text", Options{Color: true, Pretty: true})
	rec := &record.Record{Offset: 123456789, Timestamp: 1725999704063}
	key, value := textValue("key-123456"), jsonValue(typical)
	dst := make([]byte, 0, 4096)
	b.ReportAllocs()
	for b.Loop() {
		dst = f.Append(dst[:0], rec, key, value)
	}
}
