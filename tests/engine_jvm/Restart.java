import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Delayed;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.util.Scheduler;
import org.apache.kafka.storage.internals.log.CleanerConfig;
import org.apache.kafka.storage.internals.log.LogCleaner;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogStartOffsetIncrementReason;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Starts Kafka's own log manager on log directories, does what a text file says, and stops it in order.
 * Argument: the file; each line one directory, tab separated: path, time in ms, what to do, configurations as topic:name=value;name=value.
 * The topic "*" is the default. What to do: "retain", "delete TOPIC-PARTITION OFFSET", joined by commas.
 * Prints for each directory "done" or the error that stops a broker, or takes its directory offline.
 */
public final class Restart {
    static final class Clock implements Time {
        final long now;
        Clock(long now) { this.now = now; }
        public long milliseconds() { return now; }
        public long nanoseconds() { return now * 1_000_000; }
        public void sleep(long ms) { }
        public void waitObject(Object o, Supplier<Boolean> condition, long deadline) { throw new UnsupportedOperationException(); }
    }

    static final class Never extends CompletableFuture<Object> implements ScheduledFuture<Object> {
        public long getDelay(TimeUnit unit) { return 0; }
        public int compareTo(Delayed other) { return 0; }
    }

    /** Runs what has no delay at once, as Kafka's MockScheduler, and the rest never. */
    static final class Later implements Scheduler {
        public void startup() { }
        public void shutdown() { }
        public void resizeThreadPool(int size) { }
        public ScheduledFuture<?> schedule(String name, Runnable run, long delay, long period) {
            if (delay <= 0) run.run();
            return new Never();
        }
    }

    public static void main(String[] a) throws Exception {
        for (String line : Files.readAllLines(Path.of(a[0]))) {
            String answer;
            try {
                answer = restart(line.split("\t", -1));
            } catch (Throwable e) {
                Throwable cause = e;
                while (cause.getCause() != null) cause = cause.getCause();
                answer = "refused " + cause.getClass().getSimpleName() + " " + cause.getMessage();
                if (System.getenv("RESTART_TRACE") != null) e.printStackTrace();
            }
            System.out.println(answer.replace('\n', ' '));
        }
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    static String restart(String[] w) throws Exception {
        Properties defaults = new Properties();
        Map<String, LogConfig> topics = new HashMap<>();
        Map<String, Properties> own = new HashMap<>();
        for (int i = 3; i < w.length; i++) {
            String[] named = w[i].split(":", 2);
            Properties p = new Properties();
            for (String pair : named[1].split(";")) if (!pair.isEmpty()) p.put(pair.split("=")[0], pair.split("=")[1]);
            if (named[0].equals("*")) defaults = p;
            else own.put(named[0], p);
        }
        Properties base = defaults;
        own.forEach((topic, p) -> {
            Properties all = new Properties();
            all.putAll(base);
            all.putAll(p);
            topics.put(topic, new LogConfig(all));
        });
        LogConfig config = new LogConfig(defaults);
        LogDirFailureChannel channel = new LogDirFailureChannel(1);
        kafka.log.LogManager m = new kafka.log.LogManager(
            CollectionConverters.asScala(List.of(new File(w[0]))).toSeq(), CollectionConverters.asScala(List.<File>of()).toSeq(),
            resource -> new Properties(), config, new CleanerConfig(false), 1, 3_000L, 60_000L, 60_000L, 300_000L, 900_000,
            new ProducerStateManagerConfig(86_400_000, false), 600_000, new Later(), new BrokerTopicStats(false),
            channel, new Clock(Long.parseLong(w[1])), false, 30_000L,
            (c, dirs, logs, failures, time) -> new LogCleaner(c, dirs, logs, failures, time));
        m.loadLogs(config, scala.collection.immutable.Map$.MODULE$.from(CollectionConverters.asScala(topics)), log -> false);
        if (channel.hasOfflineLogDir(w[0])) return "offline";
        for (UnifiedLog log : CollectionConverters.asJava(m.allLogs())) log.updateHighWatermark(log.logEndOffset());
        for (String what : w[2].split(",")) {
            String[] words = what.split(" ");
            if (words[0].equals("retain"))
                for (UnifiedLog log : CollectionConverters.asJava(m.allLogs())) if (!log.config().compact) log.deleteOldSegments();
            if (words[0].equals("delete")) {
                UnifiedLog log = m.getLog(new TopicPartition(words[1], 0), false).get();
                long offset = Long.parseLong(words[2]);
                log.maybeIncrementLogStartOffset(offset < 0 ? log.highWatermark() : offset, LogStartOffsetIncrementReason.ClientRecordDeletion);
            }
        }
        m.shutdown(-1L);
        return channel.hasOfflineLogDir(w[0]) ? "offline" : "done";
    }
}
