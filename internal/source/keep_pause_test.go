package source

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestKeepingThatTakesLongerThanItsPause leaves half of the time for writing.
func TestKeepingThatTakesLongerThanItsPause(t *testing.T) {
	for _, tc := range []struct {
		takes time.Duration
		want  int // times in a minute
	}{{0, 59}, {300 * time.Millisecond, 46}, {5 * time.Second, 6}} {
		synctest.Test(t, func(t *testing.T) {
			kept := 0
			k := keeping{ledger: newLedger(), last: time.Now(), pause: keepEvery, keep: func([]Mark) error { return nil }}
			k.sync = func() error {
				kept++
				time.Sleep(tc.takes)
				return nil
			}
			for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(10 * time.Millisecond) {
				k.ledger.touch(&account{})
				if err := k.wrote(100); err != nil {
					t.Fatal(err)
				}
			}
			if kept != tc.want {
				t.Errorf("kept %d times in a minute when that takes %v, want %d", kept, tc.takes, tc.want)
			}
		})
	}
}
