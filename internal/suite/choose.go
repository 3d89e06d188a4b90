package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	rigs = "github.com/kcm-cli/kcm/internal/kafkatest"
	tag  = "kafka"
)

// folder is what go list tells of a package.
type folder struct {
	ImportPath                string
	Dir                       string
	Imports                   []string
	TestImports, XTestImports []string
	GoFiles                   []string
	TestGoFiles, XTestGoFiles []string
	tagged                    []string // test files that only -tags kafka builds
}

// list asks go for the packages, with the tag and without.
func (g goTool) list(ctx context.Context, patterns []string) ([]folder, error) {
	with, err := g.listWith(ctx, append([]string{"-tags=" + tag}, patterns...))
	if err != nil {
		return nil, err
	}
	without, err := g.listWith(ctx, patterns)
	if err != nil {
		return nil, err
	}
	always := map[string]bool{}
	for _, p := range without {
		for _, f := range p.tests() {
			always[f] = true
		}
	}
	for i := range with {
		for _, f := range with[i].tests() {
			if !always[f] {
				with[i].tagged = append(with[i].tagged, f)
			}
		}
	}
	return with, nil
}

func (g goTool) listWith(ctx context.Context, args []string) ([]folder, error) {
	args = append([]string{"list", "-json=ImportPath,Dir,Imports,TestImports,XTestImports,GoFiles,TestGoFiles,XTestGoFiles"}, args...)
	cmd := exec.CommandContext(ctx, "go", args...) //nolint:gosec // the caller's own patterns
	cmd.Dir, cmd.Stderr = g.dir, g.stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var all []folder
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p folder
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
}

// tests are the full names of the test files.
func (p folder) tests() []string {
	var out []string
	for _, f := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
		out = append(out, filepath.Join(p.Dir, f))
	}
	return out
}

// choice is a test that reaches Apache Kafka. It runs on both kinds of cluster,
// or it stands in a file that only the tag builds.
type choice struct {
	test
	both bool
}

// makers are the functions of kafkatest that make something real: those that come
// to Wanted, which says whether that is allowed.
func (g goTool) makers(ctx context.Context) (map[string]bool, error) {
	packages, err := g.listWith(ctx, []string{rigs})
	if err != nil {
		return nil, err
	}
	q, makers := graph{}, map[string]bool{}
	for _, p := range packages {
		for _, f := range p.GoFiles {
			if err := q.read(p, filepath.Join(p.Dir, f), nil); err != nil {
				return nil, err
			}
		}
	}
	for name := range q {
		if token.IsExported(name) && name != "Wanted" && q.reached(name)["Wanted"] {
			makers[name] = true
		}
	}
	if !makers["Each"] || !makers["Real"] {
		return nil, fmt.Errorf("what makes rigs is not found: %v", slices.Sorted(maps.Keys(makers)))
	}
	return makers, nil
}

// choose finds the tests of all packages that reach Apache Kafka: every test of
// a file behind the tag, and every other that can come to a rig which may be
// real. What makes such a rig and is come to by no test is an error: nobody
// would run it.
func choose(packages []folder, makers map[string]bool) ([]choice, error) {
	var all []choice
	var errs []error
	for _, p := range packages {
		if slices.Contains(p.Imports, rigs) {
			errs = append(errs, fmt.Errorf("%s hands on rigs of kafkatest, which are looked for in tests only", p.ImportPath))
		}
		uses := slices.Contains(p.TestImports, rigs) || slices.Contains(p.XTestImports, rigs) || p.ImportPath == rigs
		if !uses && len(p.tagged) == 0 {
			continue
		}
		g, err := readTests(p, makers)
		if err != nil {
			return nil, err
		}
		some, err := g.choose(p.ImportPath)
		all, errs = append(all, some...), append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, errors.New("no test reaches Apache Kafka")
	}
	return all, nil
}

// piece is a function, a method or a variable of a package's tests. Methods of
// one name are one piece: which is called is not looked into.
type piece struct {
	places   []string
	mentions map[string]bool
	real     bool // makes a rig that may be real
	tagged   bool
}

// graph holds pieces by name; that of a method begins with a dot.
type graph map[string]*piece

func readTests(p folder, makers map[string]bool) (graph, error) {
	g := graph{}
	for _, name := range p.tests() {
		if err := g.read(p, name, makers); err != nil {
			return nil, err
		}
	}
	return g, nil
}

func (g graph) read(p folder, name string, makers map[string]bool) error {
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, name, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, i := range f.Imports {
		if i.Path.Value == strconv.Quote(rigs) && i.Name != nil {
			return fmt.Errorf("%s imports kafkatest by another name, which is not looked for", name)
		}
	}
	for _, d := range f.Decls {
		for _, id := range declared(d) {
			q := g[id]
			if q == nil {
				q = &piece{mentions: map[string]bool{}}
				g[id] = q
			}
			q.places = append(q.places, fmt.Sprintf("%s/%s:%d", p.ImportPath, filepath.Base(name), files.Position(d.Pos()).Line))
			q.tagged = q.tagged || slices.Contains(p.tagged, name)
			q.look(d, makers)
		}
	}
	return nil
}

// declared are the names of the pieces in a declaration.
func declared(d ast.Decl) []string {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv != nil {
			return []string{"." + d.Name.Name}
		}
		return []string{d.Name.Name}
	case *ast.GenDecl:
		var out []string
		for _, s := range d.Specs {
			if v, ok := s.(*ast.ValueSpec); ok {
				for _, n := range v.Names {
					out = append(out, n.Name)
				}
			}
		}
		return out
	}
	return nil
}

// look collects what a declaration mentions.
func (q *piece) look(d ast.Decl, makers map[string]bool) {
	var visit func(n ast.Node) bool
	visit = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == "kafkatest" {
				q.real = q.real || makers[n.Sel.Name]
				return false
			}
			q.mentions["."+n.Sel.Name] = true
			ast.Inspect(n.X, visit)
			return false
		case *ast.Ident:
			q.mentions[n.Name] = true
		}
		return true
	}
	ast.Inspect(d, visit)
}

// reached are all pieces that can be come to from one.
func (g graph) reached(from string) map[string]bool {
	seen := map[string]bool{}
	open := []string{from}
	for len(open) > 0 {
		name := open[len(open)-1]
		open = open[:len(open)-1]
		q := g[name]
		if q == nil || seen[name] {
			continue
		}
		seen[name] = true
		open = slices.AppendSeq(open, maps.Keys(q.mentions))
	}
	return seen
}

func (g graph) choose(pkg string) ([]choice, error) {
	var out []choice
	covered := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(g)) {
		if !isTest(name) {
			continue
		}
		q, reached := g[name], g.reached(name)
		maps.Copy(covered, reached)
		chosen := q.tagged
		for other := range reached {
			chosen = chosen || g[other].real
		}
		if chosen {
			out = append(out, choice{test{pkg, name}, !q.tagged})
		}
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(g)) {
		if g[name].real && !covered[name] {
			errs = append(errs, fmt.Errorf("%s: no test comes to %s, which reaches Apache Kafka", g[name].places[0], strings.TrimPrefix(name, ".")))
		}
	}
	return out, errors.Join(errs...)
}

// isTest reports whether go test takes a function of that name for a test.
func isTest(name string) bool {
	rest, ok := strings.CutPrefix(name, "Test")
	if !ok || name == "TestMain" {
		return false
	}
	r, _ := utf8.DecodeRuneInString(rest)
	return !unicode.IsLower(r)
}
