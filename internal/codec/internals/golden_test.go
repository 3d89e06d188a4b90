package internals

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
)

// golden is a line of testdata/golden.txt, which Kafka's own classes wrote.
type golden struct {
	topic, side, variant string
	id, version          int16
	bytes                []byte
	json                 string
}

func readGolden(t testing.TB) (all []golden, words map[string]map[int64]string) {
	t.Helper()
	file, err := os.ReadFile("testdata/golden.txt")
	if err != nil {
		t.Fatal(err)
	}
	words = map[string]map[int64]string{}
	number := func(s string) int64 {
		n, err := strconv.ParseInt(s, 10, 16)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for line := range strings.Lines(string(file)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if f[0] == "words" {
			if words[f[1]] == nil {
				words[f[1]] = map[int64]string{}
			}
			words[f[1]][number(f[2])] = f[3]
			continue
		}
		b, err := hex.DecodeString(f[5])
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, golden{f[0], f[1], f[4], int16(number(f[2])), int16(number(f[3])), b, f[6]})
	}
	return all, words
}

// keyOf is a key of a type, as far as a value's decoder looks at it.
func keyOf(id int16) []byte { return binary.BigEndian.AppendUint16(nil, uint16(id)) }

func (g golden) decode() ([]byte, error) {
	switch g.side {
	case "key":
		return For(g.topic).AppendKey(nil, g.bytes)
	case "value":
		return For(g.topic).AppendValue(nil, keyOf(g.id), g.bytes)
	case "subscription":
		return (&reader{}).inside(nil, &consumerSubscription, g.bytes), nil
	default:
		return (&reader{}).inside(nil, &consumerAssignment, g.bytes), nil
	}
}

func TestShowsWhatKafkasOwnClassesSay(t *testing.T) {
	all, everyWord := readGolden(t)
	for _, g := range all {
		words := everyWord
		name := strings.Join([]string{g.topic, g.side, strconv.Itoa(int(g.id)), strconv.Itoa(int(g.version)), g.variant}, " ")
		out, err := g.decode()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got, isObject := parsed(t, out).(map[string]any)
		if !isObject {
			t.Errorf("%s: %s is no object", name, out)
			continue
		}
		head := g.version
		if g.side == "key" {
			head = g.id
			delete(got, "type")
		}
		if got["version"] != json.Number(strconv.Itoa(int(head))) {
			t.Errorf("%s: version %v", name, got["version"])
		}
		delete(got, "version")
		if g.id == 22 {
			words = maps.Clone(words)
			words["state"] = words["streams_state"]
		}
		if diff := cmp.Diff(kafkas(parsed(t, []byte(g.json)), "", words), any(got)); diff != "" {
			t.Errorf("%s (-Kafka +kcm):\n%s", name, diff)
		}
	}
	if len(all) < 180 {
		t.Errorf("%d lines: the file is not whole", len(all))
	}
}

// kafkas rewrites what JsonConverter wrote in this package's names and words.
func kafkas(v any, name string, words map[string]map[int64]string) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, item := range v {
			key = snake(key)
			if key == "version" {
				key = "regular_expression_version"
			}
			out[key] = kafkas(item, key, words)
		}
		return out
	case []any:
		for i := range v {
			v[i] = kafkas(v[i], "", words)
		}
	case json.Number:
		n, _ := v.Int64()
		if word := words[name][n]; word != "" {
			return word
		}
	}
	return v
}

func snake(camel string) string {
	var b strings.Builder
	for i, r := range camel {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

func parsed(t *testing.T, text []byte) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

func TestWordsAreKafkas(t *testing.T) {
	_, words := readGolden(t)
	for name, table := range map[string][]string{
		"transaction_status": transactionStates, "state": memberStates, "streams_state": streamsStates, "delivery_state": deliveryStates,
	} {
		for n, word := range words[name] {
			if n < 100 && (n >= int64(len(table)) || table[n] != word) {
				t.Errorf("%s %d is %s in Kafka, the table has %q", name, n, word, table)
			}
		}
		for n, word := range table {
			if word != words[name][int64(n)] {
				t.Errorf("%s %d is %q in the table, %q in Kafka", name, n, word, words[name][int64(n)])
			}
		}
	}
}

// Every record type of Kafka has a table.
func TestEveryTypeIsKnown(t *testing.T) {
	all, _ := readGolden(t)
	types := map[string][]int16{}
	for _, g := range all {
		if g.side == "key" && !slices.Contains(types[g.topic], g.id) {
			types[g.topic] = append(types[g.topic], g.id)
		}
	}
	for topic, ids := range types {
		c := For(topic).(*coordinator)
		for _, id := range ids {
			if c.find(id) == nil {
				t.Errorf("%s: type %d is missing", topic, id)
			}
		}
		if len(c.types) != len(ids) {
			t.Errorf("%s: %d types in the table, %d in Kafka", topic, len(c.types), len(ids))
		}
	}
	if len(types) != 3 {
		t.Errorf("%d topics", len(types))
	}
}

// A cut or lengthened record is an error, wherever the cut is.
func TestDamagedRecordsAreErrors(t *testing.T) {
	all, _ := readGolden(t)
	for _, g := range all {
		if g.side != "key" && g.side != "value" {
			continue
		}
		whole := g.bytes
		for n := range len(whole) {
			g.bytes = whole[:n:n]
			if out, err := g.decode(); err == nil {
				t.Errorf("%s %s %d: %d bytes of %d give %s", g.topic, g.side, g.id, n, len(whole), out)
			}
		}
		g.bytes = append(slices.Clone(whole), 0)
		if out, err := g.decode(); err == nil {
			t.Errorf("%s %s %d: a byte more gives %s", g.topic, g.side, g.id, out)
		}
	}
}
