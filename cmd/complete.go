package cmd

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kcm-cli/kcm/internal/metadata"
)

// completionPatience bounds what a look-up of topics may take while somebody
// waits at a prompt.
const completionPatience = 2 * time.Second

// completeFunc completes the word that is being typed.
type completeFunc = func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective)

// completeStreams completes stream names and, once a word has a slash, the
// topics of that cluster. Without metadata the topics are the streams.
func completeStreams(env *Env) completeFunc {
	return completing(env, func(ctx context.Context, view *metadata.View, word string) []string {
		if name, _, ok := strings.Cut(word, "/"); ok {
			return prefixed(name+"/", topicNames(ctx, env, view, name))
		}
		var names []string
		for _, s := range view.Streams {
			names = append(names, s.Name)
		}
		if view.AdHoc {
			names = append(names, askEach(allClusters(view), func(name string) []string { return topicNames(ctx, env, view, name) })...)
		}
		return names
	})
}

// completeClusters completes cluster names.
func completeClusters(env *Env) completeFunc {
	return completing(env, func(_ context.Context, view *metadata.View, _ string) []string { return allClusters(view) })
}

// completeTopics completes CLUSTER/TOPIC.
func completeTopics(env *Env) completeFunc {
	return completing(env, func(ctx context.Context, view *metadata.View, word string) []string {
		meant := slices.DeleteFunc(allClusters(view), func(name string) bool {
			return !strings.HasPrefix(name+"/", word) && !strings.HasPrefix(word, name+"/")
		})
		return askEach(meant, func(name string) []string { return prefixed(name+"/", topicNames(ctx, env, view, name)) })
	})
}

// completeTopicNames completes the names of topics on any cluster.
func completeTopicNames(env *Env) completeFunc {
	return completing(env, func(ctx context.Context, view *metadata.View, _ string) []string {
		return askEach(allClusters(view), func(name string) []string { return topicNames(ctx, env, view, name) })
	})
}

// completing loads the metadata and offers what find returns. Whatever fails,
// nothing is offered and nothing is said: the prompt is not the place for it.
func completing(env *Env, find func(ctx context.Context, view *metadata.View, word string) []string) completeFunc {
	return func(cmd *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
		parsedTwice(cmd)
		if err := prepare(env, cmd); err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completionPatience)
		defer cancel()
		view, err := loadView(ctx, env)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		names := beginning(word, find(ctx, view, word))
		slices.Sort(names)
		return slices.Compact(names), cobra.ShellCompDirectiveNoFileComp
	}
}

// parsedTwice takes out of lists what is in them again: cobra parses the flags
// two times on its way to a completion, and one cluster given twice is an error.
func parsedTwice(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		list, ok := f.Value.(pflag.SliceValue)
		if !ok || !f.Changed {
			return
		}
		var once []string
		for _, v := range list.GetSlice() {
			if !slices.Contains(once, v) {
				once = append(once, v)
			}
		}
		_ = list.Replace(once) // they were all taken before
	})
}

// completeFlags gives flags of cmd what completes their values: a completeFunc,
// or the words that they may be. Lists complete their last entry.
func completeFlags(cmd *cobra.Command, by map[string]completeFunc) {
	for name, complete := range by {
		if err := cmd.RegisterFlagCompletionFunc(name, complete); err != nil {
			panic(err) // there is no such flag
		}
	}
}

// oneOfWords completes one of a few fixed words.
func oneOfWords(list ...string) completeFunc {
	return func(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
		return beginning(word, list), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeNothing keeps the shell from offering files.
func completeNothing(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// beginning returns the names that begin with word.
func beginning(word string, names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !strings.HasPrefix(n, word) })
}

// topicNames asks a cluster for the names of its topics; none if it does not answer.
func topicNames(ctx context.Context, env *Env, view *metadata.View, name string) []string {
	m := view.Cluster(name)
	if m == nil {
		return nil
	}
	c, err := connect(env, m)
	if err != nil {
		return nil
	}
	defer c.Close()
	topics, err := c.Topics(ctx)
	if err != nil {
		return nil
	}
	var names []string
	for _, t := range topics {
		if !t.Internal && !metadata.Internal(t.Name) {
			names = append(names, t.Name)
		}
	}
	return names
}

func allClusters(view *metadata.View) (names []string) {
	for _, c := range view.Clusters {
		names = append(names, c.Name)
	}
	return names
}

func prefixed(prefix string, names []string) []string {
	for i := range names {
		names[i] = prefix + names[i]
	}
	return names
}
