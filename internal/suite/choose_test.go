package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestChoose(t *testing.T) {
	const imports = "package x\n\nimport (\n\t\"testing\"\n\n\t\"github.com/kcm-cli/kcm/internal/kafkatest\"\n)\n\n"
	for name, c := range map[string]struct {
		always, tagged string
		want           string // names, "+" behind those that run on both; or the error
	}{
		"each":             {`func TestA(t *testing.T) { kafkatest.Each(t, nil) }; func TestB(t *testing.T) { kafkatest.Fake(t, o) }`, ``, "TestA+"},
		"by a helper":      {`func TestA(t *testing.T) { help(t) }; func help(t *testing.T) { further(t) }; func further(t *testing.T) { kafkatest.EachWith(t, o, nil) }; func TestB(t *testing.T) {}`, ``, "TestA+"},
		"by a table":       {`var table = []any{help}; func help(t *testing.T) { kafkatest.Each(t, nil) }; func TestA(t *testing.T) { _ = table }; func TestB(t *testing.T) {}`, ``, "TestA+"},
		"by a method":      {`type rig struct{}; func (rig) each(t *testing.T) { kafkatest.Each(t, nil) }; func TestA(t *testing.T) { t.Run("", r().x.each) }; func TestB(t *testing.T) { each() }; func each() {}`, ``, "TestA+"},
		"behind the tag":   {`func TestB(t *testing.T) {}`, `func TestA(t *testing.T) {}; func TestMain(m *testing.M) {}; func Testable(t *testing.T) {}`, "TestA"},
		"helper in tagged": {`func TestB(t *testing.T) { kafkatest.Each(t, nil) }`, `func TestA(t *testing.T) { real(t) }; func real(t *testing.T) { kafkatest.Real(t, o) }`, "TestA TestB+"},
		"nobody":           {`func TestA(t *testing.T) { kafkatest.Each(t, nil) }; func forgotten(t *testing.T) { kafkatest.Each(t, nil) }`, ``, "p/always_test.go:9: no test comes to forgotten"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			p := folder{ImportPath: "p", Dir: dir, TestImports: []string{rigs}, TestGoFiles: []string{"always_test.go", "tagged_test.go"}, tagged: []string{filepath.Join(dir, "tagged_test.go")}}
			for file, text := range map[string]string{"always_test.go": c.always, "tagged_test.go": c.tagged} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(imports+text+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			chosen, err := choose([]folder{p}, map[string]bool{"Each": true, "EachWith": true, "Real": true})
			var got []string
			for _, c := range chosen {
				n := c.name
				if c.both {
					n += "+"
				}
				got = append(got, n)
			}
			if err != nil && !strings.HasPrefix(err.Error(), c.want) || err == nil && strings.Join(got, " ") != c.want {
				t.Errorf("chosen: %s, %v; want %s", got, err, c.want)
			}
		})
	}
	if _, err := choose([]folder{{ImportPath: "p", Imports: []string{rigs}}}, nil); err == nil || !strings.HasPrefix(err.Error(), "p hands on rigs") {
		t.Errorf("a package that hands on rigs: %v", err)
	}
}

func TestEveryChosenTestHasToRun(t *testing.T) {
	chosen := []choice{{test{"p", "TestA"}, true}, {test{"p", "TestB"}, false}, {test{"p", "TestC"}, true}, {test{"p", "TestD"}, true}}
	got := newTally()
	for _, name := range []string{"TestA", "TestA/x/kafka", "TestA/x/kafka/y", "TestB", "TestB/z", "TestC", "TestC/kafkaesque"} {
		got.passed[test{"p", name}] = 1
	}
	const want = "p TestC did not run on Apache Kafka\np TestD did not run"
	if err := allRan(got, chosen); err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
	if n := ranOn(got, chosen); n != 4 {
		t.Errorf("%d ran on Apache Kafka", n)
	}
	if e := expression(append(chosen, choice{test{"q", "TestA"}, true})); e != "^(TestA|TestB|TestC|TestD)$" {
		t.Errorf("expression: %s", e)
	}
}

// TestNothingOfThisModuleIsForgotten finds out here, and not only on Apache
// Kafka, that a helper makes rigs for no test.
func TestNothingOfThisModuleIsForgotten(t *testing.T) {
	const module = "github.com/kcm-cli/kcm/"
	tool := goTool{stderr: os.Stderr}
	makers, err := tool.makers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(slices.Sorted(maps.Keys(makers)), " "); got != "Each EachWith Real Registry StartRegistry" {
		t.Errorf("what makes rigs: %s", got)
	}
	packages, err := tool.list(t.Context(), []string{module + "..."})
	if err != nil {
		t.Fatal(err)
	}
	chosen, err := choose(packages, makers)
	if err != nil {
		t.Fatal(err)
	}
	n := map[string]int{}
	for _, c := range chosen {
		n[strings.TrimPrefix(c.pkg, module)]++
	}
	t.Logf("%d tests reach Apache Kafka: %v", len(chosen), n)
	if len(chosen) < 170 || n["testscripts"] != 1 {
		t.Errorf("%d tests, of %v: some are not found", len(chosen), n)
	}
}
