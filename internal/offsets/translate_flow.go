package offsets

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/mirror"
)

// Flow is a flow of MirrorMaker 2 from one cluster to another.
type Flow struct {
	From, To       *cluster.Cluster
	Source, Target string // the clusters' aliases
	// Lost is why the source cannot be asked; nil: it can. Checkpoints can be
	// translated without it.
	Lost error
	// Policy names topics. Whether it is the identity policy is found out from the
	// topics that there are, unless Fixed.
	Policy Policy
	Fixed  bool
}

// Policy is how MirrorMaker 2 names topics.
type Policy = mirror.Policy

// flowTopics are the topics of both clusters by name. Those of the source are nil
// if it could not be asked.
type flowTopics struct {
	from, to map[string]cluster.Topic
}

func byName(list []cluster.Topic) map[string]cluster.Topic {
	m := make(map[string]cluster.Topic, len(list))
	for _, t := range list {
		m[t.Name] = t
	}
	return m
}

func has(topics map[string]cluster.Topic, name string) bool {
	_, ok := topics[name]
	return ok
}

// hasPartition reports whether a partition exists.
func hasPartition(topics map[string]cluster.Topic, at Partition) bool {
	list := topics[at.Topic].Partitions
	if int(at.Partition) < len(list) && list[at.Partition].ID == at.Partition {
		return true
	}
	return slices.ContainsFunc(list, func(p cluster.Partition) bool { return p.ID == at.Partition })
}

// identity finds out whether topics keep their names, from topics of the source
// and from what checkpoints call them on the target. Names may hold anything, so
// the greater number decides.
func (f *Flow) identity(topics flowTopics, committed map[string]bool, checkpointed map[string]bool) bool {
	renamed, kept := 0, 0
	plain := f.Policy
	plain.Identity = false
	for topic := range committed {
		switch {
		case has(topics.to, plain.Checkpointed(topic, f.Source, f.Target)):
			renamed++
		case has(topics.to, topic):
			kept++
		}
	}
	for topic := range checkpointed {
		switch _, ok := plain.Upstream(f.Source, topic); {
		case ok && !committed[topic]:
			renamed++
		case committed[topic]:
			kept++
		}
	}
	return kept > renamed
}

// upstreamNames are names that a topic which a checkpoint names may have on the
// source, the likeliest first.
func (f *Flow) upstreamNames(topic string) (list [3]string) {
	plain := f.Policy
	plain.Identity = false
	stripped, mirrored := plain.Upstream(f.Source, topic)
	back := plain.Remote(f.Target, topic) // it came from the target in the first place
	if f.Policy.Identity || !mirrored {
		return [3]string{topic, stripped, back}
	}
	return [3]string{stripped, topic, back}
}

// upstream finds the name on the source of a topic that a checkpoint names: the
// one that the group has a commit for, else the likeliest.
func (t *Translator) upstream(topic string, committed func(topic string) bool) string {
	list, ok := t.upstreams[topic]
	if !ok {
		list = t.upstreamNames(topic)
		t.upstreams[topic] = list
	}
	for _, name := range list {
		if name != "" && committed(name) {
			return name
		}
	}
	return list[0]
}

// downstream is the name on the target of a topic of the source; back says that it
// came from there.
func (f *Flow) downstream(topic string) (name string, back bool) {
	name = f.Policy.Checkpointed(topic, f.Source, f.Target)
	return name, !f.Policy.Identity && name != f.Policy.Remote(f.Source, topic)
}

// missingTopic is the error of a topic of MirrorMaker 2 that does not exist. It
// names those of its kind that there are.
func missingTopic(c *cluster.Cluster, name string, kind mirror.Kind, topics map[string]cluster.Topic) error {
	err := fault.New(fault.Failed, "%s: there is no topic %s", c.Name(), name).On(c.Name())
	var others []string
	for other := range topics {
		if other != name && mirror.Recognize(other).Kind == kind {
			others = append(others, other)
		}
	}
	slices.Sort(others)
	if len(others) == 0 {
		return err.WithHint("the cluster has no topic of that kind at all: does MirrorMaker 2 write to it, with emit.checkpoints.enabled?")
	}
	return err.WithHint("it has %s; mirror: in the metadata says by which alias and separator MirrorMaker 2 knows a cluster", strings.Join(others, ", "))
}

// hidden is the error of a topic that is left out of the list of all topics because
// it may not be seen; nil if it does not exist.
func hidden(ctx context.Context, c *cluster.Cluster, name string) error {
	topics, err := c.Topics(ctx, name)
	if err == nil {
		err = topics[0].Err
	}
	if cluster.IsMissing(err) {
		return nil
	}
	return err
}

