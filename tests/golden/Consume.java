import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndTimestamp;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Consumes partitions of many servers; a line of the standard input is one job: its name, the bootstrap address, the isolation
 * level, the bytes of a fetch of one partition, and each partition as "TOPIC:NUMBER:TIME,TIME...".
 *
 * <p>Prints, with the job's name before each line: "record" for all records of a partition; "time" for the offset of each time;
 * "from" for the offsets of all records that follow that of the first time; "done", or "failed".
 */
public final class Consume {
    private static final Duration POLL = Duration.ofMillis(20);
    private static final long PATIENCE_MS = 60_000;
    private static final PrintStream OUT = new PrintStream(System.out, false, StandardCharsets.UTF_8);

    public static void main(String[] arguments) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(4);
        BufferedReader jobs = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = jobs.readLine(); line != null; line = jobs.readLine()) {
            String[] words = line.split(" ");
            threads.submit(() -> {
                StringBuilder told = new StringBuilder();
                try {
                    run(words, told);
                    told.append(words[0]).append(" done\n");
                } catch (Throwable error) {
                    told.append(words[0]).append(" failed ").append(error).append('\n');
                }
                synchronized (OUT) {
                    OUT.append(told).flush();
                }
            });
        }
        Runtime.getRuntime().halt(0);
    }

    static void run(String[] words, StringBuilder told) {
        Properties p = new Properties();
        p.put("bootstrap.servers", words[1]);
        p.put("isolation.level", words[2]);
        p.put("max.partition.fetch.bytes", words[3]);
        p.put("fetch.max.wait.ms", "5");
        p.put("key.deserializer", ByteArrayDeserializer.class.getName());
        p.put("value.deserializer", ByteArrayDeserializer.class.getName());
        p.put("enable.auto.commit", "false");
        p.put("auto.offset.reset", "none");
        p.put("check.crcs", "true");
        Map<TopicPartition, long[]> times = new LinkedHashMap<>();
        for (int i = 4; i < words.length; i++) {
            String[] parts = words[i].split(":");
            String[] texts = parts[2].split(",");
            long[] values = new long[texts.length];
            for (int j = 0; j < texts.length; j++) values[j] = Long.parseLong(texts[j]);
            times.put(new TopicPartition(parts[0], Integer.parseInt(parts[1])), values);
        }
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(p)) {
            consumer.assign(times.keySet());
            Map<TopicPartition, Long> ends = consumer.endOffsets(times.keySet());
            consumer.beginningOffsets(times.keySet()).forEach(consumer::seek);
            readAll(consumer, ends, r -> told.append(words[0]).append(" record ").append(text(r)).append('\n'));
            consumer.assign(byTime(consumer, times, words[0], told));
            readAll(consumer, ends, r -> told.append(words[0]).append(" from ").append(r.topic()).append(' ')
                .append(r.partition()).append(' ').append(r.offset()).append('\n'));
        }
    }

    interface Each {
        void record(ConsumerRecord<byte[], byte[]> record);
    }

    static void readAll(KafkaConsumer<byte[], byte[]> consumer, Map<TopicPartition, Long> ends, Each each) {
        List<TopicPartition> left = new ArrayList<>(consumer.assignment());
        long deadline = System.currentTimeMillis() + PATIENCE_MS;
        left.removeIf(t -> consumer.position(t) >= ends.get(t));
        while (!left.isEmpty()) {
            if (System.currentTimeMillis() > deadline) throw new IllegalStateException("stuck at " + consumer.position(left.get(0)) + " of " + left.get(0));
            consumer.poll(POLL).forEach(each::record);
            left.removeIf(t -> consumer.position(t) >= ends.get(t));
        }
    }

    /** Seeks to the first time of each partition; returns those that have a record there. */
    static List<TopicPartition> byTime(KafkaConsumer<byte[], byte[]> consumer, Map<TopicPartition, long[]> times, String job, StringBuilder told) {
        Map<TopicPartition, Long> starts = new LinkedHashMap<>();
        int most = times.values().stream().mapToInt(each -> each.length).max().orElse(0);
        for (int i = 0; i < most; i++) {
            Map<TopicPartition, Long> asked = new HashMap<>();
            for (Map.Entry<TopicPartition, long[]> each : times.entrySet())
                if (i < each.getValue().length) asked.put(each.getKey(), each.getValue()[i]);
            for (Map.Entry<TopicPartition, OffsetAndTimestamp> found : consumer.offsetsForTimes(asked).entrySet()) {
                TopicPartition t = found.getKey();
                OffsetAndTimestamp at = found.getValue();
                told.append(job).append(" time ").append(t.topic()).append(' ').append(t.partition()).append(' ').append(asked.get(t)).append(' ')
                    .append(at == null ? "-1 -1" : at.offset() + " " + at.timestamp()).append('\n');
                if (i == 0 && at != null) starts.put(t, at.offset());
            }
        }
        starts.forEach(consumer::seek);
        return new ArrayList<>(starts.keySet());
    }

    static String text(ConsumerRecord<byte[], byte[]> r) {
        StringBuilder s = new StringBuilder();
        s.append(r.topic()).append(' ').append(r.partition()).append(' ').append(r.offset()).append(' ').append(r.timestamp()).append(' ')
            .append(r.timestampType()).append(' ').append(r.leaderEpoch().orElse(-1)).append(' ').append(hex(r.key())).append(' ').append(hex(r.value()));
        for (Header h : r.headers()) s.append(' ').append(hex(h.key().getBytes(StandardCharsets.UTF_8))).append('=').append(hex(h.value()));
        return s.toString();
    }

    static String hex(byte[] bytes) {
        return bytes == null ? "-" : "x" + HexFormat.of().formatHex(bytes);
    }
}
