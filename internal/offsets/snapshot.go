package offsets

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"time"
	"unicode/utf8"

	"github.com/kcm-cli/kcm/internal/cluster"
)

// snapshotFormat and snapshotVersion are what a file says that this package reads.
const (
	snapshotFormat  = "kcm-offsets"
	snapshotVersion = 1
)

// Snapshot is what a change of offsets found, and what it made of it.
type Snapshot struct {
	Written time.Time // to the second, UTC
	Changes []SnapshotChange
}

// SnapshotChange is one commit of a Snapshot.
type SnapshotChange struct {
	Cluster   string
	ClusterID string
	Group     string
	Partition
	TopicID    [16]byte // zero: not known
	Prior, New *Commit  // nil is none
}

// NewSnapshot makes the snapshot of changes that are to be carried out; ids are those
// of the clusters.
func NewSnapshot(now time.Time, changes []Change, ids map[string]string) *Snapshot {
	s := &Snapshot{Written: now.UTC().Truncate(time.Second)}
	for i := range changes {
		if ch := &changes[i]; !ch.Keep {
			s.Changes = append(s.Changes, SnapshotChange{
				Cluster: ch.Cluster, ClusterID: ids[ch.Cluster], Group: ch.Group, Partition: ch.Partition, TopicID: ch.TopicID, Prior: ch.Prior, New: ch.New,
			})
		}
	}
	return s
}

// snapshotDoc is the file: a body, and the checksum of its bytes.
type snapshotDoc struct {
	Format   string          `json:"format"`
	Version  int             `json:"version"`
	Sum      string          `json:"crc32c"`
	Snapshot json.RawMessage `json:"snapshot"`
}

// snapshotBody is written with a change a line.
type snapshotBody struct {
	Written time.Time           `json:"written"`
	Changes []snapshotChangeDoc `json:"changes"`
}

type snapshotChangeDoc struct {
	Cluster   text               `json:"cluster"`
	ClusterID text               `json:"cluster_id"`
	Group     text               `json:"group"`
	Topic     text               `json:"topic"`
	TopicID   string             `json:"topic_id"` // as Kafka writes a UUID; empty: not known
	Partition int32              `json:"partition"`
	Prior     *snapshotCommitDoc `json:"prior"`
	New       *snapshotCommitDoc `json:"new"`
}

type snapshotCommitDoc struct {
	Offset   int64 `json:"offset"`
	Epoch    int32 `json:"leader_epoch"`
	Metadata text  `json:"metadata"`
}

// text is a string of any bytes: where it is not UTF-8 it is an object with the
// bytes in base64.
type text string

// MarshalJSON implements json.Marshaler.
func (s text) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(s)) {
		return json.Marshal(string(s))
	}
	return json.Marshal(map[string][]byte{"base64": []byte(s)})
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *text) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, (*string)(s))
	}
	var raw struct {
		Bytes []byte `json:"base64"`
	}
	if err := strict(b, &raw); err != nil {
		return err
	}
	if raw.Bytes == nil {
		return errors.New("a text is missing")
	}
	*s = text(raw.Bytes)
	return nil
}

// Append appends the snapshot as it is written to a file.
func (s *Snapshot) Append(buf []byte) ([]byte, error) {
	written, err := json.Marshal(s.Written)
	if err != nil {
		return buf, err
	}
	body := fmt.Appendf(nil, "{\"written\": %s, \"changes\": [", written)
	for i := range s.Changes {
		ch := &s.Changes[i]
		line, err := json.Marshal(snapshotChangeDoc{
			Cluster: text(ch.Cluster), ClusterID: text(ch.ClusterID), Group: text(ch.Group), Topic: text(ch.Topic), Partition: ch.Partition.Partition,
			TopicID: cluster.IDText(ch.TopicID), Prior: commitDoc(ch.Prior), New: commitDoc(ch.New),
		})
		if err != nil {
			return buf, err
		}
		if i > 0 {
			body = append(body, ',')
		}
		body = append(append(body, '\n'), line...)
	}
	body = append(body, "\n]}"...)
	buf = fmt.Appendf(buf, "{\"format\": %q, \"version\": %d, \"crc32c\": %q, \"snapshot\":\n", snapshotFormat, snapshotVersion, sumOf(body))
	buf = append(buf, body...)
	return append(buf, "}\n"...), nil
}

