// Package sandbox starts embedded Kafka-compatible clusters (franz-go's kfake)
// on loopback ports, fills them with made-up orders and writes the metadata
// file that describes them: a place to try kcm in, without Java or Docker.
//
// It owns those clusters, their records and that file. It must not read
// metadata, print anything or run other programs; the command does that. Nothing
// outside the tests but the sandbox command may import it.
package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kcm-cli/kcm/internal/fault"
)

// Topic is one topic that every cluster gets.
type Topic struct {
	Name       string
	Partitions int32
}

// Options say what to start.
type Options struct {
	// Clusters are the clusters' names in the metadata.
	Clusters []string
	// Topics are created on each cluster; each is a stream over all of them.
	Topics []Topic
	// Records is how many records each topic has on each cluster at first.
	Records int
	// Dir is where kcm.yaml goes, made if it is not there; a temporary directory
	// that Close removes when empty.
	Dir string
	// Now is the clock behind the records' times.
	Now func() time.Time
}

// Cluster is one running cluster.
type Cluster struct {
	Name      string
	Bootstrap string // host:port
}

// Sandbox is what Start started.
type Sandbox struct {
	// Metadata is the absolute path of the metadata file.
	Metadata string
	// Clusters are in the order of the options.
	Clusters []Cluster

	opts    Options
	running []*kfake.Cluster
	clients []*kgo.Client // by cluster
	next    map[place]int // the next order of a topic on a cluster
	tempDir string        // to be removed; may be empty
}

// Start starts the clusters, seeds them and writes the metadata file. Wrong
// options are errors of kind fault.Usage, found before anything is started.
func Start(ctx context.Context, opts Options) (*Sandbox, error) {
	if err := opts.check(); err != nil {
		return nil, err
	}
	s := &Sandbox{opts: opts, next: map[place]int{}}
	if err := s.start(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Sandbox) start(ctx context.Context) error {
	if err := s.openDir(); err != nil {
		return err
	}
	for _, name := range s.opts.Clusters {
		if err := s.startCluster(name); err != nil {
			return fault.New(fault.Failed, "%s: can't start an embedded cluster: %w", name, err).On(name)
		}
	}
	if err := s.seed(ctx); err != nil {
		return err
	}
	return s.writeMetadata()
}

func (s *Sandbox) startCluster(name string) error {
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.ClusterID("kcm-sandbox-"+name))
	if err != nil {
		return err
	}
	s.running = append(s.running, c)
	for _, t := range s.opts.Topics {
		if err := c.CreateTopic(t.Name, t.Partitions, nil); err != nil {
			return err
		}
	}
	addrs := c.ListenAddrs()
	cl, err := kgo.NewClient(kgo.SeedBrokers(addrs...), kgo.ClientID("kcm-sandbox"), kgo.ProducerLinger(0))
	if err != nil {
		return err
	}
	s.clients = append(s.clients, cl)
	s.Clusters = append(s.Clusters, Cluster{Name: name, Bootstrap: strings.Join(addrs, ",")})
	return nil
}

// Close ends the clusters and removes the temporary directory, if there is one.
func (s *Sandbox) Close() error {
	for _, cl := range s.clients {
		cl.Close()
	}
	for _, c := range s.running {
		c.Close()
	}
	if s.tempDir == "" {
		return nil
	}
	return os.RemoveAll(s.tempDir)
}

const maxPartitions = 1000 // of one topic: more than anybody tries kcm with

func (o Options) check() error {
	if len(o.Clusters) == 0 || len(o.Topics) == 0 {
		return fault.New(fault.Usage, "a sandbox needs at least one cluster and one topic")
	}
	for i, name := range o.Clusters {
		if name == "" || strings.ContainsAny(name, "/:=, \t\r\n") {
			return fault.New(fault.Usage, "a cluster can't be named %q", name).WithHint("a name holds no / : = , and no blank")
		}
		if slices.Contains(o.Clusters[:i], name) {
			return fault.New(fault.Usage, "cluster %s is named twice", name)
		}
	}
	legal := regexp.MustCompile(`^[a-zA-Z0-9._-]{1,249}$`)
	seen := map[string]bool{}
	for _, t := range o.Topics {
		switch {
		case !legal.MatchString(t.Name) || t.Name == "." || t.Name == "..":
			return fault.New(fault.Usage, "a topic can't be named %q", t.Name).WithHint("Kafka allows letters, digits, '.', '_' and '-', up to 249 of them")
		case seen[t.Name]:
			return fault.New(fault.Usage, "topic %s is named twice", t.Name)
		case t.Partitions < 1 || t.Partitions > maxPartitions:
			return fault.New(fault.Usage, "topic %s can't have %d partitions", t.Name, t.Partitions).WithHint("from 1 to %d", maxPartitions)
		}
		seen[t.Name] = true
	}
	if o.Records < 0 {
		return fault.New(fault.Usage, "there can't be %d records", o.Records)
	}
	return nil
}

// place is one topic on one cluster.
type place struct{ cluster, topic string }

// String gives the form that messages use.
func (p place) String() string { return fmt.Sprintf("%s/%s", p.cluster, p.topic) }
