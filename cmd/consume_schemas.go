package cmd

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/codec"
	"github.com/kcm-cli/kcm/internal/codec/avro"
	"github.com/kcm-cli/kcm/internal/codec/internals"
	"github.com/kcm-cli/kcm/internal/codec/jsonschema"
	"github.com/kcm-cli/kcm/internal/codec/protobuf"
	"github.com/kcm-cli/kcm/internal/codec/registry"
	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/metadata"
	"github.com/kcm-cli/kcm/internal/record"
	"github.com/kcm-cli/kcm/internal/source"
)

// schemaFlags say where schemas come from besides registries, and how values
// that have one are shown.
type schemaFlags struct {
	value, key    string // files
	protos, paths []string
	sets          []string
	message       string
	tagged        bool
	validate      bool
	defaults      bool
	unknown       bool
}

func (f *schemaFlags) add(fs *pflag.FlagSet) {
	fs.StringVar(&f.value, "schema", "", "values have the Avro or JSON Schema in `FILE`")
	fs.StringVar(&f.key, "key-schema", "", "keys have the Avro or JSON Schema in `FILE`")
	fs.StringArrayVar(&f.protos, "proto", nil, "values are messages of a .proto `FILE`")
	fs.StringArrayVar(&f.paths, "proto-path", nil, "look for imports of --proto in `DIR`")
	fs.StringArrayVar(&f.sets, "descriptor-set", nil, "values are messages of a compiled descriptor set, `FILE`")
	fs.StringVar(&f.message, "message", "", "the message type of --proto or --descriptor-set: `NAME`")
	fs.BoolVar(&f.tagged, "avro-json", false, "show Avro as its specification's JSON: unions tagged, bytes as text")
	fs.BoolVar(&f.validate, "validate", false, "check values against their JSON Schema")
	fs.BoolVar(&f.defaults, "proto-defaults", false, "show fields of Protobuf messages that are not set, too")
	fs.BoolVar(&f.unknown, "proto-unknown", false, "show fields of Protobuf messages that their schema lacks, as base64")
}

// schemas are what the decoders of a run know schemas from. A nil *schemas knows
// none.
type schemas struct {
	ctx        context.Context //nolint:containedctx // of the run: registries are asked while records are prepared
	flags      schemaFlags
	key, value codec.Schema // from files; nil is none
	implied    codec.Choice // decoders that nobody has named: the files ask for them

	typed map[string]codec.SchemaType // flags on the command line that are for one type of schema
	tell  func(cluster string, down error)

	mu         sync.Mutex
	registries map[string]*clusterRegistry
}

// clusterRegistry is the registry of one cluster, as the metadata describes it.
type clusterRegistry struct {
	described *metadata.SchemaRegistry
	client    *registry.Client
}

// setSchemas loads the schemas of files, which say what decoder is meant where
// none is chosen.
func (o *consumeOptions) setSchemas(cmd *cobra.Command, f schemaFlags) (err error) {
	s := &schemas{flags: f, registries: map[string]*clusterRegistry{}, typed: map[string]codec.SchemaType{}}
	for flag, of := range map[string]codec.SchemaType{
		"avro-json": codec.Avro, "validate": codec.JSONSchema, "proto-defaults": codec.Protobuf, "proto-unknown": codec.Protobuf,
	} {
		if onCommandLine(cmd, flag) {
			s.typed[flag] = of
		}
	}
	s.tell = func(cluster string, down error) {
		if down == nil {
			o.env.run.notices.Notef("the registry of %s answers again", cluster)
			return
		}
		o.env.run.notices.Warnf("%v; %s", down, o.withoutRegistry())
	}
	o.schemas = s
	if err := f.check(); err != nil {
		return err
	}
	if f.value != "" {
		if s.value, err = f.load("--schema", f.value, &o.decode.Value, &s.implied.Value); err != nil {
			return err
		}
	}
	if f.key != "" {
		if s.key, err = f.load("--key-schema", f.key, &o.decode.Key, &s.implied.Key); err != nil {
			return err
		}
	}
	if !f.fromProto() {
		return nil
	}
	schema, err := protobuf.FromFiles(protobuf.Files{Protos: f.protos, Paths: f.paths, Sets: f.sets, Message: f.message}, protobuf.Options{Defaults: f.defaults, Unknown: f.unknown})
	if err != nil {
		return err
	}
	return s.take(schema, &o.decode)
}

