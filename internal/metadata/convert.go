package metadata

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

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
