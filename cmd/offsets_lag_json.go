package cmd

import (
	"strconv"

	"github.com/kcm-cli/kcm/internal/output"
)

// streamed is a document that writes its own JSON, piece by piece: there may be a
// million lines in it. Its form is that of output.AppendJSON, or on one line.
type streamed interface {
	writeJSON(write func([]byte) error, line bool) error
}

// jsonPiece is what a document's JSON is written in.
const jsonPiece = 256 << 10

// writeJSON implements streamed.
func (d *lagDoc) writeJSON(write func([]byte) error, line bool) error {
	w := jsonWriter{line: line, write: write}
	w.open('{')
	if d.Time != nil {
		w.text("time", d.Time)
	}
	w.key("groups")
	w.open('[')
	for i := range d.Groups {
		w.next()
		d.Groups[i].writeJSON(&w)
	}
	w.close(']')
	return w.ended(d.Failed)
}

// ended ends a document with the clusters that failed.
func (w *jsonWriter) ended(failed []failedDoc) error {
	w.key("failed")
	w.open('[')
	for i := range failed {
		w.next()
		w.open('{')
		w.text("cluster", &failed[i].Cluster)
		w.text("error", &failed[i].Error)
		w.close('}')
	}
	w.close(']')
	w.close('}')
	w.buf = append(w.buf, '\n')
	w.flush(0)
	return w.err
}

func (g *groupLagDoc) writeJSON(w *jsonWriter) {
	w.open('{')
	w.text("cluster", &g.Cluster)
	w.text("group", &g.Group)
	w.text("kind", g.Kind)
	w.text("state", g.State)
	w.key("members")
	if g.Members == nil {
		w.null()
	} else {
		w.int(int64(*g.Members))
	}
	w.number("total_lag", g.TotalLag)
	w.key("unknown")
	w.int(int64(g.Unknown))
	w.key("partitions")
	w.open('[')
	for i := range g.Partitions {
		r := &g.Partitions[i]
		w.next()
		w.open('{')
		w.text("stream", r.Stream)
		w.text("topic", &r.Topic)
		w.key("partition")
		w.int(int64(r.Partition))
		w.number("committed", r.Committed)
		w.number("start", r.Start)
		w.number("end", r.End)
		w.number("lag", r.Lag)
		w.text("member_id", r.MemberID)
		w.text("client_id", r.ClientID)
		w.text("host", r.Host)
		w.text("error", r.Error)
		w.close('}')
		w.flush(jsonPiece)
	}
	w.close(']')
	w.text("error", g.Error)
	w.close('}')
}

// jsonWriter writes JSON, indented by two blanks or on one line.
type jsonWriter struct {
	buf   []byte
	line  bool
	depth int
	begun bool // something stands in the innermost brackets
	write func([]byte) error
	err   error
}

// flush writes what there is if it is that much.
func (w *jsonWriter) flush(least int) {
	if len(w.buf) < least || w.err != nil {
		return
	}
	w.err = w.write(w.buf)
	w.buf = w.buf[:0]
}

func (w *jsonWriter) open(bracket byte) {
	w.buf = append(w.buf, bracket)
	w.depth++
	w.begun = false
}

func (w *jsonWriter) close(bracket byte) {
	w.depth--
	if w.begun {
		w.newline()
	}
	w.buf = append(w.buf, bracket)
	w.begun = true
}

func (w *jsonWriter) newline() {
	if w.line {
		return
	}
	w.buf = append(w.buf, '\n')
	for range w.depth {
		w.buf = append(w.buf, "  "...)
	}
}

// next begins an element.
func (w *jsonWriter) next() {
	if w.begun {
		w.buf = append(w.buf, ',')
	}
	w.begun = true
	w.newline()
}

func (w *jsonWriter) key(name string) {
	w.next()
	w.buf = append(append(append(w.buf, '"'), name...), '"', ':')
	if !w.line {
		w.buf = append(w.buf, ' ')
	}
}

func (w *jsonWriter) null() { w.buf = append(w.buf, "null"...) }

func (w *jsonWriter) int(n int64) { w.buf = strconv.AppendInt(w.buf, n, 10) }

func (w *jsonWriter) number(key string, n *int64) {
	if w.key(key); n == nil {
		w.null()
	} else {
		w.int(*n)
	}
}

func (w *jsonWriter) text(key string, s *string) {
	if w.key(key); s == nil {
		w.null()
	} else {
		w.buf = output.AppendJSONString(w.buf, *s)
	}
}
