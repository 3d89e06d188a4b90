package filter

import (
	"math/big"
	"regexp"
	"slices"

	"github.com/itchyny/gojq"
)

// compileFast turns the common kinds of expression into a tree that needs no
// values but the ones it looks at: comparisons and tests on paths, joined by
// and, or, not. nil means that gojq has to run it. Where the tree cannot tell,
// as for a path into a string, which is an error, it is unsure about the record,
// and gojq decides. So there is one authority on what an expression means.
func compileFast(q *gojq.Query) node {
	c := compiler{}
	if n, ok := c.root(q); ok {
		return n
	}
	return nil
}

// compiler compiles expressions relative to a path.
type compiler struct{ base path }

// root compiles what stands at the top: there, select(EXPR) says no more than
// EXPR, because an output that is missing and one that is false come to the same.
func (c compiler) root(q *gojq.Query) (node, bool) {
	if !plain(q) {
		return nil, false
	}
	if cond, ok := selectOf(q); ok {
		return c.boolean(cond)
	}
	if q.Term == nil && q.Op == gojq.OpPipe {
		if cond, ok := selectOf(q.Left); ok && plain(q.Left) {
			left, ok1 := c.boolean(cond)
			right, ok2 := c.root(q.Right)
			return both{left, right}, ok1 && ok2
		}
	}
	if t := q.Term; t != nil && t.Type == gojq.TermTypeQuery && len(t.SuffixList) == 0 {
		return c.root(t.Query)
	}
	return c.boolean(q)
}

// plain reports that q defines and binds nothing.
func plain(q *gojq.Query) bool {
	return q != nil && q.Meta == nil && len(q.Imports) == 0 && len(q.FuncDefs) == 0 && len(q.Patterns) == 0
}

func selectOf(q *gojq.Query) (cond *gojq.Query, ok bool) {
	args, ok := callOf(q, "select", 1)
	if !ok {
		return nil, false
	}
	return args[0], true
}

// callOf returns the arguments of q if it is a call of that function.
func callOf(q *gojq.Query, name string, arity int) ([]*gojq.Query, bool) {
	if q == nil || q.Term == nil || q.Term.Type != gojq.TermTypeFunc || len(q.Term.SuffixList) > 0 || len(q.FuncDefs) > 0 {
		return nil, false
	}
	f := q.Term.Func
	return f.Args, f.Name == name && len(f.Args) == arity
}

// boolean compiles an expression that has exactly one output, by its truth.
func (c compiler) boolean(q *gojq.Query) (node, bool) {
	if !plain(q) {
		return nil, false
	}
	if q.Term != nil {
		return c.term(q)
	}
	switch q.Op {
	case gojq.OpAnd, gojq.OpOr:
		left, ok1 := c.boolean(q.Left)
		right, ok2 := c.boolean(q.Right)
		if q.Op == gojq.OpOr {
			return either{left, right}, ok1 && ok2
		}
		return both{left, right}, ok1 && ok2
	case gojq.OpPipe:
		return c.pipe(q)
	case gojq.OpEq, gojq.OpNe, gojq.OpGt, gojq.OpLt, gojq.OpGe, gojq.OpLe:
		return c.comparison(q)
	default:
		return nil, false
	}
}

func (c compiler) term(q *gojq.Query) (node, bool) {
	if p, ok := c.path(q.Term); ok {
		return truth{p}, true
	}
	if t := q.Term; t.Type == gojq.TermTypeQuery && len(t.SuffixList) == 0 {
		return c.boolean(t.Query)
	}
	return c.test(q)
}

// pipe compiles PATH | REST and CONDITION | not.
func (c compiler) pipe(q *gojq.Query) (node, bool) {
	if !plain(q.Left) || !plain(q.Right) {
		return nil, false
	}
	if q.Left.Term != nil {
		if p, ok := c.path(q.Left.Term); ok {
			return compiler{base: p}.boolean(q.Right)
		}
	}
	if isNot(q.Right) {
		n, ok := c.boolean(q.Left)
		return negation{n}, ok
	}
	return nil, false
}

func isNot(q *gojq.Query) bool {
	_, ok := callOf(q, "not", 0)
	return ok
}

