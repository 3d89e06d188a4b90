package cmd

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/kcm-cli/kcm/internal/codec"
	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/metadata"
	"github.com/kcm-cli/kcm/internal/record"
	"github.com/kcm-cli/kcm/internal/replay"
	"github.com/kcm-cli/kcm/internal/settings"
	"github.com/kcm-cli/kcm/internal/source"
	"github.com/kcm-cli/kcm/internal/spec"
)

// replayOptions say what is read before the logs.
type replayOptions struct {
	path string // empty: nothing
	past *past  // what is there, once it has been looked at
}

// setReplay settles what goes together with --replay. A split that the files do
// not know begins at its start: history is to be complete.
func (o *consumeOptions) setReplay(cmd *cobra.Command, f consumeFlags) error {
	if f.replay == "" {
		return nil
	}
	for _, name := range []string{"group", "tail"} {
		if cmd.Flags().Lookup(name) != nil && given(o.env, cmd, name) != settings.Default {
			return fault.New(fault.Usage, "%s and %s exclude each other", placeOf(o.env, cmd, "replay"), placeOf(o.env, cmd, name)).
				WithHint("--state keeps positions of what is replayed")
		}
	}
	if order := cmd.Flags().Lookup("order"); order != nil && order.Value.String() == "timestamp" {
		return fault.New(fault.Usage, "%s and --order timestamp exclude each other: files are read partition by partition", placeOf(o.env, cmd, "replay"))
	}
	o.start = spec.Bound{Kind: spec.Start}
	if o.onlyFiles() {
		o.bounded, o.promised = true, true
	}
	return nil
}

// onlyFiles reports whether nothing is read besides the files.
func (o *consumeOptions) onlyFiles() bool { return o.replay.path != "" && len(o.words) == 0 && !o.all }

// openReplay looks at the files.
func (o *consumeOptions) openReplay(ctx context.Context) error {
	if o.replay.path == "" {
		return nil
	}
	o.env.run.notices.Verbosef(1, "--replay: looking at the files in %s", o.replay.path)
	files, err := replay.Open(ctx, o.replay.path)
	if err != nil {
		return err
	}
	o.replay.past = newPast(o, files)
	return nil
}

// runFiles delivers what is in the files and nothing else.
func runFiles(ctx context.Context, o *consumeOptions) error {
	sink := newConsumeSink(o)
	if err := sink.setStreams([]source.Want{{Stream: &metadata.Stream{ByTopic: true}}}); err != nil {
		return err
	}
	opts := source.Options{
		Past: o.replay.past, Offsets: o.offsets, Start: o.start, Exit: true, Bounded: true, Limit: o.limit, Timeout: o.bounds.timeout,
		Started: o.started, Sink: sink, Event: o.event,
	}
	if o.bounds.perPartition > 0 {
		opts.PerSplit = o.bounds.perPartition
	}
	if o.format.Needs().Sequence {
		opts.Workers = 1
	}
	if o.writesNothing() {
		return o.enough(source.Stats{}, nil)
	}
	written, err := redirectFiles(ctx, o, sink, &opts)
	if err != nil {
		return o.ending(ctx, source.Stats{}, err)
	}
	defer written()
	ended, end := context.WithCancelCause(ctx)
	defer end(nil)
	out := &outputs{o: o}
	if err := out.open(&opts, sink, end); err != nil {
		return err
	}
	watched, done := whileRead(ended, o.readBy())
	defer done()
	shown := o.showProgress(&opts)
	stats, err := source.RunPast(watched, opts, o.replay.past.places(o.narrow))
	err = out.finish(ctx, stats, err)
	if shown.stop(); !isClosed(err) && !out.torn {
		defer shown.summary()
	}
	return o.ending(ctx, stats, err)
}

// redirectFiles has what is in the files go to the cluster of --to.
func redirectFiles(ctx context.Context, o *consumeOptions, sink *consumeSink, opts *source.Options) (done func(), err error) {
	if o.to == nil {
		return func() {}, nil
	}
	view, err := loadView(ctx, o.env)
	if err != nil {
		return nil, err
	}
	return (&planner{o: o, sink: sink}).redirect(ctx, view, opts)
}

// past gives the engine what is in the files. It implements source.Past.
type past struct {
	o     *consumeOptions
	files *replay.Files
	keys  []replay.Key           // their index is the ID of a part
	ids   map[record.Split][]int // of the keys of a split
	mu    sync.Mutex
	found map[record.Split]bool
	told  sync.Once
}

func newPast(o *consumeOptions, files *replay.Files) *past {
	p := &past{o: o, files: files, keys: files.Keys(), ids: map[record.Split][]int{}, found: map[record.Split]bool{}}
	for id, k := range p.keys {
		p.ids[k.Split] = append(p.ids[k.Split], id)
	}
	return p
}

