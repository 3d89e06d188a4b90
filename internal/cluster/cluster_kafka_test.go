//go:build kafka

package cluster

import (
	"strings"
	"testing"
	"time"

	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/kafkatest"
)

func realCluster(t *testing.T) (*kafkatest.Cluster, func(l kafkatest.Listener, cfg Config) *Cluster) {
	t.Helper()
	k := kafkatest.Real(t, kafkatest.Options{}).Cluster("east")
	return k, func(l kafkatest.Listener, cfg Config) *Cluster {
		cfg.Bootstrap = []string{k.BootstrapFor(l)}
		return mustNew(t, cfg)
	}
}

// TestKafkaConnects: every listener with what it wants, by the client and by
// the probe.
func TestKafkaConnects(t *testing.T) {
	k, at := realCluster(t)
	certs := k.Certificates()
	trust := &TLS{CA: certs.CA}
	for name, c := range map[string]*Cluster{
		"plain":        at(kafkatest.Plaintext, Config{}),
		"PLAIN":        at(kafkatest.SASL, Config{SASL: &SASL{Mechanism: "PLAIN", Username: kafkatest.AppUser, Password: kafkatest.AppPassword}}),
		"SCRAM-256":    at(kafkatest.SASL, Config{SASL: &SASL{Mechanism: "SCRAM-SHA-256", Username: kafkatest.AppUser, Password: kafkatest.AppPassword}}),
		"SCRAM-512":    at(kafkatest.SASL, Config{SASL: &SASL{Mechanism: "SCRAM-SHA-512", Username: kafkatest.AppUser, Password: kafkatest.AppPassword}}),
		"TLS":          at(kafkatest.TLS, Config{TLS: trust}),
		"mutual TLS":   at(kafkatest.MTLS, Config{TLS: &TLS{CA: certs.CA, Cert: certs.ClientCert, Key: Secret(certs.ClientKey)}}),
		"SASL and TLS": at(kafkatest.SASLTLS, Config{TLS: trust, SASL: &SASL{Mechanism: "SCRAM-SHA-512", Username: kafkatest.AppUser, Password: kafkatest.AppPassword}}),
		"properties": at(kafkatest.SASLTLS, Config{Properties: properties("security.protocol=SASL_SSL", "ssl.truststore.type=PEM", "ssl.truststore.location="+certs.CA,
			"sasl.mechanism=SCRAM-SHA-256", `sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required username="app" password="app-secret";`)}),
	} {
		t.Run(name, func(t *testing.T) {
			info, err := c.Connect(t.Context())
			if err != nil || info.ClusterID != k.ID() || len(info.Brokers) != 1 || info.Brokers[0].Err != nil {
				t.Fatalf("%+v, %v", info, err)
			}
			probed, err := c.probe(t.Context(), c.bootstrap[0])
			if err != nil || probed.ClusterID != k.ID() {
				t.Errorf("probe: %+v, %v", probed, err)
			}
			brokers, err := c.Brokers(t.Context())
			if err != nil || len(brokers) != 1 || !strings.Contains(brokers[0].Version, "v4.") {
				t.Errorf("brokers: %+v, %v", brokers, err)
			}
		})
	}
}

// TestKafkaRefuses: what a real broker does when a listener and the settings do
// not fit.
func TestKafkaRefuses(t *testing.T) {
	k, at := realCluster(t)
	certs := k.Certificates()
	trust := &TLS{CA: certs.CA}
	wrong := &SASL{Mechanism: "SCRAM-SHA-512", Username: kafkatest.AppUser, Password: "S3cr3t-CANARY"}
	plain := &SASL{Mechanism: "PLAIN", Username: kafkatest.AppUser, Password: "S3cr3t-CANARY"}
	for name, tc := range map[string]struct {
		l    kafkatest.Listener
		cfg  Config
		kind fault.Kind
		want string
	}{
		"wrong password, SCRAM": {
			kafkatest.SASL,
			Config{SASL: wrong},
			fault.Auth,
			`east: X refuses the login of "app" with SCRAM-SHA-512: authentication failed during authentication due to invalid credentials with SASL mechanism SCRAM-SHA-512`,
		},
		"wrong password, PLAIN":      {kafkatest.SASL, Config{SASL: plain}, fault.Auth, `east: X refuses the login of "app" with PLAIN: authentication failed: Invalid username or password`},
		"wrong password, TLS":        {kafkatest.SASLTLS, Config{SASL: plain, TLS: trust}, fault.Auth, `east: X refuses the login of "app" with PLAIN: authentication failed: Invalid username or password`},
		"mechanism":                  {kafkatest.SASL, Config{SASL: &SASL{Mechanism: "OAUTHBEARER", Token: "t"}}, fault.Auth, "east: X does not offer SASL OAUTHBEARER, it offers PLAIN, SCRAM-SHA-256, SCRAM-SHA-512"},
		"no SASL":                    {kafkatest.SASL, Config{}, fault.Auth, "east: X requires SASL (PLAIN, SCRAM-SHA-256, SCRAM-SHA-512), but none is configured"},
		"no SASL, TLS":               {kafkatest.SASLTLS, Config{TLS: trust}, fault.Auth, "east: X requires SASL (PLAIN, SCRAM-SHA-256, SCRAM-SHA-512), but none is configured"},
		"SASL on plain":              {kafkatest.Plaintext, Config{SASL: plain}, fault.Auth, "east: X does not use SASL, but SASL PLAIN is configured"},
		"plain on TLS":               {kafkatest.TLS, Config{}, fault.Unreachable, "east: X looks like a TLS listener, but TLS is off"},
		"SASL on TLS":                {kafkatest.SASLTLS, Config{SASL: plain}, fault.Unreachable, "east: X looks like a TLS listener, but TLS is off"},
		"TLS on plain":               {kafkatest.Plaintext, Config{TLS: trust}, fault.Unreachable, "east: X speaks Kafka without TLS, but TLS is on"},
		"TLS on SASL":                {kafkatest.SASL, Config{TLS: trust, SASL: plain}, fault.Unreachable, "east: X speaks Kafka without TLS, but TLS is on"},
		"unknown authority":          {kafkatest.TLS, Config{TLS: &TLS{CA: newCA(t, "Other").pem}}, fault.Unreachable, "east: the certificate of X is signed by an authority that is not trusted, CN=kcm test authority"},
		"client certificate missing": {kafkatest.MTLS, Config{TLS: trust}, fault.Auth, "east: X requires a client certificate"},
		"another cluster":            {kafkatest.Plaintext, Config{ClusterID: "nope"}, fault.Refused, "east: the cluster at X has the id ID, not nope as the metadata says"},
	} {
		t.Run(name, func(t *testing.T) {
			c := at(tc.l, tc.cfg)
			begin := time.Now()
			_, err := c.Connect(t.Context())
			if took := time.Since(begin); took >= hang {
				t.Errorf("took %v", took)
			}
			want := strings.NewReplacer("X ", k.BootstrapFor(tc.l)+" ", "ID,", k.ID()+",").Replace(tc.want)
			if err == nil || err.Error() != want || fault.KindOf(err) != tc.kind {
				t.Errorf("got  %v\nwant %s", err, want)
			}
		})
	}
}

