package output

import (
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/record"
)

// pair is one record in our words and in franz-go's, whose formatter is the
// oracle for the grammar.
type pair struct {
	ours       *record.Record
	theirs     *kgo.Record
	key, value *record.Value
}

func newPair(t testing.TB, key, value []byte, ms int64, list ...record.Header) pair {
	t.Helper()
	p := pair{
		ours: &record.Record{
			Offset: 1234567890123, Timestamp: ms, LeaderEpoch: 9, ProducerID: 77, ProducerEpoch: 3,
			Key: key, Value: value, Headers: headers(t, list...),
		},
		theirs: &kgo.Record{
			Key: key, Value: value, Topic: "orders", Partition: 0, Offset: 1234567890123,
			Timestamp: time.UnixMilli(ms), LeaderEpoch: 9, ProducerID: 77, ProducerEpoch: 3,
		},
		key: asRaw(key), value: asRaw(value),
	}
	for _, h := range list {
		p.theirs.Headers = append(p.theirs.Headers, kgo.RecordHeader{Key: string(h.Key), Value: h.Value})
	}
	return p
}

func oracleTemplates() []string {
	out := []string{
		"", "%t", "%t %p %o %e %k %v %d\n", `%t\t\n\r\\\x41\xff`, "%%%{%}é", "%T %K %V %H", "%x %y %D %A", "%i,%i",
		"%h{%k=%v,}", "%H %h{%K{hex8} %k{hex}:%V{big32}%v{base64};%i}", "%h{%%%{%k%}}", "%h{%k{unpack{s}}}", "%h{}",
		"%t{hex} %k{base64} %v{base64raw} %t{}%k{}%v{}", "%k{unpack{<bBhHi$}}", "%v{unpack[>iIqQc.s]}", "%v{unpack#x<B>H#}", "%v{unpack((c.$))}",
		"%d{go#2006-01-02T15:04:05.000Z07:00#}", "%d{go[RFC3339Nano]}", "%d{go{ANSIC}}", "%d{go#RFC1123#} %d{go#RFC1123Z#} %d{go#RFC3339#} %d{go##DateTime##} %d{go(DateOnly)}",
		"%d{strftime[%F]}", "%A{strftime[%c]}", "%A{hex}", "%A{go#RFC3339#}",
		"%V{encoded} %v{base64}", "%V{hex;encoded}%K{encoded}%k{hex}%v", "%V{ascii;decoded} %v{hex}", "%T{encoded}%T{encoded} %t{unpack{c}}",
		"%a{compression} %a{compression;number} %a{timestamp-type} %a{timestamp-type;big16} %a{transactional-bit} %a{transactional-bit;bool} %a{control-bit} %a{control-bit;hex8}",
	}
	for form := range numberForms {
		for _, verb := range []string{"T", "K", "V", "H", "p", "o", "e", "i", "x", "y", "D", "d", "A"} {
			out = append(out, "%"+verb+"{"+form+"}|")
		}
	}
	letters := "%aAbBcCdDeFgGhHIjklmMnpPrRsStTuUvVwWxXyYzZ+qLNJ"
	for _, letter := range letters {
		for _, flags := range []string{"", "-", "_", "0", "^", "#", "^#", "5", "-12", "_12", "012", "^30", "#30", "E", "O", "3E", "030O"} {
			out = append(out, "%d{strftime[%"+flags+string(letter)+"]}")
		}
	}
	return append(out, "%d{strftime[%]}", "%d{strftime[%5]}", "%d{strftime[%E]}", "%d{strftime[a%-]}", "%d{strftime[]}")
}

