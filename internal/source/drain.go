package source

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/kcm-cli/kcm/internal/cluster"
)

func (r *reader) drainTimeout(d *delivery) time.Duration {
	switch {
	case r.e.DrainTimeout > 0:
		return r.e.DrainTimeout
	case d.split.committed:
		return 90 * time.Second
	default:
		return 30 * time.Second
	}
}

func (l *leaving) getsOn(r *reader) bool {
	var read int64
	var one *delivery
	for one = range l.rest {
		read += one.split.read.Load()
	}
	for _, end := range l.ends {
		read += end
	}
	if read <= l.read {
		return false
	}
	l.read, l.due = read, time.Now().Add(r.drainTimeout(one))
	return true
}

func (r *reader) cutShort(l *leaving, why func(*delivery) string) {
	l.drain = false
	for d := range l.rest {
		d.cut = why(d)
		r.stopAt(d, 0)
	}
}

func (r *reader) aim(ctx context.Context, l *leaving) {
	var of []cluster.TopicPartition
	for d := range l.rest {
		if !d.aimed {
			of = append(of, d.split.at())
		}
	}
	if len(of) == 0 {
		return
	}
	call, done := r.calling(ctx)
	defer done()
	r.mu.Lock()
	r.aiming = done
	r.mu.Unlock()
	ends, err := r.cluster.Offsets(call, of, cluster.End())
	if err != nil {
		if call.Err() == nil {
			r.lost(err)
		}
		return
	}
	for d := range l.rest {
		if end := ends[d.split.at()]; !d.aimed && len(end) == 1 && end[0].Err == nil && call.Err() == nil {
			d.target = end[0].Offset
			r.stopAt(d, d.target)
		}
	}
}

func (r *reader) stopAiming() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.aiming != nil {
		r.aiming()
	}
}

func (r *reader) whatIsLeft(ctx context.Context, d *delivery) string {
	n := d.target - d.split.read.Load()
	switch {
	case d.target < 0:
		return "the end of the log could not be found out"
	case n <= 0:
		return "" // it comes to its end just now
	}
	text := fmt.Sprintf("%d offsets", n)
	if n == 1 {
		text = "1 offset"
	}
	if d.split.committed {
		if id, ok := r.openTransaction(ctx, d.split); ok {
			return fmt.Sprintf("%s behind an open transaction (producer id %d)", text, id)
		}
	}
	return text + " left"
}

func (r *reader) openTransaction(ctx context.Context, s *split) (id int64, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	cl, err := r.cluster.Control()
	if err != nil {
		return 0, false
	}
	var set kadm.TopicsSet
	set.Add(s.Topic, s.Partition)
	topics, err := kadm.NewClient(cl).DescribeProducers(ctx, set)
	if err != nil {
		return 0, false
	}
	first := int64(-1)
	topics.EachProducer(func(p kadm.DescribedProducer) {
		if start := p.CurrentTxnStartOffset; start >= 0 && (first < 0 || start < first) {
			first, id = start, p.ProducerID
		}
	})
	return id, first >= 0
}
