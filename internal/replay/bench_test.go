package replay

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kcm-cli/kcm/internal/record"
)

// BenchmarkReplay looks at a file of 12 partitions and reads its records.
func BenchmarkReplay(b *testing.B) {
	var text strings.Builder
	const records = 60000
	for i := range records {
		fmt.Fprintf(&text, `{"stream":"orders","cluster":"east","topic":"orders","partition":%d,"offset":%d,"timestamp":%d,"timestamp_type":"create","key":"key-%d","value":{"id":%d,"name":"customer-%d","amount":%d.25,"status":"shipped","note":"lorem ipsum dolor sit amet consectetur %d"},"headers":[]}`+"\n",
			i%12, i/12, 1700000000000+i, i%5000, i, i%1000, i%500, i)
	}
	path := filepath.Join(b.TempDir(), "orders.json")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		b.Fatal(err)
	}
	f, err := Open(b.Context(), path)
	if err != nil {
		b.Fatal(err)
	}
	var wants []Want
	for _, k := range f.Keys() {
		wants = append(wants, Want{Key: k})
	}
	run := func(name string, do func() int) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(text.Len()))
			for b.Loop() {
				if n := do(); n != records {
					b.Fatalf("%d records", n)
				}
			}
			b.ReportMetric(float64(records)*float64(b.N)/b.Elapsed().Seconds(), "records/s")
		})
	}
	run("look", func() int {
		f, err := Open(b.Context(), path)
		if err != nil {
			b.Fatal(err)
		}
		e, _ := f.Extent(wants[0].Key)
		return int(12 * e.Lines)
	})
	read := func(parse bool) (n int) {
		_, err := f.Read(b.Context(), wants, func(block *Block) error {
			if !parse {
				n += len(block.ends)
				return nil
			}
			return block.Records(func(*record.Record) bool { n++; return true })
		})
		if err != nil {
			b.Fatal(err)
		}
		return n
	}
	run("cut", func() int { return read(false) })
	run("parse", func() int { return read(true) })
}
