package cmd

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kcm-cli/kcm/internal/source"
	"github.com/kcm-cli/kcm/internal/spec"
)

// TestBounds reads the flags that bound a run, from the places that they can be
// set in.
func TestBounds(t *testing.T) {
	t.Chdir(t.TempDir())
	const file = "c.yaml"
	for _, c := range []struct {
		args string
		env  map[string]string
		yaml string
		want string // facts, or the error
	}{
		{"", nil, "", "from end"},
		{"-e", nil, "", "exit from start"},
		{"--since -1h", nil, "", "from end @2026-03-03T13:00:05.25Z"},
		{"--since -1h -e", nil, "", "exit from start @2026-03-03T13:00:05.25Z"},
		{"--since 2026-03-03 --until 5m", nil, "", "exit from start @2026-03-03T00:00:00Z:2026-03-03T00:05:00Z"},
		{"--until -1h", nil, "", "exit from start @:2026-03-03T13:00:05.25Z"},
		{"--until -1h --follow=false", nil, "", "exit from start @:2026-03-03T13:00:05.25Z"},
		{"--since -2h", map[string]string{"KCM_CONSUME_UNTIL": "-1h"}, "", "exit from start @2026-03-03T12:00:05.25Z:2026-03-03T13:00:05.25Z"},
		{"", nil, "consume: {since: -2h}", "from end @2026-03-03T12:00:05.25Z"},
		{"--since yesterday", nil, "", `--since: "yesterday" is no time`},
		{"--since -1h --until soon", nil, "", `--until: "soon" is no time`},
		{"", map[string]string{"KCM_CONSUME_UNTIL": "soon"}, "", `env KCM_CONSUME_UNTIL: consume.until: "soon" is no time`},
		{"--until 5m", nil, "", `--until: "5m" is a duration without a sign`},
		{"--since -1h --until -2h", nil, "", "--until: the time window from -1h to -2h starts after it ends"},
		{"--since -1h -o start", nil, "", "-o and --since exclude each other"},
		{"--until -1h -o 0=5", nil, "", "-o and --until exclude each other"},
		{"--since -1h", map[string]string{"KCM_CONSUME_OFFSET": "5"}, "", "from end @2026-03-03T13:00:05.25Z"},
		{"-o 5", map[string]string{"KCM_CONSUME_SINCE": "-1h", "KCM_CONSUME_UNTIL": "-1h"}, "", "from end 5"},
		{"--until -1h --follow", nil, "", "--until and --follow exclude each other"},
		{"--until -1h", map[string]string{"KCM_CONSUME_FOLLOW": "1"}, "", "exit from start @:2026-03-03T13:00:05.25Z"},
		{"--follow", map[string]string{"KCM_CONSUME_UNTIL": "-1h"}, "", "from end"},
		{"-e", map[string]string{"KCM_CONSUME_UNTIL": "-1h"}, "consume: {follow: true}", "exit from start @:2026-03-03T13:00:05.25Z"},

		{"--until -1h --late 90s", nil, "", "exit from start @:2026-03-03T13:00:05.25Z late 90000"},
		{"-o @:-1h --late 1us", nil, "", "exit from start @:2026-03-03T13:00:05.25Z late 1"},
		{"--since -1h --late 1s", nil, "", "--late needs a time window that ends"},
		{"--since -1h", map[string]string{"KCM_CONSUME_LATE": "1s"}, "", "from end @2026-03-03T13:00:05.25Z"},
		{"--until -1h --late -1s", nil, "", "--late -1s is not allowed: a time is not negative"},

		{"--num-per-partition 3", nil, "", "limited from start each 3"},
		{"--num-per-partition 3 -e", nil, "", "exit from start each 3"},
		{"--num-per-partition 3 --follow", nil, "", "from end each 3"},
		{"--num-per-partition 0", nil, "", "limited from start each 0"},
		{"--num-per-partition -2", nil, "", "--num-per-partition -2 is not allowed: a number of records is 0 or more, or -1 for no limit"},
		{"--follow", map[string]string{"KCM_CONSUME_NUM_PER_PARTITION": "3", "KCM_CONSUME_TIMEOUT": "3s"}, "", "from end"},

		{"--timeout 5s", nil, "", "limited from start timeout 5s"},
		{"--timeout 5s -o end", nil, "", "limited from start end timeout 5s"},
		{"--timeout 5s --follow", nil, "", "from end timeout 5s"},
		{"--timeout -5s", nil, "", "--timeout -5s is not allowed: a time is not negative"},
		{"", nil, "consume:\n  timeout: -5s\n", "c.yaml:2: consume.timeout -5s is not allowed: a time is not negative"},

		{"--min 3", nil, "", "from end min 3"},
		{"--min -3", nil, "", "--min -3 is not allowed: a number of records is 0 or more"},
		{"--min 3 -n 3", nil, "", "limited from start min 3"},
		{"--min 3 -n 2", nil, "", "-n 2 and --min 3 exclude each other"},
		{"-n 2", map[string]string{"KCM_CONSUME_MIN": "3"}, "", "limited from start"},
		{"--min 3", map[string]string{"KCM_CONSUME_NUM": "2"}, "", "from end min 3"},
	} {
		write(t, file, c.yaml)
		w := world{env: map[string]string{"KCM_CONFIG": file}}
		for k, v := range c.env {
			w.env[k] = v
		}
		o, err := settled(t, w, append(strings.Fields(c.args), "orders")...)
		if got := boundsOf(o, err); got != c.want {
			t.Errorf("%s %v %s: %s, want %s", c.args, c.env, c.yaml, got, c.want)
		}
	}
}

