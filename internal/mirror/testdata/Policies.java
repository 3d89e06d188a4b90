// Writes policies.txt with Apache Kafka's own replication policies and record
// classes:
//
//	java -cp 'KAFKA/libs/*' Policies.java > policies.txt
//
// Lines, tabs between, "(null)" for null: "policy", class, separator, internal separator
// enabled, source alias, checkpoints and offset syncs topic of us.west, heartbeats
// topic; for each policy: "topic", name, source, upstream, original, name when
// mirrored from src, all sources, hops to b, is heartbeats, is checkpoints, is
// internal, is remote; and "checkpoint", "heartbeat" or "sync", fields, key and
// value in hex.

import java.util.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.connect.mirror.*;

public class Policies {
    static final String[] TOPICS = {
        "orders", "a.orders", "a.b.orders", "a.b.c.orders.v2", "a-orders", "a_b_orders", "a__b__orders", ".orders", "orders.", "a..b", "a..",
        "..", ".", "a.a.orders", "heartbeats", "a.heartbeats", "a.b.heartbeats", "a_heartbeats", "myheartbeats", "x.myheartbeats",
        "heartbeats.x", "a.checkpoints.internal", "a_checkpoints_internal", "mm2-offset-syncs.b.internal", "mm2-offset-syncs_b_internal",
        "checkpoints.internal", "x-internal", "x.internal", "x_internal", "__consumer_offsets", "a.__consumer_offsets", ".hidden", "us.west.orders",
        "mm2-configs.a.internal", "a_b__c", "a__", "__a",
    };

    public static void main(String[] args) throws Exception {
        for (String separator : new String[] {null, ".", "_", "__", "-", ".."})
            for (Boolean enabled : new Boolean[] {null, false})
                policy(new DefaultReplicationPolicy(), separator, enabled, null);
        for (String alias : new String[] {null, "a"})
            for (String separator : new String[] {null, "_"})
                policy(new IdentityReplicationPolicy(), separator, null, alias);
        records();
    }

    static void policy(DefaultReplicationPolicy p, String separator, Boolean enabled, String alias) throws Exception {
        Map<String, Object> props = new HashMap<>();
        if (separator != null) props.put("replication.policy.separator", separator);
        if (enabled != null) props.put("replication.policy.internal.topic.separator.enabled", enabled);
        if (alias != null) props.put("source.cluster.alias", alias);
        p.configure(props);
        line("policy", p.getClass().getSimpleName(), or(separator), or(enabled), or(alias),
            p.checkpointsTopic("us.west"), p.offsetSyncsTopic("us.west"), p.heartbeatsTopic());
        for (String t : TOPICS)
            line("topic", t, or(p.topicSource(t)), or(p.upstreamTopic(t)), p.originalTopic(t), p.formatRemoteTopic("src", t),
                or(call(p, "allSources", t)), or(call(p, "countHopsForTopic", t, "b")), or(p.isHeartbeatsTopic(t)),
                or(p.isCheckpointsTopic(t)), or(p.isInternalTopic(t)), or(call(p, "isRemoteTopic", t)));
    }

    // call asks a MirrorClient that has no connection.
    static Object call(ReplicationPolicy p, String name, Object... args) throws Exception {
        var make = MirrorClient.class.getDeclaredConstructor(org.apache.kafka.clients.admin.Admin.class, ReplicationPolicy.class, Map.class);
        make.setAccessible(true);
        Class<?>[] types = new Class<?>[args.length];
        Arrays.fill(types, String.class);
        var m = MirrorClient.class.getDeclaredMethod(name, types);
        m.setAccessible(true);
        Object out = m.invoke(make.newInstance(null, p, Map.of()), args);
        return out instanceof Set<?> s ? String.join(" ", s.stream().map(Object::toString).sorted().toList()) : out;
    }

    static void records() throws Exception {
        checkpoint("my-group", "source1.topic1", 2, 10, 5, "meta");
        checkpoint("g-\u00e9", "us-west.orders", 0, Long.MAX_VALUE, 0, "");
        checkpoint("", "t", Integer.MAX_VALUE, -1, -1, "\u0000x");
        var sync = new OffsetSync(new TopicPartition("topic1", 2), 100, 200);
        line("sync", "topic1", "2", "100", "200", bytes(sync, "recordKey"), bytes(sync, "recordValue"));
        var beat = new Heartbeat("primary", "backup", 1700000000000L);
        line("heartbeat", "primary", "backup", "1700000000000", bytes(beat, "recordKey"), bytes(beat, "recordValue"));
    }

    static void checkpoint(String group, String topic, int partition, long up, long down, String metadata) throws Exception {
        var c = new Checkpoint(group, new TopicPartition(topic, partition), up, down, metadata);
        line("checkpoint", group, topic, "" + partition, "" + up, "" + down, HexFormat.of().formatHex(metadata.getBytes("UTF-8")),
            bytes(c, "recordKey"), bytes(c, "recordValue"));
    }

    static String bytes(Object record, String method) throws Exception {
        var m = record.getClass().getDeclaredMethod(method);
        m.setAccessible(true);
        return HexFormat.of().formatHex((byte[]) m.invoke(record));
    }

    static String or(Object o) { return o == null ? "(null)" : o.toString(); }

    static void line(String... parts) { System.out.println(String.join("\t", parts)); }
}
