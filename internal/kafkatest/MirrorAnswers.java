import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.connect.mirror.MirrorClient;
import org.apache.kafka.connect.mirror.RemoteClusterUtils;

/**
 * Prints as JSON what RemoteClusterUtils says about a cluster: its address, an upstream cluster's alias, a pattern of
 * groups, and further properties as KEY=VALUE. With "count" for the pattern's mode it prints only how many offsets.
 */
public class MirrorAnswers {
    private static final StringBuilder OUT = new StringBuilder();

    public static void main(String[] args) throws Exception {
        Map<String, Object> p = new HashMap<>();
        p.put("bootstrap.servers", args[0]);
        boolean count = args[3].equals("count");
        for (int i = 4; i < args.length; i++) {
            int at = args[i].indexOf('=');
            p.put(args[i].substring(0, at), args[i].substring(at + 1));
        }
        Map<String, Map<TopicPartition, OffsetAndMetadata>> offsets =
                RemoteClusterUtils.translateOffsets(p, args[1], Pattern.compile(args[2]), Duration.ofMinutes(2));
        if (count) {
            long n = 0;
            for (Map<TopicPartition, OffsetAndMetadata> of : offsets.values()) {
                n += of.size();
            }
            System.out.println(n);
            return;
        }
        OUT.append("{\"hops\":").append(RemoteClusterUtils.replicationHops(p, args[1]));
        list("upstream", RemoteClusterUtils.upstreamClusters(p));
        list("heartbeats", RemoteClusterUtils.heartbeatTopics(p));
        list("checkpoints", RemoteClusterUtils.checkpointTopics(p));
        try (MirrorClient client = new MirrorClient(p)) {
            list("remote", client.remoteTopics());
            list("from", client.remoteTopics(args[1]));
        }
        OUT.append(",\"offsets\":[");
        String comma = "";
        for (Map.Entry<String, Map<TopicPartition, OffsetAndMetadata>> group : new TreeMap<>(offsets).entrySet()) {
            for (Map.Entry<TopicPartition, OffsetAndMetadata> e : group.getValue().entrySet()) {
                OUT.append(comma).append("{\"group\":");
                text(group.getKey());
                OUT.append(",\"topic\":");
                text(e.getKey().topic());
                OUT.append(",\"partition\":").append(e.getKey().partition());
                OUT.append(",\"offset\":").append(e.getValue().offset()).append(",\"metadata\":");
                text(e.getValue().metadata());
                OUT.append('}');
                comma = ",";
            }
        }
        OUT.append("]}\n");
        System.out.write(OUT.toString().getBytes(StandardCharsets.UTF_8));
        System.out.flush();
    }

    private static void list(String name, Iterable<String> values) {
        OUT.append(",\"").append(name).append("\":[");
        TreeSet<String> sorted = new TreeSet<>();
        values.forEach(sorted::add);
        String comma = "";
        for (String v : sorted) {
            OUT.append(comma);
            text(v);
            comma = ",";
        }
        OUT.append(']');
    }

    private static void text(String s) {
        OUT.append('"');
        for (char c : s.toCharArray()) {
            if (c < ' ' || c == '"' || c == '\\' || c > '~') {
                OUT.append(String.format("\\u%04x", (int) c));
            } else {
                OUT.append(c);
            }
        }
        OUT.append('"');
    }
}
