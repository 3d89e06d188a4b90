package fetch

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kcm-cli/kcm/internal/cluster"
)

// silentAddress accepts connections and never answers.
func silentAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().String()
}

// TestASilentBootstrapAddress: wherever it stands in the list, it delays
// nothing, and nothing is told to be lost. Several rounds, because clients begin
// with a random address.
func TestASilentBootstrapAddress(t *testing.T) {
	for _, at := range []int{0, 1, 3} {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			t.Parallel()
			c, topic := twoLeaders(t)
			addrs := slices.Insert(strings.Split(c.Bootstrap(), ","), at, silentAddress(t))
			if len(addrs) != 4 {
				t.Fatalf("bootstrap is %v", addrs)
			}
			slow := 0
			for range 8 {
				if d := readPastSilence(t, topic, addrs, func(r *reader) {
					checkNumbered(t, r.waitRecords(r.from(topic, 0, 0, 10), 10), 0, 10)
					checkNumbered(t, r.waitRecords(r.from(topic, 1, 0, 10), 10), 0, 10)
				}); d > 3*time.Second {
					slow++
					t.Logf("it took %v", d)
				}
			}
			// A busy machine may take that long once; the silent address would each time
			// that it is met.
			if slow > 1 {
				t.Errorf("%d of 8 rounds took more than 3 s", slow)
			}
		})
	}
}

func readPastSilence(t *testing.T, topic string, addrs []string, read func(*reader)) time.Duration {
	t.Helper()
	begun := time.Now()
	cl, err := cluster.New(cluster.Config{Name: "east", Bootstrap: addrs})
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	if _, err := cl.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := cl.Topics(t.Context(), topic); err != nil {
		t.Fatal(err)
	}
	r := newReaderOf(t, func(role cluster.Role) (*kgo.Client, error) { return cl.Client(role) }, func(_ *reader, c *Config) { c.timing = timing{} })
	read(r)
	took := time.Since(begun)
	for _, e := range r.told() {
		if lost, ok := e.(Lost); ok {
			t.Errorf("told: %+v", lost)
		}
	}
	r.end()
	return took
}
