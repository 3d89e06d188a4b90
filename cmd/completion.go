package cmd

//go:generate go test -run ^TestCompletions$ . -update

import (
	"io"
	"strings"

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
	{"bash", "kcm.bash", "  source <(kcm completion bash)", genBash},
	{"zsh", "kcm.zsh", "  source <(kcm completion zsh)", func(root *cobra.Command, w io.Writer) error { return root.GenZshCompletion(w) }},
	{"fish", "kcm.fish", "  kcm completion fish | source", func(root *cobra.Command, w io.Writer) error { return root.GenFishCompletion(w, true) }},
	{"powershell", "kcm.ps1", "  kcm completion powershell | Out-String | Invoke-Expression", func(root *cobra.Command, w io.Writer) error {
		return root.GenPowerShellCompletionWithDesc(w)
	}},
}

// genBash writes bash's script. Cobra's needs a function of the package
// bash-completion; where that is not installed, this one takes the words of the
// line instead, without regard to quotes.
func genBash(root *cobra.Command, w io.Writer) error {
	var b strings.Builder
	if err := root.GenBashCompletionV2(&b, true); err != nil {
		return err
	}
	const needs = `    _get_comp_words_by_ref "$@" cur prev words cword
`
	const instead = `    if declare -F _get_comp_words_by_ref >/dev/null 2>&1; then
        _get_comp_words_by_ref "$@" cur prev words cword
        return
    fi
    local line="${COMP_LINE:0:COMP_POINT}"
    read -ra words <<<"$line"
    [[ "$line" == *[[:space:]] ]] && words+=("")
    cword=$((${#words[@]} - 1))
    cur="${words[cword]}"
    prev="${words[cword - 1]}"
`
	_, err := io.WriteString(w, strings.Replace(b.String(), needs, instead, 1))
	return err
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
