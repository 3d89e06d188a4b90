package source

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kcm-cli/kcm/internal/cluster"
)

// membership is one client's hooks: those of one that has been given up are not
// heard any more.
type membership struct{ m *member }

func (s *membership) current(cl *kgo.Client) bool {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	return s.m.client == nil || s.m.client == cl // nil: New has not returned yet, or it is being left
}

func flatten(parts map[string][]int32) (list []cluster.TopicPartition) {
	for _, topic := range slices.Sorted(maps.Keys(parts)) {
		for _, p := range parts[topic] {
			list = append(list, cluster.TopicPartition{Topic: topic, Partition: p})
		}
	}
	return list
}

func (s *membership) assigned(_ context.Context, cl *kgo.Client, parts map[string][]int32) {
	if !s.current(cl) {
		return
	}
	list := flatten(parts)
	s.m.mu.Lock()
	for _, p := range list {
		s.m.owned[p] = true
	}
	s.m.since = time.Now()
	s.m.mu.Unlock()
	s.m.h.trouble(nil, false)
	s.m.h.assigned(list)
}

// revoked is called by the client before others may have the partitions. What it
// has not returned from within the rebalance timeout costs the membership.
func (s *membership) revoked(_ context.Context, cl *kgo.Client, parts map[string][]int32) {
	list := flatten(parts)
	if len(list) == 0 {
		return
	}
	m := s.m
	m.mu.Lock()
	for _, p := range list {
		m.owned[p] = false
	}
	patience := m.limit / 3
	m.mu.Unlock()
	last := m.h.revoked(list, patience)
	m.keep(last)
	ctx, cancel := context.WithTimeout(m.ctx, min(commitLimit, patience))
	defer cancel()
	if err := m.commit(ctx, cl, list); err != nil && m.ctx.Err() == nil {
		m.h.trouble(fmt.Errorf("the commits of what another member gets: %w", m.cluster.ExplainGroup(err, m.group)), false)
	}
	m.disown(list)
}

func (s *membership) lost(_ context.Context, _ *kgo.Client, parts map[string][]int32) {
	list := flatten(parts)
	s.m.disown(list)
	if len(list) > 0 {
		s.m.h.lost(list)
	}
}

func (m *member) disown(list []cluster.TopicPartition) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range list {
		delete(m.owned, p)
		delete(m.pending, p)
		delete(m.done, p)
	}
	m.since = time.Now()
}

// OnGroupManageError implements kgo.HookGroupManageError.
func (s *membership) OnGroupManageError(err error) {
	m := s.m
	switch {
	case m.ctx.Err() != nil || errors.Is(err, context.Canceled) || errors.Is(err, kgo.ErrClientClosed):
	case anew(err):
		select {
		case m.anew <- err:
		default:
		}
	case decides(err):
		m.running.Go(func() { m.fail(m.cluster.ExplainGroup(err, m.group), true) })
	default:
		m.h.trouble(m.cluster.ExplainGroup(err, m.group), false)
	}
}

// anew reports whether a group has to be looked at again, and joined in another
// way.
func anew(err error) bool {
	return errors.Is(err, kerr.InconsistentGroupProtocol) || errors.Is(err, kerr.UnsupportedAssignor) ||
		errors.Is(err, kerr.GroupIDNotFound) || errors.Is(err, kerr.UnsupportedVersion)
}

// decides reports whether trouble is more than passing, which OnGroupManageError
// deals with.
func decides(err error) bool {
	return anew(err) || errors.Is(err, kerr.GroupAuthorizationFailed) || errors.Is(err, kerr.TopicAuthorizationFailed)
}

// drain takes what the client says about trouble in place of records, which it
// never has.
func (s *membership) drain(cl *kgo.Client) {
	for {
		fetches := cl.PollFetches(s.m.ctx)
		if fetches.IsClientClosed() || s.m.ctx.Err() != nil {
			return
		}
		fetches.EachError(func(topic string, _ int32, err error) {
			if _, manage := errors.AsType[*kgo.ErrGroupSession](err); manage && decides(err) || topic == "" && !manage {
				return
			}
			s.m.h.trouble(s.m.cluster.ExplainGroup(err, s.m.group), false)
		})
	}
}
