package offsets_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/offsets"
)

func aSnapshot() *offsets.Snapshot {
	return &offsets.Snapshot{
		Written: time.Date(2026, 3, 3, 14, 0, 5, 0, time.UTC),
		Changes: []offsets.SnapshotChange{
			{
				Cluster: "east", ClusterID: "x1", Group: "billing", Partition: offsets.Partition{Topic: "orders"}, TopicID: [16]byte{1, 2, 3, 15: 9},
				Prior: &offsets.Commit{Offset: 1, Epoch: 3, Metadata: "é\x00\n\"<"}, New: &offsets.Commit{Offset: 9_007_199_254_740_993, Epoch: -1},
			},
			{
				Cluster: "east", ClusterID: "x1", Group: "\xff\xfe", Partition: offsets.Partition{Topic: "orders", Partition: 7},
				New: &offsets.Commit{Epoch: -1, Metadata: "\x80"},
			},
			{Cluster: "east", Group: "billing", Partition: offsets.Partition{Topic: "orders", Partition: 1}, Prior: &offsets.Commit{Offset: 4, Epoch: 0}},
		},
	}
}

func TestSnapshotRoundTrip(t *testing.T) {
	text, err := aSnapshot().Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := offsets.ParseSnapshot(text)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(aSnapshot(), got); diff != "" {
		t.Error(diff)
	}
	if !strings.HasPrefix(string(text), `{"format": "kcm-offsets", "version": 1, "crc32c": "`) {
		t.Errorf("%s", text)
	}
}

// TestSnapshotGolden holds the format that files have that are out there.
func TestSnapshotGolden(t *testing.T) {
	golden, err := os.ReadFile("testdata/snapshot-1.json")
	if err != nil {
		t.Fatal(err)
	}
	text, err := aSnapshot().Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(golden), string(text)); diff != "" {
		t.Error(diff)
	}
}

func TestBadSnapshots(t *testing.T) {
	good, err := aSnapshot().Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ text, want string }{
		"empty":           {" \n", "it is empty"},
		"text":            {"hello", "it is no snapshot"},
		"other JSON":      {`{"rows": []}`, "it is no snapshot"},
		"a state file":    {`{"format": "kcm-state", "version": 1}`, "it is no snapshot"},
		"cut short":       {string(good[:len(good)/2]), "it is damaged"},
		"changed":         {strings.Replace(string(good), `"offset":4`, `"offset":5`, 1), "its checksum is wrong"},
		"newer":           {strings.Replace(string(good), `"version": 1`, `"version": 2`, 1), "version 2 of the file"},
		"a field more":    {strings.Replace(string(good), `"version": 1`, `"version": 1, "more": 1`, 1), "it is damaged"},
		"something after": {string(good) + "{}", "it is damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := offsets.ParseSnapshot([]byte(test.text)); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, not %s", err, test.want)
			}
		})
	}
	bad := map[string]func(*offsets.Snapshot){
		"is there twice":      func(s *offsets.Snapshot) { s.Changes[2] = s.Changes[0] },
		"changes nothing":     func(s *offsets.Snapshot) { s.Changes[2].Prior = nil },
		"names no partition":  func(s *offsets.Snapshot) { s.Changes[2].Group = "" },
		"-1 is no offset":     func(s *offsets.Snapshot) { s.Changes[2].Prior.Offset = -1 },
		"-2 is no leader epo": func(s *offsets.Snapshot) { s.Changes[2].Prior.Epoch = -2 },
	}
	for want, change := range bad {
		s := aSnapshot()
		change(s)
		text, err := s.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := offsets.ParseSnapshot(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, not %s", err, want)
		}
	}
}

// TestSnapshotFiles: no file is ever replaced, and nothing is left behind.
func TestSnapshotFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "s.json")
	if err := aSnapshot().Write(path); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	err = (&offsets.Snapshot{}).Write(path)
	if fault.KindOf(err) != fault.Usage || !errors.Is(err, fs.ErrExist) {
		t.Errorf("over another: %v", err)
	}
	if now, _ := os.ReadFile(path); string(now) != string(before) {
		t.Error("the file was replaced")
	}
	if err := aSnapshot().Write(filepath.Join(dir, "no", "s.json")); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "nothing was changed") {
		t.Errorf("no directory: %v", err)
	}
	if err := os.Symlink(filepath.Join(dir, "elsewhere"), filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := aSnapshot().Write(filepath.Join(dir, "link")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a link to nowhere: %v", err)
	}
	names, err := os.ReadDir(dir)
	if err != nil || len(names) != 2 {
		t.Errorf("%v, %v", names, err)
	}
	if _, err := offsets.ReadSnapshot(filepath.Join(dir, "none")); fault.KindOf(err) != fault.Usage {
		t.Errorf("%v", err)
	}
	if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := offsets.ReadSnapshot(path); fault.KindOf(err) != fault.Refused {
		t.Errorf("%v", err)
	}
}

func FuzzParseSnapshot(f *testing.F) {
	good, err := aSnapshot().Append(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{"format": "kcm-offsets", "version": 1, "crc32c": "9d0e4db1", "snapshot": {"written": "2026-03-03T14:00:05Z", "changes": []}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := offsets.ParseSnapshot(text)
		if err != nil {
			return
		}
		again, err := s.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		back, err := offsets.ParseSnapshot(again)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(s, back); diff != "" {
			t.Error(diff)
		}
	})
}
