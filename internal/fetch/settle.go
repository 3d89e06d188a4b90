package fetch

import (
	"context"
	"errors"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kcm-cli/kcm/internal/cluster"
)

// land takes note that a request is back, with an answer or without.
func (f *Fetcher) land(fl *flight, resp *kmsg.FetchResponse, outs []*outcome, err error) {
	b, now := fl.b, time.Now()
	fl.landed = true
	delete(b.flights, fl)
	if b.tail == fl {
		b.tail = nil
	}
	b.dirty = true
	for _, other := range fl.next {
		other.dirty = true
	}
	if err != nil {
		f.unanswered(fl, now, err)
		return
	}
	f.answered(b)
	b.most = min(b.most*2, int(f.cfg.MaxBytes))
	b.throttled = later(b.throttled, now.Add(time.Duration(resp.ThrottleMillis)*time.Millisecond))
	if fl.closes {
		return
	}
	if resp.ErrorCode != 0 {
		f.refused(fl, resp.ErrorCode, now)
		return
	}
	b.refusals = 0
	if fl.role == cluster.Tail {
		b.session.answered(resp.SessionID)
	}
	dry := true
	for _, o := range outs {
		dry = dry && o.bytes == 0
		switch {
		case o.settled: // its call of Fetched came back between the grace's end and now
		case o.state.Load() == outlived:
			o.w.p.handing = true
		default:
			f.settle(o, false)
		}
	}
	if dry {
		f.rest(fl, len(outs), now)
	}
}

// rest keeps partitions of an answer that held nothing from being asked for at
// once again.
func (f *Fetcher) rest(fl *flight, outs int, now time.Time) {
	if fl.role == cluster.Tail {
		if outs == 0 && now.Sub(fl.started) < f.cfg.MaxWait/2 {
			fl.b.throttled = later(fl.b.throttled, now.Add(f.cfg.timing.poll)) // it should have waited
		}
		return
	}
	for _, w := range fl.wants {
		if again := now.Add(f.cfg.timing.poll); w.p.due.Before(again) {
			w.p.due = again
		}
	}
}

// refused is an answer that has an error instead of partitions.
func (f *Fetcher) refused(fl *flight, code int16, now time.Time) {
	b := fl.b
	b.refusals++
	if b.refusals > 1 {
		b.retryAt = now.Add(growing(b.refusals-1, f.cfg.timing.backoff, f.cfg.timing.longest))
	}
	err := kerr.ErrorForCode(code)
	if !ofSession(err) {
		for _, w := range fl.wants {
			f.troubled(w.p, now, err)
			f.lookUp(w.p)
		}
	}
	if fl.role == cluster.Tail {
		b.session.refused(code)
	}
}

// ofSession reports whether an error is mended by a new session.
func ofSession(err error) bool {
	return errors.Is(err, kerr.FetchSessionIDNotFound) || errors.Is(err, kerr.InvalidFetchSessionEpoch) ||
		errors.Is(err, kerr.FetchSessionTopicIDError)
}

// unanswered is a request that failed.
func (f *Fetcher) unanswered(fl *flight, now time.Time, err error) {
	b := fl.b
	size, limit, tooLarge := tooLargeSize(err)
	if tooLarge || readTooLong(err) && !b.lost && len(fl.wants) > 0 {
		b.most = max(b.most/2, leastBytes)
		for _, w := range fl.wants {
			f.aloneNext(w.p, len(fl.wants) == 1, TooLarge{Partition: w.p.key, Size: size, Limit: limit, Err: err})
		}
	} else {
		f.failed(b, fl.started, now, err)
	}
	if fl.role == cluster.Tail {
		b.session.reset()
	}
}

// aloneNext has p asked for alone after an answer that could not be received, or
// stops it if it was alone in that.
func (f *Fetcher) aloneNext(p *part, only bool, e TooLarge) {
	if p.gone.Load() || p.stopped {
		return
	}
	if p.alone && only {
		e.Offset = p.at.Offset
		f.stop(p, e)
		return
	}
	p.alone, p.reached = true, false
	if p.on != nil {
		f.leaveSession(p)
	}
}

// readTooLong reports whether an answer did not arrive in time.
func readTooLong(err error) bool {
	var op *net.OpError
	return errors.Is(err, os.ErrDeadlineExceeded) && errors.As(err, &op) && op.Op == "read"
}

// tooLargeSize reads kgo's error about an answer above BrokerMaxReadBytes, which
// has no type. A TLS alert or an HTTP answer that is taken for a length has other
// words.
func tooLargeSize(err error) (size, limit int64, ok bool) {
	if errors.Is(err, context.Canceled) || !strings.HasSuffix(err.Error(), "response exceeds BrokerMaxReadBytes") {
		return 0, 0, false
	}
	_, s, _ := strings.Cut(err.Error(), "invalid large response size ")
	first, s, _ := strings.Cut(s, " > limit ")
	second, _, _ := strings.Cut(s, ":")
	size, _ = strconv.ParseInt(first, 10, 64)
	limit, _ = strconv.ParseInt(second, 10, 64)
	return size, limit, true
}

