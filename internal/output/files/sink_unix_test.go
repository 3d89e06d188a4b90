//go:build !windows

package files

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"go.uber.org/goleak"

	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/record"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a sink and one divider.
type rig struct {
	t *testing.T
	s *Sink
	d *Divider
}

func parse(t *testing.T, path string) *Template {
	t.Helper()
	tmpl, err := Parse(path, ".json")
	if err != nil {
		t.Fatal(err)
	}
	return tmpl
}

func create(t *testing.T, path string, change func(*Options)) *rig {
	t.Helper()
	r, err := attempt(t, path, change)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func attempt(t *testing.T, path string, change func(*Options)) (*rig, error) {
	t.Helper()
	o := Options{Template: parse(t, path), LineEnd: "\n"}
	if change != nil {
		change(&o)
	}
	s, err := New(o)
	if err != nil {
		return nil, err
	}
	r := &rig{t, s, s.NewDivider()}
	t.Cleanup(func() {
		if r.s != nil {
			_, _ = r.s.Finish(false)
		}
	})
	return r, nil
}

// entry is a record for a rig.
type entry struct {
	stream int
	ms     int64
	text   string
}

// load makes a load of records of one split for the streams "s" and "z".
func (r *rig) load(split record.Split, list ...entry) *Load {
	r.d.Begin(nil, []string{"s", "z"}, split)
	for _, e := range list {
		r.d.Added(append(r.d.Buffer(e.stream, e.ms), e.text+"\n"...))
	}
	_, l := r.d.End()
	return l
}

func at(topic string, partition int32) record.Split {
	return record.Split{Cluster: "east", Topic: topic, Partition: partition}
}

func lines(texts ...string) (list []entry) {
	for _, text := range texts {
		list = append(list, entry{text: text})
	}
	return list
}

func (r *rig) write(loads ...*Load) {
	r.t.Helper()
	if err := r.s.Write(loads); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) finish(complete bool) []File {
	r.t.Helper()
	list, err := r.s.Finish(complete)
	if err != nil {
		r.t.Fatal(err)
	}
	r.s = nil
	return list
}

// tree is what lies below a directory, decompressed.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		all[rel] = content(t, path)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// content is what a file holds. It is decompressed by other code than kcm's where
// there is any.
func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var r io.Reader = bytes.NewReader(b)
	switch filepath.Ext(path) {
	case ".gz":
		if r, err = gzip.NewReader(r); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	case ".zst":
		z, err := zstd.NewReader(r)
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()
		r = z
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return string(text)
}

func expect(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	got := tree(t, dir)
	for path, text := range want {
		if g, ok := got[path]; !ok || g != text {
			t.Errorf("%s holds %.200q (there: %v), want %.200q", path, g, ok, text)
		}
	}
	for path, text := range got {
		if _, ok := want[path]; !ok {
			t.Errorf("%s is there, with %.200q", path, text)
		}
	}
}

func put(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func refused(t *testing.T, err error, kind fault.Kind, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) || fault.KindOf(err) != kind {
		t.Errorf("error %v of kind %d, want %q of kind %d", err, fault.KindOf(err), want, kind)
	}
}

func TestRecordsGoToTheirFiles(t *testing.T) {
	for _, suffix := range []string{".json", ".json.gz", ".json.zst"} {
		dir := t.TempDir()
		r := create(t, dir+"/{stream}/{topic}-{partition}-{date}T{hour}"+suffix, nil)
		const day = msPerDay
		r.write(
			r.load(at("a", 0), entry{0, 0, "1"}, entry{1, 0, "1"}, entry{0, msPerHour, "2"}, entry{0, 1, "3"}, entry{0, -1, "4"}, entry{0, -2, "5"}),
			r.load(at("b/..", 7), entry{0, 20000 * day, "6"}, entry{0, 20000*day + 1, "7"}),
		)
		r.write(r.load(at("a", 0), entry{0, 5, "8"}))
		r.finish(true)
		expect(t, dir, map[string]string{
			"s/a-0-1970-01-01T00" + suffix: "1\n3\n8\n", "z/a-0-1970-01-01T00" + suffix: "1\n", "s/a-0-1970-01-01T01" + suffix: "2\n",
			"s/a-0-noneTnone" + suffix: "4\n", "s/a-0-1969-12-31T23" + suffix: "5\n", "s/b%2F.%2E-7-2024-10-04T00" + suffix: "6\n7\n",
		})
	}
}

func TestLargeLoadsBecomeManyFrames(t *testing.T) {
	for _, suffix := range []string{".json.gz", ".json.zst"} {
		dir := t.TempDir()
		r := create(t, dir+"/{partition}"+suffix, nil)
		want := map[string]*strings.Builder{"0" + suffix: {}, "1" + suffix: {}, "2" + suffix: {}}
		for n := range 40 {
			p := int32(n % 3)
			var list []entry
			for i := range 1 + n*n {
				list = append(list, entry{text: fmt.Sprintf("record %d of %d in %s", i, n, strings.Repeat("x", i%90))})
			}
			r.write(r.load(at("t", p), list...))
			for _, e := range list {
				want[fmt.Sprint(p, suffix)].WriteString(e.text + "\n")
			}
		}
		r.finish(true)
		texts := map[string]string{}
		for name, b := range want {
			texts[name] = b.String()
		}
		expect(t, dir, texts)
	}
}

func TestOneFileForAll(t *testing.T) {
	dir := t.TempDir()
	r := create(t, dir+"/deep/down/out.json", nil)
	r.write(r.load(at("a", 0), lines("1", "2")...), r.load(at("b", 1), lines("3")...))
	r.write(r.load(at("a", 0)))
	r.write(r.load(at("a", 0), lines("4")...))
	r.finish(true)
	expect(t, dir, map[string]string{"deep/down/out.json": "1\n2\n3\n4\n"})
}

func TestNoRecordsMakeAnEmptyFile(t *testing.T) {
	for _, suffix := range []string{".json", ".json.gz", ".json.zst"} {
		dir := t.TempDir()
		create(t, dir+"/out"+suffix, nil).finish(true)
		create(t, dir+"/{topic}"+suffix, nil).finish(true)
		create(t, dir+"/failed"+suffix, nil).finish(false)
		expect(t, dir, map[string]string{"out" + suffix: ""})
	}
}

func TestExistingFilesAreRefused(t *testing.T) {
	dir := t.TempDir()
	there := put(t, dir+"/1.json", "old\n")
	_, err := attempt(t, there, nil)
	refused(t, err, fault.Refused, there+" exists already")
	r := create(t, dir+"/{partition}.json", nil)
	err = r.s.Write([]*Load{r.load(at("t", 0), lines("a")...), r.load(at("t", 1), lines("b")...)})
	refused(t, err, fault.Refused, there+" exists already")
	r.finish(false)
	expect(t, dir, map[string]string{"1.json": "old\n"})

	put(t, dir+"/out.3.json", "old\n")
	_, err = attempt(t, dir+"/out.json", func(o *Options) { o.RotateSize = 10 })
	refused(t, err, fault.Refused, dir+"/out.3.json exists already")
	_, err = attempt(t, dir, nil)
	refused(t, err, fault.Usage, dir+" is a directory")
	if err := os.Symlink("nowhere", dir+"/link.json"); err != nil {
		t.Fatal(err)
	}
	_, err = attempt(t, dir+"/link.json", nil)
	refused(t, err, fault.Refused, "link.json is a link to nowhere, which does not exist")
}

func TestAppend(t *testing.T) {
	appending := func(o *Options) { o.Append = true }
	for _, suffix := range []string{".json", ".json.gz", ".json.zst"} {
		dir := t.TempDir()
		path := dir + "/out" + suffix
		for n := range 3 {
			r := create(t, path, appending)
			r.write(r.load(at("t", 0), lines(fmt.Sprint(n))...))
			r.finish(n < 2) // a run that failed has written what it has written
		}
		expect(t, dir, map[string]string{"out" + suffix: "0\n1\n2\n"})
		if suffix == ".json" {
			continue
		}
		whole, _ := os.ReadFile(path)
		for cut := 1; cut < len(whole); cut++ {
			torn := put(t, dir+"/torn"+suffix, string(whole[:cut]))
			r, err := attempt(t, torn, appending)
			if err == nil {
				r.finish(false)
				if text := content(t, torn); text != "0\n" && text != "0\n1\n" {
					t.Errorf("%s cut at %d is taken for whole, and holds %q", suffix, cut, text)
				}
				continue
			}
			refused(t, err, fault.Refused, torn+" cannot be appended to: ")
		}
		_, err := attempt(t, put(t, dir+"/other"+suffix, "plain text\n"), appending)
		refused(t, err, fault.Refused, "other"+suffix+" cannot be appended to: ")
	}
	dir := t.TempDir()
	_, err := attempt(t, put(t, dir+"/x.json", `{"a":1}`), appending)
	refused(t, err, fault.Refused, "x.json cannot be appended to: its last line has no end")
	create(t, put(t, dir+"/empty.json", ""), appending).finish(true)
}

func TestOverwriteReplacesWhenComplete(t *testing.T) {
	over := func(o *Options) { o.Overwrite, o.MaxOpen = true, 1 }
	dir := t.TempDir()
	old := put(t, dir+"/0.json", "old\n")
	if err := os.Chmod(old, 0o640); err != nil {
		t.Fatal(err)
	}
	put(t, dir+"/far/real.json", "old\n")
	if err := os.Symlink("far/real.json", dir+"/2.json"); err != nil {
		t.Fatal(err)
	}
	r := create(t, dir+"/{partition}.json", over)
	for n := range 3 {
		r.write(r.load(at("t", 0), lines(fmt.Sprint(n))...), r.load(at("t", 1), lines(fmt.Sprint(n))...), r.load(at("t", 2), lines(fmt.Sprint(n))...))
		if content(t, old) != "old\n" {
			t.Fatal("replaced before it was complete")
		}
	}
	r.finish(true)
	expect(t, dir, map[string]string{"0.json": "0\n1\n2\n", "1.json": "0\n1\n2\n", "2.json": "0\n1\n2\n", "far/real.json": "0\n1\n2\n"})
	if info, _ := os.Stat(old); info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v", info.Mode())
	}
	if target, err := os.Readlink(dir + "/2.json"); err != nil || target != "far/real.json" {
		t.Errorf("the link became %q, %v", target, err)
	}
	r = create(t, dir+"/{partition}.json", over)
	r.write(r.load(at("t", 0), lines("new")...), r.load(at("t", 5), lines("new")...))
	r.finish(false)
	expect(t, dir, map[string]string{"0.json": "0\n1\n2\n", "1.json": "0\n1\n2\n", "2.json": "0\n1\n2\n", "far/real.json": "0\n1\n2\n"})
	create(t, dir+"/1.json", over).finish(true)
	if text := content(t, dir+"/1.json"); text != "" {
		t.Errorf("no records left %q", text)
	}
}

