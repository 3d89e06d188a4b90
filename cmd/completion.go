package cmd

//go:generate go test -run ^TestCompletions$ . -update

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/kcm-cli/kcm/internal/fault"
)

// shells are the shells that kcm completes in.
var shells = []struct {
	name string
	file string // of the generated script
	how  string
	gen  func(root *cobra.Command, w io.Writer) error
}{
	{"bash", "kcm.bash", "  source <(kcm completion bash)", func(root *cobra.Command, w io.Writer) error { return root.GenBashCompletionV2(w, true) }},
	{"zsh", "kcm.zsh", "  source <(kcm completion zsh)", func(root *cobra.Command, w io.Writer) error { return root.GenZshCompletion(w) }},
	{"fish", "kcm.fish", "  kcm completion fish | source", func(root *cobra.Command, w io.Writer) error { return root.GenFishCompletion(w, true) }},
	{"powershell", "kcm.ps1", "  kcm completion powershell | Out-String | Invoke-Expression", func(root *cobra.Command, w io.Writer) error {
		return root.GenPowerShellCompletionWithDesc(w)
	}},
}

func newCompletionCmd(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell",
		Short: "Print a script that completes kcm's commands in a shell",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return fault.New(fault.Usage, "there is no completion for %s", args[0]).
				WithHint("kcm completion bash, zsh, fish or powershell")
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	for _, sh := range shells {
		cmd.AddCommand(&cobra.Command{
			Use:         sh.name,
			Short:       "Print the script for " + sh.name,
			Long:        "Print the script for " + sh.name + ". To use it in this shell:\n\n" + sh.how,
			Args:        takesNone,
			Annotations: map[string]string{withoutSettings: "yes"},
			RunE: func(cmd *cobra.Command, _ []string) error {
				return sh.gen(cmd.Root(), env.Stdout)
			},
		})
	}
	return cmd
}
