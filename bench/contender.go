package main

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// contender is one program, or a pipeline of programs, that takes a topic once.
type contender struct {
	name string
	// argv may hold dirMark and runMark. It is nil when the program cannot be
	// named on this machine.
	argv   []string
	work   work
	out    place
	counts counting
	// want is how many records it has to give; 0 is all of the work, -1 as many
	// as the first one of the row.
	want  int
	flags []string // of kcm consume that it needs
	tools []string // programs besides argv[0]
	slow  bool     // is run less often
	// stall is how long the reader of its pipe waits before it reads.
	stall time.Duration
	// target is a topic of west, with runMark in its name, that is made before a
	// run and deleted after it.
	target string
}

// The marks in argv: a fresh directory of the run, a number that no other run
// has, nor one of an earlier start of bench, and the address of the registry.
const (
	dirMark      = "@DIR@"
	runMark      = "@RUN@"
	registryMark = "@REGISTRY@"
)

// place is where standard output goes.
type place string

const (
	toNull place = "null device"
	toPipe place = "pipe"
	toFile place = "file"
	// toNone is for programs that write their files, or to a cluster, themselves.
	toNone place = "its own"
)

// counting is how the records that a program gives are counted.
type counting int

const (
	byLine    counting = iota // lines on stdout
	byNumber                  // it prints their number
	byFiles                   // lines of the files in its directory
	byTarget                  // records in its target topic
	bySummary                 // kcm says so itself: its output has no lines
)

func (c contender) needsWest() bool { return c.target != "" || slices.Contains(c.work.Clusters, west) }

// with returns c with one more change, for rows that have nearly the same program twice.
func (c contender) with(change func(c *contender)) contender {
	change(&c)
	return c
}

// The names of the contenders that bars speak of.
const (
	kcmRaw   = "kcm -f raw"
	kcmJSON  = "kcm -J"
	kcatRaw  = "kcat"
	kcatJSON = "kcat -J"
	console  = "console-consumer"
	kgoLoop  = "kgo loop"
)

// kcmOn is kcm consume over the topic of w on all its clusters, to its end.
func (k *kit) kcmOn(w work, name string, args ...string) contender {
	argv := []string{k.kcm, "consume"}
	for _, cluster := range w.Clusters {
		addr, _ := k.broker(cluster) // one that is missing leaves the row out
		argv = append(argv, "-b", cluster+"="+addr)
	}
	argv = append(argv, w.topic(), "-e")
	return contender{name: name, argv: append(argv, args...), work: w, out: toNull}
}

// kcatOn is kcat over the topic of w on east, to its end.
func (k *kit) kcatOn(w work, name string, args ...string) contender {
	argv := []string{"kcat", "-b", k.o.east, "-C", "-t", w.topic(), "-o", "beginning", "-e", "-q"}
	return contender{name: name, argv: append(argv, args...), work: w, out: toNull}
}

// loopOn is the bare kgo poll loop, which writes nothing.
func (k *kit) loopOn(w work) contender {
	return contender{
		name: kgoLoop, argv: []string{k.loop, "count", k.o.east, w.topic(), strconv.Itoa(w.Records)},
		work: w, out: toNull, counts: byNumber,
	}
}

// consoleOn is Kafka's own tool with the JVM options that its start script gives
// it (bin/kafka-console-consumer.sh and kafka-run-class.sh of 4.3). It has no
// option to stop at the end, so it is told the number of records.
func (k *kit) consoleOn(w work) contender {
	c := contender{name: console, work: w, out: toNull, slow: true}
	c.argv = k.javaTool("org.apache.kafka.tools.consumer.ConsoleConsumer",
		"--bootstrap-server", k.o.east, "--topic", w.topic(), "--from-beginning",
		"--max-messages", strconv.Itoa(w.Records), "--timeout-ms", "30000")
	return c
}

// javaTool is one of Kafka's own tools with the JVM options that its start script
// gives it; nil without its jars.
func (k *kit) javaTool(class string, args ...string) []string {
	if k.o.jars == "" {
		return nil
	}
	return append([]string{
		"java", "-Xmx512M", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20",
		"-XX:InitiatingHeapOccupancyPercent=35", "-XX:+ExplicitGCInvokesConcurrent", "-Djava.awt.headless=true",
		"-cp", filepath.Join(k.o.jars, "*"), class,
	}, args...)
}

// piped joins programs by pipes. All their CPU time counts; the peak of memory is
// that of the largest.
func piped(name string, first contender, rest ...string) contender {
	text := quote(first.argv)
	for _, r := range rest {
		text += " | " + r
		program, _, _ := strings.Cut(r, " ")
		first.tools = append(slices.Clone(first.tools), program)
	}
	first.tools = append(first.tools, first.argv[0])
	first.name, first.argv = name, []string{"bash", "-o", "pipefail", "-c", text}
	return first
}

// quote writes a command line for a shell.
func quote(argv []string) string {
	words := make([]string, len(argv))
	for i, a := range argv {
		words[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
	}
	return strings.Join(words, " ")
}
