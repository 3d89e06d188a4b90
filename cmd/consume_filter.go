package cmd

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kcm-cli/kcm/internal/codec"
	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/filter"
	"github.com/kcm-cli/kcm/internal/output"
	"github.com/kcm-cli/kcm/internal/record"
	"github.com/kcm-cli/kcm/internal/settings"
	"github.com/kcm-cli/kcm/internal/source"
)

// filterFlags are the flags that leave records out.
type filterFlags struct {
	grep  []string
	where string
}

func (f *filterFlags) add(fs *pflag.FlagSet) {
	fs.StringArrayVarP(&f.grep, "grep", "G", nil, "only records with a match of `[!]SEL:RE`, such as v:error; see kcm help filters")
	fs.StringVarP(&f.where, "where", "w", "", "only records for which a jq expression holds: `EXPR|@FILE`; see kcm help filters")
}

// compile makes the filter; nil is none.
func (f *filterFlags) compile(env *Env, cmd *cobra.Command) (*filter.Filter, error) {
	o := filter.Options{Grep: f.grep, Where: f.where}
	if path, ok := strings.CutPrefix(f.where, "@"); ok {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, fault.New(fault.Usage, "--where: %w", err)
		}
		o.Where, o.File = string(text), path
	}
	if o.Where == "" && given(env, cmd, "where") != settings.Default {
		o.Where = " " // which is an expression, but an empty one
	}
	return filter.New(o)
}

// completeGrep offers the selectors.
func completeGrep(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	const noSpace = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	not := ""
	for _, prefix := range []string{"!", "not:"} {
		if strings.HasPrefix(word, prefix) {
			not = prefix
		}
	}
	return beginning(word, prefixedAll(not, filter.Selectors(), ":")), noSpace
}

func prefixedAll(before string, words []string, behind string) []string {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = before + w + behind
	}
	return list
}

// judging is what a worker needs to filter. The zero judging keeps everything.
type judging struct {
	filter   *filter.Worker
	envelope output.Format
}

func newJudging(f *filter.Filter) judging {
	if f == nil {
		return judging{}
	}
	j := judging{filter: f.Worker()}
	if f.NeedsEnvelope() {
		j.envelope, _ = output.NewFormat(output.FormatJSON, output.Options{}) // without options it cannot fail
	}
	return j
}

// judge makes the judge for one split and stream; nil keeps everything.
func (j judging) judge(stream string, split record.Split, decoders codec.Choice) *filter.Judge {
	if j.filter == nil {
		return nil
	}
	o := filter.Origin{Stream: stream, Split: split, Decoders: decoders}
	if j.envelope != nil {
		o.Envelope = j.envelope.ForSplit(stream, split)
	}
	return j.filter.Judge(o)
}

// stopWhen says when nobody waits for a verdict any more.
func (j judging) stopWhen(stopped func() bool) {
	if j.filter != nil {
		j.filter.StopWhen(stopped)
	}
}

// rejected reports whether none of the judges keeps anything.
func rejected(judges []*filter.Judge) bool {
	for _, j := range judges {
		if j == nil || !j.RejectsAll() {
			return false
		}
	}
	return len(judges) > 0
}

// keeps asks the filters about one record.
func (p *preparation) keeps(r *record.Record, stream int) bool {
	judge := p.judges[stream]
	if judge == nil {
		return true
	}
	if judge.RejectsAll() {
		return false
	}
	kept, err := judge.Keeps(r, p.judged)
	if err != nil && !errors.Is(err, filter.ErrStopped) {
		p.block.Failed++
		if p.block.Failure == "" {
			p.block.Failure = fmt.Sprintf("%s offset %d: %v", p.split, r.Offset, err)
			p.w.s.filterFailed(p.block.Failure)
		}
	}
	return kept
}

// filterFailed tells of the first failure at once when nobody knows when the run
// ends: an expression that fails for everything would look like a silent stream.
func (s *consumeSink) filterFailed(failure string) {
	if s.tellFailure != nil {
		s.failed.Do(func() { s.tellFailure(failure) })
	}
}

// failures sums up the records for which -w failed.
func failures(stats source.Stats) string {
	return fmt.Sprintf("%s: --where failed, first at %s", count(stats.Failed, "record"), stats.Failure)
}

// decoding decodes the key and value of one record when they are asked for. It
// implements filter.Decoded.
type decoding struct {
	pair             codec.Pair
	choice           codec.Choice // that it is made of
	rec              *record.Record
	scratch          []byte
	key, value       record.Value
	hasKey, hasValue bool
}

func (d *decoding) begin(pair codec.Pair, choice codec.Choice, rec *record.Record) {
	d.pair, d.choice, d.rec, d.scratch = pair, choice, rec, d.scratch[:0]
	d.hasKey, d.hasValue = false, false
}

// Key implements filter.Decoded.
func (d *decoding) Key() *record.Value {
	if d.rec.Decoded != nil && !d.hasKey {
		if kept := earlier(d.rec.Decoded.Key, d.choice.Key); kept != nil {
			d.key, d.hasKey = *kept, true
		}
	}
	if !d.hasKey {
		d.scratch, d.hasKey = d.pair.Key.Decode(&d.key, d.scratch, d.rec.Key, d.rec), true
	}
	return &d.key
}

// Value implements filter.Decoded.
func (d *decoding) Value() *record.Value {
	if d.rec.Decoded != nil && !d.hasValue {
		if kept := earlier(d.rec.Decoded.Value, d.choice.Value); kept != nil {
			d.value, d.hasValue = *kept, true
		}
	}
	if !d.hasValue {
		d.scratch, d.hasValue = d.pair.Value.Decode(&d.value, d.scratch, d.rec.Value, d.rec), true
	}
	return &d.value
}
