package kafka.coordinator.transaction;

import java.io.File;
import java.io.RandomAccessFile;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Delayed;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import kafka.server.KafkaConfig;
import kafka.server.ReplicaManager;
import org.apache.kafka.clients.ClientResponse;
import org.apache.kafka.clients.NetworkClient;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.errors.CoordinatorLoadInProgressException;
import org.apache.kafka.common.message.AllocateProducerIdsResponseData;
import org.apache.kafka.common.message.ListTransactionsResponseData;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.ControlRecordType;
import org.apache.kafka.common.record.EndTransactionMarker;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.requests.AllocateProducerIdsResponse;
import org.apache.kafka.common.requests.ProduceResponse.PartitionResponse;
import org.apache.kafka.common.requests.RequestHeader;
import org.apache.kafka.common.requests.TransactionResult;
import org.apache.kafka.common.requests.WriteTxnMarkersRequest;
import org.apache.kafka.common.requests.WriteTxnMarkersResponse;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.ProducerIdAndEpoch;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.coordinator.transaction.ProducerIdManager;
import org.apache.kafka.coordinator.transaction.RPCProducerIdManager;
import org.apache.kafka.coordinator.transaction.TransactionMetadata;
import org.apache.kafka.metadata.MetadataCache;
import org.apache.kafka.server.common.FinalizedFeatures;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.kafka.server.common.RequestLocal;
import org.apache.kafka.server.common.TransactionVersion;
import org.apache.kafka.server.util.RequestAndCompletionHandler;
import org.apache.kafka.server.util.Scheduler;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.internals.log.VerificationGuard;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.BoxedUnit;

/**
 * Does with Kafka's own transaction coordinator what a text file says, on Kafka's own logs; prints after each operation the
 * answer, the state of each transactional id, and what was appended to each log. Arguments: pairs of a script and a folder.
 */
public final class Transactions {
    static final String STATE = "__transaction_state";

    static final class Clock implements Time {
        long now = 1_700_000_000_000L;
        public long milliseconds() { return now; }
        public long nanoseconds() { return now * 1_000_000; }
        public void sleep(long ms) { now += ms; }
        public void waitObject(Object o, Supplier<Boolean> condition, long deadline) { throw new UnsupportedOperationException(); }
    }

    static final class Task extends CompletableFuture<Object> implements ScheduledFuture<Object> {
        public long getDelay(TimeUnit unit) { return 0; }
        public int compareTo(Delayed other) { return 0; }
    }

    /** Keeps what is to be run once; the rest is done by operations of the script. */
    static final class Later implements Scheduler {
        List<Runnable> once = new ArrayList<>();
        public void startup() { }
        public void shutdown() { }
        public void resizeThreadPool(int size) { }
        public ScheduledFuture<?> schedule(String name, Runnable run, long delay, long period) {
            if (period < 0 && name.startsWith("load-")) once.add(run);
            return new Task();
        }
        void run() {
            List<Runnable> due = once;
            once = new ArrayList<>();
            due.forEach(Runnable::run);
        }
    }

    /** Kafka's logs without the rest of a broker. Made without its constructor. */
    static class Logs extends ReplicaManager {
        Transactions it;
        Logs() { super(null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null); }
        @Override public Option<UnifiedLog> getLog(TopicPartition tp) { return Option.apply(it.log(tp)); }
        @Override public Option<LogConfig> getLogConfig(TopicPartition tp) { return getLog(tp).map(log -> log.config()); }
        @Override public Option<Object> getLogEndOffset(TopicPartition tp) { return getLog(tp).map(log -> log.logEndOffset()); }
        @Override public TopicIdPartition topicIdPartition(TopicPartition tp) { return new TopicIdPartition(Uuid.ZERO_UUID, tp); }
        @Override public void appendRecords(long timeout, short acks, boolean internal, AppendOrigin origin,
                scala.collection.Map<TopicIdPartition, MemoryRecords> entries,
                scala.Function1<scala.collection.Map<TopicIdPartition, PartitionResponse>, BoxedUnit> answer,
                scala.Function1<scala.collection.Map<TopicIdPartition, org.apache.kafka.common.record.RecordValidationStats>, BoxedUnit> stats,
                RequestLocal local, scala.collection.Map<TopicPartition, VerificationGuard> guards, short transactionVersion) {
            Map<TopicIdPartition, PartitionResponse> answers = new HashMap<>();
            CollectionConverters.asJava(entries).forEach((where, records) ->
                answers.put(where, new PartitionResponse(it.append(where.topicPartition(), records, origin, transactionVersion))));
            answer.apply(CollectionConverters.asScala(answers));
        }
    }