// sources is what was read of both clusters.
type sources struct {
	topics      flowTopics
	groups      map[string]Group // of the source, with commits
	checkpoints *checkpoints
	here, there *offsetSyncs   // of the topics on the source and on the target, as they were read
	syncs       []*offsetSyncs // of the flow, by the place where they were found
	back        *offsetSyncs   // of the flow the other way, turned round; may be nil
	warnings    []error
	incomplete  bool
	asked       bool // the source has answered
}

// ask asks both clusters what there is. The error is the target's: without it
// there is nothing to translate to.
func (t *Translator) ask(ctx context.Context) (*sources, error) {
	s := &sources{}
	var all sync.WaitGroup
	var to []cluster.Topic
	var err, fromErr error
	all.Go(func() { to, err = t.To.Topics(ctx) })
	all.Go(func() {
		var from []cluster.Topic
		if fromErr = t.Lost; fromErr != nil {
			return
		}
		if from, fromErr = t.From.Topics(ctx); fromErr == nil {
			s.topics.from = byName(from)
			var groups []Group
			groups, fromErr = Groups(ctx, t.From, t.Groups, Detail{Commits: true})
			s.groups = map[string]Group{}
			for _, g := range groups {
				s.groups[g.Name] = g
			}
		}
	})
	all.Wait()
	if err != nil {
		return nil, err
	}
	s.topics.to = byName(to)
	s.asked = fromErr == nil
	if fromErr != nil {
		if t.Via == ViaSyncs || t.Via == ViaTimestamp || t.Via == ViaMap {
			return nil, fromErr
		}
		s.warnings = append(s.warnings, fromErr)
	}
	return s, nil
}

// read reads the topics of MirrorMaker 2 that the way of translation is about.
func (t *Translator) read(ctx context.Context, s *sources) error {
	s.checkpoints = newCheckpoints(t.Groups.Takes)
	if t.Via == ViaAuto || t.Via == ViaCheckpoints {
		if err := t.readCheckpoints(ctx, s); err != nil {
			return err
		}
	}
	if t.Via == ViaAuto || t.Via == ViaSyncs {
		return t.readSyncs(ctx, s)
	}
	return nil
}

// tolerate makes a warning of an error where that is allowed: with ViaAuto, where
// other ways are left, or where a part is enough.
func (t *Translator) tolerate(s *sources, err error, partly bool) error {
	switch {
	case err == nil:
		return nil
	case partly && t.Partial:
		s.incomplete = true
	case partly || t.Via != ViaAuto:
		return err
	}
	s.warnings = append(s.warnings, err)
	return nil
}

func (t *Translator) readCheckpoints(ctx context.Context, s *sources) error {
	name := t.Policy.CheckpointsTopic(t.Source)
	topic, ok := s.topics.to[name]
	if !ok {
		if err := hidden(ctx, t.To, name); err != nil {
			return t.tolerate(s, err, false)
		}
		return t.tolerate(s, missingTopic(t.To, name, mirror.Checkpoints, s.topics.to), false)
	}
	l := t.reader(t.To, func(at Partition, r *logRecord) bool { s.checkpoints.add(at.Partition, r); return true })
	err := l.readTopic(ctx, topic)
	if err := t.tolerate(s, incomplete(err, t.To, name), isHalf(err)); err != nil {
		return err
	}
	if err == nil && s.checkpoints.seen == 0 {
		return t.tolerate(s, fault.New(fault.Failed, "%s/%s is empty: no checkpoint has been written yet", t.To.Name(), name).
			On(t.To.Name()).WithHint("MirrorMaker 2 writes checkpoints of the groups that its setting groups takes, once their topics are mirrored"), false)
	}
	s.warn(t.To, name, s.checkpoints.damage)
	return nil
}

// isHalf reports whether an error came while a topic was read; others say that
// it may not be read at all.
func isHalf(err error) bool { return err != nil && fault.KindOf(err) != fault.Auth }

// incomplete says that a topic was not read to its end.
func incomplete(err error, c *cluster.Cluster, topic string) error {
	if !isHalf(err) {
		return err
	}
	return fault.New(fault.KindOf(err), "%s/%s was not read to its end: %w", c.Name(), topic, err).On(c.Name()).
		WithHint("--allow-partial takes what has been read")
}

