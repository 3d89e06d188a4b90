package filter

import (
	"strings"
	"testing"

	"github.com/kcm-cli/kcm/internal/codec"
	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/output"
	"github.com/kcm-cli/kcm/internal/record"
)

// aRecord is what expressions are tried on.
func aRecord() *record.Record {
	return &record.Record{
		Offset: 9007199254740993, Timestamp: -1,
		Key: []byte("k1"),
		Value: []byte(`{"total":1200.50,"status":"paid","n":9007199254740993,"big":123456789012345678901,"a":{"b":null,"c":[1,"x",{"d":true}]},` +
			`"esc\u0061pe":"Z\u006fé \ud83d\ude00\n","dup":1,"dup":"last","huge":1e1000,"zero":-0,"lone":"\ud800x","float":1.0,"yes":true,"no":false,"empty":{},"list":[]}`),
		Headers: headers("trace", "ab", "null", "<null>"),
	}
}

// judgeOf makes a judge of an expression for records of one place.
func judgeOf(t fataler, expr string) *Judge {
	t.Helper()
	f, err := New(Options{Where: expr})
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	format, err := output.NewFormat(output.FormatJSON, output.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return f.Worker().Judge(Origin{Stream: "shop", Split: aSplit, Envelope: format.ForSplit("shop", aSplit)})
}

// TestWhere tries expressions, and says which of them gojq is not needed for.
func TestWhere(t *testing.T) {
	for _, tt := range []struct {
		expr        string
		keeps, fast bool
	}{
		{`.value.total > 1200`, true, true},
		{`.value.total > 1200.5`, false, true},
		{`.value.total >= 1200.5`, true, true},
		{`1200.5 <= .value.total`, true, true},
		{`.value.total == 12005e-1`, true, true},
		{`.value["total"] < -1`, false, true},
		{`.key == "k1"`, true, true},
		{`.["key"] != "k1"`, false, true},
		{`.key | startswith("k")`, true, true},
		{`.key | startswith("k") | not`, false, true},
		{`(.key | startswith("x") | not) and .value.yes`, true, true},
		{`.value.a.b != null`, false, true},
		{`.value.a.b.c == null`, true, true},
		{`.value.nothing == null`, true, true},
		{`.value.nothing.more[3].x == null`, true, true},
		{`.value.a.c[1] == "x"`, true, true},
		{`.value.a.c[2].d`, true, true},
		{`.value.a.c[3] == null`, true, true},
		{`.value.n == 9007199254740993`, true, true},
		{`.value.n == 9007199254740992`, false, true},
		{`.value.n > 9007199254740992`, true, true},
		{`.value.big == 123456789012345678901`, true, true},
		{`.value.big > 123456789012345678900`, true, true},
		{`.value.huge > 1e308`, true, true},
		{`.value.zero == 0`, true, true},
		{`.value.float == 1`, true, true},
		{`.value.escape == "Zoé 😀\n"`, true, true},
		{`.value.escape | endswith("\n")`, true, true},
		{`.value.escape | contains("é \ud83d")`, false, true},
		{`.value.lone == "\ufffdx"`, true, true},
		{`.value.dup == "last"`, true, true},
		{`.value | has("total")`, true, true},
		{`.value | has("esc")`, false, true},
		{`.value.a | has("b") and (has("x") | not)`, true, true},
		{`.value.status | test("^PA"; "i")`, true, true},
		{`.value.status | test("^PA")`, false, true},
		{`.value | .status == "paid" and .total > 1`, true, true},
		{`.value.status == .key`, false, true},
		{`.value.status < .value.list`, true, true}, // by type
		{`.value.yes`, true, true},
		{`.value.no or .value.nothing`, false, true},
		{`.value.empty`, true, true},
		{`.value.yes == true and .value.no == false`, true, true},
		{`.stream == "shop" and .cluster == "east" and .topic == "orders.v2" and .partition == 3`, true, true},
		{`.offset == 9007199254740993 and .timestamp == -1 and .timestamp_type == "create"`, true, true},
		{`select(.value.yes)`, true, true},
		{`select(.value.yes) | select(.key == "x")`, false, true},
		{`(select(.value.yes) | .value.no)`, false, true},
		{`.value.total > 1200 # a comment`, true, true},

		{`.`, true, false},
		{`empty`, false, false},
		{`null`, false, false},
		{`false, null`, false, false},
		{`false, 0`, true, false}, // any output counts
		{`"", error("late")`, true, false},
		{`select(.value.no) | not`, false, true}, // no output
		{`.headers[] | select(.key == "trace") | .value == "ab"`, true, false},
		{`any(.headers[]; .value == null)`, true, false},
		{`.value.list == []`, true, false},
		{`.value.empty == {}`, true, false},
		{`.value.total * 2 == 2401`, true, false},
		{`.value.n + 0 == 9007199254740993`, true, false},
		{`.value.big | tostring == "123456789012345678901"`, true, false},
		{`.value.total | tostring | startswith("1200.5")`, true, false},
		{`.value.a.c | length == 3`, true, false},
		{`.value.a.c[-1].d`, true, false},
		{`.value.status? == "paid"`, true, false},
		{`(.value.nothing // "x") == "x"`, true, false},
		{`def f: .value.yes; f`, true, false},
		{`.value as $v | $v.yes`, true, false},
		{`.value_encoding == null`, true, false},
		{`env | length == 0`, true, false},
		{`$ENV.HOME == null`, true, false},
		{`.key as [$a] ?// $a | $a == "k1"`, true, false},
		{`.key == "k\(1)"`, true, false},
		{`.value.nothing | not`, true, true},
	} {
		j := judgeOf(t, tt.expr)
		rec := aRecord()
		got, err := j.Keeps(rec, decodedBy(t, rec, codec.Choice{}))
		if got != tt.keeps || err != nil {
			t.Errorf("%s: %v, %v", tt.expr, got, err)
		}
		slow, err := j.slow(rec, decodedBy(t, rec, codec.Choice{}))
		if slow != tt.keeps || err != nil {
			t.Errorf("%s, asked of gojq: %v, %v", tt.expr, slow, err)
		}
		if fast := fastVerdict(t, tt.expr, rec) != unsure; fast != tt.fast {
			t.Errorf("%s: settled without gojq: %v", tt.expr, fast)
		}
	}
}

func fastVerdict(t testing.TB, expr string, rec *record.Record) verdict {
	t.Helper()
	j := judgeOf(t, expr)
	fast := j.w.f.where.fast
	if fast == nil {
		return unsure
	}
	j.view.rec, j.view.d = rec, decodedBy(t, rec, codec.Choice{})
	return fast.eval(&j.view)
}

func TestWhereErrorsDropTheRecord(t *testing.T) {
	for expr, want := range map[string]string{
		`.key.id == 1`:                   `expected an object but got: string ("k1")`,
		`.value.status.x`:                `expected an object but got: string ("paid")`,
		`.value.total | startswith("1")`: `startswith("1") cannot be applied to: number (1200.50)`,
		`.value.nothing | test("x")`:     `test("x"; null) cannot be applied to: null`,
		`.value[0] == 1`:                 ``,
		`error("one\ntwo")`:              "error: one",
		`false, error(null)`:             ``,
		`halt`:                           ``,
	} {
		rec := aRecord()
		kept, err := judgeOf(t, expr).Keeps(rec, decodedBy(t, rec, codec.Choice{}))
		if kept || err == nil || strings.Contains(err.Error(), "\n") || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, %v", expr, kept, err)
		}
	}
}

