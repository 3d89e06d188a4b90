package replay

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/record"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func keyOf(partition int32) Key {
	return Key{Stream: "orders", Split: record.Split{Cluster: "east", Topic: "orders", Partition: partition}}
}

// row is a line for a partition and an offset; its value tells the file.
func row(partition int32, offset int64, value string) string {
	return fmt.Sprintf(`{"stream":"orders","cluster":"east","topic":"orders","partition":%d,"offset":%d,"timestamp":1,"timestamp_type":"create","key":null,"value":%q,"headers":[]}`+"\n", partition, offset, value)
}

func rows(partition int32, from, to int64, value string) string {
	var b strings.Builder
	for o := from; o < to; o++ {
		b.WriteString(row(partition, o, value))
	}
	return b.String()
}

func gz(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func zst(t testing.TB, text string) string {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	return string(w.EncodeAll([]byte(text), nil))
}

func write(t testing.TB, dir string, files map[string]string) string {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func open(t testing.TB, path string) *Files {
	t.Helper()
	f, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// got is what Read gives of each key.
type got map[Key][]string

func read(t testing.TB, f *Files, wants ...Want) (got, Stats) {
	t.Helper()
	all, next := got{}, map[Key]int64{}
	for _, w := range wants {
		next[w.Key] = w.From
	}
	stats, err := f.Read(t.Context(), wants, func(b *Block) error {
		if b.First != next[b.Key] || b.Next <= b.First {
			t.Errorf("%v: a block from %d to %d follows %d", b.Key, b.First, b.Next, next[b.Key])
		}
		next[b.Key] = b.Next
		last := int64(-1)
		err := b.Records(func(rec *record.Record) bool {
			if rec.Offset < b.First || rec.Offset <= last || rec.Offset >= b.Next {
				t.Errorf("%v: offset %d in a block from %d to %d, behind %d", b.Key, rec.Offset, b.First, b.Next, last)
			}
			last = rec.Offset
			all[b.Key] = append(all[b.Key], fmt.Sprintf("%d %s", rec.Offset, rec.Value))
			return true
		})
		if last != b.Next-1 {
			t.Errorf("%v: a block to %d ends with offset %d", b.Key, b.Next, last)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all, stats
}

func want(value string, offsets ...int64) (list []string) {
	for _, o := range offsets {
		list = append(list, fmt.Sprintf("%d %s", o, value))
	}
	return list
}

func span(from, to int64) (list []int64) {
	for o := from; o < to; o++ {
		list = append(list, o)
	}
	return list
}

func TestRecordsComeInOrderWhateverTheFilesAreCalled(t *testing.T) {
	for _, tt := range []struct {
		name   string
		files  map[string]string
		from   int64
		zero   []string
		one    []string
		again  int64
		absent int64
	}{
		{name: "nothing", files: map[string]string{}},
		{name: "empty files", files: map[string]string{"a": "", "b": "\n\n", "c": gz(t, ""), "d": zst(t, "")}},
		{
			name:  "one file of two partitions",
			files: map[string]string{"a": row(0, 5, "x") + row(1, 0, "x") + row(0, 6, "x") + row(1, 3, "x")},
			zero:  want("x", 5, 6), one: want("x", 0, 3), absent: 2,
		},
		{
			name:  "names against the order, packed in all ways",
			files: map[string]string{"z/3": rows(0, 0, 3, "x"), "b.gz": gz(t, rows(0, 3, 5, "x")) + gz(t, rows(0, 5, 7, "x")), "a.zst": zst(t, rows(0, 7, 9, "x")) + zst(t, rows(0, 9, 10, "x")), ".state": "no", ".x/a": "no"},
			zero:  want("x", span(0, 10)...),
		},
		{
			name:  "two partitions against each other",
			files: map[string]string{"a": rows(0, 0, 3, "x") + rows(1, 3, 6, "x"), "b": rows(0, 3, 6, "x") + rows(1, 0, 3, "x")},
			zero:  want("x", span(0, 6)...), one: want("x", span(0, 6)...),
		},
		{
			name:  "a run that was repeated",
			files: map[string]string{"a": rows(0, 0, 4, "a"), "b": rows(0, 0, 6, "b")},
			zero:  append(want("a", 0, 1, 2, 3), want("b", 4, 5)...), again: 4,
		},
		{
			name:  "a run that was repeated into one file",
			files: map[string]string{"a": rows(0, 0, 4, "a") + rows(1, 0, 1, "a") + rows(0, 2, 6, "b")},
			zero:  append(want("a", 0, 1, 2, 3), want("b", 4, 5)...), one: want("a", 0), again: 2,
		},
		{
			name:  "each line twice",
			files: map[string]string{"a": row(0, 1, "a") + row(0, 1, "b") + row(0, 2, "a") + row(0, 2, "b")},
			zero:  want("a", 1, 2), again: 2,
		},
		{
			name:  "holes that another file fills",
			files: map[string]string{"a": row(0, 0, "a") + row(0, 2, "a") + row(0, 9, "a"), "b": row(0, 1, "b") + row(0, 2, "b") + row(0, 3, "b")},
			zero:  []string{"0 a", "1 b", "2 a", "3 b", "9 a"}, again: 1, absent: 5,
		},
		{
			name:  "from the middle on",
			files: map[string]string{"a": rows(0, 0, 4, "a"), "b": rows(0, 4, 9, "b"), "c": rows(0, 3, 5, "c")},
			from:  4, zero: append(want("c", 4), want("b", span(5, 9)...)...), again: 1,
		},
		{
			name:  "without a last newline, with a mark and other line ends",
			files: map[string]string{"a": "\ufeff" + strings.ReplaceAll(rows(0, 0, 3, "a"), "\n", "\r\n") + strings.TrimSpace(row(0, 3, "a"))},
			zero:  want("a", 0, 1, 2, 3),
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := open(t, write(t, t.TempDir(), tt.files))
			all, stats := read(t, f, Want{keyOf(0), tt.from}, Want{keyOf(1), 0}, Want{keyOf(2), 0})
			if !slices.Equal(all[keyOf(0)], tt.zero) || !slices.Equal(all[keyOf(1)], tt.one) {
				t.Errorf("got %v, want %v and %v", all, tt.zero, tt.one)
			}
			records := int64(len(tt.zero) + len(tt.one))
			// What several files have at one place goes to the first that was opened.
			if stats != (Stats{records, tt.again, tt.absent}) {
				t.Errorf("got %+v, want %d records, %d again, %d absent", stats, records, tt.again, tt.absent)
			}
		})
	}
}

func TestOnlyWhatIsWantedIsRead(t *testing.T) {
	f := open(t, write(t, t.TempDir(), map[string]string{"a": rows(0, 0, 2, "x") + rows(1, 4, 6, "x"), "b": rows(0, 7, 9, "x")}))
	if keys := f.Keys(); !slices.Equal(keys, []Key{keyOf(0), keyOf(1)}) {
		t.Errorf("keys are %v", keys)
	}
	if e, ok := f.Extent(keyOf(0)); !ok || e != (Extent{0, 9, 4}) {
		t.Errorf("extent is %+v %v", e, ok)
	}
	if _, ok := f.Extent(keyOf(2)); ok {
		t.Error("there is an extent of what is not there")
	}
	all, stats := read(t, f, Want{keyOf(1), 5})
	if len(all) != 1 || !slices.Equal(all[keyOf(1)], want("x", 5)) || stats.Records != 1 {
		t.Errorf("got %v %+v", all, stats)
	}
}

func TestWhatCannotBeUsedIsRefusedBeforehand(t *testing.T) {
	whole := rows(0, 0, 3, "x")
	packed := gz(t, whole)
	for _, tt := range []struct {
		name, text string
		kind       fault.Kind
		want       string
	}{
		{"no JSON", "hello\n", fault.Usage, `FILE:1: no record as -f json writes it: it is no JSON object: "hello"`},
		{"no JSON without a line end", "hello", fault.Usage, `FILE:1: no record as -f json writes it: it is no JSON object: "hello"`},
		{"kcat's JSON", `{"topic":"orders","partition":0,"offset":1,"key":"k","payload":"v"}` + "\n", fault.Usage, "FILE:1: no record as -f json writes it: it lacks stream, cluster, timestamp, timestamp_type, value, headers"},
		{"a record over several lines", "{\n \"stream\": 1\n}\n", fault.Usage, "FILE:1: no record as -f json writes it: it ends in the middle"},
		{"another line further on", whole + "\n[1]\n", fault.Usage, `FILE:5: no record as -f json writes it: it is no JSON object: "[1]"`},
		{"a line that was cut off", whole + row(0, 3, "x")[:100] + "\n" + row(0, 4, "x"), fault.Refused, "FILE:4: the record is cut off"},
		{"a last line that was cut off", whole + row(0, 3, "x")[:100], fault.Refused, "FILE:4: the file ends in the middle of a record"},
		{"one that was cut within a character", whole + strings.Replace(row(0, 3, "x"), `"x"`, `"`+"\u00e9"[:1], 1)[:130], fault.Refused, "FILE:4: the file ends in the middle of a record"},
		{"gzip that was cut off", packed[:len(packed)-9], fault.Refused, "FILE: the compressed data is damaged or cut off, behind line 3"},
		{"a second member that was cut off", packed + packed[:5], fault.Refused, "FILE: the compressed data is damaged or cut off, behind line 3"},
		{"zstd that was cut off", zst(t, whole)[:20], fault.Refused, "FILE: the compressed data is damaged or cut off, behind line 0"},
		{"rubbish behind gzip", packed + "rubbish", fault.Refused, "FILE: the compressed data is damaged or cut off, behind line 3"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := write(t, t.TempDir(), map[string]string{"a": whole, "file": tt.text})
			_, err := Open(t.Context(), dir)
			path := filepath.Join(dir, "file")
			if err == nil || strings.ReplaceAll(err.Error(), path, "FILE") != tt.want || fault.KindOf(err) != tt.kind || fault.HintOf(err) == "" {
				t.Errorf("got %v (kind %d, hint %s), want %s", err, fault.KindOf(err), fault.HintOf(err), tt.want)
			}
		})
	}
	t.Run("no file", func(t *testing.T) {
		if _, err := Open(t.Context(), filepath.Join(t.TempDir(), "none")); fault.KindOf(err) != fault.Usage || !strings.HasSuffix(err.Error(), "none: no such file or directory") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a device", func(t *testing.T) {
		if _, err := Open(t.Context(), os.DevNull); fault.KindOf(err) != fault.Usage {
			t.Errorf("got %v", err)
		}
	})
	t.Run("stopped", func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		stop()
		if _, err := Open(ctx, write(t, t.TempDir(), map[string]string{"a": whole})); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

// What only shows when a line is read in full ends the reading there.
func TestALineThatIsWrongInsideIsNamed(t *testing.T) {
	bad := strings.Replace(row(0, 2, "x"), `"headers":[]`, `"headers":[`, 1)
	f := open(t, write(t, t.TempDir(), map[string]string{"a": rows(0, 0, 2, "x") + bad + row(0, 3, "x")}))
	var offsets []int64
	_, err := f.Read(t.Context(), []Want{{keyOf(0), 0}}, func(b *Block) error {
		return b.Records(func(rec *record.Record) bool { offsets = append(offsets, rec.Offset); return true })
	})
	if err == nil || !strings.Contains(err.Error(), "a:3: no record as -f json writes it: headers: an object is expected") || fault.KindOf(err) != fault.Failed {
		t.Errorf("got %v", err)
	}
	if !slices.Equal(offsets, []int64{0, 1}) {
		t.Errorf("got offsets %v", offsets)
	}
}

func TestAFileThatBecomesShorterIsTold(t *testing.T) {
	dir := write(t, t.TempDir(), map[string]string{"a": rows(0, 0, 4, "x")})
	f := open(t, dir)
	write(t, dir, map[string]string{"a": rows(0, 0, 2, "x")})
	_, err := f.Read(t.Context(), []Want{{keyOf(0), 0}}, func(*Block) error { return nil })
	if err == nil || !strings.HasSuffix(err.Error(), "a: the file has become shorter while it was replayed") {
		t.Errorf("got %v", err)
	}
}

// What is appended later belongs to another replay.
func TestWhatIsAppendedMeanwhileIsNotRead(t *testing.T) {
	dir := write(t, t.TempDir(), map[string]string{"a": rows(0, 0, 2, "x")})
	f := open(t, dir)
	write(t, dir, map[string]string{"a": rows(0, 0, 4, "x")})
	all, _ := read(t, f, Want{keyOf(0), 0})
	if !slices.Equal(all[keyOf(0)], want("x", 0, 1)) {
		t.Errorf("got %v", all)
	}
}

func TestTooManyFilesOfOnePlaceAreRefused(t *testing.T) {
	files := map[string]string{}
	for i := range mostOpen + 1 {
		files[fmt.Sprint(i)] = rows(0, 0, 3, "x")
	}
	f := open(t, write(t, t.TempDir(), files))
	_, err := f.Read(t.Context(), []Want{{keyOf(0), 0}}, func(*Block) error { return nil })
	if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "more than 64 files hold the same offsets of east/orders/0") {
		t.Errorf("got %v", err)
	}
}

func TestAPlaceThatGoesBackAllTheTimeIsRefused(t *testing.T) {
	var text strings.Builder
	for o := range int64(mostPieces) + 1 {
		text.WriteString(row(0, 10000-o, "x"))
	}
	_, err := Open(t.Context(), write(t, t.TempDir(), map[string]string{"a": text.String()}))
	if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "a:4097: the offsets go back for the 4096th time") {
		t.Errorf("got %v", err)
	}
}

func TestManyFilesNeedFewDescriptors(t *testing.T) {
	files := map[string]string{}
	for i := range int64(3000) {
		files[fmt.Sprintf("%d/%d", i%7, i)] = rows(0, 3*i, 3*i+3, "x") + rows(1, 9000-3*i, 9003-3*i, "x")
	}
	f := open(t, write(t, t.TempDir(), files))
	all, stats := read(t, f, Want{keyOf(0), 0}, Want{keyOf(1), 0})
	if !slices.Equal(all[keyOf(0)], want("x", span(0, 9000)...)) || !slices.Equal(all[keyOf(1)], want("x", span(3, 9003)...)) || stats.Absent != 0 {
		t.Errorf("got %d and %d records, %+v", len(all[keyOf(0)]), len(all[keyOf(1)]), stats)
	}
}

func TestALongLineIsRead(t *testing.T) {
	long := strings.Repeat("y", 9<<20)
	f := open(t, write(t, t.TempDir(), map[string]string{"a": row(0, 0, "x") + row(0, 1, long) + rows(0, 2, 4, "x")}))
	all, _ := read(t, f, Want{keyOf(0), 0})
	if !slices.Equal(all[keyOf(0)], []string{"0 x", "1 " + long, "2 x", "3 x"}) {
		t.Errorf("got %d records", len(all[keyOf(0)]))
	}
}

// However the records of some partitions are spread over files, repeated and left
// out, they come in order and once.
func TestRecordsComeOnceHoweverTheyAreSpread(t *testing.T) {
	base := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		dir := filepath.Join(base, fmt.Sprint(n))
		all := map[int32]map[int64]bool{}
		files := make([][]string, rapid.IntRange(1, 6).Draw(t, "files"))
		for p := range int32(rapid.IntRange(1, 3).Draw(t, "partitions")) {
			all[p] = map[int64]bool{}
			for range rapid.IntRange(1, 8).Draw(t, "runs") {
				file := rapid.IntRange(0, len(files)-1).Draw(t, "file")
				from := rapid.Int64Range(0, 30).Draw(t, "from")
				step := rapid.Int64Range(1, 3).Draw(t, "step")
				for o := from; o < from+rapid.Int64Range(1, 12).Draw(t, "size"); o += step {
					files[file] = append(files[file], row(p, o, "x"))
					all[p][o] = true
				}
			}
		}
		texts := map[string]string{}
		for i, list := range files {
			text := strings.Join(list, "")
			switch rapid.IntRange(0, 2).Draw(t, "packed") {
			case 1:
				text = packGzip(text)
			case 2:
				text = packZstd(text)
			}
			texts[fmt.Sprint(i)] = text
		}
		check(t, dir, texts, all, rapid.Int64Range(0, 20).Draw(t, "begin"))
	})
}

func packGzip(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return b.String()
}

func packZstd(text string) string {
	w, _ := zstd.NewWriter(nil)
	defer func() { _ = w.Close() }()
	return string(w.EncodeAll([]byte(text), nil))
}

func check(t *rapid.T, dir string, texts map[string]string, all map[int32]map[int64]bool, begin int64) {
	for name, text := range texts {
		if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	f, err := Open(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	var wants []Want
	for p := range all {
		wants = append(wants, Want{keyOf(p), begin})
	}
	offsets := map[int32][]int64{}
	if _, err := f.Read(context.Background(), wants, func(b *Block) error {
		return b.Records(func(rec *record.Record) bool {
			offsets[b.Key.Partition] = append(offsets[b.Key.Partition], rec.Offset)
			return true
		})
	}); err != nil {
		t.Fatal(err)
	}
	for p, set := range all {
		var want []int64
		for o := range set {
			if o >= begin {
				want = append(want, o)
			}
		}
		if slices.Sort(want); !slices.Equal(offsets[p], want) {
			t.Fatalf("partition %d: got %v, want %v", p, offsets[p], want)
		}
	}
}