// withoutRegistry is what becomes of records while a registry does not answer.
func (o *consumeOptions) withoutRegistry() string {
	if o.copiesSchemas() {
		return "with --registry-copy a partition stops at a record whose schema is not known yet"
	}
	return "what needs a schema that is not known yet comes as bytes until it does"
}

// take has messages of a file where the decoder protobuf was chosen, or else in
// values.
func (s *schemas) take(schema codec.Schema, choice *codec.Choice) error {
	name := codec.Protobuf.Name()
	if choice.Key == name {
		s.key = schema
	}
	if choice.Value == "" && choice.Key != name {
		choice.Value, s.implied.Value = name, name
	}
	if choice.Value == name {
		s.value = schema
	}
	if s.key != schema && s.value != schema {
		return fault.New(fault.Usage, "--proto and --descriptor-set are for the decoder protobuf, not %s", choice.Value)
	}
	return nil
}

func (f *schemaFlags) fromProto() bool { return len(f.protos)+len(f.sets) > 0 }

func (f *schemaFlags) check() error {
	switch {
	case f.value != "" && f.fromProto():
		return fault.New(fault.Usage, "--schema is for Avro and JSON Schema: it excludes --proto and --descriptor-set")
	case f.message != "" && !f.fromProto():
		return fault.New(fault.Usage, "--message needs --proto FILE or --descriptor-set FILE")
	case len(f.paths) > 0 && len(f.protos) == 0:
		return fault.New(fault.Usage, "--proto-path needs --proto FILE")
	}
	return nil
}

// load compiles the schema of one side from a file. decoder is what was chosen
// for it; when nothing was, the file decides.
func (f *schemaFlags) load(flag, path string, decoder, implied *string) (codec.Schema, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fault.New(fault.Usage, "%s: %w", flag, err)
	}
	def := codec.Definition{Type: codec.Avro, Text: string(text), Name: path}
	switch *decoder {
	case codec.Avro.Name():
	case codec.JSONSchema.Name():
		def.Type = codec.JSONSchema
	case "":
		def.Type = f.guess(path, text)
		if strings.HasSuffix(path, ".proto") {
			return nil, fault.New(fault.Usage, "%s %s: a .proto file", flag, path).WithHint("--proto FILE --message NAME")
		}
		*decoder = def.Type.Name()
		*implied = *decoder
	default:
		return nil, fault.New(fault.Usage, "%s is for the decoders avro and jsonschema, not %s", flag, *decoder)
	}
	schema, err := f.compile(def, true)
	if err != nil {
		return nil, fault.New(fault.Usage, "%s: %w", flag, err)
	}
	return schema, nil
}

// guess tells a JSON Schema from Avro's: both are JSON. What both could be is what
// the file's name says.
func (f *schemaFlags) guess(path string, text []byte) codec.SchemaType {
	var s map[string]json.RawMessage
	if json.Unmarshal(text, &s) != nil { // a union, or the name of a type
		return codec.Avro
	}
	for _, key := range []string{"$schema", "$id", "$ref", "$defs", "definitions", "properties", "allOf", "anyOf", "oneOf", "required", "const", "pattern"} {
		if _, ok := s[key]; ok {
			return codec.JSONSchema
		}
	}
	switch string(s["type"]) {
	case `"object"`, `"integer"`, `"number"`:
		return codec.JSONSchema
	case `"record"`, `"error"`, `"enum"`, `"fixed"`, `"map"`, `"bytes"`, `"int"`, `"long"`, `"float"`, `"double"`:
		return codec.Avro
	}
	if !strings.HasSuffix(path, ".avsc") && (f.validate || strings.HasSuffix(path, ".json")) {
		return codec.JSONSchema
	}
	return codec.Avro
}

// compile makes a schema of any type.
func (f *schemaFlags) compile(def codec.Definition, fromFile bool) (codec.Schema, error) {
	switch def.Type {
	case codec.Protobuf:
		return protobuf.Compile(def, protobuf.Options{Defaults: f.defaults, Unknown: f.unknown})
	case codec.JSONSchema:
		return jsonschema.Compile(def, jsonschema.Options{Validate: f.validate})
	case codec.Avro:
		return avro.Compile(def, avro.Options{Tagged: f.tagged, SingleObject: fromFile})
	default:
		return nil, fault.New(fault.Failed, "there is no decoder for schemas of the type %s", def.Type)
	}
}

