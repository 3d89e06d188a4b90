package kafkatest

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// listeners are those of a real broker, in a fixed order, with Kafka's name of
// the protocol.
func listeners() []struct {
	name     Listener
	protocol string
} {
	return []struct {
		name     Listener
		protocol string
	}{
		{Plaintext, "PLAINTEXT"}, {SASL, "SASL_PLAINTEXT"}, {TLS, "SSL"}, {MTLS, "SSL"}, {SASLTLS, "SASL_SSL"}, {controller, "PLAINTEXT"},
	}
}

const controller Listener = "CONTROLLER"

// placement is where one broker of a cluster stands.
type placement struct {
	node     int32
	brokers  int
	dir      string
	ports    map[Listener]int
	voters   []string // id@host:port of every controller
	keystore string   // certificate and key in one PEM file
	ca       string
}

// serverProperties is the broker's server.properties. It keeps Kafka's defaults
// except where one broker, a small machine or a quick test needs others.
func serverProperties(p placement, further map[string]string) []byte {
	var bind, advertise, protocols []string
	for _, l := range listeners() {
		at := fmt.Sprintf("%s://127.0.0.1:%d", l.name, p.ports[l.name])
		bind = append(bind, at)
		if l.name != controller {
			advertise = append(advertise, at)
		}
		protocols = append(protocols, string(l.name)+":"+l.protocol)
	}
	replicas := fmt.Sprint(min(3, p.brokers))
	props := map[string]string{
		"process.roles": "broker,controller", "node.id": fmt.Sprint(p.node), "broker.rack": fmt.Sprintf("rack-%d", p.node),
		"controller.quorum.voters": strings.Join(p.voters, ","), "controller.listener.names": string(controller),
		"listeners": strings.Join(bind, ","), "advertised.listeners": strings.Join(advertise, ","),
		"listener.security.protocol.map": strings.Join(protocols, ","), "inter.broker.listener.name": string(Plaintext),
		"log.dirs": p.dir + "/data", "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",

		"ssl.keystore.type": "PEM", "ssl.keystore.location": p.keystore, "ssl.truststore.type": "PEM", "ssl.truststore.location": p.ca,
		"listener.name.mtls.ssl.client.auth": "required",
		"sasl.enabled.mechanisms":            "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",

		"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
		"super.users":           "User:ANONYMOUS;User:" + AdminUser, "allow.everyone.if.no.acl.found": "true",

		"offsets.topic.replication.factor": replicas, "offsets.topic.num.partitions": "5",
		"transaction.state.log.replication.factor": replicas, "transaction.state.log.min.isr": "1", "transaction.state.log.num.partitions": "5",
		"share.coordinator.state.topic.replication.factor": replicas, "share.coordinator.state.topic.min.isr": "1",
		"group.initial.rebalance.delay.ms": "0",

		"message.max.bytes": fmt.Sprint(maxMessageBytes), "replica.fetch.max.bytes": fmt.Sprint(maxMessageBytes),
		// Any timestamp must be writable, not only those up to an hour from now.
		"log.message.timestamp.after.max.ms": "9223372036854775807",
		"auto.leader.rebalance.enable":       "false",
		// A killed broker may come back, and another lead, only after its session.
		"broker.session.timeout.ms": "5000", "broker.heartbeat.interval.ms": "1000",
		"log.cleaner.dedupe.buffer.size": "16777216", "log.cleaner.backoff.ms": "500",
		// A record's time must not make it vanish; a topic with a retention.ms of
		// its own is cleaned within a second.
		"log.retention.ms": "-1", "log.retention.check.interval.ms": "1000", "log.initial.task.delay.ms": "500",
		"transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
	}
	for _, l := range []Listener{SASL, SASLTLS} {
		prefix := "listener.name." + strings.ToLower(string(l)) + "."
		props[prefix+"plain.sasl.jaas.config"] = fmt.Sprintf(
			"org.apache.kafka.common.security.plain.PlainLoginModule required user_%s=\"%s\" user_%s=\"%s\";",
			AdminUser, AdminPassword, AppUser, AppPassword)
		for _, mechanism := range []string{"scram-sha-256", "scram-sha-512"} {
			props[prefix+mechanism+".sasl.jaas.config"] = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
		}
	}
	maps.Copy(props, further)
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(props)) {
		b.WriteString(k + "=" + props[k] + "\n")
	}
	return []byte(b.String())
}

const log4j = `status=error
rootLogger.level=info
rootLogger.appenderRef.console.ref=CONSOLE
appender.console.type=Console
appender.console.name=CONSOLE
appender.console.layout.type=PatternLayout
appender.console.layout.pattern=[%d] %p %m (%c)%n
`

func base64URL(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
