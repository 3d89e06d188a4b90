package codec

import (
	"encoding/binary"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/record"
)

// quoted is a schema that shows its payload as a JSON string, or fails.
type quoted struct {
	t    SchemaType
	fail error
}

func (q quoted) Type() SchemaType { return q.t }

func (q quoted) AppendJSON(dst, payload []byte) ([]byte, error) {
	if q.fail != nil {
		return append(dst, "half"...), q.fail
	}
	return strconv.AppendQuote(dst, string(payload)), nil
}

// registry is one of a map.
type registry struct {
	schemas map[ID]Schema
	asked   []ID
}

func (r *registry) Schema(id ID) (Schema, error) {
	r.asked = append(r.asked, id)
	if s := r.schemas[id]; s != nil {
		return s, nil
	}
	return nil, errors.New("schema " + id.String() + " is not there")
}

var guid = ID{GUID: [16]byte{0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0, 0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0}}

const guidText = "12345678-9abc-def0-1234-56789abcdef0"

func newRegistry() *registry {
	return &registry{schemas: map[ID]Schema{
		{Number: 7}: quoted{t: Avro}, {Number: 8}: quoted{t: Protobuf}, {Number: 9}: quoted{t: Avro, fail: errors.New("cut")},
		{Number: 1 << 40}: quoted{t: Avro}, guid: quoted{t: Avro},
	}}
}

func headersOf(pairs ...string) record.Headers {
	var raw []byte
	for _, s := range pairs {
		raw = append(binary.AppendVarint(raw, int64(len(s))), s...)
	}
	return record.Headers{Count: len(pairs) / 2, Raw: raw}
}

func TestFramed(t *testing.T) {
	header := "\x01" + string(guid.GUID[:])
	for _, c := range []struct {
		name     string
		decoder  string
		wide     bool
		raw      string
		headers  record.Headers
		kind     record.Kind
		shown    string
		schemaID string
		err      string
	}{
		{name: "auto, by its schema", raw: "\x00\x00\x00\x00\x07abc", kind: record.JSON, shown: `"abc"`, schemaID: "7"},
		{name: "auto, an empty payload", raw: "\x00\x00\x00\x00\x07", kind: record.JSON, shown: `""`, schemaID: "7"},
		{name: "auto, JSON", raw: `{"a":1}`, kind: record.JSON, shown: `{"a":1}`},
		{name: "auto, text", raw: "hello", kind: record.Text, shown: "hello"},
		{name: "auto, empty", raw: "", kind: record.Text, shown: ""},
		{name: "auto, a lone zero", raw: "\x00", kind: record.Text, shown: "\x00"},
		{name: "auto, a long of 7", raw: "\x00\x00\x00\x00\x00\x00\x00\x07", kind: record.Text, shown: "\x00\x00\x00\x00\x00\x00\x00\x07"},
		{name: "auto, bytes that begin with 1", raw: "\x01" + strings.Repeat("\xff", 20), kind: record.Binary, shown: "\x01" + strings.Repeat("\xff", 20)},
		{name: "auto, an unknown id", raw: "\x00\x00\x00\x03\xe7abc", kind: record.Binary, shown: "\x00\x00\x00\x03\xe7abc", err: "schema 999 is not there", schemaID: "999"},
		{name: "auto, a payload that does not fit", raw: "\x00\x00\x00\x00\x09\xff", kind: record.Binary, shown: "\x00\x00\x00\x00\x09\xff", err: "cut", schemaID: "9"},
		{name: "auto, a GUID in a header", raw: "abc", headers: headersOf("x", "1", "__value_schema_id", header), kind: record.JSON, shown: `"abc"`, schemaID: guidText},
		{name: "auto, an id in a header", raw: "abc", headers: headersOf("__value_schema_id", "\x00\x00\x00\x00\x07"), kind: record.JSON, shown: `"abc"`, schemaID: "7"},
		{name: "auto, a header with indexes", raw: "abc", headers: headersOf("__value_schema_id", "\x00\x00\x00\x00\x08\x00"), kind: record.JSON, shown: `"\x00abc"`, schemaID: "8"},
		{name: "auto, the header of the key", raw: "abc", headers: headersOf("__key_schema_id", header), kind: record.Text, shown: "abc"},
		{name: "auto, a damaged header", raw: "abc", headers: headersOf("__value_schema_id", "\x01ab"), kind: record.Text, shown: "abc", err: "the header __value_schema_id: no schema id: it is too short for one"},
		{name: "avro", decoder: "avro", raw: "\x00\x00\x00\x00\x07abc", kind: record.JSON, shown: `"abc"`, schemaID: "7"},
		{name: "avro, another type", decoder: "avro", raw: "\x00\x00\x00\x00\x08abc", kind: record.Text, shown: "\x00\x00\x00\x00\x08abc", err: "schema 8 is for the decoder protobuf, not avro", schemaID: "8"},
		{name: "avro, empty", decoder: "avro", raw: "", kind: record.Text, shown: "", err: "it is empty: no schema id"},
		{name: "avro, a lone zero", decoder: "avro", raw: "\x00", kind: record.Text, shown: "\x00", err: "no schema id: it is too short for one"},
		{name: "avro, text", decoder: "avro", raw: "hello", kind: record.Text, shown: "hello", err: "no schema id: the first byte is neither 0 nor 1"},
		{name: "avro, id 0", decoder: "avro", raw: "\x00\x00\x00\x00\x00a", kind: record.Text, shown: "\x00\x00\x00\x00\x00a", err: "no schema id: the number is not above 0"},
		{name: "avro, a GUID in front", decoder: "avro", raw: header + "abc", kind: record.JSON, shown: `"abc"`, schemaID: guidText},
		{name: "wide ids", wide: true, decoder: "avro", raw: "\x00\x00\x00\x01\x00\x00\x00\x00\x00abc", kind: record.JSON, shown: `"abc"`, schemaID: "1099511627776"},
		{name: "wide ids, a short one", wide: true, decoder: "avro", raw: "\x00\x00\x00\x00\x07abc", kind: record.Text, shown: "\x00\x00\x00\x00\x07abc", err: "no schema id: it is too short for one"},
	} {
		t.Run(c.name, func(t *testing.T) {
			pair, err := Choice{Key: "raw", Value: c.decoder}.Pair(Env{Registry: newRegistry(), WideIDs: c.wide})
			if err != nil {
				t.Fatal(err)
			}
			raw := []byte(c.raw)
			v := record.Value{Kind: record.Binary, Bytes: []byte("old"), SchemaID: "old", Err: errNotJSON}
			pair.Value.Decode(&v, nil, raw, &record.Record{Value: raw, Headers: c.headers})
			if v.Kind != c.kind || string(v.Bytes) != c.shown || v.SchemaID != c.schemaID || (v.Err != nil || c.err != "") && (v.Err == nil || v.Err.Error() != c.err) {
				t.Errorf("%d %q, schema %q, error %v", v.Kind, v.Bytes, v.SchemaID, v.Err)
			}
		})
	}
}

