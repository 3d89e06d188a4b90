//go:build kafka

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kcm-cli/kcm/internal/kafkatest"
)

// shown is a record as some program shows it, in one form for all programs.
type shown struct {
	partition int
	offset    int64
	text      string
}

// stamped is where and when a record is: the time stands behind its type, C or L.
type stamped struct {
	partition int
	offset    int64
	stamp     string
}

// show is the one form.
func (at stamped) show(headers string, key, value *string) shown {
	quote := func(s *string) string {
		if s == nil {
			return "null"
		}
		if len(*s) > 300 {
			return fmt.Sprintf("%d bytes, %q … %q", len(*s), (*s)[:50], (*s)[len(*s)-50:])
		}
		return strconv.Quote(*s)
	}
	return shown{at.partition, at.offset, fmt.Sprintf("%d@%d %s [%q] %s %s", at.partition, at.offset, at.stamp, headers, quote(key), quote(value))}
}

// headersAs joins headers as a program does that has one text for null.
func headersAs(list []kafkatest.Header, is, between, null, none string) string {
	if len(list) == 0 {
		return none
	}
	var parts []string
	for _, h := range list {
		v := string(h.Value)
		if h.Value == nil {
			v = null
		}
		parts = append(parts, h.Key+is+v)
	}
	return strings.Join(parts, between)
}

// asConsole joins them as the console consumer does.
func asConsole(list []kafkatest.Header) string {
	return headersAs(list, ":", consoleHeader, consoleNull, "NO_HEADERS")
}

// asKcat takes into account that to kcat a zero byte ends a header's value.
func asKcat(list []kafkatest.Header) string {
	list = slices.Clone(list)
	for i, h := range list {
		list[i].Value, _, _ = bytes.Cut(h.Value, []byte{0})
	}
	return headersAs(list, "=", ",", "NULL", "")
}

// kcmShows reads lines of -J -s raw.
func kcmShows(t *testing.T, lines []string, join func([]kafkatest.Header) string) []shown {
	t.Helper()
	var all []shown
	for _, l := range lines {
		var typed struct {
			Type string `json:"timestamp_type"`
		}
		if err := json.Unmarshal([]byte(l), &typed); err != nil {
			t.Fatal(err)
		}
		p := parse(t, []byte(l))
		text := func(raw json.RawMessage, encoding string) *string {
			b, err := bytesOf(raw, encoding)
			if err != nil {
				t.Fatal(err)
			}
			return textOf(b)
		}
		var headers []kafkatest.Header
		for _, h := range p.Headers {
			kh := kafkatest.Header{Key: h.Key}
			if v := text(h.Value, h.Encoding); v != nil {
				kh.Value = []byte(*v)
			}
			headers = append(headers, kh)
		}
		stamp := map[string]string{"create": "C", "append": "L"}[typed.Type]
		at := stamped{int(p.Partition), p.Offset, fmt.Sprint(stamp, p.Timestamp)}
		all = append(all, at.show(join(headers), text(p.Key, p.KeyEncoding), text(p.Value, p.ValueEncoding)))
	}
	return all
}

// textOf is nil for null.
func textOf(b []byte) *string {
	if b == nil {
		return nil
	}
	s := string(b)
	return &s
}

// What the console consumer is told to write between things. It writes bytes as
// they are, so these must not come in a record.
const (
	consoleField, consoleRecord, consoleHeader, consoleNull = "~F~", "~R~\n", "~H~", "~N~"
)

