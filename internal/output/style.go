package output

import (
	"io"
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"
)

// style is what a terminal is sent before and after a piece of text; the zero
// style is none.
type style struct{ on, off string }

func (s style) append(dst []byte, text string) []byte {
	return append(append(append(dst, s.on...), text...), s.off...)
}

// palette holds the styles; the zero palette has no colours. Only the sixteen
// colours that a terminal's own theme defines are used, but for names.
type palette struct {
	faint, key, head, good, warn, bad style
	names                             []style // to tell streams and clusters apart
	json                              jsonColors
}

// namesOf16 and namesOf256 are the colours of names, by what a terminal knows.
// Those of the 256 that are taken are neither light nor dark: each differs from
// black and from white by a contrast of 3:1 at least.
var (
	namesOf16  = []string{"4", "2", "5", "3", "12", "10", "13", "11", "14"}
	namesOf256 = []string{"33", "29", "31", "63", "67", "64", "99", "100", "103", "129", "131", "133", "136", "161", "166", "169", "137", "202"}
)

func newPalette(color, colors256 bool) palette {
	if !color {
		return palette{}
	}
	r := lipgloss.NewRenderer(io.Discard)
	r.SetColorProfile(termenv.ANSI256) // a number below 16 is the theme's colour in it, too
	plain := r.NewStyle()
	fg := func(c string) style { return compile(plain.Foreground(lipgloss.Color(c))) }
	p := palette{
		faint: compile(plain.Faint(true)),
		head:  compile(plain.Bold(true)),
		key:   fg("6"),
		good:  fg("2"),
		warn:  fg("3"),
		bad:   fg("1"),
	}
	p.json = jsonColors{key: fg("4"), text: fg("2"), number: fg("3"), word: fg("5"), null: p.faint}
	names := namesOf16
	if colors256 {
		names = namesOf256
	}
	for _, c := range names {
		p.names = append(p.names, fg(c))
	}
	return p
}

// compile renders a style once, so that using it is two copies.
func compile(s lipgloss.Style) style {
	on, off, _ := strings.Cut(s.Render("x"), "x")
	return style{on, off}
}
