package offsets

import (
	"context"
	"slices"
	"strings"
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
	rows := t.rows(s)
	limits, err := t.limits(ctx, s, rows)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		r.findings = t.findings(s, r)
	}
	if err := t.byTime(ctx, s, rows, limits); err != nil {
		return nil, err
	}
	out := &Translation{Via: t.Via, Complete: !s.incomplete, Warnings: s.warnings, Asked: s.asked}
	out.Groups = t.collect(rows, limits)
	for _, name := range t.Groups.Names {
		if !slices.ContainsFunc(out.Groups, func(g TranslatedGroup) bool { return g.Group == name }) && !s.committed(name) {
			out.Missing = append(out.Missing, name)
		}
	}
	return out, nil
}

// committed reports whether a group has any commit on the source.
func (s *sources) committed(name string) bool {
	return slices.ContainsFunc(s.groups, func(g Group) bool { return g.Name == name && len(g.Commits) > 0 })
}

// row is one partition of one group on its way.
type row struct {
	Translated
	group      string
	checkpoint *checkpoint
	position   int64 // that is translated
	known      bool  // the source says so
	findings   []finding
}

// source is the partition on the source.
func (r *row) source() Partition {
	return Partition{Topic: r.SourceTopic, Partition: r.Partition.Partition}
}

type rowKey struct {
	group string
	at    Partition // of the source
}

// rows are what has to be translated: what groups have committed, and what they
// have checkpoints for.
func (t *Translator) rows(s *sources) []*row {
	standing := s.checkpoints.standing()
	t.learnPolicy(s, standing)
	index := map[rowKey]*row{}
	var rows []*row
	add := func(r *row) {
		index[rowKey{r.group, r.source()}] = r
		rows = append(rows, r)
	}
	for _, g := range s.groups {
		if g.Err != nil {
			s.warnings = append(s.warnings, g.Err)
		}
		if g.Kind == cluster.ShareGroup {
			s.warnings = append(s.warnings, fault.New(fault.Partial, "%s: group %q is a share group, which has no offsets to translate", t.From.Name(), g.Name).On(t.From.Name()))
			continue
		}
		for at, c := range g.Commits {
			if stream, ok := t.takes(at); ok && c.Err == nil {
				r := &row{group: g.Name, position: c.Offset, known: true}
				r.Stream, r.SourceTopic, r.SourceOffset, r.Metadata = stream, at.Topic, c.Offset, c.Metadata
				r.Topic, _ = t.downstream(at.Topic)
				r.Partition.Partition = at.Partition
				add(r)
			} else if ok {
				s.warnings = append(s.warnings, c.Err)
			}
		}
	}
	for i := range standing {
		if r := t.checkpointed(&standing[i], index); r != nil {
			add(r)
		}
	}
	return rows
}

// checkpointed puts a checkpoint to its row, or makes one.
func (t *Translator) checkpointed(e *checkpoint, index map[rowKey]*row) *row {
	name := t.upstream(e.at.Topic, func(topic string) bool {
		return index[rowKey{e.group, Partition{Topic: topic, Partition: e.at.Partition}}] != nil
	})
	at := Partition{Topic: name, Partition: e.at.Partition}
	if r := index[rowKey{e.group, at}]; r != nil {
		r.checkpoint, r.Topic = e, e.at.Topic
		if !r.known {
			r.Note = "two topics of the target have checkpoints that may be about it"
		}
		return nil
	}
	stream, ok := t.takes(at)
	if !ok {
		return nil
	}
	r := &row{group: e.group, checkpoint: e, position: e.upstream}
	r.Stream, r.SourceTopic, r.SourceOffset, r.Metadata, r.Checkpointed = stream, name, e.upstream, e.metadata, true
	r.Partition = e.at
	return r
}

// learnPolicy finds out which policy names the topics.
func (t *Translator) learnPolicy(s *sources, standing []checkpoint) {
	if t.Fixed {
		return
	}
	committed, checkpointed := map[string]bool{}, map[string]bool{}
	for _, g := range s.groups {
		for at := range g.Commits {
			committed[at.Topic] = true
		}
	}
	for i := range standing {
		checkpointed[standing[i].at.Topic] = true
	}
	t.Policy.Identity = t.identity(s.topics, committed, checkpointed)
}

// limits are the ranges of the target's partitions.
func (t *Translator) limits(ctx context.Context, s *sources, rows []*row) (map[Partition]limits, error) {
	seen := map[Partition]bool{}
	var of []Partition
	for _, r := range rows {
		if at := r.Partition; !seen[at] && hasPartition(s.topics.to, at) {
			seen[at] = true
			of = append(of, at)
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

// findings are what each way says about a row, but for that by time.
func (t *Translator) findings(s *sources, r *row) (list []finding) {
	if t.Via == ViaMap || t.Via == ViaAuto && t.Map != nil {
		topic, f := inMap(t.Map, r.source(), r.position)
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
	list = append(list, t.mirrored(s, r)...)
	if r.position == 0 { // nothing has been read, whatever was mirrored
		f := finding{status: Exact, most: unbounded}
		if r.checkpoint != nil && r.checkpoint.downstream == 0 {
			f.via = ViaCheckpoints
		}
		list = append(list, f)
	}
	return list
}

// mirrored is what MirrorMaker 2 tells about a row.
func (t *Translator) mirrored(s *sources, r *row) (list []finding) {
	if t.Via == ViaAuto || t.Via == ViaSyncs {
		_, back := t.downstream(r.SourceTopic)
		places := s.syncs
		if back && s.back != nil {
			places = []*offsetSyncs{s.back}
		}
		for _, place := range places {
			f := place.find(r.source(), r.position)
			f.via = ViaSyncs
			list = append(list, f)
		}
	}
	if t.Via == ViaCheckpoints || t.Via == ViaAuto && s.checkpoints.seen > 0 {
		f := finding{status: Pending, note: "there is no checkpoint for it yet"}
		if r.checkpoint != nil {
			f = r.checkpoint.find(r.position, r.known)
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
	r.sourceMissing = s.topics.from != nil && !has(s.topics.from, r.SourceTopic)
	r.Topic = ""
	if r.sourceMissing {
		f.note = join(f.note, t.From.Name()+" has no topic "+r.SourceTopic+" any more")
	}
	return f
}

// collect makes the answer of the rows.
func (t *Translator) collect(rows []*row, ends map[Partition]limits) []TranslatedGroup {
	byGroup := map[string]*TranslatedGroup{}
	for _, r := range rows {
		end := ends[r.Partition]
		r.apply(settle(r.findings, end), end)
		if r.Via == ViaCheckpoints && r.Offset != nil {
			r.Metadata = r.checkpoint.metadata
		}
		g := byGroup[r.group]
		if g == nil {
			g = &TranslatedGroup{Group: r.group}
			byGroup[r.group] = g
		}
		g.Partitions = append(g.Partitions, r.Translated)
	}
	out := make([]TranslatedGroup, 0, len(byGroup))
	for _, g := range byGroup {
		slices.SortFunc(g.Partitions, compareTranslated)
		out = append(out, *g)
	}
	slices.SortFunc(out, func(a, b TranslatedGroup) int { return strings.Compare(a.Group, b.Group) })
	return out
}
