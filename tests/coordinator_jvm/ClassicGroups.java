package org.apache.kafka.coordinator.group;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.Provider;
import java.security.SecureRandomSpi;
import java.security.Security;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.PriorityQueue;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.message.DescribeGroupsResponseData;
import org.apache.kafka.common.message.HeartbeatRequestData;
import org.apache.kafka.common.message.HeartbeatResponseData;
import org.apache.kafka.common.message.JoinGroupRequestData;
import org.apache.kafka.common.message.JoinGroupRequestData.JoinGroupRequestProtocol;
import org.apache.kafka.common.message.JoinGroupRequestData.JoinGroupRequestProtocolCollection;
import org.apache.kafka.common.message.JoinGroupResponseData;
import org.apache.kafka.common.message.LeaveGroupRequestData;
import org.apache.kafka.common.message.LeaveGroupResponseData;
import org.apache.kafka.common.message.ListGroupsResponseData;
import org.apache.kafka.common.message.SyncGroupRequestData;
import org.apache.kafka.common.message.SyncGroupResponseData;
import org.apache.kafka.common.network.ClientInformation;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.RequestContext;
import org.apache.kafka.common.requests.RequestHeader;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.coordinator.common.runtime.CoordinatorExecutor;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.common.runtime.CoordinatorResult;
import org.apache.kafka.coordinator.common.runtime.CoordinatorTimer;
import org.apache.kafka.coordinator.group.classic.ClassicGroup;
import org.apache.kafka.coordinator.group.classic.ClassicGroupMember;
import org.apache.kafka.coordinator.group.classic.ClassicGroupState;
import org.apache.kafka.coordinator.group.generated.GroupMetadataKey;
import org.apache.kafka.coordinator.group.generated.GroupMetadataValue;
import org.apache.kafka.coordinator.group.metrics.GroupCoordinatorMetricsShard;
import org.apache.kafka.timeline.SnapshotRegistry;

/**
 * Does with Kafka's own group metadata manager what the lines of the standard input say; after each prints what came of it: the
 * records that were written, the answers, the groups and the timers. A line with one period ends the outcome of a line.
 *
 * Member ids are made from numbers in a row, not at random. Writes are done as Kafka's coordinator runtime does them: an
 * operation's records are appended, its future is completed, or after "hold" only at "release" or "timeout".
 */
public final class ClassicGroups {
    static final char TAB = '\t';
    static final HexFormat HEX = HexFormat.of();

    /** Bytes of UUIDs: the MD5 of 1, 2, 3, … */
    public static final class Numbers extends SecureRandomSpi {
        static long next = 0;
        protected void engineSetSeed(byte[] seed) { }
        protected byte[] engineGenerateSeed(int size) { return new byte[size]; }
        protected void engineNextBytes(byte[] bytes) {
            try {
                byte[] digest = MessageDigest.getInstance("MD5").digest(Long.toString(++next).getBytes(StandardCharsets.UTF_8));
                System.arraycopy(digest, 0, bytes, 0, Math.min(bytes.length, digest.length));
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        }
    }

    static final class Clock implements Time {
        long now;
        public long milliseconds() { return now; }
        public long nanoseconds() { return now * 1_000_000; }
        public void sleep(long ms) { now += ms; }
        public void waitObject(Object o, Supplier<Boolean> condition, long deadline) { throw new UnsupportedOperationException(); }
    }

    record Task(String key, long due, long number, CoordinatorTimer.TimeoutOperation<Void, CoordinatorRecord> operation) { }

    /** As the runtime's: one operation a key, what is due runs after the operation that is under way. */
    final class Timer implements CoordinatorTimer<Void, CoordinatorRecord> {
        final Map<String, Task> tasks = new HashMap<>();
        final PriorityQueue<Task> queue = new PriorityQueue<>((a, b) -> a.due != b.due ? Long.compare(a.due, b.due) : Long.compare(a.number, b.number));
        long count = 0;
        public void schedule(String key, long delay, TimeUnit unit, boolean retry, TimeoutOperation<Void, CoordinatorRecord> operation) {
            Task task = new Task(key, clock.now + unit.toMillis(delay), count++, operation);
            tasks.put(key, task);
            queue.add(task);
        }
        public void schedule(String key, long delay, TimeUnit unit, boolean retry, long backoff, TimeoutOperation<Void, CoordinatorRecord> operation) {
            schedule(key, delay, unit, retry, operation);
        }
        public void scheduleIfAbsent(String key, long delay, TimeUnit unit, boolean retry, TimeoutOperation<Void, CoordinatorRecord> operation) {
            if (!tasks.containsKey(key)) schedule(key, delay, unit, retry, operation);
        }
        public void cancel(String key) { tasks.remove(key); }
        public boolean isScheduled(String key) { return tasks.containsKey(key); }
        void runDue() {
            while (!queue.isEmpty() && queue.peek().due <= clock.now) {
                Task task = queue.poll();
                if (tasks.remove(task.key, task)) write(task.operation::generateRecords);
            }
        }
    }