func TestOverwriteLeavesNoNumberedFilesBehind(t *testing.T) {
	dir := t.TempDir()
	put(t, dir+"/out.json", "old\n")
	over := func(o *Options) { o.Overwrite, o.RotateSize = true, 3 }
	r := create(t, dir+"/out.json", over)
	r.write(r.load(at("t", 0), lines("a", "b", "c")...))
	r.finish(true)
	all := map[string]string{"out.json": "a\n", "out.1.json": "b\n", "out.2.json": "c\n"}
	expect(t, dir, all)
	_, err := attempt(t, dir+"/out.json", over)
	refused(t, err, fault.Refused, dir+"/out.2.json exists already: --overwrite might leave it beside the new files")
	expect(t, dir, all)
}

func TestRotationBySize(t *testing.T) {
	for _, suffix := range []string{".json", ".json.gz", ".json.zst"} {
		dir := t.TempDir()
		const limit = 4000
		r := create(t, dir+"/out"+suffix, func(o *Options) { o.RotateSize = limit })
		want := ""
		for n := range 100 {
			var list []entry
			for i := range 50 {
				text := fmt.Sprintf("%d.%d %x", n, i, (n*50+i)*2654435761)
				list = append(list, entry{text: text})
				want += text + "\n"
			}
			r.write(r.load(at("t", 0), list...))
		}
		r.finish(true)
		got := ""
		for n, files := 0, len(tree(t, dir)); n < files; n++ {
			path := numberedPath(dir+"/out", suffix, n)
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			text := content(t, path)
			if info.Size() > limit || text == "" || text[len(text)-1] != '\n' || n < files-1 && info.Size() < limit/3 {
				t.Errorf("%s has %d bytes, and ends in %q", path, info.Size(), text[max(0, len(text)-10):])
			}
			got += text
		}
		if got != want {
			t.Errorf("%s: %d bytes in %d files, want %d", suffix, len(got), len(tree(t, dir)), len(want))
		}
	}
	dir := t.TempDir()
	r := create(t, dir+"/{topic}.json", func(o *Options) { o.RotateSize = 4 })
	r.write(r.load(at("a", 0), lines("much too long", "b", "c", "d", "e", "also too long")...), r.load(at("a.1", 0), lines("x")...))
	put(t, dir+"/a.4.json", "in the way\n")
	r.write(r.load(at("a", 0), lines("f")...))
	r.finish(true)
	expect(t, dir, map[string]string{
		"a.json": "much too long\n", "a.1.json": "b\nc\n", "a.2.json": "d\ne\n", "a.3.json": "also too long\n", "a%2E1.json": "x\n",
		"a.4.json": "in the way\n", "a.5.json": "f\n",
	})
}

