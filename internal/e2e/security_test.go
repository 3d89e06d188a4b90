//go:build kafka

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/kcm-cli/kcm/internal/kafkatest"
)

// access is one way to be let in, in the three forms that it can be told.
type access struct {
	listener   kafkatest.Listener
	mechanism  string // empty without SASL
	yaml       string // of the cluster in the metadata
	properties []string
}

// accesses are all ways, with the right password.
func accesses(c *kafkatest.Cluster, user, password string) map[string]access {
	certs := c.Certificates()
	all := map[string]access{}
	for _, m := range []string{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"} {
		login := "org.apache.kafka.common.security.scram.ScramLoginModule"
		if m == "PLAIN" {
			login = "org.apache.kafka.common.security.plain.PlainLoginModule"
		}
		jaas := fmt.Sprintf("sasl.jaas.config=%s required username=%q password=%q;", login, user, password)
		yaml := fmt.Sprintf("sasl: {mechanism: %s, username: %s, password: %s}", m, user, password)
		all[m] = access{kafkatest.SASL, m, yaml, []string{"security.protocol=SASL_PLAINTEXT", "sasl.mechanism=" + m, jaas}}
		all[m+" over TLS"] = access{
			kafkatest.SASLTLS, m, yaml + fmt.Sprintf(", tls: {ca: %q}", certs.CA),
			[]string{"security.protocol=SASL_SSL", "sasl.mechanism=" + m, jaas, "ssl.truststore.type=PEM", "ssl.truststore.location=" + certs.CA},
		}
	}
	all["TLS"] = access{
		kafkatest.TLS, "", fmt.Sprintf("tls: {ca: %q}", certs.CA),
		[]string{"security.protocol=SSL", "ssl.truststore.type=PEM", "ssl.truststore.location=" + certs.CA},
	}
	all["mutual TLS"] = access{
		kafkatest.MTLS, "", fmt.Sprintf("tls: {ca: %q, cert: %q, key: %q}", certs.CA, certs.ClientCert, certs.ClientKey),
		// librdkafka's words
		[]string{"security.protocol=SSL", "ssl.ca.location=" + certs.CA, "ssl.certificate.location=" + certs.ClientCert, "ssl.key.location=" + certs.ClientKey},
	}
	return all
}

// secured writes a metadata file with one cluster, east, and the stream orders.
func secured(t *testing.T, bootstrap, members string, topics ...string) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "clusters:\n  east: {bootstrap: %q", bootstrap)
	if members != "" {
		b.WriteString(", " + members)
	}
	b.WriteString("}\nstreams:\n")
	for i, topic := range topics {
		fmt.Fprintf(&b, "  s%d: {sources: [{cluster: east, topics: [%q]}]}\n", i, topic)
	}
	return file(t, "kcm.yaml", b.String())
}

// forms are the arguments that select the cluster east with an access, in every
// form.
func (a access) forms(t *testing.T, c *kafkatest.Cluster, topics ...string) map[string][]string {
	t.Helper()
	at := c.BootstrapFor(a.listener)
	flags := []string{"-b", "east=" + at}
	for _, p := range a.properties {
		flags = append(flags, "-X", p)
	}
	java := file(t, "client.properties", "# a Java client's\ngroup.id=x\n"+strings.Join(a.properties, "\n")+"\n")
	return map[string][]string{
		"metadata":        {"-m", secured(t, at, a.yaml, topics...)},
		"properties file": {"-m", secured(t, at, fmt.Sprintf("propertiesFile: %q", java), topics...)},
		"-X":              flags,
	}
}

