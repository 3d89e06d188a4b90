package cmd

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kcm-cli/kcm/internal/kafkatest"
)

// framedBy puts an id in front of a payload.
func framedBy(id int, payload ...byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(id)), payload...)
}

// copyRig is two clusters with registries of their own.
type copyRig struct {
	t          *testing.T
	rig        *kafkatest.Rig
	east, west *kafkatest.Schemas
	topic      string
}

// newCopyRig makes two clusters whose registries give the same ids to other
// schemas: 1 is a long on west, and a string on east.
func newCopyRig(t *testing.T, rig *kafkatest.Rig) *copyRig {
	t.Helper()
	t.Chdir(t.TempDir())
	r := &copyRig{t: t, rig: rig, topic: rig.Name("orders"), east: kafkatest.NewSchemas(t, 1), west: kafkatest.NewSchemas(t, 1)}
	r.west.Add(kafkatest.Schema{Subject: "other", Text: `"long"`})
	for _, name := range []string{"east", "west"} {
		rig.Cluster(name).CreateTopic(r.topic, 2, nil)
	}
	r.write("")
	return r
}

// write writes the metadata; stream is more of the stream.
func (r *copyRig) write(stream string) {
	r.t.Helper()
	write(r.t, "kcm.yaml", fmt.Sprintf(`clusters:
  east: {bootstrap: "%s", schemaRegistry: {url: "%s"}}
  west: {bootstrap: "%s", schemaRegistry: {url: "%s"}}
  same: {bootstrap: "%[3]s", schemaRegistry: {url: "%[2]s/"}}
  bare: {bootstrap: "%[3]s"}
streams:
  orders: {%[5]s sources: [{cluster: east, topics: ["%[6]s"]}]}
`, r.rig.Cluster("east").Bootstrap(), r.east.URL(), r.rig.Cluster("west").Bootstrap(), r.west.URL(), stream, r.topic))
}

func (r *copyRig) subject(of string) string { return r.topic + "-" + of }

func (r *copyRig) produce(records ...kafkatest.Record) {
	r.t.Helper()
	r.rig.Cluster("east").Produce(r.topic, records...)
}

// copy runs the copy.
func (r *copyRig) copy(args ...string) result {
	r.t.Helper()
	return runKcm(r.t, world{}, append([]string{"consume", "orders", "-e", "--to", "west", "--registry-copy", "--give-up", "2s"}, args...)...)
}

