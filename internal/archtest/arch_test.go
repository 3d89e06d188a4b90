package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const (
	module    = "github.com/kcm-cli/kcm"
	franz     = "github.com/twmb/franz-go/pkg/"
	tableFile = "../../docs/architecture.md"
)

// pkg is what `go list -json` tells of one package.
type pkg struct {
	ImportPath string
	Standard   bool
	Imports    []string
	Deps       []string
}

// room is the folder that a package of the module lives in: "main", "cmd",
// "bench", or the name below internal. It is empty for a foreign package.
func room(path string) string {
	if path == module {
		return "main"
	}
	rest, ok := strings.CutPrefix(path, module+"/")
	if !ok {
		return ""
	}
	first, rest, _ := strings.Cut(rest, "/")
	if first == "internal" {
		first, _, _ = strings.Cut(rest, "/")
	}
	return first
}

// owners says which rooms may import a library directly. A room of tests may
// import any.
var owners = map[string][]string{
	"github.com/spf13/cobra":            {"cmd"},
	"github.com/spf13/pflag":            {"cmd"},
	"github.com/spf13/viper":            {"settings"},
	"github.com/charmbracelet/lipgloss": {"output", "cmd"},
	"github.com/itchyny/gojq":           {"filter"},
	"github.com/prometheus":             {"metrics"},
	"github.com/twmb/franz-go/plugin":   {"metrics"},
	franz + "kgo":                       {"cluster", "fetch", "offsets", "produce", "source", "sandbox", "metrics"},
	franz + "kadm":                      {"cluster", "fetch", "offsets", "produce", "source"},
	franz + "kmsg":                      {"cluster", "fetch", "offsets", "produce", "source"},
	franz + "kerr":                      {"cluster", "fetch", "offsets", "produce", "source"},
	franz + "kfake":                     {"sandbox"},
}

// testRooms may use Kafka's client and embedded clusters: nothing of theirs
// reaches the program.
var testRooms = []string{"kafkatest", "bench", "testscripts", "e2e", "suite"}

// barred says what a room must not even reach through others.
var barred = map[string][]string{
	"record":   {"os", "net"},
	"fault":    {"net"},
	"batch":    {"os/exec", "net", franz + "kgo"},
	"spec":     {"os/exec", "net", franz + "kgo"},
	"metadata": {franz + "kgo", franz + "kfake"},
	"output":   {franz + "kgo", franz + "kfake"},
	"codec":    {franz + "kgo", franz + "kfake"},
	"filter":   {franz + "kgo", franz + "kfake"},
	"settings": {franz + "kgo", franz + "kfake"},
	"main":     {"testing", module + "/internal/kafkatest", module + "/internal/batch/batchtest"},
}

func TestImportsFollowTheTable(t *testing.T) {
	allowed := readTable(t)
	for _, p := range modulePackages(t) {
		from := room(p.ImportPath)
		if slices.Contains(testRooms, from) {
			continue
		}
		if _, ok := allowed[from]; !ok && from != "archtest" {
			t.Errorf("%s: docs/architecture.md has no room %q", p.ImportPath, from)
		}
		for _, imp := range p.Imports {
			to := room(imp)
			if to == "" || to == from {
				continue
			}
			if !slices.Contains(allowed[from], to) {
				t.Errorf("%s imports %s: docs/architecture.md does not allow %s → %s", p.ImportPath, imp, from, to)
			}
		}
	}
}

func TestLibrariesHaveOwners(t *testing.T) {
	for _, p := range modulePackages(t) {
		from := room(p.ImportPath)
		for _, imp := range p.Imports {
			for lib, rooms := range owners {
				if imp != lib && !strings.HasPrefix(imp, lib+"/") {
					continue
				}
				if slices.Contains(testRooms, from) && strings.HasPrefix(lib, franz) {
					continue
				}
				if !slices.Contains(rooms, from) {
					t.Errorf("%s imports %s, which belongs to %s", p.ImportPath, imp, strings.Join(rooms, ", "))
				}
			}
		}
	}
}

func TestNothingBarredIsReached(t *testing.T) {
	for _, p := range modulePackages(t) {
		for _, bad := range barred[room(p.ImportPath)] {
			if slices.Contains(p.Deps, bad) {
				t.Errorf("%s reaches %s", p.ImportPath, bad)
			}
		}
	}
}

func TestWordsImportTheStandardLibraryOnly(t *testing.T) {
	std := map[string]bool{}
	for _, p := range list(t, "-deps", module+"/internal/record", module+"/internal/fault") {
		std[p.ImportPath] = p.Standard
	}
	for path, standard := range std {
		if !standard && room(path) != "record" && room(path) != "fault" {
			t.Errorf("record or fault reaches %s", path)
		}
	}
	if !std["errors"] {
		t.Error("go list named no package of the standard library: the test sees nothing")
	}
}

func modulePackages(t *testing.T) []pkg {
	t.Helper()
	ps := list(t, module+"/...")
	if len(ps) < 3 {
		t.Fatalf("go list named %d packages: the test sees nothing", len(ps))
	}
	return ps
}

func list(t *testing.T, args ...string) []pkg {
	t.Helper()
	args = append([]string{"list", "-json=ImportPath,Standard,Imports,Deps"}, args...)
	cmd := exec.CommandContext(t.Context(), "go", args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	var ps []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return ps
		} else if err != nil {
			t.Fatal(err)
		}
		ps = append(ps, p)
	}
}
