// Package fault holds the kinds of error that kcm tells apart, their exit codes
// and the hints that go with them. It imports the standard library only; an
// error keeps its kind however often it is wrapped.
package fault

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// Kind is a class of failure. Its number is the exit code of a run that ends
// with it.
type Kind int

// The kinds, by exit code.
const (
	Failed      Kind = 1 // for any reason that is not below
	Usage       Kind = 2 // wrong use or configuration; nothing was contacted or changed
	Partial     Kind = 3 // some clusters, splits or groups failed, the others gave results
	Auth        Kind = 4 // authentication or authorization was refused
	Unreachable Kind = 5 // no contact
	Refused     Kind = 6 // the world is not as a plan, a state file or a safety rule needs it
)

// Error is an error of a known kind. Its message is lower case, without a full
// stop, and names the cluster and topic where there are such.
type Error struct {
	Kind    Kind
	Message string
	Hint    string // what to do about it; may be empty
	Cluster string // may be empty
	Err     error  // the cause; may be nil; never shown by Error
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// New makes an error of kind k; the format may use %w, whose error becomes the cause.
func New(k Kind, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Kind: k, Message: err.Error(), Err: errors.Unwrap(err)}
}

// WithHint sets the hint and returns e.
func (e *Error) WithHint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// On sets the cluster that the error is about and returns e.
func (e *Error) On(cluster string) *Error {
	e.Cluster = cluster
	return e
}

// KindOf returns the kind of the first Error in err's chain; Failed if there is
// none.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return Failed
}

// HintOf returns the first hint in err's chain that is not empty.
func HintOf(err error) string {
	for err != nil {
		e, ok := errors.AsType[*Error](err)
		if !ok {
			return ""
		}
		if e.Hint != "" {
			return e.Hint
		}
		err = e.Err
	}
	return ""
}

// Told marks an error that the user has been told already: it still decides the
// exit code.
type Told struct{ Err error }

// Error returns the message of the error itself.
func (t Told) Error() string { return t.Err.Error() }

// Unwrap returns the error itself.
func (t Told) Unwrap() error { return t.Err }

// Signaled ends a run that a signal cut short although its end was promised.
type Signaled struct{ Signal os.Signal }

// Error names the signal.
func (s Signaled) Error() string { return "cut short by " + s.Signal.String() }

// Exit is the exit code of another program that kcm ran and whose code it hands on.
type Exit int

// Error names the code.
func (e Exit) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// Code returns the exit code for err: 0 for nil, 128 plus its number for a
// signal, else the number of its kind.
func Code(err error) int {
	if err == nil {
		return 0
	}
	if s, ok := errors.AsType[Signaled](err); ok {
		if n, ok := s.Signal.(syscall.Signal); ok {
			return 128 + int(n)
		}
		return 130
	}
	if e, ok := errors.AsType[Exit](err); ok {
		return int(e)
	}
	return int(KindOf(err))
}
