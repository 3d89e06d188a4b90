package cmd

import (
	"context"
	"slices"
	"sync"

	"github.com/spf13/cobra"

	"github.com/kcm-cli/kcm/internal/metadata"
)

// completeGroups completes the names of the consumer groups on the clusters that
// the command line has selected so far; on every cluster if that is none yet.
func completeGroups(env *Env) completeFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		return completing(env, func(ctx context.Context, view *metadata.View, _ string) []string {
			return askEach(selectedClusters(cmd, args, view), func(name string) []string { return groupNames(ctx, env, view, name) })
		})(cmd, args, word)
	}
}

// selectedClusters are the clusters that the words and -c of a command line select.
func selectedClusters(cmd *cobra.Command, words []string, view *metadata.View) (names []string) {
	regex, _ := cmd.Flags().GetBool("regex")
	all, _ := cmd.Flags().GetBool("all")
	only, _ := cmd.Flags().GetStringSlice("cluster")
	sel, err := view.Select(words, regex, all)
	for _, c := range view.Clusters {
		if len(only) > 0 && !slices.Contains(only, c.Name) {
			continue
		}
		lives := func(s *metadata.Stream) bool {
			return slices.ContainsFunc(s.Sources, func(src metadata.Source) bool { return src.Cluster == c.Name })
		}
		if err != nil || len(sel.Streams) == 0 || slices.ContainsFunc(sel.Streams, lives) {
			names = append(names, c.Name)
		}
	}
	return names
}

// groupNames asks a cluster for the names of its consumer groups; none if it does
// not answer.
func groupNames(ctx context.Context, env *Env, view *metadata.View, name string) []string {
	m := view.Cluster(name)
	if m == nil {
		return nil
	}
	c, err := connect(env, m)
	if err != nil {
		return nil
	}
	defer c.Close()
	groups, err := c.Groups(ctx)
	if err != nil {
		return nil
	}
	return groups
}

// askEach asks clusters at once, so that a dead one costs nobody else's names, and
// returns the answers in the order of the clusters.
func askEach(clusters []string, ask func(name string) []string) (all []string) {
	answers := make([][]string, len(clusters))
	var asking sync.WaitGroup
	for i, name := range clusters {
		asking.Go(func() { answers[i] = ask(name) })
	}
	asking.Wait()
	return slices.Concat(answers...)
}
