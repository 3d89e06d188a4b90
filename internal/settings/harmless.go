package settings

import "strings"

// harmless are the properties of Kafka's clients whose values may be shown: all
// that hold no secret. Whatever is not in this list is masked, for it may be the
// misspelt name of a password.
const harmless = `
acks allow.auto.create.topics api.version.fallback.ms api.version.request api.version.request.timeout.ms
auto.commit.enable auto.commit.interval.ms auto.include.jmx.reporter auto.offset.reset auto.register.schemas
avro.use.logical.type.converters background_event_cb batch.num.messages batch.size bootstrap.controllers
bootstrap.servers broker.address.family broker.address.ttl broker.version.fallback buffer.memory
builtin.features check.crcs client.dns.lookup client.id client.rack client.software.name
client.software.version closesocket_cb compression.codec compression.gzip.level compression.level
compression.lz4.level compression.type compression.zstd.level connect_cb connections.max.idle.ms
consume.callback.max.messages consume_cb coordinator.query.interval.ms debug default.api.timeout.ms
default_topic_conf delivery.report.only.error delivery.timeout.ms dr_cb dr_msg_cb enable.auto.commit
enable.auto.offset.store enable.gapless.guarantee enable.idempotence enable.metrics.push enable.partition.eof
enable.random.seed enable.sasl.oauthbearer.unsecure.jwt enable.ssl.certificate.verification enabled_events
error_cb exclude.internal.topics fetch.error.backoff.ms fetch.max.bytes fetch.max.wait.ms
fetch.message.max.bytes fetch.min.bytes fetch.queue.backoff.ms fetch.wait.max.ms group.id group.instance.id
group.protocol group.protocol.type group.remote.assignor heartbeat.interval.ms https.ca.location
interceptor.classes interceptors internal.auto.downgrade.txn.commit internal.leave.group.on.close
internal.termination.signal internal.throw.on.fetch.stable.offset.unsupported isolation.level key.deserializer
key.serializer key.subject.name.strategy latest.compatibility.strict linger.ms log.connection.close log.queue
log.thread.name log_cb log_level max.block.ms max.in.flight max.in.flight.requests.per.connection
max.partition.fetch.bytes max.poll.interval.ms max.poll.records max.request.size message.copy.max.bytes
message.max.bytes message.send.max.retries message.timeout.ms metadata.broker.list metadata.max.age.ms
metadata.max.idle.ms metadata.recovery.rebootstrap.trigger.ms metadata.recovery.strategy metric.reporters
metrics.num.samples metrics.recording.level metrics.sample.window.ms msg_order_cmp normalize.schemas
oauthbearer_token_refresh_cb offset.store.method offset.store.path offset.store.sync.interval.ms
offset_commit_cb opaque open_cb partition.assignment.strategy partitioner
partitioner.adaptive.partitioning.enable partitioner.availability.timeout.ms partitioner.class
partitioner.ignore.keys partitioner_cb plugin.library.paths produce.offset.report
queue.buffering.backpressure.threshold queue.buffering.max.kbytes queue.buffering.max.messages
queue.buffering.max.ms queued.max.messages.kbytes queued.min.messages queuing.strategy rebalance_cb
receive.buffer.bytes receive.message.max.bytes reconnect.backoff.jitter.ms reconnect.backoff.max.ms
reconnect.backoff.ms request.required.acks request.timeout.ms resolve_cb retries retry.backoff.max.ms
retry.backoff.ms sasl.client.callback.handler.class sasl.kerberos.keytab sasl.kerberos.min.time.before.relogin
sasl.kerberos.principal sasl.kerberos.service.name sasl.kerberos.ticket.renew.jitter
sasl.kerberos.ticket.renew.window.factor sasl.login.callback.handler.class sasl.login.class
sasl.login.connect.timeout.ms sasl.login.read.timeout.ms sasl.login.refresh.buffer.seconds
sasl.login.refresh.min.period.seconds sasl.login.refresh.window.factor sasl.login.refresh.window.jitter
sasl.login.retry.backoff.max.ms sasl.login.retry.backoff.ms sasl.mechanism sasl.mechanisms
sasl.oauthbearer.assertion.algorithm sasl.oauthbearer.assertion.claim.aud
sasl.oauthbearer.assertion.claim.exp.seconds sasl.oauthbearer.assertion.claim.iss
sasl.oauthbearer.assertion.claim.jti.include sasl.oauthbearer.assertion.claim.nbf.seconds
sasl.oauthbearer.assertion.claim.sub sasl.oauthbearer.assertion.file
sasl.oauthbearer.assertion.private.key.file sasl.oauthbearer.client.credentials.client.id
sasl.oauthbearer.client.id sasl.oauthbearer.clock.skew.seconds sasl.oauthbearer.expected.audience
sasl.oauthbearer.expected.issuer sasl.oauthbearer.grant.type sasl.oauthbearer.header.urlencode
sasl.oauthbearer.jwks.endpoint.refresh.ms sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms
sasl.oauthbearer.jwks.endpoint.retry.backoff.ms sasl.oauthbearer.jwks.endpoint.url
sasl.oauthbearer.jwt.retriever.class sasl.oauthbearer.jwt.validator.class
sasl.oauthbearer.metadata.authentication.type sasl.oauthbearer.method sasl.oauthbearer.scope
sasl.oauthbearer.scope.claim.name sasl.oauthbearer.sub.claim.name
sasl.username schema.registry.url security.protocol security.providers send.buffer.bytes session.timeout.ms
share.acknowledgement.mode share.acquire.mode socket.blocking.max.ms socket.connection.setup.timeout.max.ms
socket.connection.setup.timeout.ms socket.keepalive.enable socket.max.fails socket.nagle.disable
socket.receive.buffer.bytes socket.send.buffer.bytes socket.timeout.ms socket_cb specific.avro.reader
ssl.ca.certificate.stores ssl.ca.location ssl.certificate.location ssl.certificate.verify_cb ssl.cipher.suites
ssl.crl.location ssl.curves.list ssl.enabled.protocols ssl.endpoint.identification.algorithm
ssl.engine.factory.class ssl.engine.id ssl.engine.location ssl.key.location ssl.keymanager.algorithm
ssl.keystore.location ssl.keystore.type ssl.protocol ssl.provider ssl.providers
ssl.secure.random.implementation ssl.sigalgs.list ssl.trustmanager.algorithm ssl.truststore.location
ssl.truststore.type ssl_engine_callback_data statistics.interval.ms stats_cb sticky.partitioning.linger.ms
throttle_cb topic.blacklist topic.metadata.propagation.max.ms topic.metadata.refresh.fast.cnt
topic.metadata.refresh.fast.interval.ms topic.metadata.refresh.interval.ms topic.metadata.refresh.sparse
transaction.timeout.ms transaction.two.phase.commit.enable transactional.id use.latest.version
value.deserializer value.serializer value.subject.name.strategy
`

