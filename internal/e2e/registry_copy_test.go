//go:build kafka

package e2e

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kcm-cli/kcm/internal/kafkatest"
)

// goldenValue is a value with its framing that another encoder has written.
func goldenValue(t *testing.T, name string) (payload []byte) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "decoding", "golden.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all []struct{ Name, Value string }
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	for _, g := range all {
		if g.Name != name {
			continue
		}
		b, err := base64.StdEncoding.DecodeString(g.Value)
		if err != nil || len(b) < 5 {
			t.Fatalf("%s: %v", name, err)
		}
		return b[5:] // the id in it is the test's to choose
	}
	t.Fatalf("there is no %s in golden.json", name)
	return nil
}

func goldenSchema(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "decoding", file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// framed puts an id in front of a payload.
func framed(id int, payload []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(id)), payload...) //nolint:gosec // small
}

// twins are two clusters with registries of their own, and a schema of each type
// that the one of them has.
type twins struct {
	t          *testing.T
	east, west *kafkatest.Cluster
	from, to   *kafkatest.SchemaRegistry
	source     string
	kinds      []kind
}

// kind is a schema, with records that have it.
type kind struct {
	subject, of string // on the source's registry, and where it goes to
	id          int    // there
	payload     []byte
}

func newTwins(t *testing.T) *twins {
	t.Helper()
	rig := kafkatest.Real(t, kafkatest.Options{})
	w := &twins{t: t, east: rig.Cluster("east"), west: rig.Cluster("west"), source: rig.Name("src")}
	w.from, w.to = kafkatest.Registry(t, kafkatest.RegistryOptions{}), kafkatest.StartRegistry(t, kafkatest.RegistryOptions{})
	w.east.CreateTopic(w.source, 3, nil)
	add := func(subject, of, schemaType, file string, payload []byte, refs ...kafkatest.SchemaRef) {
		id, _ := w.from.Register(subject, schemaType, goldenSchema(t, file), refs...)
		w.kinds = append(w.kinds, kind{subject, of, id, payload})
	}
	name := func(base string) string { return w.from.Name(base) }
	add(w.source+"-value", "-value", "AVRO", "order.avsc", goldenValue(t, "avro"))
	add(w.source+"-key", "-key", "AVRO", "key.avsc", goldenValue(t, "avro key"))
	// By the name of the record; the version of what it refers to is 2 here.
	w.from.Register(name("money"), "AVRO", `{"type":"record","name":"Money","namespace":"shop.common","fields":[]}`)
	w.from.SetCompatibility(name("money"), "NONE")
	_, version := w.from.Register(name("money"), "AVRO", goldenSchema(t, "money.avsc"))
	add(name("shop.Payment"), "", "AVRO", "payment.avsc", goldenValue(t, "avro with a reference"),
		kafkatest.SchemaRef{Name: "shop.common.Money", Subject: name("money"), Version: version})
	add(name("order.proto"), "", "PROTOBUF", "order.proto", goldenValue(t, "protobuf"))
	add(name("order.json"), "", "JSON", "order.schema.json", goldenValue(t, "json schema"))
	// The ids of the other registry are other ones: those of these are taken.
	highest := 0
	for _, k := range w.kinds {
		highest = max(highest, k.id)
	}
	for i := range 1000 {
		if id, _ := w.to.Register(fmt.Sprintf("unrelated-%d", i), "AVRO", fmt.Sprintf(`{"type":"enum","name":"E%d","symbols":["A"]}`, i)); id >= highest {
			return w
		}
	}
	t.Fatalf("ids do not come to %d", highest)
	return nil
}

// metadata writes the metadata and returns the flags for it.
func (w *twins) metadata() []string {
	w.t.Helper()
	file := filepath.Join(w.t.TempDir(), "kcm.yaml")
	text := fmt.Sprintf("clusters:\n  east: {bootstrap: %q, schemaRegistry: {url: %q}}\n  west: {bootstrap: %q, schemaRegistry: {url: %q}}\n",
		w.east.Bootstrap(), w.from.URL(), w.west.Bootstrap(), w.to.URL())
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return []string{"-m", file}
}

