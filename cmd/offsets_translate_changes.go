package cmd

import (
	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/offsets"
)

// changes are the commits that would bring the groups on the target to where they
// were translated to. What has no offset, is there already, or would move a group
// back that may not be, is left out; what --strict refuses carries the reason.
func (d *translationDoc) changes() (list []offsets.Change) {
	for _, g := range d.got.Groups {
		prior := d.prior[g.Group]
		for _, t := range g.Partitions {
			if t.Offset == nil {
				continue
			}
			c := offsets.Change{
				Cluster: d.To, Group: g.Group, Stream: t.Stream, Partition: t.Partition, Note: t.Note,
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
			if !d.needless(c) {
				list = append(list, c)
			}
		}
	}
	return list
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
