package state

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/record"
)

func place(id, cluster, topic string, partition int32, stream string) Place {
	return Place{id, record.Split{Cluster: cluster, Topic: topic, Partition: partition}, stream}
}

func open(t *testing.T, path string, o Options) *File {
	t.Helper()
	f, err := Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

// reopened is the file as the next run sees it.
func reopened(t *testing.T, f *File, o Options) *File {
	t.Helper()
	f.Close()
	return open(t, f.Path(), o)
}

func find(t *testing.T, f *File, p Place) *Mark {
	t.Helper()
	m, ok, err := f.Find(p)
	if err != nil {
		t.Fatal(err)
	}
	if !ok {
		return nil
	}
	return &m
}

func keep(t *testing.T, f *File, marks ...Mark) {
	t.Helper()
	if err := f.Keep(marks, nil); err != nil {
		t.Fatal(err)
	}
}

func TestPositionsComeBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "S")
	f := open(t, path, Options{})
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("opening makes the file: %v", err)
	}
	one := Mark{Place: place("ID-E", "east", "orders", 0, "orders"), TopicID: [16]byte{1, 2, 250}, Offset: 42, Epoch: 7}
	two := Mark{Place: place("ID-E", "east", "orders", 0, "all"), Offset: 1, Epoch: -1}
	three := Mark{Place: place("ID-W", "west", "orders", 0, "orders"), Offset: 1 << 60, Epoch: 0}
	keep(t, f, one, two, three)
	one.Offset = 43
	keep(t, f, one)

	f = reopened(t, f, Options{})
	for _, want := range []Mark{one, two, three} {
		if got := find(t, f, want.Place); !cmp.Equal(got, &want) {
			t.Errorf("%v: %s", want.Place, cmp.Diff(got, &want))
		}
	}
	if got := find(t, f, place("ID-E", "east", "orders", 1, "orders")); got != nil {
		t.Errorf("a partition that is not in the file: %v", got)
	}
	renamed := three.Place
	renamed.Cluster = "ouest"
	if got := find(t, f, renamed); got == nil || got.Offset != 1<<60 || got.Cluster != "ouest" {
		t.Errorf("under another name: %v", got)
	}
}

func TestWhatHasLeftIsForgottenInTime(t *testing.T) {
	now := time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)
	o := Options{Retain: time.Hour, Now: func() time.Time { return now }}
	f := open(t, filepath.Join(t.TempDir(), "S"), o)
	stays := Mark{Place: place("E", "east", "t", 0, "t"), Offset: 5}
	leaves := Mark{Place: place("E", "east", "t", 1, "t"), Offset: 6, Left: true}
	keep(t, f, stays, leaves)
	now = now.Add(50 * time.Minute)
	keep(t, f, leaves) // told again: it left when it left
	f = reopened(t, f, o)
	if got := find(t, f, leaves.Place); got == nil || !got.Left || got.Offset != 6 {
		t.Errorf("after 50 minutes: %v", got)
	}
	now = now.Add(11 * time.Minute)
	if got := find(t, f, leaves.Place); got != nil {
		t.Errorf("after 61 minutes: %v", got)
	}
	keep(t, f, Mark{Place: leaves.Place, Offset: 7, Left: true})
	keep(t, f, Mark{Place: leaves.Place, Offset: 8})
	now = now.Add(1000 * time.Hour)
	f = reopened(t, f, o)
	for _, want := range []Mark{stays, {Place: leaves.Place, Offset: 8}} {
		if got := find(t, f, want.Place); got == nil || got.Offset != want.Offset {
			t.Errorf("what has not left is %v, want %v", got, want)
		}
	}
	f.o.Retain = -1
	keep(t, f, Mark{Place: stays.Place, Offset: 9, Left: true})
	if got := find(t, f, stays.Place); got != nil {
		t.Errorf("with no retention: %v", got)
	}
}