func getJSON(t *testing.T, url string, into any) {
	t.Helper()
	resp, err := http.Get(url) //nolint:gosec // a test's own
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", url, resp.Status)
	}
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
		t.Fatalf("%s: %v", url, err)
	}
}

// newIDs looks up what ids the schemas have got on the other registry, with
// another client.
func (w *twins) newIDs(target string) map[int]int {
	w.t.Helper()
	ids := map[int]int{}
	for _, k := range w.kinds {
		subject := k.subject
		if k.of != "" {
			subject = target + k.of
		}
		var got struct{ ID int }
		getJSON(w.t, w.to.URL()+"/subjects/"+subject+"/versions/latest", &got)
		if got.ID == 0 || got.ID == k.id {
			w.t.Fatalf("%s has id %d, as on the first registry: nothing is shown by that", subject, got.ID)
		}
		ids[k.id] = got.ID
	}
	return ids
}

// TestSchemasAreCopiedWithTheirRecords: every record of the copy is as it was, but
// for the ids, and is decoded to the same by the other registry.
func TestSchemasAreCopiedWithTheirRecords(t *testing.T) {
	w := newTwins(t)
	target := w.source + "-copy"
	w.west.CreateTopic(target, 3, nil)
	const n = 6000
	list := func(ids map[int]int) (records []kafkatest.Record) {
		id := func(k kind) int {
			if ids != nil {
				return ids[k.id]
			}
			return k.id
		}
		key := w.kinds[1]
		for i := range n {
			k := w.kinds[i%len(w.kinds)]
			r := kafkatest.Record{
				Partition: int32(i % 3), Key: framed(id(key), key.payload), Value: framed(id(k), k.payload), Time: 1_700_000_000_000 + int64(i),
				Headers: []kafkatest.Header{{Key: "n", Value: framed(k.id, nil)}},
			}
			switch i % 13 {
			case 1:
				r.Key = fmt.Appendf(nil, "plain %d", i)
			case 2:
				r.Value = nil
			case 3:
				r.Key, r.Value = nil, []byte(`{"json":true}`)
			case 4:
				r.Value = []byte{0, 0, 0, 1}
			case 5:
				r.Value, r.Headers = []byte{}, nil
			case 6:
				r.Headers = []kafkatest.Header{{Key: "__value_schema_id", Value: framed(id(k), nil)}}
				if k.subject == w.from.Name("order.proto") { // the message index stands in the header
					r.Headers[0].Value = framed(id(k), k.payload[:1])
				}
				r.Value = k.payload
				if len(r.Headers[0].Value) > 5 {
					r.Value = k.payload[1:]
				}
			}
			records = append(records, r)
		}
		return records
	}
	w.east.ProduceWith(w.source, []kgo.Opt{kgo.ProducerBatchCompression(kgo.Lz4Compression())}, list(nil)[:n/2]...)
	w.east.ProduceWith(w.source, []kgo.Opt{kgo.ProducerBatchCompression(kgo.ZstdCompression())}, list(nil)[n/2:]...)
	settled(t, w.east, w.source)
	r := run(t, append(w.metadata(), "consume", "east/"+w.source, "-e", "--to", "west/"+target, "--registry-copy", "-v"))
	r.exits(t, 0)
	want := map[int32][]string{}
	for _, rec := range list(w.newIDs(target)) {
		want[rec.Partition] = append(want[rec.Partition], lineOf(kgoRecord(rec)))
	}
	got := recordsIn(t, w.west, target)
	for p := range int32(3) {
		equal(t, fmt.Sprintf("partition %d", p), got[p], want[p])
	}
	equal(t, "what is decoded", w.decoded("west/"+target), w.decoded("east/"+w.source))
	r.says(t, len(w.kinds)+1, " of the registry of west, as ") // that of keys is also one of values
}

