package offsets

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/record"
)

type logRecord = record.Record

// Translator translates commits of groups of one cluster into another's offsets.
type Translator struct {
	Flow
	Groups Selection
	// Takes says which partitions of the source are meant, and which stream they
	// belong to; nil is all of them.
	Takes func(at Partition) (stream string, ok bool)
	Via   Via
	Map   Map // kcm's own; nil is none
	// Partial has a topic of MirrorMaker 2 that cannot be read to its end taken as
	// far as it could be read.
	Partial bool
	// Patience is how long a cluster may send nothing; 0 is 15 s.
	Patience time.Duration

	upstreams map[string][3]string // by the names on the target
}

// Translation is what came of it.
type Translation struct {
	Via      Via
	Complete bool // every topic was read to its end
	Groups   []TranslatedGroup
	// Missing are the groups that were named and of which neither cluster knows
	// anything.
	Missing []string
	// Warnings are what could not be found out, or used; the rest holds.
	Warnings []error
	// Asked says that the source has answered. If it has not, only checkpoints tell
	// where groups are.
	Asked bool
}

func (t *Translator) takes(at Partition) (stream string, ok bool) {
	if t.Takes == nil {
		return "", true
	}
	return t.Takes(at)
}

// Sure reports whether everything has an offset.
func (t *Translation) Sure() bool {
	return !slices.ContainsFunc(t.Groups, func(g TranslatedGroup) bool { return !g.Sure() })
}

// Translate translates. All groups together take one reading of each topic. An
// error is about all of it; it writes nothing.
func (t *Translator) Translate(ctx context.Context) (*Translation, error) {
	s, err := t.ask(ctx)
	if err != nil {
		return nil, err
	}
	if err := t.read(ctx, s); err != nil {
		return nil, err
	}
	s.checkpoints.done()
	t.learnPolicy(s)
	t.sortSyncs(s)
	t.upstreams = map[string][3]string{}
	ends, err := t.limits(ctx, s)
	if err != nil {
		return nil, err
	}
	out := &Translation{Via: t.Via, Asked: s.asked}
	for _, name := range t.names(s) {
		if rows := t.translateGroup(s, name, ends); len(rows) > 0 {
			out.Groups = append(out.Groups, TranslatedGroup{name, rows})
		}
	}
	if err := t.byTime(ctx, s, out.Groups, ends); err != nil {
		return nil, err
	}
	for _, name := range t.Groups.Names {
		known := slices.ContainsFunc(out.Groups, func(g TranslatedGroup) bool { return g.Group == name })
		if !known && len(s.groups[name].Commits) == 0 {
			out.Missing = append(out.Missing, name)
		}
	}
	out.Complete, out.Warnings = !s.incomplete, s.warnings
	return out, nil
}

