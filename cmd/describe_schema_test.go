package cmd

import (
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/kcm-cli/kcm/internal/codec"
	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/kafkatest"
	"github.com/kcm-cli/kcm/internal/metadata"
)

const (
	leafText  = `{"type":"enum","name":"Leaf","symbols":["A"]}`
	orderText = `{"type":"record","name":"Order","fields":[{"name":"id","type":"long","default":10000000000000000001},{"name":"leaf","type":"Leaf"}]}`
	protoText = "syntax = \"proto3\";\nmessage M {\n\tint32 a = 1;\n}\n"
)

// schemaRig is two registries with the same subject, and a cluster without one.
// Kafka itself is not needed.
func schemaRig(t *testing.T) (east, west *kafkatest.Schemas) {
	t.Helper()
	t.Chdir(t.TempDir())
	east, west = kafkatest.NewSchemas(t, 1), kafkatest.NewSchemas(t, 40)
	east.Add(kafkatest.Schema{Subject: "leaf", Text: leafText})
	east.Add(kafkatest.Schema{Subject: "orders-value", Text: `"string"`})
	east.Add(kafkatest.Schema{Subject: "orders-value", Text: orderText, ID: 7, References: []kafkatest.SchemaRef{{Name: "Leaf", Subject: "leaf", Version: 1}}})
	east.Add(kafkatest.Schema{Subject: "a/b.proto", Type: "PROTOBUF", Text: protoText})
	east.SetLevel("orders-value", "FULL")
	west.Add(kafkatest.Schema{Subject: "orders-value", Text: `"long"`})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead := l.Addr().String()
	_ = l.Close()
	write(t, "kcm.yaml", fmt.Sprintf(`clusters:
  east: {bootstrap: "127.0.0.1:1", schemaRegistry: {url: "%s"}}
  west: {bootstrap: "127.0.0.1:1", schemaRegistry: {url: "%s"}}
  bare: {bootstrap: "127.0.0.1:1"}
`, east.URL(), west.URL()))
	write(t, "dead.yaml", fmt.Sprintf(`clusters:
  east: {bootstrap: "127.0.0.1:1", schemaRegistry: {url: "%s"}}
  dead: {bootstrap: "127.0.0.1:1", schemaRegistry: {url: "http://%s"}}
  bare: {bootstrap: "127.0.0.1:1"}
`, east.URL(), dead))
	return east, west
}

func TestDescribeSchemaForPeople(t *testing.T) {
	schemaRig(t)
	for _, c := range []struct{ args, want string }{
		{"orders-value", `CLUSTER  SUBJECT       VERSION  ID  TYPE  COMPATIBILITY      ERROR
east     orders-value        2   7  AVRO  FULL
west     orders-value        1  40  AVRO  BACKWARD (global)

CLUSTER  REFERENCE  SUBJECT  VERSION
east     Leaf       leaf           1

east orders-value@2
{
  "type": "record",
  "name": "Order",
  "fields": [
    {
      "name": "id",
      "type": "long",
      "default": 10000000000000000001
    },
    {
      "name": "leaf",
      "type": "Leaf"
    }
  ]
}

west orders-value@1
"long"
`},
		{"east/orders-value@1", `CLUSTER  SUBJECT       VERSION  ID  TYPE  COMPATIBILITY  ERROR
east     orders-value        1   2  AVRO  FULL

east orders-value@1
"string"
`},
		{"east/a/b.proto", `CLUSTER  SUBJECT    VERSION  ID  TYPE      COMPATIBILITY      ERROR
east     a/b.proto        1   8  PROTOBUF  BACKWARD (global)

east a/b.proto@1
syntax = "proto3";
message M {
    int32 a = 1;
}
`},
		{"east/@7 -o wide", `CLUSTER  SUBJECT  VERSION  ID  TYPE  COMPATIBILITY  VERSIONS  GUID  DELETED  ERROR
east     -              -   7  AVRO  -              -         -     no

CLUSTER  ID  SUBJECT       VERSION
east      7  orders-value        2

CLUSTER  REFERENCE  SUBJECT  VERSION
east     Leaf       leaf           1

east leaf@1, Leaf
{
  "type": "enum",
  "name": "Leaf",
  "symbols": [
    "A"
  ]
}

east schema 7
{
  "type": "record",
  "name": "Order",
  "fields": [
    {
      "name": "id",
      "type": "long",
      "default": 10000000000000000001
    },
    {
      "name": "leaf",
      "type": "Leaf"
    }
  ]
}
`},
	} {
		r := runKcm(t, world{}, append([]string{"describe", "schema"}, strings.Fields(c.args)...)...)
		if r.code != 0 || r.stderr != "" || r.stdout != c.want {
			t.Errorf("%s: code %d, %s, want\n%s\ngot\n%s", c.args, r.code, r.stderr, c.want, r.stdout)
		}
	}
	// A number is a version if there is such a one, else an id of the subject.
	two := runKcm(t, world{}, "describe", "schema", "east/orders-value@2")
	for _, args := range []string{"east/orders-value@7", "east/orders-value@latest", "east/orders-value"} {
		if r := runKcm(t, world{}, "describe", "schema", args); r.stdout != two.stdout || r.code != 0 {
			t.Errorf("%s: code %d, %s%s", args, r.code, r.stdout, r.stderr)
		}
	}
}

