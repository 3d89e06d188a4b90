package source

// headed is a lane with the key of its first delivery. Keys are compared by time
// and then by the lane's rank, which is unique: a merge has one order only,
// whatever came first.
type headed struct {
	time int64
	rank int
	lane *lane
}

func (a *headed) before(b *headed) bool {
	return a.time < b.time || a.time == b.time && a.rank < b.rank
}

// heads is a binary heap of lanes, the one with the least key on top. It holds
// keys by value, so that a comparison touches no lane.
type heads []headed

func (h *heads) push(x headed) {
	*h = append(*h, x)
	s := *h
	i := len(s) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !s[i].before(&s[up]) {
			return
		}
		s[i], s[up] = s[up], s[i]
		i = up
	}
}

// pop drops the top.
func (h *heads) pop() {
	s := *h
	n := len(s) - 1
	s[0] = s[n]
	s[n] = headed{}
	*h = s[:n]
	(*h).sift(0)
}

// sift moves what stands at i down to where it belongs.
func (h heads) sift(i int) {
	if i >= len(h) {
		return
	}
	x := h[i]
	for {
		c := 2*i + 1
		if c >= len(h) {
			break
		}
		if c+1 < len(h) && h[c+1].before(&h[c]) {
			c++
		}
		if !h[c].before(&x) {
			break
		}
		h[i] = h[c]
		i = c
	}
	h[i] = x
}

// order makes a heap of what has changed everywhere.
func (h heads) order() {
	for i := len(h)/2 - 1; i >= 0; i-- {
		h.sift(i)
	}
}

// second is the key up to which the top may be followed; false if there is no
// other.
func (h heads) second() (headed, bool) {
	switch {
	case len(h) < 2:
		return headed{}, false
	case len(h) > 2 && h[2].before(&h[1]):
		return h[2], true
	default:
		return h[1], true
	}
}