func TestRotationByTime(t *testing.T) {
	now := time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)
	dir := t.TempDir()
	r := create(t, dir+"/out.json.gz", func(o *Options) { o.RotateEvery, o.Now = time.Hour, func() time.Time { return now } })
	for n := range 6 {
		r.write(r.load(at("t", 0), lines(fmt.Sprint(n))...))
		if _, err := r.s.Checkpoint(); err != nil {
			t.Fatal(err)
		}
		now = now.Add(29 * time.Minute)
	}
	r.finish(true)
	expect(t, dir, map[string]string{"out.json.gz": "0\n1\n2\n", "out.1.json.gz": "3\n4\n5\n"})
	r = create(t, dir+"/out.json.gz", func(o *Options) { o.RotateEvery, o.Append, o.Now = time.Hour, true, func() time.Time { return now } })
	r.write(r.load(at("t", 0), lines("6")...))
	r.finish(true)
	expect(t, dir, map[string]string{"out.json.gz": "0\n1\n2\n", "out.1.json.gz": "3\n4\n5\n6\n"})
}

func TestManyFilesWithFewDescriptors(t *testing.T) {
	for _, suffix := range []string{".json", ".json.zst"} {
		dir := t.TempDir()
		r := create(t, dir+"/{topic}/{partition}"+suffix, func(o *Options) { o.MaxOpen, o.Durable = 7, true })
		want := map[string]string{}
		for n := range 3 {
			var loads []*Load
			for p := range 300 {
				name := fmt.Sprintf("t%d", p%10)
				loads = append(loads, r.load(at(name, int32(p)), lines(fmt.Sprintf("%d/%d", p, n))...))
				want[fmt.Sprintf("%s/%d%s", name, p, suffix)] += fmt.Sprintf("%d/%d\n", p, n)
			}
			r.write(loads...)
			if _, err := r.s.Checkpoint(); err != nil {
				t.Fatal(err)
			}
			if n := r.s.open.Len(); n > 7 {
				t.Errorf("%d files are open", n)
			}
		}
		if list := r.finish(true); len(list) != 300 {
			t.Errorf("%d files are listed", len(list))
		}
		expect(t, dir, want)
	}
}

