package cmd

import (
	"fmt"
	"slices"
	"testing"

	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/offsets"
)

// What a translation would change: never back unasked, and nothing that is as it
// should be.
func TestChangesOfATranslation(t *testing.T) {
	at := func(p int32) offsets.Partition { return offsets.Partition{Topic: "east.orders", Partition: p} }
	row := func(p int32, offset int64, metadata string) offsets.Translated {
		return offsets.Translated{Partition: at(p), SourceTopic: "orders", Offset: &offset, Status: offsets.Exact, Metadata: metadata}
	}
	lost := fault.New(fault.Unreachable, "west: gone")
	d := &translationDoc{
		o: &translateOptions{to: "west"}, To: "west",
		got: &offsets.Translation{Groups: []offsets.TranslatedGroup{
			{Group: "g", Partitions: []offsets.Translated{
				row(0, 10, ""), row(1, 10, ""), row(2, 10, ""), row(3, 10, "new"), row(4, 10, ""), {Partition: at(5), Status: offsets.Pending},
			}},
			{Group: "h", Partitions: []offsets.Translated{row(0, 0, "")}},
			{Group: "i", Partitions: []offsets.Translated{row(0, 7, "")}},
		}},
		prior: map[string]offsets.Group{
			"g": {Name: "g", Commits: map[offsets.Partition]offsets.Commit{
				at(0): {Offset: 5, Epoch: 3}, at(1): {Offset: 10}, at(2): {Offset: 11}, at(3): {Offset: 10, Metadata: "old"}, at(5): {Offset: 1},
			}},
			"i": {Name: "i", Err: lost},
		},
	}
	shown := func() (lines []string) {
		for c := range d.changes {
			prior := int64(-1)
			if c.Prior != nil {
				prior = c.Prior.Offset
			}
			lines = append(lines, fmt.Sprint(c.Cluster, " ", c.Group, "/", c.Partition.Partition, " ", prior, "->", c.New.Offset, " ", c.New.Epoch, " ", c.New.Metadata, c.Err != nil))
		}
		return lines
	}
	want := []string{"west g/0 5->10 -1 false", "west g/3 10->10 -1 newfalse", "west g/4 -1->10 -1 false", "west h/0 -1->0 -1 false", "west i/0 -1->7 -1 true"}
	if got := shown(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	d.o.allowRewind = true
	want = slices.Insert(want, 1, "west g/2 11->10 -1 false")
	if got := shown(); !slices.Equal(got, want) {
		t.Errorf("with leave: %q, want %q", got, want)
	}
}

func TestTranslationThatIsNotWhole(t *testing.T) {
	offset := int64(1)
	whole := []offsets.TranslatedGroup{{Group: "g", Partitions: []offsets.Translated{{Offset: &offset, Status: offsets.Exact}}}}
	for _, tt := range []struct {
		name string
		got  offsets.Translation
		via  string
		kind fault.Kind
	}{
		{"all of it", offsets.Translation{Groups: whole, Complete: true, Asked: true}, "auto", 0},
		{"the source is gone", offsets.Translation{Groups: whole, Complete: true}, "auto", fault.Partial},
		{"and was not needed", offsets.Translation{Groups: whole, Complete: true}, "checkpoints", 0},
		{"half read", offsets.Translation{Groups: whole, Asked: true}, "checkpoints", fault.Partial},
		{"a group is missing", offsets.Translation{Groups: whole, Complete: true, Asked: true, Missing: []string{"h"}}, "auto", fault.Partial},
		{"every group is missing", offsets.Translation{Complete: true, Asked: true, Missing: []string{"h"}}, "auto", fault.Failed},
		{"nothing", offsets.Translation{Complete: true, Asked: true}, "auto", fault.Failed},
		{
			"pending",
			offsets.Translation{Groups: []offsets.TranslatedGroup{{Group: "g", Partitions: []offsets.Translated{{Status: offsets.Pending}}}}, Complete: true, Asked: true},
			"auto", fault.Partial,
		},
	} {
		tt.got.Via = offsets.Via(tt.via)
		d := newTranslationDoc(&translateOptions{from: "east", to: "west"}, &tt.got)
		err := d.verdict()
		if tt.kind == 0 && err != nil || tt.kind != 0 && fault.KindOf(err) != tt.kind {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}
