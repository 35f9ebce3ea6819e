package kafkalog;

import com.github.luben.zstd.Zstd;
import com.github.luben.zstd.ZstdDecompressCtx;
import com.github.luben.zstd.ZstdException;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.zip.GZIPInputStream;
import net.jpountz.lz4.LZ4Factory;
import net.jpountz.lz4.LZ4SafeDecompressor;
import net.jpountz.xxhash.XXHash32;
import net.jpountz.xxhash.XXHashFactory;
import org.xerial.snappy.Snappy;

/** Decompresses the records of a batch into memory that is used again, by libraries that Spark ships. */
final class Codecs {
    static final String[] NAMES = {"none", "gzip", "snappy", "lz4", "zstd"};

    private static final byte[] SNAPPY_MAGIC = {(byte) 0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0};
    private static final int SNAPPY_HEADER = 16;
    private static final int LARGEST_SNAPPY_RATIO = 64;
    private static final int LZ4_MAGIC = 0x184D2204;

    private final int largest;
    private final LZ4SafeDecompressor lz4 = LZ4Factory.fastestInstance().safeDecompressor();
    private final XXHash32 hash = XXHashFactory.fastestInstance().hash32();
    private ZstdDecompressCtx zstd;
    private byte[] content = new byte[1 << 16];
    private int used;

    /** Takes the bytes that a batch can decompress to. */
    Codecs(int largest) { this.largest = largest; }

    void close() { if (zstd != null) zstd.close(); }

    /** Returns the memory that begins with what was decompressed last. */
    byte[] content() { return content; }

    /** Decompresses; returns the size of the content. */
    int unpack(int codec, byte[] data, int at, int size) throws IOException {
        used = 0;
        switch (codec) {
            case 1 -> gzip(data, at, size);
            case 2 -> snappy(data, at, size);
            case 3 -> lz4(data, at, size);
            case 4 -> zstd(data, at, size);
            default -> throw new IOException("no library for codec " + codec);
        }
        return used;
    }

    private void reserve(long more) throws IOException {
        if (used + more > largest) throw new IOException("more than " + largest + " bytes");
        if (used + more <= content.length) return;
        content = Arrays.copyOf(content, (int) Math.min(largest, Math.max(used + more, 2L * content.length)));
    }

    private void gzip(byte[] data, int at, int size) throws IOException {
        try (GZIPInputStream stream = new GZIPInputStream(new ByteArrayInputStream(data, at, size), 1 << 13)) {
            for (int count = 0; count >= 0; used += Math.max(count, 0)) {
                reserve(used == content.length ? 1 : 0);
                count = stream.read(content, used, content.length - used);
            }
        }
    }

    /** Reads xerial's stream of blocks, or one block without a header. */
    private void snappy(byte[] data, int at, int size) throws IOException {
        int end = at + size;
        if (!beginsStream(data, at, end)) {
            snappyBlock(data, at, size);
            return;
        }
        ByteBuffer numbers = ByteBuffer.wrap(data);
        for (int place = at + SNAPPY_HEADER; place + 4 <= end; ) {
            int block = numbers.getInt(place);
            if (beginsStream(data, place, end)) {
                place += SNAPPY_HEADER;
            } else if (block >= 0 && block <= end - place - 4) {
                snappyBlock(data, place + 4, block);
                place += 4 + block;
            } else {
                throw new IOException("a block says it has " + block + " bytes, " + (end - place - 4) + " are left");
            }
        }
    }

    private static boolean beginsStream(byte[] data, int at, int end) {
        return end - at >= SNAPPY_HEADER && Arrays.equals(data, at, at + 8, SNAPPY_MAGIC, 0, 8);
    }

    private void snappyBlock(byte[] data, int at, int size) throws IOException {
        long content = Snappy.uncompressedLength(data, at, size);
        if (content < 0 || content > (long) LARGEST_SNAPPY_RATIO * size) {
            throw new IOException("a block of " + size + " bytes says it holds " + content);
        }
        reserve(content);
        used += Snappy.uncompress(data, at, size, this.content, used);
    }

    /** Reads one frame of independent blocks. Kafka: Lz4BlockInputStream (4.2). */
    private void lz4(byte[] data, int at, int size) throws IOException {
        ByteBuffer frame = ByteBuffer.wrap(data, at, size).order(ByteOrder.LITTLE_ENDIAN);
        if (frame.getInt() != LZ4_MAGIC) throw new IOException("no frame begins here");
        int flags = frame.get();
        int largestBlock = 1 << (8 + 2 * ((frame.get() >> 4) & 7));
        if ((flags & 0xE0) != 0x60 || largestBlock < 1 << 16) throw new IOException("unknown flags " + flags);
        frame.position(frame.position() + ((flags & 8) != 0 ? 8 : 0)); // the content's size
        int sum = hash.hash(data, at + 4, frame.position() - at - 4, 0) >> 8;
        if ((byte) sum != frame.get()) throw new IOException("the checksum of the header does not match");
        for (int word = frame.getInt(); word != 0; word = frame.getInt()) {
            int block = word & Integer.MAX_VALUE;
            int place = frame.position();
            if (block > Math.min(largestBlock, frame.remaining())) {
                throw new IOException("a block says it has " + block + " bytes, " + frame.remaining() + " are left");
            }
            frame.position(place + block);
            boolean isChecked = (flags & 16) != 0;
            if (isChecked && frame.getInt() != hash.hash(data, place, block, 0)) {
                throw new IOException("the checksum of a block does not match");
            }
            if (word < 0) {
                reserve(block);
                System.arraycopy(data, place, content, used, block);
                used += block;
            } else {
                reserve(Math.min(largestBlock, largest - used));
                used += lz4.decompress(data, place, block, content, used, Math.min(largestBlock, content.length - used));
            }
        }
    }

    private void zstd(byte[] data, int at, int size) throws IOException {
        if (zstd == null) zstd = new ZstdDecompressCtx();
        while (true) {
            try {
                used = zstd.decompressByteArray(content, 0, content.length, data, at, size);
                return;
            } catch (ZstdException error) {
                if (error.getErrorCode() != Zstd.errDstSizeTooSmall()) throw error;
                reserve(content.length + 1L);
            }
        }
    }
}
