//go:build kafka

package e2e

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/kcm-cli/kcm/internal/kafkatest"
)

// printed is a record as -J prints it.
type printed struct {
	Stream        string          `json:"stream"`
	Cluster       string          `json:"cluster"`
	Topic         string          `json:"topic"`
	Partition     int32           `json:"partition"`
	Offset        int64           `json:"offset"`
	Timestamp     int64           `json:"timestamp"`
	Key           json.RawMessage `json:"key"`
	KeyEncoding   string          `json:"key_encoding"`
	Value         json.RawMessage `json:"value"`
	ValueEncoding string          `json:"value_encoding"`
	Headers       []struct {
		Key      string          `json:"key"`
		Value    json.RawMessage `json:"value"`
		Encoding string          `json:"encoding"`
	} `json:"headers"`
}

// bytesOf returns the bytes that a member stands for; nil is null.
func bytesOf(raw json.RawMessage, encoding string) ([]byte, error) {
	var text *string
	switch {
	case len(raw) > 0 && (raw[0] == '{' || raw[0] == '['):
		return raw, nil
	default:
		if err := json.Unmarshal(raw, &text); err != nil || text == nil {
			return nil, err
		}
	}
	if encoding == "base64" {
		return base64.StdEncoding.DecodeString(*text)
	}
	return []byte(*text), nil
}

// parse reads one line of -J.
func parse(t *testing.T, line []byte) printed {
	t.Helper()
	var p printed
	if err := json.Unmarshal(line, &p); err != nil {
		t.Fatalf("%v in %.200q", err, line)
	}
	return p
}

// text returns the value of a record that is a string.
func (p printed) text(t *testing.T) string {
	t.Helper()
	b, err := bytesOf(p.Value, p.ValueEncoding)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// matches checks a printed record against the one that was written.
func (p printed) matches(want kafkatest.Record) error {
	if err := same("key", p.Key, p.KeyEncoding, want.Key); err != nil {
		return err
	}
	if err := same("value", p.Value, p.ValueEncoding, want.Value); err != nil {
		return err
	}
	if want.Time != 0 && p.Timestamp != want.Time {
		return fmt.Errorf("timestamp %d, want %d", p.Timestamp, want.Time)
	}
	if len(p.Headers) != len(want.Headers) {
		return fmt.Errorf("%d headers, want %d", len(p.Headers), len(want.Headers))
	}
	for i, h := range p.Headers {
		if h.Key != want.Headers[i].Key {
			return fmt.Errorf("header %d is %q, want %q", i, h.Key, want.Headers[i].Key)
		}
		if err := same("header "+h.Key, h.Value, h.Encoding, want.Headers[i].Value); err != nil {
			return err
		}
	}
	return nil
}

func same(what string, raw json.RawMessage, encoding string, want []byte) error {
	got, err := bytesOf(raw, encoding)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if (got == nil) != (want == nil) || !bytes.Equal(got, want) {
		return fmt.Errorf("%s is %.100q, want %.100q", what, got, want)
	}
	return nil
}

// values returns the values of all lines of -J, in their order, each with where
// it stood if places is set.
func values(t *testing.T, stdout []string) []string {
	t.Helper()
	var list []string
	for _, l := range stdout {
		list = append(list, parse(t, []byte(l)).text(t))
	}
	return list
}

// metadata writes a metadata file with one stream over the clusters and returns
// its path. A cluster is name=bootstrap.
func metadata(t *testing.T, stream, topic string, clusters ...string) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("clusters:\n")
	for _, c := range clusters {
		name, bootstrap, _ := strings.Cut(c, "=")
		fmt.Fprintf(&b, "  %s: {bootstrap: %q}\n", name, bootstrap)
	}
	fmt.Fprintf(&b, "streams:\n  %s:\n    sources:\n", stream)
	for _, c := range clusters {
		name, _, _ := strings.Cut(c, "=")
		fmt.Fprintf(&b, "      - {cluster: %s, topics: [%q]}\n", name, topic)
	}
	return file(t, "kcm.yaml", b.String())
}

// at is a cluster as metadata takes it.
func at(c *kafkatest.Cluster) string { return c.Name() + "=" + c.Bootstrap() }

// numbered are n records from first on, in one partition, whose values say where
// they were written and which they are.
func numbered(c *kafkatest.Cluster, partition int32, first, n int) []kafkatest.Record {
	var list []kafkatest.Record
	for i := range n {
		list = append(list, kafkatest.Record{Partition: partition, Value: fmt.Appendf(nil, "%s/%d/%d", c.Name(), partition, first+i)})
	}
	return list
}

// count is a list of the values that numbered makes, from 0 to n-1.
func counted(c *kafkatest.Cluster, partition int32, n int) []string {
	var list []string
	for _, r := range numbered(c, partition, 0, n) {
		list = append(list, string(r.Value))
	}
	return list
}

// of returns those values that numbered made for a partition.
func of(c *kafkatest.Cluster, partition int32, all []string) []string {
	var list []string
	for _, v := range all {
		if strings.HasPrefix(v, fmt.Sprintf("%s/%d/", c.Name(), partition)) {
			list = append(list, v)
		}
	}
	return list
}

// equal checks that two lists of values are the same and shows where they part.
func equal(t *testing.T, what string, got, want []string) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		g, w := "(none)", "(none)"
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			t.Errorf("%s: %d values, want %d; value %d is %.100q, want %.100q", what, len(got), len(want), i, g, w)
			return
		}
	}
}
