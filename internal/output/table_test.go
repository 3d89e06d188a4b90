package output

import (
	"testing"

	"github.com/goccy/go-yaml"
)

func TestTable(t *testing.T) {
	table := Table{
		Columns: []Column{{Header: "STREAM"}, {Header: "LAG", Right: true}, {Header: "STATE"}},
		Rows: [][]Cell{
			Text("orders", "1200", "ok"),
			Text("日本語", "7", ""),
			Text("evil\x1b[31m\n", "-", "x"),
			Text("short"),
			{{Text: "west", Tone: Faint}, {Text: "0", Tone: Warn}, {Text: "down", Tone: Bad}, {Text: "beyond the columns"}},
		},
	}
	want := "STREAM           LAG  STATE\n" +
		"orders          1200  ok\n" +
		"日本語             7\n" +
		"evil\\x1b[31m\\n     -  x\n" +
		"short\n" +
		"west               0  down\n"
	if got := string(table.Append(nil, false)); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	table.Rows = table.Rows[4:]
	want = "\x1b[1mSTREAM\x1b[0m  \x1b[1mLAG\x1b[0m  \x1b[1mSTATE\x1b[0m\n" +
		"\x1b[2mwest\x1b[0m      \x1b[33m0\x1b[0m  \x1b[31mdown\x1b[0m\n"
	if got := string(table.Append(nil, true)); got != want {
		t.Errorf("got\n%qwant\n%q", got, want)
	}
	if got := string((&Table{}).Append([]byte("x"), true)); got != "x\n" {
		t.Errorf("got %q", got)
	}
}

type doc struct {
	Name    string         `json:"name"`
	Offset  *int64         `json:"offset"`
	Lag     int64          `json:"lag"`
	Topics  []string       `json:"topics"`
	Rows    []row          `json:"rows"`
	Any     any            `json:"any"`
	Map     map[string]any `json:"map"`
	Pointer *row           `json:"pointer"`
	Left    string         `json:"left,omitempty"`
}

type row struct {
	Error *string `json:"error"`
	Names []int   `json:"names"`
}

func TestDocuments(t *testing.T) {
	d := doc{
		Name: "<a> & yes", Lag: 9007199254740993, Rows: []row{{}},
		Any: []string(nil), Map: map[string]any{"x": []int(nil), "n": nil}, Pointer: &row{},
	}
	got, err := AppendJSONLine([]byte("> "), d)
	want := `> {"name":"<a> & yes","offset":null,"lag":9007199254740993,"topics":[],"rows":[{"error":null,"names":[]}],` +
		`"any":[],"map":{"n":null,"x":[]},"pointer":{"error":null,"names":[]}}` + "\n"
	if err != nil || string(got) != want {
		t.Errorf("line: %v\n%s\nwant\n%s", err, got, want)
	}
	got, err = AppendJSON(nil, []row(nil))
	if err != nil || string(got) != "[]\n" {
		t.Errorf("nil slice: %v %s", err, got)
	}
	got, err = AppendJSON(nil, map[string]int{"a": 1})
	if err != nil || string(got) != "{\n  \"a\": 1\n}\n" {
		t.Errorf("indented: %v %s", err, got)
	}
	if d.Topics != nil || d.Rows[0].Names != nil || d.Pointer.Names != nil {
		t.Error("the caller's value was changed")
	}
	got, err = AppendYAML(nil, d)
	want = `name: "<a> & yes"
offset: null
lag: 9007199254740993
topics: []
rows:
- error: null
  names: []
any: []
map:
  "n": null
  x: []
pointer:
  error: null
  names: []
`
	if err != nil || string(got) != want {
		t.Errorf("YAML: %v\n%s", err, got)
	}
	if _, err := AppendJSON(nil, func() {}); err == nil {
		t.Error("a function was written as JSON")
	}
}

func TestYAMLStrings(t *testing.T) {
	for text, want := range map[string]string{
		"orders.v2": "orders.v2", "a/b-c_d": "a/b-c_d", "": `""`, "1e3": `"1e3"`, "12": `"12"`, "No": `"No"`, "- a": `"- a"`, "x: y": `"x: y"`,
		"two words": `"two words"`, "east:9092": `"east:9092"`, "a\x1b[31m\u009b": `"a\x1b[31m\u009b"`, "two\nlines": `"two\nlines"`, "é": `"é"`, ".inf": `".inf"`, "~": `"~"`,
	} {
		got, err := AppendYAML(nil, map[string]any{"k": []string{text}})
		if err != nil || string(got) != "k:\n- "+want+"\n" {
			t.Errorf("%q: %v %q, want %s", text, err, got, want)
		}
		var back struct{ K []any }
		if err := yaml.Unmarshal(got, &back); err != nil || len(back.K) != 1 || back.K[0] != text {
			t.Errorf("%q reads back as %v, %v", text, back.K, err)
		}
	}
	got, err := AppendYAML(nil, []any{1.5, uint64(18446744073709551615), int64(-9223372036854775808), true, nil})
	if err != nil || string(got) != "- 1.5\n- 18446744073709551615\n- -9223372036854775808\n- true\n- null\n" {
		t.Errorf("%v %q", err, got)
	}
}
