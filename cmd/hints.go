package cmd

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kcm-cli/kcm/internal/fault"
)

// verbs says what to type for the commands of other tools. A text that ends in
// a full stop answers by itself.
var verbs = map[string]string{
	"tail":      "kcm consume STREAM follows a stream; -o -N begins N offsets before the end",
	"follow":    "kcm consume STREAM",
	"logs":      "kcm consume STREAM",
	"read":      "kcm consume STREAM",
	"cat":       "kcm consume STREAM -o start -e",
	"ls":        "kcm describe lists the streams",
	"list":      "kcm describe lists the streams",
	"get":       "kcm describe, such as kcm describe topics",
	"show":      "kcm describe, such as kcm describe stream NAME",
	"streams":   "kcm describe streams",
	"stream":    "kcm describe stream NAME",
	"clusters":  "kcm describe clusters",
	"cluster":   "kcm describe cluster NAME",
	"topics":    "kcm describe topics; kcm creates, alters and deletes no topics",
	"topic":     "kcm describe topic NAME; kcm creates, alters and deletes no topics",
	"groups":    "kcm describe groups, or kcm describe group NAME; kcm offsets lag -g GROUP shows its lag",
	"group":     "kcm describe groups, or kcm describe group NAME; kcm offsets lag -g GROUP shows its lag",
	"lag":       "kcm offsets lag -g GROUP",
	"reset":     "kcm offsets reset -g GROUP STREAM --to SPEC",
	"seek":      "kcm offsets reset -g GROUP STREAM --to SPEC",
	"rewind":    "kcm offsets reset -g GROUP STREAM --to SPEC",
	"rollback":  "kcm offsets rollback FILE",
	"undo":      "kcm offsets rollback FILE",
	"export":    "kcm offsets export -g GROUP -c CLUSTER",
	"import":    "kcm offsets import -g GROUP -c CLUSTER FILE",
	"translate": "kcm offsets translate --from CLUSTER --to CLUSTER -g GROUP",
	"produce":   "kcm does not write records of its own; use kcat -P, rpk topic produce or kafka-console-producer",
	"producer":  "kcm does not write records of its own; use kcat -P, rpk topic produce or kafka-console-producer",
	"acl":       "kcm leaves access control to the tools of each cluster, such as kafka-acls",
	"acls":      "kcm leaves access control to the tools of each cluster, such as kafka-acls",
	"schemas":   "kcm describe schemas",
	"schema":    "kcm describe schema SUBJECT",
	"registry":  "kcm describe schemas lists the subjects of each registry",
	"migrate":   "meanwhile kcm consume STREAM -c FROM --to CLUSTER copies records, each at least once",
	"mirror":    "kcm consume STREAM -c FROM --to CLUSTER copies records, each at least once",
	"consumer":  "kcm consume STREAM",
	"subscribe": "kcm consume STREAM",
	"metadata":  "kcm describe; kcm help metadata explains the file",
}

// planned are the commands that other versions have.
var planned = []string{"migrate"}

// noCommand refuses arguments of kcm itself, which are commands that it does
// not have.
func noCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return unknownCommand(cmd, args[0])
}

func unknownCommand(cmd *cobra.Command, word string) error {
	err := fault.New(fault.Usage, "there is no command %s", word)
	if slices.Contains(planned, word) {
		err = fault.New(fault.Usage, "%s is not in this version", word)
	}
	hint, known := verbs[word]
	switch near := fault.Nearest(word, commandNames(cmd)); {
	case known && hint != "":
		return err.WithHint("%s", hint)
	case !known && near != "":
		return err.WithHint("did you mean %s?", near)
	case known:
		return err
	default:
		return err.WithHint("kcm help lists the commands")
	}
}

func commandNames(cmd *cobra.Command) []string {
	var names []string
	for _, sub := range cmd.Commands() {
		if !sub.Hidden {
			names = append(names, sub.Name())
		}
	}
	return names
}

