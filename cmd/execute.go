package cmd

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/kcm-cli/kcm/internal/fault"
)

// Main runs kcm with the arguments behind its name and returns the exit code.
// Whatever went wrong has been told on env.Stderr.
func Main(env *Env, args []string) int {
	ctx, second, stop := withSignals(env)
	defer stop()
	root := newRootCmd(env)
	if args == nil {
		args = []string{} // cobra would take the process's
	}
	root.SetArgs(args)
	if isCompletionRequest(args) {
		root.SetOut(env.Stdout)
	}
	type outcome struct {
		cmd *cobra.Command
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		cmd, err := root.ExecuteContextC(ctx)
		done <- outcome{cmd, err}
	}()
	select {
	case o := <-done:
		return finish(env, o.cmd, args, o.err)
	case s := <-second:
		close(env.run.hurry)
		env.run.notices.Status("")
		if env.run.tidies.Load() {
			select {
			case <-done:
			case <-time.After(tidyGrace):
			}
		}
		return fault.Code(fault.Signaled{Signal: s})
	}
}

// tidyGrace is how long a second signal waits for what must not stay behind.
const tidyGrace = 3 * time.Second

func isCompletionRequest(args []string) bool {
	return len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd)
}

// finish tells the error, once, and returns the exit code.
func finish(env *Env, cmd *cobra.Command, args []string, err error) int {
	if err == nil && env.run.unshown != nil {
		env.run.started, err = true, env.run.unshown
	}
	if err == nil {
		return 0
	}
	if _, ok := errors.AsType[fault.Exit](err); ok {
		return fault.Code(err)
	}
	if _, ok := errors.AsType[fault.Told](err); ok && styleOf(cmd, args) == errorText {
		return fault.Code(err)
	}
	if stdoutClosed(env, err) {
		return 0
	}
	if s, ok := stoppedBy(cmd.Context()); ok && errors.Is(err, context.Canceled) {
		err = fault.Signaled{Signal: s}
	}
	err = explain(env, cmd, err)
	tell(env, cmd, args, err)
	return fault.Code(err)
}
