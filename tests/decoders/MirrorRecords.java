package org.apache.kafka.connect.mirror;

import java.util.HexFormat;
import org.apache.kafka.common.TopicPartition;

/** Prints records as MirrorMaker 2 writes them, a line each: kind, key and value in hex. */
public final class MirrorRecords {
    public static void main(String[] a) {
        TopicPartition where = new TopicPartition("orders-\u00e9", 12);
        Checkpoint c = new Checkpoint("billing", where, 4_000_000_000L, 17, "note");
        print("checkpoint", c.recordKey(), c.recordValue());
        Checkpoint none = new Checkpoint("", new TopicPartition("t", 0), 0, 0, "");
        print("checkpoint", none.recordKey(), none.recordValue());
        OffsetSync s = new OffsetSync(where, 4_000_000_000L, -1);
        print("offset sync", s.recordKey(), s.recordValue());
        Heartbeat h = new Heartbeat("east", "west", 1_700_000_000_123L);
        print("heartbeat", h.recordKey(), h.recordValue());
    }

    static void print(String kind, byte[] key, byte[] value) {
        HexFormat hex = HexFormat.of();
        System.out.println(kind + "\t" + hex.formatHex(key) + "\t" + hex.formatHex(value));
    }
}
