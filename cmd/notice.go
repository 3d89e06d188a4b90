package cmd

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// Notices writes what is not data to stderr: notices, warnings, events and the
// error that ends a run. It is safe for use by several goroutines, and each of
// its lines is one write. The same line is written once only when its author
// says so (Once); as JSON every line is one object with a "time".
type Notices struct {
	mu    sync.Mutex
	w     io.Writer
	now   func() time.Time
	style noticeStyle
	seen  map[string]bool

	status string // below what is told; "" is none
}

// noticeStyle is what the flags say about stderr.
type noticeStyle struct {
	json      bool
	quiet     bool // no notices and events; warnings and errors stay
	verbosity int  // how often -v was given
}

func newNotices(env *Env, style noticeStyle) *Notices {
	return &Notices{w: env.Stderr, now: env.Now, style: style, seen: map[string]bool{}}
}

// Field is one member of an event's JSON object.
type Field struct {
	Name  string // snake_case
	Value any    // as encoding/json takes it
}

// JSON reports whether stderr is JSON lines.
func (n *Notices) JSON() bool { return n.style.json }

// Quiet reports whether notices are unwanted.
func (n *Notices) Quiet() bool { return n.style.quiet }

// Verbosity returns how often -v was given.
func (n *Notices) Verbosity() int { return n.style.verbosity }

// Notef tells something that the user may want to know. -q hides it.
func (n *Notices) Notef(format string, args ...any) {
	if !n.style.quiet {
		n.line("notice", fmt.Sprintf(format, args...))
	}
}

// Warnf tells something that the user should know.
func (n *Notices) Warnf(format string, args ...any) {
	n.line("warning", fmt.Sprintf(format, args...))
}

// Verbosef tells a detail to somebody who gave -v at least level times.
func (n *Notices) Verbosef(level int, format string, args ...any) {
	if n.style.verbosity >= level {
		n.line("debug", fmt.Sprintf(format, args...))
	}
}

// WarnOncef is Warnf, but the same text is told only once in a run.
func (n *Notices) WarnOncef(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	n.mu.Lock()
	told := n.seen[text]
	n.seen[text] = true
	n.mu.Unlock()
	if !told {
		n.Warnf("%s", text)
	}
}

// Event tells that something happened, as text (a whole line, without the
// "kcm:" of a message) or as JSON with the fields behind the event's name. -q
// hides the text, but never the JSON.
func (n *Notices) Event(event, text string, fields ...Field) {
	if n.style.json {
		n.object(append([]Field{{"event", event}}, fields...))
		return
	}
	if !n.style.quiet {
		n.write(oneLine(text) + "\n")
	}
}

// Object writes one JSON line made of the fields behind "time", for progress.
// It is silent when stderr is text.
func (n *Notices) Object(fields ...Field) {
	if n.style.json {
		n.object(fields)
	}
}

func (n *Notices) line(level, text string) {
	switch {
	case n.style.json:
		n.object([]Field{{"level", level}, {"message", text}})
	case level == "warning":
		n.write("kcm: warning: " + oneLine(text) + "\n")
	default:
		n.write("kcm: " + oneLine(text) + "\n")
	}
}

func (n *Notices) object(fields []Field) {
	n.write(jsonLine(append([]Field{{"time", n.now().UTC().Format("2006-01-02T15:04:05.000Z07:00")}}, fields...)))
}

func (n *Notices) write(text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	// There is nobody left to tell when stderr itself fails.
	_, _ = io.WriteString(n.w, n.around(text))
}

// jsonLine encodes the fields in their order as one line.
func jsonLine(fields []Field) string {
	var b strings.Builder
	b.WriteByte('{')
	for i, f := range fields {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(jsonText(f.Name) + ":" + jsonText(f.Value))
	}
	b.WriteString("}\n")
	return b.String()
}

func jsonText(v any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return jsonText(fmt.Sprint(v))
	}
	return escapeControls(strings.TrimSuffix(b.String(), "\n"))
}

// escapeControls escapes the control characters that encoding/json leaves as
// they are: DEL and the C1 controls, which move the cursor of some terminals.
func escapeControls(text string) string {
	isControl := func(r rune) bool { return r >= 0x7f && r < 0xa0 }
	if !strings.ContainsFunc(text, isControl) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if isControl(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// oneLine keeps a message on one line and free of what moves a terminal's
// cursor: parts of it may come from a broker.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r' || r == '\t':
			return ' '
		case r < ' ' || r == 0x7f || (r >= 0x80 && r < 0xa0):
			return -1
		default:
			return r
		}
	}, text)
}
