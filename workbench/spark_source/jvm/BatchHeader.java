package kafkalog;

import java.nio.ByteBuffer;

/** The header of a batch of magic 2, where it is in a window of its file. Kafka: DefaultRecordBatch (4.2). */
final class BatchHeader {
    static final int SIZE = 61;
    static final int LENGTH_AT = 8;
    static final int LENGTH_END = 12;
    static final int MAGIC_AT = 16;
    static final int CRC_AT = 17;
    static final int CRC_FROM = 21;

    final long position;
    private final ByteBuffer bytes;
    private final int at;

    BatchHeader(ByteBuffer window, int at, long position) {
        this.bytes = window;
        this.at = at;
        this.position = position;
    }

    int at() { return at; }

    int size() { return bytes.getInt(at + LENGTH_AT) + LENGTH_END; }

    long baseOffset() { return bytes.getLong(at); }

    int leaderEpoch() { return bytes.getInt(at + 12); }

    int crc() { return bytes.getInt(at + CRC_AT); }

    private int attributes() { return bytes.getShort(at + CRC_FROM); }

    int codec() { return attributes() & 7; }

    boolean isLogAppendTime() { return (attributes() & 8) != 0; }

    boolean isTransactional() { return (attributes() & 16) != 0; }

    boolean isControl() { return (attributes() & 32) != 0; }

    int lastOffsetDelta() { return bytes.getInt(at + 23); }

    long lastOffset() { return baseOffset() + lastOffsetDelta(); }

    long baseTimestamp() { return bytes.getLong(at + 27); }

    long maxTimestamp() { return bytes.getLong(at + 35); }

    long producerId() { return bytes.getLong(at + 43); }

    short producerEpoch() { return bytes.getShort(at + 51); }

    int baseSequence() { return bytes.getInt(at + 53); }

    int count() { return bytes.getInt(at + 57); }
}
