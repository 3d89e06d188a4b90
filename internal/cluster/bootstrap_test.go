package cluster

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/kcm-cli/kcm/internal/fault"
)

// TestBootstrapOfTwoClusters: whichever answers first, nothing is read.
func TestBootstrapOfTwoClusters(t *testing.T) {
	a := fake(t, kfake.NumBrokers(1), kfake.ClusterID("id-a")).ListenAddrs()[0]
	b := fake(t, kfake.NumBrokers(1), kfake.ClusterID("id-b")).ListenAddrs()[0]
	silent, closed := listen(t, hold), closedPort(t)
	for name, tc := range map[string]struct {
		addrs []string
		id    string
	}{
		"two":              {[]string{a, b}, ""},
		"the right first":  {[]string{a, b}, "id-a"},
		"the right last":   {[]string{a, b}, "id-b"},
		"with a silent":    {[]string{silent, a, b}, ""},
		"with a dead port": {[]string{a, closed, b}, "id-a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := fmt.Sprintf("east: bootstrap names several clusters: the one at %s has the id id-a, the one at %s has the id id-b", a, b)
			for range 5 {
				_, err := mustNew(t, Config{Bootstrap: tc.addrs, ClusterID: tc.id}).Connect(t.Context())
				if fault.KindOf(err) != fault.Refused || err.Error() != want {
					t.Errorf("got %v\nwant %s", err, want)
				}
			}
		})
	}
}

// TestBootstrapThatDoesNotAnswer: an address that is silent or dead delays
// little and is not asked by the clients that come later.
func TestBootstrapThatDoesNotAnswer(t *testing.T) {
	k := fake(t, kfake.NumBrokers(2), kfake.ClusterID("id"))
	for name, bad := range map[string]string{"silent": listen(t, hold), "black hole": blackhole(t), "refuses": closedPort(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for at := range 3 {
				var c *Cluster
				// Waiting for the address would take seconds each time; a busy machine may
				// take them once.
				for try := 1; ; try++ {
					c = mustNew(t, Config{Bootstrap: slices.Insert(k.ListenAddrs(), at, bad)})
					begun := time.Now()
					if _, err := c.Connect(t.Context()); err != nil {
						t.Fatal(err)
					}
					d := time.Since(begun)
					if d <= 1500*time.Millisecond {
						break
					}
					if try == 5 {
						t.Fatalf("%d: it took %v", at, d)
					}
				}
				if got := c.seeds(); !slices.Equal(got, k.ListenAddrs()) {
					t.Errorf("%d: seeds %v, want %v", at, got, k.ListenAddrs())
				}
				if got := c.Bootstrap(); !slices.Contains(got, bad) {
					t.Errorf("bootstrap is %v", got)
				}
			}
		})
	}
}

// TestFirstAnswer: a client gives up a connection on which nothing comes, long
// before its request's own time is over.
func TestFirstAnswer(t *testing.T) {
	c := mustNew(t, Config{Bootstrap: []string{listen(t, hold)}})
	conn, err := c.dialer.with(time.Second, 50*time.Millisecond)(t.Context(), "tcp", c.bootstrap[0])
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); !isTimeout(err) {
		t.Errorf("got %v", err)
	}
	conn, err = c.dialer.with(time.Second, 50*time.Millisecond)(t.Context(), "tcp", listen(t, answers(strings.Repeat("x", 2))))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("?")); err != nil {
		t.Fatal(err)
	}
	if n, err := conn.Read(make([]byte, 1)); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	later := time.Now().Add(time.Minute)
	if got := conn.(*patient).sooner(later); !got.Equal(later) {
		t.Errorf("after the first answer: %v, want %v", got, later)
	}
}
