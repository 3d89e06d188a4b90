package filter

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kcm-cli/kcm/internal/codec"
)

// TestWhereIsBounded: what never ends, or takes all memory, fails for the record
// and says why; the next record is judged as if nothing had happened.
func TestWhereIsBounded(t *testing.T) {
	const steps, memory = "steps", "MiB of memory"
	for expr, why := range map[string]string{
		`last(range(1e12)) > 0`:        steps,
		`[range(1e9)] | length > 0`:    steps,
		`def f: f; f`:                  steps,
		`def f: ., f; last(f)`:         steps,
		`try (def f: f; f) catch true`: steps, // nothing catches it
		`reduce range(40) as $i ("0123456789abcdef"; . + .) | length > 0`: memory,
		`reduce range(40) as $i ([1, 2, 3, 4, 5]; . + .) | length > 0`:    memory,
	} {
		t.Run(expr, func(t *testing.T) {
			j := judgeOf(t, "if .offset == 1 then ("+expr+") else true end")
			rec := aRecord()
			rec.Offset = 1
			kept, err := j.Keeps(rec, decodedBy(t, rec, codec.Choice{}))
			if kept || err == nil || !strings.Contains(err.Error(), why) {
				t.Errorf("kept %v, error %v; want one about %s", kept, err, why)
			}
			rec.Offset = 2
			if kept, err := j.Keeps(rec, decodedBy(t, rec, codec.Choice{})); !kept || err != nil {
				t.Errorf("the next record: kept %v, error %v", kept, err)
			}
		})
	}
}

// TestTheBoundGrowsWithTheRecord: whatever looks at all of a large record may.
func TestTheBoundGrowsWithTheRecord(t *testing.T) {
	rec := aRecord()
	rec.Value = []byte("[" + strings.Repeat("[1,[2]],", 100_000) + "0]")
	for _, expr := range []string{
		`[.value | .. | numbers] | add == 300000`,
		`.value | flatten | length == 200001`,
		`[.value[] | tostring] | join("") | length > 100`,
		`[.value | paths] | length == 400001`,
		`.value | walk(.) | length == 100001`,
	} {
		if kept, err := judgeOf(t, expr).Keeps(rec, decodedBy(t, rec, codec.Choice{})); !kept || err != nil {
			t.Errorf("%s: kept %v, error %v", expr, kept, err)
		}
	}
}

// TestStoppedInTheMiddle of a record.
func TestStoppedInTheMiddle(t *testing.T) {
	j := judgeOf(t, `def f: f; f`)
	var stopped atomic.Bool
	j.w.StopWhen(stopped.Load)
	rec := aRecord()
	rec.Value = []byte(`"` + strings.Repeat("x", 10<<20) + `"`) // which allows ten seconds and more
	time.AfterFunc(20*time.Millisecond, func() { stopped.Store(true) })
	kept, err := j.Keeps(rec, decodedBy(t, rec, codec.Choice{}))
	if kept || !errors.Is(err, ErrStopped) {
		t.Errorf("kept %v, error %v", kept, err)
	}
}
