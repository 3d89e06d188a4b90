package testscripts

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kcm-cli/kcm/internal/kafkatest"
)

// moreCommands are those that make trouble and special guests:
//
//	fill TOPIC N                    write N short records to partition 0
//	raw TOPIC P CODEC TIME WORD…    one batch of values, compressed with none, gzip, snappy, lz4,
//	                                zstd or snappy-java, every record at TIME (epoch ms, any int64)
//	big TOPIC N                     one record, compressed with zstd, whose value is N times an x
//	noise TOPIC N                   one record of N bytes that no codec makes smaller
//	no-topic TOPIC                  demand that it does not exist
//	id VAR CLUSTER                  set VAR to the cluster's id
//	secured VAR LISTENER            set VAR to the address of a cluster's SASL, TLS or MTLS listener;
//	                                VAR, in lower case, is that cluster, VAR_CA its authority's certificate
//	configure TOPIC KEY=VALUE…      change its settings
//	copied [-p] FROM TO             demand that one topic holds what the other does, see copied_test.go
//	deny TOPIC USER OPERATION       refuse read, describe or write to a user of a secured cluster
//	closed VAR                      set VAR to an address where nobody listens
//	stub VAR KIND                   set VAR to the address of somebody who is no broker: silent, tls or http;
//	                                the file VAR.asked appears when something has been said to it
//	advertise VAR ADDRESS           set VAR to the address of an embedded broker that says it were at ADDRESS
//	serve VAR FILE                  set VAR to an http address that answers with the file as it is now
//	signal NAME SIGNAL              send a signal, STOP and CONT as well, to a program in the background and go on
//	cmpsorted GOT WANT              compare lines in any order, variables in WANT expanded: for records
//	                                of several partitions, whose order among each other is nobody's promise
//	feel FILE TOPIC                 write records "feel" until one has come to FILE: a follow is there then
//	first N CODE PROGRAM ARG…       read N lines of a program's stdout, close it, and demand this exit
//	                                code within ten seconds; the lines become first.out, stderr first.err
func moreCommands(add func(name string, atLeast, atMost int, run func(*testscript.TestScript, *script, []string))) {
	add("fill", 2, 2, fill)
	add("raw", 5, -1, rawBatch)
	add("big", 2, 2, func(ts *testscript.TestScript, s *script, args []string) {
		c, topic := s.topic(ts, args[0])
		opts := []kgo.Opt{kgo.ProducerBatchCompression(kgo.ZstdCompression())}
		c.ProduceWith(topic, opts, kafkatest.Record{Time: firstTime, Value: []byte(strings.Repeat("x", int(number(ts, args[1]))))})
	})
	add("no-topic", 1, 1, func(ts *testscript.TestScript, s *script, args []string) {
		if c, topic := s.topic(ts, args[0]); c.HasTopic(topic) {
			ts.Fatalf("topic %s exists", args[0])
		}
	})
	add("id", 2, 2, func(ts *testscript.TestScript, s *script, args []string) {
		c, _ := s.topic(ts, args[1]+"/")
		s.set(ts, args[0], c.ID())
	})
	add("secured", 2, 2, secured)
	add("noise", 2, 2, noise)
	add("configure", 2, -1, configure)
	add("copied", 2, 3, copied)
	add("deny", 3, 3, deny)
	add("closed", 1, 1, func(ts *testscript.TestScript, s *script, args []string) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		ts.Check(err)
		ts.Check(l.Close())
		s.set(ts, args[0], l.Addr().String())
	})
	add("stub", 2, 2, stub)
	add("advertise", 2, 2, advertise)
	add("serve", 2, 2, func(ts *testscript.TestScript, s *script, args []string) {
		file := ts.MkAbs(args[1])
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			text, err := os.ReadFile(file)
			if err != nil {
				http.NotFound(w, r)
				return
			}
			_, _ = w.Write(text)
		}))
		ts.Defer(srv.Close)
		s.set(ts, args[0], srv.URL+"/kcm.yaml")
	})
	add("signal", 2, 2, func(ts *testscript.TestScript, s *script, args []string) {
		b := s.running[args[0]]
		if b == nil {
			ts.Fatalf("%s does not run", args[0])
		}
		ts.Check(b.cmd.Process.Signal(signalOf(ts, args[1])))
	})
	add("first", 3, -1, first)
	add("feel", 2, 2, feel)
	add("cmpsorted", 2, 2, func(ts *testscript.TestScript, _ *script, args []string) {
		got := sortedLines(ts.ReadFile(args[0]))
		want := sortedLines(os.Expand(ts.ReadFile(args[1]), ts.Getenv))
		if got != want {
			ts.Fatalf("%s and %s differ:\n--- got\n%s--- want\n%s", args[0], args[1], got, want)
		}
	})
}

// set sets a variable for everything that the script runs from now on.
func (s *script) set(ts *testscript.TestScript, name, value string) {
	ts.Setenv(name, value)
	s.vars = append(s.vars, name)
}

func fill(ts *testscript.TestScript, s *script, args []string) {
	c, topic := s.topic(ts, args[0])
	records := make([]kafkatest.Record, number(ts, args[1]))
	for i := range records {
		records[i] = kafkatest.Record{Value: []byte("record " + strconv.Itoa(i)), Time: firstTime + int64(i)}
	}
	c.Produce(topic, records...)
}