// consoleShows has Kafka's own consumer read n records.
func consoleShows(t *testing.T, c *kafkatest.Cluster, topic string, n int, args ...string) []shown {
	t.Helper()
	all := []string{"--topic", topic, "--max-messages", fmt.Sprint(n), "--timeout-ms", "30000"}
	for _, p := range []string{
		"print.timestamp=true", "print.partition=true", "print.offset=true", "print.headers=true", "print.key=true", "print.value=true",
		"key.separator=" + consoleField, "line.separator=" + consoleRecord, "headers.separator=" + consoleHeader, "null.literal=" + consoleNull,
	} {
		all = append(all, "--formatter-property", p)
	}
	text := c.Java("org.apache.kafka.tools.consumer.ConsoleConsumer", append(all, args...)...)
	var list []shown
	for r := range strings.SplitSeq(strings.TrimSuffix(text, consoleRecord), consoleRecord) {
		if r == "" {
			continue
		}
		f := strings.Split(r, consoleField)
		if len(f) != 6 {
			t.Fatalf("the console consumer wrote %q", r)
		}
		literal := func(s string) *string {
			if s == consoleNull {
				return nil
			}
			return &s
		}
		stamp := strings.NewReplacer("CreateTime:", "C", "LogAppendTime:", "L").Replace(f[0])
		partition, err := strconv.Atoi(strings.TrimPrefix(f[1], "Partition:"))
		if err != nil {
			t.Fatal(err)
		}
		offset, err := strconv.ParseInt(strings.TrimPrefix(f[2], "Offset:"), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, stamped{partition, offset, stamp}.show(f[3], literal(f[4]), literal(f[5])))
	}
	return list
}

// kcatReads runs kcat as a consumer and returns what it writes.
func kcatReads(t *testing.T, c *kafkatest.Cluster, topic string, args ...string) []byte {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "kcat", append([]string{"-C", "-b", c.Bootstrap(), "-t", topic, "-q"}, args...)...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("kcat %s: %v\n%s", strings.Join(args, " "), err, errs.String())
	}
	return out.Bytes()
}

// kcatShows has kcat read. Keys and values stand behind their lengths, of which
// -1 is null. It shows no type of the time: stamp goes before it.
func kcatShows(t *testing.T, c *kafkatest.Cluster, topic, stamp string, args ...string) []shown {
	t.Helper()
	out := kcatReads(t, c, topic, append([]string{"-f", `%p,%o,%T,%K,%S,%k%s|%h~R~\n`}, args...)...)
	var list []shown
	for len(out) > 0 {
		var n [5]int64
		for i := range n {
			field, rest, ok := bytes.Cut(out, []byte(","))
			var err error
			if n[i], err = strconv.ParseInt(string(field), 10, 64); err != nil || !ok {
				t.Fatalf("kcat wrote %.100q", out)
			}
			out = rest
		}
		take := func(size int64) *string {
			if size < 0 {
				return nil
			}
			s := string(out[:size])
			out = out[size:]
			return &s
		}
		key, value := take(n[3]), take(n[4])
		headers, rest, ok := bytes.Cut(out[1:], []byte("~R~\n"))
		if !ok {
			t.Fatalf("kcat wrote %.100q", out)
		}
		list = append(list, stamped{int(n[0]), n[1], fmt.Sprint(stamp, n[2])}.show(string(headers), key, value))
		out = rest
	}
	return list
}

// agree checks that two programs have shown the same, in the same order within
// each partition, and what was expected of one of them, in any.
func agree(t *testing.T, what string, got, want []shown) {
	t.Helper()
	texts := func(list []shown) (all []string) {
		list = slices.Clone(list)
		slices.SortStableFunc(list, func(a, b shown) int { return a.partition - b.partition })
		for i, s := range list {
			if i > 0 && list[i-1].partition == s.partition && list[i-1].offset >= s.offset {
				t.Errorf("%s: out of order at %s", what, s.text)
			}
			all = append(all, s.text)
		}
		return all
	}
	equal(t, what, texts(got), texts(want))
}

