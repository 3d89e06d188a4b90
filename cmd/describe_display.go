package cmd

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"

	"github.com/kcm-cli/kcm/internal/output"
)

// display writes the rounds of a watch: as documents, as tables that have changed,
// or onto the screen of a terminal.
type display struct {
	o      *describeOptions
	out    *output.Stdout
	last   []byte
	shown  bool
	screen *screen // nil: no redrawing
}

func newDisplay(o *describeOptions) *display {
	s := &display{o: o, out: output.NewStdout(o.env.Stdout)}
	if o.env.StdoutTerminal && (o.output == "table" || o.output == "wide") {
		s.screen = &screen{height: heightOf(o.env.Stdout)}
		if o.env.StderrTerminal {
			s.screen.restore = o.env.run.notices.divert(&s.screen.messages)
		}
	}
	return s
}

// round writes a round.
func (s *display) round(doc document) error {
	text, err := s.o.documentText(doc)
	if err != nil {
		return err
	}
	switch table := s.o.output == "table" || s.o.output == "wide"; {
	case s.screen != nil:
		status := fmt.Sprintf("%s, every %s; Ctrl-C ends", s.o.env.Now().UTC().Format("2006-01-02 15:04:05 UTC"), s.o.interval)
		text = s.screen.frame(text, status)
	case table && s.shown && bytes.Equal(text, s.last):
		return nil
	case table:
		s.last = bytes.Clone(text)
		if s.shown {
			text = append([]byte{'\n'}, text...)
		}
	}
	s.shown = true
	_, err = s.out.Write(text)
	return err
}

// close leaves the cursor on a line of its own, and lets messages go where they
// went before.
func (s *display) close() {
	if s.screen == nil {
		return
	}
	if s.shown {
		_, _ = s.out.Write([]byte{'\n'}) // the run ends in any case
	}
	if s.screen.restore != nil {
		s.screen.restore()
	}
}

// Control sequences of a terminal (ECMA-48; DEC private mode 7 is its wrapping
// of long lines, which is off only while a frame is written).
const (
	home      = "\x1b[H"
	clearLine = "\x1b[K"
	clearRest = "\x1b[J"
	noWrap    = "\x1b[?7l"
	wrap      = "\x1b[?7h"
)

// screen draws frames over one another, each in one write: nothing flickers, and
// whenever the run ends the terminal is as it should be.
type screen struct {
	height   func() int // zero when unknown
	messages messages
	restore  func()
	begun    bool
}

// frame returns what draws a text and a last line. Lines that do not fit are
// left out, and counted.
func (s *screen) frame(text []byte, status string) []byte {
	var b bytes.Buffer
	height := s.height()
	if !s.begun && height > 0 {
		b.WriteString(strings.Repeat("\n", height-1)) // what stood there scrolls up
	}
	s.begun = true
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	foot := append(s.messages.list(), status)
	if height > 0 {
		foot = foot[max(min(len(foot)-1, len(foot)+1-height), 0):]
		lines = fit(lines, height-len(foot))
	}
	b.WriteString(noWrap + home)
	for i, line := range append(lines, foot...) {
		if i > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString(line + clearLine)
	}
	b.WriteString(clearRest + wrap)
	return b.Bytes()
}

// fit leaves out the last lines that there is no room for, and says how many.
func fit(lines []string, room int) []string {
	if len(lines) <= room || room < 1 {
		return lines[:min(len(lines), max(room, 0))]
	}
	kept := room - 1
	return append(lines[:kept:kept], fmt.Sprintf("… %s more", count(int64(len(lines)-kept), "line")))
}

// heightOf returns a function that looks how many lines the terminal has at the
// moment.
func heightOf(w io.Writer) func() int {
	f, ok := w.(*os.File)
	return func() int {
		if !ok {
			return 0
		}
		_, height, err := term.GetSize(int(f.Fd()))
		if err != nil {
			return 0
		}
		return height
	}
}

// messages keeps the last lines that were written to it.
type messages struct {
	mu    sync.Mutex
	lines []string
}

const mostMessages = 4

// Write takes whole lines.
func (m *messages) Write(p []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lines = append(m.lines, strings.Split(strings.TrimSuffix(string(p), "\n"), "\n")...)
	m.lines = m.lines[max(len(m.lines)-mostMessages, 0):]
	return len(p), nil
}

func (m *messages) list() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string(nil), m.lines...)
}

// divert lets notices go to another writer until restore is called: on a
// terminal that is redrawn they would be drawn over.
func (n *Notices) divert(w io.Writer) (restore func()) {
	swap := func(to io.Writer) (was io.Writer) {
		n.mu.Lock()
		defer n.mu.Unlock()
		was, n.w = n.w, to
		return was
	}
	was := swap(w)
	return func() { swap(was) }
}
