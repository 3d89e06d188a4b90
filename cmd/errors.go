package cmd

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/kcm-cli/kcm/internal/fault"
)

// stdoutClosed reports whether err is a write to a stdout that nobody reads any
// more: the end of a pipeline's wish, not a failure.
func stdoutClosed(env *Env, err error) bool {
	path, ok := errors.AsType[*fs.PathError](err)
	if !ok || path.Op != "write" {
		return false
	}
	if f, ok := env.Stdout.(interface{ Name() string }); !ok || f.Name() != path.Path {
		return false
	}
	errno, _ := errors.AsType[syscall.Errno](err)
	// Windows says ERROR_BROKEN_PIPE or ERROR_NO_DATA.
	return errno == syscall.EPIPE || env.GOOS == "windows" && (errno == 109 || errno == 232)
}

// explain gives an error its kind, if it has none, and the hint for other
// tools' hands, if one is known.
func explain(env *Env, cmd *cobra.Command, err error) error {
	_, known := errors.AsType[*fault.Error](err)
	_, signaled := errors.AsType[fault.Signaled](err)
	if !known && !signaled && !env.run.started {
		err = argumentError(cmd, err)
	}
	if fault.KindOf(err) != fault.Usage {
		return err
	}
	if hint := argumentHint(cmd); hint != "" {
		return fault.New(fault.Usage, "%w", err).WithHint("%s", hint)
	}
	return err
}

// argumentError words what cobra has to say about arguments.
func argumentError(cmd *cobra.Command, err error) error {
	if strings.HasPrefix(err.Error(), "unknown command ") {
		return fault.New(fault.Usage, "%s takes no argument such as %s", cmd.CommandPath(), cmd.Flags().Arg(0)).
			WithHint("%s --help", cmd.CommandPath())
	}
	return fault.New(fault.Usage, "%w", err).WithHint("%s", cmd.UseLine())
}

// errorStyle is the shape of the error that ends a run.
type errorStyle uint8

const (
	errorText     errorStyle = iota
	errorObject              // --output json of an admin command
	errorProgress            // --progress json
)

// styleOf finds the shape from the command's flags or, when they could not be
// parsed, from the arguments themselves.
func styleOf(cmd *cobra.Command, args []string) errorStyle {
	switch {
	case wants(cmd, args, "progress"):
		return errorProgress
	case wants(cmd, args, "output"):
		return errorObject
	default:
		return errorText
	}
}

// wants reports whether a flag of cmd has the value json.
func wants(cmd *cobra.Command, args []string, name string) bool {
	f := cmd.Flags().Lookup(name)
	if f == nil {
		return false
	}
	if f.Value.String() == "json" {
		return true
	}
	if f.Changed {
		return false
	}
	forms := []string{"--" + name, "-" + f.Shorthand}
	return slices.Contains(args, forms[0]+"=json") ||
		f.Shorthand != "" && (slices.Contains(args, forms[1]+"json") || slices.Contains(args, forms[1]+"=json")) ||
		slices.ContainsFunc(forms, func(form string) bool {
			i := slices.Index(args, form)
			return form != "-" && i >= 0 && i+1 < len(args) && args[i+1] == "json"
		})
}

// tell writes the error on stderr.
func tell(env *Env, cmd *cobra.Command, args []string, err error) {
	message, hint := err.Error(), fault.HintOf(err)
	n := env.run.notices
	switch styleOf(cmd, args) {
	case errorObject:
		n.write(jsonLine(errorFields(err)))
	case errorProgress:
		n.object(errorFields(err))
	default:
		text := fmt.Sprintf("kcm: %s\n", oneLine(message))
		if hint != "" {
			text += fmt.Sprintf("kcm: hint: %s\n", oneLine(hint))
		}
		n.write(text)
	}
}

func errorFields(err error) []Field {
	fields := []Field{{"error", err.Error()}, {"code", fault.Code(err)}, {"cluster", optional(clusterOf(err))}}
	if hint := fault.HintOf(err); hint != "" {
		fields = append(fields, Field{"hint", hint})
	}
	return fields
}

// clusterOf returns the cluster of the first error in err's chain that names one.
func clusterOf(err error) string {
	for err != nil {
		e, ok := errors.AsType[*fault.Error](err)
		if !ok {
			return ""
		}
		if e.Cluster != "" {
			return e.Cluster
		}
		err = e.Err
	}
	return ""
}

// joinWords lists words for a sentence: "a, b or c".
func joinWords(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
