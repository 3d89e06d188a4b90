package cmd

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/output"
	"github.com/kcm-cli/kcm/internal/output/files"
	"github.com/kcm-cli/kcm/internal/record"
	"github.com/kcm-cli/kcm/internal/settings"
	"github.com/kcm-cli/kcm/internal/source"
	"github.com/kcm-cli/kcm/internal/state"
)

// fileFlags are consume's flags for files and the state file, as they were typed.
type fileFlags struct {
	out         string
	append      bool
	overwrite   bool
	rotateSize  string
	rotateEvery time.Duration
	state       string
}

// fileOptions are what a run needs of them.
type fileOptions struct {
	template  *files.Template // nil: records go to stdout
	append    bool
	overwrite bool
	size      int64 // of a file before the next one; 0 is any
	every     time.Duration
	lineEnd   string // of every record; empty is unknown
	format    string // of the records, as the state file tells it
	state     string // path of the state file; empty is none
}

func addFileFlags(fs *pflag.FlagSet, f *fileFlags) {
	fs.StringVarP(&f.out, "out", "O", "", "write to files instead of stdout: a `PATH` with {stream} {cluster} {topic} {partition} {date} {hour}; .gz and .zst compress")
	fs.BoolVar(&f.append, "append", false, "with -O, go on with files that exist")
	fs.BoolVar(&f.overwrite, "overwrite", false, "with -O, replace files that exist, when all is written")
	fs.StringVar(&f.rotateSize, "rotate-size", "", "with -O, begin the next file before one grows beyond `SIZE`, such as 100MB")
	fs.DurationVar(&f.rotateEvery, "rotate-every", 0, "with -O, begin the next file when one is `TIME` old")
	fs.StringVar(&f.state, "state", "", "keep positions in `FILE`; the next run with it goes on there")
}

// fileRivals adds the pairs of flags for files that contradict each other.
func (f *consumeFlags) fileRivals(add func(both bool, a, b rival)) {
	overwrite := rival{"overwrite", "--overwrite", func() { f.files.overwrite = false }}
	add(f.files.append && f.files.overwrite, rival{"append", "--append", func() { f.files.append = false }}, overwrite)
	add(f.files.state != "" && f.files.overwrite, rival{"state", "--state", func() { f.files.state = "" }}, overwrite)
}

// setFiles decides where records and positions are written.
func (o *consumeOptions) setFiles(cmd *cobra.Command, f consumeFlags) (err error) {
	if o.files.state = f.files.state; o.files.state != "" && given(o.env, cmd, "on-gap") == settings.Default {
		o.onGap = source.GapStop // what is lost must not be passed over unseen
	}
	if err := checkStatePath(f.files.state); err != nil {
		return err
	}
	if every := f.files.rotateEvery; every < 0 || every == 0 && given(o.env, cmd, "rotate-every") != settings.Default {
		return fault.New(fault.Usage, "%s %s is not allowed: a time is more than 0", placeOf(o.env, cmd, "rotate-every"), every)
	}
	if f.files.rotateSize != "" {
		if o.files.size, err = parseSize(placeOf(o.env, cmd, "rotate-size"), f.files.rotateSize); err != nil {
			return err
		}
	}
	o.files.append, o.files.overwrite, o.files.every = f.files.append, f.files.overwrite, f.files.rotateEvery
	switch {
	case given(o.env, cmd, "out") == settings.Default || f.files.out == "-":
		return o.needsFiles(cmd)
	case slices.Contains(output.Formats(), f.files.out):
		return fault.New(fault.Usage, "-O %s would be a file of that name", f.files.out).
			WithHint("-f %s is the format; -O ./%s is the file", f.files.out, f.files.out)
	}
	o.files.template, err = files.Parse(f.files.out, extensionOf(f))
	return err
}