func TestKafkaLookUps(t *testing.T) {
	rig := kafkatest.Real(t, kafkatest.Options{})
	k := rig.Cluster("east")
	topic := rig.Name("orders")
	k.CreateTopic(topic, 2, map[string]string{"retention.ms": "-1"})
	k.Produce(topic, kafkatest.Record{Partition: 1, Value: []byte("a"), Time: 1000}, kafkatest.Record{Partition: 1, Value: []byte("b"), Time: 2000})
	c := mustNew(t, Config{Bootstrap: []string{k.Bootstrap()}})
	p0, p1 := TopicPartition{topic, 0}, TopicPartition{topic, 1}
	got, err := c.Offsets(t.Context(), []TopicPartition{p0, p1, {topic, 7}}, Start(), Stable(), End(), AtTime(1500), AtTime(5000), MaxTimestamp())
	if err != nil {
		t.Fatal(err)
	}
	for tp, want := range map[TopicPartition][]int64{p0: {0, 0, 0, -1, -1, -1}, p1: {0, 2, 2, 1, -1, 1}} {
		for i, o := range got[tp] {
			if o.Err != nil || o.Offset != want[i] {
				t.Errorf("%v point %d: %+v, want %d", tp, i, o, want[i])
			}
		}
	}
	if e := got[TopicPartition{topic, 7}][0].Err; e == nil || e.Error() != "east/"+topic+": no such topic or partition" {
		t.Errorf("partition 7: %v", e)
	}
	absent := rig.Name("absent")
	topics, err := c.Topics(t.Context(), topic, absent)
	if err != nil || topics[0].Err != nil || len(topics[0].Partitions) != 2 || topics[1].Err == nil {
		t.Errorf("%+v, %v", topics, err)
	}
	if k.HasTopic(absent) {
		t.Error("a look-up created a topic")
	}
	configs, err := c.TopicConfigs(t.Context(), topic)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, e := range configs[0].Entries {
		if e.Name == "retention.ms" {
			found = !e.Default && e.Value != nil && *e.Value == "-1"
		}
	}
	if !found {
		t.Errorf("retention.ms: %+v", configs[0])
	}
}

// TestKafkaOneBrokerDown: the partitions of the dead broker are marked, the
// others answered, in a few seconds.
func TestKafkaOneBrokerDown(t *testing.T) {
	k := kafkatest.Real(t, kafkatest.Options{}).Start("dying", kafkatest.Options{Brokers: 3})
	k.CreateTopic("orders", 6, map[string]string{})
	c := mustNew(t, Config{Name: "dying", Bootstrap: strings.Split(k.Bootstrap(), ",")})
	if _, err := c.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	var of []TopicPartition
	for p := range int32(6) {
		of = append(of, TopicPartition{"orders", p})
	}
	k.Kill9(3)
	begin := time.Now()
	got, err := c.Offsets(t.Context(), of, Start(), End())
	if took := time.Since(begin); err != nil || took > hang {
		t.Fatalf("%v after %v", err, took)
	}
	for tp, os := range got {
		for _, o := range os {
			dead := o.Err != nil && strings.HasPrefix(o.Err.Error(), "dying: broker 3 (127.0.0.1:") && strings.HasSuffix(o.Err.Error(), ") refuses the connection")
			if (o.Err == nil) != (o.Offset == 0) || o.Err != nil && !dead {
				t.Errorf("%v: %+v", tp, o)
			}
		}
	}
	brokers, err := c.Brokers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range brokers {
		if b.ID == 3 && b.Err == nil || b.ID != 3 && b.Err != nil {
			t.Errorf("%+v", b)
		}
	}
}
