package fetch

import (
	"math/rand/v2"
	"time"
)

// timing is how long things take; tests make some of it shorter.
type timing struct {
	poll     time.Duration // between polls of what waits for the tail's turn
	grace    time.Duration // how long an answer waits for its calls of Fetched
	slow     time.Duration // an unanswered request is doubted after that, and a ping fails
	idle     time.Duration // the bulk client is closed after that
	refresh  time.Duration // look-ups of topics that give no reason
	trouble  time.Duration // a partition may be without a leader, untold
	replica  time.Duration // a preferred replica is asked before the leader is again
	plain    time.Duration // no rack is told after a preferred replica failed
	backoff  time.Duration // the first of a broker
	longest  time.Duration // the longest of a broker
	farewell time.Duration // what is in flight when Run ends may still land
}

func (t *timing) fill() {
	for _, d := range []struct {
		of    *time.Duration
		usual time.Duration
	}{
		{&t.poll, 50 * time.Millisecond},
		{&t.grace, 10 * time.Millisecond},
		{&t.slow, 5 * time.Second},
		{&t.idle, 30 * time.Second},
		{&t.refresh, time.Minute},
		{&t.trouble, 3 * time.Second},
		{&t.replica, 5 * time.Minute},
		{&t.plain, 30 * time.Second},
		{&t.backoff, 200 * time.Millisecond},
		{&t.longest, 5 * time.Second},
		{&t.farewell, 700 * time.Millisecond},
	} {
		if *d.of == 0 {
			*d.of = d.usual
		}
	}
}

// growing is first doubled n-1 times, at most most, and then between three
// quarters and five quarters of that, so that many do not come back at once.
func growing(n int, first, most time.Duration) time.Duration {
	d := first
	for ; n > 1 && d < most; n-- {
		d *= 2
	}
	d = min(d, most)
	return d*3/4 + rand.N(d/2+1)
}

// earliest returns the earlier of two times, where the zero time is never.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
