package cmd

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func newVersionCmd(env *Env) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:         "version",
		Short:       "Print the version",
		Args:        takesNone,
		Annotations: map[string]string{withoutSettings: "yes"},
		RunE: func(_ *cobra.Command, _ []string) error {
			if err := oneOf("--output", output, "text", "json"); err != nil {
				return err
			}
			return printVersion(env, output)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "text", "`FORMAT`: text or json")
	return cmd
}

// build says which kcm this is. The toolchain stamps it into the program.
type build struct {
	Version  string  `json:"version"`
	Commit   *string `json:"commit"`
	Date     *string `json:"date"`
	Modified bool    `json:"modified"`
	Go       string  `json:"go"`
	Platform string  `json:"platform"`
}

func readBuild() build {
	b := build{Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if info.Main.Version != "" {
		b.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = &s.Value
		case "vcs.time":
			b.Date = &s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

func printVersion(env *Env, output string) error {
	b := readBuild()
	if output == "json" {
		_, err := fmt.Fprintln(env.Stdout, jsonText(b))
		return err
	}
	text := "kcm " + b.Version
	if b.Commit != nil {
		text += " (" + (*b.Commit)[:min(12, len(*b.Commit))] + ")"
	}
	_, err := fmt.Fprintf(env.Stdout, "%s %s %s\n", text, b.Go, b.Platform)
	return err
}
