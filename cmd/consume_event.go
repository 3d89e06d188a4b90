package cmd

import (
	"fmt"

	"github.com/kcm-cli/kcm/internal/source"
)

// event shows what the engine tells.
func (o *consumeOptions) event(ev source.Event) {
	o.env.run.metrics.Happened(ev)
	n := o.env.run.notices
	if ev.Kind == source.Begun && o.replay.past != nil {
		o.replay.past.tellUnused()
	}
	if ev.Kind == source.Begun && !o.bounded && !o.promised && !o.env.StdoutTerminal {
		n.Notef("following; -e stops at the end")
		return
	}
	if ev.Depth > n.Verbosity() {
		return
	}
	if n.JSON() {
		n.Event(string(ev.Kind), ev.Text, eventFields(ev)...)
		return
	}
	switch ev.Kind {
	case source.Added, source.Drained, source.Removed:
		n.happened(ev)
	case source.Note, source.Back:
		n.Notef("%s", ev.Text)
		if n.Quiet() {
			return
		}
	default:
		n.tellf("%s", ev.Text)
	}
	if ev.Hint != "" {
		n.tellf("hint: %s", ev.Hint)
	}
}

// happened tells what has come or gone; -q hides it unless something was left
// unread.
func (n *Notices) happened(ev source.Event) {
	if ev.Cut && n.Quiet() {
		n.Warnf("%s", ev.Text)
		return
	}
	n.Event(string(ev.Kind), ev.Text)
}

// eventFields are an event's members behind its name; what is unknown is null.
func eventFields(ev source.Event) []Field {
	fields := []Field{{"cluster", ev.Split.Cluster}}
	switch ev.Kind {
	case source.Added, source.Drained, source.Removed:
		positions := ev.Positions
		if positions == nil {
			positions = map[int32]int64{}
		}
		fields = append(fields, Field{"topic", orNull(ev.Split.Topic)}, Field{"partition", nil}, Field{"stream", orNull(ev.Stream)},
			Field{"partitions", ev.Partitions}, Field{"positions", positions})
	default:
		if ev.Split.Topic != "" {
			fields = append(fields, Field{"topic", ev.Split.Topic}, Field{"partition", ev.Split.Partition})
		}
	}
	fields = append(fields, Field{"message", ev.Text})
	if ev.Hint != "" {
		fields = append(fields, Field{"hint", ev.Hint})
	}
	return fields
}

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// tellf tells what must be known even with -q, in the form of an error.
func (n *Notices) tellf(format string, args ...any) {
	n.line("error", fmt.Sprintf(format, args...))
}