// setFormat notes what records look like.
func (o *fileOptions) setFormat(name string, delimiter *string) {
	switch o.format = name; {
	case delimiter == nil && !strings.ContainsAny(name, `%\`):
		o.lineEnd = "\n"
	case delimiter != nil && name != output.FormatJSON:
		o.format += " --delimiter " + strconv.Quote(*delimiter)
	}
}

// checkStatePath refuses what is no name of a state file.
func checkStatePath(path string) error {
	switch {
	case path == "-":
		return fault.New(fault.Usage, "--state - is no file: positions are not written to stdout").WithHint("--state ./- is a file of that name")
	case placeholder.MatchString(path):
		return fault.New(fault.Usage, "--state %s: there are no placeholders in it", path).WithHint("one state file is for all that a run reads")
	}
	return nil
}

// needsFiles refuses flags that mean nothing on stdout.
func (o *consumeOptions) needsFiles(cmd *cobra.Command) error {
	for _, name := range []string{"append", "overwrite", "rotate-size", "rotate-every"} {
		if given(o.env, cmd, name) == settings.CommandLine {
			return fault.New(fault.Usage, "--%s needs -O PATH", name)
		}
	}
	return nil
}

// extensionOf is what the names of files end in that only a directory is given
// for.
func extensionOf(f consumeFlags) string {
	if f.json || f.format == "" || f.format == output.FormatJSON || f.format == output.FormatKcatJSON {
		return ".json"
	}
	return ".txt"
}

// outputs are the files and the state file of a run. The zero outputs are stdout
// and no state.
type outputs struct {
	o     *consumeOptions
	sink  *fileSink   // nil: stdout
	state *state.File // nil is none
	fail  context.CancelCauseFunc
	torn  bool // what was written last is not there, and nobody knows how much that is
}

// open opens the state file, brings the files that it knows in order, and makes
// opts write and keep. Fail ends the run.
func (u *outputs) open(opts *source.Options, format *consumeSink, fail context.CancelCauseFunc) error {
	o := u.o
	u.fail = fail
	fo := files.Options{
		Template: o.files.template, Append: o.files.append, Overwrite: o.files.overwrite, RotateSize: o.files.size, RotateEvery: o.files.every,
		LineEnd: o.files.lineEnd, Now: o.env.Now, Fail: fail, Durable: opts.Group != "",
	}
	if o.files.state != "" {
		if err := u.openState(&fo, opts); err != nil {
			return err
		}
	}
	if fo.Template == nil {
		return nil
	}
	sink, err := files.New(fo)
	if err != nil {
		u.close()
		return err
	}
	u.sink = &fileSink{format: format, files: sink}
	opts.Sink = u.sink
	return nil
}

func (u *outputs) openState(fo *files.Options, opts *source.Options) (err error) {
	if u.state, err = state.Open(u.o.files.state, state.Options{Retain: opts.Retain, Now: u.o.env.Now}); err != nil {
		return err
	}
	opts.Keeper, fo.Durable = u, true
	if err = u.bind(); err == nil {
		err = u.takeOver(fo)
	}
	if err != nil {
		u.close()
	}
	return err
}

// takeOver brings the files that the state knows in order.
func (u *outputs) takeOver(fo *files.Options) (err error) {
	known := u.state.Out()
	list := make([]files.File, 0, len(known.Files))
	for _, f := range known.Files {
		list = append(list, files.File(f))
	}
	path := ""
	if fo.Template != nil {
		path = fo.Template.String()
		fo.Declare = func(fresh []files.File) error { return u.state.Declare(path, u.o.files.format, listed(fresh)) }
	}
	if fo.Template != nil && path == known.Path {
		err = u.sameFormat(known)
	}
	// After an orderly end the files of another -O are the user's own business.
	if err == nil && (!known.Closed || path == known.Path) {
		err = files.Restore(list, known.Closed)
	}
	if err == nil && fo.Template != nil && fo.Template.One() && u.isState(path) {
		err = fault.New(fault.Usage, "-O and --state name the same file")
	}
	if err != nil {
		return err
	}
	if fo.Former = list; path == known.Path {
		fo.Known, fo.Former, fo.Dropped = list, nil, known.Dropped
	}
	return nil
}

// sameFormat refuses to go on with files in another format than they have.
func (u *outputs) sameFormat(known state.Out) error {
	if known.Format == "" || known.Format == u.o.files.format || len(known.Files) == 0 {
		return nil
	}
	return fault.New(fault.Refused, "%s would get records of another format: the state file says that it has %s, and this run writes %s",
		known.Path, known.Format, u.o.files.format).WithHint("go on with that format, or in another -O")
}

// isState reports whether a path is that of the state file or its lock.
func (u *outputs) isState(path string) bool {
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(dir, filepath.Base(path))
	}
	return path == u.state.Path() || path == u.state.Path()+".lock"
}

func listed(list []files.File) []state.OutFile {
	out := make([]state.OutFile, 0, len(list))
	for _, f := range list {
		out = append(out, state.OutFile(f))
	}
	return out
}

// Find implements source.Keeper. A state that is not for this world ends the run.
func (u *outputs) Find(p source.Place) (source.Mark, bool, error) {
	m, ok, err := u.state.Find(placeOfState(p))
	if err != nil {
		u.fail(fault.Told{Err: err})
		return source.Mark{}, false, err
	}
	return source.Mark{Place: p, TopicID: m.TopicID, Offset: m.Offset, Epoch: m.Epoch, Left: m.Left}, ok, nil
}

// Keep implements source.Keeper.
func (u *outputs) Keep(marks []source.Mark) error {
	list := make([]state.Mark, 0, len(marks))
	for _, m := range marks {
		list = append(list, state.Mark{Place: placeOfState(m.Place), TopicID: m.TopicID, Offset: m.Offset, Epoch: m.Epoch, Left: m.Left})
	}
	if u.o.to != nil {
		u.state.Wrote(u.o.to.reached.written())
	}
	return u.state.Keep(list, u.out(false))
}

func placeOfState(p source.Place) state.Place {
	return state.Place{ClusterID: p.ClusterID, Split: p.Split, Stream: p.Stream}
}

// out is what the state file is to say of the files; nil leaves that as it is.
func (u *outputs) out(closed bool) *state.Out {
	if u.sink == nil {
		return nil
	}
	return &state.Out{Path: u.o.files.template.String(), Format: u.o.files.format, Closed: closed, Dropped: u.sink.files.Dropped(), Files: listed(u.sink.listed)}
}

// finish ends the files, given how the run ended, and returns how it ended after
// all.
func (u *outputs) finish(ctx context.Context, stats source.Stats, err error) error {
	defer u.close()
	if u.sink == nil {
		return err
	}
	complete := err == nil || u.o.stoppedAsItShould(ctx, err)
	tooFew := u.o.files.overwrite && u.o.enough(stats, nil) != nil
	list, failed := u.sink.files.Finish(complete && !tooFew)
	if failed == nil && u.state != nil {
		u.sink.listed = list
		failed = u.state.Keep(nil, u.out(true))
	}
	u.torn = failed != nil
	switch {
	case failed != nil && complete:
		return failed
	case failed != nil && failed.Error() != err.Error():
		u.o.env.run.notices.Warnf("%v", failed)
	case failed == nil && u.o.files.overwrite:
		u.tellKept(complete, tooFew, stats)
	}
	return err
}

// tellKept tells that files have not been overwritten.
func (u *outputs) tellKept(complete, tooFew bool, stats source.Stats) {
	switch {
	case !complete && stats.Records > 0:
		u.o.env.run.notices.Warnf("nothing was overwritten: not all records were read")
	case complete && tooFew:
		u.o.env.run.notices.Warnf("nothing was overwritten: there are too few records")
	}
}

// stoppedAsItShould reports whether a run that has no end was stopped by a signal
// and by nothing else.
func (o *consumeOptions) stoppedAsItShould(ctx context.Context, err error) bool {
	_, signaled := stoppedBy(ctx)
	own, ok := errors.AsType[fault.Signaled](err)
	return signaled && !o.promised && (err == nil || ok && own.Signal != nil)
}

func (u *outputs) close() {
	if u.state != nil {
		u.state.Close()
	}
}

// fileSink writes to files what a consumeSink formats.
type fileSink struct {
	format  *consumeSink
	files   *files.Sink
	listed  []files.File // at the last Sync
	loads   []*files.Load
	divider *files.Divider // of what is put in order; nil until there is some
}

// Worker implements source.Sink.
func (s *fileSink) Worker() source.Worker {
	w := s.format.worker()
	w.divider = s.files.NewDivider()
	return w
}

// divides reports whether the records of the chunk are parted by their files
// when they are formatted.
func (p *preparation) divides() bool { return p.w.divider != nil && !p.cuts }

// orderedLoad are records that are put in order by time before they are parted
// by their files.
type orderedLoad struct {
	streams  []string
	split    record.Split
	data     []byte
	cuts     []source.Cut
	from, to int // of the cuts
}

// Cut implements source.Cutter.
func (l *orderedLoad) Cut(from, to int) (load any, size int) {
	part := *l
	part.from, part.to = from, to
	return &part, 0
}

// part parts the records by their files.
func (l *orderedLoad) part(d *files.Divider) *files.Load {
	d.Begin(nil, l.streams, l.split)
	begin := 0
	if l.from > 0 {
		begin = l.cuts[l.from-1].End
	}
	for _, c := range l.cuts[l.from:l.to] {
		d.Added(append(d.Buffer(c.Stream, c.Time), l.data[begin:c.End]...))
		begin = c.End
	}
	_, load := d.End()
	return load
}

// Write implements source.Sink.
func (s *fileSink) Write(blocks []source.Block) error {
	s.loads = s.loads[:0]
	for _, b := range blocks {
		switch l := b.Load.(type) {
		case *files.Load:
			s.loads = append(s.loads, l)
		case *orderedLoad:
			if s.divider == nil {
				s.divider = s.files.NewDivider()
			}
			s.loads = append(s.loads, l.part(s.divider))
		}
	}
	return s.files.Write(s.loads)
}

// Sync implements source.Syncer.
func (s *fileSink) Sync() (err error) {
	s.listed, err = s.files.Checkpoint()
	return err
}
