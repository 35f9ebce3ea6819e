package kafkalog;

import java.io.Serializable;

/**
 * The batches of a segment that a task reads, with the names and meaning that `planner.py` gives them.
 *
 * @param wanted what filters want of it; null: everything
 * @param aborted pairs of offsets, ascending: the first and the last of batches that are aborted
 */
record Piece(
    String topic, int partition, String path, long segment, long size, long modified, long inode, boolean isActive,
    long start, long stop, long low, long high, long floor, long end, Wanted wanted, long[] aborted) implements Serializable {

    /** Returns the piece with what filters want. */
    Piece within(Wanted asked) {
        return new Piece(topic, partition, path, segment, size, modified, inode, isActive, start, stop,
            Math.max(low, asked.low()), Math.min(high, asked.high()), floor, end, asked, aborted);
    }

    boolean isEmpty() { return Math.max(low, floor) >= Math.min(high, end) || wanted.isEmpty(); }

    /** Returns whether the batch at an offset is aborted. */
    boolean isAborted(long offset) {
        int from = 0;
        for (int to = aborted.length / 2; from < to; ) {
            int middle = (from + to) >>> 1;
            if (aborted[2 * middle + 1] < offset) from = middle + 1;
            else to = middle;
        }
        return 2 * from < aborted.length && aborted[2 * from] <= offset;
    }
}
