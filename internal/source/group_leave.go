package source

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kcm-cli/kcm/internal/fault"
)

// leave commits what is pending and leaves the group, so that its partitions are
// others' at once. It waits a few seconds at most, less for a cluster that is
// known not to answer. The error is why something was not committed; more calls
// return the same.
func (m *member) leave(dead bool) error {
	m.leaving.Do(func() {
		m.mu.Lock()
		cl, failed := m.client, m.left
		m.left = true
		m.mu.Unlock()
		switch {
		case cl == nil:
		case failed: // it is no member
			go cl.Close()
		default:
			limit := commitLimit
			if dead {
				limit = commitPause
			}
			m.final = m.explainLast(m.finalCommit(cl, limit))
			m.depart(cl)
		}
		m.stop()
		m.running.Wait()
	})
	return m.final
}

// leaves reports whether the membership ends of this run's own accord: what it
// loses then, and what its client says of being closed, is no news.
func (m *member) leaves() bool {
	if m == nil {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.left
}

// explainLast is ExplainGroup for the last commit.
func (m *member) explainLast(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fault.New(fault.Unreachable, "%s: group %s: its coordinator does not answer", m.cluster.Name(), m.group).On(m.cluster.Name())
	}
	return m.cluster.ExplainGroup(err, m.group)
}

// finalCommit is the last one. What the group refuses while it is being
// rearranged is tried again for a while.
func (m *member) finalCommit(cl *kgo.Client, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(m.ctx, limit)
	defer cancel()
	for doubts := 0; ; {
		err := m.commit(ctx, cl, nil)
		if errors.Is(err, errDoubtful) {
			if doubts++; doubts > 3 {
				return nil // it was another topic
			}
		}
		if err == nil || !passing(err) {
			return err
		}
		select {
		case <-time.After(joinPause):
		case <-ctx.Done():
			return err
		}
	}
}

// depart leaves the group. A member that waits for the others to agree is taken
// out by a request of its own: it would wait as long as they do.
func (m *member) depart(cl *kgo.Client) {
	ctx, cancel := context.WithTimeout(m.ctx, leaveLimit)
	defer cancel()
	if err := cl.LeaveGroupContext(ctx); err != nil && ctx.Err() != nil {
		m.withdraw(cl)
	}
	closed := make(chan struct{})
	go func() {
		cl.Close() // waits for an answer of the group's coordinator, which may never come
		close(closed)
	}()
	select {
	case <-closed:
	case <-ctx.Done():
	}
}

func (m *member) withdraw(cl *kgo.Client) {
	id, _ := cl.GroupMetadata()
	control, err := m.cluster.Control()
	if err != nil || id == "" {
		return
	}
	ctx, cancel := context.WithTimeout(m.ctx, leaveLimit)
	defer cancel()
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group, req.MemberID = m.group, id
	one := kmsg.NewLeaveGroupRequestMember()
	one.MemberID = id
	req.Members = append(req.Members, one)
	_, _ = req.RequestWith(ctx, control)
}
