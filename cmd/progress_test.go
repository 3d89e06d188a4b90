package cmd

import (
	"encoding/json"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kcm-cli/kcm/internal/kafkatest"
	"github.com/kcm-cli/kcm/internal/source"
)

func TestLiveLine(t *testing.T) {
	usual := sample{perSecond: 1234.5, eta: 62 * time.Second}
	usual.Total = source.Progress{Records: 1234567, Bytes: 56_700_000, Lag: 9999, Behind: 125 * time.Second}
	usual.Clusters = map[string]source.ClusterProgress{"west": {State: source.ClusterLost}, "east": {State: source.ClusterReading}}
	follow := sample{eta: -1}
	follow.Total = source.Progress{Records: 1, Lag: 3, Behind: -1}
	follow.Endless = true
	begin := sample{eta: -1}
	begin.Total = source.Progress{Lag: -1, Behind: -1}
	many := begin
	many.Clusters = map[string]source.ClusterProgress{}
	for _, name := range []string{"a", "b", "c", "d"} {
		many.Clusters[name] = source.ClusterProgress{State: source.ClusterLost}
	}
	for _, c := range []struct {
		s     sample
		width int
		want  string
	}{
		{usual, 79, "1,234,567 records  56.7 MB  1,235/s  lag 9,999 (2m5s)  ETA 1m2s  lost: west"},
		{usual, 73, "1,234,567 records  1,235/s  lag 9,999 (2m5s)  ETA 1m2s  lost: west"},
		{usual, 60, "1,234,567 records  lag 9,999 (2m5s)  ETA 1m2s  lost: west"},
		{usual, 50, "1,234,567 records  lag 9,999 (2m5s)  lost: west"},
		{usual, 30, "1,234,567 records  lost: west"},
		{usual, 20, "1,234,567 records"},
		{usual, 10, ""},
		{follow, 79, "1 record  0 B  0/s  lag 3"},
		{begin, 79, "0 records  0 B  0/s"},
		{many, 79, "0 records  0 B  0/s  4 clusters lost"},
	} {
		if got := liveLine(c.s, c.width); got != c.want {
			t.Errorf("%d columns: %q, want %q", c.width, got, c.want)
		}
	}
}

