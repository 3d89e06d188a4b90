package cmd

import (
	"context"
	"strings"

	"github.com/kcm-cli/kcm/internal/codec/registry"
	"github.com/kcm-cli/kcm/internal/metadata"
)

// completeSubjects completes CLUSTER/SUBJECT.
func completeSubjects(env *Env) completeFunc {
	return completing(env, func(ctx context.Context, view *metadata.View, word string) (names []string) {
		var clusters []string
		for _, c := range view.Clusters {
			if c.SchemaRegistry != nil && (strings.HasPrefix(c.Name+"/", word) || strings.HasPrefix(word, c.Name+"/")) {
				clusters = append(clusters, c.Name)
			}
		}
		replies, err := eachRegistry(ctx, view, clusters, func(ctx context.Context, name string, c *registry.Client) (found []string, err error) {
			list, err := c.Subjects(ctx)
			for _, s := range list {
				if !s.Deleted {
					found = append(found, name+"/"+s.Name)
				}
			}
			return found, err
		})
		if err != nil && len(replies) == 0 {
			return nil
		}
		for _, r := range replies {
			names = append(names, r.answer...)
		}
		return names
	})
}
