package avro

import (
	"strings"

	"github.com/kcm-cli/kcm/internal/codec"
)

// op is what a step does with the bytes before it.
type op uint8

const (
	opText op = iota // nothing: it only writes
	opOptional
	opString
	opInt
	opLong
	opBoolean
	opEnum
	opArray
	opMap
	opUnion
	opRecord
	opFloat
	opDouble
	opBytes
	opFixed
	opLatin      // bytes in the specification's JSON
	opFixedLatin // the same for fixed
	opDecimal
	opFixedDecimal
	opBigDecimal
	opUUID
	opDate
	opTime
	opTimestamp
	opDuration
)

// step writes text and then a value.
type step struct {
	text  string
	lead  codec.Literal // text
	op    op
	flag  uint8 // opOptional: the number of the null branch; opTimestamp: 1 without a zone
	nest  int   // how deep the value stands in the program's output
	n     int   // a size, a scale, decimals of a second; opOptional: steps to leave out for null
	scale int   // of opFixedDecimal
	more  *more
}

// more is what few steps need.
type more struct {
	program *program   // of items, of a record
	union   []*program // a branch each
	symbols []string   // of an enum, in JSON
}

// program writes the JSON of one type. Records within it, if small, are part of
// it; others, and what may repeat, have a program of their own.
type program struct {
	steps  []step
	paths  []string // of each step's value, for messages
	tail   string   // written behind the last step
	height int      // levels of JSON that it opens itself
	size   int      // of its texts
	done   bool
	single *step // when there is no more to it than this: a number, a string
}

// What a program may have to become a part of others. It keeps programs small
// where a schema doubles itself with each level.
const (
	maxInlineSteps  = 16
	maxInlineText   = 1024
	maxInlineHeight = 16
)

// compiler makes programs of types.
type compiler struct {
	tagged  bool
	records map[*typ]*program
	widest  int // the longest text, or run of zeros, that a value brings
}

// compile makes a type's program; ratio bounds how many bytes of JSON a byte of
// a payload makes.
func compile(root *typ, tagged bool) (p *program, ratio int) {
	c := &compiler{tagged: tagged, records: map[*typ]*program{}}
	p = c.program(root)
	// A byte of a payload chooses one value at most. Around it stand its own text,
	// a symbol, what is written where records end, and a number's digits.
	return p, 4*c.widest + 64
}

// program makes a program of any type.
func (c *compiler) program(t *typ) *program {
	t = t.real()
	if t.kind == kindRecord {
		return c.record(t)
	}
	b := builder{compiler: c, program: &program{}}
	b.value(t)
	return b.finish()
}

// record makes a record's program once. Within the record itself it is not done
// yet, and so it is called, not copied.
func (c *compiler) record(t *typ) *program {
	if p, ok := c.records[t]; ok {
		return p
	}
	b := builder{compiler: c, program: &program{}}
	c.records[t] = b.program
	b.open("{")
	for i, f := range t.fields {
		if i > 0 {
			b.write(",")
		}
		b.write(quoted(f.name) + ":")
		b.path = f.name
		b.value(f.typ)
	}
	b.shut("}")
	return b.finish()
}

// builder adds to a program. Text waits until the next step takes it along.
type builder struct {
	*compiler
	*program
	waiting strings.Builder
	nest    int
	path    string
}

func (b *builder) finish() *program {
	b.tail = b.waiting.String()
	b.size += len(b.tail)
	b.widest = max(b.widest, len(b.tail))
	b.done = true
	if len(b.steps) == 1 && b.height == 0 && b.tail == "" && b.steps[0].text == "" {
		b.single = &b.steps[0]
	}
	return b.program
}

func (b *builder) write(text string) { b.waiting.WriteString(text) }

func (b *builder) open(text string) {
	b.write(text)
	b.nest++
	b.height = max(b.height, b.nest)
}

func (b *builder) shut(text string) {
	b.write(text)
	b.nest--
}

func (b *builder) add(s step) {
	s.text = b.waiting.String() + s.text
	s.nest += b.nest
	b.waiting.Reset()
	b.size += len(s.text)
	b.widest = max(b.widest, len(s.text))
	s.lead = codec.NewLiteral([]byte(s.text))
	b.steps = append(b.steps, s)
	b.paths = append(b.paths, b.path)
}

