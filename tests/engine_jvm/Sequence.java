import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.PriorityQueue;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Delayed;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.zip.CRC32;
import org.apache.kafka.common.message.FetchResponseData;
import org.apache.kafka.common.record.FileRecords;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.common.RequestLocal;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.server.util.Scheduler;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.Cleaner;
import org.apache.kafka.storage.internals.log.CleanerStats;
import org.apache.kafka.storage.internals.log.FetchDataInfo;
import org.apache.kafka.storage.internals.log.LogAppendInfo;
import org.apache.kafka.storage.internals.log.LogCleanerManager;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogSegment;
import org.apache.kafka.storage.internals.log.LogStartOffsetIncrementReason;
import org.apache.kafka.storage.internals.log.LogToClean;
import org.apache.kafka.storage.internals.log.OffsetResultHolder;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.SkimpyOffsetMap;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.internals.log.VerificationGuard;
import org.apache.kafka.storage.internals.utils.Throttler;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

/**
 * Does with Kafka's own log what a text file says, and prints after each operation what came of it, the state of the log
 * and its files. Arguments: pairs of a script and the folder to work in, which is made.
 */
public final class Sequence {
    static final class Clock implements Time {
        long now = 1_800_000_000_000L;
        public long milliseconds() { return now; }
        public long nanoseconds() { return now * 1_000_000; }
        public void sleep(long ms) { now += ms; }
        public void waitObject(Object o, Supplier<Boolean> condition, long deadline) { throw new UnsupportedOperationException(); }
    }

    static final class Task extends CompletableFuture<Object> implements ScheduledFuture<Object> {
        final Runnable run;
        final long number, period;
        long due;
        Task(Runnable run, long number, long due, long period) {
            this.run = run;
            this.number = number;
            this.due = due;
            this.period = period;
        }
        public long getDelay(TimeUnit unit) { return 0; }
        public int compareTo(Delayed other) {
            Task o = (Task) other;
            return due != o.due ? Long.compare(due, o.due) : Long.compare(number, o.number);
        }
    }

    /** Runs what is due after each operation, in order of time. */
    final class Later implements Scheduler {
        final PriorityQueue<Task> tasks = new PriorityQueue<>();
        long count = 0;
        public void startup() { }
        public void shutdown() { tasks.clear(); }
        public void resizeThreadPool(int size) { }
        public ScheduledFuture<?> schedule(String name, Runnable run, long delay, long period) {
            Task task = new Task(run, count++, clock.now + delay, period);
            tasks.add(task);
            return task;
        }
        void runDue() {
            while (!tasks.isEmpty() && tasks.peek().due <= clock.now) {
                Task task = tasks.poll();
                if (task.isCancelled()) continue;
                task.run.run();
                if (task.period > 0) {
                    task.due += task.period;
                    tasks.add(task);
                }
            }
        }
    }

    final Clock clock = new Clock();
    final Later scheduler = new Later();
    final File dir;
    LogConfig config = new LogConfig(new Properties());
    UnifiedLog log;
    long lastRecoveryPoint, lastStart, lastClean;
    int kept;
    final StringBuilder out = new StringBuilder();

    Sequence(File dir) { this.dir = dir; }

