package main

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// contender is one program that reads the whole topic once.
type contender struct {
	name string
	argv []string
	// printsCount is set when the program writes the number of records instead
	// of one line for each.
	printsCount bool
}

const module = "github.com/kcm-cli/kcm"

// The names of the contenders; report finds their results by these.
const (
	kcmRaw   = "kcm -f raw"
	kcmJSON  = "kcm -J"
	kcatRaw  = "kcat"
	kcatJSON = "kcat -J"
	console  = "console-consumer"
	kgoLoop  = "kgo loop"
	kcmOrder = "kcm -f raw --order timestamp"
	kcmTimed = "kcm -J --order timestamp"
)

// contenders builds what has to be built and lists the programs that this
// machine can run; one that is missing is said, never silently left out.
func contenders(ctx context.Context, o options, dir string, stderr io.Writer) ([]contender, error) {
	loop := filepath.Join(dir, "kgoloop")
	if err := build(ctx, loop, module+"/bench/kgoloop"); err != nil {
		return nil, err
	}
	kcm := o.kcm
	if kcm == "" {
		kcm = filepath.Join(dir, "kcm")
		if err := build(ctx, kcm, module); err != nil {
			return nil, err
		}
	}
	consume := []string{kcm, "consume", "-b", o.bootstrap, o.topic, "-e"}
	kcat := []string{"kcat", "-b", o.bootstrap, "-C", "-t", o.topic, "-o", "beginning", "-e", "-q"}
	all := []contender{
		{name: kcmRaw, argv: append(slices.Clone(consume), "-f", "raw")},
		{name: kcatRaw, argv: kcat},
		{name: kgoLoop, argv: []string{loop, o.bootstrap, o.topic, strconv.Itoa(o.records)}, printsCount: true},
		{name: kcmJSON, argv: append(slices.Clone(consume), "-J")},
		{name: kcatJSON, argv: append(slices.Clone(kcat), "-J")},
		{name: console, argv: consoleConsumer(o)},
	}
	ordered := append(slices.Clone(consume), "--order", "timestamp")
	all = append(all,
		contender{name: kcmOrder, argv: append(slices.Clone(ordered), "-f", "raw")},
		contender{name: kcmTimed, argv: append(slices.Clone(ordered), "-J")})
	var able []contender
	for _, c := range all {
		if o.only != "" && !slices.Contains(strings.Split(o.only, ","), c.name) {
			continue
		}
		if c.argv == nil {
			fmt.Fprintf(stderr, "left out: %s: no jars; name them with -jars\n", c.name)
			continue
		}
		if _, err := exec.LookPath(c.argv[0]); err != nil {
			fmt.Fprintf(stderr, "left out: %s: %v\n", c.name, err)
			continue
		}
		able = append(able, c)
	}
	if len(able) == 0 {
		return nil, fmt.Errorf("no contender can run")
	}
	return able, nil
}

// consoleConsumer is Kafka's own tool with the JVM options that its start script
// gives it (bin/kafka-console-consumer.sh and kafka-run-class.sh of 4.3). It has
// no option to stop at the end, so it is told the number of records.
func consoleConsumer(o options) []string {
	if o.jars == "" {
		return nil
	}
	return []string{
		"java", "-Xmx512M", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20",
		"-XX:InitiatingHeapOccupancyPercent=35", "-XX:+ExplicitGCInvokesConcurrent", "-Djava.awt.headless=true",
		"-cp", filepath.Join(o.jars, "*"), "org.apache.kafka.tools.consumer.ConsoleConsumer",
		"--bootstrap-server", o.bootstrap, "--topic", o.topic, "--from-beginning",
		"--max-messages", strconv.Itoa(o.records), "--timeout-ms", "30000",
	}
}

func build(ctx context.Context, to, pkg string) error {
	out, err := exec.CommandContext(ctx, "go", "build", "-o", to, pkg).CombinedOutput()
	if err != nil {
		return fmt.Errorf("go build %s: %w\n%s", pkg, err, out)
	}
	return nil
}
