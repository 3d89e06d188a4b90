package output

import (
	"github.com/mattn/go-runewidth"
)

// Tone says how a cell is meant; it shows only in colour.
type Tone uint8

// The tones of a cell.
const (
	Plain Tone = iota
	Faint      // of less interest
	Good       // as it should be
	Warn       // to look at
	Bad        // wrong
)

// Cell is one field of a Table.
type Cell struct {
	Text string
	Tone Tone
}

// Text makes a row of plain cells.
func Text(texts ...string) []Cell {
	row := make([]Cell, len(texts))
	for i, t := range texts {
		row[i].Text = t
	}
	return row
}

// Column is a column of a Table.
type Column struct {
	Header string
	Right  bool // numbers stand at the right
}

// Table lays rows out in columns, without borders: one line a row, never
// wrapped or cut, no blanks at the end of a line. What is in a cell can neither
// break its line nor reach the terminal as a control sequence.
type Table struct {
	Columns []Column
	Rows    [][]Cell // a row may have fewer cells than there are columns
}

// Append renders the table to dst: a line of headers, then one for each row.
func (t *Table) Append(dst []byte, color bool) []byte {
	p := newPalette(color, false)
	rows := make([][]Cell, 0, len(t.Rows)+1)
	head := make([]Cell, len(t.Columns))
	for i, c := range t.Columns {
		head[i].Text = c.Header
	}
	rows = append(append(rows, head), t.Rows...)
	widths := make([]int, len(t.Columns))
	for i, row := range rows {
		clean := make([]Cell, min(len(row), len(widths)))
		for j := range clean {
			clean[j] = Cell{Text: safe(row[j].Text), Tone: row[j].Tone}
			widths[j] = max(widths[j], displayWidth(clean[j].Text))
		}
		rows[i] = clean
	}
	for i, row := range rows {
		dst = t.appendRow(dst, row, widths, func(tone Tone) style {
			if i == 0 {
				return p.head
			}
			return p.tone(tone)
		})
	}
	return dst
}

func (t *Table) appendRow(dst []byte, row []Cell, widths []int, styled func(Tone) style) []byte {
	const gap = 2
	owed := 0 // blanks that are written only if something follows
	for j, cell := range row {
		pad := widths[j] - displayWidth(cell.Text)
		if t.Columns[j].Right {
			owed += pad
			pad = 0
		}
		if cell.Text != "" {
			dst = appendBlanks(dst, owed)
			dst = styled(cell.Tone).append(dst, cell.Text)
			owed = 0
		}
		owed += pad + gap
	}
	return append(dst, '\n')
}

func appendBlanks(dst []byte, n int) []byte {
	for range n {
		dst = append(dst, ' ')
	}
	return dst
}

// displayWidth counts the columns that s takes on a terminal, whatever the
// locale says of ambiguous characters.
func displayWidth(s string) int {
	condition := runewidth.Condition{StrictEmojiNeutral: true}
	return condition.StringWidth(s)
}

func (p *palette) tone(t Tone) style {
	switch t {
	case Faint:
		return p.faint
	case Good:
		return p.good
	case Warn:
		return p.warn
	case Bad:
		return p.bad
	default:
		return style{}
	}
}
