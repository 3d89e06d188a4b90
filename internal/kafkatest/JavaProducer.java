import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Writes the records of standard input (partition, key, value, time, then header keys and values; tabs between) and prints how many. */
public class JavaProducer {
    public static void main(String[] args) throws Exception {
        Properties p = new Properties();
        p.put("bootstrap.servers", args[0]);
        p.put("compression.type", args[2]);
        p.put("linger.ms", "5");
        p.put("max.request.size", "67108864");
        AtomicReference<Exception> failed = new AtomicReference<>();
        long n = 0;
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(p, new ByteArraySerializer(), new ByteArraySerializer());
                BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII))) {
            for (String line; (line = in.readLine()) != null; n++) {
                String[] f = line.split("\t", -1);
                Integer partition = f[0].equals("-1") ? null : Integer.valueOf(f[0]);
                Long time = f[3].equals("0") ? null : Long.valueOf(f[3]);
                ProducerRecord<byte[], byte[]> r = new ProducerRecord<>(args[1], partition, time, bytes(f[1]), bytes(f[2]));
                for (int i = 4; i + 1 < f.length; i += 2) {
                    r.headers().add(new String(bytes(f[i]), StandardCharsets.UTF_8), bytes(f[i + 1]));
                }
                producer.send(r, (meta, e) -> {
                    if (e != null) {
                        failed.compareAndSet(null, e);
                    }
                });
            }
        }
        if (failed.get() != null) {
            throw failed.get();
        }
        System.out.println(n);
    }

    private static byte[] bytes(String s) {
        return s.equals("-") ? null : Base64.getDecoder().decode(s);
    }
}
