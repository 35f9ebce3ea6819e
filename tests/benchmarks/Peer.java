import java.io.File;
import java.io.RandomAccessFile;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Properties;
import java.util.Random;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.CompressionType;
import org.apache.kafka.common.record.FileRecords;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.MemoryRecordsBuilder;
import org.apache.kafka.common.record.MutableRecordBatch;
import org.apache.kafka.common.record.Record;
import org.apache.kafka.common.record.RecordBatch;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.requests.ProduceRequest;
import org.apache.kafka.common.utils.BufferSupplier;
import org.apache.kafka.common.utils.CloseableIterator;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.util.KafkaScheduler;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.CleanerConfig;
import org.apache.kafka.storage.internals.log.LogCleaner;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.internals.log.VerificationGuard;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

/**
 * Kafka's own classes, timed in a warm JVM: the opponent of the benchmarks, and the maker of their files.
 * Prints nanoseconds of CPU and of wall time, the best of several rounds.
 */
public final class Peer {
    static final int ROUNDS = 7;

    public static void main(String[] a) throws Exception {
        switch (a[0]) {
            case "generate" -> generate(Path.of(a[1]), a[2], Integer.parseInt(a[3]), Long.parseLong(a[4]), Integer.parseInt(a[5]));
            case "records" -> best(() -> records(new File(a[1])));
            case "headers" -> best(() -> headers(new File(a[1])));
            case "partitions" -> partitions(new File(a[1]), Integer.parseInt(a[2]));
            case "load" -> load(new File(a[1]));
            default -> throw new IllegalArgumentException(a[0]);
        }
        System.exit(0);
    }

    interface Run { long go() throws Exception; }

    static void best(Run run) throws Exception {
        long cpu = Long.MAX_VALUE, wall = Long.MAX_VALUE, count = 0;
        for (int i = 0; i < ROUNDS; i++) {
            long c = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime(), w = System.nanoTime();
            count = run.go();
            wall = Math.min(wall, System.nanoTime() - w);
            cpu = Math.min(cpu, ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() - c);
        }
        System.out.println(cpu + " " + wall + " " + count);
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

    /** Batches of about batchSize bytes before compression. */
    static void generate(Path out, String codec, int valueSize, long total, int batchSize) throws Exception {
        Random random = new Random(1);
        byte[][] values = new byte[509][valueSize];
        for (int i = 0; i < values.length; i++) values[i] = words(random, valueSize);
        Compression compression = Compression.of(CompressionType.forName(codec)).build();
        long offset = 0;
        ByteBuffer buffer = ByteBuffer.allocate(batchSize * 2 + 4096);
        try (FileChannel file = new RandomAccessFile(out.toFile(), "rw").getChannel()) {
            while (file.size() < total) {
                buffer.clear();
                MemoryRecordsBuilder b = MemoryRecords.builder(buffer, RecordBatch.MAGIC_VALUE_V2, compression, TimestampType.CREATE_TIME, offset);
                int size = 0;
                while (size < batchSize) {
                    byte[] key = String.format("key-%09d", random.nextInt(1_000_000)).getBytes();
                    b.append(1_700_000_000_000L + offset, key, values[random.nextInt(values.length)]);
                    size += key.length + valueSize + 10;
                    offset++;
                }
                ByteBuffer made = b.build().buffer();
                while (made.hasRemaining()) file.write(made);
            }
        }
        System.out.println(offset);
    }

    static byte[] keep = new byte[1 << 20];

    /** What a consumer does: 1 MiB reads, CRC, key and value of every record copied out. */
    static long records(File f) throws Exception {
        long count = 0;
        BufferSupplier supplier = BufferSupplier.create();
        ByteBuffer buffer = ByteBuffer.allocate(1 << 20);
        try (FileRecords file = FileRecords.open(f, false)) {
            int at = 0;
            while (at < file.sizeInBytes()) {
                buffer.clear();
                file.channel().read(buffer, at);
                buffer.flip();
                int done = 0;
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
                    done += batch.sizeInBytes();
                }
                at += done;
            }
        }
        return count;
    }

    /** The header of every batch of a file opened anew. */
    static long headers(File f) throws Exception {
        long count = 0, sum = 0;
        try (FileRecords file = FileRecords.open(f, false)) {
            for (RecordBatch batch : file.batches()) {
                sum += batch.lastOffset() + batch.maxTimestamp() + batch.producerId();
                count++;
            }
        }
        if (sum == 42) System.out.println();
        return count;
    }

    static LogConfig config() {
        Properties p = new Properties();
        p.put("segment.bytes", "1048576");
        return new LogConfig(p);
    }

    /** A log directory of many small partitions, closed cleanly. */
    static void partitions(File root, int count) throws Exception {
        KafkaScheduler scheduler = new KafkaScheduler(1, true, "bench-");
        scheduler.startup();
        for (int i = 0; i < count; i++) {
            File dir = new File(root, String.format("topic%03d-%d", i / 100, i % 100));
            dir.mkdirs();
            UnifiedLog log = UnifiedLog.create(dir, config(), 0L, 0L, scheduler, new BrokerTopicStats(false), Time.SYSTEM, 300_000,
                new ProducerStateManagerConfig(86_400_000, false), 600_000, new LogDirFailureChannel(10), true, Optional.empty());
            for (int n = 0; n < 2; n++) {
                MemoryRecordsBuilder b = MemoryRecords.builder(ByteBuffer.allocate(4096), RecordBatch.MAGIC_VALUE_V2,
                    Compression.NONE, TimestampType.CREATE_TIME, 0L);
                b.append(1_700_000_000_000L + i, ("key" + i).getBytes(), new byte[100]);
                log.appendAsLeader(b.build(), 0, AppendOrigin.CLIENT, org.apache.kafka.server.common.RequestLocal.withThreadConfinedCaching(),
                    VerificationGuard.SENTINEL, (short) 0);
                if (n == 0) log.roll(Optional.empty());
            }
            log.flush(true);
            log.close();
        }
        Files.writeString(new File(root, ".kafka_cleanshutdown").toPath(), "{\"version\":0,\"brokerEpoch\":-1}");
        scheduler.shutdown();
    }

    /** What a starting broker does with the directory; closes it cleanly again. */
    static void load(File root) throws Exception {
        KafkaScheduler scheduler = new KafkaScheduler(1, true, "bench-");
        scheduler.startup();
        kafka.log.LogManager m = new kafka.log.LogManager(
            scala.jdk.javaapi.CollectionConverters.asScala(List.of(root)).toSeq(),
            scala.jdk.javaapi.CollectionConverters.asScala(List.<File>of()).toSeq(),
            resource -> new Properties(), config(), new CleanerConfig(false), 2, 3_000L, 60_000L, 60_000L, 300_000L, 900_000,
            new ProducerStateManagerConfig(86_400_000, false), 600_000, scheduler, new BrokerTopicStats(false),
            new LogDirFailureChannel(1), Time.SYSTEM, false, 30_000L,
            (c, dirs, logs, channel, time) -> new LogCleaner(c, dirs, logs, channel, time));
        long w = System.nanoTime();
        m.loadLogs(config(), scala.collection.immutable.Map$.MODULE$.empty(), log -> false);
        System.out.println(0 + " " + (System.nanoTime() - w) + " " + m.allLogs().size());
        m.shutdown(-1L);
    }
}
