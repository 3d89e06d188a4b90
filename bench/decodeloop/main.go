// Command decodeloop is the yardstick of bench for decoding by schema: what one
// writes with kgo and the libraries at hand. It reads N records of a topic from
// its start, takes the schema that they name from the registry, once, and writes
// each value as a line of JSON: Avro by way of map[string]any and encoding/json,
// Protobuf by way of dynamicpb and protojson.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"

	"github.com/bufbuild/protocompile"
	"github.com/twmb/avro"
	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "decodeloop:", err)
		os.Exit(1)
	}
}

// decode turns the bytes behind the schema id into JSON.
type decode func(payload []byte) ([]byte, error)

func run(ctx context.Context, args []string) error {
	if len(args) != 5 {
		return errors.New("usage: decodeloop avro|protobuf BOOTSTRAP TOPIC RECORDS REGISTRY")
	}
	want, err := strconv.Atoi(args[3])
	if err != nil {
		return err
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(args[1]), kgo.ConsumeTopics(args[2]), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		return err
	}
	defer cl.Close()
	out := bufio.NewWriterSize(os.Stdout, 64<<10)
	decoders := map[uint32]decode{}
	for got := 0; got < want; {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return err
		}
		for it := fetches.RecordIter(); !it.Done(); got++ {
			text, err := value(ctx, it.Next().Value, decoders, args[0], args[4])
			if err != nil {
				return err
			}
			_, _ = out.Write(text)
			_ = out.WriteByte('\n')
		}
	}
	return out.Flush()
}

func value(ctx context.Context, v []byte, decoders map[uint32]decode, kind, registry string) ([]byte, error) {
	if len(v) < 5 || v[0] != 0 {
		return nil, errors.New("a value without a schema id")
	}
	id := binary.BigEndian.Uint32(v[1:])
	d := decoders[id]
	if d == nil {
		text, err := schema(ctx, registry, id)
		if err != nil {
			return nil, err
		}
		if d, err = compile(ctx, kind, text); err != nil {
			return nil, err
		}
		decoders[id] = d
	}
	return d(v[5:])
}

func schema(ctx context.Context, registry string, id uint32) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s/schemas/ids/%d", registry, id), nil)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	var got struct {
		Schema string `json:"schema"`
	}
	return got.Schema, json.NewDecoder(resp.Body).Decode(&got)
}

func compile(ctx context.Context, kind, text string) (decode, error) {
	if kind == "avro" {
		s, err := avro.Parse(text)
		return func(payload []byte) ([]byte, error) {
			var v map[string]any
			if _, err := s.Decode(payload, &v); err != nil {
				return nil, err
			}
			return json.Marshal(v)
		}, err
	}
	message, err := firstMessage(ctx, text)
	return func(payload []byte) ([]byte, error) {
		m := dynamicpb.NewMessage(message)
		// The records of this bench have the index of the first message: one zero.
		if err := proto.Unmarshal(bytes.TrimPrefix(payload, []byte{0}), m); err != nil {
			return nil, err
		}
		return protojson.Marshal(m)
	}, err
}

func firstMessage(ctx context.Context, text string) (protoreflect.MessageDescriptor, error) {
	c := protocompile.Compiler{Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{
		Accessor: protocompile.SourceAccessorFromMap(map[string]string{"order.proto": text}),
	})}
	files, err := c.Compile(ctx, "order.proto")
	if err != nil {
		return nil, err
	}
	return files[0].Messages().Get(0), nil
}