func TestAnotherClusterOfTheSameNameIsRefused(t *testing.T) {
	f := open(t, filepath.Join(t.TempDir(), "S"), Options{})
	keep(t, f, Mark{Place: place("A", "east", "t", 0, "t"), Offset: 5}, Mark{Place: place("B", "west", "t", 0, "t"), Offset: 6})
	f = reopened(t, f, Options{})
	if got := find(t, f, place("B", "east", "t", 0, "t")); got == nil || got.Offset != 6 {
		t.Errorf("names exchanged: %v", got)
	}
	f = reopened(t, f, Options{})
	_, _, err := f.Find(place("C", "east", "t", 0, "t"))
	want := f.Path() + ": east is another cluster now: its id is C, and the positions in the state file are of A"
	if err == nil || err.Error() != want || fault.KindOf(err) != fault.Refused {
		t.Errorf("%v, want %s", err, want)
	}
	if got := find(t, f, place("C", "north", "t", 0, "t")); got != nil {
		t.Errorf("a new name: %v", got)
	}
	if got := find(t, f, place("A", "east", "t", 0, "t")); got == nil || got.Offset != 5 {
		t.Errorf("the same cluster: %v", got)
	}
	if _, ok, err := f.Find(place("C", "east", "t", 0, "t")); ok || err != nil {
		t.Errorf("changed while the run went on: %v, %v", ok, err)
	}
}

func TestFilesComeBack(t *testing.T) {
	dir := t.TempDir()
	f := open(t, filepath.Join(dir, "S"), Options{})
	opened := time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)
	inside := OutFile{Path: filepath.Join(f.Path()+"-out", "x.json"), Base: filepath.Join(f.Path()+"-out", "x.json"), Length: 10, Opened: opened}
	inside.Path = filepath.Join(filepath.Dir(f.Path()), "out", "x.3.json")
	inside.Base = filepath.Join(filepath.Dir(f.Path()), "out", "x.json")
	inside.Sequence, inside.Of = 3, "east/x"
	outside := OutFile{Path: "/elsewhere/y.json", Base: "/elsewhere/y.json", Length: 1 << 40, Opened: opened}
	mark := Mark{Place: place("A", "east", "t", 0, "t"), Offset: 5}
	out := Out{Path: filepath.Join(filepath.Dir(f.Path()), "out", "{topic}.json"), Closed: true, Files: []OutFile{inside, outside}}
	if err := f.Keep([]Mark{mark}, &out); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(f.Path())
	if err != nil || !strings.Contains(string(text), `"path":"out/x.3.json","base":"out/x.json"`) || strings.Contains(string(text), dir) {
		t.Errorf("%v\n%s", err, text)
	}
	f = reopened(t, f, Options{})
	if diff := cmp.Diff(out, f.Out()); diff != "" {
		t.Error(diff)
	}
	keep(t, f, mark)
	fresh := OutFile{Path: "/elsewhere/z.json", Base: "/elsewhere/z.json", Opened: opened}
	if err := f.Declare("/elsewhere/{topic}.json", "json", []OutFile{fresh}); err != nil {
		t.Fatal(err)
	}
	f = reopened(t, f, Options{})
	want := Out{Path: "/elsewhere/{topic}.json", Format: "json", Files: []OutFile{inside, outside, fresh}}
	if diff := cmp.Diff(want, f.Out()); diff != "" {
		t.Error(diff)
	}
	if got := find(t, f, mark.Place); got == nil || got.Offset != 5 {
		t.Errorf("position beside declared files: %v", got)
	}
}

