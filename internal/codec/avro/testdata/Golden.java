// What Apache Avro itself makes of golden.py's values: for each line "schema TAB
// bytes in hex" it writes "JSON TAB fingerprint in hex TAB single-object encoding in
// hex", or "! TAB why TAB".
//
//     java -cp avro-tools-1.12.2.jar Golden.java

import java.io.*;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import org.apache.avro.Schema;
import org.apache.avro.SchemaNormalization;
import org.apache.avro.generic.*;
import org.apache.avro.io.*;
import org.apache.avro.message.BinaryMessageEncoder;

public class Golden {
  public static void main(String[] args) throws IOException {
    var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    var out = new PrintStream(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      String[] parts = line.split("\t", -1);
      try {
        out.println(tell(new Schema.Parser().parse(parts[0]), HexFormat.of().parseHex(parts[1])));
      } catch (Exception e) {
        out.println("!\t" + e.toString().replaceAll("\\s+", " ") + "\t");
      }
    }
  }

  static String tell(Schema schema, byte[] bytes) throws Exception {
    Object value = new GenericDatumReader<Object>(schema).read(null, DecoderFactory.get().binaryDecoder(bytes, null));
    var json = new ByteArrayOutputStream();
    JsonEncoder encoder = EncoderFactory.get().jsonEncoder(schema, json);
    new GenericDatumWriter<Object>(schema).write(value, encoder);
    encoder.flush();
    byte[] fingerprint = SchemaNormalization.parsingFingerprint("CRC-64-AVRO", schema);
    var single = new ByteArrayOutputStream();
    new BinaryMessageEncoder<Object>(GenericData.get(), schema).encode(value, single);
    var hex = HexFormat.of();
    return json.toString(StandardCharsets.UTF_8) + "\t" + hex.formatHex(fingerprint) + "\t" + hex.formatHex(single.toByteArray());
  }
}
