package cmd

import "io"

// eraseLine goes to the beginning of a terminal's line and empties it.
const eraseLine = "\r" + clearLine

// Status shows a line that stays below what is told, in place of the one before;
// "" ends that. It is for terminals, and must be narrower than the screen.
func (n *Notices) Status(line string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if line == n.status {
		return
	}
	n.status = line
	_, _ = io.WriteString(n.w, eraseLine+line)
}

// around puts a text above the status line. The caller holds mu.
func (n *Notices) around(text string) string {
	if n.status == "" {
		return text
	}
	return eraseLine + text + n.status
}