func TestTemplatesAsInFranzGo(t *testing.T) {
	pairs := []pair{
		newPair(t, []byte("k1"), []byte("value with \x00\xff bytes"), 1725999704063, header("t", "1"), header("t", "\xff"), record.Header{Key: []byte("n")}),
		newPair(t, nil, nil, 0),
		newPair(t, []byte{}, []byte("\x01\x02\x03\x04\x05\x06\x07\xf8\xf9\xfa\xfb\xfc\xfd\xfe\xff"), -1),
		newPair(t, []byte("\xfe\xff\x80\x01\x02\x03\x04\x05\x06"), []byte("x"), -62135596800001),
		newPair(t, []byte("x"), []byte("y"), 253402300799999),
		newPair(t, []byte("x"), []byte("y"), 1704067200000), // a Monday, 1 January
		newPair(t, []byte("x"), []byte("y"), 1672531200000), // a Sunday, 1 January
		newPair(t, []byte("x"), []byte("y"), -98765432109876),
	}
	for _, layout := range oracleTemplates() {
		theirs, err := kgo.NewRecordFormatter(layout)
		if err != nil {
			t.Fatalf("the oracle refuses %q: %v", layout, err)
		}
		made, err := newTemplate(layout, "", "")
		if err != nil {
			t.Errorf("%q: %v", layout, err)
			continue
		}
		ours := made.ForSplit("s", east0)
		for _, p := range pairs {
			got, want := ours.Append(nil, p.ours, p.key, p.value), theirs.AppendRecord(nil, p.theirs)
			if string(got) != string(want) {
				t.Errorf("%q at %d: %q, want %q", layout, p.ours.Timestamp, got, want)
			}
		}
	}
}

func TestTemplateOwnVerbs(t *testing.T) {
	rec := &record.Record{
		Offset: 7, Timestamp: 1700000000123456, TimestampType: record.LogAppendTime, Attributes: 0x14 | 8,
		Headers: headers(t, header("a", "1"), record.Header{Key: []byte("b")}),
	}
	empty, nul, zero := "", "NULL", `\x00`
	for _, c := range []struct {
		layout     string
		opt        Options
		key, value *record.Value
		want       string
	}{
		{"%n@%c %t[%p]@%o", Options{}, null, null, "orders@east orders[0]@7"},
		{"%n{hex} %c{base64}", Options{}, null, null, "6f7264657273 ZWFzdA=="},
		{"%d %d{go#2006-01-02#} %d{strftime[%Y]}", Options{}, null, null, "1700000000123456 55840-11-08 55840"},
		{"%a{compression} %a{timestamp-type} %a{transactional-bit} %a{control-bit}", Options{}, null, null, "zstd 1 1 0"},
		{"[%k|%v] %K %V", Options{}, null, textValue(""), "[|] 0 0"},
		{"[%k|%v] %K %V", Options{Null: &nul}, null, textValue(""), "[NULL|] 4 0"},
		{"%h{%k=%v,}", Options{Null: &nul}, null, null, "a=1,b=NULL,"},
		{"%h{%k=%v,}", Options{Null: &empty}, null, null, "a=1,b=,"},
		{"%v", Options{Delimiter: &zero}, null, textValue("x"), "x\x00"},
		{"%v %V", Options{}, null, jsonValue(`{"a":1}`), `{"a":1} 7`},
		{`%v\n`, Options{}, null, binaryValue("\xff"), "\xff\n"},
		{`no verb\n`, Options{}, null, null, "no verb\n"},
	} {
		if got := string(format(t, c.layout, c.opt).Append(nil, rec, c.key, c.value)); got != c.want {
			t.Errorf("%q: %q, want %q", c.layout, got, c.want)
		}
	}
}

