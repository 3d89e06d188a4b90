package avro

import (
	"encoding/json"
	"math/big"
	"testing"

	twmb "github.com/twmb/avro"
)

// orderSchema has 12 fields, among them unions, a nested record, an array and a
// decimal; a value takes about 200 bytes.
const orderSchema = `{"type":"record","name":"Order","namespace":"com.acme.shop","fields":[
	{"name":"id","type":"long"},
	{"name":"customer","type":"string"},
	{"name":"status","type":{"type":"enum","name":"Status","symbols":["NEW","PAID","SHIPPED"]}},
	{"name":"total","type":{"type":"bytes","logicalType":"decimal","precision":12,"scale":2}},
	{"name":"created","type":{"type":"long","logicalType":"timestamp-millis"}},
	{"name":"note","type":["null","string"],"default":null},
	{"name":"coupon","type":["null","string"],"default":null},
	{"name":"address","type":{"type":"record","name":"Address","fields":[
		{"name":"street","type":"string"},{"name":"city","type":"string"},{"name":"zip","type":"string"}]}},
	{"name":"items","type":{"type":"array","items":"string"}},
	{"name":"weight","type":"double"},
	{"name":"express","type":"boolean"},
	{"name":"quantity","type":"int"}]}`

const orderJSON = `{"id":1234567890123,"customer":"customer-000000042@example.com","status":"PAID","total":"1234.56",` +
	`"created":"2026-03-03T14:00:05.123Z","note":"leave it at the neighbours, second floor","coupon":null,` +
	`"address":{"street":"12 Some Longer Street Name","city":"Springfield","zip":"12345"},` +
	`"items":["sku-000001","sku-000002","sku-000003"],"weight":12.75,"express":true,"quantity":3}`

// order is the value above, encoded by twmb/avro.
func order(t testing.TB) []byte {
	t.Helper()
	b, err := twmb.MustParse(orderSchema).Encode(map[string]any{
		"id": int64(1234567890123), "customer": "customer-000000042@example.com", "status": "PAID",
		"total": big.NewRat(123456, 100), "created": int64(1772546405123), "note": "leave it at the neighbours, second floor", "coupon": nil,
		"address": map[string]any{"street": "12 Some Longer Street Name", "city": "Springfield", "zip": "12345"},
		"items":   []string{"sku-000001", "sku-000002", "sku-000003"}, "weight": 12.75, "express": true, "quantity": 3,
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestNoAllocationsForARecord(t *testing.T) {
	payload, dst := order(t), make([]byte, 0, 1024)
	for _, tagged := range []bool{false, true} {
		s := schemaOf(t, Options{Tagged: tagged}, orderSchema)
		n := testing.AllocsPerRun(100, func() {
			out, err := s.AppendJSON(dst, payload)
			if err != nil || !tagged && string(out) != orderJSON {
				t.Fatalf("%s, %v", out, err)
			}
		})
		if n != 0 {
			t.Errorf("tagged %v: %v allocations", tagged, n)
		}
	}
}

func BenchmarkRecord(b *testing.B) {
	payload, dst := order(b), make([]byte, 0, 1024)
	s := schemaOf(b, Options{}, orderSchema)
	b.SetBytes(int64(len(payload)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.AppendJSON(dst, payload); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLibrary is the obvious way: decode into a map, encode as JSON.
func BenchmarkLibrary(b *testing.B) {
	payload := order(b)
	s := twmb.MustParse(orderSchema)
	b.SetBytes(int64(len(payload)))
	b.ReportAllocs()
	for b.Loop() {
		var v map[string]any
		if _, err := s.Decode(payload, &v); err != nil {
			b.Fatal(err)
		}
		if _, err := json.Marshal(v); err != nil {
			b.Fatal(err)
		}
	}
}
