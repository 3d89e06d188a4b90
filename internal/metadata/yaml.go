package metadata

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
)

// kind is what a node of a document is.
type kind uint8

const (
	text    kind = iota // a string
	number              // an integer or a float
	boolean             // true or false
	null                // nothing at all
	list
	mapping
)

// String gives the kind as messages call it.
func (k kind) String() string {
	return [...]string{"a text", "a number", "a boolean", "nothing", "a list", "a mapping"}[k]
}

// node is one value of a document, with aliases and merge keys resolved.
// Aliases share nodes, so a node may be met twice but never contains itself.
type node struct {
	kind      kind
	text      string // of a scalar: as the file has it, quotes and escapes undone
	line, col int
	items     []*node // of a list
	pairs     []pair  // of a mapping
	size      int     // nodes below and including this one, aliases counted in full
}

// pair is one entry of a mapping.
type pair struct {
	key       string
	line, col int
	value     *node
	flaw      flaw
}

// flaw is what makes a key inside braces look like the tail of a value that
// holds a comma. Such a key may be part of a secret and is not shown.
type flaw uint8

const (
	sound flaw = iota
	bare       // without even a colon
	tight      // no blank behind the colon: YAML would take key and value for one text
	glued      // no blank between it and the comma before it
)

// get returns the value of a key of a mapping, nil if there is none.
func (n *node) get(key string) *node {
	for _, p := range n.pairs {
		if p.key == key {
			return p.value
		}
	}
	return nil
}

// maxSize bounds the nodes of a document: aliases of aliases grow without end.
const maxSize = 1_000_000

// parseError is what is wrong with a text as YAML, and where. Its message never
// holds any of the text.
type parseError struct {
	line, col int
	message   string
}

// parseYAML reads the documents of a text, which messages call name. An empty
// document is a null.
func parseYAML(name string, data []byte) ([]*node, *parseError) {
	src, perr := clean(data)
	if perr != nil {
		return nil, perr
	}
	file, perr := parseTokens(src)
	if perr != nil {
		return nil, perr
	}
	return convertAll(name, file)
}

// parseTokens scans and parses; the library's panics on malformed text become
// errors.
func parseTokens(src string) (file *ast.File, perr *parseError) {
	defer func() {
		if r := recover(); r != nil {
			file, perr = nil, &parseError{1, 1, notYAML}
		}
	}()
	tokens := lexer.Tokenize(src)
	if perr := checkShape(tokens); perr != nil {
		return nil, perr
	}
	if perr := checkTokens(tokens); perr != nil {
		return nil, perr
	}
	if perr := checkLastTag(src, tokens); perr != nil {
		return nil, perr
	}
	// Duplicate keys are found here, where both places can be named.
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err == nil {
		return file, nil
	}
	var known yaml.Error
	if !errors.As(err, &known) || known.GetToken() == nil {
		return nil, &parseError{1, 1, notYAML}
	}
	pos := known.GetToken().Position
	return nil, explain(src, pos.Line, pos.Column, known.GetMessage())
}

// clean checks that data is text and normalizes its line ends, so that lines
// and columns mean what an editor shows.
func clean(data []byte) (string, *parseError) {
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		return "", &parseError{1, 1, "this is UTF-16; save it as UTF-8"}
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	data = bytes.ReplaceAll(data, []byte("\r"), []byte("\n"))
	line, col, marks := 1, 1, 0
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			return "", &parseError{line, col, "a byte that is not UTF-8"}
		case r < ' ' && r != '\t' && r != '\n', r == 0x7f:
			return "", &parseError{line, col, fmt.Sprintf("a control character (%U) cannot stand in YAML", r)}
		}
		if r < utf8.RuneSelf && isMark[r] {
			marks++
		}
		if marks > maxMarks {
			return "", &parseError{line, col, fmt.Sprintf("more than %d lines, keys and list entries in one file; split it, a directory is a source too", maxMarks)}
		}
		if i, col = i+n, col+1; r == '\n' {
			line, col = line+1, 1
		}
	}
	return string(data), nil
}

// convertAll turns each document of a file into a node.
func convertAll(name string, file *ast.File) ([]*node, *parseError) {
	var docs []*node
	for _, d := range file.Docs {
		if _, ok := d.Body.(*ast.DirectiveNode); ok {
			continue // %YAML and %TAG stand in a document of their own
		}
		if d.Body == nil {
			docs = append(docs, emptyDocument(d))
			continue
		}
		c := converter{name: name, anchors: map[string]*node{}}
		n := c.convert(d.Body)
		if c.err != nil {
			return nil, c.err
		}
		docs = append(docs, n)
	}
	return docs, nil
}

func emptyDocument(d *ast.DocumentNode) *node {
	n := &node{kind: null, line: 1, col: 1}
	if d.Start != nil {
		n.line, n.col = d.Start.Position.Line, d.Start.Position.Column
	}
	return n
}