func TestWhatIsNoStateFileIsRefusedAndLeftAlone(t *testing.T) {
	dir := t.TempDir()
	f := open(t, filepath.Join(dir, "good"), Options{})
	keep(t, f, Mark{Place: place("A", "east", "t", 0, "t"), Offset: 12345})
	f.Close()
	good, err := os.ReadFile(f.Path())
	if err != nil {
		t.Fatal(err)
	}
	resealed := func(old, now string) string { return reseal(string(good), old, now) }
	for name, tc := range map[string]struct{ text, want, hint string }{
		"empty":          {"", "it is empty", "bring back a copy"},
		"blank":          {"\n", "it is no state file of kcm", "a file of its own"},
		"text":           {"hello\n", "it is no state file of kcm", "a file of its own"},
		"records":        {`{"stream":"s","offset":1}` + "\n", "it is no state file of kcm", "a file of its own"},
		"array":          {"[]", "it is no state file of kcm", "a file of its own"},
		"binary":         {"\x00\x01", "it is no state file of kcm", "a file of its own"},
		"half":           {string(good[:len(good)/2]), "it is damaged: unexpected EOF", "bring back a copy"},
		"short of a bit": {string(good[:len(good)-2]), "it is damaged: unexpected EOF", "bring back a copy"},
		"one digit":      {strings.Replace(string(good), "12345", "12346", 1), "it is damaged: its checksum does not fit", "bring back a copy"},
		"doubled":        {string(good) + string(good), "it is damaged: there is something behind its end", "bring back a copy"},
		"newer":          {strings.Replace(string(good), `"version":1`, `"version":2`, 1), "it was written by a newer kcm (version 2)", "the kcm that wrote it"},
		"version 0":      {strings.Replace(string(good), `"version":1`, `"version":0`, 1), "it is damaged: there is no version 0", "bring back a copy"},
		"negative":       {resealed("12345", "-5"), "it is damaged: position -5 of east/t/0", "bring back a copy"},
		"unknown member": {resealed(`"epoch"`, `"epoque"`), `it is damaged: json: unknown field "epoque"`, "bring back a copy"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, "S")
			if err := os.WriteFile(path, []byte(tc.text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := Open(path, Options{})
			if err == nil || !strings.HasSuffix(err.Error(), "S cannot be used as a state file: "+tc.want) || fault.KindOf(err) != fault.Refused {
				t.Errorf("%v, want %s", err, tc.want)
			}
			if hint := fault.HintOf(err); !strings.Contains(hint, tc.hint) {
				t.Errorf("hint %q, want %q", hint, tc.hint)
			}
			if left, err := os.ReadFile(path); err != nil || string(left) != tc.text {
				t.Errorf("the file was changed: %v", err)
			}
			// It is not locked either.
			if err := os.WriteFile(path, good, 0o600); err != nil {
				t.Fatal(err)
			}
			open(t, path, Options{}).Close()
		})
	}
}

// reseal changes a document and makes its checksum fit.
func reseal(text, old, now string) string {
	head, state, _ := strings.Cut(text, `"state":`)
	state = strings.Replace(strings.TrimSuffix(state, "}\n"), old, now, 1)
	head = head[:strings.Index(head, `"crc32c":"`)+len(`"crc32c":"`)]
	sum := "00000000" + strconv.FormatUint(uint64(checksum([]byte(state))), 16)
	return head + sum[len(sum)-8:] + `","state":` + state + "}\n"
}