// holds demands that a topic of west holds records, each as partition, key, value
// and headers in hexadecimal.
func (r *copyRig) holds(topic string, want ...string) {
	r.t.Helper()
	if got := recordsOf(r.t, r.rig.Cluster("west"), topic); !slices.Equal(got, want) {
		r.t.Errorf("%s holds\n%s\nwant\n%s", topic, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// recordsOf lists what is in a topic, partition by partition.
func recordsOf(t *testing.T, c *kafkatest.Cluster, topic string) (list []string) {
	t.Helper()
	ends, err := c.Admin().ListEndOffsets(t.Context(), topic)
	if err != nil {
		t.Fatal(err)
	}
	partitions := slices.Sorted(func(yield func(int32) bool) {
		for p := range ends[topic] {
			if !yield(p) {
				return
			}
		}
	})
	for _, p := range partitions {
		end := ends[topic][p].Offset
		cl := c.Client(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {p: kgo.NewOffset().AtStart()}}))
		for at := int64(0); at < end; {
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			fs := cl.PollFetches(ctx)
			cancel()
			if err := fs.Err(); err != nil {
				t.Fatal(err)
			}
			fs.EachRecord(func(rec *kgo.Record) {
				at = rec.Offset + 1
				line := fmt.Sprintf("%d %s %s", p, hexOf(rec.Key), hexOf(rec.Value))
				for _, h := range rec.Headers {
					line += " " + h.Key + "=" + hexOf(h.Value)
				}
				list = append(list, line)
			})
		}
		cl.Close()
	}
	return list
}

func hexOf(b []byte) string {
	if b == nil {
		return "null"
	}
	return hex.EncodeToString(b)
}

func TestSchemasAreCopied(t *testing.T) {
	r := newCopyRig(t, kafkatest.Fake(t, kafkatest.Options{}))
	// Ids 1 to 5 of east; west has given 1 to a long. The version of leaf that is
	// referred to is 2 on east, and 3 on west, where the subject is another's as well.
	r.east.Add(kafkatest.Schema{Subject: r.subject("value"), Text: `"string"`})
	r.east.Add(kafkatest.Schema{Subject: "leaf", Text: `{"type":"enum","name":"Leaf","symbols":["Z"]}`})
	r.east.Add(kafkatest.Schema{Subject: "leaf", Text: `{"type":"enum","name":"Leaf","symbols":["A","B"]}`})
	r.east.Add(kafkatest.Schema{
		Subject: "by.name.Order", Text: `{"type":"record","name":"Order","fields":[{"name":"l","type":"Leaf"},{"name":"n","type":"int"}]}`,
		References: []kafkatest.SchemaRef{{Name: "Leaf", Subject: "leaf", Version: 2}},
	})
	r.east.Add(kafkatest.Schema{Subject: r.subject("key"), Text: `"int"`})
	r.west.Add(kafkatest.Schema{Subject: "leaf", Text: `{"type":"enum","name":"Leaf","symbols":["X"]}`})
	r.west.Add(kafkatest.Schema{Subject: "leaf", Text: `{"type":"enum","name":"Leaf","symbols":["Y"]}`})
	r.west.Add(kafkatest.Schema{Subject: "others", Text: `"float"`, ID: 20}) // further ones come behind it
	r.produce(
		kafkatest.Record{Key: framedBy(5, 0x0e), Value: framedBy(1, 4, 'h', 'i')},
		kafkatest.Record{Key: []byte("plain"), Value: framedBy(4, 2, 6)},
		kafkatest.Record{Key: nil, Value: nil},
		kafkatest.Record{Key: []byte{}, Value: []byte{}},
		kafkatest.Record{Partition: 1, Key: []byte{0, 0, 0, 1}, Value: []byte("\x01 no id")},
		kafkatest.Record{Partition: 1, Key: []byte{0, 0, 0, 0, 0, 1}, Value: framedBy(1, 2, 'a'), Headers: []kafkatest.Header{{Key: "h", Value: []byte{0, 0, 0, 0, 1, 0}}}},
		kafkatest.Record{Partition: 1, Key: framedBy(5, 0x01), Value: framedBy(4, 0, 1)},
	)
	res := r.copy("-v")
	if res.code != 0 || !strings.Contains(res.stderr, "kcm: 7 records written to west/"+r.topic+"\n") {
		t.Fatalf("code %d: %s", res.code, res.stderr)
	}
	id := func(subject string) int {
		t.Helper()
		for _, s := range r.west.All() {
			if s.Subject == subject {
				return s.ID
			}
		}
		t.Fatalf("west has no %s", subject)
		return 0
	}
	str, order, key := id(r.subject("value")), id("by.name.Order"), id(r.subject("key"))
	if str == 1 || order == 4 || key == 5 {
		t.Fatalf("ids on west are %d, %d, %d: the test shows nothing", str, order, key)
	}
	r.holds(r.topic,
		"0 "+hexOf(framedBy(key, 0x0e))+" "+hexOf(framedBy(str, 4, 'h', 'i')),
		"0 706c61696e "+hexOf(framedBy(order, 2, 6)),
		"0 null null",
		"0  ",
		"1 00000001 01206e6f206964",
		"1 000000000001 "+hexOf(framedBy(str, 2, 'a'))+" h=000000000100",
		"1 "+hexOf(framedBy(key, 0x01))+" "+hexOf(framedBy(order, 0, 1)),
	)
	for _, s := range r.west.All() {
		if s.Subject == "by.name.Order" && (len(s.References) != 1 || s.References[0] != kafkatest.SchemaRef{Name: "Leaf", Subject: "leaf", Version: 3}) {
			t.Errorf("references of the copy are %v", s.References)
		}
	}
	for _, text := range []string{
		fmt.Sprintf("kcm: schema 1 of the registry of east is schema %d of the registry of west, as %s\n", str, r.subject("value")),
		fmt.Sprintf("kcm: schema 4 of the registry of east is schema %d of the registry of west, as by.name.Order\n", order),
	} {
		if strings.Count(res.stderr, text) != 1 {
			t.Errorf("not once %q in\n%s", text, res.stderr)
		}
	}
	if n := len(r.west.Asked("POST /subjects/" + r.subject("value") + "/versions")); n != 1 {
		t.Errorf("registered %d times", n)
	}
	// Again: nothing is registered, and the same is written.
	before := len(r.west.All())
	if res := r.copy(); res.code != 0 || len(r.west.All()) != before {
		t.Errorf("again: code %d, %d schemas, %s", res.code, len(r.west.All()), res.stderr)
	}
}

// The subject is that of the topic that is written to, where it was that of the
// topic that is read.
func TestSchemasGetTheSubjectOfTheTarget(t *testing.T) {
	r := newCopyRig(t, kafkatest.Fake(t, kafkatest.Options{}))
	r.east.Add(kafkatest.Schema{Subject: r.subject("value"), Text: `"string"`})
	r.east.Add(kafkatest.Schema{Subject: "also", Text: `"string"`})
	r.produce(kafkatest.Record{Value: framedBy(1, 2, 'a')})
	if res := r.copy("--to", "west/copy", "--create"); res.code != 0 {
		t.Fatalf("code %d: %s", res.code, res.stderr)
	}
	r.holds("copy", "0 null "+hexOf(framedBy(2, 2, 'a')))
	var subjects []string
	for _, s := range r.west.All() {
		subjects = append(subjects, s.Subject)
	}
	if want := []string{"other", "copy-value"}; !slices.Equal(subjects, want) {
		t.Errorf("subjects of west are %q, want %q", subjects, want)
	}
}

func TestGUIDsInHeadersAreReplaced(t *testing.T) {
	r := newCopyRig(t, kafkatest.Fake(t, kafkatest.Options{}))
	r.east.GiveGUIDs("aaaaaaaa")
	r.west.GiveGUIDs("bbbbbbbb")
	r.east.Add(kafkatest.Schema{Subject: r.subject("value"), Text: `"string"`})
	r.east.Add(kafkatest.Schema{Subject: r.subject("key"), Text: `"int"`})
	guid := func(s *kafkatest.Schemas, subject string) []byte {
		t.Helper()
		for _, x := range s.All() {
			if x.Subject == subject {
				b, err := hex.DecodeString(strings.ReplaceAll(x.GUID, "-", ""))
				if err != nil || len(b) != 16 {
					t.Fatalf("%q: %v", x.GUID, err)
				}
				return append([]byte{1}, b...)
			}
		}
		t.Fatalf("no %s", subject)
		return nil
	}
	value, key := guid(r.east, r.subject("value")), guid(r.east, r.subject("key"))
	headers := []kafkatest.Header{{Key: "a", Value: nil}, {Key: "__key_schema_id", Value: key}, {Key: "__value_schema_id", Value: value}, {Key: "", Value: []byte{1}}}
	r.produce(
		kafkatest.Record{Key: []byte{0x0e}, Value: []byte{2, 'a'}, Headers: headers},
		kafkatest.Record{Key: []byte{0x10}, Value: nil, Headers: headers},
		kafkatest.Record{Value: []byte{2, 'b'}, Headers: []kafkatest.Header{{Key: "__value_schema_id", Value: framedBy(1)}}},
		kafkatest.Record{Value: []byte{2, 'c'}, Headers: []kafkatest.Header{{Key: "__value_schema_id", Value: framedBy(99)}, {Key: "__value_schema_id", Value: nil}}},
	)
	res := r.copy()
	if res.code != 0 {
		t.Fatalf("code %d: %s", res.code, res.stderr)
	}
	v, k := guid(r.west, r.subject("value")), guid(r.west, r.subject("key"))
	line := " a=null __key_schema_id=" + hexOf(k) + " __value_schema_id=" + hexOf(v) + " =01"
	if v[1] != 0xbb || k[1] != 0xbb {
		t.Fatalf("%x %x", v, k)
	}
	r.holds(r.topic, "0 0e 0261"+line, "0 10 null"+line, "0 null 0262 __value_schema_id="+hexOf(framedBy(3)), // 2 is the key's
		"0 null 0263 __value_schema_id="+hexOf(framedBy(99))+" __value_schema_id=null")
}

func TestARunDoesNotWriteWrongIDs(t *testing.T) {
	hi := kafkatest.Record{Value: framedBy(1, 4, 'h', 'i')}
	for _, c := range []struct {
		name    string
		arrange func(r *copyRig)
		records []kafkatest.Record
		args    []string
		code    int
		says    []string
		holds   int
	}{
		{
			name: "unknown to the source", records: []kafkatest.Record{hi, {Value: framedBy(9, 1)}, hi}, code: 3, holds: 1,
			says: []string{"/0 offset 1: --registry-copy: the value: schema 9 is not in the registry of east (http://"},
		},
		{
			name: "refused by the target", arrange: func(r *copyRig) { r.west.Refuse(r.subject("value"), "reader field x is missing") },
			records: []kafkatest.Record{{Value: []byte("first")}, hi}, code: 3, holds: 1,
			says: []string{"/0 offset 1: --registry-copy: the value: subject ", "-value cannot be registered: the registry of west finds the schema incompatible with the earlier versions: 409 reader field x is missing"},
		},
		{
			name: "forbidden by the target", arrange: func(r *copyRig) { r.west.Forbid(r.subject("value")) },
			records: []kafkatest.Record{hi}, args: []string{"-p", "0"}, code: 1,
			says: []string{"/0 offset 0: --registry-copy: the value: the registry of west forbids requests without credentials to register a version of subject ", "-value (403)"},
		},
		{name: "nothing is written", arrange: func(r *copyRig) { r.west.Refuse(r.subject("value"), "no") }, records: []kafkatest.Record{hi}, args: []string{"-p", "0"}, code: 1},
		{
			name: "the target's registry is down", arrange: func(r *copyRig) { r.west.Stop() }, records: []kafkatest.Record{hi}, code: 3,
			says: []string{"/0 offset 0: --registry-copy: the value: the registry of west does not answer: http://"},
		},
		{
			name: "the source's registry is down", arrange: func(r *copyRig) { r.east.Stop() }, records: []kafkatest.Record{hi}, code: 3,
			says: []string{"the registry of east does not answer: http://"},
		},
		{
			name: "down, where what is wrong is left out", arrange: func(r *copyRig) { r.east.Stop() }, records: []kafkatest.Record{hi}, args: []string{"--on-decode-error", "skip"}, code: 3,
			says: []string{
				"; with --registry-copy a partition stops at a record whose schema is not known yet\n",
				"kcm: hint: skip leaves out records that are wrong themselves; --registry-copy copies none of the others without an answer of the registry\n",
			},
		},
		{
			name: "not what its schema says", records: []kafkatest.Record{{Value: framedBy(1, 99, 'h')}}, code: 3,
			says: []string{"the value: by schema 1 of the registry of east it cannot be decoded: ", "kcm: hint: --on-decode-error skip leaves such records out"},
		},
		{name: "such records left out", records: []kafkatest.Record{{Value: framedBy(1, 99, 'h')}, hi}, args: []string{"--on-decode-error", "skip"}, holds: 1},
		{
			name: "a header without an id", records: []kafkatest.Record{{Value: []byte("x"), Headers: []kafkatest.Header{{Key: "__value_schema_id", Value: []byte("?")}}}}, code: 3,
			says: []string{"the value: the header __value_schema_id: no schema id"},
		},
		{
			name: "another schema for the id", arrange: func(r *copyRig) { r.west.Lie(2, `"bytes"`) }, records: []kafkatest.Record{hi}, code: 3,
			says: []string{"the value: schema 1 of the registry of east and schema 2 of the registry of west, which was registered for it, differ in their texts"},
		},
		{
			name: "a number that looks framed", arrange: func(r *copyRig) { r.write("key: int64,") },
			records: []kafkatest.Record{{Key: []byte{0, 0, 0, 0, 9, 0, 0, 0}, Value: []byte("x")}}, holds: 1,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newCopyRig(t, kafkatest.Fake(t, kafkatest.Options{}))
			r.east.Add(kafkatest.Schema{Subject: r.subject("value"), Text: `"string"`})
			if c.arrange != nil {
				c.arrange(r)
			}
			r.produce(c.records...)
			res := r.copy(c.args...)
			if res.code != c.code {
				t.Errorf("code %d, want %d: %s", res.code, c.code, res.stderr)
			}
			for _, text := range c.says {
				if !strings.Contains(res.stderr, text) {
					t.Errorf("no %q in %s", text, res.stderr)
				}
			}
			if got := recordsOf(t, r.rig.Cluster("west"), r.topic); len(got) != c.holds {
				t.Errorf("%d records, want %d: %q", len(got), c.holds, got)
			}
		})
	}
}

