import java.io.File;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.requests.TransactionResult;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.coordinator.common.runtime.CoordinatorExecutor;
import org.apache.kafka.coordinator.common.runtime.CoordinatorLoaderImpl;
import org.apache.kafka.coordinator.common.runtime.CoordinatorPlayback;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.common.runtime.CoordinatorTimer;
import org.apache.kafka.coordinator.group.GroupConfigManager;
import org.apache.kafka.coordinator.group.GroupCoordinatorConfig;
import org.apache.kafka.coordinator.group.GroupCoordinatorRecordSerde;
import org.apache.kafka.coordinator.group.GroupCoordinatorShard;
import org.apache.kafka.coordinator.group.metrics.GroupCoordinatorMetrics;
import org.apache.kafka.server.util.KafkaScheduler;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;
import org.apache.kafka.timeline.SnapshotRegistry;

/**
 * Loads a partition of __consumer_offsets with Kafka's own loader, again and again in a warm JVM. Arguments: the partition's
 * folder, how often. Prints the records and the seconds of CPU time of each load.
 */
public final class OffsetLoadPeer {
    static final TopicPartition TP = new TopicPartition("__consumer_offsets", 0);
    static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    static final class NoTimer implements CoordinatorTimer<Void, CoordinatorRecord> {
        public void schedule(String key, long delay, TimeUnit unit, boolean retry, TimeoutOperation<Void, CoordinatorRecord> o) { }
        public void schedule(String key, long delay, TimeUnit unit, boolean retry, long backoff, TimeoutOperation<Void, CoordinatorRecord> o) { }
        public void scheduleIfAbsent(String key, long delay, TimeUnit unit, boolean retry, TimeoutOperation<Void, CoordinatorRecord> o) { }
        public void cancel(String key) { }
        public boolean isScheduled(String key) { return false; }
    }

    static final class NoExecutor implements CoordinatorExecutor<CoordinatorRecord> {
        public <R> boolean schedule(String key, TaskRunnable<R> task, TaskOperation<CoordinatorRecord, R> operation) { return false; }
        public boolean isScheduled(String key) { return false; }
        public void cancel(String key) { }
    }

    /** A shard with its snapshots, and the CPU time from its first record to its last snapshot. */
    static final class Playback implements CoordinatorPlayback<CoordinatorRecord> {
        final SnapshotRegistry snapshots = new SnapshotRegistry(new LogContext());
        final GroupCoordinatorShard shard;
        long records, started, ended;

        Playback() {
            GroupCoordinatorShard.Builder builder =
                new GroupCoordinatorShard.Builder(GroupCoordinatorConfig.fromProps(Map.of()), new GroupConfigManager(Map.of()));
            builder.withLogContext(new LogContext()).withSnapshotRegistry(snapshots).withTime(Time.SYSTEM).withTimer(new NoTimer())
                .withExecutor(new NoExecutor()).withTopicPartition(TP)
                .withCoordinatorMetrics(new GroupCoordinatorMetrics(new com.yammer.metrics.core.MetricsRegistry(), new Metrics()));
            builder.withAuthorizerPlugin(Optional.empty());
            shard = builder.build();
        }

        public void replay(long offset, long producer, short epoch, CoordinatorRecord record) {
            if (records++ == 0) started = THREADS.getCurrentThreadCpuTime();
            shard.replay(offset, producer, epoch, record);
        }

        public void replayEndTransactionMarker(long producer, short epoch, TransactionResult result) {
            shard.replayEndTransactionMarker(producer, epoch, result);
        }

        public void updateLastWrittenOffset(long offset) {
            snapshots.idempotentCreateSnapshot(offset);
            ended = THREADS.getCurrentThreadCpuTime();
        }

        public void updateLastCommittedOffset(long offset) { snapshots.deleteSnapshotsUpTo(offset); }
    }

    public static void main(String[] a) throws Exception {
        KafkaScheduler scheduler = new KafkaScheduler(1, true, "peer-");
        scheduler.startup();
        Properties p = new Properties();
        p.put("segment.bytes", "104857600");
        UnifiedLog log = UnifiedLog.create(new File(a[0]), new LogConfig(p), 0L, Long.MAX_VALUE, scheduler, new BrokerTopicStats(false), Time.SYSTEM,
            300_000, new ProducerStateManagerConfig(86_400_000, false), 600_000, new LogDirFailureChannel(10), true, Optional.empty());
        log.updateHighWatermark(log.logEndOffset());
        for (int i = 0; i < Integer.parseInt(a[1]); i++) {
            Playback playback = new Playback();
            try (CoordinatorLoaderImpl<CoordinatorRecord> loader = new CoordinatorLoaderImpl<>(Time.SYSTEM, tp -> Optional.of(log),
                    tp -> Optional.of(log.logEndOffset()), new GroupCoordinatorRecordSerde(), 5 << 20,
                    CoordinatorLoaderImpl.DEFAULT_COMMIT_INTERVAL_OFFSETS)) {
                loader.load(TP, playback).get();
            }
            System.out.println(playback.records + " " + (playback.ended - playback.started) / 1e9);
        }
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }
}
