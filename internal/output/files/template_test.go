package files

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/record"
)

var split = record.Split{Cluster: "east", Topic: "orders", Partition: 3}

func TestTemplates(t *testing.T) {
	const at = 1725999704063 // 2024-09-10T20:21:44Z
	for _, tc := range []struct {
		text   string
		ms     int64
		want   string // first, and the third of a sequence
		third  string
		codec  Codec
		one    bool
		period int64
	}{
		{"/o/out.json", at, "/o/out.json", "/o/out.2.json", Plain, true, 0},
		{"/o/out", at, "/o/out", "/o/out.2", Plain, true, 0},
		{"/o/.json", at, "/o/.json", "/o/.json.2", Plain, true, 0},
		{"/o/a.b.json.gz", at, "/o/a.b.json.gz", "/o/a.b.2.json.gz", Gzip, true, 0},
		{"/o/out.zst", at, "/o/out.zst", "/o/out.2.zst", Zstd, true, 0},
		{"/o/out.ZST", at, "/o/out.ZST", "/o/out.2.ZST", Zstd, true, 0},
		{"/o/{stream}/{cluster}/{topic}/{partition}.json", at, "/o/s/east/orders/3.json", "/o/s/east/orders/3.2.json", Plain, false, 0},
		{"/o/{topic}", at, "/o/orders", "/o/orders.2", Plain, false, 0},
		{"/o/{topic}.gz", at, "/o/orders.gz", "/o/orders.2.gz", Gzip, false, 0},
		{"/o/{topic}-x.json", at, "/o/orders-x.json", "/o/orders-x.2.json", Plain, false, 0},
		{"/o/{date}/{hour}.json", at, "/o/2024-09-10/20.json", "/o/2024-09-10/20.2.json", Plain, false, msPerHour},
		{"/o/{date}.json", at, "/o/2024-09-10.json", "/o/2024-09-10.2.json", Plain, false, msPerDay},
		{"/o/{date}T{hour}", 0, "/o/1970-01-01T00", "/o/1970-01-01T00.2", Plain, false, msPerHour},
		{"/o/{date}T{hour}", -1, "/o/noneTnone", "/o/noneTnone.2", Plain, false, msPerHour},
		{"/o/{date}T{hour}", -2, "/o/1969-12-31T23", "/o/1969-12-31T23.2", Plain, false, msPerHour},
		{"/o/{date}T{hour}", -3600000, "/o/1969-12-31T23", "/o/1969-12-31T23.2", Plain, false, msPerHour},
		{"/o/{date}T{hour}", -3600001, "/o/1969-12-31T22", "/o/1969-12-31T22.2", Plain, false, msPerHour},
		{"/o/{date}", 253402300800000, "/o/10000-01-01", "/o/10000-01-01.2", Plain, false, msPerDay},
		{"/o/{{x}}.json", at, "/o/{x}.json", "/o/{x}.2.json", Plain, true, 0},
		{"/o/./x/../{topic}.json", at, "/o/orders.json", "/o/orders.2.json", Plain, false, 0},
		{"/o/", at, "/o/s/east/orders/3.json", "/o/s/east/orders/3.2.json", Plain, false, 0},
	} {
		tmpl, err := Parse(tc.text, ".json")
		if err != nil {
			t.Errorf("%s: %v", tc.text, err)
			continue
		}
		stem, _ := tmpl.expand("s", split, tmpl.slot(tc.ms), true)
		if got := numberedPath(stem, tmpl.suffix, 0); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.text, got, tc.want)
		}
		if got := numberedPath(stem, tmpl.suffix, 2); got != tc.third {
			t.Errorf("%s: third %s, want %s", tc.text, got, tc.third)
		}
		if tmpl.Codec() != tc.codec || tmpl.One() != tc.one || tmpl.period != tc.period {
			t.Errorf("%s: codec %d, one %v, period %d", tc.text, tmpl.Codec(), tmpl.One(), tmpl.period)
		}
	}
}