func TestEveryListenerLetsIn(t *testing.T) {
	rig := kafkatest.Real(t, kafkatest.Options{})
	c, topic := rig.Cluster("east"), rig.Name("orders")
	c.CreateTopic(topic, 2, nil)
	c.Produce(topic, numbered(c, 1, 0, 100)...)
	for name, a := range accesses(c, kafkatest.AppUser, kafkatest.AppPassword) {
		for form, args := range a.forms(t, c, topic) {
			r := run(t, append(args, "consume", "east/"+topic, "-e", "-J"))
			r.exits(t, 0)
			if len(r.stderr) > 0 {
				t.Errorf("%s, %s: %q", name, form, r.stderr)
			}
			equal(t, name+", "+form, values(t, r.stdout), counted(c, 1, 100))
		}
		r := run(t, append(a.forms(t, c, topic)["metadata"], "describe", "cluster", "east"))
		r.exits(t, 0)
	}
}

// TestAWrongPassword is one sentence and exit code 4, with every mechanism.
func TestAWrongPassword(t *testing.T) {
	beside(t)
	rig := kafkatest.Real(t, kafkatest.Options{})
	c, topic := rig.Cluster("east"), rig.Name("orders")
	c.CreateTopic(topic, 1, nil)
	for name, a := range accesses(c, kafkatest.AppUser, "not-the-password") {
		if a.mechanism == "" {
			continue
		}
		args := a.forms(t, c, topic)["metadata"]
		for _, command := range [][]string{{"consume", "s0", "-e"}, {"consume", "s0"}, {"describe", "s0"}} {
			r := run(t, append(args, command...))
			r.exits(t, 4)
			r.says(t, 1, "kcm: east: ", `refuses the login of "app" with `+a.mechanism)
			tidy(t, r)
			if r.took > 5*time.Second+ease {
				t.Errorf("%s, %v took %v", name, command, r.took)
			}
			if text := strings.Join(append(r.stderr, r.stdout...), "\n"); strings.Contains(text, "not-the-password") {
				t.Errorf("%s, %v: the password is shown:\n%s", name, command, text)
			}
		}
	}
}

// TestListenersMetTheWrongWay are told from each other within five seconds.
func TestListenersMetTheWrongWay(t *testing.T) {
	beside(t)
	rig := kafkatest.Real(t, kafkatest.Options{})
	c, topic := rig.Cluster("east"), rig.Name("orders")
	c.CreateTopic(topic, 1, nil)
	ca := fmt.Sprintf("tls: {ca: %q}", c.Certificates().CA)
	sasl := "sasl: {mechanism: SCRAM-SHA-512, username: app, password: app-secret}"
	for name, tc := range map[string]struct {
		listener kafkatest.Listener
		members  string
		code     int
		says     string
		hint     string
	}{
		"TLS on a plain port":            {kafkatest.Plaintext, ca, 5, "speaks Kafka without TLS, but TLS is on", "take out tls"},
		"plain on a TLS port":            {kafkatest.TLS, "", 5, "looks like a TLS listener, but TLS is off", "tls: {}"},
		"SASL without TLS on a TLS port": {kafkatest.SASLTLS, sasl, 5, "looks like a TLS listener, but TLS is off", "SASL_SSL"},
		"no client certificate":          {kafkatest.MTLS, ca, 4, "requires a client certificate", "tls.cert"},
		"an unknown authority":           {kafkatest.TLS, "tls: {}", 5, "is signed by", "tls.ca"},
		"no login":                       {kafkatest.SASL, "", 4, "requires SASL", "sasl"},
		"a login not wanted":             {kafkatest.Plaintext, sasl, 4, "does not use SASL", "take out sasl"},
	} {
		t.Run(name, func(t *testing.T) {
			meta := secured(t, c.BootstrapFor(tc.listener), tc.members, topic)
			k := start(t, []string{"-m", meta, "consume", "s0", "-e", "--give-up", "2s"})
			d := start(t, []string{"-m", meta, "describe", "s0"})
			f := start(t, []string{"-m", meta, "consume", "s0", "--give-up", "2s"})
			for _, k := range []*kcm{k, d, f} {
				if at := k.told(10*time.Second, "east: ", tc.says); at > 5*time.Second+ease {
					t.Errorf("told after %v", at)
				}
				r := k.end(patience)
				r.exits(t, tc.code)
				r.says(t, 1, "east: ", tc.says)
				r.says(t, 1, "kcm: hint: ", tc.hint)
				r.below(t, 60)
			}
		})
	}
}

