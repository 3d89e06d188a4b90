package cmd

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/lipgloss"

	"github.com/kcm-cli/kcm/internal/source"
)

// draw draws the live line.
func (p *progress) draw() {
	if time.Since(p.began) < liveAfter {
		return
	}
	width := 0
	if p.width != nil {
		width = p.width()
	}
	if width <= 0 {
		width = 80
	}
	p.n.Status(liveLine(p.sample(), width-1))
}

// liveLine is a line of at most width columns. What has no room is left out, the
// least important first.
func liveLine(s sample, width int) string {
	parts := []string{countText(s.Total.Records), sizeText(s.Total.Bytes), grouped(int64(math.Round(s.perSecond))) + "/s", lagText(s.Total), "", lostText(s.Clusters)}
	if s.eta >= 0 && (!s.Endless || s.eta > 0) {
		parts[4] = "ETA " + durationText(s.eta.Round(time.Second))
	}
	for _, i := range []int{-1, 1, 2, 4, 3, 5} {
		if i >= 0 {
			parts[i] = ""
		}
		line := strings.Join(slices.DeleteFunc(slices.Clone(parts), func(s string) bool { return s == "" }), "  ")
		if lipgloss.Width(line) <= width {
			return line
		}
	}
	return ""
}

func lagText(p source.Progress) string {
	switch {
	case p.Lag < 0:
		return ""
	case p.Lag > 0 && p.Behind >= 0:
		return "lag " + grouped(p.Lag) + " (" + durationText(p.Behind.Round(time.Second)) + ")"
	default:
		return "lag " + grouped(p.Lag)
	}
}

// lostText names the clusters that do not answer.
func lostText(clusters map[string]source.ClusterProgress) string {
	var lost []string
	for name, c := range clusters {
		if c.State == source.ClusterLost {
			lost = append(lost, oneLine(name))
		}
	}
	if len(lost) == 0 {
		return ""
	}
	slices.Sort(lost)
	if len(lost) > 3 {
		return fmt.Sprintf("%d clusters lost", len(lost))
	}
	return "lost: " + strings.Join(lost, ", ")
}

// tellJSON tells progress as one JSON line.
func (p *progress) tellJSON() {
	s := p.sample()
	p.n.Object(
		Field{"records", s.Total.Records}, Field{"bytes", s.Total.Bytes}, Field{"records_per_s", tenths(s.perSecond)},
		Field{"lag", known(s.Total.Lag)}, Field{"lag_seconds", secondsOf(s.Total.Behind)}, Field{"eta_seconds", secondsOf(s.eta)},
		Field{"clusters", clusterFields(s.Clusters)},
	)
}

// clusterField is a cluster in a progress line.
type clusterField struct {
	State  source.ClusterState `json:"state"`
	Splits int                 `json:"splits"`
	Lag    *int64              `json:"lag"`
}

func clusterFields(clusters map[string]source.ClusterProgress) map[string]clusterField {
	fields := map[string]clusterField{}
	for name, c := range clusters {
		fields[name] = clusterField{c.State, c.Splits, known(c.Lag)}
	}
	return fields
}

// secondsOf is a duration in seconds, or null below 0.
func secondsOf(d time.Duration) any {
	if d < 0 {
		return nil
	}
	return tenths(d.Seconds())
}

func tenths(f float64) float64 { return math.Round(f*10) / 10 }

// countText is "1,234 records".
func countText(n int64) string {
	if n == 1 {
		return "1 record"
	}
	return grouped(n) + " records"
}

// grouped writes n with a comma before each three digits.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// sizeText writes a number of bytes with three digits, in powers of 1000.
func sizeText(n int64) string {
	if n < 1000 {
		return strconv.FormatInt(n, 10) + " B"
	}
	f, unit := float64(n), 0
	for f >= 999.5 && unit < 6 {
		f, unit = f/1000, unit+1
	}
	digits := 2
	switch {
	case f >= 99.95:
		digits = 0
	case f >= 9.995:
		digits = 1
	}
	return strconv.FormatFloat(f, 'f', digits, 64) + " " + []string{"B", "kB", "MB", "GB", "TB", "PB", "EB"}[unit]
}

// durationText writes a duration with the digits that matter: 0.31s, 12.3s, 5m2s,
// 3h20m, 12d4h.
func durationText(d time.Duration) string {
	switch {
	case d < 10*time.Second && d%time.Second != 0:
		return strconv.FormatFloat(d.Seconds(), 'f', 2, 64) + "s"
	case d < time.Minute && d%time.Second != 0:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + "s"
	case d < time.Minute:
		return strconv.Itoa(int(d/time.Second)) + "s"
	case d < time.Hour:
		return fmt.Sprintf("%dm%ds", d/time.Minute, d%time.Minute/time.Second)
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh%dm", d/time.Hour, d%time.Hour/time.Minute)
	default:
		return fmt.Sprintf("%dd%dh", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
	}
}
