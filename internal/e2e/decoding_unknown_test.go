//go:build kafka

package e2e

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/kcm-cli/kcm/internal/kafkatest"
)

// avroLong is a value of the schema "long" with an id in front.
func avroLong(id int, n int64) []byte {
	return binary.AppendVarint(binary.BigEndian.AppendUint32([]byte{0}, uint32(id)), n)
}

// longs makes records in one partition whose ids take turns; each value says
// which it is.
func longs(n int, ids ...int) []kafkatest.Record {
	var list []kafkatest.Record
	for i := range n {
		list = append(list, kafkatest.Record{Value: avroLong(ids[i%len(ids)], int64(i))})
	}
	return list
}

// TestUnknownIDsCostNoStormOfRequests has half of 10,000 records carry an id
// that the registry does not have, and then a registry that is busy at first. It
// has to count requests and to choose ids: it is one inside the test.
func TestUnknownIDsCostNoStormOfRequests(t *testing.T) {
	rig := kafkatest.Real(t, kafkatest.Options{})
	east := rig.Cluster("east")
	schemas := kafkatest.NewSchemas(t, 7)
	known, _ := schemas.Register("known", "AVRO", `"long"`)
	const n = 10_000
	half, whole := rig.Name("half"), rig.Name("whole")
	for topic, ids := range map[string][]int{half: {known, 999}, whole: {known}} {
		east.CreateTopic(topic, 1, nil)
		east.Produce(topic, longs(n, ids...)...)
	}
	consume := func(topic string, args ...string) result {
		return run(t, append([]string{"-m", decoded(t, topic, map[*kafkatest.Cluster]string{east: schemas.URL()}), "consume", "orders", "-e"}, args...))
	}
	plain := consume(whole, "-f", `%v\n`)
	plain.exits(t, 0)
	r := consume(half, "-J")
	r.exits(t, 0)
	r.says(t, 1, "5,000 records could not be decoded")
	bad := 0
	for i, line := range r.stdout {
		p := parse(t, []byte(line))
		switch {
		case p.Offset != int64(i):
			t.Fatalf("line %d has offset %d", i, p.Offset)
		case string(p.Value) == fmt.Sprint(i) && i%2 == 0:
		case i%2 == 1 && containsAll(line, []string{`"value_schema_id":999,"value_error":"schema 999 is not in the registry of east (`}):
			bad++
		default:
			t.Fatalf("line %d is %s", i, line)
		}
	}
	if len(r.stdout) != n || bad != n/2 {
		t.Errorf("%d records, %d marked", len(r.stdout), bad)
	}
	if asked := schemas.Asked("/999"); len(asked) != 1 {
		t.Errorf("%d requests for the unknown id", len(asked))
	}
	if asked := schemas.Asked("/ids/7"); len(asked) != 2 {
		t.Errorf("%d requests for the known id in two runs", len(asked))
	}
	if r.CPU > 5*plain.CPU {
		t.Errorf("%v of processor time, and %v where all ids are known", r.CPU, plain.CPU)
	}

	later, _ := schemas.Register("later", "AVRO", `["long"]`)
	busy := rig.Name("busy")
	east.CreateTopic(busy, 1, nil)
	east.Produce(busy, kafkatest.Record{Value: avroLong(known, 0)}, kafkatest.Record{Value: append(avroLong(later, 0), 2)}, kafkatest.Record{Value: avroLong(known, 2)})
	schemas.Fail(3, 503)
	r = consume(busy, "-f", `%v\n`)
	r.exits(t, 0)
	if want := []string{"0", "1", "2"}; !slices.Equal(r.stdout, want) || len(r.stderr) != 0 {
		t.Errorf("got %q, want %q; stderr %q", r.stdout, want, r.stderr)
	}
}
