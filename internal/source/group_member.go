package source

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/fault"
)

// member is this run's membership of a consumer group on one cluster. It says
// which partitions are this run's, and commits. It never fetches a record. Its
// methods may be called from any goroutine.
type member struct {
	cluster  *cluster.Cluster
	group    string
	protocol GroupProtocol
	h        memberHandler
	ctx      context.Context //nolint:containedctx // of the whole membership
	stop     context.CancelFunc
	wake     chan struct{} // capacity 1: the subscription has changed
	news     chan struct{} // capacity 1: there is something to commit
	anew     chan error    // capacity 1: why the group has to be joined in another way
	running  sync.WaitGroup

	mu      sync.Mutex
	topics  []string                             // to be subscribed to, sorted
	client  *kgo.Client                          // nil until the group is joined
	limit   time.Duration                        // that a hand-over may take
	byID    bool                                 // commits name topics by their ids
	owned   map[cluster.TopicPartition]bool      // what may be committed; false: it is being handed over, and not read any more
	pending map[cluster.TopicPartition]committed // to be committed
	done    map[cluster.TopicPartition]committed // what the group has
	doubts  map[cluster.TopicPartition]doubt     // of commits whose topic is not known to the coordinator
	proven  map[cluster.TopicPartition][16]byte  // of which topic the last commit was that was accepted
	since   time.Time                            // when partitions were last given or taken; zero before the first time
	begun   time.Time                            // when joining began
	left    bool                                 // nothing is tried any more

	leaving sync.Once
	final   error // why the last commit failed
}

// committed is what is committed for a partition.
type committed struct {
	offset  int64
	epoch   int32 // leader epoch of the batch before offset; -1 is unknown
	topicID [16]byte
}

// memberHandler hears of what becomes of a membership. All its methods are called
// from goroutines of the client, one at a time, and must not wait for the member.
type memberHandler interface {
	// assigned tells which partitions are this run's from now on, besides those
	// that were; often none.
	assigned(parts []cluster.TopicPartition)
	// revoked ends the reading of partitions, waiting no longer than patience for a
	// write that is under way, and returns up to where they have been written out.
	revoked(parts []cluster.TopicPartition, patience time.Duration) map[cluster.TopicPartition]committed
	// lost ends the reading of partitions that are others' already.
	lost(parts []cluster.TopicPartition)
	// joins tells what the group is before it is joined.
	joins(info cluster.GroupInfo)
	// trouble tells why there is no membership or no commit; nil says that there is
	// one again. A final one is not tried again.
	trouble(err error, final bool)
}

const (
	troublePatience = 3 * time.Second        // before it is told what often passes
	commitPause     = time.Second            // between commits
	commitLimit     = 5 * time.Second        // for one
	leaveLimit      = 2 * time.Second        // to leave a group
	usualHandOver   = 60 * time.Second       // Java's rebalance timeout is 5 min, that of kgo and librdkafka 60 s
	joinPause       = 300 * time.Millisecond // before a group that cannot be joined yet is looked at again
)

func newMember(ctx context.Context, c *cluster.Cluster, group string, protocol GroupProtocol, h memberHandler) *member {
	m := &member{
		cluster: c, group: group, protocol: protocol, h: h, wake: make(chan struct{}, 1), news: make(chan struct{}, 1), anew: make(chan error, 1),
		owned: map[cluster.TopicPartition]bool{}, pending: map[cluster.TopicPartition]committed{}, done: map[cluster.TopicPartition]committed{},
		doubts: map[cluster.TopicPartition]doubt{}, proven: map[cluster.TopicPartition][16]byte{},
	}
	m.ctx, m.stop = context.WithCancel(context.WithoutCancel(ctx))
	m.running.Go(m.run)
	m.running.Go(m.commitLoop)
	return m
}

