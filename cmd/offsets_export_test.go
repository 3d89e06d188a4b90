package cmd

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/offsets"
	"github.com/kcm-cli/kcm/internal/output"
)

// TestExportJSON: the JSON that is written piece by piece is that of the tags, and
// what ReadListing reads, whatever bytes the names have.
func TestExportJSON(t *testing.T) {
	at := func(topic string, p int32) offsets.Partition { return offsets.Partition{Topic: topic, Partition: p} }
	group := func(cluster, name string, commits map[offsets.Partition]offsets.Commit, err error) exportGroupDoc {
		d := newExportGroupDoc(clusterScope{cluster: cluster}, offsets.Group{Name: name, Commits: commits, Err: err})
		d.streamOf = func(at offsets.Partition) (string, bool) { return strings.Repeat("s", int(at.Partition)), true }
		return d
	}
	for name, doc := range map[string]*exportDoc{
		"nothing": {},
		"some": {
			Failed: []failedDoc{{"x", "o\x1b\"dd"}},
			Groups: []exportGroupDoc{
				group("east", "g\xff\"\n<é", map[offsets.Partition]offsets.Commit{
					at("t", 1): {Offset: 5, Metadata: "m\xfe"}, at("t", 0): {Offset: 1 << 60, Metadata: "é"}, at("s", 2): {Offset: 0}, at("t", 3): {Offset: -1, Err: fault.New(fault.Auth, "no")},
				}, nil),
				group("west", "{", nil, fault.New(fault.Unreachable, "gone")),
			},
		},
	} {
		var got []byte
		err := doc.writeJSON(func(piece []byte) error { got = append(got, piece...); return nil }, false)
		listed, readErr := offsets.ReadListing(strings.NewReader(string(got)), "x")
		doc.fill()
		want, wantErr := output.AppendJSON(nil, doc)
		if diff := cmp.Diff(string(want), string(got)); diff != "" || err != nil || wantErr != nil {
			t.Errorf("%s: %v, %v\n%s", name, err, wantErr, diff)
		}
		if name == "nothing" {
			continue
		}
		if readErr != nil {
			t.Fatal(readErr)
		}
		for i := range listed.Entries {
			listed.Entries[i].Line = 0
		}
		if want := []offsets.ListedOffset{
			{Cluster: "east", Group: "g\xff\"\n<é", Partition: at("s", 2)},
			{Cluster: "east", Group: "g\xff\"\n<é", Partition: at("t", 0), Offset: 1 << 60, Metadata: "é"},
			{Cluster: "east", Group: "g\xff\"\n<é", Partition: at("t", 1), Offset: 5, Metadata: "m\xfe"},
		}; !slices.Equal(listed.Entries, want) {
			t.Errorf("it is read %+v", listed.Entries)
		}
	}
}
