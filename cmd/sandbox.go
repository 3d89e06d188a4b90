package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/sandbox"
	"github.com/kcm-cli/kcm/internal/settings"
)

// SandboxOptions are what `kcm sandbox` was asked for.
type SandboxOptions struct {
	env *Env

	Clusters []string
	Topics   []sandbox.Topic
	Records  int      // each topic has on each cluster at first
	Rate     float64  // records a second for each topic on each cluster; 0 for none
	Dir      string   // empty for a temporary one
	Command  []string // to run with KCM_METADATA set; empty for none
}

func newSandboxCmd(env *Env) *cobra.Command {
	return newSandboxCmdFor(env, runSandbox)
}

func newSandboxCmdFor(env *Env, run func(context.Context, *SandboxOptions) error) *cobra.Command {
	opts := &SandboxOptions{env: env}
	var topics []string
	var rate string
	cmd := &cobra.Command{
		Use:   "sandbox [flags] [-- COMMAND [ARG…]]",
		Short: "Start embedded clusters to try kcm on",
		Long: `Start embedded Kafka-compatible clusters in this process, fill them with made-up
orders, and write the metadata file that describes them. No Java, no Docker.

It runs until it is stopped. With a command it runs that with KCM_METADATA set,
ends when the command does, and exits with its code: 127 if there is no such
command and 126 if it cannot be run.`,
		Example: `  kcm sandbox                                          two clusters, one stream
  kcm sandbox -- kcm consume orders -o start -e        try one command on them
  kcm sandbox --rate 5/s -- kcm consume orders         watch records arrive
  kcm sandbox --clusters a,b,c --topics orders:3,payments:1 --records 1000`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && cmd.ArgsLenAtDash() != 0 {
				return fault.New(fault.Usage, "kcm sandbox takes no argument such as %s", args[0]).
					WithHint("a command goes behind --, as in kcm sandbox -- kcm consume orders")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.Command = args
			if err := opts.interpret(cmd, topics, rate); err != nil {
				return err
			}
			return run(cmd.Context(), opts)
		},
	}
	fs := cmd.Flags()
	fs.StringSliceVar(&opts.Clusters, "clusters", []string{"east", "west"}, "start a cluster of each `NAME`")
	fs.StringSliceVar(&topics, "topics", []string{"orders:3"}, "create `NAME[:PARTITIONS]` on each cluster; each is a stream over all of them")
	fs.IntVar(&opts.Records, "records", 100, "write `N` records to each topic on each cluster at first")
	fs.StringVar(&rate, "rate", "", "instead keep writing `N/s` (or /m, /h) to each topic on each cluster")
	fs.StringVar(&opts.Dir, "dir", "", "write kcm.yaml to `DIR` and leave it there (default a temporary directory, removed at the end)")
	return cmd
}

// interpret turns the flags' texts into values.
func (o *SandboxOptions) interpret(cmd *cobra.Command, topics []string, rate string) error {
	for _, name := range []string{"metadata", "bootstrap", "registry", "properties"} {
		if given(o.env, cmd, name) == settings.CommandLine {
			return fault.New(fault.Usage, "--%s has no effect here: a sandbox makes clusters and metadata of its own", name).
				WithHint("flags of the command go behind --, as in kcm sandbox -- kcm consume orders")
		}
	}
	for _, text := range topics {
		t, err := parseTopic(text)
		if err != nil {
			return err
		}
		o.Topics = append(o.Topics, t)
	}
	if rate == "" {
		return nil
	}
	switch records, rates := given(o.env, cmd, "records"), given(o.env, cmd, "rate"); {
	case records > rates:
		return nil
	case records == rates:
		return fault.New(fault.Usage, "--records and --rate are both given").WithHint("--records writes once, --rate keeps writing")
	}
	o.Records = 0
	var err error
	o.Rate, err = parseRate(rate)
	return err
}

func parseTopic(text string) (sandbox.Topic, error) {
	name, count, counted := strings.Cut(text, ":")
	t := sandbox.Topic{Name: name, Partitions: 1}
	if counted {
		n, err := strconv.ParseInt(count, 10, 32)
		if err != nil {
			return t, fault.New(fault.Usage, "--topics %s: %q is no number of partitions", text, count).WithHint("--topics NAME:PARTITIONS, such as orders:3")
		}
		t.Partitions = int32(n)
	}
	return t, nil
}

// maxRate is more than an embedded cluster takes.
const maxRate = 1e6

// parseRate reads a number a second, minute or hour; a bare one is a second's.
func parseRate(text string) (float64, error) {
	number, unit, _ := strings.Cut(text, "/")
	seconds := map[string]float64{"": 1, "s": 1, "m": 60, "h": 3600}[unit]
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || seconds == 0 || strings.HasSuffix(text, "/") || math.IsNaN(n) || n <= 0 || n/seconds > maxRate {
		return 0, fault.New(fault.Usage, "--rate %s is no rate", text).WithHint("--rate 10/s, 30/m or 1/h; at most %.0f/s", maxRate)
	}
	return n / seconds, nil
}

