"""A group's commits as lines over time: what it committed, beside the log end offset.

The log end offset is looked up at the times of commits, and at times between them. Both lines are
thinned to what a screen can show of a window.
"""

import copy
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from widgets.view.packing import pack
from workbench.coordinator.offsets.commit_lag import end_offsets
from workbench.inspection.partition import DiskPartition

Integers = npt.NDArray[np.int64]

COMMITTED, TRANSACTIONAL, PENDING, ABORTED, OVERTAKEN, TOMBSTONE, BACK = range(7)
"""What a commit is; `KINDS` of `static/coordinators/group_data.js` names them."""

MOST_POINTS: Final = 1500
"""Points of one line that are sent for a window of time."""
MOST_LOOKUPS: Final = 20_000
"""Times of commits at which the log end offset is looked up; half as many are between them."""

_WITHOUT: Final = {"pending": PENDING, "aborted": ABORTED, "overtaken": OVERTAKEN}
_NO_OFFSET: Final = -1


class CommitLine(NamedTuple):
    """The commits of a group for one partition, in the order of the coordinator's log.

    Attributes:
        times: int64[n], ms; never descending.
        offsets: int64[n], the committed offset; -1: a tombstone.
        kinds: int64[n], `COMMITTED` to `BACK`.
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
        offsets: int64[n], the log end offset from that time on; -1: unknown.
        latest: the latest timestamp of the last segment, ms; None without one.
        reason: why the last of them is unknown, or what it was taken from.
    """

    times: Integers
    offsets: Integers
    latest: int | None
    reason: str

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
    bucket = ((times[rows] - start) / span * (MOST_POINTS - 1)).astype(np.int64)
    return np.union1d(rows[:1], rows[np.append(np.flatnonzero(np.diff(bucket)), len(rows) - 1)])


def commit_lines(commits: Any) -> Iterator[tuple[tuple[str, int], CommitLine]]:
    """Yield topic and partition with the line of its commits, sorted; none if all lack a time.

    Args:
        commits: rows of `CommitRow`, of one group.
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
        if not len(rows):
            continue
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


NO_LOG: Final = EndLine(np.zeros(0, np.int64), np.zeros(0, np.int64), None, "")
"""The line of a partition that is not in the directories."""


def latest_timestamp(partition: DiskPartition) -> int | None:
    """Return the largest timestamp in the last segment with records, ms; None without one."""
    for segment in reversed(partition.segments):
        try:
            stamps = copy.copy(segment).batches.rows["max_timestamp"]
        except OSError:
            return None
        if len(stamps):
            return int(stamps.max()) if stamps.max() >= 0 else None
    return None


def end_line(partition: DiskPartition, commits: Integers, span: tuple[int, int]) -> EndLine:
    """Look up the log end offset at the times of commits, and between them.

    Args:
        partition: the log.
        commits: times of the commits, ms, ascending.
        span: the time that is shown, [first, last].
    """
    step = len(commits) // MOST_LOOKUPS + 1
    between = np.linspace(span[0], span[1], MOST_LOOKUPS // 2).astype(np.int64)
    times = np.union1d(commits[::step], between)
    try:
        ends = end_offsets(partition, times)
    except OSError as error:
        return EndLine(times[:0], times[:0], None, str(error))
    offsets = np.array([_NO_OFFSET if e.offset is None else e.offset for e in ends], np.int64)
    moves = np.append(True, np.diff(offsets) != 0)
    reason = ends[-1].reason
    return EndLine(times[moves], offsets[moves], latest_timestamp(partition), reason)
