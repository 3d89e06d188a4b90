package cluster

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/kcm-cli/kcm/internal/fault"
)

func TestParseProperties(t *testing.T) {
	text := "# comment\\\n! another\na=1\nb : 2 \n  c   3\nd\ne=\n" +
		"f=x\\\n   y\\\r\n\tz\r\n" +
		"g\\ h\\=i\\:=v\n" +
		"j=\\t\\n\\u00e9\\uD83D\\uDE00\\q\n" +
		"k=${user.home} # not a comment\n" +
		"a=last\n" +
		"password=pa\\\\ss=w:o#rd  \n" +
		"l=end\\"
	got, err := ParseProperties([]byte(text), "east.properties")
	if err != nil {
		t.Fatal(err)
	}
	want := []Property{
		{Key: "a", Value: "last", Origin: "east.properties:13"},
		{Key: "b", Value: "2 ", Origin: "east.properties:4"},
		{Key: "c", Value: "3", Origin: "east.properties:5"},
		{Key: "d", Value: "", Origin: "east.properties:6"},
		{Key: "e", Value: "", Origin: "east.properties:7"},
		{Key: "f", Value: "xyz", Origin: "east.properties:8"},
		{Key: "g h=i:", Value: "v", Origin: "east.properties:11"},
		{Key: "j", Value: "\t\né😀q", Origin: "east.properties:12"},
		{Key: "k", Value: "${user.home} # not a comment", Origin: "east.properties:13"},
		{Key: "password", Value: `pa\ss=w:o#rd  `, Origin: "east.properties:15"},
		{Key: "l", Value: "end", Origin: "east.properties:16"},
	}
	want[0].Origin, want[8].Origin = "east.properties:14", "east.properties:13"
	if len(got) != len(want) {
		t.Fatalf("got %d: %v", len(got), got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%d: got %s %q %s, want %s %q %s", i, got[i].Key, got[i].Value.Reveal(), got[i].Origin, want[i].Key, want[i].Value.Reveal(), want[i].Origin)
		}
	}
	latin, err := ParseProperties([]byte("p=caf\xe9"), "f")
	if err != nil || latin[0].Value != "café" {
		t.Errorf("ISO 8859-1: %q, %v", latin[0].Value.Reveal(), err)
	}
	if _, err := ParseProperties([]byte("x=1\np=S3cr3t-CANARY\\u12g4"), "f"); err == nil || err.Error() != `f:2: malformed \uXXXX escape` {
		t.Errorf("bad escape: %v", err)
	}
}

func FuzzProperties(f *testing.F) {
	for _, s := range []string{"a=1\nb:2\n", "k\\\n  v", "x=\\u00e9\\uD83D\\uDE00", "# c\\\nd=\\", "\xff\xfe=1", "a\\ b = c\r\nd\re"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := ParseProperties(data, "f")
		seen := map[string]bool{}
		for _, p := range list {
			if err != nil || seen[p.Key] {
				t.Fatalf("%q twice, or beside an error %v", p.Key, err)
			}
			seen[p.Key] = true
		}
	})
}

// TestEveryClientPropertyIsKnown holds the tables against the names that the
// clients themselves know.
func TestEveryClientPropertyIsKnown(t *testing.T) {
	table := newKeyTable()
	for _, file := range []string{"java.txt", "librdkafka.txt"} {
		data, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		names := strings.Fields(string(data))
		if len(names) < 100 {
			t.Fatalf("%s: %d names", file, len(names))
		}
		for _, n := range names {
			if table.canonical[n] == "" && !table.passes(n) && refusedKeys[n] == "" {
				t.Errorf("%s: %s is not known", file, n)
			}
		}
	}
	for n := range table.canonical {
		if table.passed[n] || refusedKeys[n] != "" {
			t.Errorf("%s is in two tables", n)
		}
	}
}