func runSandbox(ctx context.Context, o *SandboxOptions) (err error) {
	o.env.run.tidies.Store(true)
	var child *exec.Cmd
	if len(o.Command) > 0 {
		if child, err = o.child(); err != nil {
			return err
		}
	}
	s, err := sandbox.Start(ctx, sandbox.Options{
		Clusters: o.Clusters, Topics: o.Topics, Records: o.Records, Dir: o.Dir, Now: o.env.Now,
	})
	if err != nil {
		if _, stopped := stoppedBy(ctx); stopped {
			return nil
		}
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	o.tellStarted(s)

	producing, stop := context.WithCancel(ctx)
	defer stop()
	produced := make(chan error, 1)
	go func() {
		if o.Rate > 0 {
			produced <- s.Produce(producing, o.Rate)
			return
		}
		<-producing.Done()
		produced <- nil
	}()
	if child == nil {
		return <-produced
	}
	err = o.runChild(ctx, child, s.Metadata)
	stop()
	if failed := <-produced; failed != nil {
		o.env.run.notices.Warnf("%v", failed)
	}
	return err
}

// tellStarted says what runs and what to type.
func (o *SandboxOptions) tellStarted(s *sandbox.Sandbox) {
	n := o.env.run.notices
	var clusters, topics []string
	for _, c := range s.Clusters {
		clusters = append(clusters, c.Name+" at "+c.Bootstrap)
	}
	for _, t := range o.Topics {
		topics = append(topics, t.Name+" ("+plural(int(t.Partitions), "partition")+")")
	}
	content := plural(o.Records, "record") + " each"
	if o.Rate > 0 {
		content = strconv.FormatFloat(o.Rate, 'g', 4, 64) + " records a second each"
	}
	n.Notef("started %s", strings.Join(clusters, ", "))
	n.Notef("on each of them: %s, %s", strings.Join(topics, ", "), content)
	if len(o.Command) > 0 {
		n.Verbosef(1, "metadata: %s", s.Metadata)
		return
	}
	file := s.Metadata
	if strings.ContainsAny(file, " '\"$&()") {
		file = strconv.Quote(file)
	}
	n.Notef("in another terminal: kcm consume %s -o start -m %s", o.Topics[0].Name, file)
	n.Notef("Ctrl-C ends it")
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// child prepares the command. It is looked for before anything is started.
func (o *SandboxOptions) child() (*exec.Cmd, error) {
	name := o.Command[0]
	path, err := exec.LookPath(name)
	if name == "kcm" {
		// This very program, wherever PATH leads.
		path, err = os.Executable()
	}
	if err != nil {
		return nil, o.cannotRun(err)
	}
	child := &exec.Cmd{Path: path, Args: o.Command, Stdin: o.env.Stdin, Stdout: o.env.Stdout, Stderr: o.env.Stderr}
	if o.ownsGroup() {
		leadGroup(child)
	}
	for _, v := range o.env.Environ() {
		// Addresses in the environment would contradict the metadata.
		if key, _, _ := strings.Cut(v, "="); !slices.Contains([]string{"KCM_METADATA", "KCM_BOOTSTRAP"}, key) {
			child.Env = append(child.Env, v)
		}
	}
	return child, nil
}

// runChild runs the command to its end. A signal to kcm is handed on, and the
// clusters stay until the command has dealt with it.
func (o *SandboxOptions) runChild(ctx context.Context, child *exec.Cmd, metadata string) error {
	child.Env = append(child.Env, "KCM_METADATA="+metadata)
	if err := child.Start(); err != nil {
		return o.cannotRun(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- child.Wait() }()
	select {
	case err := <-ended:
		return exitOf(child, err)
	case <-ctx.Done():
	}
	if s, ok := stoppedBy(ctx); ok && !o.terminalSent(s) {
		if err := o.signal(child, s); err != nil && !errors.Is(err, os.ErrProcessDone) {
			_ = child.Process.Kill() // Windows knows no other signal
		}
	}
	select {
	case err := <-ended:
		return exitOf(child, err)
	case <-o.env.run.hurry:
		_ = o.signal(child, os.Kill)
		return exitOf(child, <-ended)
	}
}

// ownsGroup reports whether the command leads a process group of its own, so
// that all that it started can be ended with it. At a terminal it stays in kcm's
// group: only that one may read from there.
func (o *SandboxOptions) ownsGroup() bool {
	return !o.env.StdinTerminal && !o.env.StdoutTerminal && !o.env.StderrTerminal
}

// signal sends a signal to the command, and to what it started where that can be
// told apart from others.
func (o *SandboxOptions) signal(child *exec.Cmd, s os.Signal) error {
	if o.ownsGroup() {
		return signalGroup(child.Process, s)
	}
	return child.Process.Signal(s)
}

// The exit codes of a shell for a command that it can't run.
const (
	exitNotExecutable = 126
	exitNotFound      = 127
)

// cannotRun tells why the command can't be run, and ends as a shell does.
func (o *SandboxOptions) cannotRun(err error) error {
	o.env.run.notices.tellf("can't run %s: %v", o.Command[0], err)
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return fault.Exit(exitNotFound)
	}
	return fault.Exit(exitNotExecutable)
}

// terminalSent reports whether a signal came from a terminal, which then sent
// it to the command as well: twice would mean "at once".
func (o *SandboxOptions) terminalSent(s os.Signal) bool {
	return o.env.StdinTerminal && (s == os.Interrupt || s == syscall.SIGHUP)
}

// exitOf is the command's exit code as an error, 128 and the signal's number if
// one killed it, as a shell says it.
func exitOf(child *exec.Cmd, err error) error {
	state := child.ProcessState
	switch {
	case state == nil:
		return err
	case state.Success():
		return nil
	case state.ExitCode() >= 0:
		return fault.Exit(state.ExitCode())
	}
	if ws, ok := state.Sys().(interface{ Signal() syscall.Signal }); ok {
		return fault.Exit(128 + int(ws.Signal()))
	}
	return err
}
