package replay

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

const (
	readBytes = 256 << 10 // at which files are read, and the usual size of a buffer
	lineBytes = 2 << 30   // of the longest line that is taken
)

// errLong is what is wrong with a line that is longer than lineBytes.
var errLong = errors.New("a line is longer than 2 GiB")

// errPacked marks an error of unpacking: the file is not whole.
var errPacked = errors.New("the compressed data is damaged")

// lines reads a file line by line, unpacked.
type lines struct {
	file   *os.File
	packed *zstd.Decoder // nil when the file is none
	in     *bufio.Reader
	r      io.Reader // in, or what unpacks it
	gzip   bool
	back   *buffers // that it goes back to

	buf        []byte
	begin, end int   // of what is in buf and not handed on
	at         int64 // byte, unpacked, at which the next line begins
	number     int64 // of the line that was handed on last
	over       bool  // nothing more can be read
	failed     error // why nothing more can be read; told behind the last whole line
}

// buffers are what is used again for one file after the other. They belong to one
// goroutine.
type buffers struct{ spare []*lines }

// open opens a file of which size bytes are read: what comes after that was not
// there when it was looked at.
func (b *buffers) open(path string, size int64) (*lines, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, unusable(path, err)
	}
	l := &lines{}
	if n := len(b.spare); n > 0 {
		l, b.spare = b.spare[n-1], b.spare[:n-1]
	} else {
		l.buf, l.in = make([]byte, readBytes), bufio.NewReaderSize(nil, readBytes)
	}
	l.in.Reset(io.NewSectionReader(file, 0, size))
	*l = lines{file: file, buf: l.buf, in: l.in, back: b}
	if err := l.unpack(l.in); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// unpack tells by the first bytes how a file is packed: its name may say nothing,
// or something else.
func (l *lines) unpack(r *bufio.Reader) error {
	magic, err := r.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	switch l.r = r; {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		l.gzip = true
		z, err := gzip.NewReader(r)
		if err != nil {
			return packed(err)
		}
		l.r = z
	case bytes.Equal(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
		if err != nil {
			return packed(err)
		}
		l.r, l.packed = z, z
	case bytes.HasPrefix(magic, []byte{0xef, 0xbb, 0xbf}): // a mark that some shells put before UTF-8
		_, err = r.Discard(3)
		return err
	}
	return nil
}

func packed(err error) error { return errors.Join(errPacked, err) }

func (l *lines) isPacked() bool { return l.gzip || l.packed != nil }

func (l *lines) close() {
	if l.packed != nil {
		l.packed.Close()
	}
	_ = l.file.Close() // it was only read
	if len(l.buf) <= readBytes {
		l.back.spare = append(l.back.spare, l)
	}
}

// seek goes to the line that begins at a byte, behind that many lines.
func (l *lines) seek(at, number int64) error {
	for l.at < at {
		line, _, err := l.next()
		if err != nil || line == nil {
			return err
		}
	}
	l.number = number
	return nil
}

// next returns the next line, without its end, and whether it has one; nil when
// there is none. It dies with the next call.
func (l *lines) next() (line []byte, ended bool, err error) {
	from := 0 // up to where there is no line end
	for {
		if n := bytes.IndexByte(l.buf[l.begin+from:l.end], '\n'); n >= 0 {
			return l.cut(from+n, 1), true, nil
		}
		from = l.end - l.begin
		if l.failed != nil {
			return nil, false, l.failed
		}
		if l.over {
			if from == 0 {
				return nil, false, nil
			}
			return l.cut(from, 0), false, nil
		}
		if err := l.fill(); err != nil {
			return nil, false, err
		}
	}
}

func (l *lines) cut(size, end int) []byte {
	line := l.buf[l.begin : l.begin+size : l.begin+size]
	l.begin += size + end
	l.at += int64(size + end)
	l.number++
	return line
}

// fill reads more into the buffer, which grows if a line is longer than it.
func (l *lines) fill() error {
	switch rest := l.end - l.begin; {
	case rest == 0:
		l.begin, l.end = 0, 0
		if len(l.buf) > 16*readBytes { // a long line need not hold memory for ever
			l.buf = make([]byte, readBytes)
		}
	case rest >= lineBytes:
		return errLong
	case rest > len(l.buf)/2:
		grown := make([]byte, 2*len(l.buf))
		l.begin, l.end = 0, copy(grown, l.buf[l.begin:l.end])
		l.buf = grown
	case l.end == len(l.buf):
		l.begin, l.end = 0, copy(l.buf, l.buf[l.begin:l.end])
	}
	n, err := l.r.Read(l.buf[l.end:])
	l.end += n
	switch {
	case err == nil:
	case errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		l.over = true
	case l.isPacked():
		l.failed = packed(err)
	default:
		l.failed = err
	}
	return nil
}