    public static void main(String[] a) throws Exception {
        for (int i = 0; i + 1 < a.length; i += 2) {
            Sequence s = new Sequence(new File(a[i + 1]));
            int number = 0;
            for (String line : Files.readAllLines(Path.of(a[i]))) {
                s.out.append(number++).append(' ').append(line.split(" ", 2)[0]).append(' ');
                String answer;
                try {
                    answer = s.run(line.split(" "));
                    s.scheduler.runDue();
                } catch (Exception e) {
                    answer = "error " + e.getClass().getSimpleName();
                    if (System.getenv("SEQUENCE_TRACE") != null) e.printStackTrace();
                }
                s.out.append(answer).append('\n');
                if (s.log != null) s.out.append("  ").append(s.state()).append('\n');
                s.out.append("  ").append(s.files()).append('\n');
            }
            Files.writeString(Path.of(a[i] + ".kafka"), s.out);
        }
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    String run(String[] w) throws Exception {
        switch (w[0]) {
            case "config" -> {
                Properties p = new Properties();
                for (int i = 1; i < w.length; i++) p.put(w[i].split("=")[0], w[i].split("=")[1]);
                config = new LogConfig(p);
                if (log != null) log.updateConfig(config);
            }
            case "now" -> clock.now = Long.parseLong(w[1]);
            case "open" -> {
                long recoveryPoint = w[2].equals("last") ? lastRecoveryPoint : Long.parseLong(w[2]);
                long logStart = w[3].equals("last") ? lastStart : Long.parseLong(w[3]);
                log = UnifiedLog.create(dir, config, logStart, recoveryPoint, scheduler, new BrokerTopicStats(false), clock, 900_000,
                    new ProducerStateManagerConfig(86_400_000, false), 600_000, new LogDirFailureChannel(10), w[1].equals("clean"), Optional.empty());
            }
            case "close" -> {
                log.close();
                forget();
            }
            case "crash" -> forget();
            case "append" -> {
                MemoryRecords records = records(w[3]);
                return appended(log.appendAsLeader(records, Integer.parseInt(w[1]), AppendOrigin.valueOf(w[2].toUpperCase()),
                    RequestLocal.noCaching(), VerificationGuard.SENTINEL, (short) 0));
            }
            case "follow" -> {
                return appended(log.appendAsFollower(records(w[2]), Integer.parseInt(w[1])));
            }
            case "roll" -> { return Long.toString(log.roll().baseOffset()); }
            case "flush" -> log.flush(w[1].equals("all"));
            case "flushto" -> log.flushUptoOffsetExclusive(log.logEndOffset() * Long.parseLong(w[1]) / 100);
            case "highwatermark" -> { return Long.toString(log.updateHighWatermark(Long.parseLong(w[1]))); }
            case "truncate" -> { return Boolean.toString(log.truncateTo(Long.parseLong(w[1]))); }
            case "truncatefully" -> log.truncateFullyAndStartAt(Long.parseLong(w[1]),
                w.length > 2 ? Optional.of(Long.parseLong(w[2])) : Optional.empty());
            case "deleterecords" -> {
                return Boolean.toString(log.maybeIncrementLogStartOffset(Long.parseLong(w[1]), LogStartOffsetIncrementReason.ClientRecordDeletion));
            }
            case "retain" -> { return Integer.toString(log.deleteOldSegments()); }
            case "clean" -> { return clean(w[1], Integer.parseInt(w[2]), Double.parseDouble(w[3]), Integer.parseInt(w[4])); }
            case "keep" -> keep();
            case "snapshot" -> log.takeProducerSnapshot();
            case "expire" -> log.removeExpiredProducers(clock.now);
            case "read" -> { return read(Long.parseLong(w[1]), Integer.parseInt(w[2]), FetchIsolation.valueOf(w[3].toUpperCase()), w[4].equals("one")); }
            case "time" -> {
                OffsetResultHolder found = log.fetchOffsetByTimestamp(Long.parseLong(w[1]), Optional.empty());
                return found.timestampAndOffsetOpt().map(t -> t.timestamp + " " + t.offset + " " + t.leaderEpoch.orElse(-1)).orElse("none");
            }
            case "epoch" -> {
                return log.endOffsetForEpoch(Integer.parseInt(w[1])).map(e -> e.offset() + " " + e.epoch()).orElse("none");
            }
            default -> throw new IllegalArgumentException(w[0]);
        }
        return "done";
    }

    /** Clean once, from the checkpoint: "none", "last" or an offset. */
    String clean(String checkpoint, int slots, double loadFactor, int bufferSize) throws Exception {
        Optional<Long> clean = checkpoint.equals("none") ? Optional.empty()
            : Optional.of(checkpoint.equals("last") ? lastClean : Long.parseLong(checkpoint));
        LogCleanerManager.OffsetsToClean offsets = LogCleanerManager.cleanableOffsets(log, clean, clock.now);
        LogToClean it = new LogToClean(log, offsets.firstDirtyOffset(), offsets.firstUncleanableDirtyOffset(), false);
        String what = it.firstDirtyOffset() + " " + it.firstUncleanableOffset() + " " + it.cleanBytes() + " " + it.cleanableBytes();
        if (it.firstDirtyOffset() >= it.firstUncleanableOffset()) return what + " nothing";
        Throttler none = new Throttler(Double.MAX_VALUE, 300, "cleaner-io", "bytes", clock);
        Cleaner cleaner = new Cleaner(0, new SkimpyOffsetMap(slots * 24, "MD5"), bufferSize, 1_048_588, loadFactor, none, clock, tp -> { });
        Map.Entry<Long, CleanerStats> done = cleaner.doClean(it, clock.now);
        lastClean = done.getKey();
        CleanerStats s = done.getValue();
        return what + " end " + lastClean + " mapped " + s.mapMessagesRead() + " read " + s.messagesRead() + " " + s.bytesRead()
            + " written " + s.messagesWritten() + " " + s.bytesWritten() + " invalid " + s.invalidMessagesRead() + " full " + s.bufferUtilization();
    }

    /** Copy the files beside the folder, with their times: "t-0" to "kept-0", "kept-1" and so on. */
    void keep() throws IOException {
        Path into = dir.toPath().resolveSibling("kept-" + kept++);
        Files.createDirectory(into);
        for (File f : dir.listFiles()) Files.copy(f.toPath(), into.resolve(f.getName()), StandardCopyOption.COPY_ATTRIBUTES);
    }

    /** The checkpoints are taken to be up to date. */
    void forget() {
        lastRecoveryPoint = log.recoveryPoint();
        lastStart = log.logStartOffset();
        log = null;
        scheduler.tasks.clear();
    }

    static MemoryRecords records(String hex) {
        return MemoryRecords.readableRecords(ByteBuffer.wrap(HexFormat.of().parseHex(hex)));
    }

    static String appended(LogAppendInfo i) {
        return i.firstOffset() + " " + i.lastOffset() + " " + i.maxTimestamp() + " " + i.logAppendTime() + " " + i.logStartOffset();
    }

    String read(long offset, int size, FetchIsolation isolation, boolean minOne) throws IOException {
        FetchDataInfo f = log.read(offset, size, isolation, minOne);
        CRC32 crc = new CRC32();
        int bytes = f.records.sizeInBytes();
        if (f.records instanceof FileRecords r) {
            ByteBuffer b = ByteBuffer.allocate(bytes);
            r.readInto(b, 0);
            crc.update(b.array(), 0, b.limit());
        }
        StringBuilder s = new StringBuilder();
        s.append(f.fetchOffsetMetadata.messageOffset).append(' ').append(f.fetchOffsetMetadata.segmentBaseOffset).append(' ')
            .append(f.fetchOffsetMetadata.relativePositionInSegment).append(' ').append(bytes).append(' ')
            .append(bytes == 0 ? 0 : crc.getValue()).append(' ').append(f.firstEntryIncomplete);
        if (f.abortedTransactions.isPresent())
            for (FetchResponseData.AbortedTransaction t : f.abortedTransactions.get())
                s.append(' ').append(t.producerId()).append('@').append(t.firstOffset());
        return s.toString();
    }

    String state() {
        StringBuilder s = new StringBuilder();
        s.append("end ").append(log.logEndOffset()).append(" hw ").append(log.highWatermark()).append(" lso ").append(log.lastStableOffset())
            .append(" start ").append(log.logStartOffset()).append(" recovery ").append(log.recoveryPoint())
            .append(" unstable ").append(log.firstUnstableOffset().map(String::valueOf).orElse("none")).append(" segments");
        for (LogSegment segment : log.logSegments()) s.append(' ').append(segment.baseOffset()).append(':').append(segment.size());
        s.append(" epochs");
        log.leaderEpochCache().epochEntries().forEach(e -> s.append(' ').append(e.epoch()).append('@').append(e.startOffset()));
        s.append(" producers");
        new TreeMap<>(log.producerStateManager().activeProducers()).forEach((id, p) -> s.append(' ').append(id).append('/').append(p.producerEpoch())
            .append('/').append(p.lastSeq()).append('/').append(p.lastDataOffset()).append('/').append(p.currentTxnFirstOffset().orElse(-1)));
        return s.toString();
    }

    /** Names, sizes and checksums of all files. */
    String files() throws IOException {
        File[] found = dir.listFiles();
        if (found == null) return "no files";
        Arrays.sort(found);
        List<String> names = new ArrayList<>();
        for (File f : found) {
            byte[] data = Files.readAllBytes(f.toPath());
            CRC32 crc = new CRC32();
            crc.update(data);
            names.add(f.getName() + ":" + data.length + ":" + Long.toHexString(crc.getValue()));
        }
        return String.join(" ", names);
    }
}
