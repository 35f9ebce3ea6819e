import java.io.File;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Properties;
import java.util.Random;
import java.util.stream.Stream;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.FileRecords;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.MemoryRecordsBuilder;
import org.apache.kafka.common.record.MutableRecordBatch;
import org.apache.kafka.common.record.Record;
import org.apache.kafka.common.record.RecordBatch;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.utils.BufferSupplier;
import org.apache.kafka.common.utils.CloseableIterator;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.common.RequestLocal;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.server.util.KafkaScheduler;
import org.apache.kafka.storage.internals.epoch.LeaderEpochFileCache;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.CleanerConfig;
import org.apache.kafka.storage.internals.log.FetchDataInfo;
import org.apache.kafka.storage.internals.log.LogCleaner;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogSegment;
import org.apache.kafka.storage.internals.log.OffsetIndex;
import org.apache.kafka.storage.internals.log.ProducerStateManager;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.internals.log.VerificationGuard;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

/**
 * Kafka's own engine, timed in a warm JVM: append, recovery, reading, looking up, loading.
 * Prints nanoseconds of CPU and of wall time, the best of several rounds, and how much was done.
 */
public final class EnginePeer {
    static final int ROUNDS = 5;
    static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    static final KafkaScheduler SCHEDULER = new KafkaScheduler(1, true, "bench-");

