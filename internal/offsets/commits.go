package offsets

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kcm-cli/kcm/internal/cluster"
)

// commits reads all commits of the groups that can have some.
func (r *groupReader) commits(ctx context.Context, stable bool) {
	r.about(ctx, &subject{
		of:      func(g *Group) bool { return g.Kind != cluster.ShareGroup },
		request: func(names []string) kmsg.Request { return commitsRequest(names, stable) },
		take: func(q *question, kresp kmsg.Response) (moved []string) {
			resp, ok := kresp.(*kmsg.OffsetFetchResponse)
			if !ok {
				return nil
			}
			if resp.Version < batched {
				r.old(ctx, q)
				return nil
			}
			for i := range resp.Groups {
				got := &resp.Groups[i]
				if g := r.groups[got.Group]; moves(got.ErrorCode) {
					moved = append(moved, got.Group)
				} else if g != nil {
					r.takeCommits(g, got)
				}
			}
			return moved
		},
	})
}

// batched is the first version of the request that asks for several groups
// (KIP-709).
const batched = 8

func commitsRequest(names []string, stable bool) *kmsg.OffsetFetchRequest {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.RequireStable = stable
	for _, name := range names {
		g := kmsg.NewOffsetFetchRequestGroup()
		g.Group = name
		req.Groups = append(req.Groups, g)
	}
	return req
}

// old asks brokers before 3.0, which take one group in a request: the client knows
// how to part it. r.mu is held.
func (r *groupReader) old(ctx context.Context, q *question) {
	req, ok := q.req.(*kmsg.OffsetFetchRequest)
	if !ok {
		return
	}
	for _, shard := range r.cl.RequestSharded(ctx, commitsRequest(q.groups, req.RequireStable)) {
		resp, ok := shard.Resp.(*kmsg.OffsetFetchResponse)
		asked, _ := shard.Req.(*kmsg.OffsetFetchRequest)
		switch {
		case shard.Err == nil && ok:
			for i := range resp.Groups {
				if g := r.groups[resp.Groups[i].Group]; g != nil {
					r.takeCommits(g, &resp.Groups[i])
				}
			}
		case asked != nil && r.groups[asked.Group] != nil:
			r.groups[asked.Group].Err = r.unanswered(shard.Err, q.node, asked.Group)
		}
	}
}

func (r *groupReader) takeCommits(g *Group, got *kmsg.OffsetFetchResponseGroup) {
	g.Commits = map[Partition]Commit{}
	if err := kerr.ErrorForCode(got.ErrorCode); err != nil {
		if g.Err == nil && !absent(err) {
			g.Err = r.c.ExplainGroup(err, g.Name)
		}
		return
	}
	for _, t := range got.Topics {
		for _, p := range t.Partitions {
			at := Partition{Topic: t.Topic, Partition: p.Partition}
			err := kerr.ErrorForCode(p.ErrorCode)
			switch {
			case errors.Is(err, kerr.UnstableOffsetCommit):
				g.Commits[at] = Commit{Offset: -1, Epoch: -1, Err: r.c.UnstableCommit(err, g.Name, t.Topic)}
			case err != nil:
				g.Commits[at] = Commit{Offset: -1, Epoch: -1, Err: r.c.ExplainGroup(err, g.Name)}
			case p.Offset >= 0:
				g.Commits[at] = Commit{Offset: p.Offset, Epoch: p.LeaderEpoch, Metadata: deref(p.Metadata)}
			}
		}
	}
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// absent reports whether an answer says that there is no such group of the kind
// that was asked for.
func absent(err error) bool {
	return errors.Is(err, kerr.GroupIDNotFound) || errors.Is(err, kerr.UnsupportedVersion)
}