// value adds what writes one value.
func (b *builder) value(t *typ) {
	t = t.real()
	switch t.kind {
	case kindNull:
		b.write("null")
	case kindRecord:
		b.call(b.record(t))
	case kindUnion:
		b.union(t)
	case kindArray:
		b.collection(opArray, t)
	case kindMap:
		b.collection(opMap, t)
	case kindEnum:
		m := &more{}
		for _, symbol := range t.symbols {
			m.symbols = append(m.symbols, quoted(symbol))
			b.widest = max(b.widest, len(symbol))
		}
		b.add(step{op: opEnum, more: m})
	default:
		b.scalar(t)
	}
}

func (b *builder) collection(o op, t *typ) {
	b.height = max(b.height, b.nest+1)
	b.add(step{op: o, more: &more{program: b.compiler.program(t.items)}})
}

// call has a record written: by its steps if they are few, else by its program.
func (b *builder) call(p *program) {
	if !p.done || len(p.steps) > maxInlineSteps || p.size > maxInlineText || p.height > maxInlineHeight {
		b.add(step{op: opRecord, more: &more{program: p}})
		return
	}
	outer := b.path
	for i, s := range p.steps {
		b.path = join(outer, p.paths[i])
		b.add(s)
	}
	b.path = outer
	b.write(p.tail)
	b.height = max(b.height, b.nest+p.height)
}

// union adds a step that chooses. The usual one, of null and one more type, is
// followed by the steps of that type, which null leaves out.
func (b *builder) union(t *typ) {
	for i := range t.branches {
		if len(t.branches) == 2 && t.branches[i].real().kind == kindNull {
			b.optional(t.branches[1-i], i)
			return
		}
	}
	m := &more{}
	for _, branch := range t.branches {
		bb := builder{compiler: b.compiler, program: &program{}}
		bb.branch(branch)
		m.union = append(m.union, bb.finish())
	}
	b.add(step{op: opUnion, more: m})
}

func (b *builder) optional(t *typ, null int) {
	at := len(b.steps)
	b.add(step{op: opOptional, flag: uint8(null)})
	b.branch(t)
	if b.waiting.Len() > 0 {
		b.add(step{op: opText})
	}
	b.steps[at].n = len(b.steps) - at - 1
}

func (b *builder) branch(t *typ) {
	if !b.tagged || t.real().kind == kindNull {
		b.value(t)
		return
	}
	b.open("{" + quoted(t.typeName()) + ":")
	b.value(t)
	b.shut("}")
}

func (b *builder) scalar(t *typ) {
	if t.logical != plain && !b.tagged {
		b.meaning(t)
		return
	}
	s := step{n: t.size}
	switch t.kind {
	case kindBoolean:
		s.op = opBoolean
	case kindInt:
		s.op = opInt
	case kindLong:
		s.op = opLong
	case kindFloat:
		s.op = opFloat
	case kindDouble:
		s.op = opDouble
	case kindString:
		s.op = opString
	case kindBytes:
		s.op = opBytes
		if b.tagged {
			s.op = opLatin
		}
	default:
		s.op = opFixed
		if b.tagged {
			s.op = opFixedLatin
		}
	}
	b.add(s)
}

// meaning adds the step of a logical type.
func (b *builder) meaning(t *typ) {
	s := step{n: t.scale}
	switch t.logical {
	case decimal:
		s.op = opDecimal
		if t.kind == kindFixed {
			s.op, s.n, s.scale = opFixedDecimal, t.size, t.scale
		}
		b.widest = max(b.widest, t.scale)
	case bigDecimal:
		s.op = opBigDecimal
	case uuid:
		s.op = opUUID
	case date:
		s.op = opDate
	case timeOfDay:
		s.op = opTime
	case timestamp:
		s.op = opTimestamp
	case localTimestamp:
		s.op, s.flag = opTimestamp, 1
	default:
		s.op = opDuration
	}
	b.add(s)
}

func quoted(s string) string { return string(codec.AppendString(nil, []byte(s))) }

func join(outer, inner string) string {
	if outer == "" || inner == "" {
		return outer + inner
	}
	return outer + "." + inner
}
