"""What a cleaning reports to an observer: mapped keys, groups, decisions on batches and records.

Steps are made only for an observer, from what the cleaner decided by.
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from workbench.cleaner.decisions import Decisions, Keeping, Reason, Verdict
from workbench.cleaner.offset_map import NOT_FOUND, OffsetMap
from workbench.cleaner.schedule.log_to_clean import LogToClean
from workbench.cleaner.statistics import CleanerStats
from workbench.log.context import LogContext
from workbench.log.segments.segment import LogSegment
from workbench.record.compaction.locating import Chunk, Located
from workbench.runtime.steps import wants_details, wants_records

Longs = npt.NDArray[np.int64]

_KEEPINGS: Final = {
    Keeping.LAST_OF_PRODUCER: "the batch is the last one of a producer that is still known",
    Keeping.LAST_OF_ROUND: "the batch ends where the round ends",
}
_HORIZONS: Final = frozenset(
    {Reason.TOMBSTONE_HORIZON_SET, Reason.TOMBSTONE_HORIZON_AHEAD}
    | {Reason.MARKER_HORIZON_SET, Reason.MARKER_HORIZON_AHEAD}
)


class MapTeller:
    """Reports how the offset map is filled.

    Args:
        context: the log's context.
        offset_map: the map being filled.
    """

    def __init__(self, context: LogContext, offset_map: OffsetMap) -> None:
        self._context = context
        self._map = offset_map
        self._tells_batches = wants_details(context.observer)
        self._tells_records = wants_records(context.observer)

    def known(self, located: Located) -> Longs | None:
        """Return the map's offsets of keys; None if no observer wants them."""
        if not self._tells_records:
            return None
        known = np.empty(len(located.places), np.int64)
        self._map.newest_of(located, known)
        return known

    def taken(
        self, path: str, located: Located, start: int, known: Longs | None, passed: int
    ) -> None:
        """Report the keys that were put into the map, and whether it is full.

        Args:
            path: the `.log` file's path.
            located: the records.
            start: offset of the first record to report.
            known: the result of `known` from before they were put into the map.
            passed: number of them that were put into the map.
        """
        if known is not None:
            self._taken(path, located, start, known, passed)
        if passed < len(located.places) and self._context.observer is not None:
            offset = int(located.places["offset"][passed])
            self._context.tell(
                "map full",
                f"the offset map is full with {self._map.size} keys; the round ends before offset "
                f"{offset}, where the next one begins",
                path,
                offset=offset,
                entries=self._map.size,
                slots=self._map.slots,
            )

    def _taken(self, path: str, located: Located, start: int, known: Longs, passed: int) -> None:
        newest: dict[bytes, int] = {}
        for place, before in zip(located.places[:passed], known.tolist(), strict=False):
            offset, at, size = (int(place[name]) for name in ("offset", "key_start", "key_size"))
            if size < 0 or offset < start:
                continue
            key = located.data[at : at + size].tobytes()
            previous = newest.get(key, before)
            newest[key] = offset
            numbers = {"offset": offset}
            reason = "the record's key is new"
            if previous != NOT_FOUND:
                reason, numbers["previous"] = f"the record supersedes offset {previous}", previous
            self._context.tell("key mapped", reason, path, **numbers)

    def skipped(self, chunk: Chunk, first: int, last: int) -> None:
        """Report that the keys of batches were not put into the map."""
        if not self._tells_batches:
            return
        for row in chunk.rows[first:last]:
            reason = (
                "the batch ends a transaction"
                if row["is_control"]
                else "the batch's transaction was aborted"
            )
            numbers = {"offset": int(row["base_offset"]), "size": int(row["size"])}
            position = chunk.position + int(row["position"])
            self._context.tell("batch not mapped", reason, chunk.path, position=position, **numbers)

    def segment(self, segment: LogSegment, end: int) -> None:
        """Report that all keys of a segment, up to the offset ``end``, are in the map."""
        if self._context.observer is not None:
            entries, most = self._map.size, self._map.most
            self._context.tell(
                "segment mapped",
                f"up to offset {end} the offset map has {entries} keys, of at most {most}",
                segment.log.path,
                end_offset=end,
                entries=entries,
                most=most,
            )


