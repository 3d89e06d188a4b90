package cmd

import (
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/kcm-cli/kcm/internal/fault"
)

// newManCmd writes the man pages; packages are made with it.
func newManCmd() *cobra.Command {
	return &cobra.Command{
		Use:         "man DIR",
		Short:       "Write the man pages into DIR",
		Hidden:      true,
		Args:        takesOne("a directory", "DIR"),
		Annotations: map[string]string{withoutSettings: "yes"},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return fault.New(fault.Failed, "man pages: %w", err)
			}
			root := cmd.Root()
			root.DisableAutoGenTag = true
			header := &doc.GenManHeader{Title: "KCM", Section: "1", Source: "kcm", Manual: "kcm"}
			return doc.GenManTree(root, header, args[0])
		},
	}
}
