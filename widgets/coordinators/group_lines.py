"""A group's commits as lines over time: what it committed, beside the log end offset.

A line of commits has a point per record; the log end offset has one per batch or, in a large
partition, per entry of the time index. Both are thinned to what a screen can show of a window.
"""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from widgets.view.packing import pack
from workbench.inspection.partition import Partition
from workbench.inspection.segment import Segment

Integers = npt.NDArray[np.int64]

COMMITTED, TRANSACTIONAL, PENDING, ABORTED, OVERTAKEN, TOMBSTONE, BACK = range(7)
KIND_NAMES: Final = (
    "commit", "commit of a transaction", "pending: the transaction is open",
    "aborted with its transaction", "overtaken by a later commit", "tombstone",
    "commit below the one before",
)  # fmt: skip

MOST_POINTS: Final = 1500
"""Points of one line that are sent for a window of time."""
MOST_WALKED: Final = 256 << 20
"""Bytes: of a larger partition, the log end offset comes from the time index alone."""

_WITHOUT: Final = {"pending": PENDING, "aborted": ABORTED, "overtaken": OVERTAKEN}
_NO_OFFSET: Final = -1


class CommitLine(NamedTuple):
    """The commits of a group for one partition, in the order of the coordinator's log.

    Attributes:
        times: int64[n], ms; never descending.
        offsets: int64[n], the committed offset; -1: a tombstone.
        kinds: int64[n], indexes of `KIND_NAMES`.
        logs: the coordinator's partition of each commit, by name.
        places: int64[n], the offset of each record there.
    """

    times: Integers
    offsets: Integers
    kinds: Integers
    logs: tuple[str, ...]
    places: Integers

    @property
    def is_effective(self) -> npt.NDArray[np.bool_]:
        """bool[n]: which records change what the coordinator returns."""
        return ~np.isin(self.kinds, (PENDING, ABORTED, OVERTAKEN))

    def packed(self, window: tuple[int, int] | None) -> dict[str, Any]:
        """Return the columns of a window of time as they are sent, thinned."""
        shown = self._thinned(window)
        return {
            "time": pack(self.times[shown]),
            "offset": pack(self.offsets[shown]),
            "kind": pack(self.kinds[shown]),
            "place": pack(self.places[shown]),
            "log": [self.logs[at] for at in shown],
            "total": len(self.times),
        }

    def _thinned(self, window: tuple[int, int] | None) -> npt.NDArray[np.intp]:
        first, last = _within(self.times, window)
        rows = np.arange(first, last)
        if len(rows) <= MOST_POINTS:
            return rows
        ordinary = self.kinds[rows] <= TRANSACTIONAL
        special = rows[~ordinary]
        around = np.union1d(special, np.maximum(special - 1, first))  # a fall needs its top
        if len(around) > MOST_POINTS:
            around = around[:: len(around) // MOST_POINTS + 1]
        return np.union1d(around, _last_of_buckets(self.times, rows))


class EndLine(NamedTuple):
    """The log end offset of a partition over time, by the timestamps of its records.

    Attributes:
        times: int64[n], ms, ascending.
        offsets: int64[n], the log end offset from that time on.
    """

    times: Integers
    offsets: Integers

    def packed(self, window: tuple[int, int] | None) -> dict[str, Any]:
        """Return the columns of a window of time as they are sent, thinned."""
        first, last = _within(self.times, window)
        rows = np.arange(first, last)
        if len(rows) > MOST_POINTS:
            rows = np.union1d(rows[:1], _last_of_buckets(self.times, rows))
        return {"time": pack(self.times[rows]), "offset": pack(self.offsets[rows])}


def _within(times: Integers, window: tuple[int, int] | None) -> tuple[int, int]:
    """Return the rows [first, last) of a window, with one neighbor on each side."""
    if window is None:
        return 0, len(times)
    first = int(np.searchsorted(times, window[0], side="right")) - 1
    last = int(np.searchsorted(times, window[1], side="right")) + 1
    return max(0, first), min(len(times), last)


def _last_of_buckets(times: Integers, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    """Return the first row, and the last one of each of `MOST_POINTS` buckets of time."""
    start, span = int(times[rows[0]]), max(1, int(times[rows[-1]] - times[rows[0]]))
    bucket = (times[rows] - start) * (MOST_POINTS - 1) // span
    return np.union1d(rows[:1], rows[np.append(np.flatnonzero(np.diff(bucket)), len(rows) - 1)])


def commit_lines(commits: Any) -> Iterator[tuple[tuple[str, int], CommitLine]]:
    """Yield topic and partition with the line of its commits, sorted.

    Args:
        commits: rows of `schemas.COMMITS`, of one group.
    """
    column = {
        name: commits.column(name).to_numpy(zero_copy_only=False)
        for name in ("log", "log_offset", "topic", "partition", "fate")
    }
    times = _milliseconds(commits, "time", otherwise="commit_time")
    offsets = commits.column("offset").fill_null(_NO_OFFSET).to_numpy().astype(np.int64)
    is_transactional = commits.column("producer_id").is_valid().to_numpy(zero_copy_only=False)
    kinds = _kinds(column["fate"], is_transactional)
    wheres = sorted(set(zip(column["topic"], column["partition"].tolist(), strict=True)))
    for topic, partition in wheres:
        rows = np.flatnonzero((column["topic"] == topic) & (column["partition"] == partition))
        rows = rows[times[rows] >= 0]
        line = CommitLine(
            np.maximum.accumulate(times[rows]),
            offsets[rows],
            kinds[rows],
            tuple(column["log"][rows].tolist()),
            column["log_offset"][rows].astype(np.int64),
        )
        yield (topic, partition), _with_falls(line)


def _milliseconds(table: Any, name: str, *, otherwise: str) -> Integers:
    """Return a column of times in epoch ms: int64[n], -1 where there is none."""
    first, second = (
        table.column(each).cast("int64").fill_null(-1).to_numpy() for each in (name, otherwise)
    )
    found: Integers = np.where(first >= 0, first, second).astype(np.int64)
    return found


def _kinds(fates: npt.NDArray[Any], is_transactional: npt.NDArray[np.bool_]) -> Integers:
    kinds = np.where(is_transactional, TRANSACTIONAL, COMMITTED)
    for fate, kind in _WITHOUT.items():
        kinds[fates == fate] = kind
    kinds[fates == "tombstone"] = TOMBSTONE
    return kinds.astype(np.int64)


def _with_falls(line: CommitLine) -> CommitLine:
    """Mark the commits below the one before: the group was reset, or started over."""
    rows = np.flatnonzero(line.is_effective & (line.kinds != TOMBSTONE))
    falls = rows[1:][np.diff(line.offsets[rows]) < 0]
    kinds = line.kinds.copy()
    kinds[falls] = BACK
    return line._replace(kinds=kinds)


def end_line(partition: Partition) -> EndLine:
    """Return the log end offset over time; without points if no record has a timestamp.

    The timestamps are those in the batches: the producers' clocks, unless the topic has
    `message.timestamp.type=LogAppendTime`.
    """
    walks = partition.size <= MOST_WALKED
    times, offsets = [], []
    for segment in partition.segments:
        found = _of_batches(segment) if walks else _of_index(segment)
        times.append(found[0])
        offsets.append(found[1])
    all_times = np.concatenate(times) if times else np.zeros(0, np.int64)
    all_offsets = np.concatenate(offsets) if offsets else np.zeros(0, np.int64)
    known = all_times >= 0
    if not known.any():
        return EndLine(np.zeros(0, np.int64), np.zeros(0, np.int64))
    latest = np.maximum.accumulate(all_times[known])
    ends = np.maximum.accumulate(all_offsets[known])
    last = np.append(np.flatnonzero(np.diff(latest)), len(latest) - 1)
    return EndLine(latest[last], ends[last])


def _of_batches(segment: Segment) -> tuple[Integers, Integers]:
    try:
        rows = segment.batches.rows
    except OSError:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    rows = rows[rows["problem"] == 0]
    return rows["max_timestamp"].astype(np.int64), rows["last_offset"].astype(np.int64) + 1


def _of_index(segment: Segment) -> tuple[Integers, Integers]:
    index = segment.time_index
    if index is None:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    return (
        np.asarray(index.timestamps, np.int64),
        np.asarray(index.offsets, np.int64) + 1,
    )