    static final class NoExecutor implements CoordinatorExecutor<CoordinatorRecord> {
        public <R> boolean schedule(String key, TaskRunnable<R> task, TaskOperation<CoordinatorRecord, R> operation) { throw new UnsupportedOperationException(); }
        public boolean isScheduled(String key) { return false; }
        public void cancel(String key) { }
    }

    interface Operation { CoordinatorResult<?, CoordinatorRecord> run() throws Exception; }

    final Clock clock = new Clock();
    final GroupCoordinatorRecordSerde serde = new GroupCoordinatorRecordSerde();
    final List<CoordinatorRecord> written = new ArrayList<>();
    final ArrayDeque<CompletableFuture<Void>> held = new ArrayDeque<>();
    final List<String> out = new ArrayList<>();
    int maxSize = Integer.MAX_VALUE, initialDelay = 3000;
    boolean holds = false;
    /** Group to the error of its next write; groups are independent of each other. */
    final Map<String, Errors> failures = new HashMap<>();
    Timer timer;
    SnapshotRegistry snapshots;
    GroupMetadataManager manager;

    public static void main(String[] args) throws Exception {
        Provider provider = new Provider("Numbers", "1", "") { };
        provider.put("SecureRandom.Numbers", Numbers.class.getName());
        Security.insertProviderAt(provider, 1);
        ClassicGroups groups = new ClassicGroups();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream print = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String line; (line = in.readLine()) != null; ) {
            groups.out.clear();
            groups.step(line);
            for (String told : groups.out) print.println(told);
            print.println(".");
            print.flush();
        }
    }

