// Package cmd is kcm's surface: commands, flags, help, wiring and exit codes,
// one file a command. It holds no Kafka logic, and nothing below it knows
// cobra.
package cmd

import (
	"io"
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/kcm-cli/kcm/internal/metrics"
	"github.com/kcm-cli/kcm/internal/settings"
)

// Env is the world that a command sees. Tests make their own; System returns
// the process's.
type Env struct {
	Stdin  io.Reader
	Stdout io.Writer // data only
	Stderr io.Writer // everything else

	// StdinTerminal, StdoutTerminal and StderrTerminal say which of them a
	// person looks at.
	StdinTerminal  bool
	StdoutTerminal bool
	StderrTerminal bool

	// StderrWidth is how many columns the terminal has that stderr is; nil or 0
	// is unknown.
	StderrWidth func() int

	// LookupEnv reads an environment variable, as os.LookupEnv.
	LookupEnv func(name string) (string, bool)
	// Environ lists the environment, as os.Environ, for commands that start
	// other programs.
	Environ func() []string
	// Now reads the clock.
	Now func() time.Time
	// GOOS is the operating system whose habits hold.
	GOOS string
	// Signals delivers the signals that ask kcm to stop, and a function that
	// ends the delivery; nil for none.
	Signals func() (<-chan os.Signal, func())

	run *run
}

// run is what one invocation learns on its way to its command.
type run struct {
	globals  globals
	settings *settings.Settings
	notices  *Notices
	metrics  *metrics.Metrics // nil: nobody asks
	started  bool             // a command's own code has begun
	unshown  error            // why help that was asked for could not be written

	hurry  chan struct{} // closed by a second signal
	tidies atomic.Bool   // the command clears up, quickly, when it is to hurry
}

// System returns the world of the process.
func System() *Env {
	return &Env{
		Stdin:          os.Stdin,
		Stdout:         os.Stdout,
		Stderr:         os.Stderr,
		StdinTerminal:  term.IsTerminal(int(os.Stdin.Fd())),
		StdoutTerminal: term.IsTerminal(int(os.Stdout.Fd())),
		StderrTerminal: term.IsTerminal(int(os.Stderr.Fd())),
		StderrWidth: func() int {
			width, _, _ := term.GetSize(int(os.Stderr.Fd())) // 0 on failure
			return width
		},
		LookupEnv: os.LookupEnv,
		Environ:   os.Environ,
		Now:       time.Now,
		GOOS:      runtime.GOOS,
		Signals:   systemSignals,
	}
}

// Getenv returns an environment variable, "" when it is not set.
func (e *Env) Getenv(name string) string {
	value, _ := e.LookupEnv(name)
	return value
}

// stopSignals are the signals that ask a run to end.
var stopSignals = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}