// test compiles a function of the text or object at hand.
func (c compiler) test(q *gojq.Query) (node, bool) {
	p := c.base
	if isNot(q) {
		return negation{truth{p}}, true
	}
	for name, kind := range map[string]testKind{
		"startswith": testPrefix, "endswith": testSuffix, "contains": testContains, "has": testHas, "test": testRegexp,
	} {
		args, ok := callOf(q, name, 1)
		if !ok {
			continue
		}
		text, ok := constantOf(args[0]).(string)
		if !ok {
			return nil, false
		}
		if kind != testRegexp {
			return test{path: p, kind: kind, text: []byte(text)}, true
		}
		m, err := newMatcher(text)
		return test{path: p, kind: kind, match: m}, err == nil
	}
	if args, ok := callOf(q, "test", 2); ok {
		text, ok1 := constantOf(args[0]).(string)
		if _, err := regexp.Compile(text); err != nil || !ok1 || constantOf(args[1]) != "i" {
			return nil, false
		}
		m, err := newMatcher("(?i)" + text)
		return test{path: p, kind: testRegexp, match: m}, err == nil
	}
	return nil, false
}

func (c compiler) comparison(q *gojq.Query) (node, bool) {
	left, leftPath, ok1 := c.operand(q.Left)
	right, rightPath, ok2 := c.operand(q.Right)
	// Between constants nothing would ask for the path that all this is about.
	return comparison{left, right, q.Op}, ok1 && ok2 && (leftPath || rightPath)
}

func (c compiler) operand(q *gojq.Query) (o operand, isPath, ok bool) {
	if !plain(q) || q.Term == nil {
		return o, false, false
	}
	if p, ok := c.path(q.Term); ok {
		return operand{path: &p}, true, true
	}
	d, ok := datumOf(constantOf(q))
	return operand{constant: d}, false, ok
}

// path compiles a term that follows names and indexes from the base.
func (c compiler) path(t *gojq.Term) (path, bool) {
	p := path{root: c.base.root, steps: slices.Clone(c.base.steps)}
	switch t.Type {
	case gojq.TermTypeIdentity:
	case gojq.TermTypeIndex:
		if !p.follow(t.Index) {
			return p, false
		}
	case gojq.TermTypeQuery:
		if !plain(t.Query) || t.Query.Term == nil {
			return p, false
		}
		var ok bool
		if p, ok = c.path(t.Query.Term); !ok {
			return p, false
		}
	default:
		return p, false
	}
	for _, s := range t.SuffixList {
		if s.Index == nil || s.Iter || s.Optional || !p.follow(s.Index) {
			return p, false
		}
	}
	return p, true
}

// follow adds one step.
func (p *path) follow(i *gojq.Index) bool {
	var s step
	switch {
	case i.Name != "":
		s.name = i.Name
	case i.Str != nil && i.Str.Queries == nil:
		s.name = i.Str.Str
	case i.Str == nil && !i.IsSlice && i.Start != nil:
		switch key := constantOf(i.Start).(type) {
		case string:
			s.name = key
		case int:
			s.array, s.index = true, key
		default:
			return false
		}
		if s.index < 0 {
			return false
		}
	default:
		return false
	}
	if p.root != rootRecord {
		p.steps = append(p.steps, s)
		return true
	}
	if s.array {
		return false
	}
	p.root = roots[s.name] // what the record has not, or has only sometimes, is for gojq
	return p.root != rootRecord
}

// notConstant is the value of what is no constant.
type notConstant struct{}

// constantOf returns what a literal stands for in gojq.
func constantOf(q *gojq.Query) any {
	if !plain(q) || q.Term == nil || !isLiteral(q.Term) {
		return notConstant{}
	}
	v, ok := q.Run(nil).Next()
	if _, failed := v.(error); failed || !ok {
		return notConstant{}
	}
	return v
}

func isLiteral(t *gojq.Term) bool {
	if len(t.SuffixList) > 0 {
		return false
	}
	switch t.Type {
	case gojq.TermTypeNull, gojq.TermTypeTrue, gojq.TermTypeFalse, gojq.TermTypeNumber:
		return true
	case gojq.TermTypeString:
		return t.Str.Queries == nil
	case gojq.TermTypeUnary:
		return t.Unary.Term.Type == gojq.TermTypeNumber && len(t.Unary.Term.SuffixList) == 0
	case gojq.TermTypeQuery:
		return plain(t.Query) && t.Query.Term != nil && isLiteral(t.Query.Term)
	default:
		return false
	}
}

// datumOf makes a datum of a constant.
func datumOf(v any) (datum, bool) {
	switch v := v.(type) {
	case nil:
		return datum{kind: kindNull}, true
	case bool:
		if v {
			return datum{kind: kindTrue}, true
		}
		return datum{kind: kindFalse}, true
	case int:
		return datum{kind: kindNumber, number: numberInt, whole: v}, true
	case float64:
		return datum{kind: kindNumber, number: numberFloat, float: v}, true
	case *big.Int:
		return datum{kind: kindNumber, number: numberOther, other: v}, true
	case string:
		return datum{kind: kindString, text: []byte(v)}, true
	default:
		return datum{}, false
	}
}
