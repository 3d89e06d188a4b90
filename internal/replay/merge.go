package replay

import (
	"slices"

	"github.com/kcm-cli/kcm/internal/fault"
)

// mostOpen is how many files are open at once.
const mostOpen = 64

// merge reads the pieces of one key that overlap side by side, the lowest offset
// first. Only those are open that the lowest offset has come to.
func (r *reading) merge(key int) error {
	l := r.lanes[key]
	rest := slices.DeleteFunc(slices.Clone(r.f.parts[key]), func(p int) bool { return r.f.part(p, key).last < l.from })
	var open []*strand
	defer func() {
		for _, s := range open {
			s.walk.close()
		}
	}()
	for len(open)+len(rest) > 0 {
		lowest := lowestOf(open)
		if len(rest) > 0 && (lowest < 0 || r.f.part(rest[0], key).first <= open[lowest].offset) {
			s, err := r.strand(rest[0], key, len(open))
			if err != nil {
				return err
			}
			open, rest = append(open, s), rest[1:]
			continue
		}
		s := open[lowest]
		if s.line == nil {
			s.walk.close()
			open = slices.Delete(open, lowest, lowest+1)
			continue
		}
		if err := r.take(l, s.walk, s.offset, s.line); err != nil {
			return err
		}
		if err := s.advance(); err != nil {
			return err
		}
	}
	return r.giveAll()
}

// strand is a piece that is merged with others.
type strand struct {
	walk   *walk
	key    int
	offset int64
	line   []byte // nil behind the last one, whose offset then stays
}

func (r *reading) strand(piece, key, open int) (*strand, error) {
	if open >= mostOpen {
		return nil, fault.New(fault.Usage, "more than %d files hold the same offsets of %s", mostOpen, r.f.keys[key].Split).
			WithHint("leave out files that hold nothing new")
	}
	w, err := r.walk(piece)
	if err != nil {
		return nil, err
	}
	s := &strand{walk: w, key: key}
	if err := s.advance(); err != nil {
		w.close()
		return nil, err
	}
	return s, nil
}

// advance goes to the next line of the strand's key.
func (s *strand) advance() error {
	for {
		key, offset, line, err := s.walk.next()
		if err != nil {
			return err
		}
		if s.line = line; line == nil {
			return nil
		}
		if key == s.key {
			s.offset = offset
			return nil
		}
	}
}

// lowestOf returns the strand with the lowest offset, the first of equal ones; -1
// if there is none.
func lowestOf(open []*strand) int {
	lowest := -1
	for i, s := range open {
		if lowest < 0 || s.offset < open[lowest].offset {
			lowest = i
		}
	}
	return lowest
}
