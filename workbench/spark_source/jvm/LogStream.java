package kafkalog;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import java.util.HashMap;
import java.util.LongSummaryStatistics;
import java.util.Map;
import java.util.Optional;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.ReadMaxRows;
import org.apache.spark.sql.connector.read.streaming.ReportsSourceMetrics;
import org.apache.spark.sql.connector.read.streaming.SupportsTriggerAvailableNow;
import org.apache.spark.sql.types.StructType;

/** A stream: `workbench.spark_source.streaming` decides, in the planner; tasks read in Java. */
final class LogStream implements MicroBatchStream, SupportsTriggerAvailableNow, ReportsSourceMetrics {
    private final PartitionReaderFactory readers;
    private final JsonNode stream;
    private JsonNode ends;

    LogStream(Map<String, String> options, StructType columns, PartitionReaderFactory readers) {
        this.readers = readers;
        this.stream = Planner.ask("stream", options, columns.json());
    }

    private JsonNode ask(String what, Offset start, Offset end, ReadLimit limit) {
        Map<String, Object> question = new HashMap<>(Map.of("what", what, "stream", stream.get("stream")));
        if (start != null) question.put("start", ((At) start).offsets);
        if (end != null) question.put("end", ((At) end).offsets);
        if (limit instanceof ReadMaxRows rows) question.put("most", rows.maxRows());
        return Planner.ask(question);
    }

    @Override public Offset initialOffset() { return new At(ask("initial", null, null, null).get("offsets")); }

    @Override public ReadLimit getDefaultReadLimit() {
        JsonNode most = stream.get("most");
        return most.isNull() ? ReadLimit.allAvailable() : ReadLimit.maxRows(most.asLong());
    }

    @Override public Offset latestOffset() { return reportLatestOffset(); }

    @Override public Offset latestOffset(Offset start, ReadLimit limit) {
        return new At(ask("latest", start, null, limit).get("offsets"));
    }

    @Override public Offset reportLatestOffset() {
        ends = ask("report", null, null, null).get("offsets");
        return new At(ends);
    }

    /** Returns how far partitions are behind their ends, by the names that Spark's Kafka source gives these metrics. */
    @Override public Map<String, String> metrics(Optional<Offset> consumed) {
        LongSummaryStatistics behind = new LongSummaryStatistics();
        if (consumed.isPresent() && ends != null) {
            JsonNode read = ((At) deserializeOffset(consumed.get().json())).offsets;
            ends.fields().forEachRemaining(topic -> topic.getValue().fields().forEachRemaining(each -> {
                JsonNode end = each.getValue();  // or a topic id
                if (end.isNumber()) behind.accept(end.asLong() - read.path(topic.getKey()).path(each.getKey()).asLong());
            }));
        }
        if (behind.getCount() == 0) return Map.of();
        return Map.of("avgOffsetsBehindLatest", Double.toString(behind.getAverage()),
            "maxOffsetsBehindLatest", Long.toString(behind.getMax()), "minOffsetsBehindLatest", Long.toString(behind.getMin()));
    }

    @Override public void prepareForTriggerAvailableNow() { ask("available", null, null, null); }

    @Override public Offset deserializeOffset(String json) {
        try {
            return new At(Planner.JSON.readTree(json));
        } catch (JsonProcessingException error) {
            throw new IllegalArgumentException("the offsets of the checkpoint are not JSON: " + json, error);
        }
    }

    @Override public InputPartition[] planInputPartitions(Offset start, Offset end) {
        Plan plan = Plan.of(ask("partitions", start, end, null));
        if (plan.reason() != null) {
            throw new IllegalStateException("kafka-log: " + plan.reason() + "; read it with option reader=python");
        }
        return LogScan.partitions(plan.tasks());
    }

    @Override public PartitionReaderFactory createReaderFactory() { return readers; }

    @Override public void commit(Offset end) {}

    @Override public void stop() { ask("stop", null, null, null); }

    /** Where a stream is, as in checkpoints of the Python source. */
    private static final class At extends Offset {
        private final JsonNode offsets;

        At(JsonNode offsets) { this.offsets = offsets; }

        @Override public String json() { return offsets.toString(); }
    }
}
