"""Make the rows of the tables about groups, offsets and transactions from loaded coordinators."""

from collections.abc import Iterable, Iterator
from itertools import repeat
from typing import Any, Final

from workbench.coordinator.commit_lag import CommitLag
from workbench.coordinator.groups.commit_history import Commit
from workbench.coordinator.groups.members import members_of
from workbench.coordinator.groups.rebalance_history import Rebalance
from workbench.coordinator.groups.stored_groups import CommittedOffset, LoadedGroup, StoredGroups
from workbench.coordinator.repair.repair import Repair
from workbench.coordinator.transactions.marker_data import MarkerData
from workbench.coordinator.transactions.stored_transactions import (
    WAITS,
    OpenProducer,
    StoredTransactions,
)
from workbench.loaders import schemas
from workbench.tables.groups import CommittedOffsetRow, GroupRow, MemberRow

Rows = Iterator[tuple[Any, ...]]


def group_rows(coordinator: StoredGroups) -> Iterator[GroupRow]:
    """Yield the rows of all groups."""
    return map(group_row, coordinator.groups.values())


def group_row(loaded: LoadedGroup) -> GroupRow:
    """Return the row of a group."""
    group, load, unserved = loaded
    offsets = load.table.offsets.get(group.group_id, {})
    return GroupRow(
        group.group_id,
        group.kind,
        group.state,
        group.protocol_type,
        group.protocol,
        group.generation,
        group.assignment_epoch,
        group.leader,
        len(group.members),
        len(offsets),
        sum(1 for _ in load.table.pending_of(group.group_id)),
        group.state_timestamp,
        max((each.commit_timestamp for each in offsets.values()), default=None),
        load.partition.partition,
        group.record_offset,
        unserved,
    )


def member_rows(coordinator: StoredGroups) -> Iterator[MemberRow]:
    """Yield the members of every group."""
    for group, _, _ in coordinator.groups.values():
        yield from members_of(group, coordinator.logs.topic_names)


def offset_rows(offsets: Iterable[CommittedOffset]) -> Iterator[CommittedOffsetRow]:
    """Yield the rows of committed offsets."""
    for each in offsets:
        committed, position = each.committed, each.position
        yield CommittedOffsetRow(
            each.group,
            *each.where,
            committed.offset,
            committed.leader_epoch,
            committed.metadata,
            committed.commit_timestamp,
            None if each.expiry is None else each.expiry.at,
            None if each.expiry is None else each.expiry.rule,
            position.log_start_offset,
            position.log_end_offset,
            position.high_watermark,
            position.lag,
            position.state,
            position.reason,
            each.producer_id,
            committed.topic_id,
            each.log_partition,
            committed.record_offset,
            each.unserved,
        )


def commit_rows(commits: Iterable[Commit], lags: Iterable[CommitLag] | None = None) -> Rows:
    """Yield rows of `schemas.COMMITS`.

    Args:
        commits: the commits.
        lags: the lag of each; None: not asked for.
    """
    unknown = CommitLag(None, None, "")
    for each, lag in zip(commits, repeat(unknown) if lags is None else lags, strict=False):
        value = each.committed
        fields: tuple[Any, ...] = (None,) * 5
        if value is not None:
            fields = (
                value.offset,
                value.leader_epoch,
                value.metadata,
                value.commit_timestamp,
                value.expire_timestamp,
            )
        start = (each.log, each.log_offset, each.timestamp, each.group, *each.where)
        fate = (each.producer_id, each.fate, each.ended_at)
        yield (*start, *fields, *fate, lag.log_end_offset, lag.lag, lag.reason or None)


def rebalance_rows(rebalances: Iterable[Rebalance]) -> Rows:
    """Yield rows of `schemas.REBALANCES`."""
    for each in rebalances:
        values = [getattr(each, name) for name in _OF_REBALANCE]
        yield (*values, [_progress(member) for member in each.changes], each.reason)


_OF_REBALANCE: Final = tuple(
    {"time": "timestamp"}.get(name, name) for name in schemas.REBALANCES.names[:-2]
)


def _progress(member: MemberRow) -> dict[str, Any]:
    names = ("member_id", "epoch", "state", "assignment", "target", "revoking")
    return {name: getattr(member, name) for name in names}


def transaction_rows(coordinator: StoredTransactions) -> Rows:
    """Yield rows of `schemas.TRANSACTIONS`: of every id, then of transactions that no id waits for.

    Walks the batch headers of every log.
    """
    opened = coordinator.open_producers()
    for name, state in coordinator.transactions.items():
        mine = [p for p in opened if p.transactional_id == name and p.verdict == WAITS]
        yield (
            name,
            state.producer_id,
            state.producer_epoch,
            state.state,
            state.phase,
            [str(where) for where in state.partitions],
            state.timeout_ms,
            state.start_timestamp,
            state.last_update_timestamp,
            state.times_out_at,
            state.expires_at,
            state.previous_producer_id,
            state.next_producer_id,
            state.client_transaction_version,
            *_blocked(mine),
            "",
            state.log_partition,
            state.record_offset,
        )
    for each in opened:
        if each.verdict == WAITS:
            continue
        transaction = each.transaction
        yield (
            None,
            transaction.producer_id,
            transaction.producer_epoch,
            None,
            "hanging" if each.verdict is not None else "unknown",
            [str(each.where)],
            None,
            _time(transaction.first_timestamp),
            _time(transaction.last_timestamp),
            *(None,) * 5,
            *_blocked([each]),
            each.reason,
            None,
            None,
        )


def _blocked(opened: list[OpenProducer]) -> tuple[list[str], int]:
    oldest = [each for each in opened if each.blocked]
    return [str(each.where) for each in oldest], sum(each.blocked for each in oldest)


def open_producer_rows(opened: Iterable[OpenProducer]) -> Rows:
    """Yield rows of `schemas.OPEN_PRODUCERS`."""
    for each in opened:
        transaction = each.transaction
        yield (
            *each.where,
            transaction.producer_id,
            transaction.producer_epoch,
            transaction.first_offset,
            transaction.last_offset,
            _time(transaction.first_timestamp),
            _time(transaction.last_timestamp),
            each.transactional_id,
            each.state,
            each.verdict,
            each.reason,
            each.last_stable_offset,
            each.blocked,
        )


def marker_rows(markers: Iterable[MarkerData]) -> Rows:
    """Yield rows of `schemas.TRANSACTION_MARKERS`."""
    for each in markers:
        yield (
            *each.where,
            each.offset,
            _time(each.timestamp),
            each.name,
            each.producer_id,
            each.producer_epoch,
            each.coordinator_epoch,
            each.transactional_id,
            each.first_offset,
            each.last_offset,
            each.records,
            each.data_epoch,
            each.verdict,
            each.reason,
        )


def repair_rows(repairs: Iterable[Repair], *, values: bool) -> Rows:
    """Yield rows of `schemas.COORDINATOR_REPAIRS`.

    Args:
        repairs: the steps, in order.
        values: whether the rows hold keys and values.
    """
    for step, each in enumerate(repairs, 1):
        yield (
            step,
            *each.where,
            each.action,
            each.by,
            each.finding,
            each.subject,
            each.what,
            each.offset,
            each.timestamp,
            each.producer_id,
            each.producer_epoch,
            each.coordinator_epoch,
            None if each.key is None else len(each.key),
            None if each.value is None else len(each.value),
            each.key if values else None,
            each.value if values else None,
            each.reason,
        )


def _time(milliseconds: int) -> int | None:
    return None if milliseconds < 0 else milliseconds
