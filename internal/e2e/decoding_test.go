//go:build kafka

package e2e

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/kcm-cli/kcm/internal/kafkatest"
)

// golden is a key or value that a serializer of Python's confluent-kafka wrote,
// and the JSON that it has to become (testdata/decoding/write.py).
type golden struct {
	Name       string
	Schema     string // a file
	Value      []byte // framed with the id 1, unless there is a header
	Want       json.RawMessage
	References map[string]string // names → files
	GUID       string
	Header     struct {
		Key   string
		Value []byte
	}
	Compiled string // in place of the file's text: a compiled .proto file in base64
}

// goldens returns those of the file, by name.
func goldens(t *testing.T) map[string]golden {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "decoding", "golden.json"))
	if err != nil {
		t.Fatal(err)
	}
	var list []golden
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	byName := map[string]golden{}
	for _, g := range list {
		byName[g.Name] = g
	}
	return byName
}

// registrar is a registry of either kind.
type registrar interface {
	URL() string
	Register(subject, schemaType, text string, refs ...kafkatest.SchemaRef) (id, version int)
}

// register registers the schema of g and returns its id.
func (g golden) register(t *testing.T, at registrar, subject string) int {
	t.Helper()
	var refs []kafkatest.SchemaRef
	for name, file := range g.References {
		_, version := at.Register(subject+"-"+file, schemaType(file), schemaText(t, file))
		refs = append(refs, kafkatest.SchemaRef{Name: name, Subject: subject + "-" + file, Version: version})
	}
	text := schemaText(t, g.Schema)
	if g.Compiled != "" {
		text = g.Compiled
	}
	id, _ := at.Register(subject, schemaType(g.Schema), text, refs...)
	return id
}

func schemaText(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "decoding", file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func schemaType(file string) string {
	return map[string]string{".avsc": "AVRO", ".proto": "PROTOBUF", ".json": "JSON"}[filepath.Ext(file)]
}

// with returns the bytes with another id in their frame.
func (g golden) with(id int) []byte {
	b := bytes.Clone(g.Value)
	binary.BigEndian.PutUint32(b[1:], uint32(id))
	return b
}

// is checks that a line of -J holds what g has to become, by this id.
func (g golden) is(t *testing.T, line string, id int) {
	t.Helper()
	var got struct {
		Value json.RawMessage
		ID    json.RawMessage `json:"value_schema_id"`
		Err   string          `json:"value_error"`
	}
	if err := json.Unmarshal([]byte(line), &got); err != nil {
		t.Fatalf("%v in %s", err, line)
	}
	wantID := fmt.Sprint(id)
	if g.GUID != "" {
		wantID = `"` + g.GUID + `"`
	}
	if got.Err != "" || string(got.ID) != wantID || !equalJSON(t, got.Value, g.Want) {
		t.Errorf("%s: got %s by schema %s (%s), want %s by %s", g.Name, got.Value, got.ID, got.Err, g.Want, wantID)
	}
}

// equalJSON compares values; numbers by their digits, order in objects does not
// count.
func equalJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	var x, y any
	for text, v := range map[*[]byte]*any{&a: &x, &b: &y} {
		d := json.NewDecoder(bytes.NewReader(*text))
		d.UseNumber()
		if err := d.Decode(v); err != nil {
			t.Fatalf("%v in %s", err, *text)
		}
	}
	return reflect.DeepEqual(x, y)
}

// decoded writes a metadata file of one stream over clusters with registries.
func decoded(t *testing.T, topic string, registries map[*kafkatest.Cluster]string) string {
	t.Helper()
	var clusters, sources strings.Builder
	for c, url := range registries {
		fmt.Fprintf(&clusters, "  %s: {bootstrap: %q, schemaRegistry: {url: %q}}\n", c.Name(), c.Bootstrap(), url)
		fmt.Fprintf(&sources, "      - {cluster: %s, topics: [%q]}\n", c.Name(), topic)
	}
	return file(t, "kcm.yaml", "clusters:\n"+clusters.String()+"streams:\n  orders:\n    sources:\n"+sources.String())
}

