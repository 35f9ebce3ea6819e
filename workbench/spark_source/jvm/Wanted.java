package kafkalog;

import java.io.Serializable;

/**
 * What filters want of a piece: offsets from `low` to before `high`, in batches with times from `since` to `until`, in ms.
 *
 * <p>A batch says its largest time. Its smallest is known only where a broker has given all of its records one time.
 */
record Wanted(long low, long high, long since, long until) implements Serializable {
    private static final long FIRST = Long.MIN_VALUE;
    private static final long LAST = Long.MAX_VALUE;

    static final Wanted ALL = new Wanted(FIRST, LAST, FIRST, LAST);
    static final Wanted NONE = new Wanted(0, 0, 0, -1);

    static Wanted offsets(String comparison, long offset) {
        return switch (comparison) {
            case "<" -> new Wanted(FIRST, offset, FIRST, LAST);
            case "<=" -> new Wanted(FIRST, offset + 1, FIRST, LAST);
            case ">" -> new Wanted(offset + 1, LAST, FIRST, LAST);
            case ">=" -> new Wanted(offset, LAST, FIRST, LAST);
            default -> new Wanted(offset, offset + 1, FIRST, LAST);
        };
    }

    static Wanted times(String comparison, long microseconds) {
        long at = Math.floorDiv(microseconds, 1000L);
        return switch (comparison) {
            case "<", "<=" -> new Wanted(FIRST, LAST, FIRST, at);
            case ">", ">=" -> new Wanted(FIRST, LAST, at, LAST);
            default -> new Wanted(FIRST, LAST, at, at);
        };
    }

    boolean isEmpty() { return low >= high || since > until; }

    Wanted and(Wanted other) {
        return new Wanted(Math.max(low, other.low), Math.min(high, other.high), Math.max(since, other.since), Math.min(until, other.until));
    }

    /** Returns the least that holds both. */
    Wanted or(Wanted other) {
        if (isEmpty() || other.isEmpty()) return isEmpty() ? other : this;
        return new Wanted(Math.min(low, other.low), Math.max(high, other.high), Math.min(since, other.since), Math.max(until, other.until));
    }

    /** Returns whether a batch can hold wanted times. */
    boolean fits(BatchHeader batch) {
        return batch.maxTimestamp() >= since && !(batch.isLogAppendTime() && batch.maxTimestamp() > until);
    }
}
