"""Which offsets of a log may be cleaned, how dirty it is, and how long it has waited.

All are functions of a log, the cleaner's checkpoint and the time. The cleaner's manager chooses by
them, and explanations of its choice use the same ones.

Kafka: LogCleanerManager.cleanableOffsets, LogToClean (4.2)
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from workbench.files.names import TopicPartition
from workbench.log.context import LogContext
from workbench.log.log import Log
from workbench.log.segments.log_segments import total_size
from workbench.runtime.times import ms_text

FIRST_UNSTABLE: Final = "first unstable offset"
HIGH_WATERMARK: Final = "high watermark"
ACTIVE_SEGMENT: Final = "active segment"
MIN_COMPACTION_LAG: Final = "min.compaction.lag.ms"


class Bound(NamedTuple):
    """One reason why a log cannot be cleaned beyond an offset.

    Attributes:
        name: "first unstable offset" (an open transaction) or "high watermark", "active segment",
            "min.compaction.lag.ms".
        offset: the first offset that cannot be cleaned.
    """

    name: str
    offset: int


class CleanableOffsets(NamedTuple):
    """The offsets of a log that are dirty and may be cleaned.

    Attributes:
        first_dirty_offset: first offset to clean.
        first_uncleanable_dirty_offset: end of the cleaning (exclusive), at least the former.
        bounds: the bounds that it was chosen from, in Kafka's order; `least_bound` applies.
        reset_reason: why the checkpoint is not trusted and must be rewritten; empty if it is.

    Kafka: LogCleanerManager.OffsetsToClean (4.2)
    """

    first_dirty_offset: int
    first_uncleanable_dirty_offset: int
    bounds: tuple[Bound, ...]
    reset_reason: str

    @property
    def least_bound(self) -> Bound:
        """The first of the bounds with the least offset."""
        return min(self.bounds, key=lambda bound: bound.offset)

    @property
    def force_update_checkpoint(self) -> bool:
        """Whether the checkpoint must first be set to the first dirty offset."""
        return bool(self.reset_reason)


@dataclass(frozen=True, slots=True)
class LogToClean:
    """A compacted log as the cleaner sees it.

    Attributes:
        log: the log itself.
        offsets: the offsets that are dirty and may be cleaned.
        compaction_delay_ms: ms since `max.compaction.lag.ms` made the log due; 0 if it did not.
        first_uncleanable_offset: base offset of the first segment that cannot be cleaned.
        clean_bytes: bytes of segments that begin below the first dirty offset.
        cleanable_bytes: bytes of the dirty segments that may be cleaned.
        uncleanable_bytes: bytes of the rest, including the active segment.

    Kafka: LogToClean (4.2)
    """

    log: Log
    offsets: CleanableOffsets
    compaction_delay_ms: int
    first_uncleanable_offset: int
    clean_bytes: int
    cleanable_bytes: int
    uncleanable_bytes: int

    @property
    def topic_partition(self) -> TopicPartition:
        """The log's partition."""
        return self.log.topic_partition

    @property
    def first_dirty_offset(self) -> int:
        """The first offset to clean."""
        return self.offsets.first_dirty_offset

    @property
    def needs_compaction_now(self) -> bool:
        """Whether `max.compaction.lag.ms` makes the log due, however clean it is."""
        return self.compaction_delay_ms > 0

    @property
    def total_bytes(self) -> int:
        """Clean and cleanable bytes: the total that the ratio refers to."""
        return self.clean_bytes + self.cleanable_bytes

    @property
    def cleanable_ratio(self) -> float:
        """The dirty share, 0 to 1; the filthiest log has the largest. 0 for a log without bytes."""
        return self.cleanable_bytes / self.total_bytes if self.total_bytes else 0.0

    @property
    def is_cleanable(self) -> bool:
        """Whether the log is dirty enough, or due.

        Kafka: LogCleanerManager.grabFilthiestCompactedLog (4.2)
        """
        if self.needs_compaction_now and self.cleanable_bytes > 0:
            return True
        return self.cleanable_ratio > self.log.config.min_cleanable_dirty_ratio


def log_to_clean(log: Log, last_clean_offset: int | None, now: int) -> LogToClean:
    """Return how dirty a log is.

    Args:
        log: a compacted topic's log.
        last_clean_offset: the log's offset in the cleaner's checkpoint; None if it has none.
        now: ms; the lags depend on it.

    Kafka: LogToClean, LogCleanerManager.calculateCleanableBytes (4.2)
    """
    offsets = cleanable_offsets(log, last_clean_offset, now)
    first_dirty, bound = offsets.first_dirty_offset, offsets.first_uncleanable_dirty_offset
    segments = log.local.segments
    uncleanable = segments.non_active_from(bound) or [segments.active]
    end = uncleanable[0].base_offset
    return LogToClean(
        log,
        offsets,
        max_compaction_delay(log, first_dirty, now),
        end,
        clean_bytes=total_size(segments.values(-1, first_dirty)),
        cleanable_bytes=total_size(segments.values(min(first_dirty, end), end)),
        uncleanable_bytes=total_size(
            segment for segment in log.segments if segment.base_offset >= end
        ),
    )


