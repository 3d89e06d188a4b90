package metadata

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/kcm-cli/kcm/internal/fault"
)

// Options are what Load needs of the world. The zero Options reads files and
// addresses, but no standard input and no environment.
type Options struct {
	Stdin    io.Reader                   // what - reads; nil: nothing
	Getenv   func(string) (string, bool) // as os.LookupEnv; nil: nothing is set
	Now      time.Time                   // the moment that durations in specs count from
	HTTP     *http.Client                // nil: one of Load's own; redirects are checked in any case
	Decoders []string                    // the names that key: and value: may have; nil: those of kcm

	from *reading // a Watcher's
}

// Load reads the sources and merges them into one view. A source is a file, a
// directory whose *.yaml and *.yml are read in the order of their names, - for
// standard input, or an http or https address. Each may hold several documents:
// kcm's own form, Flink's list, or Kubernetes manifests of either. Errors name
// the place and hold no expanded value. They are fault.Usage, but for an http
// source that cannot be reached or answers 5xx, a fault.Unreachable; the end of
// ctx is reported as itself.
func Load(ctx context.Context, sources []string, opt Options) (*View, error) {
	if len(sources) == 0 {
		return nil, fault.New(fault.Usage, "no metadata source").WithHint("-m FILE, KCM_METADATA, ./kcm.yaml or -b HOST:PORT")
	}
	if opt.Getenv == nil {
		opt.Getenv = func(string) (string, bool) { return "", false }
	}
	if opt.Decoders == nil {
		opt.Decoders = decoderNames()
	}
	m := newMerger()
	seen := map[string]bool{}
	for _, s := range sources {
		if seen[s] {
			return nil, fault.New(fault.Usage, "metadata source %s is given twice", displayName(s))
		}
		seen[s] = true
		docs, err := readSource(ctx, s, opt)
		if err != nil {
			return nil, err
		}
		m.view.Sources = append(m.view.Sources, displayName(s))
		for _, doc := range docs {
			if err := opt.read(doc, m); err != nil {
				return nil, err
			}
		}
	}
	return m.finish()
}

// decoderNames are what key: and value: may say where the caller does not know
// better.
func decoderNames() []string {
	return []string{
		"auto", "raw", "string", "json", "hex", "base64", "avro", "protobuf", "jsonschema", "msgpack", "cbor",
		"uuid", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64",
	}
}

// decoderSynonyms are further names that the command line takes.
func decoderSynonyms() []string {
	return []string{"bytes", "str", "text", "messagepack", "short", "int", "integer", "long", "float", "double"}
}

// read decodes one text and everything in it into m.
func (opt Options) read(doc document, m *merger) error {
	d := decoder{doc: doc, getenv: opt.Getenv, now: opt.Now, decoders: opt.Decoders, from: opt.from}
	nodes, perr := parseYAML(doc.name, doc.data)
	if perr != nil {
		d.fail(d.place(perr.line, perr.col), "%s", perr.message)
		return d.err
	}
	for _, n := range nodes {
		if isManifest(n) && !doc.entry {
			if err := opt.readEntries(&d, n, m); err != nil {
				return err
			}
			continue
		}
		p := d.document(n)
		if d.err == nil {
			d.err = m.add(p)
		}
		if d.err != nil {
			return d.err
		}
	}
	return nil
}

func (opt Options) readEntries(d *decoder, n *node, m *merger) error {
	docs := d.manifest(n)
	if d.err != nil {
		return d.err
	}
	for _, doc := range docs {
		if err := opt.read(doc, m); err != nil {
			return err
		}
	}
	return nil
}

const emptyText = "the document is empty; it must hold clusters or streams"

// document reads either form.
func (d *decoder) document(n *node) part {
	switch n.kind {
	case null:
		d.failAt(n, emptyText)
	case mapping:
		return d.native(n)
	case list:
		return d.flink(n)
	default:
		d.failAt(n, "a document must be a mapping with clusters and streams, or Flink's list; this is %s", n.kind)
	}
	return part{}
}
