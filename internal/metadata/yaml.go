package metadata

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
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

// converter turns the library's tree into nodes. The first error stays.
type converter struct {
	name    string
	anchors map[string]*node
	err     *parseError
}

func (c *converter) fail(tk *token.Token, format string, args ...any) *node {
	if c.err == nil {
		c.err = &parseError{tk.Position.Line, tk.Position.Column, fmt.Sprintf(format, args...)}
	}
	return &node{kind: null, line: tk.Position.Line, col: tk.Position.Column, size: 1}
}

func (c *converter) convert(n ast.Node) *node {
	tk := n.GetToken()
	out := &node{text: tk.Value, line: tk.Position.Line, col: tk.Position.Column, size: 1}
	switch n := n.(type) {
	case *ast.StringNode:
	case *ast.LiteralNode:
		out.text = n.Value.Value
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		out.kind = number
	case *ast.BoolNode:
		out.kind = boolean
	case *ast.NullNode:
		out.kind = null
	case *ast.SequenceNode:
		out.kind, out.text = list, ""
		c.items(out, n)
	case *ast.MappingNode:
		out.kind, out.text = mapping, ""
		c.pairs(out, n.Values, tk)
	case *ast.MappingValueNode:
		out.kind, out.text = mapping, ""
		c.pairs(out, []*ast.MappingValueNode{n}, tk)
	case *ast.AnchorNode:
		out = c.convert(n.Value)
		c.anchors[n.Name.GetToken().Value] = out
	case *ast.AliasNode:
		return c.alias(n)
	case *ast.TagNode:
		return c.tag(n)
	default:
		return c.fail(tk, "kcm does not read this part of YAML")
	}
	return out
}

func (c *converter) items(out *node, n *ast.SequenceNode) {
	for _, v := range n.Values {
		if c.err != nil {
			return
		}
		item := unsplit(v)
		if item == nil {
			item = c.convert(v)
		}
		out.items = append(out.items, item)
		c.grow(out, item, v.GetToken())
	}
}

// unsplit puts HOST:PORT together again. In a list inside braces the library
// takes a plain a:1 for a mapping, although only a colon with a blank behind it
// makes one. It returns nil for anything else.
func unsplit(n ast.Node) *node {
	m, ok := n.(*ast.MappingNode)
	if !ok || m.IsFlowStyle || len(m.Values) != 1 {
		return nil
	}
	v := m.Values[0]
	key, colon, value := v.Key.GetToken(), v.Start, v.Value.GetToken()
	plain := func(tk *token.Token) bool {
		return tk.Type != token.SingleQuoteType && tk.Type != token.DoubleQuoteType
	}
	if _, isScalar := v.Value.(ast.ScalarNode); !isScalar || !plain(key) || !plain(value) || value.Type == token.ImplicitNullType {
		return nil
	}
	if value.Position.Line != colon.Position.Line || value.Position.Column != colon.Position.Column+1 {
		return nil
	}
	return &node{text: key.Value + ":" + value.Value, line: key.Position.Line, col: key.Position.Column, size: 1}
}

// grow counts child into parent's size.
func (c *converter) grow(parent, child *node, at *token.Token) {
	if parent.size += child.size; parent.size > maxSize {
		c.fail(at, "aliases make this document larger than %d values", maxSize)
	}
}

func (c *converter) pairs(out *node, values []*ast.MappingValueNode, at *token.Token) {
	seen := make(map[string]int, len(values))
	var merges []*node
	for _, v := range values {
		if c.err != nil {
			return
		}
		if _, ok := v.Key.(*ast.MergeKeyNode); ok {
			merges = append(merges, c.merge(v)...)
			continue
		}
		p, ok := c.pair(v)
		if !ok {
			return
		}
		if first, dup := seen[p.key]; dup {
			f := out.pairs[first]
			c.fail(v.Key.GetToken(), "%s is given twice; the other place is %s", keyWord(p), Origin{c.name, f.line, f.col})
			return
		}
		seen[p.key] = len(out.pairs)
		out.pairs = append(out.pairs, p)
		c.grow(out, p.value, v.Key.GetToken())
	}
	for _, m := range merges {
		for _, p := range m.pairs {
			if _, ok := seen[p.key]; !ok {
				seen[p.key] = len(out.pairs)
				out.pairs = append(out.pairs, p)
				c.grow(out, p.value, at)
			}
		}
	}
	if len(out.pairs) > 0 && len(merges) == 0 {
		out.line, out.col = at.Position.Line, at.Position.Column
		if at.Type == token.MappingValueType {
			// The library's token of a block mapping is its first colon.
			out.line, out.col = out.pairs[0].line, out.pairs[0].col
		}
	}
}

// keyWord quotes a key for a message, unless it may be the tail of a secret.
func keyWord(p pair) string {
	switch p.flaw {
	case bare:
		return "a key without a value"
	case tight, glued:
		return "a key"
	}
	return quoteKey(p.key)
}

func (c *converter) pair(v *ast.MappingValueNode) (pair, bool) {
	var key ast.Node = v.Key
	if explicit, ok := key.(*ast.MappingKeyNode); ok {
		key = explicit.Value
	}
	k := c.convert(key)
	if c.err != nil {
		return pair{}, false
	}
	if k.kind == list || k.kind == mapping || k.kind == null {
		c.fail(v.Key.GetToken(), "%s cannot be a key", k.kind)
		return pair{}, false
	}
	value := c.convert(v.Value)
	return pair{key: k.text, line: k.line, col: k.col, value: value, flaw: flawOf(key, v)}, c.err == nil
}

func flawOf(key ast.Node, v *ast.MappingValueNode) flaw {
	colon, word := v.Start, key.GetToken()
	switch {
	case colon == nil || colon.Type == token.MappingKeyType:
		return sound
	case colon.Type != token.MappingValueType:
		return bare
	case !isPlain(word):
		return sound
	case colon.Next != nil && isPlain(colon.Next) && touches(colon, colon.Next):
		return tight
	case word.Prev != nil && word.Prev.Type == token.CollectEntryType && touches(word.Prev, word):
		return glued
	}
	return sound
}

// touches reports that b stands right behind a, one character. Columns do not
// tell: the library counts no tabs.
func touches(a, b *token.Token) bool {
	return a.Position.Line == b.Position.Line && !strings.ContainsAny(b.Origin[:min(1, len(b.Origin))], " \t\n")
}

// merge returns the mappings that a << key names.
func (c *converter) merge(v *ast.MappingValueNode) []*node {
	value := c.convert(v.Value)
	all := []*node{value}
	if value.kind == list {
		all = value.items
	}
	for _, m := range all {
		if c.err == nil && m.kind != mapping {
			c.fail(v.Key.GetToken(), "<< takes a mapping or a list of mappings")
		}
	}
	return all
}

func (c *converter) alias(n *ast.AliasNode) *node {
	name := n.Value.GetToken().Value
	target, ok := c.anchors[name]
	if !ok {
		return c.fail(n.GetToken(), "no anchor of this name stands above; quote a text that begins with *")
	}
	return target
}

func (c *converter) tag(n *ast.TagNode) *node {
	if n.Value == nil {
		return c.fail(n.GetToken(), emptyTag)
	}
	out := c.convert(n.Value)
	switch n.GetToken().Value {
	case "!!str":
		if out.kind == number || out.kind == boolean {
			asText := *out
			asText.kind = text
			return &asText
		}
		return out
	case "!!map", "!!seq", "!!int", "!!float", "!!bool", "!!null":
		return out
	}
	return c.fail(n.GetToken(), unknownTag)
}
