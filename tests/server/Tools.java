import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;
import org.apache.kafka.common.utils.Exit;

/**
 * Runs Kafka's command-line tools one after the other, each as if the JVM were its own, but without its shutdown hooks.
 *
 * <p>A line of the standard input is a run: in Base64, the tool's standard input, its class, and its arguments. The answer is a line
 * with its exit code, and in Base64 what it printed to the standard output and the standard error.
 */
public final class Tools {
    private static final class Ended extends RuntimeException {
        Ended() {
            super(null, null, false, false);
        }
    }

    /** The code of the first exit: some tools catch what they throw, and exit once more. */
    private static Integer exitCode;

    private static void exit(int code) {
        if (exitCode == null) exitCode = code;
        throw new Ended();
    }

    /** Tools keep state in static fields: their own classes are loaded anew for each run, all others once. */
    private static final class Fresh extends ClassLoader {
        Fresh() {
            super(Tools.class.getClassLoader());
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            boolean isTool = name.startsWith("org.apache.kafka.tools.") || name.startsWith("kafka.tools.") || name.startsWith("kafka.admin.");
            if (!isTool) return super.loadClass(name, resolve);
            synchronized (getClassLoadingLock(name)) {
                Class<?> loaded = findLoadedClass(name);
                if (loaded != null) return loaded;
                try (InputStream bytes = getResourceAsStream(name.replace('.', '/') + ".class")) {
                    if (bytes == null) throw new ClassNotFoundException(name);
                    byte[] all = bytes.readAllBytes();
                    return defineClass(name, all, 0, all.length);
                } catch (IOException error) {
                    throw new ClassNotFoundException(name, error);
                }
            }
        }
    }

    /** Scala keeps the stream that it finds at first, so that one has to lead elsewhere for each run. */
    private static final class Switch extends OutputStream {
        volatile OutputStream to = OutputStream.nullOutputStream();

        @Override
        public void write(int b) throws IOException {
            to.write(b);
        }

        @Override
        public void write(byte[] bytes, int at, int length) throws IOException {
            to.write(bytes, at, length);
        }
    }

    public static void main(String[] arguments) throws Exception {
        PrintStream answers = System.out;
        BufferedReader runs = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        Switch out = new Switch(), err = new Switch();
        System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(err, true, StandardCharsets.UTF_8));
        Exit.setExitProcedure((code, message) -> exit(code));
        Exit.setHaltProcedure((code, message) -> exit(code));
        Exit.setShutdownHookAdder((name, hook) -> {});
        for (String line = runs.readLine(); line != null; line = runs.readLine()) {
            String[] words = Arrays.stream(line.split(" ", -1)).map(Tools::decoded).toArray(String[]::new);
            ByteArrayOutputStream printed = new ByteArrayOutputStream(), complained = new ByteArrayOutputStream();
            out.to = printed;
            err.to = complained;
            System.setIn(new ByteArrayInputStream(words[0].getBytes(StandardCharsets.UTF_8)));
            int code = run(words[1], Arrays.copyOfRange(words, 2, words.length));
            System.out.flush();
            answers.println(code + " " + encoded(printed) + " " + encoded(complained));
            answers.flush();
        }
        Runtime.getRuntime().halt(0);
    }

    private static int run(String tool, String[] arguments) {
        exitCode = null;
        try {
            Class.forName(tool, true, new Fresh()).getMethod("main", String[].class).invoke(null, (Object) arguments);
            return exitCode == null ? 0 : exitCode;
        } catch (InvocationTargetException error) {
            if (exitCode != null) return exitCode;
            error.getCause().printStackTrace();
            return 1;
        } catch (Throwable error) {
            error.printStackTrace();
            return 1;
        }
    }

    private static String decoded(String word) {
        return new String(Base64.getDecoder().decode(word), StandardCharsets.UTF_8);
    }

    private static String encoded(ByteArrayOutputStream bytes) {
        return Base64.getEncoder().encodeToString(bytes.toByteArray());
    }
}