func commitDoc(c *Commit) *snapshotCommitDoc {
	if c == nil {
		return nil
	}
	return &snapshotCommitDoc{c.Offset, c.Epoch, text(c.Metadata)}
}

func sumOf(b []byte) string {
	return fmt.Sprintf("%08x", crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
}

// Why a snapshot is not read.
var (
	errSnapshotForeign = errors.New("it is no snapshot of kcm offsets")
	errSnapshotDamaged = errors.New("it is damaged")
)

// ParseSnapshot reads what Append wrote. Anything that is not exactly that is an
// error: a changed file, a field too many, a commit that cannot be.
func ParseSnapshot(b []byte) (*Snapshot, error) {
	var doc snapshotDoc
	if len(bytes.TrimSpace(b)) == 0 {
		return nil, errors.New("it is empty")
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		if doc.Format == snapshotFormat || bytes.HasPrefix(b, []byte(`{"format": "`+snapshotFormat+`"`)) {
			return nil, errSnapshotDamaged
		}
		return nil, errSnapshotForeign
	}
	switch {
	case doc.Format != snapshotFormat:
		return nil, errSnapshotForeign
	case doc.Version != snapshotVersion:
		return nil, fmt.Errorf("it was written by another kcm (version %d of the file)", doc.Version)
	case doc.Sum != sumOf(doc.Snapshot):
		return nil, fmt.Errorf("%w, or was edited: its checksum is wrong", errSnapshotDamaged)
	}
	if err := strict(b, &doc); err != nil {
		return nil, fmt.Errorf("%w: %w", errSnapshotDamaged, err)
	}
	var body snapshotBody
	if err := strict(doc.Snapshot, &body); err != nil {
		return nil, fmt.Errorf("%w: %w", errSnapshotDamaged, err)
	}
	return body.snapshot()
}

// strict decodes one value that is all of b and has no fields that v lacks.
func strict(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is something behind it")
	}
	return nil
}

func (b snapshotBody) snapshot() (*Snapshot, error) {
	s := &Snapshot{Written: b.Written}
	type place struct {
		cluster, group string
		at             Partition
	}
	seen := map[place]bool{}
	for i, d := range b.Changes {
		ch := SnapshotChange{
			Cluster: string(d.Cluster), ClusterID: string(d.ClusterID), Group: string(d.Group),
			Partition: Partition{Topic: string(d.Topic), Partition: d.Partition},
		}
		var err error
		if ch.TopicID, err = parseID(d.TopicID); err == nil {
			ch.Prior, err = d.Prior.commit()
		}
		if err == nil {
			ch.New, err = d.New.commit()
		}
		at := place{ch.Cluster, ch.Group, ch.Partition}
		switch {
		case err != nil:
		case ch.Cluster == "" || ch.Group == "" || ch.Topic == "" || d.Partition < 0:
			err = errors.New("it names no partition")
		case ch.Prior == nil && ch.New == nil:
			err = errors.New("it changes nothing")
		case seen[at]:
			err = errors.New("it is there twice")
		}
		if err != nil {
			return nil, fmt.Errorf("%w: change %d: %w", errSnapshotDamaged, i+1, err)
		}
		seen[at] = true
		s.Changes = append(s.Changes, ch)
	}
	return s, nil
}

func (d *snapshotCommitDoc) commit() (*Commit, error) {
	switch {
	case d == nil:
		return nil, nil //nolint:nilnil // nil is that there is no commit
	case d.Offset < 0:
		return nil, fmt.Errorf("%d is no offset", d.Offset)
	case d.Epoch < -1:
		return nil, fmt.Errorf("%d is no leader epoch", d.Epoch)
	}
	return &Commit{Offset: d.Offset, Epoch: d.Epoch, Metadata: string(d.Metadata)}, nil
}

func parseID(s string) (id [16]byte, err error) {
	if s == "" {
		return id, nil
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil || len(b) != len(id) {
		return id, fmt.Errorf("%q is no id of a topic", s)
	}
	copy(id[:], b)
	return id, nil
}
