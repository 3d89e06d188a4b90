package cmd

import "github.com/spf13/cobra"

func newSandboxCmd(_ *Env) *cobra.Command { return &cobra.Command{Use: "sandbox"} }
