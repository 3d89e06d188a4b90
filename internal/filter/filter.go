// Package filter decides which records are written: by patterns over what they
// are made of (-G) and by an expression over their JSON form (-w). It gets a
// record and gives a verdict. It must not know where records come from, how they
// are shown, or read a file.
//
// It looks at as little as it can: what is the same for a whole partition is
// asked once, patterns are looked for in the stored bytes wherever decoding
// would show the same, and a key or value is decoded only when something still
// open depends on it.
package filter

import (
	"strings"

	"github.com/kcm-cli/kcm/internal/codec"
	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/record"
)

// Options are the flags that filter. All of them have to hold for a record.
type Options struct {
	Grep  []string // patterns as typed, [!]SEL:RE
	Where string   // a jq expression; empty is none
	File  string   // where the expression was read from; empty is the command line
}

// Filter is what Options ask for, ready to be used. It does not change and may
// be used by several goroutines at once.
type Filter struct {
	fixed    []pattern // over names: the same for all records of a partition
	patterns []pattern // over records
	where    *where    // nil is none
}

// New interprets options; nil means that they leave nothing out. Errors are of
// kind fault.Usage and say where the trouble is.
func New(o Options) (*Filter, error) {
	f := &Filter{}
	for _, text := range o.Grep {
		p, err := parsePattern(text)
		if err != nil {
			return nil, err
		}
		if p.sel.fixed() {
			f.fixed = append(f.fixed, p)
		} else {
			f.patterns = append(f.patterns, p)
		}
	}
	if o.Where != "" {
		var err error
		if f.where, err = compileWhere(o.Where, o.File); err != nil {
			return nil, err
		}
	}
	if f.where == nil && len(f.fixed)+len(f.patterns) == 0 {
		return nil, nil
	}
	return f, nil
}

// NeedsEnvelope reports whether records may have to be seen as JSON.
func (f *Filter) NeedsEnvelope() bool { return f.where != nil }

// Uses reports whether keys and values may have to be decoded, for streams with
// these decoders.
func (f *Filter) Uses(c codec.Choice) (key, value bool) {
	if f.where != nil {
		return true, true
	}
	for _, p := range f.patterns {
		key = key || p.sel == selKey && !codec.ShowsStored(c.Key)
		value = value || p.sel == selValue && !codec.ShowsStored(c.Value)
	}
	return key, value
}

// Decoded gives the decoded key and value of the record at hand. They are
// decoded when they are first asked for.
type Decoded interface {
	Key() *record.Value
	Value() *record.Value
}

// Envelope appends a record as the JSON object that an expression is about.
type Envelope interface {
	Append(dst []byte, rec *record.Record, key, value *record.Value) []byte
}

// Origin is what all records of one partition have in common when they are
// delivered under one stream.
type Origin struct {
	Stream   string
	Split    record.Split
	Decoders codec.Choice // that Decoded uses
	Envelope Envelope     // nil unless NeedsEnvelope
}

// Worker holds what judging wants to use again. It belongs to one goroutine.
type Worker struct {
	f      *Filter
	line   []byte
	parser parser
	texts  []byte // strings of the record at hand, without their escapes
	bound  bound
}

// StopWhen has an expression fail with ErrStopped when stopped says so, in the
// middle of a record too. It is asked often.
func (w *Worker) StopWhen(stopped func() bool) { w.bound.stopped = stopped }

// Worker makes one.
func (f *Filter) Worker() *Worker { return &Worker{f: f} }

// Judge judges the records of one Origin. It belongs to its Worker's goroutine.
type Judge struct {
	w        *Worker
	rejects  bool
	patterns []placed
	view     view
	envelope Envelope
}

// placed is a pattern for one Origin.
type placed struct {
	*pattern
	decoded bool // looked for in the decoded text and not in the stored bytes
}

// Judge makes the judge for what comes from o.
func (w *Worker) Judge(o Origin) *Judge {
	j := &Judge{w: w, envelope: o.Envelope}
	for i := range w.f.fixed {
		if p := &w.f.fixed[i]; p.match.in([]byte(p.sel.name(o))) == p.negate {
			j.rejects = true
			return j
		}
	}
	for _, late := range []bool{false, true} { // what is stored is looked at first
		for i := range w.f.patterns {
			p := &w.f.patterns[i]
			if decoded := p.decoded(o.Decoders); decoded == late {
				j.patterns = append(j.patterns, placed{p, decoded})
			}
		}
	}
	j.view = view{stream: []byte(o.Stream), cluster: []byte(o.Split.Cluster), topic: []byte(o.Split.Topic), partition: o.Split.Partition}
	j.rejects = w.f.where != nil && w.f.where.never(&j.view)
	return j
}

// RejectsAll reports that no record from here is kept, whatever it holds.
func (j *Judge) RejectsAll() bool { return j.rejects }

// Keeps reports whether a record is kept. An error means that the expression
// failed for it, and that it is not kept. d is about the same record.
func (j *Judge) Keeps(rec *record.Record, d Decoded) (bool, error) {
	for i := range j.patterns {
		if p := &j.patterns[i]; p.hits(rec, d) == p.negate {
			return false, nil
		}
	}
	where := j.w.f.where
	if where == nil {
		return true, nil
	}
	if where.fast != nil {
		j.view.rec, j.view.d, j.view.texts = rec, d, j.w.texts[:0]
		verdict := where.fast.eval(&j.view)
		j.w.texts = j.view.texts
		if verdict != unsure {
			return verdict == yes, nil
		}
	}
	return j.slow(rec, d)
}

// slow asks the expression itself.
func (j *Judge) slow(rec *record.Record, d Decoded) (bool, error) {
	w := j.w
	w.line = j.envelope.Append(w.line[:0], rec, d.Key(), d.Value())
	w.bound.begin(len(w.line))
	return w.f.where.holds(w.parser.parse(w.line), &w.bound)
}

func usage(format string, args ...any) *fault.Error {
	return fault.New(fault.Usage, format, args...).WithHint("kcm help filters")
}

// firstLine is text up to its first line break.
func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
