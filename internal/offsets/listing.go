package offsets

import (
	"bytes"
	"fmt"
	"io"

	"github.com/kcm-cli/kcm/internal/fault"
)

// ListedOffset is one entry of a file of offsets.
type ListedOffset struct {
	Cluster string // empty: the file does not say
	Group   string // any bytes; empty in a Listing that is not Grouped
	Partition
	Offset   int64
	Metadata string // any bytes; CSV has none
	Line     int    // where it stands in the file, from 1
}

// Listing is a file of offsets, as it was read: no partition of a group is in it
// twice.
type Listing struct {
	Name    string // of the file, for messages
	Grouped bool   // it names groups; if it does not, the command has to
	JSON    bool
	Entries []ListedOffset // in the order of the file
	Lacking []string       // what export could not find out, in its words: the file is a part only
}

// ReadListing reads offsets from CSV, as Kafka's own tools write it, or from the
// JSON of export; the text tells which. Name is the file's, for messages. All of
// it is read before anything is believed: an error is a fault.Usage with the line.
func ReadListing(from io.Reader, name string) (*Listing, error) {
	text, err := io.ReadAll(from)
	if err != nil {
		return nil, fault.New(fault.Usage, "%s: %w", name, err)
	}
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	var list *Listing
	if isJSON(text) {
		list, err = readJSON(text, name)
	} else {
		list, err = readCSV(text, name)
	}
	if err == nil && len(list.Entries) == 0 {
		err = fault.New(fault.Usage, "%s: there are no offsets in it", name)
	}
	if err != nil {
		return nil, err
	}
	return list, nil
}

// isJSON tells an object from a line of CSV. A group may be called {, but a quote
// cannot follow in CSV without being quoted itself.
func isJSON(text []byte) bool {
	object, ok := bytes.CutPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{"))
	if !ok {
		return false
	}
	object = bytes.TrimLeft(object, " \t\r\n")
	return len(object) == 0 || object[0] == '"' || object[0] == '}' && len(bytes.TrimSpace(object[1:])) == 0
}

// listedKey names what may be listed once.
type listedKey struct {
	cluster, group string
	at             Partition
}

// add adds an entry unless the file has it already, which would leave open which
// one counts. Seen has the line of each.
func (list *Listing) add(l ListedOffset, seen map[listedKey]int) error {
	key := listedKey{l.Cluster, l.Group, l.Partition}
	if line, again := seen[key]; again {
		return wrongIn(list.Name, l.Line, "%s: it is in line %d already", l.what(), line).
			WithHint("take one of the two out")
	}
	seen[key] = l.Line
	list.Entries = append(list.Entries, l)
	return nil
}

// what names an entry in messages.
func (l *ListedOffset) what() string {
	at := fmt.Sprintf("%s, partition %d", l.Topic, l.Partition.Partition)
	if l.Group != "" {
		at = fmt.Sprintf("group %q, %s", l.Group, at)
	}
	return at
}

func wrongIn(name string, line int, format string, args ...any) *fault.Error {
	err := fault.New(fault.Usage, format, args...)
	err.Message = fmt.Sprintf("%s:%d: %s", name, line, err.Message)
	return err
}
