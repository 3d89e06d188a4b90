package output

import (
	"sync"
	"testing"

	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/record"
)

func TestNewFormatErrors(t *testing.T) {
	x, bad := "x", `\q`
	for _, c := range []struct {
		name          string
		opt           Options
		message, hint string
	}{
		{"jsn", Options{}, `unknown format "jsn"; formats are json, text, raw, kcat-json, or a template with % or \`, "did you mean -f json?"},
		{"JSON", Options{}, `unknown format "JSON"; formats are json, text, raw, kcat-json, or a template with % or \`, "did you mean -f json?"},
		{"orders", Options{}, `unknown format "orders"; formats are json, text, raw, kcat-json, or a template with % or \`, ""},
		{"", Options{}, `unknown format ""; formats are json, text, raw, kcat-json, or a template with % or \`, ""},
		{"json", Options{Null: &x}, "--null is for text, raw and templates; -f json shows null as null", ""},
		{"kcat-json", Options{Delimiter: &x}, "--delimiter is for text, raw and templates; -f kcat-json ends each record with a newline", ""},
		{"raw", Options{Delimiter: &bad}, `--delimiter \q: unknown escape \q; escapes are \t \n \r \\ \xNN`, ""},
		{"raw", Options{Pretty: true}, "--pretty is for the formats json and text", ""},
		{"%v", Options{Columns: []string{"key"}}, "--columns is for the format text", ""},
		{"text", Options{Columns: []string{"ofset"}}, `unknown column "ofset"; columns are stream, cluster, topic, partition, offset, time, timestamp, timestamp_type, key, key_schema_id, value, value_schema_id, headers`, "did you mean offset?"},
		{"text", Options{Columns: []string{"size"}}, `unknown column "size"; columns are stream, cluster, topic, partition, offset, time, timestamp, timestamp_type, key, key_schema_id, value, value_schema_id, headers`, ""},
	} {
		_, err := NewFormat(c.name, c.opt)
		if err == nil || fault.KindOf(err) != fault.Usage || err.Error() != c.message || fault.HintOf(err) != c.hint {
			t.Errorf("%q %+v: %v, hint %q", c.name, c.opt, err, fault.HintOf(err))
		}
	}
}

// TestFormatsAreShared formats with one SplitFormat from several goroutines.
func TestFormatsAreShared(t *testing.T) {
	for _, name := range append(Formats(), `%i %k %h{%k}\n`) {
		f, err := NewFormat(name, Options{Color: name == FormatText})
		if err != nil {
			t.Fatal(err)
		}
		shared := f.ForSplit("orders", east0)
		rec := &record.Record{Offset: 1, Value: []byte("v"), Headers: headers(t, header("a", "b"))}
		want := len(f.ForSplit("orders", east0).Append(nil, rec, textValue("k"), textValue("v")))
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				own := f.ForSplit("orders", east0)
				for range 100 {
					if f.Needs().Sequence {
						shared.Append(nil, rec, textValue("k"), textValue("v"))
						continue
					}
					a, b := shared.Append(nil, rec, textValue("k"), textValue("v")), own.Append(nil, rec, textValue("k"), textValue("v"))
					if len(a) != want || len(b) != want {
						t.Errorf("%s: %q and %q", name, a, b)
					}
				}
			})
		}
		wg.Wait()
	}
}

// TestNoAllocation holds formats to the promise that only dst grows.
func TestNoAllocation(t *testing.T) {
	rec := &record.Record{Offset: 1, Timestamp: 1725999704063, Value: []byte(typical), Headers: headers(t, header("a", "b"))}
	key, value := textValue("k\x1b"), jsonValue(typical)
	dst := make([]byte, 0, 4096)
	for _, name := range append(Formats(), `%t %k{hex} %v{base64} %d{go#RFC3339#} %h{%k=%v}\n`) {
		f := format(t, name, Options{Color: name == FormatText, Align: name == FormatText})
		if n := testing.AllocsPerRun(100, func() { dst = f.Append(dst[:0], rec, key, value) }); n > 0 {
			t.Errorf("%s allocates %v times a record", name, n)
		}
	}
	for _, name := range []string{FormatJSON, FormatText} {
		f := format(t, name, Options{Color: name == FormatText, Pretty: true})
		if n := testing.AllocsPerRun(100, func() { dst = f.Append(dst[:0], rec, key, value) }); n > 0 {
			t.Errorf("%s --pretty allocates %v times a record", name, n)
		}
	}
}
