package kafkalog;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.stream.Stream;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.aggregate.Aggregation;
import org.apache.spark.sql.connector.expressions.aggregate.CountStar;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.Statistics;
import org.apache.spark.sql.connector.read.SupportsPushDownAggregates;
import org.apache.spark.sql.connector.read.SupportsPushDownLimit;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.connector.read.SupportsPushDownV2Filters;
import org.apache.spark.sql.connector.read.SupportsReportStatistics;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A scan by the reader in Java. */
final class LogScan implements Scan, Batch, SupportsReportStatistics {
    private static final Logger LOG = LoggerFactory.getLogger(LogScan.class);

    private final Builder asked;
    private final List<List<Piece>> tasks;

    private LogScan(Builder asked) {
        this.asked = asked;
        this.tasks = asked.bounds.of(asked.plan.tasks());
    }

    @Override public StructType readSchema() { return asked.columns; }

    @Override public String description() {
        String names = String.join(", ", asked.columns.fieldNames());
        return "kafka-log, read in Java: columns [" + names + "], PushedFilters: " + asked.bounds.shown()
            + (asked.limit < Integer.MAX_VALUE ? ", PushedLimit: " + asked.limit : "");
    }

    @Override public CustomMetric[] supportedCustomMetrics() { return Metrics.all(); }

    @Override public CustomTaskMetric[] reportDriverMetrics() {
        long skipped = pieces(asked.plan.tasks()).count() - pieces(tasks).count();
        return new CustomTaskMetric[] {new Metrics.Value("segmentsSkipped", skipped)};
    }

    private static Stream<Piece> pieces(List<List<Piece>> tasks) { return tasks.stream().flatMap(List::stream); }

    @Override public ColumnarSupportMode columnarSupportMode() { return ColumnarSupportMode.SUPPORTED; }

    @Override public Statistics estimateStatistics() {
        long bytes = pieces(tasks).mapToLong(each -> each.stop() - each.start()).sum();
        return new Statistics() {
            @Override public OptionalLong sizeInBytes() { return OptionalLong.of(bytes); }

            @Override public OptionalLong numRows() { return OptionalLong.empty(); }
        };
    }

    @Override public Batch toBatch() {
        if (asked.plan.refused() != null) throw new IllegalArgumentException(asked.plan.refused());
        asked.plan.warnings().forEach(each -> LOG.warn("kafka-log: {}", each));
        return this;
    }

    @Override public InputPartition[] planInputPartitions() { return partitions(tasks); }

    static InputPartition[] partitions(List<List<Piece>> tasks) {
        return tasks.stream().map(each -> new LogReader.Task(each.toArray(new Piece[0]))).toArray(InputPartition[]::new);
    }

    @Override public PartitionReaderFactory createReaderFactory() {
        return new LogReader.Factory(asked.columns, asked.isCount, asked.limit, asked.plan.largest());
    }

    @Override public MicroBatchStream toMicroBatchStream(String checkpoint) {
        return new LogStream(asked.options, asked.columns, createReaderFactory());
    }

    /** Takes columns, filters, limits and `count(*)`, also by topic and partition, from Spark's optimizer. */
    static final class Builder implements SupportsPushDownRequiredColumns, SupportsPushDownV2Filters,
        SupportsPushDownAggregates, SupportsPushDownLimit {

        private final Plan plan;
        private final Map<String, String> options;
        private final Bounds bounds = new Bounds();
        private StructType columns;
        private boolean isCount;
        private int limit = Integer.MAX_VALUE; // rows of each task

        Builder(Plan plan, StructType columns, Map<String, String> options) {
            this.plan = plan;
            this.columns = columns;
            this.options = options;
        }

        @Override public void pruneColumns(StructType required) { columns = isCount ? columns : required; }

        @Override public Predicate[] pushPredicates(Predicate[] predicates) {
            List<Predicate> left = new ArrayList<>(Arrays.asList(predicates));
            left.removeIf(bounds::take);
            return left.toArray(new Predicate[0]);
        }

        @Override public Predicate[] pushedPredicates() { return bounds.taken(); }

        @Override public boolean pushAggregation(Aggregation asked) {
            StructType counted = new StructType();
            for (Expression each : asked.groupByExpressions()) {
                if (each.toString().equals("topic")) counted = counted.add("topic", DataTypes.StringType);
                else if (each.toString().equals("partition")) counted = counted.add("partition", DataTypes.IntegerType);
                else return false;
            }
            isCount = asked.aggregateExpressions().length == 1 && asked.aggregateExpressions()[0] instanceof CountStar;
            if (isCount) columns = counted.add("count(*)", DataTypes.LongType);
            return isCount;
        }

        @Override public boolean pushLimit(int most) {
            if (!isCount) limit = most;
            return !isCount;
        }

        @Override public boolean isPartiallyPushed() { return true; }

        @Override public Scan build() { return new LogScan(this); }
    }
}
