package testscripts

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/kcm-cli/kcm/internal/kafkatest"
)

type command = func(ts *testscript.TestScript, neg bool, args []string)

// commands are the words that scripts have besides testscript's own.
func commands() map[string]command {
	cmds := map[string]command{}
	add := func(name string, atLeast, atMost int, run func(ts *testscript.TestScript, s *script, args []string)) {
		cmds[name] = func(ts *testscript.TestScript, neg bool, args []string) {
			if neg || len(args) < atLeast || atMost >= 0 && len(args) > atMost {
				ts.Fatalf("wrong use of %s: see the package comment", name)
			}
			run(ts, ts.Value(scriptKey{}).(*script), args)
		}
	}
	add("exitcode", 2, -1, exitCode)
	add("only-summary", 0, 0, func(ts *testscript.TestScript, _ *script, _ []string) {
		if text := ts.ReadFile("stderr"); !summaryAlone.MatchString(text) {
			ts.Fatalf("stderr is not one line of summary:\n%s", text)
		}
	})
	add("start", 2, -1, startBackground)
	add("waitfor", 2, 2, waitFor)
	add("end", 3, 3, stopBackground)
	add("topic", 2, -1, func(ts *testscript.TestScript, s *script, args []string) {
		configs := map[string]string{}
		for _, a := range args[2:] {
			k, v, _ := strings.Cut(a, "=")
			configs[k] = v
		}
		c, topic := s.topic(ts, args[0])
		c.CreateTopic(topic, partition(ts, args[1]), configs)
	})
	add("partitions", 2, 2, func(ts *testscript.TestScript, s *script, args []string) {
		c, topic := s.topic(ts, args[0])
		c.AddPartitions(topic, partition(ts, args[1]))
	})
	add("delete-topic", 1, 1, func(ts *testscript.TestScript, s *script, args []string) {
		c, topic := s.topic(ts, args[0])
		c.DeleteTopic(topic)
	})
	add("delete-records", 3, 3, func(ts *testscript.TestScript, s *script, args []string) {
		c, topic := s.topic(ts, args[0])
		c.DeleteRecords(topic, partition(ts, args[1]), number(ts, args[2]))
	})
	add("produce", 2, -1, produce)
	add("commit", 4, 4, func(ts *testscript.TestScript, s *script, args []string) {
		c, topic := s.topic(ts, args[1])
		c.Commit(s.prefix+args[0], topic, partition(ts, args[2]), number(ts, args[3]))
	})
	add("committed", 4, 4, func(ts *testscript.TestScript, s *script, args []string) {
		c, topic := s.topic(ts, args[1])
		if at := c.Committed(s.prefix+args[0], topic, partition(ts, args[2])); at != number(ts, args[3]) {
			ts.Fatalf("group %s has committed %d on %s", args[0], at, args[1])
		}
	})
	add("expand", 1, -1, func(ts *testscript.TestScript, _ *script, args []string) {
		for _, name := range args {
			ts.Check(os.WriteFile(ts.MkAbs(name), []byte(os.Expand(ts.ReadFile(name), ts.Getenv)), 0o600))
		}
	})
	add("cluster", 1, 1, func(ts *testscript.TestScript, s *script, args []string) {
		c := s.rig.Start(args[0], kafkatest.Options{})
		s.own[args[0]] = c
		ts.Setenv(strings.ToUpper(args[0]), c.Bootstrap())
		s.vars = append(s.vars, strings.ToUpper(args[0]))
	})
	for name, act := range map[string]func(*kafkatest.Cluster){
		"kill-cluster": func(c *kafkatest.Cluster) { c.Kill9(c.FirstNode()) },
		"restart":      func(c *kafkatest.Cluster) { c.Restart(c.FirstNode()) },
		"pause":        func(c *kafkatest.Cluster) { c.Pause(c.FirstNode()) },
		"continue":     func(c *kafkatest.Cluster) { c.Continue(c.FirstNode()) },
	} {
		add(name, 1, 1, func(ts *testscript.TestScript, s *script, args []string) {
			c := s.own[args[0]]
			if c == nil {
				ts.Fatalf("%s is shared with other scripts: begin with the command cluster", args[0])
			}
			act(c)
		})
	}
	moreCommands(add)
	addSchemas(add)
	addMetrics(add)
	addMirror(add)
	return cmds
}

// summaryAlone is a stderr that holds nothing but what consume tells at its end.
var summaryAlone = regexp.MustCompile(`^kcm: [0-9,]+ records? \([^)]*\) in [0-9.hms]+(: .*)?\n$`)

