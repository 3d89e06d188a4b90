package source

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/fault"
)

// contact tries to reach the cluster until it answers. A bounded run gives up
// after GiveUp; a refusal that trying again cannot change ends it at once.
func (r *reader) contact(ctx context.Context) error {
	since, refusals := time.Now(), 0
	for wait := 250 * time.Millisecond; ; wait = min(2*wait, longestPause) {
		if err := r.reconsider(); err != nil {
			return err
		}
		info, err := r.connect(ctx, since)
		switch {
		case err == nil:
			r.e.heard()
			r.back()
			r.met(info)
			return nil
		case errors.Is(err, context.Canceled) && ctx.Err() == nil: // a plan came
			wait, since = 125*time.Millisecond, time.Now()
			continue
		}
		r.e.entered.arrive(r)
		r.e.begun.arrive(r)
		if r.missed = !r.e.Bounded; r.missed {
			r.e.tail.giveUp(r)
		}
		if ctx.Err() != nil || r.final(err, since) {
			return r.givenUp(err)
		}
		if r.lost(err); fault.KindOf(err) != fault.Unreachable {
			refusals++
			wait = afterRefusal(refusals)
		}
		select {
		case <-time.After(r.within(wait, since)):
		case <-r.wake:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// reconsider takes a new plan before there is any contact.
func (r *reader) reconsider() error {
	d, news := r.takeNews()
	if !news {
		return nil
	}
	before := r.wants
	r.rewant(d.wants)
	if len(r.wants) == 0 {
		r.tellUnread(before)
		return errGone
	}
	if d.cluster != r.cluster {
		go r.cluster.Close()
		r.cluster = d.cluster
	}
	return nil
}

// met notes who the cluster is.
func (r *reader) met(info cluster.Info) {
	r.id, r.brokers = info.ClusterID, len(info.Brokers)
	r.detail(1, "%s: %s", r.name, Connected(info))
}

// connect tries once. The first try takes as long as finding the cause takes,
// others no longer than there is before the cluster is given up.
func (r *reader) connect(ctx context.Context, since time.Time) (cluster.Info, error) {
	ctx, done := r.calling(ctx)
	defer done()
	if r.told && r.mortal() {
		left := max(r.e.GiveUp-time.Since(since), leastAttempt)
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, left)
		defer cancel()
	}
	return r.cluster.Connect(ctx)
}

// mortal reports whether the cluster is given up when it stays silent.
func (r *reader) mortal() bool { return r.e.Bounded || !r.late && r.e.silent() }

// longestPause is how long to wait at most before contact is tried again.
const longestPause = 5 * time.Second

// patient reports whether even a refusal is waited out: the metadata or the
// brokers may be corrected while the run goes on.
func (r *reader) patient() bool {
	return r.e.Updates != nil && !r.e.Bounded && !r.e.FailFast && (r.late || r.id != "")
}

// leastAttempt is how long an attempt to reach a cluster may take at least.
const leastAttempt = 500 * time.Millisecond

// givenUp is the error with which a cluster is given up; why there was no
// contact has been told when the contact was lost, unless the first try took so long.
func (r *reader) givenUp(err error) error {
	switch {
	case fault.KindOf(err) != fault.Unreachable, r.e.FailFast:
		return err
	case !r.told:
		why := strings.TrimPrefix(err.Error(), r.name+": ")
		return fault.New(fault.Unreachable, "%s: given up after %s without contact: %s", r.name, r.e.GiveUp, why).On(r.name).WithHint("%s", fault.HintOf(err))
	}
	return fault.New(fault.Unreachable, "%s: given up after %s without contact", r.name, r.e.GiveUp).On(r.name)
}

// within shortens a wait so that a cluster is given up when it is time to.
func (r *reader) within(wait time.Duration, since time.Time) time.Duration {
	if r.mortal() {
		return min(wait, max(0, r.e.GiveUp-time.Since(since)))
	}
	return wait
}

// final reports whether the cluster is given up.
func (r *reader) final(err error, since time.Time) bool {
	if r.e.FailFast || fault.KindOf(err) != fault.Unreachable && !r.patient() {
		return true
	}
	return r.mortal() && time.Since(since) >= r.e.GiveUp
}

// lost tells, once per change, that there is no contact, unless that has been
// told of the brokers or nothing is wanted of the cluster any more.
func (r *reader) lost(err error) {
	if r.ctx.Err() != nil || errors.Is(err, context.Canceled) {
		return // it is the end of the run, or a new plan, that has ended the call
	}
	r.hasten()
	if r.told || r.brokersLost() {
		return
	}
	r.told = true
	r.lives()
	if len(r.wants) == 0 {
		return
	}
	text := err.Error()
	if r.id != "" {
		text = r.name + ": lost: " + strings.TrimPrefix(text, r.name+": ")
	}
	r.event(Event{Kind: Lost, Text: text + "; trying again", Hint: fault.HintOf(err)})
}

func (r *reader) back() {
	if r.told {
		r.told = false
		r.lives()
		r.event(Event{Kind: Back, Text: r.name + ": back"})
	}
}