// names are the groups that have a commit on the source or a checkpoint.
func (t *Translator) names(s *sources) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(s.groups)) {
		g := s.groups[name]
		if g.Err != nil {
			s.warnings = append(s.warnings, g.Err)
		}
		if g.Kind == cluster.ShareGroup {
			s.warnings = append(s.warnings, fault.New(fault.Partial, "%s: group %q is a share group, which has no offsets to translate", t.From.Name(), name).On(t.From.Name()))
			continue
		}
		names = append(names, name)
	}
	for name, w := range s.checkpoints.words {
		if len(w.entries) > 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// row is one partition of one group on its way.
type row struct {
	Translated
	checkpoint *checkpoint
	known      bool // the source says where the group is
}

// source is the partition on the source.
func (t *Translated) source() Partition {
	return Partition{Topic: t.SourceTopic, Partition: t.Partition.Partition}
}

// translateGroup translates what a group has committed, and what it has
// checkpoints for.
func (t *Translator) translateGroup(s *sources, name string, ends map[Partition]limits) []Translated {
	var entries []int32
	if w := s.checkpoints.words[name]; w != nil {
		entries = w.entries
	}
	rows := t.committed(s, s.groups[name], len(entries))
	index := make(map[Partition]int, len(rows))
	for i := range rows {
		index[rows[i].source()] = i
	}
	for _, i := range entries {
		if e := s.checkpoints.at(i); !e.deleted {
			rows = t.checkpointed(rows, index, e)
		}
	}
	out, numbers := make([]Translated, len(rows)), make([]int64, 2*len(rows))
	var found [4]finding
	for i := range rows {
		r := &rows[i]
		end := ends[r.Partition]
		r.apply(weigh(t.findings(s, r, end, found[:0]), end), end, numbers[2*i:])
		if r.Via == ViaCheckpoints && r.Offset != nil {
			r.Metadata = r.checkpoint.metadata
		}
		out[i] = r.Translated
	}
	slices.SortFunc(out, compareTranslated)
	return out
}

// committed are rows of a group's commits, with room for more.
func (t *Translator) committed(s *sources, g Group, more int) []row {
	rows := make([]row, 0, len(g.Commits)+more)
	for at, c := range g.Commits {
		stream, ok := t.takes(at)
		switch {
		case !ok || g.Kind == cluster.ShareGroup:
		case c.Err != nil:
			s.warnings = append(s.warnings, c.Err)
		default:
			r := row{known: true}
			r.Stream, r.SourceTopic, r.SourceOffset, r.Metadata = stream, at.Topic, c.Offset, c.Metadata
			r.Topic, _ = t.downstream(at.Topic)
			r.Partition.Partition = at.Partition
			rows = append(rows, r)
		}
	}
	return rows
}

// checkpointed puts a checkpoint to its row, or makes one.
func (t *Translator) checkpointed(rows []row, index map[Partition]int, e *checkpoint) []row {
	name := t.upstream(e.at.Topic, func(topic string) bool {
		_, ok := index[Partition{Topic: topic, Partition: e.at.Partition}]
		return ok
	})
	at := Partition{Topic: name, Partition: e.at.Partition}
	if i, ok := index[at]; ok {
		rows[i].checkpoint, rows[i].Topic = e, e.at.Topic
		return rows
	}
	stream, ok := t.takes(at)
	if !ok {
		return rows
	}
	r := row{checkpoint: e}
	r.Stream, r.SourceTopic, r.SourceOffset, r.Metadata, r.Checkpointed = stream, name, e.upstream, e.metadata, true
	r.Partition = e.at
	return append(rows, r)
}

// learnPolicy finds out which policy names the topics.
func (t *Translator) learnPolicy(s *sources) {
	if t.Fixed {
		return
	}
	committed, checkpointed := map[string]bool{}, map[string]bool{}
	for _, g := range s.groups {
		for at := range g.Commits {
			committed[at.Topic] = true
		}
	}
	for e := range s.checkpoints.all {
		checkpointed[e.at.Topic] = true
	}
	t.Policy.Identity = t.identity(s.topics, committed, checkpointed)
}

// limits are the ranges of the target's partitions.
func (t *Translator) limits(ctx context.Context, s *sources) (map[Partition]limits, error) {
	seen := map[Partition]bool{}
	var of []Partition
	want := func(at Partition) {
		if !seen[at] {
			seen[at] = true
			if hasPartition(s.topics.to, at) {
				of = append(of, at)
			}
		}
	}
	for e := range s.checkpoints.all {
		want(e.at)
	}
	for _, g := range s.groups {
		for at := range g.Commits {
			name, _ := t.downstream(at.Topic)
			want(Partition{Topic: name, Partition: at.Partition})
		}
	}
	out := map[Partition]limits{}
	if len(of) == 0 {
		return out, nil
	}
	slices.SortFunc(of, ComparePartitions)
	bounds, err := t.To.Offsets(ctx, of, cluster.Start(), cluster.End())
	if err != nil {
		return nil, err
	}
	for at, b := range bounds {
		out[at] = limits{b[0].Offset, b[1].Offset, b[0].Err == nil && b[1].Err == nil}
	}
	return out, nil
}

// findings adds to a list what each way says about a row, but for that by time.
func (t *Translator) findings(s *sources, r *row, end limits, list []finding) []finding {
	if t.Via == ViaMap || t.Via == ViaAuto && t.Map != nil {
		topic, f := inMap(t.Map, r.source(), r.SourceOffset)
		f.via = ViaMap
		if topic != "" {
			r.Topic = topic
		}
		list = append(list, f)
		if f.found() {
			return list
		}
	}
	if !hasPartition(s.topics.to, r.Partition) {
		return append(list, t.absent(s, r))
	}
	list = t.mirrored(s, r, end, list)
	if r.SourceOffset == 0 { // nothing has been read, whatever was mirrored
		f := finding{status: Exact, most: unbounded}
		if r.checkpoint != nil && r.checkpoint.downstream == 0 {
			f.via = ViaCheckpoints
		}
		list = append(list, f)
	}
	return list
}

// mirrored adds what MirrorMaker 2 tells about a row.
func (t *Translator) mirrored(s *sources, r *row, end limits, list []finding) []finding {
	if t.Via == ViaAuto || t.Via == ViaSyncs {
		_, back := t.downstream(r.SourceTopic)
		places := s.syncs
		if back && s.back != nil {
			places = []*offsetSyncs{s.back}
		}
		for _, place := range places {
			f := place.find(r.source(), r.SourceOffset, end)
			f.via = ViaSyncs
			list = append(list, f)
		}
	}
	if t.Via == ViaCheckpoints || t.Via == ViaAuto && s.checkpoints.seen > 0 {
		f := finding{status: Pending, note: "there is no checkpoint for it yet"}
		if r.checkpoint != nil {
			f = r.checkpoint.find(r.SourceOffset, r.known)
		}
		f.via = ViaCheckpoints
		list = append(list, f)
	}
	return list
}

// absent says why a row has no partition on the target.
func (t *Translator) absent(s *sources, r *row) finding {
	f := finding{status: Unmapped, note: t.To.Name() + " has no topic " + r.Topic}
	if has(s.topics.to, r.Topic) {
		return finding{status: Pending, note: t.To.Name() + "/" + r.Topic + " has no such partition yet"}
	}
	r.Topic = ""
	if s.topics.from != nil && !has(s.topics.from, r.SourceTopic) {
		f.note = join(f.note, t.From.Name()+" has no topic "+r.SourceTopic+" any more")
	}
	return f
}
