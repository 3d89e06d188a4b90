package offsets

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kcm-cli/kcm/internal/cluster"
)

// commits reads all commits of the groups that can have some.
func (r *groupReader) commits(ctx context.Context, stable bool) {
	request := func(names []string) kmsg.Request {
		req := kmsg.NewPtrOffsetFetchRequest()
		req.RequireStable = stable
		for _, name := range names {
			g := kmsg.NewOffsetFetchRequestGroup()
			g.Group = name
			req.Groups = append(req.Groups, g)
		}
		return req
	}
	all := func(g *Group) bool { return g.Kind != cluster.ShareGroup }
	r.about(ctx, all, request, func(shard kgo.ResponseShard) {
		resp, ok := shard.Resp.(*kmsg.OffsetFetchResponse)
		if !ok {
			return
		}
		for i := range resp.Groups {
			got := &resp.Groups[i]
			if g := r.groups[got.Group]; g != nil {
				r.takeCommits(g, got)
			}
		}
	})
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
