package files

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/record"
)

// Template is the PATH of -O: a path with placeholders, absolute.
type Template struct {
	text   string
	parts  []part
	suffix string // of the last part: an extension and how the file is compressed
	codec  Codec
	period int64 // of a file in milliseconds; 0: all times go to one file
	ends   bool  // a placeholder stands right before the suffix
}

// part is a piece of a template: text as it is, or a placeholder.
type part struct {
	text string
	name string
}

// placeholders are what may stand in braces.
var placeholders = []string{"stream", "cluster", "topic", "partition", "date", "hour"}

const (
	msPerHour = 60 * 60 * 1000
	msPerDay  = 24 * msPerHour
)

// Parse reads a template. One that ends in a slash is a directory, and gets a
// tree of files whose names end in extension. Errors are of kind fault.Usage.
func Parse(text, extension string) (*Template, error) {
	if text == "" {
		return nil, fault.New(fault.Usage, "-O needs a path")
	}
	if strings.ContainsRune(text, 0) {
		return nil, fault.New(fault.Usage, "-O %q is no path", text)
	}
	if last := text[len(text)-1]; last == '/' || last == filepath.Separator {
		text += "{stream}/{cluster}/{topic}/{partition}" + extension
	}
	full, err := filepath.Abs(text)
	if err != nil {
		return nil, fault.New(fault.Usage, "-O %s: %w", text, err)
	}
	t := &Template{text: full}
	if t.parts, err = parts(full); err != nil {
		return nil, err
	}
	for _, p := range t.parts {
		switch {
		case p.name == "hour":
			t.period = msPerHour
		case p.name == "date" && t.period == 0:
			t.period = msPerDay
		}
	}
	return t, t.takeSuffix()
}

// parts takes a path apart. {{ and }} are single braces.
func parts(text string) (list []part, err error) {
	var plain strings.Builder
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case (c == '{' || c == '}') && i+1 < len(text) && text[i+1] == c:
			plain.WriteByte(c)
			i++
		case c == '{':
			name, _, closed := strings.Cut(text[i+1:], "}")
			if !closed || !slices.Contains(placeholders, name) {
				return nil, unknown(name, closed)
			}
			if plain.Len() > 0 {
				list = append(list, part{text: plain.String()})
				plain.Reset()
			}
			list = append(list, part{name: name})
			i += len(name) + 1
		default:
			plain.WriteByte(c)
		}
	}
	if plain.Len() > 0 {
		list = append(list, part{text: plain.String()})
	}
	return list, nil
}

func unknown(name string, closed bool) error {
	if !closed {
		return fault.New(fault.Usage, "-O: the brace in {%s is not closed", name).WithHint("a brace itself is written {{")
	}
	err := fault.New(fault.Usage, "-O: there is no placeholder {%s}; there are {%s}", name, strings.Join(placeholders, "} {"))
	if near := fault.Nearest(strings.ToLower(name), placeholders); near != "" {
		return err.WithHint("did you mean {%s}?", near)
	}
	return err
}

// takeSuffix parts what a sequence number goes before from the last part.
func (t *Template) takeSuffix() error {
	last := t.parts[len(t.parts)-1]
	if last.name != "" {
		t.ends = true
		return nil
	}
	name := filepath.Base(last.text)
	// Of a path without placeholders before it, a name may begin with a dot.
	whole := len(t.parts) == 1 || strings.ContainsRune(last.text, filepath.Separator)
	ext := extension(name, whole)
	if err := checkExtension(ext); err != nil {
		return err
	}
	rest := strings.TrimSuffix(name, ext)
	if t.codec = codecs[strings.ToLower(ext)]; t.codec != Plain {
		inner := extension(rest, whole)
		if err := checkExtension(inner); err != nil {
			return err
		}
		ext, rest = inner+ext, strings.TrimSuffix(rest, inner)
	}
	t.suffix = ext
	t.ends = rest == "" && !whole
	if stem := strings.TrimSuffix(last.text, ext); stem != "" {
		t.parts[len(t.parts)-1].text = stem
	} else {
		t.parts = t.parts[:len(t.parts)-1]
	}
	return nil
}

