package sandbox

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"github.com/kcm-cli/kcm/internal/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func clock() time.Time { return time.Date(2026, 3, 3, 14, 0, 0, 0, time.UTC) }

func options() Options {
	return Options{Clusters: []string{"east", "west"}, Topics: []Topic{{"orders", 3}}, Records: 10, Now: clock}
}

func start(t *testing.T, opts Options) *Sandbox {
	t.Helper()
	s, err := Start(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// readAll reads n records of a topic and returns partition, offset, time, key,
// value and headers of each, by trace.
func readAll(t *testing.T, c Cluster, topic string, n int) map[string]string {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.Bootstrap), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	got := map[string]string{}
	for len(got) < n {
		fs := cl.PollFetches(ctx)
		if err := fs.Err(); err != nil {
			t.Fatalf("after %d of %d records: %v", len(got), n, err)
		}
		for _, r := range fs.Records() {
			got[string(r.Headers[1].Value)] = fmt.Sprintf("%d@%d %d %s %s %s", r.Partition, r.Offset, r.Timestamp.UnixMilli(), r.Key, r.Value, r.Headers)
		}
	}
	return got
}

func TestRecordsAreTheSameAtEveryStart(t *testing.T) {
	first, second := start(t, options()), start(t, options())
	for i, c := range first.Clusters {
		want, got := readAll(t, c, "orders", 10), readAll(t, second.Clusters[i], "orders", 10)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-first +second):\n%s", c.Name, diff)
		}
	}
	east := readAll(t, first.Clusters[0], "orders", 10)
	const want = `{"id":"east-000001","customer":"customer-020","country":"KE","status":"cancelled",` +
		`"items":[{"sku":"radio-15","quantity":4,"price":9.49}],"total":37.96,"currency":"EUR","coupon":null}`
	if got := east["east-orders-000001"]; !strings.Contains(got, want) || !strings.Contains(got, " customer-020 ") {
		t.Errorf("the first order of east is %s", got)
	}
	if west := readAll(t, first.Clusters[1], "orders", 10); west["east-orders-000001"] != "" || west["west-orders-000010"] == "" {
		t.Errorf("west has %v", west)
	}
}

func TestTimesInterleaveWithinTheLastHour(t *testing.T) {
	opts := options()
	opts.Records = 2
	s := start(t, opts)
	var times []string
	for _, c := range s.Clusters {
		for i := range 2 {
			r := readAll(t, c, "orders", 2)[fmt.Sprintf("%s-orders-%06d", c.Name, i+1)]
			times = append(times, strings.Fields(r)[1])
		}
	}
	at := func(d time.Duration) string { return fmt.Sprint(clock().Add(d).UnixMilli()) }
	half := 7*time.Minute + 30*time.Second
	want := []string{at(-time.Hour + half), at(-30*time.Minute + half), at(-45*time.Minute + half), at(-15*time.Minute + half)}
	if diff := cmp.Diff(want, times); diff != "" {
		t.Errorf("times (-want +got):\n%s", diff)
	}
}

func TestMetadataFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	opts := options()
	opts.Dir, opts.Records, opts.Clusters = dir, 0, []string{"east", "no"}
	s := start(t, opts)
	got, err := os.ReadFile(filepath.Join(dir, "kcm.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	want := `# Written by kcm sandbox: these clusters live as long as it runs.
clusters:
  east:
    bootstrap: ["` + s.Clusters[0].Bootstrap + `"]
  "no":
    bootstrap: ["` + s.Clusters[1].Bootstrap + `"]
streams:
  orders:
    sources:
      - cluster: east
        topics: [orders]
      - cluster: "no"
        topics: [orders]
`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("kcm.yaml (-want +got):\n%s", diff)
	}
	again := start(t, opts)
	if again.Metadata != s.Metadata {
		t.Errorf("a second sandbox wrote %s", again.Metadata)
	}
}

func TestSomebodysOwnFileStays(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "kcm.yaml")
	if err := os.WriteFile(file, []byte("clusters: {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	opts := options()
	opts.Dir = dir
	_, err := Start(t.Context(), opts)
	if fault.KindOf(err) != fault.Usage || err.Error() != file+" is there already and no sandbox wrote it" {
		t.Errorf("error is %v", err)
	}
	if got, _ := os.ReadFile(file); string(got) != "clusters: {}\n" {
		t.Errorf("the file is now %q", got)
	}
}

func TestTemporaryDirectoryGoes(t *testing.T) {
	s, err := Start(t.Context(), options())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Dir(s.Metadata)); !os.IsNotExist(err) {
		t.Errorf("the directory is still there: %v", err)
	}
}

func TestProduceKeepsWriting(t *testing.T) {
	opts := options()
	opts.Records = 1
	s := start(t, opts)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- s.Produce(ctx, 500) }()
	if got := readAll(t, s.Clusters[1], "orders", 50); got["west-orders-000050"] == "" {
		t.Errorf("read %v", got)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestWrongOptions(t *testing.T) {
	for _, c := range []struct {
		change func(*Options)
		want   string
	}{
		{func(o *Options) { o.Clusters = nil }, "a sandbox needs at least one cluster and one topic"},
		{func(o *Options) { o.Topics = nil }, "a sandbox needs at least one cluster and one topic"},
		{func(o *Options) { o.Clusters = []string{"a/b"} }, `a cluster can't be named "a/b"`},
		{func(o *Options) { o.Clusters = []string{""} }, `a cluster can't be named ""`},
		{func(o *Options) { o.Clusters = []string{"a", "a"} }, "cluster a is named twice"},
		{func(o *Options) { o.Topics = []Topic{{"a b", 1}} }, `a topic can't be named "a b"`},
		{func(o *Options) { o.Topics = []Topic{{"..", 1}} }, `a topic can't be named ".."`},
		{func(o *Options) { o.Topics = []Topic{{"a", 1}, {"a", 2}} }, "topic a is named twice"},
		{func(o *Options) { o.Topics = []Topic{{"a", 0}} }, "topic a can't have 0 partitions"},
		{func(o *Options) { o.Topics = []Topic{{"a", 1001}} }, "topic a can't have 1001 partitions"},
		{func(o *Options) { o.Records = -1 }, "there can't be -1 records"},
	} {
		opts := options()
		c.change(&opts)
		_, err := Start(t.Context(), opts)
		if fault.KindOf(err) != fault.Usage || err.Error() != c.want {
			t.Errorf("error %v, want %s", err, c.want)
		}
	}
}
