package offsets

import (
	"bytes"
	"errors"
	"strings"

	"github.com/kcm-cli/kcm/internal/mirror"
	"github.com/kcm-cli/kcm/internal/record"
)

// Damage counts the records of a topic that could not be used.
type Damage struct {
	Malformed int // no record of that kind, or with an offset that cannot be
	Version   int // of a version that is not known here
	Trailing  int // used, but with bytes behind what the format defines
}

// Bad is how many records were passed over.
func (d Damage) Bad() int { return d.Malformed + d.Version }

func (d *Damage) count(err error) {
	if errors.Is(err, mirror.ErrVersion) {
		d.Version++
	} else {
		d.Malformed++
	}
}

// checkpoint is the last checkpoint of a group for a partition.
type checkpoint struct {
	metadata             string
	at                   Partition // with the topic's name on the target
	upstream, downstream int64
	// fell is the offset of the checkpoint before this one if that was higher, else
	// -1.
	fell    int64
	time    int64 // when it was written, milliseconds
	from    int32 // partition of the topic of checkpoints
	deleted bool
}

// checkpoints are the last ones of a topic of checkpoints, for some groups. They
// are filled record by record, in one go for all groups.
type checkpoints struct {
	takes  func(group string) bool
	words  map[string]*groupWord
	last   *groupWord
	topics map[string]string
	index  map[string]int32 // by the records' keys
	keys   []string         // of the list
	blocks [][]checkpoint   // the list, in pieces that never move
	next   int32            // where the next record's checkpoint is likely to be: they come in the same order again
	damage Damage
	seen   int // records
}

// checkpointBlock is how many checkpoints a piece of the list has.
const checkpointBlock = 2048

// at is a checkpoint of the list.
func (s *checkpoints) at(i int32) *checkpoint {
	return &s.blocks[i/checkpointBlock][i%checkpointBlock]
}

// all are the checkpoints that were not deleted.
func (s *checkpoints) all(yield func(*checkpoint) bool) {
	for _, block := range s.blocks {
		for i := range block {
			if !block[i].deleted && !yield(&block[i]) {
				return
			}
		}
	}
}

// done gives back what only reading needs.
func (s *checkpoints) done() { s.index, s.keys, s.topics = nil, nil, nil }

// groupWord is a group's name, kept once.
type groupWord struct {
	name    string
	taken   bool
	entries []int32 // of the list
}

func newCheckpoints(takes func(group string) bool) *checkpoints {
	return &checkpoints{takes: takes, words: map[string]*groupWord{}, topics: map[string]string{}, index: map[string]int32{}}
}

// add takes the next record.
func (s *checkpoints) add(from int32, r *record.Record) {
	s.seen++
	c, err := mirror.ParseCheckpoint(r.Key, r.Value)
	if err != nil || !c.Deleted && (c.Downstream < 0 || c.Upstream < 0) || c.Partition < 0 {
		s.damage.count(err)
		return
	}
	if i := s.next; i < int32(len(s.keys)) && string(r.Key) == s.keys[i] {
		if c.Extra > 0 {
			s.damage.Trailing++
		}
		s.next++
		s.at(i).become(c, from, r.Timestamp)
		return
	}
	if !s.word(c.Group).taken {
		return
	}
	key := r.Key
	if c.Extra > 0 {
		s.damage.Trailing++
		key = c.AppendKey(nil)
	}
	i, ok := s.index[string(key)]
	if !ok {
		if c.Deleted {
			return
		}
		i = s.make(string(key), checkpoint{at: Partition{Topic: s.topic(c.Topic), Partition: c.Partition}, fell: -1, deleted: true, from: from, time: r.Timestamp})
	}
	s.next = i + 1
	s.at(i).become(c, from, r.Timestamp)
}

// make puts a new checkpoint of the last group into the list.
func (s *checkpoints) make(key string, e checkpoint) (i int32) {
	i = int32(len(s.keys))
	if i%checkpointBlock == 0 {
		s.blocks = append(s.blocks, make([]checkpoint, 0, checkpointBlock))
	}
	block := &s.blocks[len(s.blocks)-1]
	*block = append(*block, e)
	s.keys = append(s.keys, key)
	s.index[key] = i
	s.last.entries = append(s.last.entries, i)
	return i
}

// become lets a later record of the same key take the place of what there was.
// Records of one partition come in order; which of two partitions' is the later
// one only their times tell.
func (e *checkpoint) become(c mirror.Checkpoint, from int32, time int64) {
	if from != e.from && time < e.time {
		return
	}
	e.fell = -1
	if !e.deleted && c.Downstream < e.downstream && !c.Deleted {
		e.fell = e.downstream
	}
	e.upstream, e.downstream, e.deleted, e.from, e.time = c.Upstream, c.Downstream, c.Deleted, from, time
	if e.metadata != string(c.Metadata) {
		e.metadata = string(c.Metadata)
	}
}

// word finds a group's name, which it makes the last one.
func (s *checkpoints) word(group []byte) *groupWord {
	if s.last != nil && len(group) == len(s.last.name) && bytes.Equal(group, []byte(s.last.name)) {
		return s.last
	}
	w := s.words[string(group)]
	if w == nil {
		name := strings.Clone(string(group))
		w = &groupWord{name: name, taken: s.takes(name)}
		s.words[name] = w
	}
	s.last = w
	return w
}

func (s *checkpoints) topic(name []byte) string {
	t, ok := s.topics[string(name)]
	if !ok {
		t = string(name)
		s.topics[t] = t
	}
	return t
}