// secret are the properties that hold secrets, or may.
const secret = `
config.providers https.ca.pem sasl.jaas.config sasl.kerberos.kinit.cmd
sasl.oauthbearer.assertion.jwt.template.file sasl.oauthbearer.assertion.private.key.passphrase
sasl.oauthbearer.assertion.private.key.pem sasl.oauthbearer.assertion.template.file
sasl.oauthbearer.client.credentials.client.secret sasl.oauthbearer.client.secret sasl.oauthbearer.config
sasl.oauthbearer.extensions sasl.oauthbearer.token.endpoint.url sasl.password ssl.ca.pem ssl.certificate.pem ssl.key.password ssl.key.pem
ssl.keystore.certificate.chain ssl.keystore.key ssl.keystore.password ssl.truststore.certificates
ssl.truststore.password ssl_ca ssl_certificate ssl_key
`

// isHarmless reports whether the values of a property may be shown.
func isHarmless(key string) bool { return hasWord(harmless, unscoped(key)) }

// vendors are the beginnings of properties that share a file with a client's.
const vendors = `schema.registry. basic.auth. bearer.auth. metrics.context. confluent. json. avro. topic.`

// isKnown reports whether a client may have a property of this name.
func isKnown(key string) bool {
	for prefix := range strings.FieldsSeq(vendors) {
		if strings.HasPrefix(unscoped(key), prefix) {
			return true
		}
	}
	return isHarmless(key) || hasWord(secret, unscoped(key))
}

func hasWord(list, word string) bool {
	for w := range strings.FieldsSeq(list) {
		if w == word {
			return true
		}
	}
	return false
}

// unscoped is a property's key without the cluster that it is for.
func unscoped(key string) string {
	if _, rest, ok := strings.Cut(key, ":"); ok {
		return strings.TrimSpace(rest)
	}
	return strings.TrimSpace(key)
}
