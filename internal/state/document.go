package state

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kcm-cli/kcm/internal/record"
)

// format and version are what a file says that this package can read.
const (
	format  = "kcm-state"
	version = 1
)

// document is the file: who made it, and a body that the checksum is of, byte by
// byte.
type document struct {
	Format  string          `json:"format"`
	Version int             `json:"version"`
	Sum     string          `json:"crc32c"`
	State   json.RawMessage `json:"state"`
}

// body is what the file holds. Paths within the file's own directory are
// relative to it, so that both may be moved together.
type body struct {
	Written   time.Time      `json:"written"`
	Positions []bodyPosition `json:"positions"`
	Out       *bodyOut       `json:"out,omitempty"`
	To        *bodyTarget    `json:"to,omitempty"`
}

type bodyPosition struct {
	Stream    string     `json:"stream"`
	Cluster   string     `json:"cluster"`
	ClusterID string     `json:"cluster_id"`
	Topic     string     `json:"topic"`
	TopicID   string     `json:"topic_id,omitempty"` // as Kafka writes a UUID
	Partition int32      `json:"partition"`
	Offset    int64      `json:"offset"`
	Epoch     int32      `json:"epoch"`
	Left      *time.Time `json:"left,omitempty"`
}

type bodyTarget struct {
	ClusterID string   `json:"cluster_id"`
	Cluster   string   `json:"cluster"`
	Topic     string   `json:"topic"`
	Written   []string `json:"written"`
}

type bodyOut struct {
	Path    string     `json:"path"`
	Format  string     `json:"format,omitempty"`
	Closed  bool       `json:"closed"`
	Dropped bool       `json:"dropped,omitempty"`
	Files   []bodyFile `json:"files"`
}

type bodyFile struct {
	Path     string    `json:"path"`
	Base     string    `json:"base,omitempty"`
	Of       string    `json:"of,omitempty"`
	Sequence int       `json:"sequence,omitempty"`
	Length   int64     `json:"length"`
	Opened   time.Time `json:"opened"`
}

// Why a file is not read.
var (
	errEmpty   = errors.New("it is empty")
	errForeign = errors.New("it is no state file of kcm")
	errDamaged = errors.New("it is damaged")
)

// newer is the version of a file that this package cannot read.
type newer int

func (n newer) Error() string {
	return fmt.Sprintf("it was written by a newer kcm (version %d)", int(n))
}

// contents are a body in the words of this package.
type contents struct {
	entries []entry
	out     Out
	to      *Target
}

// encode makes the document of contents; dir is the directory that it lies in.
func encode(c contents, dir string, now time.Time) ([]byte, error) {
	b := body{Written: now.UTC().Round(time.Millisecond), Positions: make([]bodyPosition, 0, len(c.entries))}
	for _, e := range c.entries {
		p := bodyPosition{
			Stream: e.Stream, Cluster: e.Cluster, ClusterID: e.ClusterID, Topic: e.Topic, Partition: e.Partition,
			Offset: e.Offset, Epoch: e.Epoch,
		}
		if e.TopicID != [16]byte{} {
			p.TopicID = base64.RawURLEncoding.EncodeToString(e.TopicID[:])
		}
		if !e.left.IsZero() {
			left := e.left.UTC()
			p.Left = &left
		}
		b.Positions = append(b.Positions, p)
	}
	if c.out.Path != "" || len(c.out.Files) > 0 {
		b.Out = encodeOut(c.out, dir)
	}
	if c.to != nil {
		b.To = &bodyTarget{c.to.ClusterID, c.to.Cluster, c.to.Topic, c.to.Written}
	}
	state, err := json.Marshal(b)
	if err != nil {
		return nil, err
	}
	text := fmt.Appendf(nil, `{"format":%q,"version":%d,"crc32c":"%08x","state":`, format, version, checksum(state))
	return append(append(text, state...), "}\n"...), nil
}

func encodeOut(out Out, dir string) *bodyOut {
	b := &bodyOut{Path: relative(out.Path, dir), Format: out.Format, Closed: out.Closed, Dropped: out.Dropped, Files: make([]bodyFile, 0, len(out.Files))}
	for _, f := range out.Files {
		one := bodyFile{Path: relative(f.Path, dir), Of: f.Of, Sequence: f.Sequence, Length: f.Length, Opened: f.Opened.UTC().Round(time.Millisecond)}
		if f.Base != "" && f.Base != f.Path {
			one.Base = relative(f.Base, dir)
		}
		b.Files = append(b.Files, one)
	}
	return b
}

