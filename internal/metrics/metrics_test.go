package metrics

import (
	"errors"
	"io"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/record"
	"github.com/kcm-cli/kcm/internal/source"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// full returns metrics of which each has a value.
func full(t *testing.T) *Metrics {
	t.Helper()
	m := New()
	m.Watch(func() source.Snapshot {
		p := source.Progress{Splits: 3, Records: 10, Bytes: 200, Filtered: 4, Undecoded: 1, Lag: 7, Behind: 1500 * time.Millisecond}
		unknown := source.Progress{Splits: 1, Lag: -1, Behind: -1}
		return source.Snapshot{
			Clusters: map[string]source.ClusterProgress{"east": {State: source.ClusterReading}, "west": {State: source.ClusterLost}, "done": {State: source.ClusterDone}},
			Flows: []source.FlowProgress{
				{Cluster: "east", Stream: "orders", Topic: "orders", Progress: p},
				{Cluster: "west", Stream: "orders", Topic: "orders.v2", Progress: unknown},
				{Cluster: "done", Stream: "odd\xff", Topic: "odd"},
			},
		}
	})
	g := GroupLag{Cluster: "lags", Group: "billing", Kind: "classic", State: "Stable", Members: 2}
	for topic, lags := range map[string][]*int64{"orders": {new(int64(5)), nil, new(int64(7)), new(int64(-3))}} {
		for _, lag := range lags {
			g.Add(topic, lag)
		}
	}
	g.Add("never", nil)
	m.Lags(Lags{Up: map[string]bool{"lags": true, "gone": false}, Groups: []GroupLag{g}})
	m.Happened(source.Event{Kind: source.Added, Split: record.Split{Cluster: "east"}, Partitions: 3})
	m.Happened(source.Event{Kind: source.Lost, Split: record.Split{Cluster: "west"}})
	m.Happened(source.Event{Kind: source.Note, Split: record.Split{Cluster: "west"}})
	m.Refreshed(nil)
	m.Refreshed(errors.New("bad"))
	hook := m.Client("east")
	for range 2 { // clients share what they count
		cl, err := kgo.NewClient(kgo.WithHooks(hook))
		if err != nil {
			t.Fatal(err)
		}
		cl.Close()
	}
	c, ok := hook.(*client)
	if !ok || m.Client("east") != hook {
		t.Fatal("a cluster's clients have no hook in common")
	}
	meta, failure := kgo.BrokerMetadata{NodeID: 1}, errors.New("broken")
	c.OnBrokerConnect(meta, 0, nil, nil)
	c.OnBrokerConnect(meta, 0, nil, failure)
	c.OnBrokerDisconnect(meta, nil)
	c.OnBrokerE2E(meta, 0, kgo.BrokerE2E{BytesRead: 5, BytesWritten: 6})
	c.OnBrokerE2E(meta, 0, kgo.BrokerE2E{WriteErr: failure})
	c.OnBrokerE2E(meta, 0, kgo.BrokerE2E{ReadErr: failure})
	return m
}

func text(t *testing.T, m *Metrics) string {
	t.Helper()
	l, err := Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	stop := m.Serve(t.Context(), l)
	defer stop()
	defer http.DefaultClient.CloseIdleConnections()
	resp, err := http.Get(URL(l))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s, %v", resp.Status, err)
	}
	return string(body)
}

