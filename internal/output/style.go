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
// colours that a terminal's own theme defines are used.
type palette struct {
	faint, key, head, good, warn, bad style
	clusters                          []style
}

func newPalette(color bool) palette {
	if !color {
		return palette{}
	}
	r := lipgloss.NewRenderer(io.Discard)
	r.SetColorProfile(termenv.ANSI)
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
	for _, c := range []string{"4", "2", "5", "3", "12", "10", "13", "11", "14"} {
		p.clusters = append(p.clusters, fg(c))
	}
	return p
}

// compile renders a style once, so that using it is two copies.
func compile(s lipgloss.Style) style {
	on, off, _ := strings.Cut(s.Render("x"), "x")
	return style{on, off}
}