func TestTwoPathsThatAreOneFile(t *testing.T) {
	dir := t.TempDir()
	put(t, dir+"/0.json", "old\n")
	if err := os.Link(dir+"/0.json", dir+"/1.json"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("0.json", dir+"/2.json"); err != nil {
		t.Fatal(err)
	}
	for _, p := range []int32{1, 2} {
		r := create(t, dir+"/{partition}.json", func(o *Options) { o.Append = true })
		r.write(r.load(at("t", 0), lines("a")...))
		err := r.s.Write([]*Load{r.load(at("t", p), lines("b")...)})
		refused(t, err, fault.Refused, fmt.Sprintf("%s/0.json and %s/%d.json are one file", dir, dir, p))
		r.finish(false)
	}
	if text := content(t, dir+"/0.json"); text != "old\na\na\n" {
		t.Errorf("%q", text)
	}
}

func TestNamesThatMeetInOnePathAreRefused(t *testing.T) {
	dir := t.TempDir()
	r := create(t, dir+"/{cluster}-{topic}.json", nil)
	one, two := record.Split{Cluster: "a-b", Topic: "c"}, record.Split{Cluster: "a", Topic: "b-c"}
	err := r.s.Write([]*Load{r.load(one, lines("1")...), r.load(two, lines("2")...)})
	refused(t, err, fault.Refused, dir+"/a-b-c.json would hold records of a-b/c and of a/b-c")
	r.write(r.load(one, lines("1")...))
	err = r.s.Write([]*Load{r.load(two, lines("2")...), r.load(one, lines("3")...)})
	refused(t, err, fault.Refused, dir+"/a-b-c.json would hold records of a-b/c and of a/b-c")
	r.finish(false)
	expect(t, dir, map[string]string{"a-b-c.json": "1\n"})
}

func TestAFileThatIsTakenAwayIsTold(t *testing.T) {
	dir := t.TempDir()
	r := create(t, dir+"/sub/out.json", func(o *Options) { o.Durable = true })
	r.write(r.load(at("t", 0), lines("1")...))
	if err := os.RemoveAll(dir + "/sub"); err != nil {
		t.Fatal(err)
	}
	r.write(r.load(at("t", 0), lines("2")...))
	_, err := r.s.Checkpoint()
	refused(t, err, fault.Failed, dir+"/sub/out.json was removed while it was written")

	r = create(t, dir+"/{partition}.json", func(o *Options) { o.MaxOpen = 1 })
	r.write(r.load(at("t", 0), lines("1")...))
	r.write(r.load(at("t", 1), lines("1")...)) // the first is closed now
	put(t, dir+"/0.json", "another\n")
	refused(t, r.s.Write([]*Load{r.load(at("t", 0), lines("2")...)}), fault.Failed, "0.json was changed by somebody else while it was written: it has 8 bytes, and 2 were written")
	put(t, dir+"/x.json", "a\n") // now, so that it gets another inode
	if err := os.Remove(dir + "/0.json"); err != nil {
		t.Fatal(err)
	}
	refused(t, r.s.Write([]*Load{r.load(at("t", 0), lines("2")...)}), fault.Failed, "cannot write to "+dir+"/0.json: no such file or directory")
	if err := os.Rename(dir+"/x.json", dir+"/0.json"); err != nil {
		t.Fatal(err)
	}
	refused(t, r.s.Write([]*Load{r.load(at("t", 0), lines("2")...)}), fault.Failed, "0.json was replaced by another file while it was written")
}

func TestDevices(t *testing.T) {
	r := create(t, "/dev/null", nil)
	r.write(r.load(at("t", 0), lines("1")...))
	r.finish(true)
	r = create(t, "/dev/full", nil)
	refused(t, r.s.Write([]*Load{r.load(at("t", 0), lines("1")...)}), fault.Failed, "cannot write to /dev/full: no space left on device")
	r.finish(false)
	for want, change := range map[string]func(*Options){
		"/dev/null is no regular file: --overwrite cannot replace it":     func(o *Options) { o.Overwrite = true },
		"/dev/null is no regular file: there is no next one to rotate to": func(o *Options) { o.RotateSize = 5 },
		"/dev/null is no regular file: --state could not cut it back":     func(o *Options) { o.Declare = func([]File) error { return nil } },
	} {
		_, err := attempt(t, "/dev/null", change)
		refused(t, err, fault.Refused, want)
	}
}

func TestErrorsOfDirectories(t *testing.T) {
	dir := t.TempDir()
	put(t, dir+"/file", "x")
	r := create(t, dir+"/file/{topic}.json", nil)
	refused(t, r.s.Write([]*Load{r.load(at("t", 0), lines("1")...)}), fault.Failed, "cannot write to "+dir+"/file/t.json: not a directory")
	r = create(t, dir+"/{topic}.json", nil)
	refused(t, r.s.Write([]*Load{r.load(at(strings.Repeat("x", 300), 0), lines("1")...)}), fault.Failed, "file name too long")
	r.write(r.load(at("t", 0), lines("1")...))
	r.finish(true)
	expect(t, dir, map[string]string{"file": "x", "t.json": "1\n"})
}

func TestWhatWaitsIsWrittenInTime(t *testing.T) {
	dir := t.TempDir()
	r := create(t, dir+"/out.json.gz", nil)
	r.write(r.load(at("t", 0), lines("1")...))
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if info, err := os.Stat(dir + "/out.json.gz"); err == nil && info.Size() > 0 && content(t, dir+"/out.json.gz") == "1\n" {
			break
		} else if !errors.Is(err, os.ErrNotExist) && err != nil || time.Since(began) > time.Minute {
			t.Fatalf("not there after %v: %v", time.Since(began), err)
		}
	}
	r.finish(true)
}

