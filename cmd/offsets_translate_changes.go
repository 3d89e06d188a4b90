package cmd

import (
	"context"
	"slices"
	"strings"

	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/offsets"
	"github.com/kcm-cli/kcm/internal/output"
)

// changes are the commits that would bring the groups on the target to where they
// were translated to. What has no offset, is there already, or would move a group
// back that may not be, is left out; what --strict refuses carries the reason.
func (d *translationDoc) changes(yield func(offsets.Change) bool) {
	for i := range d.got.Groups {
		for c := range d.changesOf(&d.got.Groups[i]) {
			if !yield(c) {
				return
			}
		}
	}
}

// changesOf are those of one group.
func (d *translationDoc) changesOf(g *offsets.TranslatedGroup) func(yield func(offsets.Change) bool) {
	prior := d.prior[g.Group]
	return func(yield func(offsets.Change) bool) {
		for i := range g.Partitions {
			t := &g.Partitions[i]
			if t.Offset == nil {
				continue
			}
			if c := d.changeOf(g.Group, t, prior); !d.needless(c) && !yield(c) {
				return
			}
		}
	}
}

func (d *translationDoc) changeOf(group string, t *offsets.Translated, prior offsets.Group) offsets.Change {
	c := offsets.Change{
		Cluster: d.To, Group: group, Stream: t.Stream, Partition: t.Partition, Note: t.Note,
		New: &offsets.Commit{Offset: *t.Offset, Epoch: -1, Metadata: t.Metadata},
	}
	switch had, ok := prior.Commits[t.Partition]; {
	case prior.Err != nil:
		c.Err = prior.Err
	case ok && had.Err != nil:
		c.Err = had.Err
	case ok:
		c.Prior = &had
	}
	if c.Err == nil && d.o.strict && t.Outside() {
		c.Err = fault.New(fault.Refused, "%s/%s: partition %d: the offset lies outside the range", d.To, t.Topic, t.Partition.Partition).On(d.To)
	}
	return c
}

// needless reports whether a change changes nothing, or moves a group back without
// leave to.
func (d *translationDoc) needless(c offsets.Change) bool {
	if c.Err != nil || c.Prior == nil {
		return false
	}
	delta, _ := c.Delta()
	return delta == 0 && c.Prior.Metadata == c.New.Metadata || delta < 0 && !d.o.allowRewind
}

// carry commits the translation on the target with --execute. Rows without an offset
// are left out, and everything if something is refused.
func (d *translationDoc) carry(ctx context.Context, to *cluster.Cluster) {
	changes := slices.Collect(d.changes)
	offsets.SortChanges(changes)
	done := d.o.carry(ctx, d.o.env, map[string]*cluster.Cluster{d.To: to}, changes)
	d.Executed, d.Snapshot, d.failed = done.executed, done.snapshot, done.err
	d.done = map[string]map[offsets.Partition]*offsets.Change{}
	for i := range changes {
		c := &changes[i]
		if d.done[c.Group] == nil {
			d.done[c.Group] = map[offsets.Partition]*offsets.Change{}
		}
		d.done[c.Group][c.Partition] = c
	}
	d.moved = int64(len(changes))
}

// tellDone tells on stderr how it stands with the commits on the target.
func (d *translationDoc) tellDone() {
	n := d.o.env.run.notices
	some := false
	for range d.changes {
		some = true
		break
	}
	switch {
	case d.failed != nil:
	case d.Executed:
		n.Notef("%s on %s changed, and read back", count(d.moved, "commit"), d.To)
	case some:
		n.Notef("nothing was changed; --execute commits this on %s", d.To)
	case d.o.executes():
		n.Notef("there is nothing to change on %s", d.To)
	}
	if !d.o.executes() && some {
		d.tellBusy()
	}
}

// tellBusy tells which groups --execute would be refused for.
func (d *translationDoc) tellBusy() {
	var busy []string
	for i := range d.got.Groups {
		g := &d.got.Groups[i]
		if on := d.prior[g.Group]; on.Err != nil || on.Kind == cluster.NoGroup || on.Quiet() {
			continue
		}
		for range d.changesOf(g) {
			busy = append(busy, output.Exact(g.Group))
			break
		}
	}
	if len(busy) > 0 {
		d.o.env.run.notices.Warnf("%s: in use, so that --execute would be refused: group %s", d.To, strings.Join(busy, ", "))
	}
}

// unprinted is how a run ends whose answer could not be written.
func (d *translationDoc) unprinted(err error) error {
	if !d.o.executes() {
		return err
	}
	return carried{executed: d.Executed, err: d.verdict()}.ended(d.o.env.run.notices, err, d.moved)
}
