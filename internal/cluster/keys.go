package cluster

import "strings"

// keyDoc says what one property does here. The first name is the one that the
// code asks for, the others are its synonyms in other clients.
type keyDoc struct {
	names []string
	does  string
}

// takenKeys are the properties that take effect. docs/clusters.md shows this
// table; a test holds the two together.
var takenKeys = []keyDoc{
	{[]string{"bootstrap.servers", "metadata.broker.list"}, "the addresses to dial first"},
	{[]string{"client.id"}, "the name that brokers see; default `kcm`"},
	{[]string{"client.rack"}, "fetch from a replica of this rack (KIP-392)"},
	{[]string{"client.dns.lookup"}, "`use_all_dns_ips` (always so); any other value is refused"},
	{[]string{"security.protocol"}, "`PLAINTEXT`, `SSL`, `SASL_PLAINTEXT` or `SASL_SSL`"},
	{[]string{"enable.metrics.push"}, "`true` sends client metrics to the brokers (KIP-714); default off"},

	{[]string{"ssl.truststore.location"}, "JKS, PKCS12 or PEM file of trusted certificates, told apart by content"},
	{[]string{"ssl.truststore.password"}, "password of that store"},
	{[]string{"ssl.truststore.type"}, "checked to be `JKS`, `PKCS12` or `PEM`"},
	{[]string{"ssl.truststore.certificates", "ssl.ca.pem"}, "trusted certificates as PEM text"},
	{[]string{"ssl.ca.location"}, "PEM file, or a directory of them; `probe` = system roots"},
	{[]string{"ssl.keystore.location"}, "JKS, PKCS12 or PEM file with key and certificates"},
	{[]string{"ssl.keystore.password"}, "password of that store"},
	{[]string{"ssl.keystore.type"}, "checked to be `JKS`, `PKCS12` or `PEM`"},
	{[]string{"ssl.keystore.certificate.chain", "ssl.certificate.pem"}, "client certificate chain as PEM text"},
	{[]string{"ssl.keystore.key", "ssl.key.pem"}, "private key as PEM text"},
	{[]string{"ssl.certificate.location"}, "PEM file with the client certificate chain"},
	{[]string{"ssl.key.location"}, "PEM file with the private key"},
	{[]string{"ssl.key.password"}, "passphrase of the private key"},
	{[]string{"ssl.endpoint.identification.algorithm"}, "empty or `none`: the certificate's host name is not checked, its chain is"},
	{[]string{"enable.ssl.certificate.verification"}, "`false`: believe any certificate"},
	{[]string{"ssl.protocol"}, "`TLSv1.2` goes no higher; `TLS` and `TLSv1.3` set no limit"},
	{[]string{"ssl.enabled.protocols"}, "the TLS versions to offer"},
	{[]string{"ssl.cipher.suites"}, "the cipher suites to accept, IANA's or OpenSSL's names"},

	{[]string{"sasl.mechanism", "sasl.mechanisms"}, "`PLAIN`, `SCRAM-SHA-256`, `SCRAM-SHA-512`, `OAUTHBEARER`, `GSSAPI` or `AWS_MSK_IAM`"},
	{[]string{"sasl.jaas.config"}, "the login modules Plain, Scram, OAuthBearer, Krb5 and IAM"},
	{[]string{"sasl.username"}, "user"},
	{[]string{"sasl.password"}, "password"},
	{[]string{"sasl.client.callback.handler.class"}, "the IAM handler; any other class is refused"},
	{[]string{"sasl.login.callback.handler.class"}, "Kafka's and Strimzi's OAuth handlers; any other class is refused"},
	{[]string{"sasl.login.connect.timeout.ms"}, "connecting to the token endpoint"},
	{[]string{"sasl.login.read.timeout.ms"}, "waiting for the token endpoint"},
	{[]string{"sasl.oauthbearer.token.endpoint.url"}, "where tokens come from; `file:///path` is read again for each authentication"},
	{[]string{"sasl.oauthbearer.client.credentials.client.id", "sasl.oauthbearer.client.id"}, "client id for the endpoint"},
	{[]string{"sasl.oauthbearer.client.credentials.client.secret", "sasl.oauthbearer.client.secret"}, "client secret for the endpoint"},
	{[]string{"sasl.oauthbearer.scope"}, "scope to ask for"},
	{[]string{"sasl.oauthbearer.extensions"}, "SASL extensions, `a=b,c=d`"},
	{[]string{"sasl.oauthbearer.header.urlencode"}, "URL-encode id and secret before they are sent"},
	{[]string{"sasl.oauthbearer.method"}, "`oidc` or `default`"},
	{[]string{"sasl.oauthbearer.grant.type"}, "`client_credentials`; any other is refused"},
	{[]string{"sasl.oauthbearer.jwt.retriever.class"}, "Kafka's client-credentials and file retrievers; any other is refused"},
	{[]string{"sasl.oauthbearer.metadata.authentication.type"}, "`none`; any other is refused"},
	{[]string{"enable.sasl.oauthbearer.unsecure.jwt"}, "unsigned tokens, for tests"},
	{[]string{"sasl.oauthbearer.config"}, "`principal=NAME` of unsigned tokens"},
	{[]string{"https.ca.location"}, "PEM file for the token endpoint's certificate"},
	{[]string{"https.ca.pem"}, "the same as PEM text"},
	{[]string{"sasl.kerberos.service.name"}, "first part of the brokers' principal; default `kafka`"},
	{[]string{"sasl.kerberos.principal"}, "own principal"},
	{[]string{"sasl.kerberos.keytab"}, "key table file"},

	{[]string{"fetch.max.bytes"}, "upper bound of one fetch answer"},
	{[]string{"max.partition.fetch.bytes", "fetch.message.max.bytes"}, "upper bound for one partition in it"},
	{[]string{"fetch.min.bytes"}, "what a broker waits for at the end of a log"},
	{[]string{"fetch.max.wait.ms", "fetch.wait.max.ms"}, "how long it waits for that"},
	{[]string{"fetch.error.backoff.ms"}, "pause after a failed fetch"},
	{[]string{"isolation.level"}, "`read_committed` or `read_uncommitted`, unless the command says"},

	{[]string{"request.timeout.ms", "socket.timeout.ms"}, "how long a request that is not a fetch may take; 100 ms to 15 min"},
	{[]string{"metadata.max.age.ms", "topic.metadata.refresh.interval.ms"}, "age at which metadata is asked again; at most 1 h"},
	{[]string{"connections.max.idle.ms"}, "close a connection that is idle so long; 100 ms to 15 min, which 0 and -1 stand for"},
	{[]string{"socket.connection.setup.timeout.ms"}, "connecting to a broker, TLS included"},
	{[]string{"reconnect.backoff.ms"}, "pause before the next attempt to connect"},
	{[]string{"reconnect.backoff.max.ms"}, "up to which it grows"},
	{[]string{"retry.backoff.ms"}, "pause before a request is repeated"},
	{[]string{"retry.backoff.max.ms"}, "up to which it grows"},
	{[]string{"receive.buffer.bytes", "socket.receive.buffer.bytes"}, "socket buffer; 0 and -1 leave it to the system"},
	{[]string{"send.buffer.bytes", "socket.send.buffer.bytes"}, "socket buffer; 0 and -1 leave it to the system"},
	{[]string{"receive.message.max.bytes"}, "largest answer that is read; default 256 MiB"},
	{[]string{"socket.keepalive.enable"}, "TCP keep-alive; default on"},
	{[]string{"socket.nagle.disable"}, "`false` sets Nagle's algorithm; default `true`"},
	{[]string{"broker.address.family"}, "`any`, `v4` or `v6`"},

	{[]string{"session.timeout.ms"}, "with a consumer group: its session"},
	{[]string{"heartbeat.interval.ms"}, "with a consumer group: its heartbeats"},
	{[]string{"max.poll.interval.ms"}, "with a consumer group: its rebalance timeout"},
	{[]string{"group.instance.id"}, "with a consumer group: static membership"},
}