func TestLanesAreForgotten(t *testing.T) {
	dir := t.TempDir()
	r := create(t, dir+"/{date}/{hour}.json", func(o *Options) { o.MaxOpen = 3 })
	want := map[string]string{}
	for n := range 3 * maxLanes / 2 {
		ms := int64(n%maxLanes) * msPerHour
		r.write(r.load(at("t", 0), entry{0, ms, fmt.Sprint(n)}))
		want[time.UnixMilli(ms).UTC().Format("2006-01-02/15.json")] += fmt.Sprintf("%d\n", n)
	}
	r.write(r.load(at("t", 0), slices.Collect(func(yield func(entry) bool) {
		for n := range 2 * maxLanes {
			ms := int64(n) * msPerHour
			want[time.UnixMilli(ms).UTC().Format("2006-01-02/15.json")] += "late\n"
			if !yield(entry{0, ms, "late"}) {
				return
			}
		}
	})...))
	r.finish(true)
	expect(t, dir, want)
}

// TestFilesOfLongAgoAreDropped lets a sink list few of many files.
func TestFilesOfLongAgoAreDropped(t *testing.T) {
	for _, durable := range []bool{true, false} {
		dir := t.TempDir()
		change := func(o *Options) {
			o.Durable, o.MaxOpen = durable, 3
			if durable {
				o.Declare = func([]File) error { return nil }
			}
		}
		r := create(t, dir+"/{date}.{hour}.json", change)
		r.s.mostListed = 10
		want := map[string]string{}
		put := func(hour int, text string) {
			r.write(r.load(at("t", 0), entry{0, int64(hour) * msPerHour, text}))
		}
		name := func(hour int) string {
			return time.UnixMilli(int64(hour) * msPerHour).UTC().Format("2006-01-02.15.json")
		}
		var list []File
		for hour := range 100 {
			put(hour, "a")
			want[name(hour)] = "a\n"
			var err error
			if list, err = r.s.Checkpoint(); err != nil {
				t.Fatal(err)
			}
			if len(list) > 20 {
				t.Fatalf("%d files are listed", len(list))
			}
		}
		put(3, "late") // it is the run's own
		want[name(3)] += "late\n"
		dropped := r.s.Dropped()
		list = r.finish(true)
		expect(t, dir, want)
		if !dropped {
			t.Fatal("nothing was dropped")
		}
		if !durable {
			continue
		}
		if err := Restore(list, false); err != nil {
			t.Fatal(err)
		}
		r = create(t, dir+"/{date}.{hour}.json", func(o *Options) { change(o); o.Known, o.Dropped = list, true })
		put(99, "again")
		put(5, "later") // it may be anybody's
		put(5, "still")
		want[name(99)] += "again\n"
		want["1970-01-01.05.1.json"] = "later\nstill\n"
		r.finish(true)
		expect(t, dir, want)
	}
}

