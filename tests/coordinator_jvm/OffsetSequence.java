import java.net.InetAddress;
import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.DeleteGroupsResponseData;
import org.apache.kafka.common.message.OffsetCommitRequestData;
import org.apache.kafka.common.message.OffsetCommitResponseData;
import org.apache.kafka.common.message.OffsetDeleteRequestData;
import org.apache.kafka.common.message.OffsetDeleteResponseData;
import org.apache.kafka.common.message.OffsetFetchRequestData;
import org.apache.kafka.common.message.OffsetFetchResponseData;
import org.apache.kafka.common.message.TxnOffsetCommitRequestData;
import org.apache.kafka.common.message.TxnOffsetCommitResponseData;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.TransactionResult;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.coordinator.common.runtime.CoordinatorExecutor;
import org.apache.kafka.coordinator.common.runtime.CoordinatorMetadataImage;
import org.apache.kafka.coordinator.common.runtime.CoordinatorOperationExceptionHelper;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.common.runtime.CoordinatorResult;
import org.apache.kafka.coordinator.common.runtime.CoordinatorTimer;
import org.apache.kafka.coordinator.group.GroupConfigManager;
import org.apache.kafka.coordinator.group.GroupCoordinatorConfig;
import org.apache.kafka.coordinator.group.GroupCoordinatorRecordSerde;
import org.apache.kafka.coordinator.group.GroupCoordinatorShard;
import org.apache.kafka.coordinator.group.metrics.GroupCoordinatorMetrics;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;
import org.apache.kafka.timeline.SnapshotRegistry;

/**
 * Does with Kafka's own coordinator of groups what text files say, and writes beside each what came of it: for each line
 * the answer, then the records. Arguments: the files.
 */
public final class OffsetSequence {
    static final class Clock implements Time {
        long now;
        public long milliseconds() { return now; }
        public long nanoseconds() { return now * 1_000_000; }
        public void sleep(long ms) { now += ms; }
        public void waitObject(Object o, Supplier<Boolean> condition, long deadline) { throw new UnsupportedOperationException(); }
    }

    /** No time passes unless the script says so; sessions do not expire here. */
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

    record Context(int requestVersion) implements AuthorizableRequestContext {
        public String listenerName() { return "l"; }
        public SecurityProtocol securityProtocol() { return SecurityProtocol.PLAINTEXT; }
        public KafkaPrincipal principal() { return KafkaPrincipal.ANONYMOUS; }
        public InetAddress clientAddress() { return InetAddress.getLoopbackAddress(); }
        public int requestType() { return 0; }
        public String clientId() { return "c"; }
        public int correlationId() { return 0; }
    }

    /** What is in the log: a record, or a marker if there is none. */
    record Written(long producer, byte[] key, byte[] value, boolean commit) { }

    static final GroupCoordinatorRecordSerde SERDE = new GroupCoordinatorRecordSerde();
    static final HexFormat HEX = HexFormat.of();

    final Clock clock = new Clock();
    final List<Written> log = new ArrayList<>();
    SnapshotRegistry snapshots;
    long epoch;
    GroupCoordinatorShard shard;

