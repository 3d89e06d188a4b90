package filter

import (
	"errors"
	"math"
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
		`last(range(1e12)) > 0`:               steps,
		`[range(1e9)] | length > 0`:           steps,
		`def f: f; f`:                         steps,
		`def f: ., f; last(f)`:                steps,
		`[repeat(1)] | length`:                steps,
		`until(false; . )`:                    steps,
		`first(range(1e12) | select(. < 0))`:  steps,
		`try (def f: f; f) catch true`:        steps, // nothing catches it
		`reduce range(1e12) as $i (0; . + 1)`: steps,
		`reduce range(40) as $i ("0123456789abcdef"; . + .) | length > 0`:  memory,
		`reduce range(40) as $i ([1, 2, 3, 4, 5]; . + .) | length > 0`:     memory,
		`[limit(60; "0123456789abcdef" | recurse(. + .) )] | length > 100`: memory,
	} {
		t.Run(expr, func(t *testing.T) {
			j := judgeOf(t, "if .offset == 1 then ("+expr+") else true end")
			rec := aRecord()
			rec.Offset = 1
			began := time.Now()
			kept, err := j.Keeps(rec, decodedBy(t, rec, codec.Choice{}))
			if kept || err == nil || !strings.Contains(err.Error(), why) {
				t.Errorf("kept %v, error %v; want one about %s", kept, err, why)
			}
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("that took %v", took)
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
	rec.Value = []byte(`"` + strings.Repeat("x", math.MaxInt32/stepsPerByte) + `"`) // which allows a minute
	time.AfterFunc(20*time.Millisecond, func() { stopped.Store(true) })
	began := time.Now()
	kept, err := j.Keeps(rec, decodedBy(t, rec, codec.Choice{}))
	if kept || !errors.Is(err, ErrStopped) {
		t.Errorf("kept %v, error %v", kept, err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it went on for %v", took)
	}
}