func boundsOf(o *consumeOptions, err error) string {
	if err != nil {
		return err.Error()
	}
	var words []string
	switch {
	case o.exit:
		words = append(words, "exit")
	case o.bounded:
		words = append(words, "limited")
	}
	words = append(words, "from "+o.start.String())
	r, ok := o.offsets.Default()
	if ok {
		words = append(words, r.String())
	}
	if r.Late > 0 {
		words = append(words, fmt.Sprintf("late %d", r.Late))
	}
	if o.bounds.perPartition >= 0 {
		words = append(words, fmt.Sprintf("each %d", o.bounds.perPartition))
	}
	if o.bounds.timeout > 0 {
		words = append(words, "timeout "+o.bounds.timeout.String())
	}
	if o.bounds.min > 0 {
		words = append(words, fmt.Sprintf("min %d", o.bounds.min))
	}
	return strings.Join(words, " ")
}

// TestUntilLeavesTheStartToTheSource has a window that says only where to end.
func TestUntilLeavesTheStartToTheSource(t *testing.T) {
	for args, want := range map[string]bool{"--until -1h": false, "--since -1h": true, "-o @:-1h": true, "-e": false} {
		o, err := settled(t, world{}, append(strings.Fields(args), "orders")...)
		if err != nil {
			t.Fatal(err)
		}
		if got := o.offsets.Starts(); got != want {
			t.Errorf("%s says where to begin: %v, want %v", args, got, want)
		}
	}
}

// TestWordsAboutWindows has windows that lie ahead or hold nothing.
func TestWordsAboutWindows(t *testing.T) {
	day := func(n int) spec.Bound {
		return spec.Bound{Kind: spec.Time, N: time.Date(2026, 3, n, 0, 0, 0, 0, time.UTC).UnixMilli()}
	}
	for _, c := range []struct {
		window spec.Range
		exit   bool
		stats  source.Stats
		want   string
	}{
		{spec.Range{}, true, source.Stats{}, ""},
		{spec.Range{Start: spec.Bound{Kind: spec.Offset, N: 5}}, true, source.Stats{}, ""},
		{spec.Range{Start: day(1)}, true, source.Stats{Records: 1}, ""},
		{spec.Range{Start: day(1)}, true, source.Stats{Dropped: 1}, ""},
		{spec.Range{Start: day(1)}, true, source.Stats{}, "kcm: no record has a time of 2026-03-01T00:00:00Z or later\n"},
		{spec.Range{Stop: day(1)}, true, source.Stats{}, "kcm: the window before 2026-03-01T00:00:00Z holds no record; times out of order need --late\n"},
		{spec.Range{Start: day(1), Stop: day(2)}, true, source.Stats{}, "kcm: the window from 2026-03-01T00:00:00Z up to 2026-03-02T00:00:00Z holds no record; times out of order need --late\n"},
		{spec.Range{Start: day(9)}, false, source.Stats{Records: 1}, "kcm: 2026-03-09T00:00:00Z lies ahead: records of an earlier time are left out\n"},
		{spec.Range{Start: day(1), Stop: day(9)}, true, source.Stats{Records: 1}, "kcm: 2026-03-09T00:00:00Z lies ahead: reading stops at the ends that there are now\n"},
	} {
		w := world{}
		var stderr strings.Builder
		env := w.make(nil, nil)
		env.Stderr = &stderr
		newRootCmd(env)
		env.run.notices = newNotices(env, noticeStyle{})
		o := &consumeOptions{env: env, exit: c.exit, started: env.Now(), offsets: spec.Offsets{}.WithDefault(c.window)}
		o.tellAhead()
		o.tellEmpty(c.stats)
		if got := stderr.String(); got != c.want {
			t.Errorf("%s, %+v: told %q, want %q", c.window, c.stats, got, c.want)
		}
	}
}