    void step(String line) throws Exception {
        String[] w = line.split("\t", -1);
        switch (w[0]) {
            case "new" -> {
                maxSize = Integer.parseInt(w[1]);
                initialDelay = Integer.parseInt(w[2]);
                clock.now = Long.parseLong(w[3]);
                holds = false;
                failures.clear();
                written.clear();
                load();
                Numbers.next = 0;
            }
            case "now" -> clock.now = Long.parseLong(w[1]);
            case "maxsize" -> maxSize = Integer.parseInt(w[1]);
            case "fail" -> failures.put(w[1], Errors.forCode(Short.parseShort(w[2])));
            case "hold" -> holds = true;
            case "release" -> release(null);
            case "timeout" -> release(Errors.REQUEST_TIMED_OUT.exception());
            case "reload" -> load();
            case "unload" -> {
                manager.onUnloaded();
                load();
            }
            case "join" -> {
                JoinGroupRequestProtocolCollection protocols = new JoinGroupRequestProtocolCollection();
                pairs(w[10]).forEach(p -> protocols.add(new JoinGroupRequestProtocol().setName(p[0]).setMetadata(HEX.parseHex(p[1]))));
                JoinGroupRequestData request = new JoinGroupRequestData().setGroupId(w[4]).setSessionTimeoutMs(Integer.parseInt(w[5]))
                    .setRebalanceTimeoutMs(Integer.parseInt(w[6])).setMemberId(w[7]).setGroupInstanceId(orNull(w[8])).setProtocolType(w[9])
                    .setProtocols(protocols);
                CompletableFuture<JoinGroupResponseData> future = new CompletableFuture<>();
                future.thenAccept(r -> out.add("answer " + w[1] + " " + text(r)));
                RequestContext context = context(w[2], Short.parseShort(w[3]), ApiKeys.JOIN_GROUP);
                Throwable thrown = write(() -> manager.classicGroupJoin(context, request, future));
                if (thrown != null) future.complete(new JoinGroupResponseData().setErrorCode(Errors.forException(thrown).code()));
            }
            case "sync" -> {
                SyncGroupRequestData request = new SyncGroupRequestData().setGroupId(w[2]).setGenerationId(Integer.parseInt(w[3])).setMemberId(w[4])
                    .setGroupInstanceId(orNull(w[5])).setProtocolType(orNull(w[6])).setProtocolName(orNull(w[7]));
                pairs(w[8]).forEach(p -> request.assignments().add(
                    new SyncGroupRequestData.SyncGroupRequestAssignment().setMemberId(p[0]).setAssignment(HEX.parseHex(p[1]))));
                CompletableFuture<SyncGroupResponseData> future = new CompletableFuture<>();
                future.thenAccept(r -> out.add("answer " + w[1] + " " + r.errorCode() + " " + r.protocolType() + " " + r.protocolName() + " " + HEX.formatHex(r.assignment())));
                Throwable thrown = write(() -> manager.classicGroupSync(context("c", (short) 5, ApiKeys.SYNC_GROUP), request, future));
                if (thrown != null) future.complete(new SyncGroupResponseData().setErrorCode(Errors.forException(thrown).code()));
            }
            case "heartbeat" -> {
                HeartbeatRequestData request = new HeartbeatRequestData().setGroupId(w[1]).setGenerationId(Integer.parseInt(w[2])).setMemberId(w[3])
                    .setGroupInstanceId(orNull(w[4]));
                answer(() -> manager.classicGroupHeartbeat(context("c", (short) 4, ApiKeys.HEARTBEAT), request),
                    r -> "heartbeat " + ((HeartbeatResponseData) r).errorCode());
            }
            case "leave" -> {
                LeaveGroupRequestData request = new LeaveGroupRequestData().setGroupId(w[1]).setMembers(pairs(w[2]).stream()
                    .map(p -> new LeaveGroupRequestData.MemberIdentity().setMemberId(p[0]).setGroupInstanceId(orNull(p[1]))).toList());
                answer(() -> manager.classicGroupLeave(context("c", (short) 5, ApiKeys.LEAVE_GROUP), request), r -> {
                    LeaveGroupResponseData left = (LeaveGroupResponseData) r;
                    return "leave " + left.errorCode() + left.members().stream()
                        .map(m -> " " + m.memberId() + ":" + m.groupInstanceId() + ":" + m.errorCode()).collect(Collectors.joining());
                });
            }
            case "commit" -> answer(() -> {
                ClassicGroup group = (ClassicGroup) manager.group(w[1]);
                group.validateOffsetCommit(w[2], orNull(w[3]), Integer.parseInt(w[4]), false, 8);
                if (group.isInState(ClassicGroupState.STABLE) || group.isInState(ClassicGroupState.PREPARING_REBALANCE))
                    manager.rescheduleClassicGroupMemberHeartbeat(group, group.member(w[2]));
                return new CoordinatorResult<>(List.of(), (short) 0);
            }, r -> "commit " + r);
            case "describe" -> {
                for (DescribeGroupsResponseData.DescribedGroup g : manager.describeGroups(context("c", Short.parseShort(w[2]), ApiKeys.DESCRIBE_GROUPS), List.of(w[1]), Long.MAX_VALUE))
                    out.add("described " + g.groupId() + " " + g.groupState() + " " + g.errorCode() + " " + g.protocolType() + " " + g.protocolData() + g.members().stream()
                        .map(m -> " " + m.memberId() + ":" + m.groupInstanceId() + ":" + m.clientId() + ":" + m.clientHost() + ":" + HEX.formatHex(m.memberMetadata()) + ":" + HEX.formatHex(m.memberAssignment()))
                        .collect(Collectors.joining()));
            }
            case "list" -> {
                Set<String> states = w[1].isEmpty() ? Set.of() : Set.of(w[1].split(","));
                out.add("listed " + manager.listGroups(states, Set.of(), Long.MAX_VALUE).stream()
                    .map(g -> g.groupId() + ":" + g.protocolType() + ":" + g.groupState()).sorted().collect(Collectors.joining(" ")));
            }
            case "delete" -> {
                List<CoordinatorRecord> records = new ArrayList<>();
                StringBuilder told = new StringBuilder("deleted");
                answer(() -> {
                    for (String id : w[1].split(",")) {
                        short code = 0;
                        try {
                            manager.validateDeleteGroup(id);
                            manager.createGroupTombstoneRecordsAndCancelTimers(id, records);
                        } catch (ApiException e) {
                            code = Errors.forException(e).code();
                        }
                        told.append(' ').append(id).append(':').append(code);
                    }
                    return new CoordinatorResult<>(records, (Object) null);
                }, r -> told.toString());
            }
            default -> throw new IllegalArgumentException(line);
        }
        timer.runDue();
        state();
    }

    /** Answers at once: nothing of these operations waits for a write in these tests, but a failed one takes its answer. */
    void answer(Operation operation, Function<Object, String> text) {
        Object[] response = new Object[1];
        Throwable thrown = write(() -> {
            CoordinatorResult<?, CoordinatorRecord> r = operation.run();
            response[0] = r.response();
            return r;
        });
        out.add(thrown == null ? text.apply(response[0]) : "error " + Errors.forException(thrown).code());
    }