func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// decode reads a document. Its errors are the ones above.
func decode(text []byte, dir string) (contents, error) {
	var c contents
	if len(text) == 0 {
		return c, errEmpty
	}
	var d document
	dec := json.NewDecoder(bytes.NewReader(text))
	err := dec.Decode(&d)
	ours := bytes.HasPrefix(text, []byte(`{"format":"`+format+`"`))
	switch {
	case err != nil && ours:
		return c, fmt.Errorf("%w: %w", errDamaged, err)
	case err != nil || d.Format != format:
		return c, errForeign
	case d.Version > version:
		return c, newer(d.Version)
	case d.Version != version:
		return c, fmt.Errorf("%w: there is no version %d", errDamaged, d.Version)
	case fmt.Sprintf("%08x", checksum(d.State)) != d.Sum:
		return c, fmt.Errorf("%w: its checksum does not fit", errDamaged)
	}
	if rest, _ := io.ReadAll(io.MultiReader(dec.Buffered())); len(bytes.TrimSpace(rest)) > 0 {
		return c, fmt.Errorf("%w: there is something behind its end", errDamaged)
	}
	if c, err = decodeBody(d.State, dir); err != nil {
		return c, fmt.Errorf("%w: %w", errDamaged, err)
	}
	return c, nil
}

func decodeBody(state []byte, dir string) (c contents, err error) {
	var b body
	dec := json.NewDecoder(bytes.NewReader(state))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&b); err != nil {
		return c, err
	}
	for _, p := range b.Positions {
		e, err := decodePosition(p)
		if err != nil {
			return c, err
		}
		c.entries = append(c.entries, e)
	}
	if b.To != nil {
		c.to = &Target{b.To.ClusterID, b.To.Cluster, b.To.Topic, b.To.Written}
	}
	if b.Out == nil {
		return c, nil
	}
	c.out = Out{Path: absolute(b.Out.Path, dir), Format: b.Out.Format, Closed: b.Out.Closed, Dropped: b.Out.Dropped}
	for _, f := range b.Out.Files {
		if f.Path == "" || f.Length < 0 || f.Sequence < 0 {
			return c, fmt.Errorf("file %q of length %d", f.Path, f.Length)
		}
		one := OutFile{Path: absolute(f.Path, dir), Of: f.Of, Sequence: f.Sequence, Length: f.Length, Opened: f.Opened}
		if one.Base = one.Path; f.Base != "" {
			one.Base = absolute(f.Base, dir)
		}
		c.out.Files = append(c.out.Files, one)
	}
	return c, nil
}

func decodePosition(p bodyPosition) (entry, error) {
	e := entry{Mark: Mark{
		Place:  Place{p.ClusterID, record.Split{Cluster: p.Cluster, Topic: p.Topic, Partition: p.Partition}, p.Stream},
		Offset: p.Offset, Epoch: p.Epoch,
	}}
	if p.Offset < 0 || p.Partition < 0 || p.Topic == "" {
		return e, fmt.Errorf("position %d of %s", p.Offset, e.Split)
	}
	if p.TopicID != "" {
		id, err := base64.RawURLEncoding.DecodeString(p.TopicID)
		if err != nil || len(id) != len(e.TopicID) {
			return e, fmt.Errorf("topic id %q", p.TopicID)
		}
		copy(e.TopicID[:], id)
	}
	if p.Left != nil {
		e.left, e.Left = *p.Left, true
	}
	return e, nil
}

// relative returns a path within dir as it is seen from there, with slashes, and
// any other as it is.
func relative(path, dir string) string {
	if rel, err := filepath.Rel(dir, path); err == nil && path != "" && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return path
}

func absolute(path, dir string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, filepath.FromSlash(path))
}

// sorted lists entries in an order that does not change from one write to the
// next.
func sorted(marks map[key]entry) []entry {
	list := make([]entry, 0, len(marks))
	for _, e := range marks {
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b entry) int {
		if c := a.Compare(b.Split); c != 0 {
			return c
		}
		if c := strings.Compare(a.ClusterID, b.ClusterID); c != 0 {
			return c
		}
		return strings.Compare(a.Stream, b.Stream)
	})
	return list
}