// TestWhatSerializersOfPythonWrote has a real registry hold the schemas: Avro
// with references and as a key, Protobuf of nested and later messages, JSON
// Schema. It can neither give GUIDs nor take compiled .proto files: a registry
// of the test's has those.
func TestWhatSerializersOfPythonWrote(t *testing.T) {
	rig := kafkatest.Real(t, kafkatest.Options{})
	east, west := rig.Cluster("east"), rig.Cluster("west")
	topic := rig.Name("orders")
	real, inside := kafkatest.Registry(t, kafkatest.RegistryOptions{}), kafkatest.NewSchemas(t, 40)
	all := goldens(t)
	key := all["avro key"]
	keyIDs := map[*kafkatest.Cluster]int{east: key.register(t, real, rig.Name("key")), west: key.register(t, inside, "key")}
	ids, at := map[string]int{}, map[string]*kafkatest.Cluster{}
	var names []string
	for _, c := range []*kafkatest.Cluster{east, west} {
		c.CreateTopic(topic, 1, nil)
	}
	for name, g := range all {
		c, r := east, registrar(real)
		if g.GUID != "" || g.Compiled != "" {
			c, r = west, inside
		}
		ids[name], at[name] = g.register(t, r, rig.Name("value-"+g.Schema)), c
		if g.GUID != "" {
			inside.Add(kafkatest.Schema{Subject: "guid", Text: schemaText(t, g.Schema), GUID: g.GUID, ID: ids[name]})
		}
		record := kafkatest.Record{Key: key.with(keyIDs[c]), Value: g.Value, Headers: []kafkatest.Header{{Key: "name", Value: []byte(name)}}}
		if g.GUID != "" {
			record.Headers = append(record.Headers, kafkatest.Header{Key: g.Header.Key, Value: g.Header.Value})
		} else {
			record.Value = g.with(ids[name])
		}
		c.Produce(topic, record)
		names = append(names, name)
	}
	meta := decoded(t, topic, map[*kafkatest.Cluster]string{east: real.URL(), west: inside.URL()})
	r := run(t, []string{"-m", meta, "consume", "orders", "-e", "-J"})
	r.exits(t, 0)
	if len(r.stdout) != len(names) || len(r.stderr) != 0 {
		t.Errorf("%d records, want %d; stderr %q", len(r.stdout), len(names), r.stderr)
	}
	for _, line := range r.stdout {
		p := parse(t, []byte(line))
		name, err := bytesOf(p.Headers[0].Value, "")
		if err != nil {
			t.Fatal(err)
		}
		all[string(name)].is(t, line, ids[string(name)])
		if p.Cluster != at[string(name)].Name() || !equalJSON(t, p.Key, key.Want) {
			t.Errorf("%s: on %s with the key %s", name, p.Cluster, p.Key)
		}
	}
}

// TestOneIDOfTwoRegistries has the same id mean another schema on each cluster;
// the same bytes are something else on each, and both are right in one run.
func TestOneIDOfTwoRegistries(t *testing.T) {
	rig := kafkatest.Real(t, kafkatest.Options{})
	east, west := rig.Cluster("east"), rig.Cluster("west")
	topic := rig.Name("orders")
	first, second := kafkatest.StartRegistry(t, kafkatest.RegistryOptions{}), kafkatest.StartRegistry(t, kafkatest.RegistryOptions{})
	all := goldens(t)
	mine, other := all["avro"], all["avro of west"]
	id, otherID := mine.register(t, first, "orders-value"), other.register(t, second, "orders-value")
	for i := 0; id != otherID; i++ {
		if i > 100 {
			t.Fatalf("the ids %d and %d do not meet", id, otherID)
		}
		// A schema that differs by a name takes the next id.
		if id < otherID {
			id = nextID(t, first, mine, i)
		} else {
			otherID = nextID(t, second, other, i)
		}
	}
	const each = 500
	for _, c := range []*kafkatest.Cluster{east, west} {
		g := map[*kafkatest.Cluster]golden{east: mine, west: other}[c]
		c.CreateTopic(topic, 3, nil)
		var records []kafkatest.Record
		for i := range each {
			records = append(records, kafkatest.Record{Partition: int32(i % 3), Value: g.with(id)})
		}
		c.Produce(topic, records...)
	}
	meta := decoded(t, topic, map[*kafkatest.Cluster]string{east: first.URL(), west: second.URL()})
	r := run(t, []string{"-m", meta, "consume", "orders", "-e", "-J"})
	r.exits(t, 0)
	seen := map[string]int{}
	for _, line := range r.stdout {
		p := parse(t, []byte(line))
		seen[p.Cluster]++
		map[string]golden{"east": mine, "west": other}[p.Cluster].is(t, line, id)
	}
	if seen["east"] != each || seen["west"] != each || len(r.stderr) != 0 {
		t.Errorf("%v records, want %d of each; stderr %q", seen, each, r.stderr)
	}
}