func TestTemplatesThatAreRefused(t *testing.T) {
	for text, want := range map[string][2]string{
		"":                   {"-O needs a path", ""},
		"a\x00b":             {`-O "a\x00b" is no path`, ""},
		"{topics}.json":      {"-O: there is no placeholder {topics}; there are {stream} {cluster} {topic} {partition} {date} {hour}", "did you mean {topic}?"},
		"{offset}.json":      {"-O: there is no placeholder {offset}; there are {stream} {cluster} {topic} {partition} {date} {hour}", ""},
		"{Topic}":            {"-O: there is no placeholder {Topic}; there are {stream} {cluster} {topic} {partition} {date} {hour}", "did you mean {topic}?"},
		"{}":                 {"-O: there is no placeholder {}; there are {stream} {cluster} {topic} {partition} {date} {hour}", ""},
		"x{topic":            {"-O: the brace in {topic is not closed", "a brace itself is written {{"},
		"out.parquet":        {"-O: kcm writes no Parquet files (.parquet)", "records go out in the format of -f, by default JSON with one record a line; .gz and .zst compress them"},
		"{topic}.avro":       {"-O: kcm writes no Avro files (.avro)", "records go out in the format of -f, by default JSON with one record a line; .gz and .zst compress them"},
		"x.CSV":              {"-O: kcm writes no CSV files (.CSV)", "records go out in the format of -f, by default JSON with one record a line; .gz and .zst compress them"},
		"{partition}.csv.gz": {"-O: kcm writes no CSV files (.csv)", "records go out in the format of -f, by default JSON with one record a line; .gz and .zst compress them"},
		"x.json.gzip":        {"-O: the suffix .gzip is not known", ".gz compresses with gzip"},
		"x.json.zstd":        {"-O: the suffix .zstd is not known", ".zst compresses with zstd"},
		"x.json.bz2":         {"-O: kcm writes no bzip2 files (.bz2)", "records go out in the format of -f, by default JSON with one record a line; .gz and .zst compress them"},
	} {
		_, err := Parse(text, ".json")
		if err == nil || err.Error() != want[0] || fault.HintOf(err) != want[1] || fault.KindOf(err) != fault.Usage {
			t.Errorf("%s: %v (%s), want %s (%s)", text, err, fault.HintOf(err), want[0], want[1])
		}
	}
}

func TestSafeNames(t *testing.T) {
	for name, want := range map[string]string{
		"orders": "orders", "orders.v2": "orders.v2", "a_b-c": "a_b-c", "ä€😀": "ä€😀",
		"": "%", "%": "%25", "..": "%2E%2E", ".": "%2E", "...": "%2E.%2E", ".hidden": "%2Ehidden", "x.": "x%2E", " x ": "%20x%20",
		"../../etc/passwd": "%2E.%2F..%2Fetc%2Fpasswd", "a/b": "a%2Fb", `a\b`: "a%5Cb", "a\x00b": "a%00b", "a\nb": "a%0Ab",
		"a%2Fb": "a%252Fb", "c:x": "c%3Ax", "a*?\"<>|": "a%2A%3F%22%3C%3E%7C", "\xff": "%FF", "a\xe2\x82": "a%E2%82", "\x7f": "%7F", "\ufffd": "\ufffd",
	} {
		if got := safe(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string]string{"a.1": "a%2E1", "a.12.13": "a.12%2E13", "a.v1": "a.v1", "1": "1", "a.": "a%2E"} {
		if got := unnumbered(safe(name)); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string]bool{"CON": true, "nul": true, "nul.json": true, "Com1": true, "LPT9.x": true, "CONS": false, "COMx": false, "COM": false, "null": false} {
		if got := isDevice(name); got != want {
			t.Errorf("%q is a device: %v", name, got)
		}
	}
}

func FuzzNames(f *testing.F) {
	for _, pair := range [][2]string{{"a", "b"}, {"..", "%2E%2E"}, {"", "%"}, {"a/b", "a%2Fb"}, {"\xff", "\xfe"}, {"a.1", "a%2E1"}, {".", ".."}} {
		f.Add(pair[0], pair[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, name := range []string{a, b} {
			s := unnumbered(safe(name))
			if s == "" || s == "." || s == ".." || strings.ContainsAny(s, "/\\\x00\n") || s[0] == '.' || filepath.Base(s) != s || !filepath.IsLocal(s) {
				t.Fatalf("%q is %q", name, s)
			}
		}
		if a != b && unnumbered(safe(a)) == unnumbered(safe(b)) {
			t.Fatalf("%q and %q are both %q", a, b, unnumbered(safe(a)))
		}
	})
}

func FuzzTemplate(f *testing.F) {
	for _, s := range []string{"{topic}/{date}.json.gz", "{{{stream}}}", "a{hour}.1.x", "{", "}", "{topic", "/", ".gz", "{topic}.gz", "..", "{cluster}..json"} {
		f.Add(s, "t", int64(-1))
	}
	f.Fuzz(func(t *testing.T, text, topic string, ms int64) {
		tmpl, err := Parse(text, ".json")
		if err != nil {
			if fault.KindOf(err) != fault.Usage {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		seen := map[string]int{}
		for n := range 3 {
			stem, _ := tmpl.expand("s", record.Split{Cluster: "c", Topic: topic}, tmpl.slot(ms), true)
			path := numberedPath(stem, tmpl.suffix, n)
			if !filepath.IsAbs(path) || strings.ContainsRune(path, 0) {
				t.Fatalf("%q of %q is %q", text, topic, path)
			}
			if was, ok := seen[path]; ok {
				t.Fatalf("%q of %q is %q for %d and %d", text, topic, path, was, n)
			}
			seen[path] = n
		}
		if got := strings.Count(seen0(seen), string(filepath.Separator)); got != strings.Count(tmpl.String(), string(filepath.Separator)) {
			t.Fatalf("%q of %q leads elsewhere: %q", text, topic, seen0(seen))
		}
	})
}

func seen0(seen map[string]int) string {
	for path, n := range seen {
		if n == 0 {
			return path
		}
	}
	return ""
}
