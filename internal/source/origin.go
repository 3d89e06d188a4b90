package source

import (
	"github.com/kcm-cli/kcm/internal/batch"
	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/record"
)

// Partitions is how many partitions the chunk's topic had when the split was
// found.
func (c *Chunk) Partitions() int { return len(c.split.topic.Partitions) }

// RecordsIn is Records for one of the chunk's Batches; more reports whether yield
// wants to go on.
func (c *Chunk) RecordsIn(raw batch.Raw, yield func(r *record.Record, stream int) bool) (more bool, err error) {
	b, err := c.decoder.Decode(raw, c.maxBatch)
	if err != nil {
		return false, err
	}
	defer b.Release()
	var rec record.Record
	return c.walk(b, &rec, yield)
}

// admitted returns the topics of those that were found that there are. If they may
// not be read, that ends the run.
func (r *reader) admitted(found []match) map[string]bool {
	names := map[string]bool{}
	var topics []cluster.Topic
	for _, m := range found {
		if m.topic.Err == nil {
			names[m.topic.Name] = true
			topics = append(topics, m.topic)
		}
	}
	if r.e.Admit == nil {
		return names
	}
	if err := r.e.Admit(r.id, r.name, topics); err != nil {
		r.e.stop(err)
		<-r.ctx.Done()
	}
	return names
}