// TestFramedAsksOnce: a tombstone asks for nothing, and the schema of the last
// value is still known for the next one.
func TestFramedAsksOnce(t *testing.T) {
	r := newRegistry()
	pair, err := Choice{}.Pair(Env{Registry: r})
	if err != nil {
		t.Fatal(err)
	}
	var v record.Value
	var dst []byte
	for _, raw := range [][]byte{nil, []byte("\x00\x00\x00\x00\x07a"), []byte("\x00\x00\x00\x00\x07b"), nil, []byte("\x00\x00\x00\x00\x07c")} {
		dst = pair.Value.Decode(&v, dst[:0], raw, &record.Record{})
		if (v.Kind == record.Null) != (raw == nil) || v.Err != nil {
			t.Errorf("%q: %+v", raw, v)
		}
	}
	if len(r.asked) != 1 {
		t.Errorf("asked for %v", r.asked)
	}
}

// flaw is the error of a value that is shown.
type flaw struct{}

func (flaw) Error() string { return "too small" }
func (flaw) Shown() bool   { return true }

// TestFlawedValuesAreShown: a value that can be read and is not as its schema
// wants it is shown as what it is, beside the error.
func TestFlawedValuesAreShown(t *testing.T) {
	pair, err := Choice{}.Pair(Env{Registry: &registry{schemas: map[ID]Schema{{Number: 7}: checked{}}}})
	if err != nil {
		t.Fatal(err)
	}
	var v record.Value
	dst := pair.Value.Decode(&v, []byte("kept"), []byte("\x00\x00\x00\x00\x07{}"), nil)
	if v.Kind != record.JSON || string(v.Bytes) != "{}" || v.SchemaID != "7" || v.Err != error(flaw{}) || string(dst) != "kept{}" {
		t.Errorf("%+v, %q", v, dst)
	}
}

// checked finds a flaw in every payload.
type checked struct{}

func (checked) Type() SchemaType { return JSONSchema }

func (checked) AppendJSON(dst, payload []byte) ([]byte, error) {
	return append(dst, payload...), flaw{}
}