func TestDescribeSchemaForPrograms(t *testing.T) {
	east, _ := schemaRig(t)
	east.GiveGUIDs("aaaaaaaa")
	east.Add(kafkatest.Schema{Subject: "guided", Text: `"int"`})
	r := runKcm(t, world{}, "describe", "schema", "orders-value", "-o", "json")
	var doc struct {
		Schemas []struct {
			Cluster, Subject, Type, Compatibility, Schema string
			Version                                       int
			ID                                            int64
			Own                                           bool `json:"compatibility_own"`
			Versions                                      []struct{ Version int }
			References                                    []struct {
				Name, Subject, Schema string
				Version               int
			}
		}
		Failed []any
		Error  *string
	}
	if err := json.Unmarshal([]byte(r.stdout), &doc); err != nil || r.code != 0 {
		t.Fatalf("%v, code %d: %s%s", err, r.code, r.stdout, r.stderr)
	}
	s := doc.Schemas[0]
	if s.Cluster != "east" || s.Subject != "orders-value" || s.Type != "AVRO" || s.Compatibility != "FULL" || !s.Own || s.Schema != orderText ||
		s.Version != 2 || s.ID != 7 || len(s.Versions) != 2 || len(s.References) != 1 || s.References[0].Schema != leafText || s.References[0].Version != 1 {
		t.Errorf("%+v", s)
	}
	if s := doc.Schemas[1]; s.Own || s.Compatibility != "BACKWARD" || s.ID != 40 || doc.Failed == nil || doc.Error != nil {
		t.Errorf("%+v", doc)
	}
	r = runKcm(t, world{}, "describe", "schema", "east/orders-value@1", "-o", "yaml")
	if want := `schema: "\"string\""`; r.code != 0 || !strings.Contains(r.stdout, want) {
		t.Errorf("code %d, no %s in\n%s", r.code, want, r.stdout)
	}
	r = runKcm(t, world{}, "describe", "schema", "guided", "-o", "json")
	var got struct{ Schemas []struct{ GUID string } }
	if err := json.Unmarshal([]byte(r.stdout), &got); err != nil || len(got.Schemas) != 1 || !strings.HasPrefix(got.Schemas[0].GUID, "aaaaaaaa-") {
		t.Fatalf("%v, %s", err, r.stdout)
	}
	r = runKcm(t, world{}, "describe", "schema", "east/@"+got.Schemas[0].GUID)
	if r.code != 0 || !strings.HasSuffix(r.stdout, "east schema "+got.Schemas[0].GUID+"\n\"int\"\n") {
		t.Errorf("code %d, %s%s", r.code, r.stdout, r.stderr)
	}
}