func TestPropertyKeys(t *testing.T) {
	base := []string{"bootstrap.servers=h:1"}
	passed := []string{
		"key.deserializer=x", "group.id=g", "auto.offset.reset=earliest", "acks=all", "topic.auto.offset.reset=earliest",
		"schema.registry.url=http://x", "basic.auth.user.info=u:p", "ssl.protocol=TLSv1.2", "sasl.kerberos.service.name=kafka",
	}
	c := mustNew(t, Config{Properties: properties(append(base, passed...)...)})
	var got []string
	for _, p := range c.Ignored() {
		got = append(got, p.Key)
	}
	want := []string{
		"key.deserializer", "group.id", "auto.offset.reset", "acks", "topic.auto.offset.reset", "schema.registry.url",
		"basic.auth.user.info", "ssl.protocol", "sasl.kerberos.service.name",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("passed over: %v", got)
	}

	for _, tc := range []struct{ kv, want, hint string }{
		{"secruity.protocol=SSL", "east: secruity.protocol (-X): no Kafka client has a property of this name", "did you mean security.protocol"},
		{"sasl.usrname=x", "east: sasl.usrname (-X): no Kafka client has a property of this name", "did you mean sasl.username"},
		{"qwertz=x", "east: qwertz (-X): no Kafka client has a property of this name", "Java client names and librdkafka's are taken, for example security.protocol or sasl.username"},
		{"fetch.min.bytes=many", `east: fetch.min.bytes (-X): "many" is not a whole number`, ""},
		{"fetch.max.bytes=0", "east: fetch.max.bytes (-X): 0 is not between 1 and 2147483647", ""},
		{"isolation.level=serializable", `east: isolation.level (-X): "serializable" is none of read_committed, read_uncommitted`, ""},
		{"socket.keepalive.enable=yes", `east: socket.keepalive.enable (-X): "yes" is neither true nor false`, ""},
		{"security.protocol=TLS", `east: security.protocol (-X): "TLS" is none of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL`, ""},
		{"client.dns.lookup=resolve_canonical_bootstrap_servers_only", "east: client.dns.lookup (-X): only use_all_dns_ips is supported", ""},
		{"config.providers=file", "east: config.providers (-X): kcm has no configuration providers; write the value, or ${VAR} in the metadata file", ""},
		{"sasl.mechanism=PLAIN", "east: sasl.mechanism (-X): has no effect without security.protocol", "security.protocol=SASL_SSL, or SASL_PLAINTEXT where the brokers do not use TLS"},
		{"ssl.ca.location=x", "east: ssl.ca.location (-X): has no effect without security.protocol", "security.protocol=SSL, or SASL_SSL with SASL"},
	} {
		_, err := New(Config{Name: "east", Properties: properties("bootstrap.servers=h:1", tc.kv)})
		if err == nil || err.Error() != tc.want || fault.KindOf(err) != fault.Usage || fault.HintOf(err) != tc.hint {
			t.Errorf("%s: got %v (%s)", tc.kv, err, fault.HintOf(err))
		}
	}
}

// TestPropertyPrecedence: -X before properties before the file, synonyms
// included, and explicit fields before all of them.
func TestPropertyPrecedence(t *testing.T) {
	file := writeFile(t, "east.properties", "client.id=file\nfetch.wait.max.ms=1\nfetch.min.bytes=3\nbootstrap.servers=file:1\nretry.backoff.ms=7\n")
	cfg := Config{
		Name: "east", Dir: filepath.Dir(file), PropertiesFile: "east.properties",
		Properties: append(properties("client.id=x", "fetch.max.wait.ms=2"), properties("client.id=y", "retry.backoff.ms=9")...),
	}
	c := mustNew(t, cfg)
	got := c.Tuning()
	if got.ClientID != "x" || got.FetchMaxWait != 2*time.Millisecond || got.FetchMinBytes != 3 || got.RetryBackoff != 9*time.Millisecond {
		t.Errorf("got %+v", got)
	}
	if b := c.Bootstrap(); !reflect.DeepEqual(b, []string{"file:1"}) {
		t.Errorf("bootstrap %v", b)
	}
	cfg.Bootstrap = []string{"explicit:2"}
	if b := mustNew(t, cfg).Bootstrap(); !reflect.DeepEqual(b, []string{"explicit:2"}) {
		t.Errorf("bootstrap %v", b)
	}
	_, err := New(Config{Name: "east", PropertiesFile: "no-such.properties"})
	if err == nil || err.Error() != "east: propertiesFile: no-such.properties: no such file or directory" || fault.KindOf(err) != fault.Usage {
		t.Errorf("missing file: %v", err)
	}
	bad := writeFile(t, "bad.properties", "a.b=1\n")
	if _, err := New(Config{Name: "east", PropertiesFile: bad}); err == nil || !strings.HasPrefix(err.Error(), "east: a.b (bad.properties:1): ") {
		t.Errorf("bad key: %v", err)
	}
}