// flagHints says what to type for the flags of other tools, for every command.
var flagHints = map[string]string{
	"C": "kcm consume STREAM",
	"L": "kcm describe",
	"P": "kcm does not write records of its own",
	"Q": "kcm offsets list STREAM --at TIME",
	"F": "put the file's name under propertiesFile: in the metadata, or give its lines with -X",
	"K": "-f FORMAT writes keys, such as -f '%k %v\\n'; --delimiter sets what ends a record",
	"D": "--delimiter S, or a template with -f",
	"Z": "--null TEXT sets what stands for null",
	"t": "kcm consume TOPIC reads a topic",
	"u": "-u is not needed: output is flushed whenever the next read would wait",
	"E": "not needed: a record that cannot be decoded does not end the run",
	"A": "kcm describe",
	"g": "kcm consume STREAM -g GROUP",

	"output":              "-f json writes JSON",
	"from-beginning":      "-o start",
	"beginning":           "-o start",
	"bootstrap-server":    "-b HOST:PORT",
	"bootstrap-servers":   "-b HOST:PORT",
	"broker":              "-b HOST:PORT",
	"brokers":             "-b HOST:PORT",
	"max-messages":        "-n N",
	"count":               "-n N",
	"limit":               "-n N",
	"lines":               "-o -N begins N offsets before the end",
	"tail":                "-o -N begins N offsets before the end",
	"partition":           "-p N",
	"property":            "-X KEY=VALUE",
	"consumer-property":   "-X KEY=VALUE",
	"consumer.config":     "-X KEY=VALUE, or propertiesFile: in the metadata",
	"command-config":      "-X KEY=VALUE, or propertiesFile: in the metadata",
	"isolation-level":     "--read-committed",
	"filter":              "-G [!]SEL:RE, such as -G v:error, or -w EXPR, a jq expression; see kcm help filters",
	"jq":                  "-w EXPR keeps records for which a jq expression holds",
	"select":              "-w EXPR keeps records for which a jq expression holds",
	"match":               "-G [!]SEL:RE, such as -G v:error; see kcm help filters",
	"invert-match":        "-G '!SEL:RE', such as -G '!v:error'; see kcm help filters",
	"schema-registry":     "--registry [CLUSTER=]URL",
	"schema-registry-url": "--registry [CLUSTER=]URL",
	"context":             "-c CLUSTER chooses a cluster",
	"profile":             "-m FILE chooses the metadata",
	"include":             "-r PATTERN takes streams by name",
	"whitelist":           "-r PATTERN takes streams by name",
	"formatter":           "-f FORMAT",
	"read-uncommitted":    "not needed: it is the default",
	"until-end":           "-e",
	"json":                "-f json",
	"group":               "kcm consume STREAM -g GROUP",
	"since":               "kcm consume STREAM --since TIME",
	"until":               "kcm consume STREAM --until TIME",
	"timeout-ms":          "--timeout TIME, such as --timeout 5s",
	"no-color":            "--color never",
	"watch":               "kcm consume follows a stream; kcm describe STREAM --watch shows it again and again",
	"interval":            "kcm describe --watch --interval 5s",
	"refresh":             "kcm consume --refresh; kcm describe --watch --interval 5s",
	"describe":            "kcm offsets lag -g GROUP; kcm describe group NAME shows its members",
	"list":                "kcm describe groups, topics or streams lists them",
	"all-groups":          "kcm describe groups; kcm offsets lag --all-groups shows how far they are",
	"dry-run":             "not needed: without --execute nothing is changed",
	"yes":                 "--execute carries a plan out",
	"force":               "--execute carries a plan out; a group that has members is always refused",
	"reset-offsets":       "kcm offsets reset -g GROUP STREAM --to SPEC",
	"delete-offsets":      "kcm offsets delete -g GROUP STREAM",
	"export":              "kcm offsets export -g GROUP -c CLUSTER",
}

// offsetsVerbs are the verbs of kcm offsets by the words of other tools.
var offsetsVerbs = map[string]string{
	"seek": "reset", "set": "reset", "rewind": "reset", "shift": "reset", "alter": "reset", "commit": "reset",
	"undo": "rollback", "restore": "rollback", "revert": "rollback", "remove": "delete", "rm": "delete",
	"describe": "lag", "show": "lag", "get": "list", "ls": "list", "dump": "export", "backup": "export", "load": "import",
}

