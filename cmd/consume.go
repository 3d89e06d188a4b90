package cmd

import "github.com/spf13/cobra"

func newConsumeCmd(_ *Env) *cobra.Command { return &cobra.Command{Use: "consume STREAM…"} }