// mixed are n records with keys, values and headers of every kind.
func mixed(partition int32, seed uint64, n int) []kafkatest.Record {
	rng := rand.New(rand.NewPCG(seed, 7))
	some := func() []byte {
		switch rng.IntN(7) {
		case 0:
			return nil
		case 1:
			return []byte{}
		case 2:
			b := make([]byte, rng.IntN(60))
			for i := range b {
				b[i] = byte(rng.Uint32())
			}
			return b
		case 3:
			return fmt.Appendf(nil, "{\"id\": %d, \"price\": 0.10,\n \"list\": [1, 2.0, 1e400]}", rng.Uint64())
		case 4:
			return []byte("null")
		case 5:
			return []byte("line\r\nline\t\x00 höhe ✓ 𝄞 \u2028 \"q\" \\ <&> \x1b[2J")
		default:
			return []byte(strings.Repeat("compressible ", rng.IntN(100)))
		}
	}
	var list []kafkatest.Record
	for i := range n {
		r := kafkatest.Record{Partition: partition, Key: some(), Value: some(), Time: 1_700_000_000_000 + int64(i)*1000}
		for range rng.IntN(4) {
			r.Headers = append(r.Headers, kafkatest.Header{Key: []string{"trace", "", "t", "schlüssel"}[rng.IntN(4)], Value: some()})
		}
		list = append(list, r)
	}
	return list
}

// everything fills a topic of eight partitions with what a broker may hold, and
// returns how many records there are, and how many of them are committed.
func everything(t *testing.T, c *kafkatest.Cluster, topic string) (all, committed int) {
	t.Helper()
	c.CreateTopic(topic, 8, map[string]string{"max.message.bytes": "4000000"})
	for i, codec := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
		list := mixed(0, uint64(i), 60)
		c.ProduceWithJava(topic, codec, len(list), func(i int) kafkatest.Record { return list[i] })
	}
	for i, codec := range []kgo.CompressionCodec{kgo.NoCompression(), kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.ZstdCompression()} {
		c.ProduceWith(topic, []kgo.Opt{kgo.ProducerBatchCompression(codec), kgo.ProducerBatchMaxBytes(16 << 10)}, mixed(1, uint64(10+i), 100)...)
	}
	for _, codec := range []kafkatest.Codec{kafkatest.Snappy, kafkatest.SnappyJava, kafkatest.LZ4} {
		b := kafkatest.Batch{Codec: codec, Records: mixed(2, 20, 50)}
		c.ProduceRaw(topic, 2, b.Bytes(t))
	}
	c.Produce(topic, mixed(3, 30, 200)...)

	// Offsets with and without records, in partitions 4 and 5.
	t1, t2 := c.Begin(topic+"-1"), c.Begin(topic+"-2")
	t1.Produce(topic, mixed(4, 40, 20)...)
	t2.Produce(topic, mixed(4, 41, 10)...)
	c.Produce(topic, mixed(4, 42, 5)...)
	t1.Produce(topic, mixed(4, 43, 20)...)
	t1.Abort()
	t2.Commit()
	for i := range 5 {
		t1.Again()
		t1.Produce(topic, mixed(4, uint64(50+i), 3)...)
		t1.Produce(topic, mixed(5, uint64(60+i), 3)...)
		if i%2 == 0 {
			t1.Abort()
		} else {
			t1.Commit()
		}
	}
	settled(t, c, topic)
	t2.Again()
	t2.Produce(topic, mixed(4, 44, 4)...) // stays open
	c.Produce(topic, mixed(4, 45, 6)...)

	c.ProduceWith(topic, []kgo.Opt{kgo.ProducerBatchCompression(kgo.ZstdCompression())},
		kafkatest.Record{Partition: 7, Value: []byte("before")},
		kafkatest.Record{Partition: 7, Key: []byte("large"), Value: bytes.Repeat([]byte("0123456789abcdef"), 200_000)},
		kafkatest.Record{Partition: 7, Value: []byte("behind")})
	plain := 5*60 + 5*100 + 3*50 + 200 + 3
	return plain + 20 + 10 + 5 + 20 + 5*3*2 + 4 + 6, plain + 10 + 5 + 2*3*2
}

