//go:build kafka

package e2e

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kcm-cli/kcm/internal/kafkatest"
)

// TestARecordLargerThanAnyLimit stands between two small ones.
func TestARecordLargerThanAnyLimit(t *testing.T) {
	rig := kafkatest.Real(t, kafkatest.Options{})
	const size = 30 << 20
	large := bytes.Repeat([]byte("x"), size)
	for name, codec := range map[string]kgo.CompressionCodec{"none": kgo.NoCompression(), "lz4": kgo.Lz4Compression()} {
		t.Run(name, func(t *testing.T) {
			rig := rig.With(t)
			c, topic := rig.Cluster("east"), rig.Name("large")
			c.CreateTopic(topic, 1, map[string]string{"max.message.bytes": fmt.Sprint(40 << 20)})
			opts := []kgo.Opt{kgo.ProducerBatchCompression(codec)}
			for _, v := range [][]byte{[]byte("0123456789"), large, []byte("abcdefghij")} {
				c.ProduceWith(topic, opts, kafkatest.Record{Value: v})
			}
			for _, limits := range [][]string{nil, {"-X", "fetch.max.bytes=1048576", "-X", "max.partition.fetch.bytes=1048576"}} {
				for _, format := range []string{"json", "raw"} {
					threeRecords(t, append([]string{"-b", c.Bootstrap(), "consume", topic, "-e", "-f", format}, limits...), format, size)
				}
			}
			r := run(t, []string{"-b", c.Bootstrap(), "consume", topic, "-e", "-f", "raw", "--max-batch", "1MiB"})
			r.exits(t, 3)
			equal(t, "--max-batch", r.stdout, []string{"0123456789"})
			r.says(t, 1, topic+"/0", "offset 1 ", "1048576")
			r.figures(t, "--max-batch 1MiB")
		})
	}
}

// threeRecords checks a run that is to give a record of 10 bytes, one of size
// times x, and one of 10 bytes.
func threeRecords(t *testing.T, args []string, format string, size int) {
	t.Helper()
	var got []string
	r := run(t, args, each(func(line []byte) {
		if format == "json" {
			_, rest, _ := bytes.Cut(line, []byte(`"value":"`))
			line, _, _ = bytes.Cut(rest, []byte(`"`))
		}
		if n := bytes.Count(line, []byte("x")); n == len(line) {
			got = append(got, fmt.Sprintf("%d x", n))
			return
		}
		got = append(got, string(line))
	}))
	r.exits(t, 0)
	what := strings.Join(args[3:], " ")
	equal(t, what, got, []string{"0123456789", fmt.Sprintf("%d x", size), "abcdefghij"})
	r.figures(t, what)
	r.below(t, 200)
	if r.CPU > 5*time.Second {
		t.Errorf("%s took %v of processor time", what, r.CPU)
	}
}

// TestEveryCodecInOneTopic: Java's producer frames snappy in a way of its own,
// and every client has its lz4 and zstd.
func TestEveryCodecInOneTopic(t *testing.T) {
	rig := kafkatest.Real(t, kafkatest.Options{})
	c, topic := rig.Cluster("east"), rig.Name("codecs")
	c.CreateTopic(topic, 1, nil)
	var want []kafkatest.Record
	add := func(codec string, n int) []kafkatest.Record {
		var list []kafkatest.Record
		for i := range n {
			list = append(list, kafkatest.Record{
				Key: fmt.Appendf(nil, "k%d", len(want)+i), Value: fmt.Appendf(nil, "%s %d %s", codec, i, strings.Repeat("compressible ", i%50)),
				Headers: []kafkatest.Header{{Key: "codec", Value: []byte(codec)}}, Time: 1_700_000_000_000 + int64(len(want)+i),
			})
		}
		want = append(want, list...)
		return list
	}
	for _, codec := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
		list := add("java "+codec, 500)
		c.ProduceWithJava(topic, codec, len(list), func(i int) kafkatest.Record { return list[i] })
	}
	for name, codec := range map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(), "lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	} {
		c.ProduceWith(topic, []kgo.Opt{kgo.ProducerBatchCompression(codec), kgo.ProducerBatchMaxBytes(16 << 10)}, add("kgo "+name, 500)...)
	}
	for name, codec := range map[string]kafkatest.Codec{"snappy block": kafkatest.Snappy, "snappy framed": kafkatest.SnappyJava, "lz4": kafkatest.LZ4} {
		list := add("raw "+name, 100)
		b := kafkatest.Batch{Codec: codec, Records: list}
		c.ProduceRaw(topic, 0, b.Bytes(t))
	}
	n := 0
	r := run(t, []string{"-b", c.Bootstrap(), "consume", topic, "-e", "-J"}, each(func(line []byte) {
		p := parse(t, line)
		if n < len(want) {
			if err := p.matches(want[n]); err != nil {
				t.Errorf("record %d: %v", n, err)
			}
		}
		n++
	}))
	r.exits(t, 0)
	if n != len(want) || len(r.stderr) != 0 {
		t.Errorf("%d records, want %d; stderr %q", n, len(want), r.stderr)
	}
}
