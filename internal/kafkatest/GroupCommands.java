import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import org.apache.kafka.common.utils.Exit;
import org.apache.kafka.tools.consumer.group.ConsumerGroupCommand;

/**
 * Runs kafka-consumer-groups once for each line of standard input, whose words are its arguments in base64. A line of
 * output is the exit code and, in base64 with a dash in front, what it wrote to standard output and to standard error.
 */
public class GroupCommands {
    private static class Ended extends RuntimeException { }

    private static int code;

    public static void main(String[] args) throws Exception {
        PrintStream stdout = System.out;
        Exit.setExitProcedure((status, message) -> {
            code = status;
            throw new Ended();
        });
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            List<String> words = new ArrayList<>();
            words.add("--bootstrap-server");
            words.add(args[0]);
            for (String word : line.split(" ")) {
                words.add(new String(Base64.getDecoder().decode(word), StandardCharsets.UTF_8));
            }
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            ByteArrayOutputStream err = new ByteArrayOutputStream();
            System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
            System.setErr(new PrintStream(err, true, StandardCharsets.UTF_8));
            code = 0;
            try {
                ConsumerGroupCommand.main(words.toArray(new String[0]));
            } catch (Ended e) {
                // it has its code
            }
            System.out.flush();
            System.err.flush();
            stdout.println(code + " " + base64(out) + " " + base64(err));
        }
        stdout.flush();
    }

    private static String base64(ByteArrayOutputStream b) {
        return "-" + Base64.getEncoder().encodeToString(b.toByteArray());
    }
}