// settle moves a partition on after what an answer said has been handed on;
// late when the answer did not wait for that.
func (f *Fetcher) settle(o *outcome, late bool) {
	p, now := o.w.p, time.Now()
	o.settled = true
	if late {
		p.handing = false
	}
	if p.gone.Load() || p.stopped {
		return
	}
	if p.on != nil {
		p.on.dirty = true
	}
	switch {
	case o.code == 0 && o.diverging >= 0:
		f.stop(p, Truncated{p.key, o.w.at.Offset, min(o.diverging, o.w.at.Offset)})
	case o.code == 0:
		f.readable(p)
		f.advance(o)
		f.goOn(o, late, now)
	case p.on == nil || p.on == o.fl.b: // otherwise p has moved meanwhile
		f.fault(o, now)
	}
}

// advance takes over position and bounds.
func (f *Fetcher) advance(o *outcome) {
	p := o.w.p
	if o.next > p.at.Offset {
		p.served = f.clock.Add(1)
		p.alone = false
	}
	p.at.Offset, p.at.Epoch, p.bounds = o.next, o.epoch, o.bounds
	if !p.caught && o.bounds.end >= 0 && p.at.Offset >= o.bounds.end {
		p.caught = true
		f.cfg.Handler.Event(CaughtUp{p.key, p.at.Offset})
	}
}

// goOn decides what comes after an answer without an error.
func (f *Fetcher) goOn(o *outcome, late bool, now time.Time) {
	p := o.w.p
	switch {
	case o.damage != nil:
		f.spoiled(o, now)
	case o.cut > 0:
		f.piece(o)
	case p.until >= 0 && p.at.Offset >= p.until:
		f.stop(p, Done{p.key, p.at.Offset})
	case o.replica >= 0 && f.cfg.Rack != "" && !o.w.follower:
		p.replica, p.replicaUntil = o.replica, now.Add(f.cfg.timing.replica)
		f.place(p)
	default:
		f.goOnReading(o, late, now)
	}
}

// goOnReading decides where p is asked for next: in the session at its end, one
// by one otherwise.
func (f *Fetcher) goOnReading(o *outcome, late bool, now time.Time) {
	p := o.w.p
	p.reached = p.at.Offset >= o.limit(f.cfg.Committed) && !late
	if p.reached {
		p.due = now.Add(f.cfg.timing.poll)
	} else if p.on != nil {
		f.leaveSession(p)
	}
	if p.replica >= 0 && now.After(p.replicaUntil) {
		p.replica = -1
		f.place(p)
	}
}

// spoiled is a batch that is not what was written. A copy of it may be.
func (f *Fetcher) spoiled(o *outcome, now time.Time) {
	if o.w.follower {
		f.toLeader(o.w.p, now)
		return
	}
	f.stop(o.w.p, *o.damage)
}

// piece is an answer that held the beginning of a batch only, as a broker older
// than KIP-74 makes them, or one that had no room left for it.
func (f *Fetcher) piece(o *outcome) {
	p := o.w.p
	if p.on != nil {
		f.leaveSession(p)
	}
	p.reached = false
	if !p.alone {
		p.alone = true
		return
	}
	f.stop(p, TooLarge{Partition: p.key, Offset: p.at.Offset, Size: o.cut, Limit: int64(o.fl.most)})
}

// fault acts on a partition's error code.
func (f *Fetcher) fault(o *outcome, now time.Time) {
	p, err := o.w.p, kerr.ErrorForCode(o.code)
	if p.on != nil {
		f.leaveSession(p) // left in, it would be answered with the error at once, again and again
	}
	p.reached = false
	p.fails++
	if p.fails > 1 {
		p.due = now.Add(growing(p.fails-1, f.cfg.timing.poll, f.cfg.timing.longest/5))
	}
	switch {
	case o.w.follower:
		f.toLeader(p, now) // whatever it is, the leader knows better
	case errors.Is(err, kerr.OffsetOutOfRange):
		f.outOfRange(p)
	case errors.Is(err, kerr.TopicAuthorizationFailed):
		f.stop(p, Denied{p.key, err})
	case errors.Is(err, kerr.CorruptMessage) && p.fails > 3:
		f.stop(p, Damaged{p.key, p.at.Offset, err})
	case ofPlace(err):
		f.troubled(p, now, err)
		f.lookUp(p)
		if o.leader >= 0 && o.leaderAt > p.epoch {
			p.leader, p.epoch = o.leader, o.leaderAt // KIP-951
			f.place(p)
		} else {
			f.unplace(p)
		}
	default:
		f.troubled(p, now, err)
		f.lookUp(p)
	}
}

// ofPlace reports whether an error says that another broker is to be asked, or
// for another topic.
func ofPlace(err error) bool {
	for _, of := range []*kerr.Error{
		kerr.NotLeaderForPartition, kerr.FencedLeaderEpoch, kerr.UnknownTopicOrPartition,
		kerr.UnknownTopicID, kerr.InconsistentTopicID, kerr.ReplicaNotAvailable, kerr.LeaderNotAvailable,
	} {
		if errors.Is(err, of) {
			return true
		}
	}
	return false
}
