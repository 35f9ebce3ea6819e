package kafkalog;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.execution.vectorized.OnHeapColumnVector;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/** Reads the pieces of one task, one after the other. */
final class LogReader implements PartitionReader<ColumnarBatch> {
    private final Piece[] pieces;
    private final boolean isCount;
    private final StructType columns;
    private final RecordReader records;
    private int next; // of the pieces
    private int left; // rows that are still wanted
    private boolean isOpen;
    private ColumnarBatch batch;

    private LogReader(Piece[] pieces, Factory asked) {
        this.pieces = pieces;
        this.isCount = asked.isCount;
        this.columns = asked.columns;
        this.left = asked.limit;
        this.records = new RecordReader(asked.isCount ? new StructType() : asked.columns, asked.largest);
    }

    @Override public boolean next() throws IOException {
        if (isCount) return count();
        do {
            if (left == 0 || (!isOpen && next == pieces.length)) return false;
            if (!isOpen) records.open(pieces[next++]);
            batch = records.next(left);
            isOpen = batch != null;
        } while (!isOpen);
        left -= batch.numRows();
        return true;
    }

    /** Makes one row of each piece: its topic and partition, if they are wanted, and how many records it has. */
    private boolean count() throws IOException {
        if (batch != null) return false;
        OnHeapColumnVector[] vectors = OnHeapColumnVector.allocateColumns(Math.max(pieces.length, 1), columns);
        for (int row = 0; row < pieces.length; row++) {
            records.open(pieces[row]);
            for (int column = 0; column < vectors.length; column++) {
                switch (columns.fieldNames()[column]) {
                    case "topic" -> vectors[column].putByteArray(row, pieces[row].topic().getBytes(StandardCharsets.UTF_8));
                    case "partition" -> vectors[column].putInt(row, pieces[row].partition());
                    default -> vectors[column].putLong(row, records.count());
                }
            }
        }
        batch = new ColumnarBatch(vectors, pieces.length);
        return true;
    }

    @Override public CustomTaskMetric[] currentMetricsValues() { return records.metrics(); }

    @Override public ColumnarBatch get() { return batch; }

    @Override public void close() throws IOException { records.close(); }

    /** What one task reads. */
    record Task(Piece[] pieces) implements InputPartition {}

    /**
     * Makes the readers of tasks.
     *
     * @param columns the columns that are wanted
     * @param isCount whether they are those of `LogScan.Builder.pushAggregation`
     * @param limit rows of a task after which no more are wanted
     * @param largest bytes to which the records of one batch may decompress
     */
    record Factory(StructType columns, boolean isCount, int limit, int largest) implements PartitionReaderFactory {
        @Override public PartitionReader<InternalRow> createReader(InputPartition task) {
            throw new UnsupportedOperationException("kafka-log is read in columns");
        }

        @Override public PartitionReader<ColumnarBatch> createColumnarReader(InputPartition task) {
            return new LogReader(((Task) task).pieces, this);
        }

        @Override public boolean supportColumnarReads(InputPartition task) { return true; }
    }
}
