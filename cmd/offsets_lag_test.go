package cmd

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kcm-cli/kcm/internal/kafkatest"
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

// TestLagWithSilentBroker: a broker that takes requests and answers none holds up
// nothing that the others know for long, and is told.
func TestLagWithSilentBroker(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{Brokers: 3})
	c := rig.Cluster("east")
	c.CreateTopic("t", 3, nil)
	group := map[int32]string{} // by coordinator
	for i := 0; len(group) < 3; i++ {
		name := fmt.Sprintf("g%d", i)
		group[c.Fake().CoordinatorFor(name)] = name
	}
	for node, name := range group {
		if err := c.Fake().MoveTopicPartition("t", node, node); err != nil {
			t.Fatal(err)
		}
		for p := range int32(3) {
			c.Commit(name, "t", p, 0)
		}
	}
	c.Pause(2)
	for _, tt := range []struct {
		args []string
		rows int // of what the others know
	}{
		{[]string{"-g", group[0], "-g", group[1], "-g", group[2]}, 4},
		{[]string{"--all-groups"}, 4},
	} {
		began := time.Now()
		out, errs, code := tryKcm(t, append([]string{"-b", "east=" + c.Bootstrap(), "offsets", "lag", "-o", "csv"}, tt.args...)...)
		took := time.Since(began)
		t.Logf("%v: %s", tt.args, took)
		if code != 3 || !strings.Contains(errs, "kcm: east: ") || !strings.Contains(out, "broker 2") {
			t.Errorf("%v: exit code %d, stderr %q\n%s", tt.args, code, errs, out)
		}
		if n := strings.Count(out, ",0,0,0,0,,,,\n"); n != tt.rows {
			t.Errorf("%v: %d rows are known, want %d:\n%s", tt.args, n, tt.rows, out)
		}
		// A user is told within 5 s; a busy machine has a second more.
		if took > 6*time.Second {
			t.Errorf("%v: took %s", tt.args, took)
		}
	}
}

// TestLagWatchOnTerminal: a terminal gets tables, drawn over one another.
func TestLagWatchOnTerminal(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{})
	c := rig.Cluster("east")
	c.CreateTopic("t", 1, nil)
	c.Commit("g", "t", 0, 0)
	terminal := func(env *Env) { env.StdoutTerminal = true }
	w := startWatch(t, terminal, "-b", "east="+c.Bootstrap(), "offsets", "lag", "-g", "g", "--watch", "--interval", "100ms", "--color", "never")
	first := w.next()
	c.Produce("t", kafkatest.Record{Value: []byte("x")})
	deadline := time.Now().Add(watchPatience)
	for text := w.next(); !strings.Contains(text, "g      east     t       t              0          0      0    1    1"); text = w.next() {
		if time.Now().After(deadline) {
			t.Fatalf("the lag does not show: %q", text)
		}
	}
	if !strings.Contains(first, home) || !strings.Contains(first, "TOTAL LAG") || !strings.Contains(first, "every 100ms; Ctrl-C ends") {
		t.Errorf("the first round is %q", first)
	}
	w.signals <- syscall.SIGINT
	if code := <-w.code; code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// TestOddNames: names of any bytes neither reach a terminal nor break JSON.
func TestOddNames(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{})
	c := rig.Cluster("east")
	c.CreateTopic("t", 1, nil)
	odd := "a/\x1b[31m\xff\n,\"ü"
	c.Commit(odd, "t", 0, 0)
	addr := "east=" + c.Bootstrap()
	out, errs, code := tryKcm(t, "-b", addr, "offsets", "lag", "-g", odd)
	if code != 0 || strings.Contains(out, "\x1b") || strings.Contains(out, "\xff") || !strings.Contains(out, `a/\x1b[31m\xff\n,"ü  east `) {
		t.Errorf("table: %d %q %q", code, out, errs)
	}
	for _, args := range [][]string{{"offsets", "lag", "--all-groups"}, {"describe", "groups"}, {"describe", "group", odd}} {
		out, errs, code = tryKcm(t, append([]string{"-b", addr, "-o", "json"}, args...)...)
		var doc struct{ Groups []struct{ Group string } }
		if err := json.Unmarshal([]byte(out), &doc); err != nil || code != 0 || len(doc.Groups) != 1 || doc.Groups[0].Group != "a/\x1b[31m\\xff\n,\"ü" {
			t.Errorf("%v: %d %v %q %q", args, code, err, out, errs)
		}
	}
	out, _, code = tryKcm(t, "-b", addr, "offsets", "lag", "-g", odd, "-o", "csv")
	lines, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if err != nil || code != 0 || len(lines) != 2 || lines[1][1] != "a/\x1b[31m\\xff\n,\"ü" {
		t.Errorf("csv: %d %v %q", code, err, lines)
	}
}