// Find implements source.Past. What the files have of a partition under the name
// of another stream is the same records: it will do if there is nothing else.
func (p *past) Find(stream string, s record.Split) (source.PastPart, bool) {
	ids := p.ids[s]
	if len(ids) == 0 {
		return source.PastPart{}, false
	}
	p.mu.Lock()
	p.found[s] = true
	p.mu.Unlock()
	id := ids[0]
	for _, other := range ids {
		if p.keys[other].Stream == stream {
			id = other
		}
	}
	e, _ := p.files.Extent(p.keys[id])
	return source.PastPart{ID: id, First: e.First, Next: e.Next}, true
}

// Read implements source.Past.
func (p *past) Read(ctx context.Context, from map[int]int64, give func(source.PastBlock) error) error {
	var wants []replay.Want
	ids := map[replay.Key]int{}
	for id, at := range from {
		wants = append(wants, replay.Want{Key: p.keys[id], From: at})
		ids[p.keys[id]] = id
	}
	stats, err := p.files.Read(ctx, wants, func(b *replay.Block) error {
		return give(source.PastBlock{ID: ids[b.Key], First: b.First, Next: b.Next, Size: b.Size(), Records: b.Records})
	})
	if err == nil {
		p.tell(stats)
	}
	return err
}

// tell tells what was found in the files besides records.
func (p *past) tell(stats replay.Stats) {
	n := p.o.env.run.notices
	if stats.Again > 0 {
		n.Notef("--replay: %s in the files more than once, delivered once", are(stats.Again, "record"))
	}
	if n.Verbosity() == 0 {
		return
	}
	n.Notef("--replay: %s of %s read", count(stats.Records, "record"), count(int64(p.files.Count()), "file"))
	if stats.Absent > 0 {
		n.Notef("--replay: %s between these not in the files (compaction, markers of transactions, or a filter)", are(stats.Absent, "offset"))
	}
}

func are(n int64, what string) string {
	if n == 1 {
		return "1 " + what + " is"
	}
	return strconv.FormatInt(n, 10) + " " + what + "s are"
}

// mostListed is how many partitions a line names.
const mostListed = 5

// tellUnused tells, once, what the files have of partitions that are not read.
func (p *past) tellUnused() {
	p.told.Do(func() {
		p.mu.Lock()
		var left []string
		for s := range p.ids {
			if !p.found[s] {
				left = append(left, s.String())
			}
		}
		p.mu.Unlock()
		if len(left) == 0 {
			return
		}
		slices.Sort(left)
		names := strings.Join(left[:min(len(left), mostListed)], ", ")
		if more := len(left) - mostListed; more > 0 {
			names += fmt.Sprintf(" and %d more", more)
		}
		p.o.env.run.notices.Notef("--replay: left out of the files, because not selected or not there: %s", names)
	})
}

// Places implements source.Past.
func (p *past) Places() []source.PastPlace { return p.places(narrow{}) }

// places are what the files have that the command line does not leave out.
func (p *past) places(n narrow) (list []source.PastPlace) {
	in := func(list []string, name string) bool { return len(list) == 0 || slices.Contains(list, name) }
	for _, k := range p.keys {
		if in(n.clusters, k.Cluster) && in(n.topics, k.Topic) && n.partitions.Has(k.Partition) {
			list = append(list, source.PastPlace{Stream: k.Stream, Split: k.Split})
		}
	}
	return list
}

// earlier returns what an earlier run made of a key or value, where a decoder
// would make something else of that: it is not decoded a second time.
func earlier(v *record.Value, decoder string) *record.Value {
	if v == nil || v.SchemaID == "" && codec.Repeats(decoder) {
		return nil
	}
	return v
}

// sawDecoded tells, once, that stored bytes are asked for which the files do not
// have.
func (s *consumeSink) sawDecoded(d *record.Decoded) {
	lost := func(v *record.Value) bool { return v != nil && v.SchemaID != "" }
	if s.needs.Value && !s.needs.StoredBytes || !lost(d.Key) && !lost(d.Value) || s.tellDecoded == nil {
		return
	}
	s.decoded.Do(s.tellDecoded)
}

// lacksStored refuses to copy a record as it was stored whose stored bytes are
// not in the files: a reader would not find what it expects.
func (p *toPreparation) lacksStored(r *record.Record) error {
	if r.Decoded == nil {
		return nil
	}
	to := p.w.s.target.o.to
	for _, side := range []struct {
		name     string
		kept     *record.Value
		replaced bool
	}{{"key", r.Decoded.Key, to.decodedKey}, {"value", r.Decoded.Value, to.decodedValue || to.encoded}} {
		if side.kept != nil && side.kept.SchemaID != "" && !side.replaced {
			return source.EndRun(fault.New(fault.Failed, "%s offset %d: its %s was decoded with schema %s when the file was written, so the stored bytes are not there to be copied",
				p.split, r.Offset, side.name, side.kept.SchemaID).WithHint("-s auto copies keys and values as the text that they were decoded to"))
		}
	}
	return nil
}

// completePaths has the shell offer files and directories.
func completePaths(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveDefault
}
