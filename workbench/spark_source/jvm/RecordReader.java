package kafkalog;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.Map;
import java.util.zip.CRC32C;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.execution.vectorized.WritableColumnVector;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/**
 * Reads the records of pieces: batches of magic 2 with valid CRCs, offsets ascending. Everything else is an error that
 * says where, as `workbench.loaders.scan.segment_chunks` finds it and onCorrupt=fail reports it.
 *
 * <p>A file is read in windows, into memory that is used again. Before a size that a file claims is allocated, it is
 * compared with the size of the file and with the largest size of a batch.
 */
final class RecordReader {
    private static final int WINDOW = 1 << 20;
    private static final int ENOUGH_BYTES = 4 << 20; // of records for one batch of rows
    private static final int SMALLEST_MESSAGE = 14;
    private static final int SMALLEST_RECORD = 7;

    private final RowVectors out;
    private final int largestBatch;
    private final Codecs codecs;
    private final CRC32C crc = new CRC32C();

    private Piece piece;
    private Wanted wanted;
    private FileChannel file;
    private ByteBuffer window = ByteBuffer.allocate(WINDOW);
    private long windowStart; // its first byte's position in the file
    private int at; // the next batch in the window
    private long lowest; // what follows has no lower offset
    private int batchesPast; // how many in a row begin past the wanted offsets

    private BatchHeader header;
    private byte[] data; // the records of the batch; null: they are still compressed
    private int next; // the next record
    private int end;
    private int left; // records that are not read yet
    private int row;
    private int most = RowVectors.ROWS;

    private long bytesRead;
    private long segmentsRead;
    private long batchesRead;
    private long batchesSkipped;

    RecordReader(StructType columns, int largest) {
        this.out = new RowVectors(columns);
        this.largestBatch = 2 * largest;
        this.codecs = new Codecs(largest);
    }

    void open(Piece opened) throws IOException {
        if (file != null) file.close();
        piece = opened;
        wanted = opened.wanted() == null ? Wanted.ALL : opened.wanted();
        segmentsRead++;
        Path path = Path.of(piece.path());
        try {
            file = FileChannel.open(path);
            requireAsPlanned(Files.readAttributes(path, "unix:ino,size,lastModifiedTime"));
        } catch (NoSuchFileException error) {
            throw changed("was deleted");
        }
        windowStart = piece.start();
        window.clear().limit(0);
        at = left = batchesPast = 0;
        lowest = Math.max(piece.segment(), piece.floor());
    }

    CustomTaskMetric[] metrics() {
        return new CustomTaskMetric[] {
            new Metrics.Value("bytesRead", bytesRead), new Metrics.Value("segmentsRead", segmentsRead),
            new Metrics.Value("batchesRead", batchesRead), new Metrics.Value("batchesSkipped", batchesSkipped)};
    }

    void close() throws IOException {
        if (file != null) file.close();
        codecs.close();
        out.close();
    }

    private void requireAsPlanned(Map<String, Object> now) throws IOException {
        long size = (Long) now.get("size");
        boolean isSame = piece.isActive()
            ? size >= piece.size()
            : size == piece.size() && ((FileTime) now.get("lastModifiedTime")).toMillis() == piece.modified();
        boolean isSameFile = piece.inode() == 0 || piece.inode() == ((Number) now.get("ino")).longValue();
        if (!isSame || !isSameFile) throw changed("was replaced or truncated");
    }

    private IOException changed(String what) {
        return new IOException(piece.path() + ": " + what + " since the job was planned; reader=python follows it");
    }

    /** Returns the next rows, `limit` at most, null after the last. */
    ColumnarBatch next(int limit) throws IOException {
        most = Math.min(limit, RowVectors.ROWS);
        out.reset();
        row = 0;
        long bytes = 0;
        while (row < most && bytes < ENOUGH_BYTES && (left > 0 || nextBatch())) {
            int first = row;
            bytes += decode();
            if (row > first) out.putBatch(first, row - first, header);
        }
        return row == 0 ? null : out.batch(piece, row);
    }

    /** Returns how many records the piece has; a batch that is wanted as a whole is not decoded. */
    long count() throws IOException {
        long total = 0;
        while (nextBatch()) {
            long first = header.baseOffset(), last = header.lastOffset();
            boolean isWhole = first >= Math.max(piece.low(), lowest) && last < Math.min(piece.high(), piece.end());
            if (isWhole && left <= header.lastOffsetDelta() + 1L) {
                total += left;
                lowest = last + 1;
                left = 0;
            }
            for (; left > 0; total += row) {
                row = 0;
                decode();
            }
        }
        return total;
    }

