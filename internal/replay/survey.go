package replay

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"

	"github.com/kcm-cli/kcm/internal/fault"
)

// piece is a part of a file in which the offsets of each key grow. Most files are
// one; one that a second run has appended to, from an earlier offset on, is two.
type piece struct {
	file   int
	at     int64  // byte, unpacked, at which it begins
	end    int64  // and behind its last line
	number int64  // of the line before it
	parts  []part // by key
}

// part is what a piece holds of one key.
type part struct {
	key         int
	first, last int64 // offsets
	lines       int64
}

func (p *piece) part(key int) *part {
	i, ok := slices.BinarySearchFunc(p.parts, key, func(p part, key int) int { return cmp.Compare(p.key, key) })
	if !ok {
		return nil
	}
	return &p.parts[i]
}

func (f *Files) part(piece, key int) *part { return f.pieces[piece].part(key) }

// Open finds the files of a path, a file or a directory, and looks at all of them.
// Errors are of kind fault.Usage for what is no such file, and fault.Refused for
// a file that was cut off or is damaged; they name it and the line.
func Open(all context.Context, path string) (*Files, error) {
	paths, err := find(path)
	if err != nil {
		return nil, err
	}
	s := &survey{numbers: map[Key]int{}}
	s.found = make([]surveyed, len(paths))
	var workers sync.WaitGroup
	jobs := make(chan int)
	ctx, stop := context.WithCancelCause(all)
	defer stop(nil)
	for range min(max(2, runtime.GOMAXPROCS(0)), len(paths)) {
		workers.Go(func() {
			var b buffers
			for i := range jobs {
				if s.found[i].err = s.look(ctx, &b, paths[i], i); s.found[i].err != nil {
					stop(nil)
				}
			}
		})
	}
	for i := range paths {
		if ctx.Err() != nil {
			break
		}
		jobs <- i
	}
	close(jobs)
	workers.Wait()
	for _, one := range s.found {
		if one.err != nil && !errors.Is(one.err, context.Canceled) {
			return nil, one.err
		}
	}
	if all.Err() != nil {
		return nil, context.Cause(all)
	}
	return s.files(paths), nil
}

// survey is what is found out about files by several goroutines.
type survey struct {
	mu      sync.Mutex
	numbers map[Key]int
	keys    []Key
	found   []surveyed // by file
}

type surveyed struct {
	size   int64
	pieces []piece
	err    error
}

// key numbers a key, in the order in which they are met.
func (s *survey) key(k Key) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, ok := s.numbers[k]
	if !ok {
		n = len(s.keys)
		s.numbers[k] = n
		s.keys = append(s.keys, k)
	}
	return n
}

// files puts together what was found, with the keys in order.
func (s *survey) files(paths []string) *Files {
	f := &Files{paths: paths, keys: slices.SortedFunc(slices.Values(s.keys), compareKeys), number: map[Key]int{}}
	for i, k := range f.keys {
		f.number[k] = i
	}
	f.parts = make([][]int, len(f.keys))
	for _, one := range s.found {
		f.sizes = append(f.sizes, one.size)
		for _, p := range one.pieces {
			for i := range p.parts {
				p.parts[i].key = f.number[s.keys[p.parts[i].key]]
				f.parts[p.parts[i].key] = append(f.parts[p.parts[i].key], len(f.pieces))
			}
			slices.SortFunc(p.parts, func(a, b part) int { return cmp.Compare(a.key, b.key) })
			f.pieces = append(f.pieces, p)
		}
	}
	for key, list := range f.parts {
		slices.SortStableFunc(list, func(a, b int) int {
			p, q := f.part(a, key), f.part(b, key)
			return cmp.Or(cmp.Compare(p.first, q.first), cmp.Compare(p.last, q.last))
		})
	}
	return f
}

func compareKeys(a, b Key) int {
	return cmp.Or(a.Compare(b.Split), cmp.Compare(a.Stream, b.Stream))
}

// mostPieces is in how many parts a file may fall.
const mostPieces = 4096