func TestMetrics(t *testing.T) {
	body := text(t, full(t))
	var lines []string
	for line := range strings.Lines(body) {
		if strings.HasPrefix(line, "kcm_") && !strings.HasPrefix(line, "kcm_client_") {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	slices.Sort(lines)
	const east = `{cluster="east",stream="orders",topic="orders"} `
	for _, want := range []string{
		`kcm_records_total` + east + "10", `kcm_bytes_total` + east + "200", `kcm_filtered_total` + east + "4",
		`kcm_undecodable_total` + east + "1", `kcm_partitions` + east + "3", `kcm_lag_records` + east + "7", `kcm_lag_seconds` + east + "1.5",
		`kcm_partitions{cluster="west",stream="orders",topic="orders.v2"} 1`,
		"kcm_records_total{cluster=\"done\",stream=\"odd\uFFFD\",topic=\"odd\"} 0",
		`kcm_cluster_up{cluster="east"} 1`, `kcm_cluster_up{cluster="west"} 0`, `kcm_cluster_up{cluster="done"} 1`,
		`kcm_group_lag_records{cluster="lags",group="billing",topic="orders"} 12`,
		`kcm_group_max_lag_records{cluster="lags",group="billing",topic="orders"} 7`,
		`kcm_group_unknown_partitions{cluster="lags",group="billing",topic="orders"} 1`,
		`kcm_group_unknown_partitions{cluster="lags",group="billing",topic="never"} 1`,
		`kcm_group_members{cluster="lags",group="billing"} 2`, `kcm_group_state{cluster="lags",group="billing",kind="classic",state="Stable"} 1`,
		`kcm_cluster_up{cluster="lags"} 1`, `kcm_cluster_up{cluster="gone"} 0`,
		`kcm_partitions_changed_total{change="added",cluster="east"} 3`, `kcm_events_total{cluster="west",event="lost"} 1`,
		`kcm_metadata_refreshes_total{result="ok"} 1`, `kcm_metadata_refreshes_total{result="failed"} 1`,
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("%s is missing from\n%s", want, strings.Join(lines, "\n"))
		}
	}
	if strings.Contains(body, `topic="never"} 0`) || strings.Contains(body, "kcm_lag_records{cluster=\"west\"") || strings.Contains(body, "buffered") {
		t.Errorf("what is not known has a value:\n%s", body)
	}
	if !strings.Contains(body, `kcm_client_connects_total{cluster="east",node_id="1"} 1`) {
		t.Errorf("the client is missing from\n%s", body)
	}
}

var (
	typeLine = regexp.MustCompile(`(?m)^# TYPE (kcm_\w+) (\w+)$`)
	docLine  = regexp.MustCompile("(?m)^\\| `(kcm_\\w+)` \\| (\\w+) \\| ([a-z_, ]+) \\|")
	label    = regexp.MustCompile(`(\w+)="`)
)

// TestDocs holds the table of docs/metrics.md against the metrics.
func TestDocs(t *testing.T) {
	page, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	body := text(t, full(t))
	told, there := map[string]string{}, map[string]string{}
	for _, m := range docLine.FindAllStringSubmatch(string(page), -1) {
		labels := strings.Split(m[3], ", ")
		slices.Sort(labels)
		told[m[1]] = m[2] + " " + strings.Join(labels, " ")
	}
	for _, m := range typeLine.FindAllStringSubmatch(body, -1) {
		example := regexp.MustCompile(`(?m)^` + m[1] + `\{(.*)\} `).FindStringSubmatch(body)
		var labels []string
		for _, l := range label.FindAllStringSubmatch(example[1], -1) {
			labels = append(labels, l[1])
		}
		slices.Sort(labels)
		there[m[1]] = m[2] + " " + strings.Join(labels, " ")
	}
	if diff := cmp.Diff(there, told); diff != "" || len(there) < 15 {
		t.Errorf("docs/metrics.md is not what there is (%d names, %v):\n%s", len(there), slices.Sorted(maps.Keys(there)), diff)
	}
}

func TestListen(t *testing.T) {
	l, err := Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	addr := l.Addr().String()
	if url := URL(l); url != "http://"+addr+"/metrics" {
		t.Errorf("url %s", url)
	}
	for in, want := range map[string]string{
		addr:              "cannot listen on " + addr + ": ",
		"9090":            "9090 is no address to listen on",
		"127.0.0.1:70000": "cannot listen on 127.0.0.1:70000: listen tcp: address 70000: invalid port",
	} {
		if _, err := Listen(t.Context(), in); err == nil || !strings.HasPrefix(err.Error(), want) || fault.KindOf(err) != fault.Usage {
			t.Errorf("%s: %v, want %s", in, err, want)
		}
	}
}

func TestNilMetricsTakeEverything(t *testing.T) {
	var m *Metrics
	m.Watch(func() source.Snapshot { return source.Snapshot{} })
	m.Happened(source.Event{Kind: source.Added})
	m.Refreshed(nil)
	if m.Client("east") != nil {
		t.Error("there is a hook")
	}
}