// subscribe says which topics are wanted, all of them.
func (m *member) subscribe(topics []string) {
	topics = slices.Sorted(slices.Values(topics))
	m.mu.Lock()
	same := slices.Equal(topics, m.topics)
	m.topics = topics
	m.mu.Unlock()
	if !same {
		signal(m.wake)
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// grown tells the group that topics have more partitions than they had.
func (m *member) grown() {
	if cl := m.session(); cl != nil {
		cl.ForceMetadataRefresh()
	}
}

func (m *member) session() *kgo.Client {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.client
}

// run joins the group once there is something to subscribe to, keeps the
// subscription, and joins anew where that is the only way.
func (m *member) run() {
	var told []string // the client's subscription
	var refused error
	for pause := joinPause; ; {
		topics := m.wanted()
		cl := m.session()
		var again <-chan time.Time
		switch {
		case len(topics) == 0 && cl == nil:
		case cl != nil:
			subscribeTo(cl, told, topics)
			told, pause = topics, joinPause
		case m.join(topics, refused):
			told = topics
		case m.ctx.Err() == nil:
			again, pause = time.After(pause), min(2*pause, longestPause)
		}
		select {
		case <-m.wake:
		case <-again:
		case refused = <-m.anew:
			m.quit()
		case <-m.ctx.Done():
			return
		}
	}
}

func (m *member) wanted() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.topics
}

// subscribeTo changes a client's subscription.
func subscribeTo(cl *kgo.Client, from, to []string) {
	var more, less []string
	for _, t := range to {
		if !slices.Contains(from, t) {
			more = append(more, t)
		}
	}
	for _, t := range from {
		if !slices.Contains(to, t) {
			less = append(less, t)
		}
	}
	cl.AddConsumeTopics(more...)
	cl.PurgeTopicsFromConsuming(less...)
}

// join looks at the group and joins it in the way that suits it. It returns false
// if that is to be tried again, or if it never will be.
func (m *member) join(topics []string, refused error) bool {
	m.mu.Lock()
	if m.begun.IsZero() {
		m.begun = time.Now()
	}
	m.mu.Unlock()
	info, err := m.settledInfo()
	var how []kgo.Opt
	if err == nil {
		how, err = m.choose(info, refused)
	}
	if err == nil {
		err = m.begin(topics, how, info)
	}
	if err != nil {
		passing := fault.KindOf(err) == fault.Unreachable
		if m.ctx.Err() == nil && (!passing || time.Since(m.joiningSince()) > troublePatience) {
			m.fail(err, !passing)
		}
		return false
	}
	return true
}

// fail tells why there is no membership. After a final reason nothing is tried.
func (m *member) fail(err error, final bool) {
	if final {
		m.mu.Lock()
		m.left = true
		m.mu.Unlock()
		m.stop()
	}
	m.h.trouble(err, final)
}

// settledInfo describes the group. While its members are agreeing it waits a
// little for what they agree on.
func (m *member) settledInfo() (info cluster.GroupInfo, err error) {
	for until := time.Now().Add(3 * time.Second); ; {
		info, err = m.cluster.DescribeGroup(m.ctx, m.group)
		agreeing := err == nil && info.Kind == cluster.ClassicGroup && len(info.Members) > 0 && info.Assignor == ""
		if !agreeing || time.Now().After(until) {
			return info, err
		}
		select {
		case <-time.After(joinPause):
		case <-m.ctx.Done():
			return info, m.ctx.Err()
		}
	}
}

// begin makes the client, which joins by itself.
func (m *member) begin(topics []string, how []kgo.Opt, info cluster.GroupInfo) error {
	own := &membership{m: m}
	opts := append(how,
		kgo.ConsumerGroup(m.group), kgo.ConsumeTopics(topics...), kgo.DisableAutoCommit(),
		kgo.OnPartitionsAssigned(own.assigned), kgo.OnPartitionsRevoked(own.revoked), kgo.OnPartitionsLost(own.lost),
		// Positions are this engine's business: without any the client fetches nothing.
		kgo.AdjustFetchOffsetsFn(func(context.Context, map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
			return nil, nil
		}),
		kgo.WithHooks(own),
	)
	m.h.joins(info)
	cl, err := m.cluster.Client(cluster.Group, opts...)
	if err != nil {
		return err
	}
	limit, _ := cl.OptValue(kgo.RebalanceTimeout).(time.Duration)
	if limit <= 0 {
		limit = usualHandOver
	}
	m.mu.Lock()
	m.client, m.limit, m.byID = cl, limit, info.CommitsByID
	m.mu.Unlock()
	m.running.Go(func() { own.drain(cl) })
	return nil
}

// quit gives up the client, whose way to join the group does not suit it.
func (m *member) quit() {
	m.mu.Lock()
	cl := m.client
	m.client = nil
	m.mu.Unlock()
	if cl != nil {
		m.running.Go(cl.Close)
	}
}

// owns reports whether a partition is this member's to be read.
func (m *member) owns(p cluster.TopicPartition) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.owned[p]
}

// commits reports whether a partition is this member's to be committed.
func (m *member) commits(p cluster.TopicPartition) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, mine := m.owned[p]
	return mine
}

// given reports when partitions were last given or taken, and how many there are.
func (m *member) given() (since time.Time, n int) {
	held := m.held()
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.since, len(held)
}

// held are the partitions that are this member's to be read.
func (m *member) held() (list []cluster.TopicPartition) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for p, held := range m.owned {
		if held {
			list = append(list, p)
		}
	}
	return list
}

// joining says since when the group is being joined; zero if it is not.
func (m *member) joiningSince() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.left || !m.since.IsZero() {
		return time.Time{}
	}
	return m.begun
}