// kgoRecord is a record as a client gives it.
func kgoRecord(r kafkatest.Record) *kgo.Record {
	out := &kgo.Record{Key: r.Key, Value: r.Value, Timestamp: time.UnixMilli(r.Time)}
	for _, h := range r.Headers {
		out.Headers = append(out.Headers, kgo.RecordHeader{Key: h.Key, Value: h.Value})
	}
	return out
}

// decoded are the keys and values of a topic as kcm shows them, all of which have
// to be decoded.
func (w *twins) decoded(topic string) []string {
	w.t.Helper()
	r := run(w.t, append(w.metadata(), "consume", topic, "-e", "-f", "%p %o %k %v\\n", "--on-decode-error", "fail"))
	r.exits(w.t, 0)
	slices.Sort(r.stdout)
	return r.stdout
}

// TestARegistryRefusesASchema: what the other registry finds incompatible is not
// copied, and what comes before it is.
func TestARegistryRefusesASchema(t *testing.T) {
	w := newTwins(t)
	target := w.source + "-refused"
	w.west.CreateTopic(target, 1, nil)
	w.to.Register(target+"-value", "AVRO", `"long"`)
	w.to.SetCompatibility(target+"-value", "FULL")
	avro, proto := w.kinds[0], w.kinds[3]
	w.east.Produce(w.source, kafkatest.Record{Value: framed(proto.id, proto.payload)}, kafkatest.Record{Value: framed(avro.id, avro.payload)},
		kafkatest.Record{Value: framed(proto.id, proto.payload)})
	r := run(t, append(w.metadata(), "consume", "east/"+w.source, "-e", "--to", "west/"+target, "--registry-copy"))
	r.exits(t, 3)
	text := strings.Join(r.stderr, "\n")
	if want := "subject " + target + "-value cannot be registered: the registry of west finds the schema incompatible with the earlier versions: 409"; !strings.Contains(text, want) {
		t.Errorf("no %q in\n%s", want, text)
	}
	if got := recordsIn(t, w.west, target); len(got[0]) != 1 {
		t.Errorf("%d records", len(got[0]))
	}
}

// TestARegistryIsDownWhileSchemasAreCopied: the split stops in a bounded time;
// the next run goes on where that one stopped.
func TestARegistryIsDownWhileSchemasAreCopied(t *testing.T) {
	w := newTwins(t)
	target := w.source + "-down"
	w.west.CreateTopic(target, 1, nil)
	avro := w.kinds[0]
	at := int64(1_700_000_000_000)
	w.east.Produce(w.source, kafkatest.Record{Value: []byte("plain"), Time: at}, kafkatest.Record{Value: framed(avro.id, avro.payload), Time: at})
	w.to.Stop()
	state := filepath.Join(t.TempDir(), "state")
	args := append(w.metadata(), "consume", "east/"+w.source, "-e", "--to", "west/"+target, "--registry-copy", "--state", state)
	r := run(t, args)
	r.exits(t, 3)
	if text := strings.Join(r.stderr, "\n"); !strings.Contains(text, "/0 offset 1: --registry-copy: the value: the registry of west does not answer: http") {
		t.Error(text)
	}
	if r.took > 20*time.Second {
		t.Errorf("it took %v", r.took)
	}
	w.to.Start()
	run(t, args).exits(t, 0)
	var got struct{ ID int }
	getJSON(t, w.to.URL()+"/subjects/"+target+"-value/versions/latest", &got)
	equal(t, "records", recordsIn(t, w.west, target)[0], []string{
		lineOf(kgoRecord(kafkatest.Record{Value: []byte("plain"), Time: at})), lineOf(kgoRecord(kafkatest.Record{Value: framed(got.ID, avro.payload), Time: at})),
	})
}