    /** Goes to the next batch that can hold wanted records; returns whether there is one. */
    private boolean nextBatch() throws IOException {
        // Not after one batch alone that begins past them: its base offset, outside the CRC, may be damaged.
        while (batchesPast < 2 && nextHeader()) {
            at += header.size();
            batchesSkipped++;
            batchesPast = header.baseOffset() >= piece.high() ? batchesPast + 1 : 0;
            boolean isWanted = header.lastOffset() >= piece.low() && batchesPast == 0 && !header.isControl();
            if (!isWanted || header.count() == 0) continue;
            if (crcOf(header.at(), header.size()) != header.crc()) throw corrupt("the CRC does not match");
            boolean isAborted = header.isTransactional() && piece.isAborted(header.baseOffset());
            if (isAborted || !wanted.fits(header)) continue;
            left = header.count();
            data = header.codec() == 0 ? window.array() : null;
            next = header.at() + BatchHeader.SIZE;
            end = at;
            batchesRead++;
            batchesSkipped--;
            return true;
        }
        return false;
    }

    private int crcOf(int batch, int size) {
        crc.reset();
        crc.update(window.array(), batch + BatchHeader.CRC_FROM, size - BatchHeader.CRC_FROM);
        return (int) crc.getValue();
    }

    /** Brings the next batch into the window and reads its header; returns whether there is one. */
    private boolean nextHeader() throws IOException {
        long position = windowStart + at;
        long room = piece.stop() - position;
        if (room <= 0) return false;
        if (!fill(BatchHeader.MAGIC_AT + 1)) return noBatch(position, true, room + " bytes of an incomplete batch");
        int length = window.getInt(at + BatchHeader.LENGTH_AT);
        long size = (long) length + BatchHeader.LENGTH_END;
        String wrong = "the batch size cannot be right: " + length + " bytes";
        if (length < SMALLEST_MESSAGE) return noBatch(position, false, wrong);
        if (size > room) return noBatch(position, true, wrong + " (expected at most " + room + ")");
        if (size > largestBatch) throw corrupt(position, wrong + " (expected at most " + largestBatch + ")");
        if (!fill((int) size)) return noBatch(position, true, wrong);
        int magic = window.get(at + BatchHeader.MAGIC_AT);
        if (magic == 0 || magic == 1) {
            throw new IOException(piece.path() + ": at byte " + position + ": reader=python reads magic " + magic);
        }
        if (magic != 2) throw corrupt(position, "unknown magic: " + magic);
        if (size < BatchHeader.SIZE) throw corrupt(position, "the batch is shorter than its header");
        header = new BatchHeader(window, at, position);
        require(header.codec() < Codecs.NAMES.length, "unknown codec", header.codec());
        long fitting = header.codec() == 0 ? (size - BatchHeader.SIZE) / SMALLEST_RECORD : Integer.MAX_VALUE;
        boolean isCount = header.count() >= 0 && header.count() <= fitting && header.lastOffsetDelta() >= 0;
        require(isCount, "the record count cannot be right", header.count());
        long last = header.lastOffset();
        require(last >= 0 && last < Long.MAX_VALUE, "an offset that is not in order", last);
        return true;
    }

    /** Reads on until the window holds so many bytes from `at`; returns false at the end of the piece. */
    private boolean fill(int bytes) throws IOException {
        if (window.limit() - at >= bytes) return true;
        window.position(at);
        if (bytes > window.capacity()) window = ByteBuffer.allocate(bytes).put(window);
        else window.compact();
        windowStart += at;
        at = 0;
        window.limit((int) Math.min(window.capacity(), piece.stop() - windowStart));
        int kept = window.position();
        while (window.hasRemaining() && file.read(window, windowStart + window.position()) >= 0) {}
        bytesRead += window.position() - kept;
        window.flip();
        return window.limit() >= bytes;
    }

    /**
     * Ends the piece at bytes that are not a batch, if they are only what a broker has not written yet: the end of the
     * active segment, where a batch is incomplete or all is zero, and no sound batch follows.
     */
    private boolean noBatch(long position, boolean isIncomplete, String problem) throws IOException {
        boolean isLast = piece.isActive() && piece.stop() >= piece.size();
        boolean isZero = true;
        for (long place = position; isLast && place < piece.stop() && seek(place); place++) {
            isZero &= window.get(at) == 0;
            isLast = place == position || !isSound(place);
        }
        if (!isLast || !(isIncomplete || isZero)) throw corrupt(position, problem);
        at = (int) (piece.stop() - windowStart);
        return false;
    }

    private boolean seek(long place) throws IOException {
        at = (int) (place - windowStart);
        return fill(1);
    }