// refusedKeys would change what is read or whom one trusts and cannot be
// honored, so that passing them over would be wrong.
var refusedKeys = map[string]string{
	"config.providers":                                  "kcm has no configuration providers; write the value, or ${VAR} in the metadata file",
	"ssl.engine.factory.class":                          "kcm runs no Java classes",
	"ssl.engine.location":                               "OpenSSL engines are not supported",
	"ssl.engine.id":                                     "OpenSSL engines are not supported",
	"ssl.crl.location":                                  "revocation lists are not supported",
	"sasl.login.class":                                  "kcm runs no Java classes",
	"plugin.library.paths":                              "kcm loads no plug-ins",
	"sasl.oauthbearer.assertion.file":                   "the JWT bearer grant is not supported; use client credentials or a token file",
	"sasl.oauthbearer.assertion.private.key.file":       "the JWT bearer grant is not supported; use client credentials or a token file",
	"sasl.oauthbearer.assertion.private.key.pem":        "the JWT bearer grant is not supported; use client credentials or a token file",
	"sasl.oauthbearer.assertion.template.file":          "the JWT bearer grant is not supported; use client credentials or a token file",
	"sasl.oauthbearer.assertion.jwt.template.file":      "the JWT bearer grant is not supported; use client credentials or a token file",
	"sasl.oauthbearer.assertion.private.key.passphrase": "the JWT bearer grant is not supported; use client credentials or a token file",
}

