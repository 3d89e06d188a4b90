package source

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/metadata"
)

func TestOutcome(t *testing.T) {
	auth := fault.New(fault.Auth, "east: wrong password")
	dead := fault.New(fault.Unreachable, "west: refuses the connection")
	gone := fault.New(fault.Failed, "east/orders: no such topic")
	refused := fault.New(fault.Refused, "east: it is another cluster")
	full := fault.New(fault.Partial, "east/orders/0: west/orders/0 refuses the record at offset 3").On("west")
	gap := fault.New(fault.Partial, "east/orders/0: offsets 0 to 9 are gone from the log").On("east")
	for _, tt := range []struct {
		name     string
		clusters map[string]ClusterStats
		kind     fault.Kind // 0: no error
		told     bool
		text     string
	}{
		{"all well", map[string]ClusterStats{"east": {Splits: 3, Records: 5}, "west": {Splits: 1}}, 0, false, ""},
		{"nothing to read is well", map[string]ClusterStats{"east": {Splits: 1}}, 0, false, ""},
		{"one of two dead", map[string]ClusterStats{"east": {Splits: 1}, "west": {Err: dead, Faults: 1}}, fault.Partial, false, "the result is partial: west gave none or only a part"},
		{"a split failed after records", map[string]ClusterStats{"east": {Records: 7, Err: gone, Faults: 1}}, fault.Partial, false, "the result is partial: east gave none or only a part"},
		{"the only one failed", map[string]ClusterStats{"east": {Err: gone, Faults: 1}}, fault.Failed, true, "east/orders: no such topic"},
		{"the target takes no more", map[string]ClusterStats{"east": {Splits: 2, Err: full, Faults: 1, Target: "west"}}, fault.Partial, false, "the result is partial: west took none or only a part"},
		{"the target and a source", map[string]ClusterStats{"east": {Splits: 2, Err: full, Faults: 2, Target: "west", Own: true}, "north": {Splits: 1, Err: full, Faults: 1, Target: "west"}}, fault.Partial, false, "the result is partial: east gave none or only a part; west took none or only a part"},
		{"the target took nothing", map[string]ClusterStats{"east": {Err: full, Faults: 2, Target: "west"}}, fault.Failed, false, "west took nothing"},
		{"the target took nothing of the only split", map[string]ClusterStats{"east": {Err: full, Faults: 1, Target: "west"}}, fault.Failed, true, "east/orders/0: west/orders/0 refuses the record at offset 3"},
		{"a split was stopped before anything was read", map[string]ClusterStats{"east": {Err: gap, Faults: 1, Own: true}}, fault.Partial, true, "east/orders/0: offsets 0 to 9 are gone from the log"},
		{"both refuse", map[string]ClusterStats{"east": {Err: auth, Faults: 1}, "west": {Err: auth, Faults: 1}}, fault.Auth, false, "east, west refused access"},
		{"both dead", map[string]ClusterStats{"east": {Err: dead, Faults: 1}, "west": {Err: dead, Faults: 1}}, fault.Unreachable, false, "east, west could not be reached"},
		{"the only one is another cluster", map[string]ClusterStats{"east": {Err: refused, Faults: 1}}, fault.Refused, true, "east: it is another cluster"},
		{"each in its own way", map[string]ClusterStats{"east": {Err: auth, Faults: 1}, "west": {Err: dead, Faults: 1}}, fault.Failed, false, "no cluster gave a result: east, west"},
		{"two topics missing", map[string]ClusterStats{"east": {Err: gone, Faults: 2}}, fault.Failed, false, "east gave no result"},
	} {
		err := outcome(tt.clusters)
		if (err == nil) != (tt.kind == 0) {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if err == nil {
			continue
		}
		if _, told := errors.AsType[fault.Told](err); fault.KindOf(err) != tt.kind || told != tt.told || err.Error() != tt.text {
			t.Errorf("%s: %q of kind %d, told %v; want %q, %d, %v", tt.name, err, fault.KindOf(err), told, tt.text, tt.kind, tt.told)
		}
	}
}

// deaf is a Sink that nothing is written to.
type deaf struct{}

func (deaf) Worker() Worker      { return nil }
func (deaf) Write([]Block) error { return nil }

// A call that the end of the run, or a new plan, has broken off says nothing
// about the cluster.
func TestACanceledCallIsNoLoss(t *testing.T) {
	var told []string
	e := newEngine(Options{Sink: deaf{}, Event: func(ev Event) { told = append(told, ev.Text) }})
	r := newReader(e, "west", nil, []Want{{ID: "orders", Stream: &metadata.Stream{Name: "orders"}, Source: &metadata.Source{Cluster: "west"}}})
	r.ctx = t.Context()
	r.lost(fmt.Errorf("west: %w", context.Canceled))
	if len(told) != 0 || r.told {
		t.Errorf("told %q", told)
	}
	r.lost(errors.New("west: no answer in time"))
	if len(told) != 1 || told[0] != "west: no answer in time; trying again" {
		t.Errorf("told %q", told)
	}
}
