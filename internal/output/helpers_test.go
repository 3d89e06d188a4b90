package output

import (
	"encoding/binary"
	"testing"

	"github.com/kcm-cli/kcm/internal/record"
)

var (
	east0 = record.Split{Cluster: "east", Topic: "orders", Partition: 0}
	null  = &record.Value{}
)

func textValue(s string) *record.Value {
	return &record.Value{Kind: record.Text, Bytes: []byte(s)}
}

func jsonValue(s string) *record.Value {
	return &record.Value{Kind: record.JSON, Bytes: []byte(s)}
}

func binaryValue(s string) *record.Value {
	return &record.Value{Kind: record.Binary, Bytes: []byte(s)}
}

func header(key, value string) record.Header {
	return record.Header{Key: []byte(key), Value: []byte(value)}
}

// headers encodes headers as a batch holds them.
func headers(t testing.TB, list ...record.Header) record.Headers {
	t.Helper()
	var raw []byte
	for _, h := range list {
		raw = binary.AppendVarint(raw, int64(len(h.Key)))
		raw = append(raw, h.Key...)
		if h.Value == nil {
			raw = binary.AppendVarint(raw, -1)
			continue
		}
		raw = binary.AppendVarint(raw, int64(len(h.Value)))
		raw = append(raw, h.Value...)
	}
	if !record.CheckHeaders(len(list), raw) {
		t.Fatal("headers are not well-formed")
	}
	return record.Headers{Count: len(list), Raw: raw}
}

func format(t testing.TB, name string, opt Options) SplitFormat {
	t.Helper()
	f, err := NewFormat(name, opt)
	if err != nil {
		t.Fatal(err)
	}
	return f.ForSplit("orders", east0)
}
