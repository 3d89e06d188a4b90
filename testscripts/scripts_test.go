// Package testscripts holds what a user types and sees, as scripts (*.txtar)
// that run the whole of kcm. Every script runs on embedded clusters, and again
// on Apache Kafka when that is wanted (see internal/kafkatest).
//
// A script finds two clusters, east and west, and these variables:
//
//	EAST, WEST  their bootstrap addresses
//	PREFIX      begins the name of every topic, group and transactional id that
//	            the script may use: scripts share the clusters of a real Kafka
//
// and, unless it brings its own, a kcm.yaml with two streams, orders and
// payments, whose topics are ${PREFIX}orders and ${PREFIX}payments on east and
// west. kcm expands variables in that file itself. Wanted output with ${PREFIX}
// in it is compared with cmpenv.
//
// The commands besides testscript's own; TOPIC is CLUSTER/NAME without the
// prefix:
//
//	exitcode N PROGRAM ARG…         run it and demand exactly this exit code
//	only-summary                    demand that stderr holds the summary of consume and nothing else
//	scrape FILE OUT [REGEXP…]       get the metrics at the address that FILE tells, once they match
//	taken FILE                      make that address TAKEN
//	start NAME PROGRAM ARG…         run it in the background, into NAME.out and NAME.err
//	waitfor FILE REGEXP             wait until the file has a match
//	end NAME SIGNAL N               send INT, TERM, HUP or KILL ("-": none) to it and demand this exit code
//	topic TOPIC N [KEY=VALUE…]      create it with N partitions and this configuration
//	partitions TOPIC N              raise its partitions to N
//	delete-topic TOPIC              delete it
//	delete-records TOPIC P OFFSET   move the start of partition P
//	produce [-p P] [-tx ID END] TOPIC KEY=VALUE…
//	                                write records; a word without "=" is a value without key;
//	                                END is commit, abort or open
//	produce [-p P] [-tx ID END] TOPIC @FILE
//	                                the same from JSON lines, see line in commands_test.go
//	commit GROUP TOPIC P OFFSET     commit a group's offset
//	committed GROUP TOPIC P OFFSET  demand that it is this (-1: none)
//	expand FILE...                  put the values of variables into files
//	cluster NAME                    start a cluster of the script's own; NAME, in capitals, is its address
//	kill-cluster NAME, restart NAME end it as a power cut would, bring it back on the same port
//	pause NAME, continue NAME       stop it from answering, let it go on
//
//	checkpoint TOPIC GROUP COPY P UPSTREAM OFFSET [METADATA]
//	                                write a checkpoint of MirrorMaker 2 into TOPIC; COPY has no prefix
//	offset-sync CLUSTER ALIAS NAME P UPSTREAM OFFSET
//	                                write an offset sync into the topic, made if need be, that is
//	                                named by the alias; ALIAS and NAME have no prefix
//	heartbeat TOPIC SOURCE TARGET MS
//	                                write a heartbeat; aliases have no prefix
//
// and those of network_test.go and schemas_test.go. The condition [kafka] holds on Apache Kafka.
package testscripts

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/kcm-cli/kcm/cmd"
	"github.com/kcm-cli/kcm/internal/kafkatest"
)

func TestMain(m *testing.M) {
	testscript.Main(kafkatest.M(m), map[string]func(){"kcm": runKcm})
}

// limit is how long one run of kcm may take: a hang must not look like patience.
const limit = time.Minute

func runKcm() {
	time.AfterFunc(limit, func() {
		fmt.Fprintf(os.Stderr, "kcm still runs after %s\n", limit)
		_ = pprof.Lookup("goroutine").WriteTo(os.Stderr, 1)
		os.Exit(124)
	})
	os.Exit(cmd.Main(cmd.System(), os.Args[1:]))
}

func TestScripts(t *testing.T) {
	// Under nohup SIGHUP is ignored, and by what the scripts start as well, unless
	// this process catches it.
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		testscript.Run(t, testscript.Params{
			Dir:                ".",
			Setup:              func(env *testscript.Env) error { return setup(env, rig.Real()) },
			Cmds:               commands(),
			Condition:          condition(rig.Real()),
			RequireUniqueNames: true,
			UpdateScripts:      os.Getenv("KCM_UPDATE_SCRIPTS") == "1",
		})
	})
}

func condition(onKafka bool) func(string) (bool, error) {
	return func(cond string) (bool, error) {
		if cond == "kafka" {
			return onKafka, nil
		}
		return false, fmt.Errorf("there is no condition %s", cond)
	}
}

// script is what the commands know of the script they stand in.
type script struct {
	t       testing.TB
	rig     *kafkatest.Rig
	prefix  string
	own     map[string]*kafkatest.Cluster // started by the script, by name
	running map[string]*background
	schemas map[string]registry // by the variable that has the address
	vars    []string            // the names of its first variables
}

type scriptKey struct{}

// defaultMetadata is the kcm.yaml of scripts that bring none.
const defaultMetadata = `clusters:
  east: {bootstrap: "${EAST}"}
  west: {bootstrap: "${WEST}"}
streams:
  orders:
    sources:
      - {cluster: east, topics: ["${PREFIX}orders"]}
      - {cluster: west, topics: ["${PREFIX}orders"]}
  payments:
    sources:
      - {cluster: east, topics: ["${PREFIX}payments"]}
      - {cluster: west, topics: ["${PREFIX}payments"]}
`

func setup(env *testscript.Env, onKafka bool) error {
	t, ok := env.T().(testing.TB)
	if !ok {
		return fmt.Errorf("%T is no testing.TB", env.T())
	}
	s := &script{t: t, own: map[string]*kafkatest.Cluster{}, running: map[string]*background{}, schemas: map[string]registry{}}
	if onKafka {
		s.rig = kafkatest.Real(t, kafkatest.Options{})
	} else {
		s.rig = kafkatest.Fake(t, kafkatest.Options{})
	}
	s.prefix = strings.TrimPrefix(s.rig.Name(""), "-") + "."
	env.Setenv("PREFIX", s.prefix)
	env.Setenv("EAST", s.rig.Cluster("east").Bootstrap())
	env.Setenv("WEST", s.rig.Cluster("west").Bootstrap())
	// The race detector otherwise waits a second at the end of every kcm.
	env.Setenv("GORACE", "atexit_sleep_ms=10")
	for _, v := range env.Vars {
		name, _, _ := strings.Cut(v, "=")
		s.vars = append(s.vars, name)
	}
	env.Values[scriptKey{}] = s
	env.Defer(s.end)
	file := filepath.Join(env.WorkDir, "kcm.yaml")
	if _, err := os.Stat(file); err == nil {
		return nil
	}
	return os.WriteFile(file, []byte(defaultMetadata), 0o600)
}

func (s *script) end() {
	for _, b := range s.running {
		_ = b.cmd.Process.Kill()
		<-b.done
	}
}
