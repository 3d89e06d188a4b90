package replay

import (
	"bytes"
	"errors"

	"github.com/kcm-cli/kcm/internal/record"
)

// offsetMember follows a line's head, in the form in which kcm writes it.
const offsetMember = `,"offset":`

// heads finds out what lines are for. Records of one partition begin with the
// same bytes, so that a line is mostly known by comparing these. It belongs to
// one goroutine.
type heads struct {
	parser parser
	number func(Key) int // what a key is called; negative: it is not of interest
	known  map[string]int
	last   []byte // head of the line before, and offsetMember; nil at first
	key    int    // of that
}

func newHeads(number func(Key) int) *heads {
	return &heads{number: number, known: map[string]int{}}
}

// of says which key a line is for, and its offset. Head is what the line begins
// with up to the offset; empty if it is written in another way than kcm does.
func (h *heads) of(line []byte) (key int, offset int64, head []byte, err error) {
	if h.last != nil && bytes.HasPrefix(line, h.last) {
		if n, size := leadingInt(line[len(h.last):]); size > 0 && n >= 0 {
			return h.key, n, line[:len(h.last)-len(offsetMember)], nil
		}
	}
	if bytes.HasPrefix(line, []byte(`{"stream":"`)) {
		if at := bytes.Index(line, []byte(offsetMember)); at > 0 {
			if key, ok := h.known[string(line[:at])]; ok {
				h.last, h.key = append(append(h.last[:0], line[:at]...), offsetMember...), key
				if n, size := leadingInt(line[len(h.last):]); size > 0 && n >= 0 {
					return key, n, line[:at], nil
				}
			}
		}
	}
	return h.read(line)
}

// read parses a whole line, and learns its head.
func (h *heads) read(line []byte) (key int, offset int64, head []byte, err error) {
	p := &h.parser
	if err := p.parse(line, nil); err != nil {
		return 0, 0, nil, err
	}
	if len(p.topic) == 0 || len(p.cluster) == 0 {
		return 0, 0, nil, errors.New("cluster or topic is empty")
	}
	of := Key{Stream: string(p.stream), Split: record.Split{Cluster: string(p.cluster), Topic: string(p.topic), Partition: p.partition}}
	key = h.number(of)
	if at := bytes.Index(line, []byte(offsetMember)); at > 0 && string(line[:at]) == string(appendHead(nil, of)) && len(h.known) < mostHeads {
		h.known[string(line[:at])] = key
		head = line[:at]
	}
	return key, p.rec.Offset, head, nil
}

// mostHeads bounds how many heads are remembered.
const mostHeads = 1 << 20

// appendHead writes what a line for k begins with, if nothing in its names has
// to be escaped: names of Kafka's topics and kcm's clusters hold nothing of that
// sort, and a stream's that does is read in full.
func appendHead(dst []byte, k Key) []byte {
	dst = append(append(dst, `{"stream":"`...), k.Stream...)
	dst = append(append(dst, `","cluster":"`...), k.Cluster...)
	dst = append(append(dst, `","topic":"`...), k.Topic...)
	return append(append(dst, `","partition":`...), decimal(k.Partition)...)
}
