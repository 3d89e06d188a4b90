package kafkatest

import (
	_ "embed"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

//go:embed JavaProducer.java
var javaProducer []byte

// Java runs one of Apache Kafka's own tools against the cluster and returns
// what it wrote to standard output, as in
//
//	c.Java("org.apache.kafka.tools.consumer.ConsoleConsumer", "--topic", topic, "--from-beginning", "--timeout-ms", "3000")
//
// --bootstrap-server is added. It takes a second or two and needs a real rig.
func (c *Cluster) Java(class string, args ...string) string {
	c.t.Helper()
	c.needReal("Java")
	return runJava(c.t, nil, append([]string{class, "--bootstrap-server", c.Bootstrap()}, args...)...)
}

// ProduceWithJava writes n records, record(0) to record(n-1), with Apache's own
// producer: its batching, its compression (none, gzip, snappy, lz4, zstd), its
// partitioner where Partition is -1. It is a witness that shares no code with
// what is tested. It needs a real rig.
func (c *Cluster) ProduceWithJava(topic, codec string, n int, record func(i int) Record) {
	c.t.Helper()
	c.needReal("ProduceWithJava")
	source := filepath.Join(c.t.TempDir(), "JavaProducer.java")
	c.check(os.WriteFile(source, javaProducer, 0o600))
	var in strings.Builder
	for i := range n {
		r := record(i)
		fmt.Fprintf(&in, "%d\t%s\t%s\t%d", r.Partition, field(r.Key), field(r.Value), r.Time)
		for _, h := range r.Headers {
			fmt.Fprintf(&in, "\t%s\t%s", field([]byte(h.Key)), field(h.Value))
		}
		in.WriteByte('\n')
	}
	out := runJava(c.t, []byte(in.String()), source, c.Bootstrap(), topic, codec)
	if strings.TrimSpace(out) != strconv.Itoa(n) {
		c.t.Fatalf("cluster %s: Java's producer wrote %q of %d records", c.name, out, n)
	}
}

// field is how JavaProducer reads bytes: base64, or a dash for null.
func field(b []byte) string {
	if b == nil {
		return "-"
	}
	return base64.StdEncoding.EncodeToString(b)
}

func (c *Cluster) needReal(what string) {
	c.t.Helper()
	if !c.rig.real {
		c.t.Fatalf("%s needs Apache Kafka: check Rig.Real first", what)
	}
}
