package cmd

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/kcm-cli/kcm/internal/settings"
)

func newConfigCmd(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show the settings",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newConfigShowCmd(env))
	return cmd
}

func newConfigShowCmd(env *Env) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Show every setting with where it came from; secrets are masked",
		Long: `Show every setting that is in force, and whether a flag, the environment, the
config file or a default says so. Secrets are masked.`,
		Args: cobra.NoArgs,
		RunE: func(_ *cobra.Command, _ []string) error {
			if err := oneOf("--output", output, "table", "json"); err != nil {
				return err
			}
			return showConfig(env, output)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "table", "`FORMAT`: table or json")
	return cmd
}

// shownSetting is one line of config show.
type shownSetting struct {
	Key    string  `json:"key"`
	Value  *string `json:"value"` // nil when nothing is set
	Origin string  `json:"origin"`
}

// shownConfig is the JSON of config show.
type shownConfig struct {
	File     *string        `json:"file"` // the config file that was read, nil for none
	Settings []shownSetting `json:"settings"`
}

func showConfig(env *Env, output string) error {
	s := env.run.settings
	shown := shownConfig{Settings: []shownSetting{}}
	if s.File != "" {
		shown.File = &s.File
	}
	for _, st := range s.All() {
		shown.Settings = append(shown.Settings, shownValues(st)...)
	}
	if output == "json" {
		_, err := fmt.Fprintln(env.Stdout, jsonText(shown))
		return err
	}
	w := tabwriter.NewWriter(env.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SETTING\tVALUE\tORIGIN")
	for _, st := range shown.Settings {
		value := "-"
		if st.Value != nil {
			value = oneLine(*st.Value)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", st.Key, value, st.Origin)
	}
	return w.Flush()
}

func shownValues(st settings.Setting) []shownSetting {
	if len(st.Values) == 0 {
		return []shownSetting{{Key: st.Flag.Label(), Origin: "default"}}
	}
	list := make([]shownSetting, len(st.Values))
	for i, v := range st.Values {
		text := st.Mask(v)
		list[i] = shownSetting{Key: st.Flag.Label(), Value: &text, Origin: v.Origin}
	}
	return list
}