func nextID(t *testing.T, at registrar, g golden, i int) int {
	t.Helper()
	text := strings.Replace(schemaText(t, g.Schema), `"Order"`, fmt.Sprintf(`"Order%d"`, i), 1)
	id, _ := at.Register(fmt.Sprintf("orders%d-value", i), "AVRO", text)
	return id
}

// TestRegistryGoneAndBack stops a real registry under a follow. What needs it
// then comes as bytes after a bounded wait, what is known goes on being decoded,
// nothing is lost or out of order, and what comes when the registry is back is
// decoded.
func TestRegistryGoneAndBack(t *testing.T) {
	rig := kafkatest.Real(t, kafkatest.Options{})
	east := rig.Cluster("east")
	topic := rig.Name("orders")
	east.CreateTopic(topic, 1, nil)
	registry := kafkatest.StartRegistry(t, kafkatest.RegistryOptions{})
	all := goldens(t)
	known, unknown := all["avro"], all["json schema"]
	knownID, unknownID := known.register(t, registry, "a"), unknown.register(t, registry, "b")
	k := start(t, []string{"-m", decoded(t, topic, map[*kafkatest.Cluster]string{east: registry.URL()}), "consume", "orders", "-o", "start", "-J"})
	n := 0
	produce := func(g golden, id int) {
		t.Helper()
		east.Produce(topic, kafkatest.Record{Value: g.with(id)})
		n++
	}
	produce(known, knownID)
	k.gets(patience, n)
	registry.Stop()
	produce(known, knownID) // needs no registry
	k.gets(patience, n)
	began := time.Now()
	produce(unknown, unknownID)
	produce(known, knownID)
	k.gets(patience, n)
	// 5 s is the wait; the rest is for the machine.
	if d := time.Since(began); d > 20*time.Second {
		t.Errorf("the tail stalled for %v", d)
	}
	began = time.Now()
	for range 20 {
		produce(unknown, unknownID)
	}
	k.gets(patience, n)
	if d := time.Since(began); d > 20*time.Second {
		t.Errorf("records waited %v for a registry that was known to be down", d)
	}
	registry.Start()
	asBytes := n
	// It is asked again every few seconds: one of these is decoded at last, and then all.
	k.until(patience, "a decoded record", func() bool {
		produce(unknown, unknownID)
		k.gets(patience, n)
		return strings.Contains(k.out.all()[n-1], `"value":{"id":7`)
	})
	back := n
	for range 10 {
		produce(unknown, unknownID)
	}
	k.gets(patience, n)
	r := k.stop()
	r.exits(t, 0)
	if len(r.stdout) != n {
		t.Fatalf("%d records, want %d", len(r.stdout), n)
	}
	for i, line := range r.stdout {
		p := parse(t, []byte(line))
		if p.Offset != int64(i) {
			t.Fatalf("record %d is at offset %d", i, p.Offset)
		}
		switch {
		case i < 2 || i == 3:
			known.is(t, line, knownID)
		case i >= back-1:
			unknown.is(t, line, unknownID)
		default:
			checkBytes(t, line, unknown.with(unknownID))
		}
	}
	r.says(t, 1, fmt.Sprintf("%d records could not be decoded", back-1-3))
	t.Logf("%d records while it was down, %d until it was seen to be back", asBytes, back-asBytes)
}

// checkBytes checks that a line of -J holds a value's bytes and says why.
func checkBytes(t *testing.T, line string, want []byte) {
	t.Helper()
	p := parse(t, []byte(line))
	got, err := bytesOf(p.Value, p.ValueEncoding)
	if err != nil || !bytes.Equal(got, want) || !strings.Contains(line, `"value_error":"the registry of east `) {
		t.Errorf("got %s, want the bytes %s and an error", line, base64.StdEncoding.EncodeToString(want))
	}
}
