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
 * output is the exit code and, in base64, what it wrote.
 */
public class GroupCommands {
    private static class Ended extends RuntimeException {
        final int code;

        Ended(int code) {
            this.code = code;
        }
    }

    public static void main(String[] args) throws Exception {
        PrintStream stdout = System.out;
        Exit.setExitProcedure((code, message) -> {
            throw new Ended(code);
        });
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            List<String> words = new ArrayList<>();
            words.add("--bootstrap-server");
            words.add(args[0]);
            for (String word : line.split(" ")) {
                words.add(new String(Base64.getDecoder().decode(word), StandardCharsets.UTF_8));
            }
            ByteArrayOutputStream wrote = new ByteArrayOutputStream();
            PrintStream to = new PrintStream(wrote, true, StandardCharsets.UTF_8);
            System.setOut(to);
            System.setErr(to);
            int code = 0;
            try {
                ConsumerGroupCommand.main(words.toArray(new String[0]));
            } catch (Ended e) {
                code = e.code;
            }
            to.flush();
            stdout.println(code + " " + Base64.getEncoder().encodeToString(wrote.toByteArray()));
        }
        stdout.flush();
    }
}
