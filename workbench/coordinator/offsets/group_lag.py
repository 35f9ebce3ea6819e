"""How far groups are behind: in records, bytes and time, with a verdict over a window of commits.

The verdicts are those that Burrow gives of a window: a group that commits one offset again while
records wait has stalled, and one whose lag only grows falls behind. One whose offset the log does
not have starts over. The commits are those that
compaction has left in `__consumer_offsets`; the lag at each is that at its own time.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Final

from workbench.coordinator.groups.commit_history import (
    IN_FORCE,
    OVERTAKEN,
    REMOVED,
    SUPERSEDED,
    CommitHistory,
    CommitRecord,
)
from workbench.coordinator.groups.group_explanation import STARTS_OVER
from workbench.coordinator.groups.stored_groups import (
    CommittedOffset,
    StoredGroups,
    UncommittedPartition,
)
from workbench.coordinator.offsets.commit_lag import CommitLag, lags_of
from workbench.coordinator.offsets.positions import BELOW_START, BEYOND_END
from workbench.files.names import TopicPartition
from workbench.inspection.lookups.unread_part import UnreadPart, unread_part
from workbench.runtime.times import HOUR, age_text, ms_text, time_text
from workbench.runtime.words import plural
from workbench.tables.stuck import GroupLagRow

FINE: Final = "fine"  # nothing waits
ADVANCING: Final = "advancing"
BEHIND: Final = "falling behind"
STALLED: Final = "stalled"
UNKNOWN: Final = "unknown"

_DONE: Final = frozenset({IN_FORCE, SUPERSEDED, REMOVED, OVERTAKEN})

WINDOW_MS: Final = HOUR
"""The default window: the hour before the newest commit of any group."""

_IS_REMOVED: Final = (
    ": a broker's first check of offsets, at most 10 minutes after its start, removes it, and "
    "auto.offset.reset decides where the group continues"
)

Key = tuple[str, TopicPartition]


def group_lags(
    coordinator: StoredGroups, now: int | None = None, window_ms: int = WINDOW_MS
) -> Iterator[GroupLagRow]:
    """Yield one row per offset that a restarted broker returns, by group and partition.

    A group that commits offsets has rows for assigned partitions without one, too. An offset that
    has expired at the time of which the groups were loaded starts over: a broker returns it until
    its first check of offsets.

    Args:
        coordinator: the loaded groups.
        now: ms; the end of the window. None, or an earlier time: the newest commit of any group,
            because the directories of a stopped broker are as old as that.
        window_ms: its length.

    Raises:
        OSError: a file cannot be read.
    """
    history = CommitHistory(None)
    coordinator.observe(history, None)
    commits = [each for each in history.commits if each.fate in _DONE]
    every = coordinator.offsets(None)
    offsets = [each for each in every if each.unserved is None or each.has_expired]
    times = [each.committed.commit_timestamp for each in offsets]
    moment = max([*times, now or 0])
    recent: dict[Key, list[CommitRecord]] = {}
    for each in commits:
        if each.committed is None:
            continue
        if moment - window_ms <= each.committed.commit_timestamp <= moment:
            recent.setdefault((each.group, each.where), []).append(each)
    rows = [
        _row(coordinator, offset, recent.get((offset.group, offset.where), []), moment, window_ms)
        for offset in offsets
    ]
    commit = {each.group for each in offsets}
    rows += [_bare(coordinator, each) for each in coordinator.uncommitted() if each.group in commit]
    yield from sorted(rows, key=lambda row: (row.group, row.topic, row.partition))


def _bare(coordinator: StoredGroups, each: UncommittedPartition) -> GroupLagRow:
    """Return the row of an assigned partition without a committed offset."""
    log, partition = coordinator.logs.log(each.where), coordinator.logs.partition(each.where)
    if log is None or partition is None:
        reason = f"{each.reason}; {coordinator.logs.absence(each.where)[1]}"
        return GroupLagRow(
            each.group, *each.where, UNKNOWN, None, None, None, None, None, None, 0, reason
        )
    low, end = log.log_start_offset, log.log_end_offset
    verdict, size = STARTS_OVER if end > low else FINE, 0
    with suppress(OSError):  # `verify` says so
        size = unread_part(partition, low).size if end > low else 0
    reason = f"{each.reason}, in a log of offsets {low} to {end}"
    return GroupLagRow(
        each.group, *each.where, verdict, None, None, end, None, None, size, 0, reason
    )


def _row(
    coordinator: StoredGroups,
    offset: CommittedOffset,
    commits: Sequence[CommitRecord],
    moment: int,
    window_ms: int,
) -> GroupLagRow:
    position, committed = offset.position, offset.committed
    partition = coordinator.logs.partition(offset.where)
    unread: UnreadPart | None = None
    if partition is not None and position.lag is not None and position.lag >= 0:
        try:
            unread = unread_part(partition, committed.offset)
        except OSError:  # `verify` says so
            unread = None
    verdict, reason = _verdict(offset, commits, lags_of(commits, coordinator.logs), moment)
    lag_ms = None if unread is None or position.lag is None else 0
    if unread is not None and position.lag:
        lag_ms = None if unread.time is None else max(0, moment - unread.time)
    if not commits and position.lag and not offset.has_expired:
        reason += f" (no commit in the {ms_text(window_ms, ' ms')} before {time_text(moment)})"
    return GroupLagRow(
        offset.group,
        *offset.where,
        verdict,
        committed.offset,
        committed.commit_timestamp,
        position.log_end_offset,
        position.lag,
        lag_ms,
        None if unread is None else unread.size,
        len(commits),
        reason,
    )


def _verdict(
    offset: CommittedOffset, commits: Sequence[CommitRecord], lags: Sequence[CommitLag], moment: int
) -> tuple[str, str]:
    """Return the verdict on an offset, and why.

    Args:
        offset: the offset that is in force.
        commits: of its group and partition in the window, in the order of the log.
        lags: the lag at each.
        moment: ms; the end of the window.
    """
    lag, last = offset.position.lag, offset.committed
    if offset.has_expired and offset.expiry is not None and offset.expiry.at is not None:
        return STARTS_OVER, f"expired at {time_text(offset.expiry.at)}{_IS_REMOVED}"
    if offset.position.state in {BEYOND_END, BELOW_START}:
        reason = f"offset {last.offset} is {offset.position.state}: {offset.position.reason}"
        return STARTS_OVER, f"{reason}; auto.offset.reset decides where the group continues"
    if lag is None:
        return UNKNOWN, offset.position.reason
    if not lag:
        return FINE, "every record is consumed"
    waiting = plural(lag, "record")
    known = [each.lag for each in lags if each.lag is not None]
    if 0 in known:
        return ADVANCING, f"{waiting} wait, and a commit in the window left none"
    if not commits:
        age = age_text(moment - last.commit_timestamp)
        return STALLED, f"{waiting} wait, and the last commit is {age}"
    first = commits[0].committed
    assert first is not None
    if len(commits) > 1 and first.offset >= last.offset:
        span = ms_text(last.commit_timestamp - first.commit_timestamp, " ms")
        again = f"{len(commits)} commits in {span} say {last.offset}"
        return STALLED, f"{waiting} wait, and {again}"
    if len(commits) > 1 and len(known) == len(commits) and _only_grows(known):
        grown = f"the lag grew from {known[0]:,} to {known[-1]:,} over {len(commits)} commits"
        return BEHIND, f"{waiting} wait, and {grown}"
    if len(commits) == 1:
        return UNKNOWN, f"{waiting} wait, and the window has one commit: no trend"
    return ADVANCING, f"{waiting} wait, and {len(commits)} commits in the window advance"


def _only_grows(lags: Sequence[int]) -> bool:
    return lags[-1] > lags[0] and all(before <= after for before, after in pairwise(lags))