    public static void main(String[] a) throws Exception {
        SCHEDULER.startup();
        switch (a[0]) {
            case "append" -> append(new File(a[1]), Integer.parseInt(a[2]), Integer.parseInt(a[3]));
            case "recover" -> recover(a);
            case "read" -> read(new File(a[1]));
            case "lookup" -> lookup(new File(a[1]), Integer.parseInt(a[2]));
            case "random" -> random(new File(a[1]), Integer.parseInt(a[2]));
            case "time" -> time(new File(a[1]), Integer.parseInt(a[2]));
            case "partitions" -> partitions(new File(a[1]), Integer.parseInt(a[2]));
            case "load" -> load(new File(a[1]), a[2].equals("crash"));
            default -> throw new IllegalArgumentException(a[0]);
        }
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    interface Run { long go() throws Exception; }

    static void best(Run run) throws Exception {
        long cpu = Long.MAX_VALUE, wall = Long.MAX_VALUE, count = run.go();
        for (int i = 0; i < ROUNDS; i++) {
            long c = THREADS.getCurrentThreadCpuTime(), w = System.nanoTime();
            count = run.go();
            wall = Math.min(wall, System.nanoTime() - w);
            cpu = Math.min(cpu, THREADS.getCurrentThreadCpuTime() - c);
        }
        System.out.println(cpu + " " + wall + " " + count);
    }

    static LogConfig config(String... pairs) {
        Properties p = new Properties();
        p.put("segment.bytes", "2147483647");
        for (int i = 0; i < pairs.length; i += 2) p.put(pairs[i], pairs[i + 1]);
        return new LogConfig(p);
    }

    static UnifiedLog open(File dir, LogConfig config) throws Exception {
        return UnifiedLog.create(dir, config, 0L, Long.MAX_VALUE, SCHEDULER, new BrokerTopicStats(false), Time.SYSTEM, 300_000,
            new ProducerStateManagerConfig(86_400_000, false), 600_000, new LogDirFailureChannel(10), true, Optional.empty());
    }

    static void remove(File dir) throws Exception {
        if (!dir.exists()) return;
        try (Stream<Path> all = Files.walk(dir.toPath())) {
            for (Path p : (Iterable<Path>) all.sorted(Comparator.reverseOrder())::iterator) Files.delete(p);
        }
    }

    /**
     * Batches of 16 KB of 100 byte values; only the calls are timed. One a call as a client appends them; more as a
     * follower, for a client may send one only.
     */
    static void append(File root, int perCall, int batches) throws Exception {
        Random random = new Random(1);
        ByteBuffer all = ByteBuffer.allocate(perCall * 20_000);
        int[] starts = new int[perCall], counts = new int[perCall];
        for (int i = 0; i < perCall; i++) {
            ByteBuffer buffer = ByteBuffer.allocate(20_000);
            MemoryRecordsBuilder b = MemoryRecords.builder(buffer, RecordBatch.MAGIC_VALUE_V2, Compression.NONE, TimestampType.CREATE_TIME, 0L,
                RecordBatch.NO_TIMESTAMP, RecordBatch.NO_PRODUCER_ID, RecordBatch.NO_PRODUCER_EPOCH, RecordBatch.NO_SEQUENCE, false, 0);
            byte[] value = new byte[100];
            while (b.estimatedSizeInBytes() < 16_384) {
                random.nextBytes(value);
                counts[i]++;
                b.append(System.currentTimeMillis(), String.format("key-%09d", random.nextInt(1_000_000)).getBytes(), value);
            }
            starts[i] = all.position();
            all.put(b.build().buffer());
        }
        all.flip();
        long cpu = Long.MAX_VALUE, wall = Long.MAX_VALUE, done = 0;
        RequestLocal local = RequestLocal.withThreadConfinedCaching();
        for (int round = 0; round <= ROUNDS; round++) {
            File dir = new File(root, "append-" + round);
            remove(dir);
            UnifiedLog log = open(dir, config());
            MemoryRecords records = MemoryRecords.readableRecords(all);
            long offset = 0, c = THREADS.getCurrentThreadCpuTime(), w = System.nanoTime();
            for (done = 0; done < batches; done += perCall) {
                if (perCall == 1) {
                    all.putLong(0, 0L);
                    log.appendAsLeader(records, 0, AppendOrigin.CLIENT, local, VerificationGuard.SENTINEL, (short) 0);
                } else {
                    for (int i = 0; i < perCall; i++) {
                        all.putLong(starts[i], offset);
                        offset += counts[i];
                    }
                    log.appendAsFollower(records, 0);
                }
            }
            if (round > 0) {
                wall = Math.min(wall, System.nanoTime() - w);
                cpu = Math.min(cpu, THREADS.getCurrentThreadCpuTime() - c);
            }
            log.close();
            remove(dir);
        }
        System.out.println(cpu + " " + wall + " " + done);
    }

    /** Folders with one segment each, all at the same time: CPU of all threads, wall time, bytes. */
    static void recover(String[] a) throws Exception {
        long cpu = Long.MAX_VALUE, wall = Long.MAX_VALUE, bytes = 0;
        for (int round = 0; round <= ROUNDS; round++) {
            long[] used = new long[a.length - 1];
            List<Thread> threads = new ArrayList<>();
            long w = System.nanoTime();
            bytes = 0;
            for (int i = 1; i < a.length; i++) {
                File dir = new File(a[i]);
                int at = i - 1;
                bytes += new File(dir, "00000000000000000000.log").length();
                Thread t = new Thread(() -> {
                    try {
                        used[at] = recoverOne(dir);
                    } catch (Exception e) {
                        throw new RuntimeException(e);
                    }
                });
                t.start();
                threads.add(t);
            }
            for (Thread t : threads) t.join();
            if (round > 0) {
                wall = Math.min(wall, System.nanoTime() - w);
                long sum = 0;
                for (long one : used) sum += one;
                cpu = Math.min(cpu, sum);
            }
        }
        System.out.println(cpu + " " + wall + " " + bytes);
    }

    static long recoverOne(File dir) throws Exception {
        long c = THREADS.getCurrentThreadCpuTime();
        TopicPartition tp = UnifiedLog.parseTopicPartitionName(dir);
        ProducerStateManager psm = new ProducerStateManager(tp, dir, 300_000, new ProducerStateManagerConfig(86_400_000, false), Time.SYSTEM);
        LeaderEpochFileCache epochs = UnifiedLog.createLeaderEpochCache(dir, tp, new LogDirFailureChannel(1), Optional.empty(), SCHEDULER);
        LogSegment s = LogSegment.open(dir, 0L, config(), Time.SYSTEM, 0, false);
        int cut = s.recover(psm, epochs);
        s.close();
        if (cut != 0) throw new IllegalStateException("cut " + cut);
        return THREADS.getCurrentThreadCpuTime() - c;
    }

    static byte[] keep = new byte[1 << 20];

    /** All records of a log by fetches of 1 MiB, keys and values copied out. */
    static void read(File dir) throws Exception {
        UnifiedLog log = open(dir, config());
        BufferSupplier supplier = BufferSupplier.create();
        ByteBuffer buffer = ByteBuffer.allocate(2 << 20);
        best(() -> {
            long offset = 0, count = 0, end = log.logEndOffset();
            while (offset < end) {
                FetchDataInfo f = log.read(offset, 1 << 20, FetchIsolation.LOG_END, true);
                FileRecords slice = (FileRecords) f.records;
                buffer.clear().limit(slice.sizeInBytes());
                slice.readInto(buffer, 0);
                for (MutableRecordBatch batch : MemoryRecords.readableRecords(buffer).batches()) {
                    batch.ensureValid();
                    try (CloseableIterator<Record> it = batch.streamingIterator(supplier)) {
                        while (it.hasNext()) {
                            Record r = it.next();
                            ByteBuffer k = r.key(), v = r.value();
                            if (k != null) k.get(keep, 0, k.remaining());
                            if (v != null) v.get(keep, 0, v.remaining());
                            count++;
                        }
                    }
                    offset = batch.nextOffset();
                }
            }
            return count;
        });
        log.close();
    }

    static long[] offsets(long end, int count) {
        return new Random(7).longs(count, 0, end).toArray();
    }

    static void lookup(File dir, int count) throws Exception {
        UnifiedLog log = open(dir, config());
        OffsetIndex index = log.activeSegment().offsetIndex();
        long[] offsets = offsets(log.logEndOffset(), count);
        best(() -> {
            long sum = 0;
            for (long offset : offsets) sum += index.lookup(offset).position();
            if (sum == 42) System.out.println();
            return count;
        });
        log.close();
    }

    static void random(File dir, int count) throws Exception {
        UnifiedLog log = open(dir, config());
        long[] offsets = offsets(log.logEndOffset(), count);
        best(() -> {
            long sum = 0;
            for (long offset : offsets) sum += log.read(offset, 1, FetchIsolation.LOG_END, true).records.sizeInBytes();
            if (sum == 42) System.out.println();
            return count;
        });
        log.close();
    }

    /** Records have the timestamps 1,700,000,000,000 + offset. */
    static void time(File dir, int count) throws Exception {
        UnifiedLog log = open(dir, config());
        long[] offsets = offsets(log.logEndOffset(), count);
        best(() -> {
            for (long offset : offsets) {
                long found = log.fetchOffsetByTimestamp(1_700_000_000_000L + offset, Optional.empty()).timestampAndOffsetOpt().get().offset;
                if (found != offset) throw new IllegalStateException(found + " for " + offset);
            }
            return count;
        });
        log.close();
    }

    static kafka.log.LogManager manager(File root) {
        return new kafka.log.LogManager(
            scala.jdk.javaapi.CollectionConverters.asScala(List.of(root)).toSeq(),
            scala.jdk.javaapi.CollectionConverters.asScala(List.<File>of()).toSeq(),
            resource -> new Properties(), new LogConfig(new Properties()), new CleanerConfig(false), 2, 3_000L, 60_000L, 60_000L, 300_000L, 900_000,
            new ProducerStateManagerConfig(86_400_000, false), 600_000, SCHEDULER, new BrokerTopicStats(false),
            new LogDirFailureChannel(1), Time.SYSTEM, false, 30_000L,
            (c, dirs, logs, channel, time) -> new LogCleaner(c, dirs, logs, channel, time));
    }

    /** A log directory of many small partitions with two segments, stopped cleanly by a log manager. */
    static void partitions(File root, int count) throws Exception {
        for (int i = 0; i < count; i++) {
            File dir = new File(root, String.format("topic%03d-%d", i / 100, i % 100));
            UnifiedLog log = open(dir, config("segment.index.bytes", "4096"));
            for (int n = 0; n < 2; n++) {
                MemoryRecordsBuilder b = MemoryRecords.builder(ByteBuffer.allocate(4096), RecordBatch.MAGIC_VALUE_V2,
                    Compression.NONE, TimestampType.CREATE_TIME, 0L);
                b.append(1_700_000_000_000L + i, ("key" + i).getBytes(), new byte[100]);
                log.appendAsLeader(b.build(), 0, AppendOrigin.CLIENT, RequestLocal.noCaching(), VerificationGuard.SENTINEL, (short) 0);
                if (n == 0) log.roll(Optional.empty());
            }
            log.close();
        }
        Files.writeString(new File(root, ".kafka_cleanshutdown").toPath(), "{\"version\":0,\"brokerEpoch\":-1}");
        kafka.log.LogManager m = manager(root);
        m.loadLogs(new LogConfig(new Properties()), scala.collection.immutable.Map$.MODULE$.empty(), log -> false);
        m.shutdown(-1L);
    }

    /** What a starting broker does with the directory; stopped in order then, or not at all. */
    static void load(File root, boolean crash) throws Exception {
        kafka.log.LogManager m = manager(root);
        long c = ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
        long w = System.nanoTime();
        m.loadLogs(new LogConfig(new Properties()), scala.collection.immutable.Map$.MODULE$.empty(), log -> false);
        long wall = System.nanoTime() - w;
        long cpu = ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime() - c;
        if (!crash) m.shutdown(-1L);
        System.out.println(cpu + " " + wall + " " + m.allLogs().size());
    }
}