func TestWhereOnOtherValues(t *testing.T) {
	for _, tt := range []struct {
		value []byte
		expr  string
		keeps bool
	}{
		{nil, `.value == null`, true},
		{nil, `.value.a.b == null`, true},
		{nil, `.value | not`, true},
		{[]byte{}, `.value == ""`, true},
		{[]byte{}, `.value`, true},
		{[]byte("12"), `.value == "12"`, true}, // a lone number is a text
		{[]byte(" [1, 2 ] "), `.value[1] == 2`, true},
		{[]byte("\xff"), `.value == "/w=="`, true},
		{[]byte("\xff"), `.value_encoding == "base64"`, true},
		{[]byte(`{"a": "x"}`), `.value.a == "x"`, true},
		{[]byte(`{"a" :{"b": [ {"c": 1 }, 2]}}`), `.value.a.b[0].c == 1`, true},
	} {
		rec := &record.Record{Value: tt.value}
		kept, err := judgeOf(t, tt.expr).Keeps(rec, decodedBy(t, rec, codec.Choice{}))
		if kept != tt.keeps || err != nil {
			t.Errorf("%q: %s: %v, %v", tt.value, tt.expr, kept, err)
		}
	}
}

// TestNamesSettleAWholePartition: nothing is read of what no name lets through.
func TestNamesSettleAWholePartition(t *testing.T) {
	for expr, rejects := range map[string]bool{
		`.cluster == "west"`:                           true,
		`.cluster == "east"`:                           false,
		`.cluster == "west" and .value.a.b == 1`:       true,
		`.cluster == "west" or .value.yes`:             false,
		`.value.yes and .cluster == "west"`:            false, // might fail before
		`.topic | startswith("pay")`:                   true,
		`select(.stream == "shop") | .partition != 3`:  true,
		`.value.yes`:                                   false,
		`.cluster == "west" and (.value | length > 1)`: false, // gojq's
	} {
		if got := judgeOf(t, expr).RejectsAll(); got != rejects {
			t.Errorf("%s rejects all: %v", expr, got)
		}
	}
}

