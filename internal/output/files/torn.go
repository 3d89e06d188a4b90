package files

import (
	"bufio"
	"errors"
	"io"
	"os"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/kcm-cli/kcm/internal/fault"
)

// checkEnd refuses to append to a file whose end is torn: what comes behind it
// could not be read.
func (s *Sink) checkEnd(path string, length int64) error {
	if length == 0 {
		return nil
	}
	f, err := os.Open(path) //nolint:gosec // what the user said
	if err != nil {
		return failed(path, err)
	}
	defer func() { _ = f.Close() }()
	switch s.press.codec {
	case Gzip:
		err = readGzip(f)
	case Zstd:
		err = readZstd(f)
	default:
		return s.checkLine(f, length)
	}
	if err == nil {
		return nil
	}
	what := map[Codec]string{Gzip: "gzip", Zstd: "zstd"}[s.press.codec]
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fault.New(fault.Refused, "%s cannot be appended to: its last %s frame is not complete", path, what).
			WithHint("decompress what can be read of it, and write to another file")
	}
	return fault.New(fault.Refused, "%s cannot be appended to: it is no whole %s file: %w", path, what, err)
}

// checkLine refuses a file whose last record has no end: two records would become
// one line.
func (s *Sink) checkLine(f *os.File, length int64) error {
	end := []byte(s.o.LineEnd)
	if len(end) == 0 {
		return nil
	}
	last := make([]byte, min(int64(len(end)), length))
	if _, err := f.ReadAt(last, length-int64(len(last))); err != nil {
		return failed(f.Name(), err)
	}
	if string(last) == s.o.LineEnd {
		return nil
	}
	return fault.New(fault.Refused, "%s cannot be appended to: its last line has no end", f.Name()).
		WithHint("cut the line off, or end it: echo >> %s", f.Name())
}

// readGzip reads all members of a file to their ends.
func readGzip(r io.Reader) error {
	z, err := gzip.NewReader(bufio.NewReaderSize(r, 1<<20))
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, z)
	return err
}

func readZstd(r io.Reader) error {
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return err
	}
	defer z.Close()
	_, err = io.Copy(io.Discard, z)
	return err
}