def cleanable_offsets(log: Log, last_clean_offset: int | None, now: int) -> CleanableOffsets:
    """Return which offsets of a log are dirty and may be cleaned; for arguments see `log_to_clean`.

    Kafka: LogCleanerManager.cleanableOffsets (4.2)
    """
    start, end = log.log_start_offset, log.log_end_offset
    first_dirty, reset_reason = start, ""
    if last_clean_offset is not None:
        if last_clean_offset < start:
            reset_reason = (
                f"the checkpoint's offset {last_clean_offset} is below the log start offset {start}"
            )
        elif last_clean_offset > end and log.context.rules.resets_beyond_end:
            reset_reason = (
                f"the checkpoint's offset {last_clean_offset} is above the log end offset {end}"
            )
        else:
            first_dirty = last_clean_offset
    bounds = _bounds(log, first_dirty, now)
    least = min(bound.offset for bound in bounds)
    return CleanableOffsets(first_dirty, max(first_dirty, least), bounds, reset_reason)


def _bounds(log: Log, first_dirty: int, now: int) -> tuple[Bound, ...]:
    stable, high = log.last_stable_offset, log.high_watermark
    bounds = [
        Bound(FIRST_UNSTABLE if stable < high else HIGH_WATERMARK, stable),
        Bound(ACTIVE_SEGMENT, log.active_segment.base_offset),
    ]
    lag = log.config.min_compaction_lag_ms
    if lag > 0:
        too_new = (
            Bound(MIN_COMPACTION_LAG, segment.base_offset)
            for segment in log.local.segments.non_active_from(first_dirty)
            if segment.largest_timestamp > now - lag
        )
        bounds += [bound for bound in [next(too_new, None)] if bound is not None]
    return tuple(bounds)


def dirty_since(log: Log, first_dirty_offset: int) -> int | None:
    """Return the timestamp that `max.compaction.lag.ms` is measured from; None if there is none.

    It is the earliest of the dirty segments' first batches, without the active segment; ms.

    Kafka: LogCleanerManager.maxCompactionDelay, UnifiedLog.getFirstBatchTimestampForSegments (4.2)
    """
    segments = log.local.segments.non_active_from(first_dirty_offset)
    timestamps = [segment.first_batch_timestamp for segment in segments]
    return min([one for one in timestamps if one is not None and one > 0], default=None)


def max_compaction_delay(log: Log, first_dirty_offset: int, now: int) -> int:
    """Return the ms since `max.compaction.lag.ms` made a log due; 0 if it did not.

    Kafka: LogCleanerManager.maxCompactionDelay (4.2)
    """
    since = dirty_since(log, first_dirty_offset)
    return 0 if since is None else max(now - log.config.max_compaction_lag_ms - since, 0)


def cleaning_order(logs: Iterable[LogToClean]) -> list[LogToClean]:
    """Return the logs to clean now, in order.

    The order of equally dirty logs is arbitrary: Kafka uses the order of its map.

    Kafka: LogCleanerManager.grabFilthiestCompactedLog (4.2)
    """
    due = [one for one in logs if one.is_cleanable]
    return sorted(due, key=lambda one: (-one.cleanable_ratio, one.topic_partition))


class CleaningPlace(NamedTuple):
    """Where a log is among those that are cleaned.

    Attributes:
        place: 1 for the dirtiest; equally dirty logs share the number.
        before: logs that are dirtier.
        tied: how many other logs are equally dirty: which of them is cleaned first is arbitrary.
    """

    place: int
    before: list[TopicPartition]
    tied: int


def place_of(name: TopicPartition, order: Sequence[LogToClean]) -> CleaningPlace | None:
    """Return where a log is in a cleaning order; None if it is not in it."""
    own = next((one for one in order if one.topic_partition == name), None)
    if own is None:
        return None
    ratio = own.cleanable_ratio
    before = [one.topic_partition for one in order if one.cleanable_ratio > ratio]
    tied = sum(one.cleanable_ratio == ratio for one in order) - 1
    return CleaningPlace(len(before) + 1, before, tied)


def tell_choice(context: LogContext, to_clean: LogToClean) -> None:
    """Report whether a log is dirty enough to be cleaned, and which offsets may be."""
    if context.observer is None:
        return
    ratio, threshold = to_clean.cleanable_ratio, context.config.min_cleanable_dirty_ratio
    least = to_clean.offsets.least_bound
    numbers: dict[str, Any] = {
        "first_dirty_offset": to_clean.first_dirty_offset,
        "first_uncleanable_offset": to_clean.first_uncleanable_offset,
        "bound": least.name,
        "dirty_ratio": round(ratio, 4),
        "clean_bytes": to_clean.clean_bytes,
        "cleanable_bytes": to_clean.cleanable_bytes,
    }
    measured = f"the log's dirty ratio {ratio:.2f} is {{}} min.cleanable.dirty.ratio {threshold:g}"
    if to_clean.first_dirty_offset >= to_clean.first_uncleanable_offset:
        context.tell(
            "log not due", reason=f"nothing may be cleaned: {least.name} is the bound", **numbers
        )
    elif to_clean.needs_compaction_now and to_clean.cleanable_bytes:
        delay = ms_text(to_clean.compaction_delay_ms, " ms")
        late = f"max.compaction.lag.ms made the log due {delay} ago"
        context.tell("log chosen", reason=late, **numbers)
    elif to_clean.is_cleanable:
        context.tell("log chosen", reason=measured.format("above"), **numbers)
    else:
        context.tell("log not due", reason=measured.format("not above"), **numbers)