func TestTuning(t *testing.T) {
	c := mustNew(t, Config{Properties: properties(
		"metadata.broker.list=h:1", "client.rack=az-1", "fetch.max.bytes=1000", "fetch.message.max.bytes=2000", "fetch.min.bytes=0",
		"fetch.wait.max.ms=0", "fetch.error.backoff.ms=5", "reconnect.backoff.ms=6", "reconnect.backoff.max.ms=7", "retry.backoff.ms=8",
		"retry.backoff.max.ms=9", "socket.timeout.ms=10", "topic.metadata.refresh.interval.ms=-1", "isolation.level=read_committed",
		"socket.receive.buffer.bytes=65536", "send.buffer.bytes=-1", "connections.max.idle.ms=0", "receive.message.max.bytes=1048576",
		"broker.address.family=v4", "socket.connection.setup.timeout.ms=1500", "session.timeout.ms=6000", "heartbeat.interval.ms=2000",
		"socket.nagle.disable=false", "socket.keepalive.enable=false",
	)})
	ms := time.Millisecond
	want := Tuning{
		Rack: "az-1", ClientID: "kcm", FetchMaxBytes: 1000, FetchMaxPartitionSize: 2000, FetchMaxWaitSet: true, FetchErrorBackoff: 5 * ms,
		ReconnectBackoff: 6 * ms, ReconnectBackoffMax: 7 * ms, RetryBackoff: 8 * ms, RetryBackoffMax: 9 * ms, RequestTimeout: 100 * ms,
		MetadataMaxAge: time.Hour, MetadataMaxAgeSet: true, Isolation: "read_committed",
	}
	if got := c.Tuning(); got != want {
		t.Errorf("\n got %+v\nwant %+v", got, want)
	}
	if c.Rack() != "az-1" {
		t.Error(c.Rack())
	}
	wantWire := wire{
		setup: 1500 * ms, idle: 15 * time.Minute, readBuffer: 65536, writeBuffer: -1, network: "tcp4", maxRead: 1 << 20,
		session: 6 * time.Second, heartbeat: 2 * time.Second,
	}
	if got := c.dialer.wire; got != wantWire {
		t.Errorf("\n got %+v\nwant %+v", got, wantWire)
	}
	if _, err := New(Config{Name: "east", Properties: properties("bootstrap.servers=h:1", "session.timeout.ms=1000", "heartbeat.interval.ms=2000")}); fault.KindOf(err) != fault.Usage {
		t.Errorf("heartbeat above session: %v", err)
	}
	for _, role := range []Role{Control, Tail, Bulk, Group, Produce} {
		cl, err := c.Client(role)
		if err != nil {
			t.Fatal(role, err)
		}
		cl.Close()
	}
}

func TestBootstrap(t *testing.T) {
	got := mustNew(t, Config{Bootstrap: []string{"a:1, b", "[::1]:3", "SASL_SSL://c:4", "a:1"}}).Bootstrap()
	if want := []string{"a:1", "b:9092", "[::1]:3", "c:4"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v", got)
	}
	for in, want := range map[string]string{
		"a:b":         `east: bootstrap: "a:b": the port is a number up to 65535`,
		"a:0":         `east: bootstrap: "a:0": the port is a number up to 65535`,
		":9092":       `east: bootstrap: ":9092": the host is missing`,
		"::1":         `east: bootstrap: "::1": an address is HOST:PORT; an IPv6 address goes into [ ]`,
		"http://a:80": `east: bootstrap: "http://a:80": an address is HOST:PORT`,
		" , ":         "east: bootstrap: no address in it",
	} {
		if _, err := New(Config{Name: "east", Bootstrap: []string{in}}); err == nil || err.Error() != want || fault.KindOf(err) != fault.Usage {
			t.Errorf("%q: got %v", in, err)
		}
	}
	_, err := New(Config{Name: "east", Origin: "kcm.yaml:3"})
	if err == nil || err.Error() != "east: bootstrap (kcm.yaml:3): missing" {
		t.Errorf("none: %v", err)
	}
}

// TestNothingSecretShows: B35. Every way to print a description, a cluster, an
// error.
func TestNothingSecretShows(t *testing.T) {
	cfg := Config{
		Name: "east", Bootstrap: []string{"h:1"},
		TLS:  &TLS{Cert: store("client.pem"), Key: Secret(slurp(t, "key.pem") + "CANARY"), KeyPassword: "S3cr3t-CANARY-1"},
		SASL: &SASL{Mechanism: "PLAIN", Username: "u", Password: "S3cr3t-CANARY-2", Token: "S3cr3t-CANARY-3"},
		Properties: properties("sasl.password=S3cr3t-CANARY-4", `sasl.jaas.config=x.PlainLoginModule required password="S3cr3t-CANARY-5";`,
			"basic.auth.user.info=u:S3cr3t-CANARY-6"),
	}
	plain := cfg
	plain.SASL = &SASL{Mechanism: "PLAIN", Username: "u", Password: "S3cr3t-CANARY-2"}
	c := mustNew(t, plain)
	byToken := mustNew(t, Config{Bootstrap: cfg.Bootstrap, SASL: &SASL{Mechanism: "OAUTHBEARER", Token: cfg.SASL.Token}})
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		for _, x := range []any{cfg, &cfg, *cfg.TLS, *cfg.SASL, cfg.Properties, c, c.Ignored()} {
			if s := fmt.Sprintf(verb, x); strings.Contains(s, "CANARY") || strings.Contains(s, "PRIVATE KEY") || strings.Contains(s, "43414e415259") {
				t.Errorf("%s of %T shows %s", verb, x, s)
			}
		}
	}
	if b, err := json.Marshal(cfg); err != nil || strings.Contains(string(b), "CANARY") {
		t.Errorf("JSON: %s, %v", b, err)
	}
	for i := 1; i <= 6; i++ {
		secret := fmt.Sprintf("S3cr3t-CANARY-%d", i)
		of := c
		if i == 3 {
			of = byToken
		}
		err := of.Explain(fmt.Errorf("the library says %s", secret), "orders")
		if strings.Contains(err.Error(), "CANARY") {
			t.Errorf("error shows %s", err)
		}
	}
}
