package files

import (
	"bytes"
	"math"

	"github.com/kcm-cli/kcm/internal/record"
)

// Load is what one chunk of records is to the files: which bytes go where.
type Load struct {
	data   []byte
	pieces []piece
}

// piece is some whole records of a load for one file.
type piece struct {
	t        *target
	from, to int           // in the data
	frame    *bytes.Buffer // compressed already; nil is not
}

// Divider parts the records that one goroutine formats by the files that they
// go to. Between Begin and End it is given the records of one chunk, each as
// d.Added(append(d.Buffer(stream, ms), record...)).
type Divider struct {
	s     *Sink
	known map[origin]*lane // of all chunks so far

	streams []string
	split   record.Split
	current []*lane // by stream: where its last record went
	lanes   []*lane // that have records of this chunk
	last    *lane
	first   []byte   // room for the first of them
	spare   [][]byte // and for the others
}

// origin is where the records of a file come from.
type origin struct {
	stream string
	split  record.Split
	slot   int64
}

// lane gathers the records of one chunk for one file.
type lane struct {
	t           *target
	from, until int64 // timestamps of its records
	buf         []byte
	cuts        []int // where pieces end, besides the last
	used        bool
}

// maxLanes is how many files a divider remembers where records go to; a
// backlog of years in files of an hour has many.
const maxLanes = 1024

// NewDivider makes a divider.
func (s *Sink) NewDivider() *Divider { return &Divider{s: s, known: map[origin]*lane{}} }

// Begin starts a chunk of a split whose records are delivered under streams. The
// room of dst is used for the bytes.
func (d *Divider) Begin(dst []byte, streams []string, split record.Split) {
	d.first, d.streams, d.split = dst[:0], streams, split
	d.current = d.current[:0]
	for range streams {
		d.current = append(d.current, nil)
	}
}

// Buffer returns the bytes to which a record with a timestamp is to be appended.
func (d *Divider) Buffer(stream int, ms int64) []byte {
	l := d.current[stream]
	if l == nil || ms < l.from || ms >= l.until {
		l = d.find(stream, ms)
	}
	d.last = l
	return l.buf
}

// Added takes the bytes of Buffer back, with the record.
func (d *Divider) Added(buf []byte) {
	l := d.last
	l.buf = buf
	begin := 0
	if len(l.cuts) > 0 {
		begin = l.cuts[len(l.cuts)-1]
	}
	if len(buf)-begin >= d.s.pieceBytes {
		l.cuts = append(l.cuts, len(buf))
	}
}

func (d *Divider) find(stream int, ms int64) *lane {
	slot := d.s.o.Template.slot(ms)
	o := origin{d.streams[stream], d.split, slot}
	l := d.known[o]
	if l == nil {
		if len(d.known) >= maxLanes {
			d.forget()
		}
		l = d.s.lane(o)
		d.known[o] = l
	}
	if !l.used {
		l.used, l.buf = true, d.room()
		d.lanes = append(d.lanes, l)
	}
	d.current[stream] = l
	return l
}

// room returns a buffer for one more lane of a chunk.
func (d *Divider) room() []byte {
	if len(d.lanes) == 0 {
		return d.first
	}
	n := len(d.spare)
	if n == 0 {
		return nil
	}
	b := d.spare[n-1]
	d.spare = d.spare[:n-1]
	return b
}

// forget drops the lanes that the chunk under way does not use.
func (d *Divider) forget() {
	for o, l := range d.known {
		if !l.used {
			delete(d.known, o)
		}
	}
}

// lane makes the lane of an origin.
func (s *Sink) lane(o origin) *lane {
	l := &lane{t: s.target(o), from: math.MinInt64, until: math.MaxInt64}
	switch period := s.o.Template.period; {
	case period == 0:
	case o.slot == noSlot:
		l.from, l.until = noTime, noTime+1
	default:
		l.from, l.until = o.slot*period, (o.slot+1)*period
		if l.from < noTime && noTime < l.until { // that one has a file of its own
			l.until = noTime
		}
	}
	return l
}

// End returns the records of the chunk: their bytes, those for one file behind
// those for another, and where they go. Compressing is done here, so that it runs
// on as many goroutines as formatting does.
func (d *Divider) End() ([]byte, *Load) {
	load := &Load{data: d.first}
	for i, l := range d.lanes {
		from := len(load.data)
		if i == 0 {
			load.data, from = l.buf, 0
		} else {
			load.data = append(load.data, l.buf...)
			d.giveBack(l.buf)
		}
		begin := from
		for _, cut := range append(l.cuts, len(l.buf)) {
			if from < begin+cut {
				load.pieces = append(load.pieces, piece{t: l.t, from: from, to: begin + cut})
				from = begin + cut
			}
		}
		l.used, l.buf, l.cuts = false, nil, l.cuts[:0]
	}
	d.lanes, d.first = d.lanes[:0], nil
	d.s.compress(load)
	return load.data, load
}

// giveBack keeps a buffer for another lane, if there are not too many.
func (d *Divider) giveBack(b []byte) {
	if len(d.spare) < 64 && cap(b) <= frameBytes {
		d.spare = append(d.spare, b[:0])
	}
}

// compress makes frames of the pieces that are large enough to be worth one.
func (s *Sink) compress(load *Load) {
	if s.press.codec == Plain {
		return
	}
	for i := range load.pieces {
		if p := &load.pieces[i]; p.to-p.from >= leastFrame {
			p.frame = s.press.frame(load.data[p.from:p.to])
		}
	}
}

// leastFrame is what a frame holds at least, unless there is no time to wait for
// more: smaller ones compress badly.
const leastFrame = 32 << 10