func TestPlacesThatCannotBe(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink(filepath.Join(dir, "nowhere"), filepath.Join(dir, "dangling")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "no", "S"):  "there is no directory " + filepath.Join(dir, "no"),
		dir:                            "--state cannot be read: read " + dir + ": is a directory",
		filepath.Join(dir, "dangling"): "is a link to " + filepath.Join(dir, "nowhere") + ", which does not exist",
	} {
		_, err := Open(path, Options{})
		if err == nil || !strings.Contains(err.Error(), want) || fault.KindOf(err) != fault.Usage {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
}

func TestALinkStaysALink(t *testing.T) {
	dir := t.TempDir()
	f := open(t, filepath.Join(dir, "real"), Options{})
	keep(t, f, Mark{Place: place("A", "east", "t", 0, "t"), Offset: 5})
	f.Close()
	link := filepath.Join(dir, "link")
	if err := os.Symlink("real", link); err != nil {
		t.Fatal(err)
	}
	g := open(t, link, Options{})
	keep(t, g, Mark{Place: place("A", "east", "t", 0, "t"), Offset: 6})
	if target, err := os.Readlink(link); err != nil || target != "real" {
		t.Errorf("the link is gone: %q, %v", target, err)
	}
	f = reopened(t, g, Options{})
	if got := find(t, f, place("A", "east", "t", 0, "t")); got == nil || got.Offset != 6 {
		t.Errorf("%v", got)
	}
}

func TestAFailedWriteLeavesTheOldFile(t *testing.T) {
	f := open(t, filepath.Join(t.TempDir(), "S"), Options{})
	p := place("A", "east", "t", 0, "t")
	keep(t, f, Mark{Place: p, Offset: 5})
	before, _ := os.ReadFile(f.Path())
	// A directory in the way of the new file, even for root.
	block := filepath.Join(filepath.Dir(f.Path()), ".S.kcm-new")
	if err := os.MkdirAll(filepath.Join(block, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	err := f.Keep([]Mark{{Place: p, Offset: 6}}, nil)
	if err == nil || !strings.Contains(err.Error(), "the state file "+f.Path()+" cannot be written: ") || fault.KindOf(err) != fault.Failed {
		t.Errorf("%v", err)
	}
	if after, _ := os.ReadFile(f.Path()); string(after) != string(before) {
		t.Error("the file was changed")
	}
	if err := os.RemoveAll(block); err != nil {
		t.Fatal(err)
	}
	keep(t, f)
	f = reopened(t, f, Options{})
	if got := find(t, f, p); got == nil || got.Offset != 5 {
		t.Errorf("what was not kept is there: %v", got)
	}
}

func TestOneProcessAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "S")
	if os.Getenv("STATE_OF_ANOTHER") != "" {
		_, err := Open(os.Getenv("STATE_OF_ANOTHER"), Options{})
		if err == nil {
			os.Exit(0)
		}
		fmt.Fprint(os.Stdout, err)
		os.Exit(int(fault.KindOf(err)))
	}
	another := func() (string, int) {
		cmd := exec.Command(os.Args[0], "-test.run=^TestOneProcessAtATime$")
		cmd.Env = append(os.Environ(), "STATE_OF_ANOTHER="+path)
		out, err := cmd.Output()
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			return string(out), exit.ExitCode()
		}
		if err != nil {
			t.Fatal(err)
		}
		return string(out), 0
	}
	f := open(t, path, Options{})
	keep(t, f, Mark{Place: place("A", "east", "t", 0, "t"), Offset: 5}) // the file is another one now
	out, code := another()
	if want := "is used by another process (pid " + strconv.Itoa(os.Getpid()) + ")"; code != 6 || !strings.Contains(out, want) {
		t.Errorf("exit code %d, %q, want 6, %q", code, out, want)
	}
	if err := os.Remove(path + ".lock"); err != nil {
		t.Fatal(err)
	}
	if err := f.Keep(nil, nil); err == nil || fault.KindOf(err) != fault.Refused || !strings.Contains(err.Error(), "was removed while the state file was in use") {
		t.Errorf("without its lock: %v", err)
	}
	f.Close()
	if out, code := another(); code != 0 {
		t.Errorf("afterwards: exit code %d, %q", code, out)
	}
}

func FuzzDecode(f *testing.F) {
	left := time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)
	good, err := encode(contents{
		[]entry{{Mark{place("A", "east", "t", 3, "s"), [16]byte{9}, 5, 1, true}, left}},
		Out{Path: "/d/{topic}", Files: []OutFile{{Path: "/d/x", Base: "/d/x", Length: 7, Opened: left}}},
		nil,
	}, "/d", left)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good, true)
	f.Add([]byte(`{"positions":[{"topic":"t","offset":1}],"out":{"files":[{"path":"a","length":1}]}}`), false)
	f.Fuzz(func(t *testing.T, text []byte, whole bool) {
		if !whole { // the checksum would keep nearly everything out
			text = append(append([]byte(`{"format":"kcm-state","version":1,"crc32c":"`+hex(text)+`","state":`), text...), '}')
		}
		c, err := decode(text, "/d")
		if err != nil {
			return
		}
		again, err := encode(c, "/d", left)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		d, err := decode(again, "/d")
		if err != nil {
			t.Fatalf("%s became %s: %v", text, again, err)
		}
		if len(d.entries) != len(c.entries) || len(d.out.Files) != len(c.out.Files) {
			t.Fatalf("%s became %s", text, again)
		}
	})
}

func hex(b []byte) string {
	sum := "00000000" + strconv.FormatUint(uint64(checksum(b)), 16)
	return sum[len(sum)-8:]
}
