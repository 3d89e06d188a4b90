package metadata

import (
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/kcm-cli/kcm/internal/fault"
)

// document is one text to be read, and what its relative paths mean.
type document struct {
	name   string // as messages show it
	dir    string // what relative paths are relative to; empty: the working directory
	remote bool   // read over HTTP: a relative path means nothing
	entry  bool   // an entry of a manifest, which holds no manifests
	data   []byte
}

// decoder reads the nodes of one document. Its first error stays; after it
// every method returns zero values, so that callers check once, at the end.
type decoder struct {
	doc      document
	getenv   func(string) (string, bool)
	now      time.Time
	decoders []string
	from     *reading // what reads files
	err      error
}

func (d *decoder) fail(at Origin, format string, args ...any) {
	if d.err == nil {
		d.err = fault.New(fault.Usage, "%s: %s", at, fmt.Sprintf(format, args...))
	}
}

func (d *decoder) failAt(n *node, format string, args ...any) { d.fail(d.at(n), format, args...) }

func (d *decoder) at(n *node) Origin { return d.place(n.line, n.col) }

func (d *decoder) place(line, col int) Origin {
	return Origin{File: d.doc.name, Line: line, Column: col}
}

// field is one key that a mapping may hold. Its read is called with the key's
// name and value; the value is never null.
type field struct {
	name string
	read func(key string, n *node)
}

// fields reads a mapping whose keys are all known. What is the mapping in a
// message: "a cluster".
func (d *decoder) fields(n *node, what string, fields []field) {
	if n.kind != mapping {
		d.failAt(n, "%s must be a mapping, this is %s", what, n.kind)
		return
	}
	for _, p := range n.pairs {
		f := find(fields, p.key)
		switch {
		case d.halfKey(p, what):
		case f == nil:
			d.unknownKey(p, what, fields)
		case p.value.kind == null:
			d.fail(d.place(p.line, p.col), "%s has no value; give one or leave the key out", p.key)
		default:
			f.read(p.key, p.value)
		}
	}
}

func find(fields []field, key string) *field {
	for i := range fields {
		if fields[i].name == key {
			return &fields[i]
		}
	}
	return nil
}

func (d *decoder) unknownKey(p pair, what string, fields []field) {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	at := d.place(p.line, p.col)
	switch p.flaw {
	case glued:
		d.fail(at, "%s has no such key; %s%s", what, quoteComma, allowed(p.key, names))
	default:
		d.fail(at, "%s has no key %s%s", what, quoteKey(p.key), allowed(p.key, names))
	}
}

const quoteComma = "quote the value before it if that holds a comma"

// halfKey refuses a key without a colon, or without a blank behind it. It is
// not shown: where a value before it holds a comma, it is the tail of that value.
func (d *decoder) halfKey(p pair, what string) bool {
	at := d.place(p.line, p.col)
	switch p.flaw {
	case bare:
		d.fail(at, "a key without a value in %s; %s", what, quoteComma)
	case tight:
		d.fail(at, "no blank behind the colon of a key in %s; %s", what, quoteComma)
	default:
		return false
	}
	return true
}

// quoteKey quotes a key, if it is one and not a line that lost its indentation.
func quoteKey(key string) string {
	if len(key) > 64 || strings.ContainsFunc(key, unicode.IsSpace) {
		return "of this form"
	}
	return strconv.Quote(key)
}

// allowed lists what stands in the place of a wrong word, the nearest first.
func allowed(word string, words []string) string {
	advice := didYouMean(word, words)
	if advice == "" {
		advice = ";"
	}
	return advice + " allowed are " + strings.Join(words, ", ")
}

func didYouMean(word string, words []string) string {
	if near := fault.Nearest(word, words); near != "" {
		return fmt.Sprintf(`; did you mean "%s"?`, near)
	}
	return ""
}

// named calls read for each entry of a mapping from names to mappings.
func (d *decoder) named(n *node, what string, read func(name string, at Origin, n *node)) {
	if n.kind != mapping {
		d.failAt(n, "%s must be a mapping from names, this is %s", what, n.kind)
		return
	}
	for _, p := range n.pairs {
		at := d.place(p.line, p.col)
		d.checkName(at, p.key, "/:=,")
		read(p.key, at, p.value)
	}
}

// checkName refuses names that other places could not tell apart: clusters and
// streams stand in CLUSTER/TOPIC, NAME=URL, cluster:key=value and in lists.
func (d *decoder) checkName(at Origin, name, forbidden string) {
	if why := badName(name, forbidden); why != "" {
		d.fail(at, "%s", why)
	}
}