// TestKcmShowsWhatOthersShow: kcm, Kafka's console consumer and kcat agree about
// every record, at both levels of isolation, whatever wrote them.
func TestKcmShowsWhatOthersShow(t *testing.T) {
	beside(t)
	rig := kafkatest.Real(t, kafkatest.Options{})
	c, topic := rig.Cluster("east"), rig.Name("everything")
	all, committed := everything(t, c, topic)
	appended := rig.Name("appended")
	c.CreateTopic(appended, 1, map[string]string{"message.timestamp.type": "LogAppendTime"})
	c.Produce(appended, mixed(0, 70, 50)...)
	compacted := rig.Name("compacted")
	left := compact(t, c, compacted)

	for name, tc := range map[string]struct {
		topic, stamp, level string
		flags               []string
		records             int
	}{
		"uncommitted":   {topic, "C", "read_uncommitted", nil, all},
		"committed":     {topic, "C", "read_committed", []string{"--read-committed"}, committed},
		"LogAppendTime": {appended, "L", "read_committed", nil, 50},
		"compacted":     {compacted, "C", "read_uncommitted", nil, left},
	} {
		t.Run(name, func(t *testing.T) {
			var console []shown
			var wait sync.WaitGroup
			wait.Go(func() {
				console = consoleShows(t, rig.With(t).Cluster("east"), tc.topic, tc.records, "--from-beginning", "--isolation-level", tc.level)
			})
			args := append([]string{"-b", c.Bootstrap(), "consume", tc.topic, "-e"}, tc.flags...)
			r := run(t, append(slices.Clone(args), "-J", "-s", "raw"))
			r.exits(t, 0)
			if len(r.stdout) != tc.records || len(r.stderr) > 0 {
				t.Errorf("%d records, want %d; stderr %q", len(r.stdout), tc.records, r.stderr)
			}
			from := []string{"-o", "beginning", "-e", "-X", "isolation.level=" + tc.level}
			agree(t, "kcat", kcmShows(t, r.stdout, asKcat), kcatShows(t, c, tc.topic, tc.stamp, from...))
			wait.Wait()
			agree(t, "the console consumer", kcmShows(t, r.stdout, asConsole), console)
			sameText(t, c, tc.topic, args, from)
		})
	}
	sameRanges(t, c, topic)
}

// sameText compares the very bytes of templates, and kcat's JSON with what kcm
// makes of it.
func sameText(t *testing.T, c *kafkatest.Cluster, topic string, args, from []string) {
	t.Helper()
	records := func(text []byte) []string {
		list := strings.Split(strings.TrimSuffix(string(text), "~R~"), "~R~")
		slices.Sort(list)
		return list
	}
	mine := run(t, append(slices.Clone(args), "-f", `%t/%p@%o %d %k=%v~R~`, "-s", "raw"))
	theirs := kcatReads(t, c, topic, append([]string{"-f", `%t/%p@%o %T %k=%s~R~`}, from...)...)
	equal(t, "templates", records([]byte(strings.Join(mine.stdout, "\n"))), records(theirs))

	mine = run(t, append(slices.Clone(args), "-f", "raw", "--delimiter", "~R~"))
	theirs = kcatReads(t, c, topic, append([]string{"-D", "~R~"}, from...)...)
	equal(t, "raw", records([]byte(strings.Join(mine.stdout, "\n"))), records(theirs))

	mine = run(t, append(slices.Clone(args), "-f", "kcat-json"))
	sameJSON(t, mine.stdout, strings.Split(strings.TrimSpace(string(kcatReads(t, c, topic, append([]string{"-J"}, from...)...))), "\n"))
}

// sameJSON compares objects member by member, where kcat's is JSON at all: it
// writes bytes as they are.
func sameJSON(t *testing.T, mine, theirs []string) {
	t.Helper()
	type object struct {
		Topic     string    `json:"topic"`
		Partition int       `json:"partition"`
		Offset    int64     `json:"offset"`
		Type      string    `json:"tstype"`
		Time      int64     `json:"ts"`
		Headers   []*string `json:"headers"`
		Key       *string   `json:"key"`
		Payload   *string   `json:"payload"`
	}
	read := func(lines []string, skip map[string]bool) map[string]string {
		all := map[string]string{}
		for _, l := range lines {
			var o object
			if err := json.Unmarshal([]byte(l), &o); err != nil {
				t.Fatalf("%v in %.200q", err, l)
			}
			at := fmt.Sprintf("%d@%d", o.Partition, o.Offset)
			if strings.ContainsRune(l, utf8.RuneError) || !utf8.ValidString(l) {
				skip[at] = true
				continue
			}
			text, _ := json.Marshal(o)
			all[at] = string(text)
		}
		return all
	}
	skip := map[string]bool{}
	want, got := read(theirs, skip), read(mine, map[string]bool{})
	for at := range skip {
		delete(got, at)
	}
	if len(want) < len(theirs)/3 {
		t.Errorf("only %d of %d objects can be compared", len(want), len(theirs))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("kcat-json (-kcat +kcm):\n%.2000s", diff)
	}
}

