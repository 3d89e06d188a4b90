// Writes golden.txt with Apache Kafka's own classes: for every record type of its
// coordinators and every version the bytes, and what Kafka's JsonConverter says
// that they mean.
//
//	java -cp 'KAFKA/libs/*' Golden.java > golden.txt
//
// A line: topic, side (key, value, subscription, assignment), record type,
// version, variant, bytes in hex, JSON; and for enumerations: "words", field,
// number, word. Tabs between.

import java.lang.reflect.*;
import java.nio.ByteBuffer;
import java.util.*;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.errors.UnsupportedVersionException;
import org.apache.kafka.common.message.*;
import org.apache.kafka.common.protocol.*;

public class Golden {
    static int counter;
    static final Set<String> SKIP = new HashSet<>();
    static boolean nulls;

    public static void main(String[] args) throws Exception {
        topic("__consumer_offsets", "org.apache.kafka.coordinator.group.generated.");
        topic("__transaction_state", "org.apache.kafka.coordinator.transaction.generated.");
        topic("__share_group_state", "org.apache.kafka.coordinator.share.generated.");
        for (short v = 0; v <= 3; v++) {
            values("consumer", "subscription", (short) 0, ConsumerProtocolSubscription.class, v);
            values("consumer", "assignment", (short) 0, ConsumerProtocolAssignment.class, v);
        }
        for (var s : org.apache.kafka.coordinator.transaction.TransactionState.values())
            System.out.println("words\ttransaction_status\t" + s.id() + "\t" + s.stateName());
        for (var s : org.apache.kafka.coordinator.group.modern.MemberState.values())
            System.out.println("words\tstate\t" + s.value() + "\t" + s);
        for (var s : org.apache.kafka.coordinator.group.streams.MemberState.values())
            System.out.println("words\tstreams_state\t" + s.value() + "\t" + s);
        for (var s : org.apache.kafka.server.share.fetch.RecordState.values())
            System.out.println("words\tdelivery_state\t" + s.id() + "\t" + s);
    }

    static void topic(String topic, String pkg) throws Exception {
        Class<?> types = Class.forName(pkg + "CoordinatorRecordType");
        for (Object type : types.getEnumConstants()) {
            short id = (short) types.getMethod("id").invoke(type);
            Class<?> key = types.getMethod("newRecordKey").invoke(type).getClass();
            Class<?> value = types.getMethod("newRecordValue").invoke(type).getClass();
            values(topic, "key", id, key, (short) 0);
            Message m = (Message) value.getConstructor().newInstance();
            for (short v = 0; v <= m.highestSupportedVersion(); v++)
                values(topic, "value", id, value, v);
        }
    }

    static void values(String topic, String side, short id, Class<?> c, short version) throws Exception {
        for (String variant : new String[] {"full", "empty", "nulls"}) {
            SKIP.clear();
            nulls = variant.equals("nulls");
            while (true) {
                counter = 0;
                Message m = (Message) (variant.equals("empty") ? c.getConstructor().newInstance() : fill(c));
                try {
                    byte[] body = MessageUtil.toVersionPrefixedBytes(side.equals("key") ? id : version, m);
                    if (side.equals("key"))
                        body = MessageUtil.toCoordinatorTypePrefixedBytes((ApiMessage) m);
                    Object json = Class.forName(c.getName() + "JsonConverter")
                        .getMethod("write", c, short.class).invoke(null, m, version);
                    System.out.println(String.join("\t", topic, side, "" + id, "" + version, variant,
                        HexFormat.of().formatHex(body), json.toString()));
                    break;
                } catch (UnsupportedVersionException e) {
                    // "Attempted to write a non-default NAME at version 0"
                    String[] words = e.getMessage().split(" ");
                    if (!SKIP.add(words[5]))
                        throw e;
                }
            }
        }
    }

    // fill makes an object with a value for every field, none of them twice.
    static Object fill(Class<?> c) throws Exception {
        Object o = c.getConstructor().newInstance();
        for (Field f : c.getDeclaredFields()) {
            if (Modifier.isStatic(f.getModifiers()) || f.getName().startsWith("_") || SKIP.contains(f.getName())
                || f.getName().equals("next") || f.getName().equals("prev"))
                continue;
            Method set;
            try {
                set = c.getMethod("set" + Character.toUpperCase(f.getName().charAt(0)) + f.getName().substring(1), f.getType());
            } catch (NoSuchMethodException e) {
                continue;
            }
            Object v = value(f.getName(), f.getGenericType());
            set.invoke(o, nulls && nullable(c, f) ? null : v);
        }
        return o;
    }

    // nullable asks the field's schema whether it may be null.
    static boolean nullable(Class<?> c, Field f) throws Exception {
        if (f.getType().isPrimitive())
            return false;
        var schemas = (org.apache.kafka.common.protocol.types.Schema[]) c.getField("SCHEMAS").get(null);
        String name = f.getName().replaceAll("([A-Z])", "_$1").toLowerCase();
        for (var bound : schemas[schemas.length - 1].fields()) {
            if (bound.def.name.equals(name))
                return bound.def.type.isNullable();
            if (bound.def.type instanceof org.apache.kafka.common.protocol.types.TaggedFields tagged)
                for (var t : tagged.fields().values())
                    if (t.name.equals(name))
                        return t.type.isNullable();
        }
        return false;
    }

    static Object value(String name, Type type) throws Exception {
        counter++;
        if (type == String.class) return name + "-\u00e9\"\\\u0001-" + counter;
        if (type == int.class) return name.equals("port") ? 65000 + counter : 1_000_000 + counter;
        if (type == short.class) return (short) (1000 + counter);
        if (type == byte.class) return (byte) 2;
        if (type == long.class) return Long.MAX_VALUE - counter;
        if (type == Uuid.class) return new Uuid(counter, -counter);
        if (type == byte[].class) return new byte[] {(byte) 255, 0, (byte) counter};
        if (type == ByteBuffer.class) return ByteBuffer.wrap(new byte[] {(byte) 255, 0, (byte) counter});
        if (type instanceof ParameterizedType p) {
            Type of = p.getActualTypeArguments()[0];
            if (of == Integer.class) return List.of(counter, -1, Integer.MIN_VALUE);
            if (of == Short.class) return List.of((short) counter, (short) -1);
            return new ArrayList<>(List.of(value(name, of), value(name, of)));
        }
        Class<?> c = (Class<?>) type;
        if (AbstractCollection.class.isAssignableFrom(c)) {
            @SuppressWarnings("unchecked")
            Collection<Object> all = (Collection<Object>) c.getConstructor().newInstance();
            Class<?> of = (Class<?>) ((ParameterizedType) c.getGenericSuperclass()).getActualTypeArguments()[0];
            all.add(fill(of));
            all.add(fill(of));
            return all;
        }
        return fill(c);
    }
}