func TestAWriteThatHangsIsLeftBehind(t *testing.T) {
	path := t.TempDir() + "/pipe"
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	r := create(t, path, nil)
	wrote := make(chan error)
	l := r.load(at("t", 0), lines("1")...)
	go func() { wrote <- r.s.Write([]*Load{l}) }() // until somebody reads
	for r.s.writing.TryLock() {
		r.s.writing.Unlock()
		time.Sleep(time.Millisecond)
	}
	_, err := r.s.Finish(false)
	refused(t, err, fault.Failed, "a write to a file of -O does not end")
	reader, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := <-wrote; err != nil {
		t.Error(err)
	}
	line := make([]byte, 10)
	if n, _ := reader.Read(line); string(line[:n]) != "1\n" {
		t.Errorf("read %q", line[:n])
	}
	_ = reader.Close()
	<-r.s.done
	r.s = nil
}

func TestMuchThatWaitsIsWritten(t *testing.T) {
	dir := t.TempDir()
	r := create(t, dir+"/{partition}.json.gz", func(o *Options) { o.MaxOpen = 5 })
	text := strings.Repeat("x", leastFrame-100)
	const parts = maxTails/leastFrame + 20
	var loads []*Load
	for p := range int32(parts) {
		loads = append(loads, r.load(at("t", p), lines(text)...))
	}
	r.write(loads...)
	if n := len(tree(t, dir)); n != parts || r.s.tails != 0 {
		t.Errorf("%d of %d files were written, %d bytes wait", n, parts, r.s.tails)
	}
	r.finish(true)
}