// sameRanges compares parts of partition 1, whose record n has n seconds.
func sameRanges(t *testing.T, c *kafkatest.Cluster, topic string) {
	t.Helper()
	const first = 1_700_000_000_000
	for spec, args := range map[string][]string{
		"0:1":     {"-o", "0", "-c", "1"},
		"95:130":  {"-o", "95", "-c", "35"},
		"499:500": {"-o", "499", "-c", "1"},
		"480:end": {"-o", "480", "-e"},
		"-7":      {"-o", "-7", "-e"},
		"end-250": {"-o", "-250", "-e"},
		"start":   {"-o", "beginning", "-e"},
		"end":     {"-o", "end", "-e"},
	} {
		r := run(t, []string{"-b", c.Bootstrap(), "consume", topic, "-p", "1", "-o", spec, "-e", "-J", "-s", "raw"})
		r.exits(t, 0)
		agree(t, "-o "+spec, kcmShows(t, r.stdout, asKcat), kcatShows(t, c, topic, "C", append(args, "-p", "1")...))
	}
	// Partition 3 alone has times that only grow.
	for _, at := range [][2]int64{{first, first + 1}, {first + 1000, first + 90_000}, {first + 999, first + 90_001}, {first - 5000, first + 5000}} {
		r := run(t, []string{"-b", c.Bootstrap(), "consume", topic, "-p", "3", "-o", fmt.Sprintf("@%d:%d", at[0], at[1]), "-J", "-s", "raw"})
		r.exits(t, 0)
		args := []string{"-p", "3", "-o", fmt.Sprintf("s@%d", at[0]), "-o", fmt.Sprintf("e@%d", at[1])}
		agree(t, fmt.Sprint("times ", at), kcmShows(t, r.stdout, asKcat), kcatShows(t, c, topic, "C", args...))
	}
	r := run(t, []string{"-b", c.Bootstrap(), "consume", topic, "-p", "1", "-o", "95:130", "-J", "-s", "raw"})
	agree(t, "the console consumer's range", kcmShows(t, r.stdout, asConsole), consoleShows(t, c, topic, 35, "--partition", "1", "--offset", "95"))
}

// compact makes a topic of which compaction has taken most and returns how many
// records are left.
func compact(t *testing.T, c *kafkatest.Cluster, topic string) (left int) {
	t.Helper()
	c.CreateTopic(topic, 1, map[string]string{
		"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.001", "segment.ms": "1", "delete.retention.ms": "0",
	})
	for i := range 4 {
		for k := range 5 {
			c.Produce(topic, kafkatest.Record{Key: fmt.Append(nil, "k", k), Value: fmt.Append(nil, "round ", i)})
		}
	}
	n := 0
	for i := 0; i < 100; i++ {
		c.Produce(topic, kafkatest.Record{Key: []byte("last"), Value: fmt.Append(nil, i)}) // begins a segment
		n = len(kcatShows(t, c, topic, "C", "-o", "beginning", "-e"))
		if n <= 10+i/2 {
			break
		}
	}
	keep := "delete" // ends the compaction
	_, err := c.Admin().AlterTopicConfigs(t.Context(), []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "cleanup.policy", Value: &keep}}, topic)
	if err != nil {
		t.Fatal(err)
	}
	// What the cleaner has begun may still go: it pauses for half a second.
	for since := time.Now(); time.Since(since) < time.Second; {
		if now := len(kcatShows(t, c, topic, "C", "-o", "beginning", "-e")); now != n {
			n, since = now, time.Now()
		}
	}
	return n
}