    static class Silent extends NetworkClient {
        Silent() { super(null, (org.apache.kafka.clients.MetadataUpdater) null, null, 0, 0, 0, 0, 0, 0, 0, 0, null, false, null, null, null); }
        @Override public void wakeup() { }
    }

    final Clock clock = new Clock();
    final Later scheduler = new Later();
    final File dir;
    final Map<TopicPartition, UnifiedLog> logs = new TreeMap<>((a, b) -> a.toString().compareTo(b.toString()));
    final Map<TopicPartition, Integer> epochs = new HashMap<>();
    final Map<TopicPartition, Long> shown = new HashMap<>();
    final Set<TopicPartition> away = new HashSet<>();
    final Node self = new Node(1, "localhost", 1);
    TransactionStateManager states;
    TransactionMarkerChannelManager markers;
    TransactionCoordinator coordinator;
    int partitions;
    short version;
    boolean gives = true;
    long nextBlock = 4000;
    final StringBuilder out = new StringBuilder();

    Transactions(File dir) { this.dir = dir; }

    @SuppressWarnings("unchecked")
    static <T> T bare(Class<T> type) throws Exception {
        Field field = Class.forName("sun.misc.Unsafe").getDeclaredField("theUnsafe");
        field.setAccessible(true);
        return (T) ((sun.misc.Unsafe) field.get(null)).allocateInstance(type);
    }

