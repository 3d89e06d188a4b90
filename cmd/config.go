package cmd

import (
	"fmt"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/kcm-cli/kcm/internal/settings"
)

func newConfigCmd(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show the settings",
		Args:  takesNone,
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
		Args: takesNone,
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
	Key    string `json:"key"`
	Value  any    `json:"value"` // bool, number, string or, of a list, []string; nil when nothing is set
	Origin string `json:"origin"`
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
	if output == "json" {
		for _, st := range s.All() {
			shown.Settings = append(shown.Settings, shownSettings(st)...)
		}
		_, err := fmt.Fprintln(env.Stdout, jsonText(shown))
		return err
	}
	w := tabwriter.NewWriter(env.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SETTING\tVALUE\tORIGIN")
	for _, st := range s.All() {
		if len(st.Values) == 0 {
			fmt.Fprintf(w, "%s\t-\tdefault\n", st.Flag.Label())
		}
		for _, v := range st.Values {
			fmt.Fprintf(w, "%s\t%s\t%s\n", st.Flag.Label(), oneLine(st.Mask(v)), oneLine(v.Origin))
		}
	}
	return w.Flush()
}

// shownSettings are the entries of a setting: one, or for properties, which add
// up, one for each place that some come from.
func shownSettings(st settings.Setting) []shownSetting {
	entry := shownSetting{Key: st.Flag.Label(), Origin: st.Origin()}
	if st.Flag.Shape == settings.Single {
		if len(st.Values) > 0 {
			entry.Value = typed(st.Flag.Type, st.Mask(st.Values[0]))
		}
		return []shownSetting{entry}
	}
	list := []shownSetting{}
	texts := []string{}
	for i, v := range st.Values {
		texts = append(texts, st.Mask(v))
		if i+1 == len(st.Values) || st.Values[i+1].Origin != v.Origin {
			list = append(list, shownSetting{Key: entry.Key, Value: texts, Origin: v.Origin})
			texts = []string{}
		}
	}
	if len(list) == 0 {
		entry.Value = texts
		list = append(list, entry)
	}
	return list
}

// typed is a value as JSON has it; text that is none of its type stays text.
func typed(of, text string) any {
	switch of {
	case "bool":
		if b, err := strconv.ParseBool(text); err == nil {
			return b
		}
	case "int", "int32", "int64", "count":
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n
		}
	}
	return text
}