// passedOver are the names of properties of Apache Kafka's clients (4.3 and
// older ones) and of librdkafka (2.x) that mean nothing to a tool that reads,
// or whose effect kcm has always.
const passedOver = `
acks allow.auto.create.topics api.version.fallback.ms api.version.request
api.version.request.timeout.ms auto.commit.enable auto.commit.interval.ms
auto.include.jmx.reporter auto.offset.reset background_event_cb
batch.num.messages batch.size bootstrap.controllers broker.address.ttl
broker.version.fallback buffer.memory builtin.features check.crcs
client.software.name client.software.version closesocket_cb
compression.codec compression.gzip.level compression.level
compression.lz4.level compression.type compression.zstd.level connect_cb
consume.callback.max.messages consume_cb coordinator.query.interval.ms debug
default.api.timeout.ms default_topic_conf delivery.report.only.error
delivery.timeout.ms dr_cb dr_msg_cb enable.auto.commit
enable.auto.offset.store enable.gapless.guarantee enable.idempotence
enable.partition.eof enable.random.seed enabled_events error_cb
exclude.internal.topics fetch.queue.backoff.ms group.id group.protocol
group.protocol.type group.remote.assignor interceptor.classes interceptors
internal.auto.downgrade.txn.commit internal.leave.group.on.close
internal.termination.signal internal.throw.on.fetch.stable.offset.unsupported
key.deserializer key.serializer linger.ms log.connection.close log.queue
log.thread.name log_cb log_level max.block.ms max.in.flight
max.in.flight.requests.per.connection max.poll.records max.request.size
message.copy.max.bytes message.max.bytes message.send.max.retries
message.timeout.ms metadata.max.idle.ms metadata.recovery.rebootstrap.trigger.ms
metadata.recovery.strategy metric.reporters metrics.num.samples
metrics.recording.level metrics.sample.window.ms msg_order_cmp
oauthbearer_token_refresh_cb offset.store.method offset.store.path
offset.store.sync.interval.ms offset_commit_cb opaque open_cb
partition.assignment.strategy partitioner
partitioner.adaptive.partitioning.enable
partitioner.availability.timeout.ms partitioner.class partitioner.ignore.keys
partitioner_cb produce.offset.report
queue.buffering.backpressure.threshold queue.buffering.max.kbytes
queue.buffering.max.messages queue.buffering.max.ms
queued.max.messages.kbytes queued.min.messages queuing.strategy rebalance_cb
reconnect.backoff.jitter.ms request.required.acks resolve_cb retries
sasl.kerberos.kinit.cmd sasl.kerberos.min.time.before.relogin
sasl.kerberos.ticket.renew.jitter sasl.kerberos.ticket.renew.window.factor
sasl.login.refresh.buffer.seconds sasl.login.refresh.min.period.seconds
sasl.login.refresh.window.factor sasl.login.refresh.window.jitter
sasl.login.retry.backoff.max.ms sasl.login.retry.backoff.ms
sasl.oauthbearer.assertion.algorithm sasl.oauthbearer.assertion.claim.aud
sasl.oauthbearer.assertion.claim.exp.seconds
sasl.oauthbearer.assertion.claim.iss
sasl.oauthbearer.assertion.claim.jti.include
sasl.oauthbearer.assertion.claim.nbf.seconds
sasl.oauthbearer.assertion.claim.sub sasl.oauthbearer.clock.skew.seconds
sasl.oauthbearer.expected.audience sasl.oauthbearer.expected.issuer
sasl.oauthbearer.jwks.endpoint.refresh.ms
sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms
sasl.oauthbearer.jwks.endpoint.retry.backoff.ms
sasl.oauthbearer.jwks.endpoint.url sasl.oauthbearer.jwt.validator.class
sasl.oauthbearer.scope.claim.name sasl.oauthbearer.sub.claim.name
security.providers share.acknowledgement.mode share.acquire.mode
socket.blocking.max.ms socket.connection.setup.timeout.max.ms
socket.max.fails socket_cb ssl.ca.certificate.stores
ssl.certificate.verify_cb ssl.curves.list ssl.keymanager.algorithm
ssl.provider ssl.providers ssl.secure.random.implementation ssl.sigalgs.list
ssl.trustmanager.algorithm ssl_ca ssl_certificate ssl_engine_callback_data
ssl_key statistics.interval.ms stats_cb sticky.partitioning.linger.ms
throttle_cb topic.blacklist topic.metadata.propagation.max.ms
topic.metadata.refresh.fast.cnt topic.metadata.refresh.fast.interval.ms
topic.metadata.refresh.sparse transaction.timeout.ms
transaction.two.phase.commit.enable transactional.id value.deserializer
value.serializer
auto.register.schemas use.latest.version specific.avro.reader
normalize.schemas latest.compatibility.strict avro.use.logical.type.converters
value.subject.name.strategy key.subject.name.strategy
`

// passedOverPrefixes are name spaces of serializers, metrics and vendors that
// share a properties file with a client.
var passedOverPrefixes = []string{
	"schema.registry.", "basic.auth.", "bearer.auth.", "metrics.context.", "confluent.", "json.", "avro.",
}

// keyTable is what a property's name is looked up in.
type keyTable struct {
	canonical map[string]string // taken names, synonyms included
	passed    map[string]bool
	all       []string // every known name, for "did you mean"
}

func newKeyTable() *keyTable {
	t := &keyTable{canonical: map[string]string{}, passed: map[string]bool{}}
	for _, k := range takenKeys {
		for _, n := range k.names {
			t.canonical[n] = k.names[0]
			t.all = append(t.all, n)
		}
	}
	for _, n := range strings.Fields(passedOver) {
		t.passed[n] = true
		t.all = append(t.all, n)
	}
	return t
}

// passes reports whether name is known and means nothing here.
func (t *keyTable) passes(name string) bool {
	if t.passed[name] {
		return true
	}
	for _, p := range passedOverPrefixes {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	// kcat's way to write librdkafka's topic properties.
	rest, ok := strings.CutPrefix(name, "topic.")
	return ok && (t.passed[rest] || t.canonical[rest] != "")
}