// warn tells of records that could not be used.
func (s *sources) warn(c *cluster.Cluster, topic string, d Damage) {
	add := func(n int, what string) {
		if n > 0 {
			s.warnings = append(s.warnings, fault.New(fault.Partial, "%s/%s: %s %s", c.Name(), topic, records(n), what).On(c.Name()))
		}
	}
	add(d.Malformed, "passed over: malformed")
	add(d.Version, "passed over: of a version that this program does not know")
	add(d.Trailing, "with more bytes than the format has; they mean nothing here")
}

func records(n int) string {
	if n == 1 {
		return "1 record"
	}
	return number(int64(n)) + " records"
}

// readSyncs reads offset syncs, which lie on the source or on the target. On the
// target their topic is called like the one of the flow the other way.
func (t *Translator) readSyncs(ctx context.Context, s *sources) error {
	atSource, atTarget := t.Policy.OffsetSyncsTopic(t.Target), t.Policy.OffsetSyncsTopic(t.Source)
	here, err := t.readSyncTopic(ctx, s, t.From, s.topics.from, atSource)
	if err != nil {
		return err
	}
	there, err := t.readSyncTopic(ctx, s, t.To, s.topics.to, atTarget)
	if err != nil {
		return err
	}
	s.here, s.there = here, there
	if here == nil && there == nil {
		err := fault.New(fault.Failed, "there are no offset syncs: neither %s/%s nor %s/%s exists", t.From.Name(), atSource, t.To.Name(), atTarget).
			WithHint("mirror: in the metadata says by which alias and separator MirrorMaker 2 knows a cluster")
		return t.tolerate(s, err, false)
	}
	return nil
}

func (t *Translator) readSyncTopic(ctx context.Context, s *sources, c *cluster.Cluster, topics map[string]cluster.Topic, name string) (*offsetSyncs, error) {
	topic, ok := topics[name]
	if !ok {
		if topics == nil { // the cluster was not asked
			return nil, nil
		}
		return nil, t.tolerate(s, hidden(ctx, c, name), false)
	}
	syncs := newOffsetSyncs()
	err := t.reader(c, func(_ Partition, r *logRecord) bool { syncs.add(r); return true }).readTopic(ctx, topic)
	if err != nil {
		if err := t.tolerate(s, incomplete(err, c, name), isHalf(err)); err != nil {
			return nil, err
		}
	}
	s.warn(c, name, syncs.damage)
	return syncs, nil
}

// sortSyncs finds out of which flow the syncs are that were read; those of the flow
// the other way are about topics of the target, and taken for ours they would lead
// anywhere. How topics are named has to be known.
func (t *Translator) sortSyncs(s *sources) {
	back := newOffsetSyncs()
	for _, place := range []*offsetSyncs{s.here, s.there} {
		if place == nil {
			continue
		}
		forth := newOffsetSyncs()
		for at, list := range place.of {
			switch t.direction(s, at.Topic, place == s.here) {
			case flowForth:
				forth.of[at] = list
			case flowBack:
				back.of[at] = list
			default:
				forth.unclear[at] = true
			}
		}
		s.syncs = append(s.syncs, forth)
	}
	s.back = back.reversed(func(topic string) string { return t.Policy.Remote(t.Target, topic) })
	if t.Policy.Identity && len(s.back.of) > 0 {
		s.syncs = append(s.syncs, s.back)
	}
}

// direction says of which flow the syncs of a topic are, where they lie in the topic
// of the source (own) or of the target. Flows the two ways may use either. Where both
// clusters have a topic of that name, the checkpoints topics tell which flows there
// are.
func (t *Translator) direction(s *sources, topic string, own bool) flow {
	forth := has(s.topics.to, t.Policy.CheckpointsTopic(t.Source))
	back := has(s.topics.from, t.Policy.CheckpointsTopic(t.Target))
	switch {
	case !has(s.topics.to, topic):
		return flowForth
	case s.topics.from == nil:
		return flowUnclear
	case !has(s.topics.from, topic):
		return flowBack
	case forth != back && forth:
		return flowForth
	case forth != back:
		return flowBack
	case t.Policy.Identity:
		return flowUnclear
	case own || s.here == nil:
		return flowForth
	default:
		return flowBack
	}
}

// flow is one of the two ways between clusters.
type flow uint8

const (
	flowUnclear flow = iota
	flowForth
	flowBack
)

func (t *Translator) reader(c *cluster.Cluster, take func(at Partition, r *logRecord) bool) *logReader {
	patience := t.Patience
	if patience == 0 {
		patience = 15 * time.Second
	}
	return &logReader{c: c, patience: patience, take: take}
}