// setClusters makes the registries of the clusters of wants known: those of the
// last plan as far as they are described as they were, and new ones.
func (s *schemas) setClusters(view *metadata.View, wants []source.Want) error {
	next := map[string]*clusterRegistry{}
	for _, w := range wants {
		c := view.Cluster(w.Source.Cluster)
		if next[c.Name] != nil || c.SchemaRegistry == nil {
			continue
		}
		if old := s.registries[c.Name]; old != nil && old.described.SameAs(c.SchemaRegistry) {
			next[c.Name] = old
			continue
		}
		client, err := s.connect(c)
		if err != nil {
			return err
		}
		next[c.Name] = &clusterRegistry{described: c.SchemaRegistry, client: client}
	}
	if err := s.checkTyped(len(next) > 0); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, old := range s.registries {
		if next[name] == nil { // what it has left is still on its way out
			next[name] = old
		}
	}
	s.registries = next
	return nil
}

// checkTyped refuses a flag that can have no effect.
func (s *schemas) checkTyped(registries bool) error {
	if registries {
		return nil
	}
	for _, flag := range slices.Sorted(maps.Keys(s.typed)) {
		of := s.typed[flag]
		if s.key != nil && s.key.Type() == of || s.value != nil && s.value.Type() == of {
			continue
		}
		return fault.New(fault.Usage, "--%s has nothing to work on: no cluster that is read has a schema registry, and no file with a schema for the decoder %s is given", flag, of.Name()).
			WithHint("schemaRegistry: under the cluster, --registry URL, --schema FILE or --proto FILE")
	}
	return nil
}

// open has registries asked under ctx; closed ends that.
func (s *schemas) open(ctx context.Context) (closed func()) {
	s.ctx = ctx
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, r := range s.registries {
			r.client.Close()
		}
	}
}

func (s *schemas) connect(c *metadata.Cluster) (*registry.Client, error) {
	r := c.SchemaRegistry
	tls, err := cluster.TLSConfig(c.Name, c.Dir, tlsOf(r.TLS))
	if err != nil {
		return nil, err
	}
	return registry.New(s.ctx, registry.Config{
		Cluster: c.Name, URLs: r.URLs, Username: r.Username, Password: r.Password.Reveal(), Token: r.Token.Reveal(),
		TLS: tls, Told: func(down error) { s.tell(c.Name, down) }, Compile: func(def codec.Definition) (codec.Schema, error) { return s.flags.compile(def, false) },
	})
}

// agrees refuses a file's decoder for a stream that names another one.
func (s *schemas) agrees(stream *metadata.Stream) error {
	if s == nil {
		return nil
	}
	for _, side := range []struct{ name, implied, own string }{
		{"key", s.implied.Key, codec.Named(stream.Key)}, {"value", s.implied.Value, codec.Named(stream.Value)},
	} {
		if side.implied != "" && side.own != "" && side.own != codec.Auto && side.own != side.implied {
			return fault.New(fault.Usage, "the schema given is for the decoder %s, and the stream %s has %s: %s (%s)", side.implied, stream.Name, side.name, side.own, stream.Origin).
				WithHint("-s %s=%s says that it is meant", side.name, side.implied)
		}
	}
	return nil
}

// of is what decoders know about the topic of a split; the topic may be empty.
func (s *schemas) of(at record.Split) codec.Env {
	e := codec.Env{Cluster: at.Cluster}
	if s == nil {
		return e
	}
	e.Key, e.Value = s.key, s.value
	if topic := internals.For(at.Topic); topic != nil {
		e.Internal = topic
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.registries[at.Cluster]; r != nil {
		e.Registry, e.WideIDs = r.client, r.described.IDBytes == 8
	}
	return e
}

// clusterIn names the cluster of a want; a run over files alone has none.
func clusterIn(w source.Want) record.Split {
	if w.Source == nil {
		return record.Split{}
	}
	return record.Split{Cluster: w.Source.Cluster}
}