func TestNumbersForPeople(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1.00 kB", 9994: "9.99 kB", 9996: "10.0 kB", 99_940: "99.9 kB", 99_960: "100 kB", 999_499: "999 kB", 999_500: "1.00 MB", 56_700_000: "56.7 MB", 9223372036854775807: "9.22 EB"} {
		if got := sizeText(n); got != want {
			t.Errorf("%d bytes: %s, want %s", n, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -5: "-5", -1000: "-1,000"} {
		if got := grouped(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
	for d, want := range map[time.Duration]string{
		0: "0s", 310 * time.Millisecond: "0.31s", 2100 * time.Millisecond: "2.10s", 12340 * time.Millisecond: "12.3s", 12 * time.Second: "12s",
		302 * time.Second: "5m2s", 200 * time.Minute: "3h20m", 292 * time.Hour: "12d4h",
	} {
		if got := durationText(d); got != want {
			t.Errorf("%s: %s, want %s", d, got, want)
		}
	}
}

func TestSummaryText(t *testing.T) {
	flow := func(cluster, topic, stream string, n int64) source.FlowProgress {
		return source.FlowProgress{Cluster: cluster, Topic: topic, Stream: stream, Progress: source.Progress{Records: n}}
	}
	var topics, clusters []source.FlowProgress
	for i := range 9 {
		topics = append(topics, flow("east", string(rune('a'+i)), "s", 100))
		clusters = append(clusters, flow(string(rune('a'+i)), "orders", "s", 1))
	}
	for _, c := range []struct {
		flows []source.FlowProgress
		want  string
	}{
		{[]source.FlowProgress{flow("east", "orders", "orders", 800), flow("west", "orders.v2", "orders", 434)}, "east/orders 800, west/orders.v2 434"},
		{[]source.FlowProgress{flow("east", "orders", "a", 800), flow("east", "orders", "b", 1200), flow("west", "orders", "a", 0)}, "east/orders 2,000, west/orders 0"},
		{topics, "east 900, 9 topics"},
		{clusters, "a 1, b 1, c 1, d 1, e 1, f 1, 3 more clusters, 9 topics"},
		{nil, ""},
	} {
		if got := sourcesText(c.flows); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	s := source.Snapshot{Total: source.Progress{Records: 1234, Bytes: 56_700_000}, Flows: []source.FlowProgress{flow("east", "orders", "o", 1234)}}
	if got, want := summaryText(s, 2123*time.Millisecond), "1,234 records (56.7 MB) in 2.12s: east/orders 1,234"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if slices.ContainsFunc(summaryFields(s, time.Second), func(f Field) bool { return f.Name == "at_least" }) {
		t.Error("all that was written is counted")
	}
	s.Least = true
	if got, want := summaryText(s, time.Second), "at least 1,234 records (56.7 MB) in 1s: east/orders 1,234"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if !slices.ContainsFunc(summaryFields(s, time.Second), func(f Field) bool { return f.Name == "at_least" && f.Value == true }) {
		t.Error("the summary in JSON does not say that it is the least")
	}
}

// steady is a run that writes 100 records of 10 bytes a second, all over one
// cluster, up to 1000.
type steady struct{ began time.Time }

func (s steady) snapshot(now time.Time) source.Snapshot {
	n := min(1000, int64(now.Sub(s.began)/(10*time.Millisecond)))
	p := source.Progress{Splits: 2, Records: n, Bytes: 10 * n, Lag: 1000 - n, Behind: time.Second}
	if n == 1000 {
		p.Behind = 0
	}
	return source.Snapshot{
		Total: p, Offsets: n, Clusters: map[string]source.ClusterProgress{"east": {Progress: p, State: source.ClusterReading}},
		Flows: []source.FlowProgress{{Cluster: "east", Topic: "orders", Stream: "orders", Progress: p}},
	}
}

// notices makes Notices that write into a buffer.
func testNotices(style noticeStyle) (*Notices, *lockedBuffer) {
	var stderr lockedBuffer
	env := world{}.make(nil, nil)
	env.Stderr = &stderr
	return newNotices(env, style), &stderr
}

func TestProgressAsJSON(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, stderr := testNotices(noticeStyle{json: true, quiet: true})
		p := startProgress(n, steady{time.Now()}.snapshot, progressOptions{limit: noLimit})
		time.Sleep(8500 * time.Millisecond)
		n.Warnf("between")
		time.Sleep(2 * time.Second)
		p.stop()
		p.summary()
		const stamp = `{"time":"2026-03-03T14:00:05.250Z",`
		lines := strings.Split(strings.TrimSuffix(stderr.String(), "\n"), "\n")
		if len(lines) != 10+1+2 {
			t.Fatalf("%d lines:\n%s", len(lines), stderr)
		}
		for i, want := range map[int]string{
			0:  `"records":100,"bytes":1000,"records_per_s":100,"lag":900,"lag_seconds":1,"eta_seconds":9,"clusters":{"east":{"state":"reading","splits":2,"lag":900}}}`,
			6:  `"records":700,"bytes":7000,"records_per_s":100,"lag":300,"lag_seconds":1,"eta_seconds":3,"clusters":{"east":{"state":"reading","splits":2,"lag":300}}}`,
			8:  `"level":"warning","message":"between"}`,
			11: `"records":1000,"bytes":10000,"records_per_s":90.9,"lag":0,"lag_seconds":0,"eta_seconds":0,"clusters":{"east":{"state":"reading","splits":2,"lag":0}}}`,
			12: `"event":"summary","records":1000,"bytes":10000,"filtered":0,"undecoded":0,"seconds":10.5,"lag":0,"sources":[{"stream":"orders","cluster":"east","topic":"orders","splits":2,"records":1000,"bytes":10000}],"clusters":{"east":{"state":"reading","splits":2,"lag":0}}}`,
		} {
			if lines[i] != stamp+want {
				t.Errorf("line %d is\n%s\nwant\n%s", i, lines[i], stamp+want)
			}
		}
	})
}

// Nothing is known, and nothing flows: lines come all the same.
func TestProgressOfNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, stderr := testNotices(noticeStyle{json: true})
		m := new(source.Monitor)
		p := startProgress(n, m.Snapshot, progressOptions{limit: 10})
		time.Sleep(1500 * time.Millisecond)
		p.stop()
		const want = `{"time":"2026-03-03T14:00:05.250Z","records":0,"bytes":0,"records_per_s":0,"lag":null,"lag_seconds":null,"eta_seconds":null,"clusters":{}}` + "\n"
		if got := stderr.String(); got != want {
			t.Errorf("got %s", got)
		}
	})
}

func TestProgressOnATerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, stderr := testNotices(noticeStyle{})
		var width atomic.Int64
		width.Store(120)
		p := startProgress(n, steady{time.Now()}.snapshot, progressOptions{live: true, limit: 500, width: func() int { return int(width.Load()) }})
		time.Sleep(1010 * time.Millisecond)
		n.Notef("told")
		time.Sleep(200 * time.Millisecond)
		width.Store(20)
		time.Sleep(100 * time.Millisecond)
		p.stop()
		n.Notef("after")
		p.summary()
		const first = "100 records  1.00 kB  100/s  lag 900 (1s)  ETA 4s"
		want := eraseLine + first + // after 1 s
			eraseLine + "kcm: told\n" + first + // the line stays below
			eraseLine + "125 records" + // after 1.25 s, on a narrow screen
			eraseLine + "kcm: after\nkcm: 131 records (1.31 kB) in 1.31s: east/orders 131\n"
		if got := stderr.String(); got != want {
			t.Errorf("got\n%q\nwant\n%q", got, want)
		}
	})
}