// look looks at one file.
func (s *survey) look(ctx context.Context, b *buffers, path string, file int) error {
	info, err := os.Stat(path)
	if err != nil {
		return unusable(path, err)
	}
	l, err := b.open(path, info.Size())
	if err != nil {
		return damaged(path, 0, err)
	}
	defer l.close()
	look := &looking{path: path, lines: l, heads: newHeads(s.key)}
	if err := look.all(ctx); err != nil {
		return err
	}
	for i := range look.pieces {
		look.pieces[i].file = file
	}
	s.found[file].size, s.found[file].pieces = info.Size(), look.pieces
	return nil
}

// looking is the look at one file.
type looking struct {
	path   string
	lines  *lines
	heads  *heads
	pieces []piece
	index  map[int]int // of keys in the parts of the last piece
	last   int         // index of the part that the line before was for
}

func (l *looking) all(ctx context.Context) error {
	for {
		if l.lines.number&1023 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		at := l.lines.at
		line, ended, err := l.lines.next()
		if err != nil {
			return damaged(l.path, l.lines.number, err)
		}
		if line == nil {
			return nil
		}
		if err := l.line(line, ended, at); err != nil {
			return err
		}
	}
}

// line looks at one line. The last one may lack its end, but then it is read in
// full: it may have been cut off.
func (l *looking) line(line []byte, ended bool, at int64) error {
	text := bytes.TrimRight(line, " \t\r")
	if len(text) == 0 {
		return nil
	}
	if !ended {
		switch err := l.heads.parser.parse(text, nil); {
		case err != nil && text[0] == '{' && text[len(text)-1] != '}':
			return fault.New(fault.Refused, "%s:%d: the file ends in the middle of a record", l.path, l.lines.number).
				WithHint("remove that line, which is then read from the log if it is the last of its partition; or let the run that wrote the file go on with its --state")
		case err != nil:
			return foreign(l.path, l.lines.number, err)
		}
	}
	key, offset, _, err := l.heads.of(text)
	if err == nil && text[len(text)-1] != '}' {
		err = errShort
	}
	if errors.Is(err, errShort) && bytes.HasPrefix(text, []byte(`{"stream":"`)) {
		return fault.New(fault.Refused, "%s:%d: the record is cut off", l.path, l.lines.number).WithHint("mend or remove that line")
	}
	if err != nil {
		return foreign(l.path, l.lines.number, err)
	}
	return l.note(key, offset, at)
}

// note adds a record to the last piece, or begins another.
func (l *looking) note(key int, offset, at int64) error {
	if len(l.pieces) > 0 {
		p := &l.pieces[len(l.pieces)-1]
		i := l.last
		if p.parts[i].key != key {
			var there bool
			if i, there = l.index[key]; !there {
				i = len(p.parts)
				l.index[key] = i
				p.parts = append(p.parts, part{key: key, first: offset, last: offset})
			}
			l.last = i
		}
		if one := &p.parts[i]; offset >= one.last {
			one.last = offset
			one.lines++
			p.end = l.lines.at
			return nil
		}
	}
	if len(l.pieces) == mostPieces {
		return fault.New(fault.Usage, "%s:%d: the offsets go back for the %dth time: records of one partition have to be in their order", l.path, l.lines.number, mostPieces)
	}
	l.pieces = append(l.pieces, piece{at: at, end: l.lines.at, number: l.lines.number - 1, parts: []part{{key: key, first: offset, last: offset, lines: 1}}})
	l.index, l.last = map[int]int{key: 0}, 0
	return nil
}

// foreign is the error of a line that is no record.
func foreign(path string, line int64, err error) error {
	return fault.New(fault.Usage, "%s:%d: no record as -f json writes it: %w", path, line, err).WithHint(hintFiles)
}

// damaged is the error of a file that cannot be read on behind a line.
func damaged(path string, line int64, err error) error {
	if _, ok := errors.AsType[*fault.Error](err); ok {
		return err
	}
	if !errors.Is(err, errPacked) {
		return fault.New(fault.Failed, "%s: behind line %d: %w", path, line, err)
	}
	return fault.New(fault.Refused, "%s: the compressed data is damaged or cut off, behind line %d", path, line).
		WithHint("unpack what can be read, remove its last line if that is torn, and replay the result; the rest is read from the log if it is the last of its partitions")
}

// where names a line of a file.
func where(path string, line int64) string { return fmt.Sprintf("%s:%d", path, line) }

func decimal(n int32) string { return strconv.Itoa(int(n)) }
