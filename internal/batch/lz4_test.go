package batch_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/pierrec/lz4/v4"

	"github.com/kcm-cli/kcm/internal/batch"
	"github.com/kcm-cli/kcm/internal/batch/batchtest"
)

// TestLinkedFramesAreReal because the test's own writer makes them: the library
// must read them, and they must not be readable as independent blocks.
func TestLinkedFramesAreReal(t *testing.T) {
	data := made(shapes[0], orders(500<<10))
	frame := batchtest.Compress(batch.LZ4, batchtest.LZ4Linked, data)
	got, err := io.ReadAll(lz4.NewReader(bytes.NewReader(frame)))
	if err != nil || !bytes.Equal(got, data) {
		t.Fatalf("the library reads %d of %d bytes: %v", len(got), len(data), err)
	}
	frame[4], frame[6] = 0x60, 0x82 // independent, with the checksum for that
	if got, err := batch.NewDecoder(&batch.Pool{}).UnLZ4(frame, 1<<30); err == nil && bytes.Equal(got, data) {
		t.Error("no block refers to another")
	}
}

// TestConcatenatedFrames with one to be skipped among them.
func TestConcatenatedFrames(t *testing.T) {
	one := batchtest.Compress(batch.LZ4, batchtest.Plain, []byte("one, "))
	two := batchtest.Compress(batch.LZ4, batchtest.LZ4Checksums, []byte("two"))
	skipped := []byte{0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3}
	got, err := batch.NewDecoder(&batch.Pool{}).UnLZ4(bytes.Join([][]byte{one, skipped, two}, nil), 8)
	if err != nil || string(got) != "one, two" {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err = batch.NewDecoder(&batch.Pool{}).UnLZ4(append(one, two...), 7); err == nil {
		t.Error("the limit counts for each frame alone")
	}
	if _, err = batch.NewDecoder(&batch.Pool{}).UnLZ4(append(one, skipped[:9]...), 100); err == nil {
		t.Error("a cut frame was skipped")
	}
}

func TestLZ4RefusesWhatKafkaDoesNotWrite(t *testing.T) {
	frame := func(flags, sizes byte, rest ...byte) []byte {
		head := []byte{flags, sizes}
		b := append([]byte{0x04, 0x22, 0x4d, 0x18}, head...)
		return append(append(b, byte(batch.XXH32(head)>>8)), rest...)
	}
	end := []byte{0, 0, 0, 0}
	if _, err := batch.NewDecoder(&batch.Pool{}).UnLZ4(frame(0x60, 0x40, end...), 100); err != nil {
		t.Fatal(err)
	}
	for want, b := range map[string][]byte{
		"frame version 0":               frame(0x20, 0x40, end...),
		"a frame with a dictionary":     frame(0x61, 0x40, end...),
		"a reserved bit or block size":  frame(0x62, 0x40, end...),
		"no frame begins with 184c2102": append([]byte{0x02, 0x21, 0x4c, 0x18}, 0, 0, 0, 0),
		"the data ends too early":       frame(0x60, 0x40, 0, 0, 0),
		"corrupt data":                  frame(0x60, 0x40, 1, 0, 1, 0x80, 0),
		"wrong checksum":                append(frame(0x60, 0x40)[:6], 0x83, 0, 0, 0, 0),
	} {
		if _, err := batch.NewDecoder(&batch.Pool{}).UnLZ4(b, 100); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	for _, sizes := range []byte{0x30, 0x41, 0xC0} {
		if _, err := batch.NewDecoder(&batch.Pool{}).UnLZ4(frame(0x60, sizes, end...), 100); err == nil {
			t.Errorf("block size byte %02x was taken", sizes)
		}
	}
}

func TestLZ4FindsWrongSums(t *testing.T) {
	data := bytes.Repeat([]byte("abcdefgh"), 1000)
	good := batchtest.Compress(batch.LZ4, batchtest.LZ4Checksums, data)
	if got, err := batch.NewDecoder(&batch.Pool{}).UnLZ4(good, 1<<20); err != nil || !bytes.Equal(got, data) {
		t.Fatal(err)
	}
	for name, at := range map[string]int{"content size": 6, "block": 30, "block checksum": len(good) - 9} {
		bad := bytes.Clone(good)
		bad[at] ^= 1
		if _, err := batch.NewDecoder(&batch.Pool{}).UnLZ4(bad, 1<<20); err == nil {
			t.Errorf("a flipped bit in the %s is not noticed", name)
		}
	}
}

// TestLZ4Size measures as much as a block becomes, and nothing for a cut one.
func TestLZ4Size(t *testing.T) {
	for _, data := range [][]byte{[]byte("short"), made(shapes[0], orders(60<<10)), make([]byte, 64<<10), bytes.Repeat([]byte("abc"), 300)} {
		block := make([]byte, lz4.CompressBlockBound(len(data)))
		var c lz4.Compressor
		n, err := c.CompressBlock(data, block)
		if err != nil || n == 0 {
			t.Fatal(n, err)
		}
		if size, ok := batch.LZ4Size(block[:n]); !ok || size != len(data) {
			t.Errorf("%d, %v, want %d", size, ok, len(data))
		}
		if size, ok := batch.LZ4Size(block[:n-1]); ok && size == len(data) {
			t.Error("a cut block has its full size")
		}
	}
	if _, ok := batch.LZ4Size(nil); ok {
		t.Error("nothing is no block")
	}
}

// TestXXH32 has the vectors of xxHash's own sanity check for seed 0.
func TestXXH32(t *testing.T) {
	for in, want := range map[string]uint32{"": 0x02cc5d05, "a": 0x550d7456, "abc": 0x32d153ff, "Nobody inspects the spammish repetition": 0xe2293b2f} {
		if got := batch.XXH32([]byte(in)); got != want {
			t.Errorf("%q: %08x, want %08x", in, got, want)
		}
	}
}

func TestXerialInPieces(t *testing.T) {
	recs := orders(100 << 10)
	payload := made(shapes[0], recs)[61:]
	half := len(payload) / 2
	joined := append(batchtest.Compress(batch.Snappy, batchtest.Xerial, payload[:half]), batchtest.Compress(batch.Snappy, batchtest.Xerial, payload[half:])...)
	b := batchtest.New(recs...)
	b.Codec = batch.Snappy
	if got, err := read(b.Wrap(len(recs), joined), 0); err != nil || len(got) != len(recs) {
		t.Errorf("two streams, one behind the other: %d records, %v", len(got), err)
	}
	for _, bad := range [][]byte{joined[:10], joined[:18], append(joined[:16:16], 0x7f, 0xff, 0xff, 0xff), append(joined[:16:16], 0, 0, 0, 0)} {
		_, err := read(b.Wrap(len(recs), bad), 0)
		if _, ok := errors.AsType[*batch.DamagedError](err); !ok {
			t.Errorf("%d bytes: %v", len(bad), err)
		}
	}
}
