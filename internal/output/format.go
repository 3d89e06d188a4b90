// Package output turns records into bytes for people and programs: the formats
// of consume, the standard output, tables, JSON and YAML documents, colour. It
// must not know where records come from, decode them, or open files.
package output

import (
	"strings"

	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/record"
)

// Format makes a SplitFormat for each split. It is safe for use by several
// goroutines at once.
type Format interface {
	// Needs says what Append looks at.
	Needs() Needs
	// ForSplit prepares what is the same for all records that come from one
	// split under the name of one stream.
	ForSplit(stream string, split record.Split) SplitFormat
}

// SplitFormat appends records of one split to dst, each complete with what ends
// it. It is safe for use by several goroutines at once. Keys or values that
// Needs does not ask for may be nil. dst grows, nothing else is allocated;
// nothing of a record is kept.
type SplitFormat interface {
	Append(dst []byte, rec *record.Record, key, value *record.Value) []byte
}

// Needs says what a format looks at, so that nothing is decoded in vain.
type Needs struct {
	Key   bool // the decoded key
	Value bool // the decoded value
	// StoredBytes asks for the decoder "raw" where nobody has chosen one.
	StoredBytes bool
	// Sequence asks for records one by one in the order in which they are
	// written: the format numbers them.
	Sequence bool
}

// Options are the flags that change a format. The zero Options are the defaults.
type Options struct {
	Null      *string  // what stands for null; for text, raw and templates
	Delimiter *string  // what ends a record, with escapes such as \n and \x00; for text, raw and templates
	Columns   []string // what text shows, see Columns; empty is the usual line
	Pretty    bool     // a record over several lines, in json and text
	Color     bool     // colour in text; json is never coloured
	Colors256 bool     // the terminal has more than sixteen of them
	Align     bool     // text in columns below each other
}

// The names of the formats that are no templates.
const (
	FormatJSON     = "json"
	FormatText     = "text"
	FormatRaw      = "raw"
	FormatKcatJSON = "kcat-json"
)

// Formats lists the names that NewFormat knows besides templates.
func Formats() []string { return []string{FormatJSON, FormatText, FormatRaw, FormatKcatJSON} }

// NewFormat makes the format of that name, or of a template, which holds a % or
// a backslash. Errors are of kind fault.Usage.
func NewFormat(name string, opt Options) (Format, error) {
	end, err := delimiter(name, opt)
	if err != nil {
		return nil, err
	}
	if err := opt.check(name); err != nil {
		return nil, err
	}
	switch {
	case name == FormatJSON:
		return jsonFormat{pretty: opt.Pretty}, nil
	case name == FormatKcatJSON:
		return kcatFormat{}, nil
	case name == FormatRaw:
		return rawFormat{null: opt.null(""), end: end}, nil
	case name == FormatText:
		return newText(opt, end)
	case strings.ContainsAny(name, `%\`):
		return newTemplate(name, opt.null(""), end)
	}
	return nil, unknownFormat(name)
}

func unknownFormat(name string) error {
	err := fault.New(fault.Usage, "unknown format %q; formats are %s, or a template with %% or \\",
		name, strings.Join(Formats(), ", "))
	if near := fault.Nearest(strings.ToLower(name), Formats()); near != "" {
		return err.WithHint("did you mean -f %s?", near)
	}
	return err
}

func (o Options) null(otherwise string) string {
	if o.Null != nil {
		return *o.Null
	}
	return otherwise
}

// check refuses options that the format would pass over in silence.
func (o Options) check(name string) error {
	isJSON := name == FormatJSON || name == FormatKcatJSON
	switch {
	case isJSON && o.Null != nil:
		return fault.New(fault.Usage, "--null is for text, raw and templates; -f %s shows null as null", name)
	case isJSON && o.Delimiter != nil:
		return fault.New(fault.Usage, "--delimiter is for text, raw and templates; -f %s ends each record with a newline", name)
	case o.Pretty && name != FormatJSON && name != FormatText:
		return fault.New(fault.Usage, "--pretty is for the formats json and text")
	case len(o.Columns) > 0 && name != FormatText:
		return fault.New(fault.Usage, "--columns is for the format text")
	}
	return nil
}

// delimiter returns what ends a record: a newline, for templates nothing,
// unless the user chose something.
func delimiter(name string, opt Options) (string, error) {
	if opt.Delimiter == nil {
		if strings.ContainsAny(name, `%\`) {
			return "", nil
		}
		return "\n", nil
	}
	end, err := unescape(*opt.Delimiter)
	if err != nil {
		return "", fault.New(fault.Usage, "--delimiter %s: %w", *opt.Delimiter, err)
	}
	return end, nil
}
