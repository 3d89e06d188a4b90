//go:build kafka

package e2e

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// farm is embedded clusters in processes of their own, so that what kcm takes is
// kcm's.
type farm struct {
	t         *testing.T
	processes []*kcm
	names     []string
	addresses map[string]string
}

// newFarm starts processes with each so many clusters, which all have the topics
// (name:partitions).
func newFarm(t *testing.T, processes, each int, topics string) *farm {
	t.Helper()
	f := &farm{t: t, addresses: map[string]string{}}
	var files []string
	for i := range processes {
		var names []string
		for j := range each {
			names = append(names, fmt.Sprintf("c%03d", i*each+j))
		}
		f.names = append(f.names, names...)
		dir := t.TempDir()
		files = append(files, filepath.Join(dir, "kcm.yaml"))
		f.processes = append(f.processes, start(t, []string{"sandbox", "--clusters", strings.Join(names, ","), "--topics", topics, "--records", "0", "--dir", dir}))
	}
	address := regexp.MustCompile(`(?m)^  "?(c\d+)"?:\n    bootstrap: \["([^"]*)"\]$`)
	for i, path := range files {
		f.processes[i].until(patience, "its metadata file", func() bool { _, err := os.Stat(path); return err == nil })
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range address.FindAllStringSubmatch(string(text), -1) {
			f.addresses[m[1]] = m[2]
		}
	}
	if len(f.addresses) != processes*each {
		t.Fatalf("%d addresses, want %d", len(f.addresses), processes*each)
	}
	return f
}

// version lists a topic on each of these clusters, and one more where more says.
func (f *farm) version(names []string, topic string, more map[string]string) string {
	var clusters []string
	var of []listed
	for _, name := range names {
		clusters = append(clusters, name+"="+f.addresses[name])
		l := listed{cluster: name, topics: []string{topic}}
		if m := more[name]; m != "" {
			l.topics = append(l.topics, m)
		}
		of = append(of, l)
	}
	return only(clusters, of...)
}

// client is one for a cluster, to write and to make topics.
func (f *farm) client(name string) *kgo.Client {
	f.t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(f.addresses[name]), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(cl.Close)
	return cl
}

// put writes one record to a cluster.
func (f *farm) put(cl *kgo.Client, topic string, partition int32, value string) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), patience)
	defer cancel()
	if err := cl.ProduceSync(ctx, &kgo.Record{Topic: topic, Partition: partition, Value: []byte(value)}).FirstErr(); err != nil {
		f.t.Fatal(err)
	}
}

// TestManyClusters follows many clusters at once: memory, connections, and a
// fifth of them dead.
func TestManyClusters(t *testing.T) {
	const processes, each, partitions = 5, 20, 100
	f := newFarm(t, processes, each, fmt.Sprintf("wide:%d", partitions))
	path := file(t, "kcm.yaml", f.version(f.names, "wide", nil))
	for _, name := range f.names {
		f.put(f.client(name), "wide", int32(partitions-1), name)
	}
	k := start(t, []string{"-m", path, "consume", "orders", "-o", "start", "-J"})
	k.gets(patience, len(f.names))
	t.Logf("%d clusters with %d partitions each: all there after %.1f s, at most %d MB", len(f.names), partitions, time.Since(k.began).Seconds(), k.peak()>>20)

	// One topic more on one cluster makes no connection to another one.
	first := f.names[0]
	cl := f.client(first)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if r, err := kadm.NewClient(cl).CreateTopic(ctx, 3, 1, nil, "more"); err != nil || r.Err != nil {
		t.Fatal(err, r.Err)
	}
	f.put(cl, "more", 1, "first of more")
	k.until(10*time.Second, "a quiet time", until(time.Now().Add(2*time.Second)))
	before := k.connections()
	edited := time.Now()
	renamed(t, path, f.version(f.names, "wide", map[string]string{first: "more"}))
	k.gets(5*time.Second, len(f.names)+1)
	t.Logf("a topic more: its record came %v after the edit", ms(time.Since(edited)))
	k.until(10*time.Second, "a quiet time", until(time.Now().Add(2*time.Second)))
	own, fresh := port(t, f.addresses[first]), 0
	for inode, to := range k.connections() {
		if _, old := before[inode]; !old && to != own {
			fresh++
		}
	}
	if fresh > 0 {
		t.Errorf("%d new connections to clusters that have not changed (of %d before)", fresh, len(before))
	}
	t.Logf("%d connections to %d clusters", len(before), len(slices.Compact(slices.Sorted(maps.Values(before)))))

	// A fifth of them die; the others go on, and the dead can be taken out at once.
	if err := f.processes[processes-1].cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	alive := f.names[:(processes-1)*each]
	n := k.out.count()
	died := time.Now()
	for i, name := range alive {
		f.put(f.client(name), "wide", int32(i%partitions), "after")
	}
	k.gets(5*time.Second, n+len(alive))
	t.Logf("a record of each of the others came within %v of the death of %d", ms(time.Since(died)), each)
	k.told(30*time.Second, "kcm: "+f.names[len(f.names)-1]+": lost")
	edited = time.Now()
	renamed(t, path, f.version(alive, "wide", map[string]string{first: "more"}))
	last := edited
	for _, name := range f.names[len(alive):] {
		if at := k.heard(40*time.Second, edited, "- "+name+"/wide"); at.After(last) {
			last = at
		}
	}
	t.Logf("the last of the dead was gone %v after the edit", ms(last.Sub(edited)))
	if d := last.Sub(edited); d > 2*time.Second+ease {
		t.Errorf("taking out dead clusters took %v", ms(d))
	}
	n = k.out.count()
	for _, name := range alive {
		f.put(f.client(name), "wide", 0, "last")
	}
	k.gets(5*time.Second, n+len(alive))
	r := k.stop()
	r.exits(t, 0)
	r.below(t, 300)
	r.figures(t, "all of it")
}

// port is the port of an address.
func port(t *testing.T, address string) int {
	t.Helper()
	_, text, _ := strings.Cut(address, ":")
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestIdleOnManyPartitions: waiting on one cluster's many partitions costs less
// than a twentieth of a core.
func TestIdleOnManyPartitions(t *testing.T) {
	const topics = 10
	var specs, names []string
	for i := range topics {
		names = append(names, fmt.Sprint("wide", i))
		specs = append(specs, fmt.Sprintf("wide%d:1000", i))
	}
	f := newFarm(t, 1, 1, strings.Join(specs, ","))
	c := f.names[0]
	cl := f.client(c)
	path := file(t, "kcm.yaml", only([]string{c + "=" + f.addresses[c]}, listed{cluster: c, topics: names}))
	k := start(t, []string{"-m", path, "consume", "orders", "-o", "start", "-J"})
	f.put(cl, names[topics-1], 999, "first")
	k.gets(patience, 1)
	t.Logf("%d partitions: the first record came after %.1f s", topics*1000, time.Since(k.began).Seconds())
	k.until(10*time.Second, "what has begun may end", until(time.Now().Add(3*time.Second)))
	before := k.cpu()
	k.until(20*time.Second, "five seconds of nothing", until(time.Now().Add(5*time.Second)))
	spent := k.cpu() - before
	t.Logf("5 s of following %d partitions: %v of processor time, at most %d MB", topics*1000, spent, k.peak()>>20)
	if spent > 250*time.Millisecond {
		t.Errorf("5 s of waiting took %v of processor time, want 250ms at most", spent)
	}
	f.put(cl, names[0], 7, "second")
	k.gets(5*time.Second, 2)
	k.stop().exits(t, 0)
}