func TestProgressThatIsNotWanted(t *testing.T) {
	for _, c := range []struct {
		style noticeStyle
		opt   progressOptions
		want  string
	}{
		{noticeStyle{quiet: true}, progressOptions{live: true}, ""},
		{noticeStyle{}, progressOptions{live: true, off: true}, ""},
		{noticeStyle{}, progressOptions{}, "kcm: 200 records (2.00 kB) in 2s: east/orders 200\n"},
	} {
		synctest.Test(t, func(t *testing.T) {
			n, stderr := testNotices(c.style)
			p := startProgress(n, steady{time.Now()}.snapshot, c.opt)
			time.Sleep(2 * time.Second)
			p.stop()
			p.summary()
			if got := stderr.String(); got != c.want {
				t.Errorf("%+v %+v: %q, want %q", c.style, c.opt, got, c.want)
			}
		})
	}
}

func TestETA(t *testing.T) {
	for _, c := range []struct {
		n    int64
		rate float64
		want time.Duration
	}{
		{0, 0, 0},
		{-3, 1, 0},
		{10, 0, -1},
		{10, -1, -1},
		{10, 5, 2 * time.Second},
		{1 << 62, 1e-9, -1},
	} {
		if got := timeFor(c.n, c.rate); got != c.want {
			t.Errorf("%d at %v: %s, want %s", c.n, c.rate, got, c.want)
		}
	}
}

// terminal shows what is on the last line of a screen, and keeps what went above
// it.
type terminal struct {
	mu          sync.Mutex
	above, last string
}

func (s *terminal) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for text := string(p); text != ""; {
		switch {
		case strings.HasPrefix(text, eraseLine):
			s.last, text = "", text[len(eraseLine):]
		case text[0] == '\n':
			s.above, s.last, text = s.above+s.last+"\n", "", text[1:]
		default:
			s.last, text = s.last+text[:1], text[1:]
		}
	}
	return len(p), nil
}

func (s *terminal) screen() (above, last string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.above, s.last
}

// TestConsumeShowsItsProgress follows a stream whose records go to a file and
// whose notices go to a terminal, and loses a cluster.
func TestConsumeShowsItsProgress(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{})
	east := rig.Cluster("east")
	east.CreateTopic("orders", 1, nil)
	east.Produce("orders", kafkatest.Record{Value: []byte("a")}, kafkatest.Record{Value: []byte("b")})
	var screen terminal
	signals, code := make(chan os.Signal, 1), make(chan int, 1)
	env := world{signals: signals}.make(nil, nil)
	env.Stdout, env.Stderr, env.StderrTerminal, env.StderrWidth = io.Discard, &screen, true, func() int { return 100 }
	env.Now = time.Now
	go func() {
		code <- Main(env, []string{"consume", "-b", "east=" + east.Bootstrap(), "-b", "west=127.0.0.1:1", "orders", "-o", "start", "-f", "%v"})
	}()
	deadline := time.Now().Add(watchPatience)
	for {
		above, last := screen.screen()
		if strings.HasPrefix(last, "2 records  2 B  ") && strings.HasSuffix(last, "/s  lag 0  lost: west") && strings.Contains(above, "west") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the screen is\n%s%s", above, last)
		}
		time.Sleep(5 * time.Millisecond)
	}
	signals <- os.Interrupt
	if c := <-code; c != 0 {
		t.Errorf("code %d", c)
	}
	above, last := screen.screen()
	lines := strings.Split(strings.TrimSuffix(above, "\n"), "\n")
	for _, line := range lines {
		if !strings.HasPrefix(line, "kcm: ") || strings.Contains(line, "/s  ") {
			t.Errorf("a notice is mixed with progress: %q", line)
		}
	}
	if sum := lines[len(lines)-1]; last != "" || !strings.HasPrefix(sum, "kcm: 2 records (2 B) in ") || !strings.HasSuffix(sum, "s: east/orders 2") {
		t.Errorf("the end is %q, then %q", sum, last)
	}
}

// TestProgressIsValidJSON reads the lines of a run as a program would.
func TestProgressIsValidJSON(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{})
	east := rig.Cluster("east")
	east.CreateTopic("orders", 1, nil)
	east.Produce("orders", kafkatest.Record{Value: []byte("a")})
	r := runKcm(t, world{}, "consume", "-b", "east="+east.Bootstrap(), "orders", "-e", "--progress", "json", "-f", "%v")
	lines := strings.Split(strings.TrimSuffix(r.stderr, "\n"), "\n")
	if r.code != 0 || len(lines) != 2 {
		t.Fatalf("code %d, stderr %s", r.code, r.stderr)
	}
	var progress struct {
		Records  int64
		Lag      *int64
		Clusters map[string]struct {
			State  string
			Splits int
			Lag    *int64
		}
	}
	if err := json.Unmarshal([]byte(lines[0]), &progress); err != nil {
		t.Fatal(err)
	}
	if c := progress.Clusters["east"]; progress.Records != 1 || *progress.Lag != 0 || c.State != "done" || c.Splits != 1 || *c.Lag != 0 {
		t.Errorf("got %s", lines[0])
	}
	if !strings.Contains(lines[1], `"event":"summary","records":1,`) {
		t.Errorf("got %s", lines[1])
	}
}
