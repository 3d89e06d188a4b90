package source

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kcm-cli/kcm/internal/spec"
)

// Monitor shows how far a run is, to any goroutine. One is put into the Options
// of a run; the zero Monitor is ready.
type Monitor struct {
	offsets atomic.Int64 // that positions have moved by
	merging atomic.Pointer[merger]
	hung    atomic.Bool // the last write never ended

	mu     sync.Mutex
	states map[string]ClusterState
	faulty map[string]bool // clusters that gave no full result
	flows  map[flowKey]*flow
	reads  map[readKey]*delivery
}

// ClusterState says how reading of a cluster goes.
type ClusterState string

// The states of a cluster.
const (
	ClusterReading ClusterState = "reading"
	// ClusterLost is one of which no broker answers, or that has ended before all was
	// read that was wanted of it.
	ClusterLost ClusterState = "lost"
	ClusterDone ClusterState = "done" // nothing more is to be read of it
)

// Snapshot is how far a run is at one moment.
type Snapshot struct {
	Total    Progress
	Clusters map[string]ClusterProgress
	Flows    []FlowProgress // by cluster, topic and stream
	Offsets  int64          // that positions have moved by since the run began
	Endless  bool           // some of what is read has no end
	Short    bool           // some has stopped before its end, or does not go on
	Blind    bool           // some cannot be looked at: Lag and Behind of the total are unknown
	// Least says that a write was left behind that never ended: some of its records
	// may have arrived, and none of them is counted.
	Least bool
	// Ordered says that Options.Order is by time. Late and Back are those of Stats.
	Ordered    bool
	Late, Back int64
}

// Progress is how far something is.
type Progress struct {
	Splits    int   // that are read, or have been read to their ends
	Records   int64 // deliveries written
	Bytes     int64 // bytes written
	Filtered  int64 // deliveries left out by a filter
	Undecoded int64 // deliveries that could not be decoded
	// Lag is how many offsets lie between the positions and the ends of the log, or
	// the ends that reading has if they come before; -1 is unknown.
	Lag int64
	// Behind is how old the last record is of the split that is furthest behind in
	// time; 0 without lag, -1 if it is unknown.
	Behind time.Duration
	Short  bool // some of it was stopped before its end
}

// ClusterProgress is how far a cluster is.
type ClusterProgress struct {
	Progress
	State ClusterState
}

// FlowProgress is how far a topic of a cluster is, as one stream takes it.
type FlowProgress struct {
	Cluster, Topic, Stream string
	Progress
}

type flowKey struct{ cluster, topic, stream string }

// flow counts what has been written. Its counters belong to the writer.
type flow struct{ records, bytes, filtered, undecoded atomic.Int64 }

type readKey struct {
	cluster string
	place
}

// sight is what a Monitor sees of a split.
type sight struct {
	end   atomic.Int64 // of the log, as far as it can be read; -1 is unknown
	last  atomic.Int64 // time of the last record that was written, in ms; 0 is unknown
	flows []*flow      // by the split's streams
}

// begin makes a split visible.
func (m *Monitor) begin(s *split) {
	if m == nil {
		return
	}
	s.sight.end.Store(s.backlog)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.reads == nil {
		m.reads, m.flows = map[readKey]*delivery{}, map[flowKey]*flow{}
	}
	for _, d := range s.deliveries {
		m.reads[d.readKey()] = d
		key := d.flowKey()
		if m.flows[key] == nil {
			m.flows[key] = new(flow)
		}
		s.sight.flows = append(s.sight.flows, m.flows[key])
	}
}

func (d *delivery) readKey() readKey {
	return readKey{d.split.Cluster, place{d.want, d.split.Topic, d.split.Partition}}
}

func (d *delivery) flowKey() flowKey { return flowKey{d.split.Cluster, d.split.Topic, d.stream} }

// left forgets a delivery that is not read any more.
func (m *Monitor) left(d *delivery) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.reads[d.readKey()] == d {
		delete(m.reads, d.readKey())
	}
}

// state notes how reading of a cluster goes.
func (m *Monitor) state(cluster string, state ClusterState) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.states == nil {
		m.states = map[string]ClusterState{}
	}
	m.states[cluster] = state
}

// over notes that nothing more is read of a cluster, and why if it was to be.
func (m *Monitor) over(cluster string, err error) {
	state := ClusterDone
	if err != nil {
		state = ClusterLost
	}
	m.state(cluster, state)
}

// failed notes that something of a cluster is not read to its end, or not at all.
func (m *Monitor) failed(cluster string) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.faulty == nil {
		m.faulty = map[string]bool{}
	}
	m.faulty[cluster] = true
}

// hangs notes that a write was left behind.
func (m *Monitor) hangs() {
	if m != nil {
		m.hung.Store(true)
	}
}

// lives notes whether anything can be asked of the cluster.
func (r *reader) lives() {
	state := ClusterReading
	if r.dead() {
		state = ClusterLost
	}
	r.e.Monitor.state(r.name, state)
}

// reached notes the end of a split's log.
func (s *split) reached(end, stable int64) {
	if s.committed {
		end = stable
	}
	if end >= 0 {
		s.sight.end.Store(end)
	}
}

