package spec

import (
	"slices"
	"testing"

	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/record"
)

func TestOffsetsFor(t *testing.T) {
	o, err := ParseOffsets([]string{"start", "0=5", "west/0=6", "orders:0=7", "east/orders:0=8,1=-3", "2=@2026-03-03", "end"}, now)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		split record.Split
		want  string
	}{
		{record.Split{Cluster: "east", Topic: "orders", Partition: 0}, "8"},
		{record.Split{Cluster: "west", Topic: "orders", Partition: 0}, "7"},
		{record.Split{Cluster: "west", Topic: "bills", Partition: 0}, "6"},
		{record.Split{Cluster: "east", Topic: "bills", Partition: 0}, "5"},
		{record.Split{Cluster: "east", Topic: "bills", Partition: 1}, "end-3"},
		{record.Split{Cluster: "east", Topic: "bills", Partition: 2}, "@2026-03-03T00:00:00Z"},
		{record.Split{Cluster: "east", Topic: "bills", Partition: 3}, "end"},
	} {
		if got, ok := o.For(c.split); !ok || got.String() != c.want {
			t.Errorf("For(%v) = %v, %v, want %s", c.split, got, ok, c.want)
		}
	}
	if r, ok := o.Default(); !ok || r.String() != "end" || !o.Given() || len(o.Ranges()) != 7 {
		t.Errorf("Default = %v, %v; Ranges = %v", r, ok, o.Ranges())
	}
}

func TestOffsetsWithoutDefault(t *testing.T) {
	o, err := ParseOffsets([]string{"3=start"}, now)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := o.For(record.Split{Partition: 3}); !ok || !o.Given() {
		t.Error("partition 3 has no range")
	}
	if r, ok := o.For(record.Split{Partition: 4}); ok {
		t.Errorf("partition 4 has the range %v", r)
	}
	if none := (Offsets{}); none.Given() || none.Ranges() != nil {
		t.Error("no value gives a range")
	}
}

func TestParseOffsetsOdd(t *testing.T) {
	for _, c := range []struct{ text, want, err, hint string }{
		{"group:a,b", "group:a,b", "", ""},
		{"group:a=b", "group:a=b", "", ""},
		{"0=group:a=b", "", "", ""},
		{"group:3=5", "", "", ""}, // partition 3 of a topic named group
		{"orders=5", "", `"orders=5": "orders" names no partition`, "[CLUSTER/][TOPIC:]PARTITION=SPEC, such as 0=start or east/orders:3=@-1h"},
		{"/0=5", "", `"/0=5": "/0" names no partition`, "[CLUSTER/][TOPIC:]PARTITION=SPEC, such as 0=start or east/orders:3=@-1h"},
		{":0=5", "", `":0=5": ":0" names no partition`, "[CLUSTER/][TOPIC:]PARTITION=SPEC, such as 0=start or east/orders:3=@-1h"},
		{"a/b/c:0=5", "", `"a/b/c:0=5": "a/b/c:0" names no partition`, "[CLUSTER/][TOPIC:]PARTITION=SPEC, such as 0=start or east/orders:3=@-1h"},
		{"99999999999=5", "", `"99999999999=5": "99999999999" names no partition`, "[CLUSTER/][TOPIC:]PARTITION=SPEC, such as 0=start or east/orders:3=@-1h"},
		{"0=never", "", `"never" is no offset spec`, "allowed are " + Allowed + "; see kcm help specs"},
		{"0=5,1=never", "", `"5,1=never" is no offset spec`, "allowed are " + Allowed + "; see kcm help specs"},
	} {
		o, err := ParseOffsets([]string{c.text}, now)
		if message(err) != c.err || fault.HintOf(err) != c.hint {
			t.Errorf("%q: %q, hint %q; want %q, hint %q", c.text, message(err), fault.HintOf(err), c.err, c.hint)
		}
		if r, ok := o.Default(); ok != (c.want != "") || r.String() != c.want {
			t.Errorf("%q: default %v, %v, want %q", c.text, r, ok, c.want)
		}
	}
}

func FuzzParseOffsets(f *testing.F) {
	for _, s := range []string{"0=5", "east/orders:3=@-1h,1=end", "group:a,b=c", "=", "/:=", ":0=", "0=1=2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		o, err := ParseOffsets([]string{text}, now)
		if (err == nil) != o.Given() {
			t.Fatalf("%q: %v, given %v", text, err, o.Given())
		}
	})
}

func TestPartitions(t *testing.T) {
	for _, c := range []struct {
		values []string
		want   string
		has    []int32
		hasNot []int32
		err    string
	}{
		{nil, "", []int32{0, 7}, nil, ""},
		{[]string{"0,2-4"}, "0,2-4", []int32{0, 2, 3, 4}, []int32{1, 5}, ""},
		{[]string{"9", "2-2, 0"}, "0,2,9", []int32{0, 2, 9}, []int32{1}, ""},
		{[]string{"0-2147483647"}, "0-2147483647", []int32{0, 2147483647}, nil, ""},
		{[]string{"4-2"}, "", nil, nil, `"4-2" is no list of partitions`},
		{[]string{"0,,1"}, "", nil, nil, `"0,,1" is no list of partitions`},
		{[]string{"-1"}, "", nil, nil, `"-1" is no list of partitions`},
		{[]string{"2147483648"}, "", nil, nil, `"2147483648" is no list of partitions`},
		{[]string{"all"}, "", nil, nil, `"all" is no list of partitions`},
	} {
		ps, err := ParsePartitions(c.values)
		if message(err) != c.err || ps.String() != c.want {
			t.Errorf("%q = %q, %q, want %q, %q", c.values, ps, message(err), c.want, c.err)
		}
		for _, p := range c.has {
			if !ps.Has(p) {
				t.Errorf("%q does not have %d", c.values, p)
			}
		}
		for _, p := range c.hasNot {
			if ps.Has(p) {
				t.Errorf("%q has %d", c.values, p)
			}
		}
	}
}

func FuzzParsePartitions(f *testing.F) {
	f.Add("0,2-4")
	f.Add("-,")
	f.Fuzz(func(t *testing.T, text string) {
		ps, err := ParsePartitions([]string{text})
		if err != nil {
			return
		}
		again, err := ParsePartitions([]string{ps.String()})
		if err != nil || again.String() != ps.String() {
			t.Fatalf("%q = %q = %q, %v", text, ps, again, err)
		}
	})
}

func TestOffsetsNameClusters(t *testing.T) {
	o, err := ParseOffsets([]string{"start", "1=5", "west/0=1,east/orders:2=end", "west/a:1=3"}, now)
	if err != nil {
		t.Fatal(err)
	}
	if got := o.Clusters(); !slices.Equal(got, []string{"east", "west"}) {
		t.Errorf("clusters are %q", got)
	}
}