def tell_groups(context: LogContext, groups: Sequence[Sequence[LogSegment]]) -> None:
    """Report which segments are cleaned into one."""
    if context.observer is None:
        return
    for group in groups:
        bases = [segment.base_offset for segment in group]
        size = sum(segment.size for segment in group)
        together = "the segment is cleaned by itself"
        if len(group) > 1:
            together = f"{len(group)} segments of {size} bytes together fit into one"
        context.tell(
            "segments grouped", together, group[0].log.path, base_offsets=bases, bytes=size
        )


def tell_chunk(context: LogContext, path: str, decisions: Decisions) -> None:
    """Report the outcome for each batch of a chunk, and for its records."""
    tells_records = wants_records(context.observer)
    first = 0
    for row in decisions.batches:
        end = first + int(row["record_count"])
        if tells_records:
            _tell_records(context, path, row, decisions, first, end)
        _tell_batch(context, path, row, int(decisions.is_kept[first:end].sum()))
        first = end


def _tell_records(
    context: LogContext, path: str, row: Any, decisions: Decisions, first: int, end: int
) -> None:
    horizon = int(row["delete_horizon"])
    columns = (decisions.offsets, decisions.reasons, decisions.newer_offsets)
    for offset, code, newer in zip(*(each[first:end].tolist() for each in columns), strict=True):
        reason = Reason(code)
        text, numbers = reason.text, {"offset": offset}
        if reason == Reason.SUPERSEDED:
            text, numbers["newer_offset"] = f"superseded by offset {newer}, of the same key", newer
        elif reason in _HORIZONS:
            numbers["delete_horizon"] = horizon
        context.tell("record kept" if reason.is_kept else "record dropped", text, path, **numbers)


def _tell_batch(context: LogContext, path: str, row: Any, kept: int) -> None:
    count, verdict = int(row["record_count"]), Verdict(int(row["verdict"]))
    numbers = {
        name: int(row[name])
        for name in ("position", "size", "new_size", "base_offset", "last_offset")
    }
    all_stay = "the batch's record is kept" if count == 1 else f"all {count} records are kept"
    if verdict == Verdict.COPIED:
        context.tell("batch copied", all_stay, path, **numbers)
    elif verdict == Verdict.REBUILT:
        horizon = int(row["delete_horizon"])
        if horizon >= 0:
            numbers["delete_horizon"] = horizon
        stays = f"{kept} of {count} records are kept" if kept < count else all_stay
        context.tell("batch rebuilt", stays, path, **numbers)
    elif verdict == Verdict.EMPTIED:
        keeping = _KEEPINGS[Keeping(int(row["keeping"]))]
        context.tell("batch emptied", f"no record is kept, but {keeping}", path, **numbers)
    else:
        context.tell("batch removed", f"0 of {count} records are kept", path, **numbers)


def tell_segment_cleaned(
    context: LogContext,
    segment: LogSegment,
    target: LogSegment,
    before: CleanerStats,
    after: CleanerStats,
) -> None:
    """Report how much of a segment was copied into the new one.

    Args:
        context: the log's context.
        segment: the segment that was read.
        target: the first segment of its group.
        before, after: the round's statistics before and after the segment.
    """
    if context.observer is None:
        return
    size = after.bytes_read - before.bytes_read
    new_size = after.bytes_written - before.bytes_written
    context.tell(
        "segment cleaned",
        f"{new_size} of {size} bytes are kept",
        segment.log.path,
        base_offset=segment.base_offset,
        into=target.base_offset,
        size=size,
        new_size=new_size,
        records_kept=after.messages_written - before.messages_written,
    )


def tell_log_cleaned(context: LogContext, stats: CleanerStats) -> None:
    """Report how a round ended."""
    if context.observer is not None:
        context.tell(
            "log cleaned",
            f"the log is clean up to offset {stats.end_offset}: "
            f"{stats.bytes_written} of {stats.bytes_read} bytes were kept",
            end_offset=stats.end_offset,
            bytes_read=stats.bytes_read,
            bytes_written=stats.bytes_written,
            records_kept=stats.messages_written,
            map_entries_share=round(stats.map_utilization, 4),
        )


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
        context.tell("log not due", f"nothing may be cleaned: {least.name} is the bound", **numbers)
    elif to_clean.needs_compaction_now and to_clean.cleanable_bytes:
        late = f"max.compaction.lag.ms made the log due {to_clean.compaction_delay_ms} ms ago"
        context.tell("log chosen", late, **numbers)
    elif to_clean.is_cleanable:
        context.tell("log chosen", measured.format("above"), **numbers)
    else:
        context.tell("log not due", measured.format("not above"), **numbers)
