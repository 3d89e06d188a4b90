package spec

import (
	"testing"
	"time"
)

func TestParseDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"1h": time.Hour, "1d12h": 36 * time.Hour, "250ms": 250 * time.Millisecond,
		"PT1H": time.Hour, "P1D": 24 * time.Hour, "P1DT12H30M": 36*time.Hour + 30*time.Minute, "PT0S": 0,
		"pt1.5s": 1500 * time.Millisecond, "PT1M0.000000001S": time.Minute + 1,
	} {
		if got, err := ParseDuration(text); err != nil || got != want {
			t.Errorf("%s: %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "1", "-1h", "+1h", "P", "PT", "P1", "P1DT", "T1H", "1H", "PT1H1H", "PT1M1H", "P1H", "PT1D", "PT-1H", "-PT1H", "PT1.5H", "PT.5S", "PT1.S",
		"P99999999999999999999D", "P73001D", "PT1.0000000001S", "hour",
	} {
		if got, err := ParseDuration(text); err == nil {
			t.Errorf("%q is read as %v", text, got)
		}
	}
}
