package testscripts

import (
	"encoding/binary"
	"encoding/hex"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/kcm-cli/kcm/internal/kafkatest"
)

// registry is where schemas are registered.
type registry interface {
	URL() string
	Register(subject, schemaType, text string, refs ...kafkatest.SchemaRef) (id, version int)
}

// addSchemas adds the commands about schema registries:
//
//	registry VAR [FIRST]            start one; VAR is its address. With FIRST, its first id, and on
//	                                embedded clusters, it is one inside the test, otherwise a real one
//	schema VAR REGISTRY SUBJECT FILE [NAME=SUBJECT@VERSION…]
//	                                register a schema with its references and set VAR to its id; the
//	                                suffix tells the type: .avsc, .proto, .json. Subjects get the prefix
//
// and, for one inside the test:
//
//	stop-registry VAR, start-registry VAR
//	                                have nobody listen there, and somebody again
//	guid REGISTRY SUBJECT FILE GUID register one that has a GUID
//	forget REGISTRY VAR             have the id of VAR found no more
//	refuse REGISTRY N STATUS        answer the next N requests with an HTTP status
//	asked REGISTRY N TEXT           demand that N requests were about TEXT, such as /schemas/ids/7
func addSchemas(add func(name string, atLeast, atMost int, run func(*testscript.TestScript, *script, []string))) {
	add("registry", 1, 2, func(ts *testscript.TestScript, s *script, args []string) {
		var r registry
		switch {
		case len(args) == 2:
			r = kafkatest.NewSchemas(s.t, int(number(ts, args[1])))
		case s.rig.Real():
			r = kafkatest.Registry(s.t, kafkatest.RegistryOptions{})
		default:
			r = kafkatest.NewSchemas(s.t, 1)
		}
		s.schemas[args[0]] = r
		s.set(ts, args[0], r.URL())
	})
	add("schema", 4, -1, func(ts *testscript.TestScript, s *script, args []string) {
		n := schemaIn(ts, s, args[2], args[3], args[4:])
		id, _ := s.registry(ts, args[1]).Register(n.Subject, n.Type, n.Text, n.References...)
		s.set(ts, args[0], strconv.Itoa(id))
	})
	add("guid", 4, 4, func(ts *testscript.TestScript, s *script, args []string) {
		n := schemaIn(ts, s, args[1], args[2], nil)
		n.GUID, n.Type = args[3], strings.TrimPrefix(n.Type, "AVRO")
		s.inside(ts, args[0]).Add(n)
	})
	add("forget", 2, 2, func(ts *testscript.TestScript, s *script, args []string) {
		s.inside(ts, args[0]).Forget(int(number(ts, ts.Getenv(args[1]))))
	})
	add("stop-registry", 1, 1, func(ts *testscript.TestScript, s *script, args []string) { s.inside(ts, args[0]).Stop() })
	add("start-registry", 1, 1, func(ts *testscript.TestScript, s *script, args []string) { s.inside(ts, args[0]).Start() })
	add("refuse", 3, 3, func(ts *testscript.TestScript, s *script, args []string) {
		s.inside(ts, args[0]).Fail(int(number(ts, args[1])), int(number(ts, args[2])))
	})
	add("asked", 3, 3, func(ts *testscript.TestScript, s *script, args []string) {
		if all := s.inside(ts, args[0]).Asked(args[2]); int64(len(all)) != number(ts, args[1]) {
			ts.Fatalf("%d requests: %q", len(all), all)
		}
	})
}

func (s *script) registry(ts *testscript.TestScript, name string) registry {
	r, ok := s.schemas[name]
	if !ok {
		ts.Fatalf("there is no registry %s", name)
	}
	return r
}

// inside is a registry that the test itself is.
func (s *script) inside(ts *testscript.TestScript, name string) *kafkatest.Schemas {
	r, ok := s.registry(ts, name).(*kafkatest.Schemas)
	if !ok {
		ts.Fatalf("the registry %s is a real one", name)
	}
	return r
}

// schemaIn is the schema in a file of the script.
func schemaIn(ts *testscript.TestScript, s *script, subject, file string, refs []string) kafkatest.Schema {
	n := kafkatest.Schema{Subject: s.prefix + subject, Text: ts.ReadFile(file)}
	switch filepath.Ext(file) {
	case ".avsc":
		n.Type = "AVRO"
	case ".proto":
		n.Type = "PROTOBUF"
	case ".json":
		n.Type = "JSON"
	default:
		ts.Fatalf("%s: no suffix of a schema", file)
	}
	for _, ref := range refs {
		name, rest, _ := strings.Cut(ref, "=")
		of, version, _ := strings.Cut(rest, "@")
		n.References = append(n.References, kafkatest.SchemaRef{Name: name, Subject: s.prefix + of, Version: int(number(ts, version))})
	}
	return n
}

// frame puts the ids in front of a record's key and value.
func (l line) frame(ts *testscript.TestScript, r *kafkatest.Record) {
	side := func(b *[]byte, digits *string, of string) {
		if digits != nil {
			raw, err := hex.DecodeString(strings.ReplaceAll(*digits, " ", ""))
			ts.Check(err)
			*b = append([]byte{}, raw...)
		}
		if of != "" {
			id := number(ts, ts.Getenv(of))
			*b = append(binary.BigEndian.AppendUint32([]byte{0}, uint32(id)), *b...)
		}
	}
	side(&r.Key, l.KeyHex, l.KeyOf)
	side(&r.Value, l.ValueHex, l.ValueOf)
}
