package fetch

import (
	"cmp"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kcm-cli/kcm/internal/cluster"
)

// mostParts is how many partitions one bulk request asks for: enough for those
// with little to read, few enough that a request is soon written.
const mostParts = 100

// broker is one broker with the parts that are read from it.
type broker struct {
	id      int32
	addr    string
	bulk    map[*part]struct{} // asked for one by one
	joined  map[*part]struct{} // asked for in the session
	session session
	flights map[*flight]struct{}
	tail    *flight // the one of the session

	dirty      bool      // something has changed since the last dispatch
	due        time.Time // when to dispatch although nothing changes
	starved    bool      // by the budget
	retryAt    time.Time // after a failure
	throttled  time.Time // until then
	refusals   int       // of sessions, in a row
	fails      int       // in a row
	failedAt   time.Time // the last time
	lost       bool
	pinging    bool
	most       int       // bytes of an answer; less after one that was too large
	plainUntil time.Time // no rack is told: the replica that it named failed
}

func (f *Fetcher) broker(id int32) *broker {
	b := f.brokers[id]
	if b == nil {
		b = &broker{
			id: id, addr: f.addrs[id], bulk: map[*part]struct{}{}, joined: map[*part]struct{}{},
			flights: map[*flight]struct{}{}, most: int(f.cfg.MaxBytes), session: newSession(),
		}
		f.brokers[id] = b
	}
	return b
}

func (b *broker) empty() bool { return len(b.bulk)+len(b.joined) == 0 }

// lanes is how many requests may be in flight.
func (b *broker) lanes(bulk int) int {
	switch {
	case b.empty():
		return 0
	case len(b.bulk) == 0:
		return 1
	default:
		return 1 + bulk
	}
}

// dispatch sends what can be sent to b and says when to come back.
func (f *Fetcher) dispatch(b *broker, now time.Time) time.Time {
	if !b.dirty && !b.starved && (b.due.IsZero() || now.Before(b.due)) {
		return b.due
	}
	b.dirty, b.starved, b.due = false, false, time.Time{}
	if pause := later(b.retryAt, b.throttled); now.Before(pause) {
		b.due = pause
		return b.due
	}
	if b.fails > 0 && len(b.flights) > 0 {
		return time.Time{} // one request finds out whether it is there again
	}
	f.sendTail(b, now)
	f.sendBulk(b, now)
	return b.due
}

// sendTail asks for all that are at their end, in one session and never twice
// at once: the next turn has to wait for the answer to the last.
func (f *Fetcher) sendTail(b *broker, now time.Time) {
	if b.tail != nil || b.fails > 0 && len(b.flights) > 0 {
		return
	}
	parts := f.tailParts(b)
	if len(parts) == 0 {
		if b.session.open() {
			f.sendTailClose(b)
		}
		return
	}
	reserved, ok := f.cfg.Budget.reserve(b.most, f.wake)
	if !ok {
		b.starved = true
		return
	}
	fl := &flight{b: b, role: cluster.Tail, started: now, most: reserved, reserved: reserved}
	fl.req = b.session.request(parts, f.limited(f.cfg.PartitionMaxBytes), fl)
	fl.req.MaxWaitMillis = int32(f.cfg.MaxWait.Milliseconds())
	b.tail = fl
	f.launch(fl)
}

// tailParts moves parts that have reached their end into the session and
// returns all of it. Without a session the broker takes them in the order of the
// request: then those come first that have not had anything for longest.
func (f *Fetcher) tailParts(b *broker) []*part {
	for p := range b.bulk {
		if p.reached && p.fails == 0 && !p.alone && p.wanted() && !p.busy() {
			delete(b.bulk, p)
			b.joined[p] = struct{}{}
			p.joined = true
		}
	}
	parts := make([]*part, 0, len(b.joined))
	for p := range b.joined {
		if p.handing || p.checking {
			f.leaveSession(p)
			continue
		}
		parts = append(parts, p)
	}
	if b.session.epoch == 0 {
		slices.SortFunc(parts, byService)
	}
	return parts
}

func byService(p, q *part) int { return cmp.Compare(p.served, q.served) }