    public static void main(String[] files) throws Exception {
        for (String file : files) {
            OffsetSequence s = new OffsetSequence();
            s.load();
            List<String> out = new ArrayList<>();
            for (String line : Files.readAllLines(Path.of(file))) out.add(s.run(line.split(" ", -1)));
            Files.write(Path.of(file + ".kafka"), out);
        }
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    void load() {
        LogContext context = new LogContext();
        snapshots = new SnapshotRegistry(context);
        GroupCoordinatorConfig config = GroupCoordinatorConfig.fromProps(Map.of("offset.metadata.max.bytes", "16", "offsets.retention.minutes", "1"));
        GroupCoordinatorShard.Builder builder = new GroupCoordinatorShard.Builder(config, new GroupConfigManager(Map.of()));
        builder.withLogContext(context).withSnapshotRegistry(snapshots).withTime(clock).withTimer(new NoTimer()).withExecutor(new NoExecutor())
            .withCoordinatorMetrics(new GroupCoordinatorMetrics(new com.yammer.metrics.core.MetricsRegistry(), new Metrics()))
            .withTopicPartition(new TopicPartition("__consumer_offsets", 0));
        builder.withAuthorizerPlugin(Optional.empty());
        shard = builder.build();
        for (int i = 0; i < log.size(); i++) replay(i, log.get(i));
        shard.onLoaded(CoordinatorMetadataImage.EMPTY);
        snapshot();
    }

    void replay(long offset, Written w) {
        if (w.key == null) {
            shard.replayEndTransactionMarker(w.producer, (short) 0, w.commit ? TransactionResult.COMMIT : TransactionResult.ABORT);
        } else {
            ByteBuffer value = w.value == null ? null : ByteBuffer.wrap(w.value);
            shard.replay(offset, w.producer, (short) 0, SERDE.deserialize(ByteBuffer.wrap(w.key), value));
        }
    }

    String run(String[] w) {
        boolean fails = w[0].startsWith("fail-");
        String operation = fails ? w[0].substring(5) : w[0];
        List<CoordinatorRecord> records = new ArrayList<>();
        StringBuilder answer = new StringBuilder();
        long producer = -1;
        try {
            switch (operation) {
                case "now" -> clock.now = Long.parseLong(w[1]);
                case "reload" -> load();
                case "translate" -> answer.append(' ').append(translate(Errors.forCode(Short.parseShort(w[1]))).code());
                case "record" -> {
                    byte[] value = w[2].equals("null") ? null : HEX.parseHex(w[2]);
                    append(new Written(-1, HEX.parseHex(w[1]), value, false));
                }
                case "marker" -> append(new Written(Long.parseLong(w[1]), null, null, w[2].equals("commit")));
                case "commit" -> commit(w, records, answer);
                case "transact" -> {
                    producer = Long.parseLong(w[1]);
                    transact(w, records, answer);
                }
                case "fetch" -> fetch(w, answer);
                case "fetch-all" -> fetch(w, answer);
                case "delete-offsets" -> deleteOffsets(w, records, answer);
                case "delete-groups" -> {
                    List<String> names = new ArrayList<>();
                    for (int i = 1; i < w.length; i++) names.add(text(w[i]));
                    CoordinatorResult<DeleteGroupsResponseData.DeletableGroupResultCollection, CoordinatorRecord> result =
                        shard.deleteGroups(new Context(2), names);
                    records.addAll(result.records());
                    result.response().forEach(g -> answer.append(' ').append(quote(g.groupId())).append('=').append(g.errorCode()));
                }
                case "gone" -> {
                    List<TopicPartition> gone = new ArrayList<>();
                    for (int i = 1; i < w.length; i++) gone.add(partition(w[i]));
                    records.addAll(shard.onPartitionsDeleted(gone).records());
                }
                case "cleanup" -> records.addAll(shard.cleanupGroupMetadata().records());
                default -> throw new IllegalArgumentException(operation);
            }
        } catch (Exception e) {
            if (System.getenv("SEQUENCE_TRACE") != null) e.printStackTrace();
            return "error " + Errors.forException(e).name();
        }
        if (fails && !records.isEmpty()) {
            snapshots.revertToSnapshot(epoch);
            return "failed";
        }
        List<String> written = new ArrayList<>();
        for (CoordinatorRecord r : records) {
            Written x = new Written(producer, SERDE.serializeKey(r), SERDE.serializeValue(r), false);
            written.add(HEX.formatHex(x.key) + ":" + (x.value == null ? "null" : HEX.formatHex(x.value)));
            append(x);
        }
        snapshot();
        if (!operation.equals("commit") && !operation.equals("transact")) written.sort(null);
        return "done" + answer + (written.isEmpty() ? "" : " | " + String.join(" ", written));
    }

    /** What the answer is when an append failed with an error. */
    static Errors translate(Errors error) {
        return CoordinatorOperationExceptionHelper.handleOperationException("append", "", error.exception(), (e, m) -> e,
            org.slf4j.LoggerFactory.getLogger(OffsetSequence.class));
    }

    void append(Written x) {
        replay(log.size(), x);
        log.add(x);
        snapshot();
    }

    /** Its number is not the log's end: what an operation without records made, a group, must outlive a failed append. */
    void snapshot() {
        snapshots.idempotentCreateSnapshot(++epoch);
        snapshots.deleteSnapshotsUpTo(epoch);
    }

    /** commit group member generation instance retention version partition:offset:epoch:metadata:id ... */
    void commit(String[] w, List<CoordinatorRecord> records, StringBuilder answer) {
        OffsetCommitRequestData request = new OffsetCommitRequestData().setGroupId(text(w[1])).setMemberId(text(w[2]))
            .setGenerationIdOrMemberEpoch(Integer.parseInt(w[3])).setGroupInstanceId(orNull(w[4])).setRetentionTimeMs(Long.parseLong(w[5]));
        for (int i = 7; i < w.length; i++) {
            String[] p = w[i].split(":", -1);
            TopicPartition tp = partition(p[0]);
            request.topics().add(new OffsetCommitRequestData.OffsetCommitRequestTopic().setName(tp.topic()).setTopicId(Uuid.fromString(p[4]))
                .setPartitions(List.of(new OffsetCommitRequestData.OffsetCommitRequestPartition().setPartitionIndex(tp.partition())
                    .setCommittedOffset(Long.parseLong(p[1])).setCommittedLeaderEpoch(Integer.parseInt(p[2])).setCommittedMetadata(text(p[3])))));
        }
        CoordinatorResult<OffsetCommitResponseData, CoordinatorRecord> result = shard.commitOffset(new Context(Integer.parseInt(w[6])), request);
        records.addAll(result.records());
        result.response().topics().forEach(t -> t.partitions().forEach(p ->
            answer.append(' ').append(quote(t.name())).append('-').append(p.partitionIndex()).append('=').append(p.errorCode())));
    }

    /** transact producer group member generation instance partition:offset:epoch:metadata ... */
    void transact(String[] w, List<CoordinatorRecord> records, StringBuilder answer) {
        TxnOffsetCommitRequestData request = new TxnOffsetCommitRequestData().setProducerId(Long.parseLong(w[1])).setGroupId(text(w[2]))
            .setMemberId(text(w[3])).setGenerationId(Integer.parseInt(w[4])).setGroupInstanceId(orNull(w[5]));
        for (int i = 6; i < w.length; i++) {
            String[] p = w[i].split(":", -1);
            TopicPartition tp = partition(p[0]);
            request.topics().add(new TxnOffsetCommitRequestData.TxnOffsetCommitRequestTopic().setName(tp.topic())
                .setPartitions(List.of(new TxnOffsetCommitRequestData.TxnOffsetCommitRequestPartition().setPartitionIndex(tp.partition())
                    .setCommittedOffset(Long.parseLong(p[1])).setCommittedLeaderEpoch(Integer.parseInt(p[2])).setCommittedMetadata(text(p[3])))));
        }
        CoordinatorResult<TxnOffsetCommitResponseData, CoordinatorRecord> result = shard.commitTransactionalOffset(new Context(5), request);
        records.addAll(result.records());
        result.response().topics().forEach(t -> t.partitions().forEach(p ->
            answer.append(' ').append(quote(t.name())).append('-').append(p.partitionIndex()).append('=').append(p.errorCode())));
    }

    /** fetch group stable member epoch partition:id ..., or fetch-all without partitions. */
    void fetch(String[] w, StringBuilder answer) {
        OffsetFetchRequestData.OffsetFetchRequestGroup request = new OffsetFetchRequestData.OffsetFetchRequestGroup().setGroupId(text(w[1]))
            .setMemberId(orNull(w[3])).setMemberEpoch(Integer.parseInt(w[4]));
        List<OffsetFetchRequestData.OffsetFetchRequestTopics> topics = new ArrayList<>();
        for (int i = 5; i < w.length; i++) {
            String[] p = w[i].split(":", -1);
            TopicPartition tp = partition(p[0]);
            topics.add(new OffsetFetchRequestData.OffsetFetchRequestTopics().setName(tp.topic()).setTopicId(Uuid.fromString(p[1]))
                .setPartitionIndexes(List.of(tp.partition())));
        }
        long committed = w[2].equals("stable") ? Long.MAX_VALUE : epoch;
        OffsetFetchResponseData.OffsetFetchResponseGroup found;
        if (w[0].equals("fetch-all")) found = shard.fetchAllOffsets(request, committed);
        else found = shard.fetchOffsets(request.setTopics(topics), committed);
        TreeMap<String, String> all = new TreeMap<>();
        found.topics().forEach(t -> t.partitions().forEach(p -> all.put(quote(t.name()) + "-" + p.partitionIndex(),
            p.committedOffset() + "/" + p.committedLeaderEpoch() + "/" + quote(p.metadata()) + "/" + p.errorCode())));
        all.forEach((k, v) -> answer.append(' ').append(k).append('=').append(v));
    }

    void deleteOffsets(String[] w, List<CoordinatorRecord> records, StringBuilder answer) {
        OffsetDeleteRequestData request = new OffsetDeleteRequestData().setGroupId(text(w[1]));
        for (int i = 2; i < w.length; i++) {
            TopicPartition tp = partition(w[i]);
            OffsetDeleteRequestData.OffsetDeleteRequestTopic topic = request.topics().find(tp.topic());
            if (topic == null) {
                topic = new OffsetDeleteRequestData.OffsetDeleteRequestTopic().setName(tp.topic());
                request.topics().add(topic);
            }
            topic.partitions().add(new OffsetDeleteRequestData.OffsetDeleteRequestPartition().setPartitionIndex(tp.partition()));
        }
        CoordinatorResult<OffsetDeleteResponseData, CoordinatorRecord> result = shard.deleteOffsets(new Context(0), request);
        records.addAll(result.records());
        TreeMap<String, Short> all = new TreeMap<>();
        result.response().topics().forEach(t -> t.partitions().forEach(p -> all.put(quote(t.name()) + "-" + p.partitionIndex(), p.errorCode())));
        all.forEach((k, v) -> answer.append(' ').append(k).append('=').append(v));
    }

    static TopicPartition partition(String name) {
        int dash = name.lastIndexOf('-');
        return new TopicPartition(text(name.substring(0, dash)), Integer.parseInt(name.substring(dash + 1)));
    }

    static String orNull(String quoted) { return quoted.equals("-") ? null : text(quoted); }

    static String text(String quoted) { return URLDecoder.decode(quoted, StandardCharsets.UTF_8); }

    static String quote(String text) { return URLEncoder.encode(text, StandardCharsets.UTF_8); }
}
