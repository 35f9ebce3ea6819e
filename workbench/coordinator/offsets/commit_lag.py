"""Find the lag of each commit at its own time: the log end offset then, minus the offset.

Only batch headers are read, of each segment at most once, and only of segments whose time index
says that their records surround a commit. The end of a log at a time is the first offset of the
first batch with a later timestamp, as in a lookup by time. With LogAppendTime that is exact; with
CreateTime it is as right as the timestamps that producers set.

Kafka: UnifiedLog.fetchOffsetByTimestamp (4.2)
"""

import copy
from collections.abc import Sequence
from contextlib import suppress
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.coordinator.groups.commit_history import CommitRecord
from workbench.coordinator.offsets.positions import BEYOND_END, RECREATED, LogPositions
from workbench.files.indexes import time_index
from workbench.files.names import TopicPartition
from workbench.inspection.partition import DiskPartition
from workbench.inspection.segment import Segment
from workbench.layout.attributes import CREATE_TIME, LOG_APPEND_TIME

ADVANCED: Final = "records below the offset have later timestamps than the commit: another clock"
NO_COMMIT: Final = "the record is a tombstone"
NO_TIME: Final = "the commit has no time"
BY_CREATE_TIME: Final = "by CreateTime: timestamps that producers set"
NO_TIMESTAMPS: Final = "the records have no timestamps"
REMOVED: Final = "compaction removed the records of that time"

_REASONS: Final = {CREATE_TIME: BY_CREATE_TIME, LOG_APPEND_TIME: ""}

Times = npt.NDArray[np.int64]


class CommitLag(NamedTuple):
    """The log of a commit at the time of the commit.

    Attributes:
        log_end_offset: the log end offset then; None: unknown.
        lag: that minus the committed offset; None: unknown.
        reason: why they are unknown, or what they were taken from; empty: by LogAppendTime.
    """

    log_end_offset: int | None
    lag: int | None
    reason: str


class EndOffset(NamedTuple):
    """Where a log ended at a time.

    Attributes:
        offset: the log end offset; None: unknown.
        reason: why it is unknown, or what it was taken from; empty: LogAppendTime.
    """

    offset: int | None
    reason: str


def lags_of(commits: Sequence[CommitRecord], logs: LogPositions) -> list[CommitLag]:
    """Return the lag of each commit at its time, in their order."""
    found = [CommitLag(None, None, NO_COMMIT)] * len(commits)
    by_log: dict[TopicPartition, list[int]] = {}
    for at, commit in enumerate(commits):
        if commit.committed is not None:
            by_log.setdefault(commit.where, []).append(at)
    for where, places in by_log.items():
        mine = [commits[at] for at in places]
        try:
            lags = _lags_in(where, mine, logs)
        except OSError as error:
            lags = [CommitLag(None, None, f"the log cannot be read: {error}")] * len(mine)
        for at, lag in zip(places, lags, strict=True):
            found[at] = lag
    return found


def _lags_in(
    where: TopicPartition, commits: list[CommitRecord], logs: LogPositions
) -> list[CommitLag]:
    times = np.array([_time_of(commit) for commit in commits], np.int64)
    ends = _ends_of(where, times, logs)
    return [
        _lag(commit, time, end, logs)
        for commit, time, end in zip(commits, times.tolist(), ends, strict=True)
    ]


def _time_of(commit: CommitRecord) -> int:
    """Return when it was made, ms; -1: unknown."""
    assert commit.committed is not None
    time = commit.committed.commit_timestamp
    return time if time >= 0 else -1 if commit.timestamp is None else commit.timestamp


def _ends_of(where: TopicPartition, times: Times, logs: LogPositions) -> list[EndOffset]:
    partition = logs.partition(where)
    if partition is None:
        reason = logs.absence(where)[1]
        return [EndOffset(None, reason)] * len(times)
    distinct, back = np.unique(times, return_inverse=True)
    ends = end_offsets(partition, distinct)
    return [ends[at] for at in back.tolist()]


def _lag(commit: CommitRecord, time: int, end: EndOffset, logs: LogPositions) -> CommitLag:
    assert commit.committed is not None
    position = logs.of(commit.where, commit.committed)
    if time < 0:
        return CommitLag(None, None, NO_TIME)
    if position.state in {RECREATED, BEYOND_END}:
        return CommitLag(None, None, f"{position.state}: {position.reason}")
    if end.offset is None:
        return CommitLag(None, None, end.reason)
    offset = commit.committed.offset
    if offset > end.offset:
        # The group had read what is below its offset, so the timestamps do not say where the log
        # ended: one record with a time to come is enough for that.
        return CommitLag(None, None, ADVANCED)
    lag = end.offset - offset if position.lag is not None else None
    return CommitLag(end.offset, lag, end.reason)


def end_offsets(partition: DiskPartition, times: Times) -> list[EndOffset]:
    """Return where a log ended at some times.

    Args:
        partition: the log.
        times: ms, ascending.

    Raises:
        OSError: a file cannot be read.
    """
    found: list[EndOffset] = []
    below: int | None = None  # the offset after the batches so far; None: the log begins here
    kind = LOG_APPEND_TIME  # timestamp type of the last batch so far
    for segment in partition.segments:
        left = times[len(found) :]
        if not len(left):
            return found
        bound = None if segment.is_active else _largest_timestamp(segment)
        if bound is not None and bound <= left[0]:
            below, kind = segment.next_offset, CREATE_TIME
            continue
        rows = copy.copy(segment).batches.rows  # so that the tables of all segments are not kept
        stamps = rows["max_timestamp"]
        later = np.searchsorted(np.maximum.accumulate(stamps), left, side="right")
        kinds = np.where(stamps < 0, -1, rows["timestamp_type"])
        for at in later[later < len(rows)].tolist():
            if at:
                below, kind = int(rows["last_offset"][at - 1]) + 1, int(kinds[at - 1])
            found.append(_end(int(rows["base_offset"][at]), below, min(kind, int(kinds[at]))))
        if len(rows):
            below, kind = int(rows["last_offset"][-1]) + 1, int(kinds[-1])
    end = partition.log_end_offset
    return found + [_end(end, end, kind)] * (len(times) - len(found))


def _largest_timestamp(segment: Segment) -> int | None:
    """Return the largest timestamp of a rolled segment by its time index; None if there is none."""
    entry = segment.files.get("timeindex")
    last = None
    with suppress(OSError):  # it only saves time
        if entry is not None:
            last = time_index.read_last(entry.path, segment.base_offset, entry.fs)
    return None if last is None or last.timestamp <= 0 else last.timestamp


def _end(base_offset: int, below: int | None, kind: int) -> EndOffset:
    """Return where the log ended before a batch.

    Args:
        base_offset: of the first batch with a later timestamp; -1: it does not store one.
        below: the offset after the batch before; None: that is the first of the log.
        kind: the timestamp type that the answer rests on, -1: none.
    """
    if kind not in _REASONS:
        return EndOffset(None, NO_TIMESTAMPS)
    if below is None and base_offset == 0:
        return EndOffset(0, _REASONS[kind])
    if below is None:
        return EndOffset(None, "the records of that time are deleted")
    if base_offset > below:
        return EndOffset(None, f"{REMOVED}: the log ended between {below} and {base_offset}")
    return EndOffset(below, _REASONS[kind])