// topic finds CLUSTER/NAME and returns the topic's full name.
func (s *script) topic(ts *testscript.TestScript, text string) (*kafkatest.Cluster, string) {
	cluster, name, ok := strings.Cut(text, "/")
	if !ok {
		ts.Fatalf("%s is no CLUSTER/TOPIC", text)
	}
	c := s.own[cluster]
	switch {
	case c != nil:
	case cluster == "east" || cluster == "west":
		c = s.rig.Cluster(cluster)
	default:
		ts.Fatalf("there is no cluster %s", cluster)
	}
	return c, s.prefix + name
}

func number(ts *testscript.TestScript, text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	ts.Check(err)
	return n
}

func partition(ts *testscript.TestScript, text string) int32 { return int32(number(ts, text)) }

// exitCode runs a program and demands exactly one exit code, which testscript's
// own "!" can't tell from another.
func exitCode(ts *testscript.TestScript, _ *script, args []string) {
	want, got := number(ts, args[0]), 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if int64(got) != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// line is one record of a file for produce. A key, value or header value that
// is missing or null is null; key_bytes, value_bytes and the bytes of a header are
// base64, key_hex and value_hex may hold blanks. What key_schema and value_schema
// name is put in front: 0 and the id of that variable.
type line struct {
	Partition  *int32   `json:"partition"` // else -p, else 0
	Key        *string  `json:"key"`
	Value      *string  `json:"value"`
	KeyBytes   []byte   `json:"key_bytes"`
	ValueBytes []byte   `json:"value_bytes"`
	KeyHex     *string  `json:"key_hex"`
	ValueHex   *string  `json:"value_hex"`
	KeyOf      string   `json:"key_schema"`
	ValueOf    string   `json:"value_schema"`
	Timestamp  int64    `json:"timestamp"` // else 1700000000000 and on, 1 ms each
	Headers    []header `json:"headers"`
}

type header struct {
	Key   string  `json:"key"`
	Value *string `json:"value"`
	Bytes []byte  `json:"bytes"`
}

// firstTime is the time of a record that names none; the next ones follow by
// the millisecond.
const firstTime = 1_700_000_000_000

func produce(ts *testscript.TestScript, s *script, args []string) {
	to, id, end := int32(0), "", ""
	for len(args) > 2 && strings.HasPrefix(args[0], "-") {
		switch {
		case args[0] == "-p":
			to, args = partition(ts, args[1]), args[2:]
		case args[0] == "-tx" && slices.Contains([]string{"commit", "abort", "open"}, args[2]):
			id, end, args = args[1], args[2], args[3:]
		default:
			ts.Fatalf("produce has no %s like that", args[0])
		}
	}
	if len(args) < 2 {
		ts.Fatalf("produce what?")
	}
	c, topic := s.topic(ts, args[0])
	records := recordsOf(ts, to, args[1:])
	if end == "" {
		c.Produce(topic, records...)
		return
	}
	tx := c.Begin(s.prefix + id)
	tx.Produce(topic, records...)
	switch end {
	case "commit":
		tx.Commit()
	case "abort":
		tx.Abort()
	}
}

func recordsOf(ts *testscript.TestScript, to int32, words []string) []kafkatest.Record {
	var records []kafkatest.Record
	if file, ok := strings.CutPrefix(words[0], "@"); ok {
		scanner := bufio.NewScanner(strings.NewReader(ts.ReadFile(file)))
		for scanner.Scan() {
			var l line
			ts.Check(json.Unmarshal(scanner.Bytes(), &l))
			r := l.record(to, int64(len(records)))
			l.frame(ts, &r)
			records = append(records, r)
		}
		ts.Check(scanner.Err())
		return records
	}
	for i, w := range words {
		r := kafkatest.Record{Partition: to, Time: firstTime + int64(i)}
		if key, value, ok := strings.Cut(w, "="); ok {
			r.Key, r.Value = []byte(key), []byte(value)
		} else {
			r.Value = []byte(w)
		}
		records = append(records, r)
	}
	return records
}

func (l line) record(to int32, i int64) kafkatest.Record {
	r := kafkatest.Record{Partition: to, Key: l.KeyBytes, Value: l.ValueBytes, Time: l.Timestamp}
	if l.Partition != nil {
		r.Partition = *l.Partition
	}
	if l.Key != nil {
		r.Key = []byte(*l.Key)
	}
	if l.Value != nil {
		r.Value = []byte(*l.Value)
	}
	if r.Time == 0 {
		r.Time = firstTime + i
	}
	for _, h := range l.Headers {
		kh := kafkatest.Header{Key: h.Key, Value: h.Bytes}
		if h.Value != nil {
			kh.Value = []byte(*h.Value)
		}
		r.Headers = append(r.Headers, kh)
	}
	return r
}