func TestFromFile(t *testing.T) {
	for _, c := range []struct{ name, raw, shown, err string }{
		{"as it is", "abc", `"abc"`, ""},
		{"framed, but fitting as it is", "\x00\x00\x00\x00\x07abc", `"\x00\x00\x00\x00\aabc"`, ""},
	} {
		pair, err := Choice{Key: "raw", Value: "avro"}.Pair(Env{Value: quoted{t: Avro}})
		if err != nil {
			t.Fatal(err)
		}
		var v record.Value
		pair.Value.Decode(&v, nil, []byte(c.raw), nil)
		if string(v.Bytes) != c.shown || v.Err != nil || v.SchemaID != "" {
			t.Errorf("%s: %q, %v", c.name, v.Bytes, v.Err)
		}
	}
	for _, c := range []struct {
		name string
		t    SchemaType
		raw  string
		want string
		err  bool
	}{
		{"only without the frame", Avro, "\x00\x00\x00\x00\x07ok", `"ok"`, false},
		{"a message with indexes", Protobuf, "\x00\x00\x00\x00\x07\x04\x00\x02ok", `"ok"`, false},
		{"the short form of [0]", Protobuf, "\x00\x00\x00\x00\x07\x00ok", `"ok"`, false},
		{"neither", Avro, "\x00\x00\x00\x00\x07no", "\x00\x00\x00\x00\x07no", true},
	} {
		pair, err := Choice{Key: "raw", Value: c.t.Name()}.Pair(Env{Value: onlyOK{c.t}})
		if err != nil {
			t.Fatal(err)
		}
		var v record.Value
		pair.Value.Decode(&v, nil, []byte(c.raw), nil)
		if string(v.Bytes) != c.want || (v.Err != nil) != c.err {
			t.Errorf("%s: %q, %v", c.name, v.Bytes, v.Err)
		}
	}
}

// onlyOK takes one payload.
type onlyOK struct{ t SchemaType }

func (o onlyOK) Type() SchemaType { return o.t }

func (o onlyOK) AppendJSON(dst, payload []byte) ([]byte, error) {
	if string(payload) != "ok" {
		return dst, errors.New("not ok")
	}
	return append(dst, `"ok"`...), nil
}

func TestDecodersWithoutSchema(t *testing.T) {
	for _, c := range []struct {
		choice    Choice
		env       Env
		err, hint string
	}{
		{Choice{Value: "avro"}, Env{Cluster: "east"}, "east: the decoder avro has no schema for the value: the cluster has no schema registry", "schemaRegistry: under the cluster, --registry URL, or --schema FILE"},
		{Choice{Key: "avro", Value: "avro"}, Env{Cluster: "east", Value: quoted{t: Avro}}, "east: the decoder avro has no schema for the key: the cluster has no schema registry", "schemaRegistry: under the cluster, --registry URL, or --key-schema FILE"},
		{Choice{Value: "protobuf"}, Env{Cluster: "east", Value: quoted{t: Avro}}, "east: the decoder protobuf has no schema for the value: the cluster has no schema registry", "schemaRegistry: under the cluster, --registry URL, or --proto FILE"},
	} {
		_, err := c.choice.Pair(c.env)
		if err == nil || err.Error() != c.err || fault.HintOf(err) != c.hint || fault.KindOf(err) != fault.Usage {
			t.Errorf("%+v: %v, hint %q", c.choice, err, fault.HintOf(err))
		}
	}
}

// own is a topic of Kafka's whose values say which key they belong to.
type own struct{}

func (own) AppendKey(dst, key []byte) ([]byte, error) {
	if string(key) == "bad" {
		return dst, errors.New("damaged")
	}
	return strconv.AppendQuote(dst, string(key)), nil
}

func (own) AppendValue(dst, key, value []byte) ([]byte, error) {
	return strconv.AppendQuote(dst, string(key)+"="+string(value)), nil
}

func TestInternalTopics(t *testing.T) {
	pair, err := Choice{}.Pair(Env{Internal: own{}, Registry: newRegistry()})
	if err != nil {
		t.Fatal(err)
	}
	var key, value record.Value
	rec := &record.Record{Key: []byte("k"), Value: []byte("v")}
	pair.Key.Decode(&key, nil, rec.Key, rec)
	pair.Value.Decode(&value, nil, rec.Value, rec)
	if string(key.Bytes) != `"k"` || string(value.Bytes) != `"k=v"` || key.Kind != record.JSON || value.Kind != record.JSON {
		t.Errorf("%q %q", key.Bytes, value.Bytes)
	}
	pair.Key.Decode(&key, nil, []byte("bad"), rec)
	if key.Err == nil || string(key.Bytes) != "bad" || key.Kind != record.Text {
		t.Errorf("%+v", key)
	}
	if pair.Key.Decode(&key, nil, nil, rec); key.Kind != record.Null || key.Err != nil {
		t.Errorf("%+v", key)
	}
}