// flagError gives pflag's errors a usage kind and a hint.
func flagError(cmd *cobra.Command, err error) error {
	if errors.Is(err, pflag.ErrHelp) {
		return err
	}
	if args := cmd.Flags().Args(); !cmd.HasParent() && len(args) > 0 {
		return unknownCommand(cmd, args[0])
	} else if cmd.Name() == "offsets" && len(args) > 0 {
		return offsetsArgs(cmd, args)
	}
	name := ""
	unknown, isUnknown := errors.AsType[*pflag.NotExistError](err)
	if isUnknown {
		name = unknown.GetSpecifiedName()
		if short := unknown.GetSpecifiedShortnames(); short != "" {
			name = short[:1]
		}
	}
	e := fault.New(fault.Usage, "%w", err)
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		e = fault.New(fault.Usage, "%s %s is no %s", flagName(invalid.GetFlag()), invalid.GetValue(), typeName(invalid.GetFlag()))
	}
	switch hint, ok := flagHints[name]; {
	case isUnknown && ok:
		return e.WithHint("%s", hint)
	case isUnknown && len(name) > 1:
		if near := nearestFlag(cmd, name); near != "" {
			return e.WithHint("did you mean --%s?", near)
		}
	}
	return e.WithHint("%s --help", cmd.CommandPath())
}

// flagName is a flag as it is typed.
func flagName(f *pflag.Flag) string {
	if f.Shorthand != "" {
		return "-" + f.Shorthand
	}
	return "--" + f.Name
}

// typeName says what the value of a flag is, in words for people.
func typeName(f *pflag.Flag) string {
	switch f.Value.Type() {
	case "bool":
		return "true or false"
	case "int", "int32", "int64", "count":
		return "whole number"
	case "duration":
		return "duration such as 15s"
	default:
		return f.Value.Type()
	}
}

// nearestFlag returns the flag whose name is most like name or begins like it.
func nearestFlag(cmd *cobra.Command, name string) string {
	var names []string
	begins := ""
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		names = append(names, f.Name)
		if begins == "" && (strings.HasPrefix(f.Name, name) || strings.HasPrefix(name, f.Name)) {
			begins = f.Name
		}
	})
	if near := fault.Nearest(name, names); near != "" {
		return near
	}
	return begins
}

// argumentHint looks at the values of consume's flags for the habits of other
// tools whose letters mean something else here.
func argumentHint(cmd *cobra.Command) string {
	if cmd == nil || cmd.Name() != "consume" {
		return ""
	}
	value := func(name string) string {
		if f := cmd.Flags().Lookup(name); f != nil {
			return strings.Trim(f.Value.String(), "[]")
		}
		return ""
	}
	changed := func(name string) bool { return cmd.Flags().Changed(name) }
	args := cmd.Flags().Args()
	switch {
	case changed("cluster") && isNumber(value("cluster")):
		return "-c is a cluster; -n " + value("cluster") + " limits the number of records"
	case value("offset") == "json":
		return "-o is where to start; -f json writes JSON"
	case slices.ContainsFunc(args, isAddress):
		return "-r makes names patterns; --registry URL is the schema registry"
	case isGroupName(value("grep")):
		return noSelector(value("grep"))
	case changed("format") && len(args) == 0 && !changed("replay"):
		return "-f is the format; following is the default"
	case changed("topic") && len(args) == 0:
		return "-t narrows what streams select; kcm consume " + value("topic") + " reads it"
	default:
		return ""
	}
}

// checkWords refuses an address among the names of streams, before anybody
// looks for it: it is kcat's -r.
func checkWords(cmd *cobra.Command, args []string) error {
	if cmd.Name() == "consume" && slices.ContainsFunc(args, isAddress) {
		return fault.New(fault.Usage, "an address is no stream")
	}
	return nil
}

func isAddress(s string) bool {
	return strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://")
}

// isGroupName reports that the value of -G is no pattern, but what kcat's -G is.
func isGroupName(s string) bool { return s != "" && !strings.Contains(s, ":") }

func noSelector(s string) string {
	s = strings.TrimPrefix(s, "!")
	return fmt.Sprintf("-G v:%s looks in values, -G k:%s in keys; -g %s joins a group", s, s, s)
}

func isNumber(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
