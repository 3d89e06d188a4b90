package cmd

import "github.com/spf13/cobra"

func newDescribeCmd(_ *Env) *cobra.Command { return &cobra.Command{Use: "describe"} }