// extension is what a name ends in from its last dot on. The dot that a whole
// name begins with makes none.
func extension(name string, whole bool) string {
	i := strings.LastIndexByte(name, '.')
	if i < 0 || i == 0 && whole {
		return ""
	}
	return name[i:]
}

// foreign are extensions that promise what kcm does not write, and what they
// promise; those of compressions are marked by a hint of their own.
var foreign = map[string]string{
	".parquet": "Parquet", ".avro": "Avro", ".csv": "CSV", ".tsv": "TSV", ".orc": "ORC", ".arrow": "Arrow", ".feather": "Arrow",
	".xlsx": "Excel", ".xls": "Excel", ".db": "database", ".sqlite": "SQLite", ".xml": "XML", ".yaml": "YAML", ".yml": "YAML",
	".bz2": "bzip2", ".xz": "xz", ".lz4": "lz4", ".lzma": "lzma", ".sz": "snappy", ".snappy": "snappy", ".br": "brotli",
	".zip": "zip", ".7z": "7-Zip", ".tar": "tar", ".tgz": "tar", ".gzip": "", ".zstd": "", ".z": "compress",
}

func checkExtension(ext string) error {
	what, ok := foreign[strings.ToLower(ext)]
	if !ok {
		return nil
	}
	switch strings.ToLower(ext) {
	case ".gzip":
		return fault.New(fault.Usage, "-O: the suffix %s is not known", ext).WithHint(".gz compresses with gzip")
	case ".zstd":
		return fault.New(fault.Usage, "-O: the suffix %s is not known", ext).WithHint(".zst compresses with zstd")
	}
	return fault.New(fault.Usage, "-O: kcm writes no %s files (%s)", what, ext).
		WithHint("records go out in the format of -f, by default JSON with one record a line; .gz and .zst compress them")
}

// String is the template as it was read, absolute.
func (t *Template) String() string { return t.text }

// Codec says how its files are compressed.
func (t *Template) Codec() Codec { return t.codec }

// One reports whether all records go to one file.
func (t *Template) One() bool {
	return !slices.ContainsFunc(t.parts, func(p part) bool { return p.name != "" })
}

// slot numbers the files of one split in time. A record without a time has one
// of its own.
func (t *Template) slot(ms int64) int64 {
	switch {
	case t.period == 0:
		return 0
	case ms == noTime:
		return noSlot
	case ms < 0 && ms%t.period != 0:
		return ms/t.period - 1
	default:
		return ms / t.period
	}
}

const (
	noTime = -1 // Kafka's word for a record without a timestamp
	noSlot = -1 << 63
)

// expand returns the path without suffix of the records of a split in a slot,
// and the names that the path was made of. Names that end in a number are kept
// apart from sequence numbers if files are numbered.
func (t *Template) expand(stream string, split record.Split, slot int64, numbered bool) (stem, of string) {
	var path strings.Builder
	var used []string
	for i, p := range t.parts {
		if p.name == "" {
			path.WriteString(p.text)
			continue
		}
		value := t.value(p.name, stream, split, slot)
		if numbered && t.ends && i == len(t.parts)-1 {
			value = unnumbered(value)
		}
		path.WriteString(value)
		used = append(used, value)
	}
	return path.String(), strings.Join(used, "/")
}

func (t *Template) value(name, stream string, split record.Split, slot int64) string {
	switch name {
	case "stream":
		return safe(stream)
	case "cluster":
		return safe(split.Cluster)
	case "topic":
		return safe(split.Topic)
	case "partition":
		return strconv.Itoa(int(split.Partition))
	}
	if slot == noSlot {
		return "none"
	}
	at := time.UnixMilli(slot * t.period).UTC()
	if name == "date" {
		return at.Format("2006-01-02")
	}
	return at.Format("15")
}

// numberedPath is the path of the file with a sequence number; the first has none.
func numberedPath(stem, suffix string, sequence int) string {
	if sequence == 0 {
		return stem + suffix
	}
	return stem + "." + strconv.Itoa(sequence) + suffix
}
