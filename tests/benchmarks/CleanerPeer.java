import java.io.File;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.Optional;
import java.util.Properties;
import java.util.Random;
import java.util.concurrent.ScheduledFuture;
import java.util.stream.Stream;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.CompressionType;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.MemoryRecordsBuilder;
import org.apache.kafka.common.record.RecordBatch;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.common.RequestLocal;
import org.apache.kafka.server.util.KafkaScheduler;
import org.apache.kafka.server.util.Scheduler;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.Cleaner;
import org.apache.kafka.storage.internals.log.CleanerConfig;
import org.apache.kafka.storage.internals.log.CleanerStats;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogToClean;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.SkimpyOffsetMap;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.internals.log.VerificationGuard;
import org.apache.kafka.storage.internals.utils.Throttler;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

/**
 * Kafka's own cleaner, timed in a warm JVM, and the maker of the logs that it and ours clean.
 * Prints nanoseconds of CPU and of wall time, the best of several rounds, and the bytes of the log.
 */
public final class CleanerPeer {
    static final int ROUNDS = 2;
    static final int OFFSET_MAP = 128 << 20;
    static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    public static void main(String[] a) throws Exception {
        switch (a[0]) {
            case "generate" -> generate(new File(a[1]), a[2], Integer.parseInt(a[3]), Integer.parseInt(a[4]));
            case "clean" -> clean(Path.of(a[1]), Path.of(a[2]), Long.parseLong(a[3]), false);
            case "map" -> clean(Path.of(a[1]), Path.of(a[2]), Long.parseLong(a[3]), true);
            default -> throw new IllegalArgumentException(a[0]);
        }
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    static UnifiedLog open(File dir, long recoveryPoint) throws Exception {
        KafkaScheduler scheduler = new KafkaScheduler(1, true, "bench-");
        scheduler.startup();
        Scheduler idle = new Scheduler() {
            public void startup() { }
            public void shutdown() { }
            public ScheduledFuture<?> schedule(String name, Runnable task, long delay, long period) {
                return scheduler.schedule(name, () -> { }, Long.MAX_VALUE >> 24, -1);
            }
            public void resizeThreadPool(int size) { }
        };
        Properties p = new Properties();
        p.put("segment.bytes", "134217728");
        p.put("cleanup.policy", "compact");
        return UnifiedLog.create(dir, new LogConfig(p), 0L, recoveryPoint, idle, new BrokerTopicStats(false), Time.SYSTEM, 300_000,
            new ProducerStateManagerConfig(86_400_000, false), 600_000, new LogDirFailureChannel(10), true, Optional.empty());
    }

    /** Text that compresses about threefold, as events do: words out of four hundred. */
    static byte[] words(Random random, int size) {
        StringBuilder text = new StringBuilder();
        while (text.length() < size) {
            int word = (int) (400 * Math.pow(random.nextDouble(), 2));
            text.append("\"").append(Integer.toString(word * 7919 + 100, 36)).append("\":").append(random.nextInt(1000)).append(',');
        }
        return text.substring(0, size).getBytes();
    }

    /** Records of about 107 bytes in batches of 16 KB before compression, keys at random; an empty active segment. */
    static void generate(File dir, String codec, int records, int keys) throws Exception {
        dir.mkdirs();
        UnifiedLog log = open(dir, 0L);
        Random random = new Random(1);
        byte[][] values = new byte[4093][];
        for (int i = 0; i < values.length; i++) values[i] = words(random, 84);
        Compression compression = Compression.of(CompressionType.forName(codec)).build();
        ByteBuffer buffer = ByteBuffer.allocate(64 << 10);
        RequestLocal local = RequestLocal.withThreadConfinedCaching();
        for (int offset = 0; offset < records; ) {
            buffer.clear();
            MemoryRecordsBuilder b = MemoryRecords.builder(buffer, RecordBatch.MAGIC_VALUE_V2, compression, TimestampType.CREATE_TIME, 0L);
            for (int size = 0; size < 16_384 && offset < records; offset++) {
                byte[] key = String.format("key-%09d", random.nextInt(keys)).getBytes();
                b.append(1_700_000_000_000L + offset, key, values[random.nextInt(values.length)]);
                size += 107;
            }
            log.appendAsLeader(b.build(), 0, AppendOrigin.CLIENT, local, VerificationGuard.SENTINEL, (short) 0);
        }
        log.roll(Optional.empty());
        log.flush(true);
        log.close();
        System.out.println(records);
    }

    static void remove(Path dir) throws Exception {
        if (!Files.exists(dir)) return;
        try (Stream<Path> all = Files.walk(dir)) {
            for (Path p : (Iterable<Path>) all.sorted(Comparator.reverseOrder())::iterator) Files.delete(p);
        }
    }

    /** Links to the files that cleaning only renames and removes, copies of the others. */
    static void view(Path from, Path to) throws Exception {
        remove(to);
        Files.createDirectories(to);
        try (Stream<Path> all = Files.list(from)) {
            for (Path p : (Iterable<Path>) all::iterator) {
                Path target = to.resolve(p.getFileName());
                if (p.toString().endsWith(".log")) Files.createLink(target, p);
                else Files.copy(p, target);
            }
        }
    }

    static void clean(Path from, Path to, long now, boolean mapOnly) throws Exception {
        long cpu = Long.MAX_VALUE, wall = Long.MAX_VALUE, bytes = 0;
        Throttler none = new Throttler(Double.MAX_VALUE, 300, "cleaner-io", "bytes", Time.SYSTEM);
        for (int round = 0; round <= ROUNDS; round++) {
            view(from, to);
            UnifiedLog log = open(to.toFile(), Long.MAX_VALUE);
            TopicPartition partition = log.topicPartition();
            Cleaner cleaner = new Cleaner(0, new SkimpyOffsetMap(OFFSET_MAP, new CleanerConfig(true).hashAlgorithm()), 262_144,
                1_048_588, 0.9, none, Time.SYSTEM, tp -> { });
            bytes = log.size();
            long end = log.activeSegment().baseOffset();
            long c = THREADS.getCurrentThreadCpuTime(), w = System.nanoTime();
            if (mapOnly) cleaner.buildOffsetMap(log, 0L, end, cleaner.offsetMap(), new CleanerStats(Time.SYSTEM));
            else cleaner.doClean(new LogToClean(log, 0L, end, false), now);
            w = System.nanoTime() - w;
            c = THREADS.getCurrentThreadCpuTime() - c;
            if (round > 0) {
                cpu = Math.min(cpu, c);
                wall = Math.min(wall, w);
            }
        }
        System.out.println(cpu + " " + wall + " " + bytes);
    }
}