func TestTemplateNeeds(t *testing.T) {
	for _, c := range []struct {
		layout string
		want   Needs
	}{
		{"%t %p %o", Needs{}},
		{"%k", Needs{Key: true}},
		{"%K", Needs{Key: true}},
		{"%v", Needs{Value: true}},
		{"%V{big32}", Needs{Value: true}},
		{"%h{%k %v %K %V}", Needs{}},
		{"%h{%i}", Needs{Sequence: true}},
		{"%i %k %v", Needs{Key: true, Value: true, Sequence: true}},
	} {
		f, err := NewFormat(c.layout, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Needs(); got != c.want {
			t.Errorf("%q needs %+v", c.layout, got)
		}
		if got := f.ForSplit("s", east0).Append(nil, &record.Record{}, nil, nil); c.want == (Needs{}) && len(got) == 0 && c.layout == "%t %p %o" {
			t.Errorf("%q wrote nothing", c.layout)
		}
	}
}

func TestTemplateErrors(t *testing.T) {
	for _, c := range []struct{ layout, message, hint string }{
		{`%s\n`, "format, column 1: unknown verb %s; kcat's %s is %v, its %T is %d", ""},
		{`%t %S`, "format, column 4: unknown verb %S; kcat's %s is %v, its %T is %d", ""},
		{`%R`, "format, column 1: unknown verb %R; kcat's %s is %v, its %T is %d", ""},
		{`%k %é`, "format, column 4: unknown verb %é", "kcm help formats lists the verbs; %% is a percent sign"},
		{`50%`, "format, column 3: a lone % at the end; %% is a percent sign", ""},
		{`%[`, "format, column 1: %[ is about a partition, not a record", "kcm offsets list shows the start, stable and end offsets"},
		{`%h`, "format, column 1: %h needs braces with a template for each header, as in %h{%k=%v,}", ""},
		{`%h{%k`, "format, column 1: %h{ has no closing brace", ""},
		{`%o %h{%k %t}`, "format, column 10: inside %h{} only %k, %v, %K, %V and %i can be used", ""},
		{`%k{nope}`, `format, column 4: unknown text format "nope"; there are base64, base64raw, hex, unpack`, ""},
		{`%k{hex`, "format, column 4: a closing brace is missing", ""},
		{`%o{dec}`, `format, column 4: unknown number format "dec"; there are ascii, big16, big32, big64, big8, bool, byte, hex, hex16, hex32, hex4, hex64, hex8, little16, little32, little64, little8, number`, ""},
		{`%d{iso}`, `format, column 4: unknown time format "iso"; there are go[...], strftime[...] and the number formats`, ""},
		{`%d{go#2006}`, `format, column 6: go: no "#" ends its format`, ""},
		{`%d{strftime[%F]`, "format, column 16: strftime: a closing brace is missing", ""},
		{`%v{unpack{z}}`, `format, column 4: unpack: unknown field 'z'; fields are <>xbBhHiIqQc.s$`, ""},
		{`%v{unpack{sb}}`, "format, column 4: unpack: nothing can follow s", ""},
		{`%a`, "format, column 1: %a needs braces with an attribute: compression, timestamp-type, transactional-bit, control-bit", ""},
		{`%a{x}`, `format, column 4: unknown attribute "x"; there are compression, timestamp-type, transactional-bit, control-bit`, ""},
		{`%V{encoded}`, "format, column 12: the size with ;encoded must stand before the %v that it is about", ""},
		{`a\q`, `format, column 2: unknown escape \q; escapes are \t \n \r \\ \xNN`, ""},
		{`a\`, `format, column 2: a lone \ at the end; \\ is a backslash`, ""},
		{`\xg0`, `format, column 1: \x needs two hexadecimal digits`, ""},
	} {
		_, err := NewFormat(c.layout, Options{})
		if err == nil || fault.KindOf(err) != fault.Usage || err.Error() != c.message || fault.HintOf(err) != c.hint {
			t.Errorf("%q: %v, hint %q", c.layout, err, fault.HintOf(err))
		}
	}
}

// FuzzTemplate compares whatever franz-go's formatter accepts.
func FuzzTemplate(f *testing.F) {
	for _, layout := range []string{"%t %p %o %e\\n", "%h{%k{hex}=%v,}", "%d{strftime[%F %5j]}", "%d{go##15:04##}", "%v{unpack{>hB$}}", "%V{big32;encoded}%v{base64}", "%a{compression;hex8}", "%s", "%é", "%c%n", "%v{unpack\xff\xffb\xff}"} {
		f.Add(layout, []byte("key"), []byte("value"), int64(1725999704063))
	}
	f.Fuzz(func(t *testing.T, layout string, key, value []byte, ms int64) {
		ours, err := newTemplate(layout, "", "")
		theirs, oracleErr := kgo.NewRecordFormatter(layout)
		if oracleErr == nil && err != nil {
			for _, ofPartition := range []string{"%[", "%|", "%]"} {
				if strings.Contains(layout, ofPartition) {
					return
				}
			}
			t.Fatalf("%q is refused: %v", layout, err)
		}
		if err != nil {
			return
		}
		p := newPair(t, key, value, ms, header("a", string(value)), record.Header{Key: key})
		got := ours.ForSplit("s", east0).Append(nil, p.ours, p.key, p.value)
		if oracleErr != nil {
			if !strings.Contains(layout, "%c") && !strings.Contains(layout, "%n") {
				t.Fatalf("%q is accepted; the oracle says %v", layout, oracleErr)
			}
			return
		}
		if want := theirs.AppendRecord(nil, p.theirs); string(got) != string(want) {
			t.Fatalf("%q: %q, want %q", layout, got, want)
		}
	})
}