// TestATopicThatMayNotBeRead alone is exit code 4, beside another one 3.
func TestATopicThatMayNotBeRead(t *testing.T) {
	rig := kafkatest.Real(t, kafkatest.Options{})
	c := rig.Cluster("east")
	open, shut, hidden := rig.Name("open"), rig.Name("shut"), rig.Name("hidden")
	for _, topic := range []string{open, shut, hidden} {
		c.CreateTopic(topic, 3, nil)
		c.Produce(topic, numbered(c, 0, 0, 10)...)
	}
	principal := "User:" + kafkatest.AppUser
	c.CreateACLs(kadm.NewACLs().Deny(principal).Topics(shut).Operations(kadm.OpRead).ResourcePatternType(kadm.ACLPatternLiteral))
	c.CreateACLs(kadm.NewACLs().Allow(principal).Topics(shut).Operations(kadm.OpDescribe, kadm.OpDescribeConfigs).ResourcePatternType(kadm.ACLPatternLiteral))
	c.CreateACLs(kadm.NewACLs().Deny(principal).Topics(hidden).Operations(kadm.OpDescribe, kadm.OpRead).ResourcePatternType(kadm.ACLPatternLiteral))
	a := accesses(c, kafkatest.AppUser, kafkatest.AppPassword)["SCRAM-SHA-512"]
	args := a.forms(t, c, open, shut, hidden)["metadata"]

	for stream, topic := range map[string]string{"s1": shut, "s2": hidden} {
		for _, flags := range [][]string{{"-e"}, nil, {"-e", "--read-committed"}} {
			r := run(t, append(append(args, "consume", stream, "-J", "-o", "start"), flags...))
			r.exits(t, 4)
			r.says(t, 1, "kcm: east/"+topic+": not authorized to read")
			tidy(t, r)
			equal(t, stream, r.stdout, nil)
			if r.took > 5*time.Second+ease {
				t.Errorf("%s %v took %v", stream, flags, r.took)
			}
		}
		r := run(t, append(args, "consume", "s0", stream, "-J", "-e"))
		r.exits(t, 3)
		r.says(t, 1, "kcm: east/"+topic+": not authorized to read")
		equal(t, "beside "+stream, values(t, r.stdout), counted(c, 0, 10))
		tidy(t, r)
	}
	// A follow tells it and goes on with what it may read.
	k := start(t, append(args, "consume", "s0", "s1", "s2", "-J", "-o", "start"))
	k.gets(10*time.Second, 10)
	k.told(5*time.Second, shut, "not authorized")
	k.told(5*time.Second, hidden, "not authorized")
	c.Produce(open, numbered(c, 0, 10, 10)...)
	k.gets(5*time.Second, 20)
	r := k.stop()
	r.exits(t, 0)
	equal(t, "follow", values(t, r.stdout), counted(c, 0, 20))

	for _, tc := range []struct {
		code int
		args []string
		says string
	}{
		{0, []string{"describe", "s0"}, ""},
		{0, []string{"describe", "s1"}, ""},
		{4, []string{"describe", "s2"}, hidden + ": not authorized"},
		{4, []string{"describe", "topic", "east/" + hidden}, hidden + ": not authorized"},
		{3, []string{"describe", "streams"}, hidden + ": not authorized"},
	} {
		r := run(t, append(args, tc.args...))
		r.exits(t, tc.code)
		if tc.says != "" {
			r.says(t, 1, tc.says)
			if !strings.Contains(strings.Join(r.stdout, "\n"), "not authorized") {
				t.Errorf("%v does not show it:\n%s", tc.args, strings.Join(r.stdout, "\n"))
			}
		}
	}
}
