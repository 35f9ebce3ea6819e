package kafkalog;

import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.metric.CustomSumMetric;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;

/** What Spark shows of a scan beside its rows. Spark makes an object of each class by its name. */
public final class Metrics {
    private Metrics() {}

    static CustomMetric[] all() {
        return new CustomMetric[] {new BytesRead(), new SegmentsRead(), new SegmentsSkipped(), new BatchesRead(), new BatchesSkipped()};
    }

    /** One value, of a task or of the driver. */
    record Value(String name, long value) implements CustomTaskMetric {}

    /** Bytes of files. */
    public static final class BytesRead extends CustomSumMetric {
        @Override public String name() { return "bytesRead"; }

        @Override public String description() { return "bytes read"; }
    }

    /** Parts of segments that tasks have opened. */
    public static final class SegmentsRead extends CustomSumMetric {
        @Override public String name() { return "segmentsRead"; }

        @Override public String description() { return "segments read"; }
    }

    /** Parts of segments that filters leave out before a task opens them. */
    public static final class SegmentsSkipped extends CustomSumMetric {
        @Override public String name() { return "segmentsSkipped"; }

        @Override public String description() { return "segments skipped"; }
    }

    /** Batches whose records are read or counted. */
    public static final class BatchesRead extends CustomSumMetric {
        @Override public String name() { return "batchesRead"; }

        @Override public String description() { return "batches read"; }
    }

    /** Batches of which the header was enough. */
    public static final class BatchesSkipped extends CustomSumMetric {
        @Override public String name() { return "batchesSkipped"; }

        @Override public String description() { return "batches skipped"; }
    }
}
