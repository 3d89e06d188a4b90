package main

import "fmt"

// promise is one thing that kcm promises of a row; a limit of 0 is none, for
// what is only worth telling.
type promise struct {
	name  string
	kind  kind
	a, b  string // names of contenders; b is empty for what concerns one
	limit float64
}

// kind is how a promise is measured, on medians if nothing else is said.
type kind int

const (
	rate  kind = iota // records a second of a by those of b, at least
	times             // wall time of a by that of b, at most
	cpus              // CPU time of a by that of b, at most
	peak              // the highest peak of memory of a in MB, at most
	speed             // millions of records a second of a, at least
	delay             // 99th percentile of a above that of b in ms, at most
)

// most reports whether the limit is an upper one.
func (k kind) most() bool { return k != rate && k != speed }

// bar is a promise that was looked at.
type bar struct {
	Name  string
	Value float64
	Limit float64 // 0 is none
	Most  bool    // the limit is an upper one
	Why   string  `json:",omitempty"` // it was not measured
}

func (b bar) kept() bool {
	switch {
	case b.Why != "":
		return false
	case b.Limit == 0:
		return true
	case b.Most:
		return b.Value <= b.Limit
	}
	return b.Value >= b.Limit
}

// word is what the table says of b.
func (b bar) word() string {
	switch {
	case b.Why != "":
		return "**not measured**: " + b.Why
	case b.Limit == 0:
		return "for information"
	case b.kept():
		return "kept"
	}
	return "**missed**"
}

func (b bar) wanted() string {
	sign := "≥"
	if b.Most {
		sign = "≤"
	}
	if b.Limit == 0 {
		return "–"
	}
	return fmt.Sprintf("%s %.2f", sign, b.Limit)
}

func (b bar) measured() string {
	if b.Why != "" {
		return "–"
	}
	return fmt.Sprintf("%.2f", b.Value)
}

// judge looks at the promises; one whose contenders are missing says so.
func judge(ps []promise, out outcome) []bar {
	by := map[string]result{}
	for _, r := range out.Results {
		if len(r.Samples) > 0 || r.Delays != nil {
			by[r.Name] = r
		}
	}
	var bars []bar
	for _, p := range ps {
		b := bar{Name: p.name, Limit: p.limit, Most: p.kind.most()}
		x, okX := by[p.a]
		y, okY := by[p.b]
		switch {
		case out.Failed != "":
			b.Why = "the row failed"
		case !okX:
			b.Why = "no " + p.a
		case !okY && p.b != "":
			b.Why = "no " + p.b
		default:
			b.Value = p.kind.of(x, y)
		}
		bars = append(bars, b)
	}
	return bars
}

func (k kind) of(x, y result) float64 {
	switch k {
	case rate:
		return (y.wall().mid / float64(y.Records)) / (x.wall().mid / float64(x.Records))
	case times:
		return x.wall().mid / y.wall().mid
	case cpus:
		return x.cpu().mid / y.cpu().mid
	case peak:
		return x.rss().high
	case speed:
		return float64(x.Records) / x.wall().mid / 1e6
	}
	return (x.Delays.P99 - y.Delays.P99).Seconds() * 1000
}