func badName(name, forbidden string) string {
	switch i := strings.IndexFunc(name, func(r rune) bool {
		return strings.ContainsRune(forbidden, r) || unicode.IsSpace(r) || !unicode.IsPrint(r)
	}); {
	case name == "":
		return "a name is empty"
	case len(name) > 255:
		return "a name is longer than 255 bytes"
	case i < 0:
		return ""
	case strings.ContainsRune(forbidden, rune(name[i])):
		return fmt.Sprintf("name %q holds %q; names hold no blank and none of %s", name, name[i], strings.Join(strings.Split(forbidden, ""), " "))
	default:
		return fmt.Sprintf("name %q holds a blank or a control character", name)
	}
}

// entries returns the items of a list that must not be empty.
func (d *decoder) entries(key string, n *node) []*node {
	switch {
	case n.kind != list:
		d.failAt(n, "%s must be a list, this is %s", key, n.kind)
	case len(n.items) == 0:
		d.failAt(n, "%s is an empty list", key)
	}
	return n.items
}

// text reads a string and expands it.
func (d *decoder) text(key string, n *node) string {
	if n.kind != text {
		advice := ""
		if n.kind == number || n.kind == boolean {
			advice = ": quote it"
		}
		d.failAt(n, "%s must be a text, this is %s%s", key, n.kind, advice)
		return ""
	}
	return d.expand(key, n)
}

// scalar reads a string, which it expands, or a number or boolean as the file
// has it.
func (d *decoder) scalar(key string, n *node) string {
	if n.kind == number || n.kind == boolean {
		return n.text
	}
	return d.text(key, n)
}

// filled reads a text that must not be empty.
func (d *decoder) filled(key string, n *node) string {
	s := d.text(key, n)
	if s == "" {
		d.failAt(n, "%s is empty", key)
	}
	return s
}

// flag reads true or false.
func (d *decoder) flag(key string, n *node) bool {
	word := n.text
	if n.kind == text && expands(n.text) {
		word = d.expand(key, n)
	} else if n.kind != boolean {
		d.failAt(n, "%s must be true or false, this is %s", key, n.kind)
		return false
	}
	b, err := strconv.ParseBool(word)
	if err != nil {
		d.failAt(n, "%s must be true or false, not %s", key, quote(n))
	}
	return b
}

// word reads one word of a fixed list.
func (d *decoder) word(key string, n *node, words []string) string {
	w := d.text(key, n)
	if slices.Contains(words, w) {
		return w
	}
	d.failAt(n, "%s cannot be %s%s", key, quote(n), allowed(n.text, words))
	return ""
}

// path reads a path and makes it absolute: the cluster's description says
// relative to what its properties are, and must not be applied twice.
func (d *decoder) path(key string, n *node) string {
	if strings.HasPrefix(n.text, filePrefix) {
		d.failAt(n, "%s is a path already; leave out file:", key)
	}
	return absolute(d.resolve(key, n, d.filled(key, n)))
}

func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil && path != "" {
		return abs
	}
	return path
}

// resolve makes a path that is relative to the document relative to the working
// directory.
func (d *decoder) resolve(key string, n *node, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	if d.doc.remote {
		d.failAt(n, "%s must be an absolute path: this source has no folder on this machine", key)
	}
	return filepath.Join(d.doc.dir, path)
}

// quote quotes a value for a message the way the file has it: never what an
// expansion made of it, and never the user-info of an address.
func quote(n *node) string {
	s := strconv.Quote(hideUserInfo(n.text))
	if len(s) > 200 {
		s = s[:200] + `…"`
	}
	if expands(n.text) {
		s += " (as expanded)"
	}
	return s
}

func hideUserInfo(s string) string {
	at := strings.LastIndexByte(s, '@')
	if at < 0 {
		return s
	}
	if head, tail, ok := strings.Cut(s[:at], "://"); ok && tail != "" {
		return head + "://" + mask + s[at:]
	}
	if strings.ContainsRune(s[:at], ':') {
		return mask + s[at:]
	}
	return s
}

// maskedURL shows an address without its user-info and its query, which may
// both hold secrets.
func maskedURL(u *url.URL) string {
	shown := *u
	if shown.User != nil {
		shown.User = url.User(mask)
	}
	if shown.RawQuery != "" {
		shown.RawQuery = "…"
	}
	shown.Fragment = ""
	return strings.Replace(shown.String(), url.PathEscape(mask), mask, 1)
}
