package sandbox

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kcm-cli/kcm/internal/fault"
)

// seed writes the first records. Their times spread over the last hour and
// interleave between the clusters.
func (s *Sandbox) seed(ctx context.Context) error {
	begin := s.opts.Now().Add(-time.Hour)
	n, clusters := s.opts.Records, len(s.opts.Clusters)
	for c := range s.clients {
		var batch []*kgo.Record
		for _, t := range s.opts.Topics {
			for i := range n {
				at := begin.Add(time.Duration(float64(time.Hour) * (float64(i*clusters+c) + 0.5) / float64(n*clusters)))
				r, err := s.record(c, t.Name, at)
				if err != nil {
					return err
				}
				batch = append(batch, r)
			}
		}
		if err := s.clients[c].ProduceSync(ctx, batch...).FirstErr(); err != nil {
			return s.failed(c, err)
		}
	}
	return nil
}

// record makes the next record of a topic on cluster c. The key decides the
// partition, as with Java's producer.
func (s *Sandbox) record(c int, topic string, at time.Time) (*kgo.Record, error) {
	p := place{s.opts.Clusters[c], topic}
	i := s.next[p]
	s.next[p]++
	key, value, err := makeOrder(p, i)
	if err != nil {
		return nil, err
	}
	return &kgo.Record{
		Topic: topic, Key: []byte(key), Value: value, Timestamp: at,
		Headers: []kgo.RecordHeader{
			{Key: "source", Value: []byte("sandbox")},
			{Key: "trace", Value: fmt.Appendf(nil, "%s-%s-%06d", p.cluster, topic, i+1)},
		},
	}, nil
}

func (s *Sandbox) failed(c int, err error) error {
	name := s.opts.Clusters[c]
	return fault.New(fault.Failed, "%s: can't write records: %w", name, err).On(name)
}

// step is how often Produce looks what is due: rates above it go in handfuls.
const step = 10 * time.Millisecond

// Produce writes rate records a second to each topic on each cluster until ctx
// ends, which is no error. It must not run twice at once.
func (s *Sandbox) Produce(ctx context.Context, rate float64) error {
	failed := make(chan error, 1)
	begin, sent := time.Now(), 0
	tick := time.NewTicker(step)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-failed:
			return err
		case <-tick.C:
		}
		for due := int(rate * time.Since(begin).Seconds()); sent < due && ctx.Err() == nil; sent++ {
			if err := s.produceOne(ctx, failed); err != nil {
				return err
			}
		}
	}
}

// produceOne writes one record to each topic on each cluster, without waiting:
// the first failure goes to failed.
func (s *Sandbox) produceOne(ctx context.Context, failed chan<- error) error {
	for c, cl := range s.clients {
		for _, t := range s.opts.Topics {
			r, err := s.record(c, t.Name, s.opts.Now())
			if err != nil {
				return err
			}
			cl.Produce(ctx, r, func(_ *kgo.Record, err error) {
				if err == nil {
					return
				}
				select {
				case failed <- s.failed(c, err):
				default:
				}
			})
		}
	}
	return nil
}