    /** Returns what was thrown, also by the append. */
    Throwable write(Operation operation) {
        snapshots.idempotentCreateSnapshot(written.size());
        CoordinatorResult<?, CoordinatorRecord> result;
        try {
            result = operation.run();
        } catch (Throwable t) {
            return t;
        }
        if (result.records().isEmpty()) {
            if (result.appendFuture() != null) result.appendFuture().complete(null);
            return null;
        }
        for (CoordinatorRecord r : result.records()) {
            byte[] key = serde.serializeKey(r), value = serde.serializeValue(r);
            out.add("record " + HEX.formatHex(key) + " " + (value == null ? "null" : HEX.formatHex(value)));
        }
        Errors failure = failures.remove(((GroupMetadataKey) result.records().get(0).key()).group());
        if (failure != null) {
            Throwable thrown = failure.exception();
            snapshots.revertToSnapshot(written.size());
            if (result.appendFuture() != null) result.appendFuture().completeExceptionally(thrown);
            return thrown;
        }
        if (result.replayRecords()) result.records().forEach(this::replay);
        written.addAll(result.records());
        if (result.appendFuture() == null) return null;
        if (holds) held.add(result.appendFuture());
        else result.appendFuture().complete(null);
        return null;
    }

    void release(Throwable error) {
        holds = false;
        while (!held.isEmpty()) {
            if (error == null) held.poll().complete(null);
            else held.poll().completeExceptionally(error);
        }
    }

    void replay(CoordinatorRecord r) {
        manager.replay((GroupMetadataKey) r.key(), r.value() == null ? null : (GroupMetadataValue) r.value().message());
    }

    void load() {
        held.clear();
        holds = false;
        timer = new Timer();
        LogContext context = new LogContext();
        snapshots = new SnapshotRegistry(context);
        manager = new GroupMetadataManager.Builder().withLogContext(context).withSnapshotRegistry(snapshots).withTime(clock).withTimer(timer)
            .withExecutor(new NoExecutor())
            .withConfig(GroupCoordinatorConfig.fromProps(Map.of("group.max.size", maxSize, "group.initial.rebalance.delay.ms", initialDelay)))
            .withGroupConfigManager(new GroupConfigManager(Map.of()))
            .withGroupCoordinatorMetricsShard(new GroupCoordinatorMetricsShard(snapshots, Map.of(), new TopicPartition("__consumer_offsets", 0)))
            .build();
        for (CoordinatorRecord r : written) {
            // As read from the log: other objects than those that were written.
            byte[] value = serde.serializeValue(r);
            replay(serde.deserialize(ByteBuffer.wrap(serde.serializeKey(r)), value == null ? null : ByteBuffer.wrap(value)));
        }
        manager.onLoaded();
    }

    void state() {
        for (String id : new TreeSet<>(manager.groupIds())) {
            ClassicGroup g = (ClassicGroup) manager.group(id);
            StringBuilder s = new StringBuilder("group " + id + " " + g.stateAsString() + " " + g.generationId() + " " + g.protocolType().orElse(null) + " " + g.protocolName().orElse(null)
                + " " + g.leaderOrNull() + " " + g.currentStateTimestampOrDefault() + " " + g.numPendingJoinMembers() + " " + g.numAwaitingJoinResponse() + " sync "
                + new TreeSet<>(g.allPendingSyncMembers()) + " topics " + g.subscribedTopics().map(TreeSet::new).map(Object::toString).orElse("unknown"));
            for (ClassicGroupMember m : g.allMembers())
                s.append(' ').append(m.memberId()).append(m.isNew() ? "n" : "").append(m.isAwaitingJoin() ? "j" : "")
                    .append(m.isAwaitingSync() ? "s" : "").append(':').append(HEX.formatHex(m.assignment()));
            out.add(s.toString());
        }
        out.add("timers " + timer.tasks.values().stream().map(t -> t.key + "@" + t.due).sorted().collect(Collectors.joining(" ")));
    }

    static String text(JoinGroupResponseData r) {
        return r.memberId() + " " + r.errorCode() + " " + r.generationId() + " " + r.protocolType() + " " + r.protocolName() + " " + r.leader() + " " + r.skipAssignment()
            + r.members().stream().map(m -> " " + m.memberId() + ":" + m.groupInstanceId() + ":" + HEX.formatHex(m.metadata())).collect(Collectors.joining());
    }

    static RequestContext context(String client, short version, ApiKeys key) throws Exception {
        return new RequestContext(new RequestHeader(key, version, client, 0), "1", InetAddress.getByAddress(new byte[] {127, 0, 0, 1}), KafkaPrincipal.ANONYMOUS,
            ListenerName.forSecurityProtocol(SecurityProtocol.PLAINTEXT), SecurityProtocol.PLAINTEXT, ClientInformation.EMPTY, false);
    }

    static String orNull(String word) { return word.equals("~") ? null : word; }

    static List<String[]> pairs(String words) {
        return words.isEmpty() ? List.of() : Arrays.stream(words.split(",")).map(p -> p.split(":", -1)).toList();
    }
}
