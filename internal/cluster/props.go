package cluster

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/kcm-cli/kcm/internal/fault"
)

// props are the properties of one cluster after precedence, by canonical key.
type props struct {
	cluster string
	m       map[string]Property
	ignored []Property
}

// collect sorts list into what takes effect and what does not. Of several
// entries for one setting the lowest layer's wins, within it the Java name over
// librdkafka's, then the first. A key that no client knows is an error.
func collect(cluster string, list []Property) (*props, error) {
	t := newKeyTable()
	p := &props{cluster: cluster, m: map[string]Property{}}
	seen := map[string]bool{}
	for _, x := range list {
		if why, ok := refusedKeys[x.Key]; ok && x.Value != "" {
			return nil, p.wrong(x, "%s", why)
		}
		key, taken := t.canonical[x.Key]
		switch {
		case taken:
			if y, dup := p.m[key]; !dup || x.Layer < y.Layer || x.Layer == y.Layer && x.Key == key && y.Key != key {
				p.m[key] = x
			}
		case t.passes(x.Key) || refusedKeys[x.Key] != "":
			if !seen[x.Key] {
				seen[x.Key] = true
				p.ignored = append(p.ignored, x)
			}
		default:
			return nil, p.unknown(t, x)
		}
	}
	return p, nil
}

func (p *props) unknown(t *keyTable, x Property) error {
	err := p.wrong(x, "no Kafka client has a property of this name")
	if near := nearest(x.Key, t.all, 1); len(near) > 0 {
		return err.WithHint("did you mean %s", near[0])
	}
	return err.WithHint("Java client names and librdkafka's are taken, for example security.protocol or sasl.username")
}

// wrong makes the error about one property: its name, its place, what is wrong.
func (p *props) wrong(x Property, format string, args ...any) *fault.Error {
	at := ""
	if x.Origin != "" {
		at = " (" + x.Origin + ")"
	}
	return fault.New(fault.Usage, "%s: %s%s: "+format, append([]any{p.cluster, x.Key, at}, args...)...).On(p.cluster)
}

// get returns a property that is set and not empty.
func (p *props) get(key string) (Property, bool) {
	x, ok := p.m[key]
	return x, ok && x.Value != ""
}

// text returns a property's value, or nothing.
func (p *props) text(key string) string { return p.m[key].Value.Reveal() }

// drop moves the properties with this prefix to the ignored ones: something
// else decided that they have no effect.
func (p *props) drop(keep func(key string) bool) {
	for _, k := range takenKeys {
		if x, ok := p.m[k.names[0]]; ok && !keep(k.names[0]) {
			delete(p.m, k.names[0])
			p.ignored = append(p.ignored, x)
		}
	}
}

// number returns a whole number between lo and hi, or def when it is not set.
func (p *props) number(key string, lo, hi, def int64) (int64, error) {
	x, ok := p.get(key)
	if !ok {
		return def, nil
	}
	n, err := strconv.ParseInt(strings.TrimSpace(x.Value.Reveal()), 10, 64)
	if err != nil {
		return 0, p.wrong(x, "%q is not a whole number", x.Value.Reveal())
	}
	if n < lo || n > hi {
		return 0, p.wrong(x, "%d is not between %d and %d", n, lo, hi)
	}
	return n, nil
}

// millis returns a duration that is written as a number of milliseconds.
func (p *props) millis(key string, def time.Duration) (time.Duration, error) {
	n, err := p.number(key, 0, math.MaxInt32, -1)
	if err != nil || n < 0 {
		return def, err
	}
	return time.Duration(n) * time.Millisecond, nil
}

// boolean returns true or false, or def when it is not set.
func (p *props) boolean(key string, def bool) (bool, error) {
	x, ok := p.get(key)
	if !ok {
		return def, nil
	}
	switch strings.ToLower(strings.TrimSpace(x.Value.Reveal())) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, p.wrong(x, "%q is neither true nor false", x.Value.Reveal())
}

// choice returns one of the words of, in their spelling; "" when it is not set.
func (p *props) choice(key string, of ...string) (string, error) {
	x, ok := p.get(key)
	if !ok {
		return "", nil
	}
	for _, w := range of {
		if strings.EqualFold(w, strings.TrimSpace(x.Value.Reveal())) {
			return w, nil
		}
	}
	return "", p.wrong(x, "%q is none of %s", x.Value.Reveal(), strings.Join(of, ", "))
}
