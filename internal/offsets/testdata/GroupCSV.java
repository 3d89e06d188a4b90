import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import org.apache.kafka.tools.consumer.group.CsvUtils;

/**
 * Prints how Kafka's own tools write and read lines of offsets: java -cp 'JARS/*' GroupCSV.java > group_csv.txt. Texts
 * are in hexadecimal. "w GROUP TOPIC PARTITION OFFSET LINE LINE" is what is written with and without the group;
 * "r LINE 4 GROUP TOPIC PARTITION OFFSET", "r LINE 3 TOPIC PARTITION OFFSET" and "r LINE 0" what is read from a line.
 */
public class GroupCSV {
    public static void main(String[] args) throws Exception {
        List<String> names = new ArrayList<>();
        names.add("");
        for (char c = 0; c < 0x100; c++) {
            names.add("a" + c + "b");
            names.add(c + "b");
            names.add("a" + c);
        }
        for (int n : new int[] {1, 22, 23, 24, 25, 26, 60, 300}) {
            names.add("x".repeat(n));
            names.add("é".repeat(n));
            names.add("日".repeat(n));
            names.add("\uD83D\uDE00".repeat(n));
        }
        for (String s : new String[] {"a,b", "a\"b", "\"", "\"\"", "\"a\"", "a\nb", "a\r\nb", " a ", "\\", "a\\\"b", "\uFEFFa", "{g}", "[", "null", "0", "-1", "'", "a\u2028b", ",,,"}) {
            names.add(s);
        }
        for (String name : names) {
            write(name, "orders", 0, 42);
        }
        for (String topic : new String[] {"a.b_c-d", "t".repeat(24), "t".repeat(25), "t".repeat(249)}) {
            write("g", topic, 12, Long.MAX_VALUE);
        }
        write("g", "t", Integer.MAX_VALUE, 0);
        write("g", "t", 0, -1);
        for (String line : new String[] {
            "t,0,1", "g,t,0,1", "\"t\",0,1", "\"g\",\"t\",0,1", "\"a,b\",t,0,1", "\"a\"\"b\",t,0,1", "t,\"0\",\"1\"", "t,0,1\r", "\"t\",0,1\r", "g,t,0,\"1\"\r",
            " t,0,1", "t ,0,1", "t, 0,1", "t,0, 1", "t,0,1 ", "\" t\",0,1", "g, \"t\",0,1", "a\"b,t,0,1", "a\\b,t,0,1", "#g,t,0,1",
            "", ",0,1", ",t,0,1", "t,,1", "t,0,", "t,0", "t", "g,t,0,1,2", "t,0,1,", "g,t,0,1,", "t,x,1", "t,0,x", "t,0.5,1", "t,0,1.0", "t,0,1e3", "t,+0,1", "t,00,01",
            "t,-1,1", "t,0,-1", "t,2147483648,1", "t,0,9223372036854775807", "t,0,9223372036854775808", "\"t,0,1", "\"t\"x,0,1", "topic,partition,offset", "group,topic,partition,offset",
            "\uFEFFt,0,1", "t\t0\t1", "t;0;1", "t,0x10,1", "t,1_0,1",
        }) {
            read(line);
        }
    }

    private static void write(String group, String topic, int partition, long offset) throws Exception {
        String with = CsvUtils.writerFor(CsvUtils.CsvRecordWithGroup.class).writeValueAsString(new CsvUtils.CsvRecordWithGroup(group, topic, partition, offset));
        String without = CsvUtils.writerFor(CsvUtils.CsvRecordNoGroup.class).writeValueAsString(new CsvUtils.CsvRecordNoGroup(topic, partition, offset));
        System.out.println("w " + hex(group) + " " + hex(topic) + " " + partition + " " + offset + " " + hex(with) + " " + hex(without));
    }

    private static void read(String line) {
        try {
            CsvUtils.CsvRecordNoGroup r = CsvUtils.readerFor(CsvUtils.CsvRecordNoGroup.class).readValue(line);
            System.out.println("r " + hex(line) + " 3 " + hex(r.getTopic()) + " " + r.getPartition() + " " + r.getOffset());
            return;
        } catch (Exception e) {
            // four fields, perhaps
        }
        try {
            CsvUtils.CsvRecordWithGroup r = CsvUtils.readerFor(CsvUtils.CsvRecordWithGroup.class).readValue(line);
            System.out.println("r " + hex(line) + " 4 " + hex(r.getGroup()) + " " + hex(r.getTopic()) + " " + r.getPartition() + " " + r.getOffset());
        } catch (Exception e) {
            System.out.println("r " + hex(line) + " 0");
        }
    }

    private static String hex(String s) {
        return s == null ? "null" : s.isEmpty() ? "-" : HexFormat.of().formatHex(s.getBytes(StandardCharsets.UTF_8));
    }
}