func TestWhereDecodesNoMoreThanItNeeds(t *testing.T) {
	for expr, want := range map[string][2]int{
		`.offset > 5`:                     {0, 0},
		`.key == "x" and .value.yes`:      {1, 0},
		`.key == "k1" and .value.yes`:     {1, 1},
		`.value.yes or .key == "k1"`:      {0, 1},
		`.value.total * 2 == 1`:           {1, 1},
		`.timestamp > 0 and (.key | not)`: {0, 0},
	} {
		rec := aRecord()
		d := decodedBy(t, rec, codec.Choice{})
		if _, err := judgeOf(t, expr).Keeps(rec, d); err != nil || d.keys != want[0] || d.values != want[1] {
			t.Errorf("%s decodes %d keys and %d values, %v", expr, d.keys, d.values, err)
		}
	}
}

func TestWhereSyntaxErrors(t *testing.T) {
	for _, tt := range []struct{ expr, file, message string }{
		{`.value.a == `, "", `--where: 1:13: unexpected EOF`},
		{`.value.a = = 1`, "", `--where: 1:12: unexpected token "="`},
		{"\n  .[\"é\"] and and", "f.jq", `--where: f.jq:2:14: unexpected token "and"`},
		{`.value | foo(1)`, "", `--where: 1:10: function not defined: foo/1`},
		{`.food | foo`, "", `--where: 1:9: function not defined: foo/0`},
		{`.a == $x`, "", `--where: 1:7: variable not defined: $x`},
		{`"abc`, "", `--where: 1:5: unterminated string literal`},
		{`input`, "", `--where: input(s)/0 is not allowed`},
		{`import "a" as a; .`, "", `--where: cannot load module: "a"`},
		{` `, "", `--where: the expression is empty`},
		{"\n", "f.jq", `--where: f.jq: the expression is empty`},
		{`# nothing`, "", `--where: missing query (try ".")`},
		{`.a ' b`, "", `--where: 1:4: unexpected token "'"`},
	} {
		_, err := New(Options{Where: tt.expr, File: tt.file})
		if err == nil || err.Error() != tt.message || fault.Code(err) != 2 {
			t.Errorf("%q: %v, code %d", tt.expr, err, fault.Code(err))
		}
	}
}
