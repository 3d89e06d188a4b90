package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
)

// machine describes where it was measured and how busy that was at the beginning.
func machine(ctx context.Context, o options) []string {
	first := func(file, pattern string) string {
		text, _ := os.ReadFile(file) // not every system has it
		if m := regexp.MustCompile(pattern).FindSubmatch(text); m != nil {
			return string(m[1])
		}
		return "unknown"
	}
	lines := []string{
		fmt.Sprintf("%s/%s, %d CPUs (%s), memory %s, kernel %s, load %s when it began", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(),
			first("/proc/cpuinfo", `(?m)^model name\s*: (.*)$`), first("/proc/meminfo", `MemTotal:\s*(.*)`),
			first("/proc/sys/kernel/osrelease", `(.*)`), first("/proc/loadavg", `^(\S+)`)),
		"kcm built by " + runtime.Version(),
		kcatVersion(ctx),
	}
	if out, err := exec.CommandContext(ctx, "jq", "--version").Output(); err == nil {
		lines = append(lines, strings.TrimSpace(string(out)))
	}
	if jars, _ := filepath.Glob(filepath.Join(o.jars, "kafka-clients-*.jar")); len(jars) > 0 {
		name := strings.TrimSuffix(filepath.Base(jars[0]), ".jar")
		lines = append(lines, "Apache Kafka "+strings.TrimPrefix(name, "kafka-clients-")+", one broker a cluster, on the same machine")
	}
	return lines
}

// kcatVersion is the line in which kcat names its version and librdkafka's.
func kcatVersion(ctx context.Context) string {
	out, err := exec.CommandContext(ctx, "kcat", "-V").CombinedOutput()
	if err != nil {
		return "no kcat"
	}
	m := regexp.MustCompile(`Version (\S+) .*librdkafka (\S+)`).FindSubmatch(out)
	if m == nil {
		return "kcat of an unknown version"
	}
	return fmt.Sprintf("kcat %s with librdkafka %s", m[1], m[2])
}
