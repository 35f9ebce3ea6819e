package kafkalog;

import java.nio.charset.StandardCharsets;
import java.util.List;
import org.apache.spark.sql.execution.vectorized.ConstantColumnVector;
import org.apache.spark.sql.execution.vectorized.OnHeapColumnVector;
import org.apache.spark.sql.execution.vectorized.WritableColumnVector;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.unsafe.types.UTF8String;

/** Memory for rows, used again for every batch of rows; what nobody wants is null. */
final class RowVectors {
    static final int ROWS = 4096;

    private static final List<String> OF_A_PIECE = List.of("topic", "partition", "segment");
    private static final long MOST_MS = Long.MAX_VALUE / 1000;

    private final StructType columns;
    private final String[] names;
    private final WritableColumnVector[] all;
    final WritableColumnVector key;
    final WritableColumnVector value;
    final WritableColumnVector offset;
    final WritableColumnVector timestamp;
    final WritableColumnVector headers;
    final WritableColumnVector sequence;

    RowVectors(StructType columns) {
        this.columns = columns;
        names = columns.fieldNames();
        all = new WritableColumnVector[names.length];
        for (int i = 0; i < all.length; i++) {
            if (!OF_A_PIECE.contains(names[i])) all[i] = new OnHeapColumnVector(ROWS, columns.apply(i).dataType());
        }
        key = of("key");
        value = of("value");
        offset = of("offset");
        timestamp = of("timestamp");
        headers = of("headers");
        sequence = of("sequence");
    }

    private WritableColumnVector of(String name) {
        int at = List.of(names).indexOf(name);
        return at < 0 ? null : all[at];
    }

    void reset() {
        for (WritableColumnVector each : all) if (each != null) each.reset();
    }

    void close() {
        for (WritableColumnVector each : all) if (each != null) each.close();
    }

    /** Returns the rows that were written. */
    ColumnarBatch batch(Piece piece, int rows) {
        ColumnVector[] vectors = new ColumnVector[all.length];
        for (int i = 0; i < all.length; i++) vectors[i] = all[i] == null ? constant(i, piece, rows) : all[i];
        return new ColumnarBatch(vectors, rows);
    }

    private ColumnVector constant(int column, Piece piece, int rows) {
        ConstantColumnVector same = new ConstantColumnVector(rows, columns.apply(column).dataType());
        switch (names[column]) {
            case "topic" -> same.setUtf8String(UTF8String.fromString(piece.topic()));
            case "partition" -> same.setInt(piece.partition());
            default -> same.setLong(piece.segment());
        }
        return same;
    }

    /** Writes to rows what all records of a batch have in common. */
    void putBatch(int row, int count, BatchHeader header) {
        for (int i = 0; i < all.length; i++) {
            WritableColumnVector to = all[i];
            switch (names[i]) {
                case "timestampType" -> to.putInts(row, count, header.isLogAppendTime() ? 1 : 0);
                case "batchPosition" -> to.putLongs(row, count, header.position);
                case "isTransactional" -> to.putBooleans(row, count, header.isTransactional());
                case "isControl" -> to.putBooleans(row, count, header.isControl());
                case "codec" -> {
                    byte[] name = Codecs.NAMES[header.codec()].getBytes(StandardCharsets.US_ASCII);
                    for (int at = row; at < row + count; at++) to.putByteArray(at, name, 0, name.length);
                }
                case "producerId" -> {
                    if (header.producerId() == -1) to.putNulls(row, count);
                    else to.putLongs(row, count, header.producerId());
                }
                case "producerEpoch" -> {
                    if (header.producerEpoch() == -1) to.putNulls(row, count);
                    else to.putShorts(row, count, header.producerEpoch());
                }
                case "leaderEpoch" -> {
                    if (header.leaderEpoch() == -1) to.putNulls(row, count);
                    else to.putInts(row, count, header.leaderEpoch());
                }
                default -> {}
            }
        }
    }

    /** Writes a time in ms; null where there is none, or where it does not fit into 64 bits of us. */
    void putTimestamp(int row, long time) {
        if (time == -1 || time > MOST_MS || time < -MOST_MS) timestamp.putNull(row);
        else timestamp.putLong(row, time * 1000);
    }

    /** Writes a key or value; what has a negative length is null. */
    static void putBytes(WritableColumnVector to, int row, byte[] data, int at, int length) {
        if (length < 0) to.putNull(row);
        else to.putByteArray(row, data, at, length);
    }

    /** Writes how many headers follow by `appendHeader`; null where there are none. */
    void putHeaders(int row, int count) {
        if (count == 0) headers.putNull(row);
        else headers.putArray(row, headers.arrayData().getElementsAppended(), count);
    }

    /** Writes a header; what is not UTF-8 of its name is replaced. */
    void appendHeader(byte[] data, int key, int keyLength, int value, int valueLength) {
        WritableColumnVector pairs = headers.arrayData();
        pairs.appendStruct(false);
        byte[] name = new String(data, key, keyLength, StandardCharsets.UTF_8).getBytes(StandardCharsets.UTF_8);
        pairs.getChild(0).appendByteArray(name, 0, name.length);
        if (valueLength < 0) pairs.getChild(1).appendNull();
        else pairs.getChild(1).appendByteArray(data, value, valueLength);
    }
}
