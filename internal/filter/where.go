package filter

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/itchyny/gojq"

	"github.com/kcm-cli/kcm/internal/fault"
)

// where is a jq expression, compiled: as gojq runs it and, if it is made of
// comparisons and tests only, as a tree over the raw bytes.
type where struct {
	code *gojq.Code
	fast node // nil if there is none
}

// compileWhere compiles an expression, which cannot reach the environment,
// files, modules or other records: gojq gives it none of these unasked.
func compileWhere(text, file string) (*where, error) {
	if strings.TrimSpace(text) == "" {
		return nil, whereError(file, "the expression is empty")
	}
	query, err := gojq.Parse(text)
	if err != nil {
		offset := len(text)
		if e, ok := errors.AsType[*gojq.ParseError](err); ok {
			offset = min(e.Offset, len(text)) - len(e.Token)
		}
		return nil, whereError(place(text, file, offset), "%w", err)
	}
	code, err := gojq.Compile(query)
	if err != nil {
		return nil, whereError(place(text, file, offsetOfName(text, err)), "%w", err)
	}
	return &where{code: code, fast: compileFast(query)}, nil
}

func whereError(place, format string, args ...any) error {
	if place != "" {
		place += ": "
	}
	return fault.New(fault.Usage, "--where: "+place+format, args...).
		WithHint(`a jq expression over the JSON record, such as '.value.total > 100'; see kcm help filters`)
}

// place gives line and column, in characters, as FILE:LINE:COLUMN.
func place(text, file string, offset int) string {
	if file != "" {
		file += ":"
	}
	if offset < 0 {
		return strings.TrimSuffix(file, ":")
	}
	before := text[:min(offset, len(text))]
	line := strings.Count(before, "\n") + 1
	column := utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1
	return fmt.Sprintf("%s%d:%d", file, line, column)
}

// undefined is what gojq says about names that it does not know.
var undefined = regexp.MustCompile(`(?:function|variable) not defined: ([$\w:]+)`)

// offsetOfName finds the name that an error of gojq's compiler is about, which
// tells no position; -1 if there is none.
func offsetOfName(text string, err error) int {
	m := undefined.FindStringSubmatch(err.Error())
	if m == nil {
		return -1
	}
	before := `\b`
	if strings.HasPrefix(m[1], "$") {
		before = ""
	}
	at := regexp.MustCompile(before + regexp.QuoteMeta(m[1]) + `\b`).FindStringIndex(text)
	if at == nil {
		return -1
	}
	return at[0]
}

// never reports that the expression holds for no record with these names.
func (w *where) never(v *view) bool { return w.fast != nil && w.fast.eval(v) == no }

// holds runs the expression: it holds once one of its outputs is neither false
// nor null, so that select(EXPR) and EXPR mean the same. It fails when that takes
// more than the bound allows.
func (w *where) holds(envelope any, b *bound) (bool, error) {
	iter := w.code.RunWithContext(b, envelope)
	for {
		v, ok := iter.Next()
		if !ok {
			return false, nil
		}
		if err, failed := v.(error); failed {
			if b.over != nil {
				return false, b.over
			}
			return false, errors.New(firstLine(err.Error()))
		}
		if v != nil && v != false {
			return true, nil
		}
	}
}
