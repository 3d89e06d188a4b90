package cmd

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/record"
	"github.com/kcm-cli/kcm/internal/state"
)

// bind has the state file know what its positions are of: a copy to one target,
// or none.
func (u *outputs) bind() error {
	if u.o.to == nil {
		return u.state.Bind(nil)
	}
	t := u.o.to.reached
	t.state = u.state
	return u.state.Bind(&state.Target{ClusterID: t.id, Cluster: t.cluster.Name(), Topic: strings.Join(u.o.to.topic.parts, "")})
}

// written are the topics that have got records.
func (t *target) written() []string {
	return slices.Collect(maps.Keys(t.writer.Counts().Topics))
}

// checkFixed makes sure that the one topic of --to is there, even if no record
// comes for it. One that is to be made is made when it is known with how many
// partitions.
func (t *target) checkFixed(ctx context.Context) error {
	if !t.o.to.topic.fixed || t.o.to.create {
		return nil
	}
	_, err := t.writer.Topic(ctx, t.o.to.topic.of("", record.Split{}), 0)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// stillThere refuses a topic that has got records by earlier runs with this state
// file and is missing now: they would not be copied again. What cannot be looked
// up is told by whoever has a record for it.
func (t *target) stillThere(ctx context.Context, topic string) error {
	if t.state == nil || !t.state.HasWritten(topic) {
		return nil
	}
	if _, looked := t.there.LoadOrStore(topic, true); looked {
		return nil
	}
	found, err := t.cluster.Topics(ctx, topic)
	if err != nil || len(found) == 0 || !cluster.IsMissing(found[0].Err) {
		return nil
	}
	return fault.New(fault.Refused, "%s/%s is missing: %s counts the records that were copied there", t.cluster.Name(), topic, t.state.Path()).
		On(t.cluster.Name()).WithHint("bring the topic back, or copy all anew with another --state FILE")
}
