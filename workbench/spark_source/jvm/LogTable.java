package kafkalog;

import java.util.EnumSet;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** One load: as with the Python source, a snapshot that is planned at the first query. */
final class LogTable implements SupportsRead, SupportsWrite {
    private static final String NAME = "kafka-log";

    private final StructType schema;
    private final Map<String, String> properties;
    private Plan plan;
    private SupportsRead python;

    LogTable(StructType schema, Map<String, String> properties) {
        this.schema = schema;
        this.properties = properties;
    }

    @Override public String name() { return NAME; }

    @Override public StructType schema() { return schema; }

    @Override public Set<TableCapability> capabilities() {
        return EnumSet.of(TableCapability.BATCH_READ, TableCapability.MICRO_BATCH_READ, TableCapability.BATCH_WRITE,
            TableCapability.STREAMING_WRITE, TableCapability.TRUNCATE);
    }

    @Override public synchronized ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
        Map<String, String> given = LogProvider.given(properties);
        given.putAll(LogProvider.given(options));
        if (plan == null) plan = Plan.of(Planner.ask("plan", given, schema.json()));
        if (plan.reason() == null) return new LogScan.Builder(plan, schema, given);
        ScanBuilder builder = python().newScanBuilder(new CaseInsensitiveStringMap(given));
        return () -> new InPython(builder.build(), plan.reason());
    }

    @Override public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
        if (properties.containsKey("path") && !info.options().containsKey("path")) {
            throw new IllegalArgumentException("kafka-log: INSERT INTO a table is not possible; write records with "
                + "df.write.format(\"kafka-log\") to a new directory, or append them with writeStream");
        }
        return ((SupportsWrite) python()).newWriteBuilder(info);
    }

    private synchronized SupportsRead python() {
        if (python == null) {
            PythonDataSourceV2 source = new PythonDataSourceV2();
            source.setShortName(NAME);
            python = (SupportsRead) source.getTable(schema, new Transform[0], properties);
        }
        return python;
    }

    /** A scan by the Python source; `explain` says why. */
    private record InPython(Scan scan, String reason) implements Scan {
        @Override public String description() { return "kafka-log, read in Python: " + reason; }

        @Override public StructType readSchema() { return scan.readSchema(); }

        @Override public Batch toBatch() { return scan.toBatch(); }

        @Override public MicroBatchStream toMicroBatchStream(String checkpoint) {
            return scan.toMicroBatchStream(checkpoint);
        }

        @Override public CustomMetric[] supportedCustomMetrics() { return scan.supportedCustomMetrics(); }

        @Override public ColumnarSupportMode columnarSupportMode() { return scan.columnarSupportMode(); }
    }
}
