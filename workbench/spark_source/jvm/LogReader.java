package kafkalog;

import java.io.IOException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.execution.vectorized.OnHeapColumnVector;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/** Reads the pieces of one task, one after the other. */
final class LogReader implements PartitionReader<ColumnarBatch> {
    private final Piece[] pieces;
    private final boolean isCount;
    private final RecordReader records;
    private int next; // of the pieces
    private boolean isOpen;
    private ColumnarBatch batch;

    private LogReader(Piece[] pieces, Factory asked) {
        this.pieces = pieces;
        this.isCount = asked.isCount;
        this.records = new RecordReader(asked.isCount ? new StructType() : asked.columns, asked.since, asked.largest);
    }

    @Override public boolean next() throws IOException {
        if (isCount) return count();
        do {
            if (!isOpen && next == pieces.length) return false;
            if (!isOpen) records.open(pieces[next++]);
            batch = records.next();
            isOpen = batch != null;
        } while (!isOpen);
        return true;
    }

    /** Makes one row of all pieces: how many records they have. */
    private boolean count() throws IOException {
        if (batch != null) return false;
        long total = 0;
        for (Piece each : pieces) {
            records.open(each);
            total += records.count();
        }
        OnHeapColumnVector column = new OnHeapColumnVector(1, DataTypes.LongType);
        column.putLong(0, total);
        batch = new ColumnarBatch(new ColumnVector[] {column}, 1);
        return true;
    }

    @Override public ColumnarBatch get() { return batch; }

    @Override public void close() throws IOException { records.close(); }

    /** What one task reads. */
    record Task(Piece[] pieces) implements InputPartition {}

    /**
     * Makes the readers of tasks.
     *
     * @param columns the columns that are wanted
     * @param isCount whether only the number of records is
     * @param since a time in ms; batches that end before it are left out
     * @param largest bytes to which the records of one batch may decompress
     */
    record Factory(StructType columns, boolean isCount, long since, int largest) implements PartitionReaderFactory {
        @Override public PartitionReader<InternalRow> createReader(InputPartition task) {
            throw new UnsupportedOperationException("kafka-log is read in columns");
        }

        @Override public PartitionReader<ColumnarBatch> createColumnarReader(InputPartition task) {
            return new LogReader(((Task) task).pieces, this);
        }

        @Override public boolean supportColumnarReads(InputPartition task) { return true; }
    }
}
