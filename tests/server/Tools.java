import java.lang.reflect.InvocationTargetException;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.common.utils.Exit;

/**
 * Runs Kafka's console tools one after the other in one JVM. Arguments: for each a class and its
 * own arguments, with "//" between. A line "// STATUS" ends the output of each.
 */
public class Tools {
    /** What the tool that runs has ended with; it may catch what its first exit throws. */
    private static Integer status;

    public static void main(String[] arguments) throws Exception {
        Exit.setExitProcedure((code, message) -> {
            status = status == null ? code : status;
            throw new IllegalStateException("ended");
        });
        List<String> words = new ArrayList<>();
        for (String word : arguments) {
            if (word.equals("//")) {
                run(words);
                words.clear();
            } else {
                words.add(word);
            }
        }
        run(words);
        System.exit(0);
    }

    private static void run(List<String> words) throws Exception {
        String[] own = words.subList(1, words.size()).toArray(new String[0]);
        status = null;
        try {
            Class.forName(words.get(0)).getMethod("main", String[].class).invoke(null, (Object) own);
        } catch (InvocationTargetException thrown) {
            if (status == null) {
                thrown.getCause().printStackTrace();
                status = 1;
            }
        }
        System.out.println("// " + (status == null ? 0 : status));
    }
}