func TestRegistryCopyIsRefused(t *testing.T) {
	r := newCopyRig(t, kafkatest.Fake(t, kafkatest.Options{}))
	for _, c := range []struct{ args, says, hint string }{
		{"orders -e --registry-copy", "--registry-copy is about the schemas of what --to copies, which is missing", "--to CLUSTER[/TOPIC]"},
		{"orders -e --to bare --registry-copy", "--registry-copy: the cluster bare has no schema registry", "--registry bare=URL"},
		{"bare/" + r.topic + " -e --to west/x --registry-copy", "--registry-copy: the cluster bare has no schema registry", "--registry bare=URL"},
		{"orders -e --to west --registry-copy -f json", "-s and -f write something else", "leave out"},
		{"orders -e --to west --registry-copy -s string", "-s and -f write something else", "leave out"},
	} {
		res := runKcm(t, world{}, append([]string{"consume"}, strings.Fields(c.args)...)...)
		if res.code != 2 || !strings.Contains(res.stderr, c.says) || !strings.Contains(res.stderr, c.hint) {
			t.Errorf("%s: code %d, %s", c.args, res.code, res.stderr)
		}
	}
	if asked := append(r.east.Asked(""), r.west.Asked("")...); len(asked) > 0 {
		t.Errorf("asked %q", asked)
	}
}

func TestOneRegistryForBoth(t *testing.T) {
	r := newCopyRig(t, kafkatest.Fake(t, kafkatest.Options{}))
	r.produce(kafkatest.Record{Value: framedBy(9, 1)}, kafkatest.Record{Value: framedBy(1, 2, 'a')})
	res := r.copy("--to", "same/"+r.topic, "-v")
	if res.code != 0 || strings.Count(res.stderr, "east and same have one registry: schema ids stay as they are") != 1 {
		t.Errorf("code %d: %s", res.code, res.stderr)
	}
	r.holds(r.topic, "0 null "+hexOf(framedBy(9, 1)), "0 null "+hexOf(framedBy(1, 2, 'a')))
	if asked := r.east.Asked(""); len(asked) > 0 {
		t.Errorf("asked %q", asked)
	}
}
