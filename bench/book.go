package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// book is everything that is measured, in the file beside the tables, so that a
// row can be measured again alone.
type book struct {
	When    time.Time
	Machine []string
	Runs    string
	Rows    []outcome
}

// openBook reads the book beside the file of -out, or begins one. A book of
// another number of records is not gone on with.
func openBook(ctx context.Context, o options) (*book, error) {
	b := &book{
		When: time.Now().UTC().Truncate(time.Minute), Machine: machine(ctx, o),
		Runs: fmt.Sprintf("%d runs of each program, %d of those that are slow, after one that counts what it gives; the programs of a row take turns. -records %d.", o.runs, o.slowRuns, o.records),
	}
	if o.out == "" || !o.resume && o.rows == "" {
		return b, nil
	}
	text, err := os.ReadFile(bookFile(o.out))
	if errors.Is(err, fs.ErrNotExist) {
		return b, nil
	}
	if err != nil {
		return nil, err
	}
	var old book
	if err := json.Unmarshal(text, &old); err != nil {
		return nil, fmt.Errorf("%s: %w", bookFile(o.out), err)
	}
	if old.Runs != b.Runs {
		return nil, fmt.Errorf("%s was measured otherwise (%s): name another -out", bookFile(o.out), old.Runs)
	}
	b.Rows = old.Rows
	return b, nil
}

func bookFile(out string) string { return strings.TrimSuffix(out, filepath.Ext(out)) + ".json" }

func (b *book) at(row string) int {
	return slices.IndexFunc(b.Rows, func(o outcome) bool { return o.Row == row })
}

// has reports whether the row was measured without a failure.
func (b *book) has(row string) bool {
	i := b.at(row)
	return i >= 0 && b.Rows[i].Failed == ""
}

func (b *book) put(o outcome) {
	if i := b.at(o.Row); i >= 0 {
		b.Rows[i] = o
		return
	}
	b.Rows = append(b.Rows, o)
}

// order sorts the outcomes as the rows stand; those of rows that are no more go.
func (b *book) order(rows []row) {
	var sorted []outcome
	for _, r := range rows {
		if i := b.at(r.name); i >= 0 {
			sorted = append(sorted, b.Rows[i])
		}
	}
	b.Rows = sorted
}

func (b *book) save(out string) error {
	if out == "" {
		return nil
	}
	text, err := json.MarshalIndent(b, "", " ")
	if err != nil {
		return err
	}
	return replaceFile(bookFile(out), append(compact(text), '\n'))
}

// compact puts each sample on a line of its own.
func compact(text []byte) []byte {
	return regexp.MustCompile(`\{\s+"Wall": (\d+),\s+"CPU": (\d+),\s+"RSS": (\d+)\s+\}`).
		ReplaceAll(text, []byte(`{"Wall": $1, "CPU": $2, "RSS": $3}`))
}

// publish writes the tables to the files that the options name.
func (b *book) publish(o options, text string) error {
	if o.out == "" {
		return nil
	}
	if err := replaceFile(o.out, []byte(text)); err != nil || o.docs == "" {
		return err
	}
	return copyPage(o.docs, o.out)
}

// copyPage copies the tables of a file into a page.
func copyPage(page, file string) error {
	tables, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	old, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	filled, err := fillPage(old, file, string(tables))
	if err != nil {
		return fmt.Errorf("%s: %w", page, err)
	}
	return replaceFile(page, filled)
}

// replaceFile leaves the old file whole when this is cut short.
func replaceFile(path string, text []byte) error {
	part := path + ".part"
	if err := os.WriteFile(part, text, 0o644); err != nil { //nolint:gosec // reports for everybody
		return err
	}
	return os.Rename(part, path)
}

const (
	pageBegin = "<!-- begin: copied by bench from "
	pageEnd   = "<!-- end -->"
)

// fillPage puts the tables of a file between the marks of a page, their headings
// one level down.
func fillPage(page []byte, file, text string) ([]byte, error) {
	head, rest, ok := bytes.Cut(page, []byte(pageBegin))
	_, foot, ok2 := bytes.Cut(rest, []byte(pageEnd))
	if !ok || !ok2 {
		return nil, fmt.Errorf("no marks %q and %q", pageBegin, pageEnd)
	}
	lower := regexp.MustCompile(`(?m)^#`).ReplaceAllString(text, "##")
	return fmt.Appendf(nil, "%s%s%s -->\n%s%s%s", head, pageBegin, filepath.ToSlash(file), lower, pageEnd, foot), nil
}