func rawBatch(ts *testscript.TestScript, s *script, args []string) {
	codec, ok := map[string]kafkatest.Codec{
		"none": kafkatest.None, "gzip": kafkatest.Gzip, "snappy": kafkatest.Snappy, "lz4": kafkatest.LZ4,
		"zstd": kafkatest.Zstd, "snappy-java": kafkatest.SnappyJava,
	}[args[2]]
	if !ok {
		ts.Fatalf("%s is no codec", args[2])
	}
	b := kafkatest.Batch{Codec: codec, BaseTimestamp: number(ts, args[3])}
	for _, w := range args[4:] {
		b.Records = append(b.Records, kafkatest.Record{Value: []byte(w)})
	}
	c, topic := s.topic(ts, args[0])
	c.ProduceRaw(topic, partition(ts, args[1]), b.Bytes(s.t))
}

// secured takes, on Apache Kafka, the shared cluster east, which has every
// listener, and otherwise starts an embedded cluster of the script's own.
func secured(ts *testscript.TestScript, s *script, args []string) {
	name, listener := strings.ToLower(args[0]), kafkatest.Listener(args[1])
	var c *kafkatest.Cluster
	if s.rig.Real() {
		c = s.rig.Cluster("east")
	} else {
		c = s.rig.Start(name, kafkatest.Options{Listener: listener})
	}
	s.own[name] = c
	s.set(ts, args[0], c.BootstrapFor(listener))
	if certs := c.Certificates(); certs != nil {
		s.set(ts, args[0]+"_CA", certs.CA)
	}
}

func deny(ts *testscript.TestScript, s *script, args []string) {
	operations := map[string]kmsg.ACLOperation{
		"read": kadm.OpRead, "describe": kadm.OpDescribe, "write": kadm.OpWrite,
	}
	op, ok := operations[args[2]]
	if !ok {
		ts.Fatalf("%s is no operation", args[2])
	}
	c, topic := s.topic(ts, args[0])
	b := kadm.NewACLs().Topics(topic).ResourcePatternType(kadm.ACLPatternLiteral).Deny("User:" + args[1]).DenyHosts("*").Operations(op)
	ts.Check(b.ValidateCreate())
	c.CreateACLs(b)
}

// stub listens and is no broker. What it answers is what real ones of its kind do.
func stub(ts *testscript.TestScript, s *script, args []string) {
	answers := map[string]string{
		"silent": "",
		"tls":    "\x15\x03\x03\x00\x02\x02\x46",
		"http":   "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n",
	}
	answer, ok := answers[args[1]]
	if !ok {
		ts.Fatalf("there is no stub %s", args[1])
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { _ = l.Close() })
	asked := ts.MkAbs(args[0] + ".asked")
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				if _, err := conn.Read(make([]byte, 1024)); err == nil {
					_ = os.WriteFile(asked, []byte("yes"), 0o600)
				}
				if answer == "" {
					_, _ = io.Copy(io.Discard, conn)
				}
				_, _ = io.WriteString(conn, answer)
			}()
		}
	}()
	s.set(ts, args[0], l.Addr().String())
}

func first(ts *testscript.TestScript, s *script, args []string) {
	lines, want := number(ts, args[0]), number(ts, args[1])
	path, err := exec.LookPath(args[2])
	ts.Check(err)
	cmd := exec.Command(path, args[3:]...)
	cmd.Dir, cmd.Env = ts.MkAbs("."), s.environ(ts)
	stderr := new(strings.Builder)
	cmd.Stderr = stderr
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	var head strings.Builder
	r := bufio.NewReader(out)
	for range lines {
		line, err := r.ReadString('\n')
		if err != nil {
			ts.Fatalf("read %q, then %v; stderr:\n%s", line, err, stderr)
		}
		head.WriteString(line)
	}
	ts.Check(out.Close())
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err = <-done:
	case <-time.After(time.Minute):
		_ = cmd.Process.Kill()
		ts.Fatalf("it did not end when its stdout was closed")
	}
	if _, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed {
		ts.Fatalf("%v", err)
	}
	if got := int64(cmd.ProcessState.ExitCode()); got != want {
		ts.Fatalf("exit code %d, want %d; stderr:\n%s", got, want, stderr)
	}
	ts.Check(os.WriteFile(ts.MkAbs("first.out"), []byte(head.String()), 0o600))
	ts.Check(os.WriteFile(ts.MkAbs("first.err"), []byte(stderr.String()), 0o600))
}

func sortedLines(text string) string {
	return strings.Join(slices.Sorted(strings.Lines(text)), "")
}

// feel waits for a follow to have found the end: what is written before is not its.
func feel(ts *testscript.TestScript, s *script, args []string) {
	c, topic := s.topic(ts, args[1])
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); {
		c.Produce(topic, kafkatest.Record{Value: []byte("feel"), Time: firstTime})
		if text, err := os.ReadFile(ts.MkAbs(args[0])); err == nil && strings.Contains(string(text), "feel") {
			return
		}
	}
	ts.Fatalf("nothing came to %s", args[0])
}

// advertise starts a broker whose listener says that it were somewhere else.
func advertise(ts *testscript.TestScript, s *script, args []string) {
	host, port, err := net.SplitHostPort(args[1])
	ts.Check(err)
	n, err := strconv.Atoi(port)
	ts.Check(err)
	var at net.Addr
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "there"), kfake.ListenFn(
		func(network, address string) (net.Listener, error) {
			l, err := net.Listen(network, address)
			if err != nil {
				return nil, err
			}
			at = l.Addr()
			return elsewhere{l, &net.TCPAddr{IP: net.ParseIP(host), Port: n}}, nil
		}))
	ts.Check(err)
	ts.Defer(c.Close)
	s.set(ts, args[0], at.String())
}

// elsewhere is a listener with another address.
type elsewhere struct {
	net.Listener
	addr net.Addr
}

func (e elsewhere) Addr() net.Addr { return e.addr }
