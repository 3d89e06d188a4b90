package cmd

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kcm-cli/kcm/internal/output"
)

// TestLagJSON holds the JSON that lag writes piece by piece against that of
// output.AppendJSON, which the tags of the document say.
func TestLagJSON(t *testing.T) {
	n, s := int64(-3), "o\x1bdd \"<>&é"
	full := lagRowDoc{
		Stream: &s, Topic: s, Partition: 2, Committed: &n, Start: &n, End: &n, Lag: &n, MemberID: &s, ClientID: &s, Host: &s, Error: &s,
	}
	for name, doc := range map[string]*lagDoc{
		"nothing": {},
		"empty":   {Groups: []groupLagDoc{{}}},
		"full": {
			Time: &s, Failed: []failedDoc{{"east", "dead"}, {"west", s}},
			Groups: []groupLagDoc{
				{Cluster: "east", Group: s, Kind: &s, State: &s, Members: new(3), TotalLag: &n, Unknown: 4, Partitions: []lagRowDoc{full, {}}, Error: &s},
				{Partitions: []lagRowDoc{{}}},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, line := range []bool{false, true} {
				var got []byte
				err := doc.writeJSON(func(piece []byte) error { got = append(got, piece...); return nil }, line)
				want, wantErr := output.AppendJSON(nil, doc)
				if line {
					want, wantErr = output.AppendJSONLine(nil, doc)
				}
				if diff := cmp.Diff(string(want), string(got)); diff != "" || err != nil || wantErr != nil {
					t.Errorf("line %v: %v, %v\n%s", line, err, wantErr, diff)
				}
			}
		})
	}
}