func TestDescribeSchemas(t *testing.T) {
	schemaRig(t)
	r := runKcm(t, world{}, "describe", "schemas")
	want := `CLUSTER  SUBJECT       VERSIONS  ID  TYPE      ERROR
east     a/b.proto     1          8  PROTOBUF
east     leaf          1          1  AVRO
east     orders-value  1,2        7  AVRO
west     orders-value  1         40  AVRO
`
	if r.code != 0 || r.stdout != want {
		t.Errorf("code %d, %s\n%s", r.code, r.stderr, r.stdout)
	}
	r = runKcm(t, world{}, "describe", "schemas", "west", "-o", "json")
	if r.code != 0 || strings.Count(r.stdout, `"subject":`) != 1 || !json.Valid([]byte(r.stdout)) {
		t.Errorf("code %d, %s\n%s", r.code, r.stderr, r.stdout)
	}
	r = runKcm(t, world{}, "describe", "schemas", "-m", "dead.yaml")
	if r.code != 3 || !strings.Contains(r.stdout, "east     orders-value") || !strings.Contains(r.stdout, "the connection is refused") {
		t.Errorf("code %d, %s\n%s", r.code, r.stderr, r.stdout)
	}
}

// An address may hold a secret in its query.
func TestAddressesOfRegistriesShowNoSecrets(t *testing.T) {
	t.Chdir(t.TempDir())
	east := kafkatest.NewSchemas(t, 1)
	host := strings.TrimPrefix(east.URL(), "http://")
	write(t, "kcm.yaml", fmt.Sprintf(`clusters: {east: {bootstrap: "127.0.0.1:1", schemaRegistry: {url: "http://u:S3cr3t@%s/apis/v7?apikey=S3cr3t, http://127.0.0.1:2?S3cr3t"}}}`, host))
	for _, format := range []string{"wide", "json", "yaml"} {
		for _, args := range []string{"clusters", "cluster east", "clusters --offline", "cluster east --offline", "schemas", "schema x", "schema east/@7"} {
			east.Fail(1000, 400)
			r := runKcm(t, world{}, append([]string{"describe", "-o", format}, strings.Fields(args)...)...)
			if strings.Contains(r.stdout+r.stderr, "S3cr3t") {
				t.Errorf("-o %s %s: a secret shows in %s%s", format, args, r.stdout, r.stderr)
			}
			if strings.HasSuffix(args, "--offline") && !strings.Contains(r.stdout, "http://"+host+"/apis/v7") {
				t.Errorf("-o %s %s: no address in %s%s", format, args, r.stdout, r.stderr)
			}
		}
	}
}

func TestDescribeSchemaThatIsNotThere(t *testing.T) {
	east, _ := schemaRig(t)
	for _, c := range []struct {
		args string
		code int
		says []string
	}{
		{"order-value", 1, []string{"there is no subject order-value\n", "did you mean orders-value?"}},
		{"east/orders", 1, []string{"subject orders is not in the registry of east", "did you mean orders-value?"}},
		{"east/orders-value@9", 1, []string{"subject orders-value of the registry of east has neither a version nor a schema 9", "east has versions 1, 2"}},
		{"east/orders-value@8", 1, []string{"has neither a version nor a schema 8"}},
		{"east/@99", 1, []string{"schema 99 is not in the registry of east"}},
		{"@99", 1, []string{"there is no schema 99"}},
		{"eats/orders-value", 1, []string{"there is no subject eats/orders-value", "there is no cluster eats; did you mean east/orders-value?"}},
		{"bare/orders-value", 2, []string{"the cluster bare has no schema registry", "--registry bare=URL"}},
		{"east/", 2, []string{"east/ names no subject"}},
		{"@x", 2, []string{"@x is no schema id"}},
		{"", 2, []string{"names no subject"}},
		{"orders-value --offline", 2, []string{"schemas are known to the registries only"}},
		{"orders-value -m dead.yaml", 3, []string{"the registry of dead does not answer: http://"}},
		{"dead/orders-value -m dead.yaml", 5, []string{"the registry of dead does not answer"}},
		{"order-value -m dead.yaml", 3, []string{"subject order-value is not in the registry of east; the registry of dead does not answer: http://", "did you mean orders-value?"}},
	} {
		args := strings.Fields(c.args)
		if c.args == "" {
			args = []string{""}
		}
		r := runKcm(t, world{}, append([]string{"describe", "schema"}, args...)...)
		if r.code != c.code {
			t.Errorf("%s: code %d, want %d: %s", c.args, r.code, c.code, r.stderr)
		}
		for _, text := range c.says {
			if !strings.Contains(r.stderr, text) {
				t.Errorf("%s: no %q in %q", c.args, text, r.stderr)
			}
		}
	}
	write(t, "none.yaml", "clusters:\n  east: {bootstrap: \"127.0.0.1:1\"}\n")
	for _, args := range [][]string{{"schema", "x"}, {"schemas"}} {
		r := runKcm(t, world{}, append([]string{"-m", "none.yaml", "describe"}, args...)...)
		if r.code != 2 || !strings.Contains(r.stderr, "no cluster has a schema registry\nkcm: hint: schemaRegistry: {url: …} under the cluster, or --registry CLUSTER=URL") {
			t.Errorf("%v: code %d, %s", args, r.code, r.stderr)
		}
	}
	if r := runKcm(t, world{}, "describe", "schema"); r.code != 2 || !strings.Contains(r.stderr, "kcm describe schema needs the name of a subject") {
		t.Errorf("code %d, %s", r.code, r.stderr)
	}
	east.Fail(1000, 401)
	if r := runKcm(t, world{}, "describe", "schema", "east/leaf"); r.code != 4 || !strings.Contains(r.stderr, "the registry of east refuses requests without credentials (401)") {
		t.Errorf("code %d, %s", r.code, r.stderr)
	}
}