    public static void main(String[] a) throws Exception {
        for (int i = 0; i + 1 < a.length; i += 2) {
            Transactions t = new Transactions(new File(a[i + 1]));
            Files.createDirectories(t.dir.toPath());
            for (String line : Files.readAllLines(Path.of(a[i]))) {
                t.out.append("> ").append(line).append('\n');
                String answer;
                try {
                    answer = t.run(line.split(" "));
                } catch (Throwable e) {
                    answer = "error " + e.getClass().getSimpleName();
                    if (System.getenv("TRANSACTIONS_TRACE") != null) e.printStackTrace();
                }
                t.out.append("= ").append(answer).append('\n');
                t.state();
            }
            Files.writeString(Path.of(a[i] + ".kafka"), t.out);
        }
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    void start(int partitions, short version, long expiration) throws Exception {
        this.partitions = partitions;
        this.version = version;
        Logs replicas = bare(Logs.class);
        replicas.it = this;
        InvocationHandler handler = (proxy, method, args) -> switch (method.getName()) {
            case "features" -> new FinalizedFeatures(MetadataVersion.latestProduction(), Map.of(TransactionVersion.FEATURE_NAME, version), 0);
            case "getPartitionLeaderEndpoint" -> {
                TopicPartition tp = new TopicPartition((String) args[0], (Integer) args[1]);
                yield logs.containsKey(tp) || !away.isEmpty() ? Optional.of(self) : Optional.empty();
            }
            default -> throw new UnsupportedOperationException(method.getName());
        };
        MetadataCache metadata = (MetadataCache) Proxy.newProxyInstance(getClass().getClassLoader(), new Class<?>[] {MetadataCache.class}, handler);
        TransactionConfig config = new TransactionConfig((int) expiration, 900_000, partitions, (short) 1, 100 << 20, 5 << 20, 1, 10_000, 3_600_000, false, 30_000);
        Metrics metrics = new Metrics();
        states = new TransactionStateManager(1, scheduler, replicas, metadata, config, clock, metrics);
        Properties p = new Properties();
        p.putAll(Map.of("process.roles", "broker", "node.id", "1", "controller.quorum.voters", "2@localhost:2", "controller.listener.names", "CONTROLLER",
            "listeners", "PLAINTEXT://localhost:1", "advertised.listeners", "PLAINTEXT://localhost:1"));
        markers = new TransactionMarkerChannelManager(KafkaConfig.fromProps(p), metadata, bare(Silent.class), states, clock);
        RPCProducerIdManager blocks = new RPCProducerIdManager(1, clock, () -> 1L, null) {
            @Override protected void sendRequest() {
                AllocateProducerIdsResponseData data = new AllocateProducerIdsResponseData();
                if (gives) data.setProducerIdStart(nextBlock).setProducerIdLen(3);
                else data.setErrorCode(Errors.STALE_BROKER_EPOCH.code());
                if (gives) nextBlock += 3;
                handleAllocateProducerIdsResponse(new ClientResponse(null, null, "1", 0, 0, false, null, null, new AllocateProducerIdsResponse(data)));
            }
        };
        ProducerIdManager ids = () -> {      // a block that is requested comes at once: then the client's retry is in vain
            try {
                return blocks.generateProducerId();
            } catch (CoordinatorLoadInProgressException e) {
                return blocks.generateProducerId();
            }
        };
        coordinator = new TransactionCoordinator(config, scheduler, () -> ids, states, markers, clock, new LogContext());
        states.startup(() -> partitions, false);
    }

    UnifiedLog log(TopicPartition tp) { return away.contains(tp) ? null : logs.get(tp); }

    void make(TopicPartition tp) throws Exception {
        if (logs.containsKey(tp)) return;
        File folder = new File(dir, tp.toString());
        logs.put(tp, UnifiedLog.create(folder, config(Map.of()), 0L, 0L, scheduler, new BrokerTopicStats(false), clock, 900_000,
            new ProducerStateManagerConfig(86_400_000, false), 600_000, new LogDirFailureChannel(10), true, Optional.empty()));
    }

    static LogConfig config(Map<String, String> values) {
        Properties p = new Properties();
        p.put("cleanup.policy", "compact");
        p.putAll(values);
        return new LogConfig(p);
    }

    Errors append(TopicPartition tp, MemoryRecords records, AppendOrigin origin, short transactionVersion) {
        UnifiedLog log = log(tp);
        if (log == null) return Errors.UNKNOWN_TOPIC_OR_PARTITION;
        try {
            log.appendAsLeader(records, epochs.getOrDefault(tp, 0), origin, RequestLocal.noCaching(), VerificationGuard.SENTINEL, transactionVersion);
            log.updateHighWatermark(log.logEndOffset());
            return Errors.NONE;
        } catch (Exception e) {
            return Errors.forException(e);
        }
    }

    String run(String[] w) throws Exception {
        String id = w.length > 1 && w[1].equals("-") ? "" : w.length > 1 ? w[1] : null;
        switch (w[0]) {
            case "start" -> start(Integer.parseInt(w[1]), Short.parseShort(w[2]), Long.parseLong(w[3]));
            case "make" -> make(partition(w[1]));
            case "delete" -> {
                logs.remove(partition(w[1])).delete();
                shown.remove(partition(w[1]));
            }
            case "away" -> away.add(partition(w[1]));
            case "back" -> away.remove(partition(w[1]));
            case "limit" -> {
                for (UnifiedLog each : logs.values())
                    if (each.topicPartition().topic().equals(STATE)) each.updateConfig(config(Map.of("max.message.bytes", w[1])));
            }
            case "clock" -> clock.now += Long.parseLong(w[1]);
            case "ids" -> gives = w[1].equals("on");
            case "elect" -> {
                TopicPartition tp = new TopicPartition(STATE, Integer.parseInt(w[1]));
                make(tp);
                epochs.put(tp, Integer.parseInt(w[2]));
                coordinator.onElection(tp.partition(), Integer.parseInt(w[2]));
            }
            case "resign" -> coordinator.onResignation(Integer.parseInt(w[1]), w[2].equals("none") ? Option.empty() : Option.apply((Object) Integer.parseInt(w[2])));
            case "run" -> {
                send();
                scheduler.run();
            }
            case "init" -> {
                String[] answer = new String[1];
                Option<ProducerIdAndEpoch> expected = w.length < 5 ? Option.empty()
                    : Option.apply(new ProducerIdAndEpoch(Long.parseLong(w[3]), Short.parseShort(w[4])));
                coordinator.handleInitProducerId(id, Integer.parseInt(w[2]), false, false, expected, r -> {
                    answer[0] = r.producerId() + " " + r.producerEpoch() + " " + r.error();
                    return BoxedUnit.UNIT;
                }, RequestLocal.noCaching());
                return answer[0];
            }
            case "add" -> {
                String[] answer = new String[1];
                coordinator.handleAddPartitionsToTransaction(id, Long.parseLong(w[2]), Short.parseShort(w[3]), partitions(w[5]), error -> {
                    answer[0] = error.toString();
                    return BoxedUnit.UNIT;
                }, TransactionVersion.fromFeatureLevel(Short.parseShort(w[4])), RequestLocal.noCaching());
                return answer[0];
            }
            case "verify" -> {
                String[] answer = new String[1];
                coordinator.handleVerifyPartitionsInTransaction(id, Long.parseLong(w[2]), Short.parseShort(w[3]), partitions(w[4]), result -> {
                    Set<String> found = new TreeSet<>();
                    result.topicResults().forEach(t -> t.resultsByPartition().forEach(one ->
                        found.add(t.name() + "-" + one.partitionIndex() + ":" + Errors.forCode(one.partitionErrorCode()))));
                    answer[0] = String.join(" ", found);
                    return BoxedUnit.UNIT;
                });
                return answer[0];
            }
            case "end" -> {
                String[] answer = new String[1];
                coordinator.handleEndTransaction(id, Long.parseLong(w[2]), Short.parseShort(w[3]),
                    w[4].equals("commit") ? TransactionResult.COMMIT : TransactionResult.ABORT, TransactionVersion.fromFeatureLevel(Short.parseShort(w[5])),
                    (error, pid, epoch) -> {
                        answer[0] = pid + " " + epoch + " " + error;
                        return BoxedUnit.UNIT;
                    }, RequestLocal.noCaching());
                return answer[0];
            }
            case "abort" -> coordinator.abortTimedOutTransactions(which -> (error, pid, epoch) -> BoxedUnit.UNIT);
            case "expire" -> states.removeExpiredTransactionalIds();
            case "produce" -> {
                MemoryRecords records = MemoryRecords.readableRecords(ByteBuffer.wrap(HexFormat.of().parseHex(w[2])));
                return append(partition(w[1]), records, AppendOrigin.CLIENT, (short) 0).toString();
            }
            case "list" -> {
                ListTransactionsResponseData found = states.listTransactionStates(scala.Predef$.MODULE$.Set().empty(),
                    w[1].equals("any") ? scala.Predef$.MODULE$.Set().<String>empty() : CollectionConverters.asScala(Set.of(w[1].split(","))).toSet(),
                    Long.parseLong(w[2]), w.length > 3 ? w[3] : null);
                Set<String> rows = new TreeSet<>();
                found.transactionStates().forEach(s -> rows.add(s.transactionalId() + ":" + s.producerId() + ":" + s.transactionState()));
                return Errors.forCode(found.errorCode()) + " " + rows + " " + found.unknownStateFilters().stream().sorted().toList();
            }
            default -> throw new IllegalArgumentException(w[0]);
        }
        return "done";
    }

    /** Answer the requests with markers as KafkaApis.handleWriteTxnMarkersRequest does. */
    void send() {
        Collection<RequestAndCompletionHandler> requests = markers.generateRequests();
        for (RequestAndCompletionHandler each : requests) {
            Map<Long, Map<TopicPartition, Errors>> errors = new HashMap<>();
            WriteTxnMarkersRequest request = (WriteTxnMarkersRequest) each.request.build((short) 2);
            for (WriteTxnMarkersRequest.TxnMarkerEntry marker : request.markers()) {
                Map<TopicPartition, Errors> found = errors.computeIfAbsent(marker.producerId(), k -> new HashMap<>());
                for (TopicPartition tp : marker.partitions()) {
                    ControlRecordType type = marker.transactionResult() == TransactionResult.COMMIT ? ControlRecordType.COMMIT : ControlRecordType.ABORT;
                    MemoryRecords records = MemoryRecords.withEndTransactionMarker(clock.now, marker.producerId(), marker.producerEpoch(),
                        new EndTransactionMarker(type, marker.coordinatorEpoch()));
                    found.put(tp, append(tp, records, AppendOrigin.COORDINATOR, marker.transactionVersion()));
                }
            }
            RequestHeader header = new RequestHeader(ApiKeys.WRITE_TXN_MARKERS, (short) 2, "", 1);
            each.handler.onComplete(new ClientResponse(header, null, "1", 0, 0, false, null, null, new WriteTxnMarkersResponse(errors)));
        }
    }

    static TopicPartition partition(String text) {
        int at = text.lastIndexOf('-');
        return new TopicPartition(text.substring(0, at), Integer.parseInt(text.substring(at + 1)));
    }

    static Set<TopicPartition> partitions(String text) {
        return Arrays.stream(text.split(",")).map(Transactions::partition).collect(Collectors.toSet());
    }

    void state() throws Exception {
        Map<String, String> found = new TreeMap<>();
        if (states != null)
            for (Map.Entry<Object, TxnMetadataCacheEntry> each : CollectionConverters.asJava(states.transactionMetadataCache()).entrySet())
                for (Map.Entry<String, TransactionMetadata> one : each.getValue().metadataPerTransactionalId().entrySet())
                    found.put(one.getKey(), each.getKey() + "/" + each.getValue().coordinatorEpoch() + " " + show(one.getValue()));
        found.forEach((id, text) -> out.append("~ ").append(id).append(' ').append(text).append('\n'));
        for (Map.Entry<TopicPartition, UnifiedLog> each : logs.entrySet()) {
            File file = each.getValue().activeSegment().log().file();
            long from = shown.getOrDefault(each.getKey(), 0L), to = file.length();
            if (to == from) continue;
            byte[] data = new byte[(int) (to - from)];
            try (RandomAccessFile reader = new RandomAccessFile(file, "r")) {
                reader.seek(from);
                reader.readFully(data);
            }
            shown.put(each.getKey(), to);
            out.append("+ ").append(each.getKey()).append(' ').append(HexFormat.of().formatHex(data)).append('\n');
        }
    }

    static String next(TransactionMetadata m) throws Exception {
        Field field = TransactionMetadata.class.getDeclaredField("nextProducerId");
        field.setAccessible(true);
        return Long.toString(field.getLong(m));
    }

    static String show(TransactionMetadata m) throws Exception {
        return String.join(" ", m.state().stateName(), m.pendingState().map(s -> s.stateName()).orElse("-"), Long.toString(m.producerId()),
            Long.toString(m.prevProducerId()), next(m), Short.toString(m.producerEpoch()), Short.toString(m.lastProducerEpoch()),
            Integer.toString(m.txnTimeoutMs()), Long.toString(m.txnStartTimestamp()), Long.toString(m.txnLastUpdateTimestamp()),
            Short.toString(m.clientTransactionVersion().featureLevel()), Boolean.toString(m.hasFailedEpochFence()),
            m.topicPartitions().stream().map(TopicPartition::toString).sorted().collect(Collectors.joining(",")));
    }
}