// sendBulk asks for what is behind, or has to wait for the tail's next turn, in
// several requests at once.
func (f *Fetcher) sendBulk(b *broker, now time.Time) {
	free := f.cfg.BulkLanes - b.bulkFlights()
	if b.fails > 0 {
		free = min(free, 1-len(b.flights))
	}
	if free <= 0 {
		return
	}
	for _, parts := range chunks(f.bulkParts(b, now), free) {
		reserved, ok := f.cfg.Budget.reserve(b.most, f.wake)
		if !ok {
			b.starved = true
			return
		}
		fl := &flight{b: b, role: cluster.Bulk, started: now, most: reserved, reserved: reserved}
		fl.req = f.bulkRequest(parts, fl)
		f.launch(fl)
	}
}

func (b *broker) bulkFlights() int {
	if b.tail != nil {
		return len(b.flights) - 1
	}
	return len(b.flights)
}

// bulkParts returns what is due, in the order in which it had its turns, and
// notes when more will be.
func (f *Fetcher) bulkParts(b *broker, now time.Time) []*part {
	var parts []*part
	for p := range b.bulk {
		switch {
		case !p.wanted() || p.busy():
		case now.Before(p.due):
			b.due = earliest(b.due, p.due)
		default:
			parts = append(parts, p)
		}
	}
	slices.SortFunc(parts, byService)
	return parts
}

// chunks deals parts out to at most n requests; one that must be asked for
// alone is.
func chunks(parts []*part, n int) [][]*part {
	var out [][]*part
	rest := parts[:0:0]
	for _, p := range parts {
		if p.alone && len(out) < n {
			out = append(out, []*part{p})
		} else if !p.alone {
			rest = append(rest, p)
		}
	}
	n -= len(out)
	if n <= 0 || len(rest) == 0 {
		return out
	}
	size := min((len(rest)+n-1)/n, mostParts)
	for c := range slices.Chunk(rest, size) {
		if n--; n < 0 {
			break
		}
		out = append(out, c)
	}
	return out
}

// failed notes that a request to b was not answered. A failure of a request
// that was sent after another's is that of a retry.
func (f *Fetcher) failed(b *broker, sent, now time.Time, err error) {
	retry := b.fails > 0 && sent.After(b.failedAt)
	if b.fails == 0 || retry {
		b.fails++
		b.failedAt = now
		b.retryAt = now.Add(growing(b.fails, f.cfg.timing.backoff, f.cfg.timing.longest))
	}
	b.dirty = true
	if retry {
		f.loseBroker(b, err)
	}
	for _, set := range []map[*part]struct{}{b.bulk, b.joined} {
		for p := range set {
			f.lookUp(p)
			if p.replica == b.id {
				f.toLeader(p, now)
			}
		}
	}
}

func (f *Fetcher) loseBroker(b *broker, err error) {
	if !b.lost {
		b.lost = true
		f.cfg.Handler.Event(Lost{Broker: b.id, Addr: b.addr, Err: err})
	}
}

// answered notes that b answers.
func (f *Fetcher) answered(b *broker) {
	b.fails, b.retryAt = 0, time.Time{}
	b.dirty = true
	f.inContact()
	if b.lost {
		b.lost = false
		f.cfg.Handler.Event(Back{Broker: b.id, Addr: b.addr})
	}
}

// doubt finds out whether the broker of a flight that takes long is there at
// all. A long transfer is not cut off as long as it is.
func (f *Fetcher) doubt(fl *flight) {
	b := fl.b
	if fl.landed {
		return
	}
	time.AfterFunc(f.cfg.timing.slow, func() { f.post(func() { f.doubt(fl) }) })
	if b.pinging {
		return
	}
	b.pinging = true
	sent := time.Now()
	f.chores.Go(func() {
		err := f.ping(b.id)
		f.post(func() {
			b.pinging = false
			if err == nil || fl.landed {
				return
			}
			if b.fails == 0 {
				b.fails, b.failedAt = 1, sent.Add(-1)
			}
			f.failed(b, sent, time.Now(), err)
			for fl := range b.flights {
				fl.cancel()
			}
		})
	})
}

// ping asks a broker for nothing, on the control client.
func (f *Fetcher) ping(id int32) error {
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{}
	_, err := f.ask(id, req)
	return err
}