func TestWordsForSchemas(t *testing.T) {
	view := &metadata.View{Clusters: []*metadata.Cluster{{Name: "east"}}}
	guid := codec.ID{GUID: [16]byte{0x01, 15: 0xff}}
	for _, c := range []struct {
		word    string
		cluster string
		want    schemaQuery
		wrong   bool
	}{
		{word: "s", want: schemaQuery{subject: "s"}},
		{word: "s@3", want: schemaQuery{subject: "s", number: 3, id: codec.ID{Number: 3}}},
		{word: "s@latest", want: schemaQuery{subject: "s"}},
		{word: "s@x", want: schemaQuery{subject: "s@x"}},
		{word: "s@0", want: schemaQuery{subject: "s@0"}},
		{word: "a@b@4", want: schemaQuery{subject: "a@b", number: 4, id: codec.ID{Number: 4}}},
		{word: "east/s", cluster: "east", want: schemaQuery{subject: "s"}},
		{word: "east/east/s", cluster: "east", want: schemaQuery{subject: "east/s"}},
		{word: "google/type/x.proto@1", want: schemaQuery{subject: "google/type/x.proto", number: 1, id: codec.ID{Number: 1}}},
		{word: ":.ctx:s", want: schemaQuery{subject: ":.ctx:s"}},
		{word: "@5", want: schemaQuery{number: 5, id: codec.ID{Number: 5}}},
		{word: "east/@" + guid.String(), cluster: "east", want: schemaQuery{id: guid}},
		{word: "@", wrong: true},
		{word: "@latest", wrong: true},
		{word: "east/", wrong: true},
	} {
		q, err := parseSchema(view, c.word)
		if c.wrong {
			if fault.KindOf(err) != fault.Usage {
				t.Errorf("%s: %+v, %v", c.word, q, err)
			}
			continue
		}
		if cluster := strings.Join(q.clusters, ","); err != nil || cluster != c.cluster {
			t.Errorf("%s: on %q, %v", c.word, cluster, err)
		}
		if q.subject != c.want.subject || q.number != c.want.number || q.id != c.want.id {
			t.Errorf("%s: %+v, want %+v", c.word, q, c.want)
		}
	}
}

func TestSubjectsAreCompleted(t *testing.T) {
	schemaRig(t)
	r := runKcm(t, world{}, "__complete", "describe", "schema", "east/o")
	if lines := strings.Split(r.stdout, "\n"); !slices.Contains(lines, "east/orders-value") || slices.Contains(lines, "east/leaf") {
		t.Errorf("%q", lines)
	}
	r = runKcm(t, world{}, "__complete", "describe", "schema", "w")
	if lines := strings.Split(r.stdout, "\n"); !slices.Contains(lines, "west/orders-value") || len(lines) != 3 {
		t.Errorf("%q", lines)
	}
}