    private boolean isSound(long place) throws IOException {
        if (!fill(BatchHeader.SIZE) || window.get(at + BatchHeader.MAGIC_AT) != 2) return false;
        long size = (long) window.getInt(at + BatchHeader.LENGTH_AT) + BatchHeader.LENGTH_END;
        if (size < BatchHeader.SIZE || size > Math.min(largestBatch, piece.stop() - place)) return false;
        return fill((int) size) && crcOf(at, (int) size) == window.getInt(at + BatchHeader.CRC_AT);
    }

    private IOException corrupt(String problem) { return corrupt(header.position, problem); }

    private IOException corrupt(long position, String problem) {
        return new IOException(piece.path() + ": at byte " + position + ": " + problem + "; onCorrupt=skip leaves it out");
    }

    private void require(boolean isRight, String problem, long found) throws IOException {
        if (!isRight) throw corrupt(problem + ": " + found);
    }

    private void unpack() throws IOException {
        try {
            end = codecs.unpack(header.codec(), window.array(), next, end - next);
        } catch (IOException | RuntimeException error) {
            throw corrupt("the compressed records cannot be read: " + Codecs.NAMES[header.codec()] + ": " + error.getMessage());
        }
        data = codecs.content();
        next = 0;
        require(left <= end / SMALLEST_RECORD, "the record count cannot be right", left);
    }

    /** Decodes records until there are no more or the rows are full; returns how many bytes. */
    private int decode() throws IOException {
        if (data == null) unpack();
        int start = next;
        try {
            while (left > 0 && row < most && next - start < ENOUGH_BYTES) {
                decodeRecord();
                left--;
            }
        } catch (IndexOutOfBoundsException error) {
            throw corrupt("a varint is incomplete or too long");
        }
        require(left > 0 || next == end, "bytes are left after the last declared record", end - next);
        return next - start;
    }

    private void decodeRecord() throws IOException {
        int length = varint();
        int stop = next + length;
        boolean fits = length >= SMALLEST_RECORD - 1 && length <= end - next;
        require(fits, "a record's length does not fit into the batch", length);
        next++; // attributes
        long time = header.baseTimestamp() + varlong();
        long offset = header.baseOffset() + varint();
        require(offset >= lowest && offset < piece.end(), "an offset that is not in order", offset);
        lowest = offset + 1;
        boolean isWanted = offset >= piece.low() && offset < piece.high();
        bytes(isWanted ? out.key : null, stop, "a key's length does not fit into the record");
        bytes(isWanted ? out.value : null, stop, "a value's length does not fit into the record");
        headers(stop, isWanted && out.headers != null);
        require(next == stop, "a record's fields do not end where the record does", next - stop);
        if (!isWanted) return;
        if (out.offset != null) out.offset.putLong(row, offset);
        if (out.timestamp != null) out.putTimestamp(row, header.isLogAppendTime() ? header.maxTimestamp() : time);
        if (out.sequence != null) putSequence(header.baseSequence(), offset - header.baseOffset());
        row++;
    }

    private void putSequence(int base, long delta) {
        if (base < 0) out.sequence.putNull(row);
        else out.sequence.putInt(row, (int) ((base + delta) & Integer.MAX_VALUE));
    }

    private void bytes(WritableColumnVector to, int stop, String problem) throws IOException {
        int length = length(stop, problem);
        if (to != null) RowVectors.putBytes(to, row, data, next, length);
        next += Math.max(length, 0);
    }

    private int length(int stop, String problem) throws IOException {
        int length = varint();
        require(length <= stop - next, problem, length);
        return length;
    }

    private void headers(int stop, boolean isWanted) throws IOException {
        String problem = "a header does not fit into the record";
        int count = length(stop, problem);
        require(count >= 0, problem, count);
        if (isWanted) out.putHeaders(row, count);
        for (int i = 0; i < count; i++) {
            int keyLength = length(stop, problem);
            require(keyLength >= 0, problem, keyLength);
            int key = next;
            next += keyLength;
            int valueLength = length(stop, problem);
            if (isWanted) out.appendHeader(data, key, keyLength, next, valueLength);
            next += Math.max(valueLength, 0);
        }
    }

    private int varint() {
        int raw = data[next++];
        return raw >= 0 ? (raw >>> 1) ^ -(raw & 1) : (int) longer(raw, 28);
    }

    private long varlong() {
        int raw = data[next++];
        return raw >= 0 ? (raw >>> 1) ^ -(raw & 1) : longer(raw, 63);
    }

    /** Reads the rest of a varint, whose last byte is shifted by no more than `most` bits. */
    private long longer(int first, int most) {
        long raw = first & 0x7f;
        int b = first;
        for (int shift = 7; b < 0; shift += 7) {
            if (shift > most) throw new IndexOutOfBoundsException();
            b = data[next++];
            raw |= (long) (b & 0x7f) << shift;
        }
        return most == 28 ? ((int) raw >>> 1) ^ -((int) raw & 1) : (raw >>> 1) ^ -(raw & 1);
    }
}
