package kafkalog;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.python.PythonUtils;

/** The planner in Python: a process of the driver's, started at the first question, ended with the driver. */
final class Planner {
    static final ObjectMapper JSON = new ObjectMapper();
    private static final String MODULE = "workbench.spark_source.jvm.planner";

    private static Process process;
    private static OutputStream questions;
    private static BufferedReader answers;

    private Planner() {}

    /** Asks about the options of a load, and a schema in JSON. */
    static JsonNode ask(String what, Map<String, String> options, String schema) {
        return ask(Map.of("what", what, "options", options, "schema", schema));
    }

    /**
     * Asks a question, a line of JSON, and waits for the answer, which is one, too.
     *
     * @throws IllegalArgumentException the planner refuses
     * @throws IllegalStateException it does not run
     */
    static synchronized JsonNode ask(Map<String, ?> question) {
        JsonNode answer;
        try {
            if (process == null || !process.isAlive()) start();
            questions.write((JSON.writeValueAsString(question) + "\n").getBytes(StandardCharsets.UTF_8));
            questions.flush();
            String line = answers.readLine();
            if (line == null) throw new IOException("it ended with status " + process.waitFor());
            answer = JSON.readTree(line);
        } catch (IOException | InterruptedException error) {
            String problem = python() + " -P -m " + MODULE + ": " + error.getMessage();
            String hint = "; set PYSPARK_PYTHON to a Python that has kafka-log-workbench[spark]";
            throw new IllegalStateException("kafka-log: " + problem + hint, error);
        }
        if (answer.has("error")) throw new IllegalArgumentException(answer.get("error").asText());
        return answer;
    }

    private static void start() throws IOException {
        // -P: "-m" alone would look for modules in the working directory first, which may hold anybody's.
        ProcessBuilder builder = new ProcessBuilder(python(), "-P", "-m", MODULE);
        Map<String, String> environment = builder.environment();
        environment.merge("PYTHONPATH", PythonUtils.sparkPythonPath(), (ours, spark) -> ours + File.pathSeparator + spark);
        process = builder.redirectError(ProcessBuilder.Redirect.INHERIT).start();
        questions = process.getOutputStream();
        answers = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
    }

    /** Returns the Python that Spark's own workers use. */
    private static String python() {
        SparkConf conf = SparkEnv.get() == null ? new SparkConf() : SparkEnv.get().conf();
        Map<String, String> given = new HashMap<>(System.getenv());
        String driver = given.getOrDefault("PYSPARK_DRIVER_PYTHON", "python3");
        return conf.get("spark.pyspark.python", given.getOrDefault("PYSPARK_PYTHON", driver));
    }
}