// wrote counts a chunk that is through, before its split has moved on.
func (m *Monitor) wrote(c *Chunk, b Block) {
	if m == nil || b.Next < 0 || len(c.split.sight.flows) == 0 {
		return
	}
	m.offsets.Add(max(0, b.Next-c.first))
	s := &c.split.sight
	for _, h := range slices.Backward(c.headers()) {
		if h.BaseOffset >= b.Next {
			continue // nothing of it has been written
		}
		if h.MaxTimestamp > 0 {
			s.last.Store(h.MaxTimestamp)
		}
		break
	}
	first := s.flows[0]
	first.filtered.Add(int64(b.Filtered))
	first.undecoded.Add(int64(b.Undone))
	size, records := int64(b.bytes()), int64(b.Written)
	if sum(b.ByStream) == b.Written && len(b.ByStream) == len(s.flows) {
		for i, f := range s.flows[1:] {
			n := int64(b.ByStream[i+1])
			part := size * n / max(1, int64(b.Written))
			f.records.Add(n)
			f.bytes.Add(part)
			size, records = size-part, records-n
		}
	}
	first.records.Add(records)
	first.bytes.Add(size)
}

func sum(list []int) (n int) {
	for _, v := range list {
		n += v
	}
	return n
}

// clusters shows the state of each. The caller holds mu.
func (m *Monitor) clusters(snap *Snapshot) {
	for name, state := range m.states {
		if state == ClusterDone && m.faulty[name] {
			state = ClusterLost
		}
		snap.Short = snap.Short || m.faulty[name] || state == ClusterLost
		snap.Clusters[name] = ClusterProgress{Progress: unknownProgress(), State: state}
	}
}

// Snapshot returns how far the run is, now being the time.
func (m *Monitor) Snapshot(now time.Time) Snapshot {
	m.mu.Lock()
	defer m.mu.Unlock()
	snap := Snapshot{Clusters: map[string]ClusterProgress{}, Offsets: m.offsets.Load(), Least: m.hung.Load()}
	m.clusters(&snap)
	flows := map[flowKey]*FlowProgress{}
	for key, f := range m.flows {
		p := &FlowProgress{Cluster: key.cluster, Topic: key.topic, Stream: key.stream, Progress: unknownProgress()}
		p.Records, p.Bytes, p.Filtered, p.Undecoded = f.records.Load(), f.bytes.Load(), f.filtered.Load(), f.undecoded.Load()
		flows[key] = p
	}
	splits := map[*split]Progress{}
	for _, d := range m.reads {
		p, open := d.progress(now)
		if blind := snap.Clusters[d.split.Cluster].State == ClusterLost && !p.Short && d.reads(); blind {
			p.Lag, p.Behind, snap.Blind = -1, -1, true // the log may have grown since
		}
		snap.Endless = snap.Endless || open
		flows[d.flowKey()].join(p)
		splits[d.split] = splits[d.split].further(p)
	}
	if one := m.merging.Load(); one != nil && one.byTime {
		snap.Ordered = true
		snap.Late, snap.Back = one.counts()
	}
	snap.Total = unknownProgress()
	for s, p := range splits {
		c := snap.Clusters[s.Cluster]
		if c.join(p); p.Short && c.State == ClusterDone {
			c.State = ClusterLost
		}
		snap.Short = snap.Short || p.Short
		snap.Clusters[s.Cluster] = c
		snap.Total.join(p)
	}
	for _, f := range flows {
		snap.Flows = append(snap.Flows, *f)
		c := snap.Clusters[f.Cluster]
		c.count(f.Progress)
		snap.Clusters[f.Cluster] = c
		snap.Total.count(f.Progress)
	}
	if snap.Blind {
		snap.Total.Lag, snap.Total.Behind = -1, -1
	}
	slices.SortFunc(snap.Flows, func(a, b FlowProgress) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Stream, b.Stream))
	})
	return snap
}

func unknownProgress() Progress { return Progress{Lag: -1, Behind: -1} }

// reads reports whether something may still come of a delivery.
func (d *delivery) reads() bool {
	d.split.mu.Lock()
	defer d.split.mu.Unlock()
	return !d.done
}

// progress is how far a delivery is, and whether it has no end.
func (d *delivery) progress(now time.Time) (p Progress, open bool) {
	s := d.split
	s.mu.Lock()
	next, until, done, short := s.next, d.until, d.done, d.short
	s.mu.Unlock()
	p = Progress{Splits: 1, Short: short}
	if done && !short {
		return p, false
	}
	open = until == spec.Open && !done
	end := s.sight.end.Load()
	if end < 0 {
		p.Lag, p.Behind = -1, -1
		return p, open
	}
	p.Lag = max(0, min(end, until)-max(next, d.from))
	if last := s.sight.last.Load(); p.Lag > 0 && last == 0 {
		p.Behind = -1
	} else if p.Lag > 0 {
		p.Behind = max(0, now.Sub(time.UnixMilli(last)))
	}
	return p, open
}

// join adds what is known of one more split.
func (p *Progress) join(o Progress) {
	p.Splits += o.Splits
	p.Short = p.Short || o.Short
	switch {
	case o.Lag < 0:
	case p.Lag < 0:
		p.Lag, p.Behind = o.Lag, o.Behind
	case o.Lag > 0:
		if p.Lag == 0 {
			p.Behind = -1
		}
		p.Lag, p.Behind = p.Lag+o.Lag, max(p.Behind, o.Behind)
	}
}

// count adds what has been written.
func (p *Progress) count(o Progress) {
	p.Records += o.Records
	p.Bytes += o.Bytes
	p.Filtered += o.Filtered
	p.Undecoded += o.Undecoded
}

// further is the progress of the delivery of a split that has more before it.
func (p Progress) further(o Progress) Progress {
	short := p.Short || o.Short
	if p.Splits == 0 || o.Lag > p.Lag {
		p = o
	}
	p.Short = short
	return p
}
