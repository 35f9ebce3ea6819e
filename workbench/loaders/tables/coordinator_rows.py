"""Make the rows of the tables about groups, offsets and transactions from loaded coordinators."""

from collections.abc import Iterable, Iterator
from itertools import repeat

from workbench.coordinator.groups.commit_history import CommitRecord
from workbench.coordinator.groups.members import members_of
from workbench.coordinator.groups.stored_groups import CommittedOffset, LoadedGroup, StoredGroups
from workbench.coordinator.offsets.commit_lag import CommitLag
from workbench.coordinator.repair.repair import Repair
from workbench.coordinator.transactions.marker_data import MarkerData
from workbench.coordinator.transactions.stored_transactions import (
    WAITS,
    OpenProducer,
    StoredTransactions,
)
from workbench.coordinator.transactions.transaction_metadata import (
    ID_EXPIRATION_MS,
    TransactionMetadata,
)
from workbench.tables.groups import CommitRow, CommittedOffsetRow, GroupRow, MemberRow
from workbench.tables.transactions import (
    MarkerRow,
    OpenProducerRow,
    RepairRow,
    TransactionRow,
)


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


def uncommitted_rows(
    coordinator: StoredGroups, group: str | None = None
) -> Iterator[CommittedOffsetRow]:
    """Yield a row without an offset for each partition that is assigned and not committed."""
    for each in coordinator.uncommitted(group):
        log = coordinator.logs.log(each.where)
        yield CommittedOffsetRow(
            each.group, *each.where, None, None, None, None, None, None,
            None if log is None else log.log_start_offset,
            None if log is None else log.log_end_offset,
            None if log is None else log.high_watermark,
            None, None, each.reason, None, None if log is None else log.topic_id,
            each.log_partition, None, None,
        )  # fmt: skip


def all_offset_rows(
    coordinator: StoredGroups, group: str | None = None
) -> list[CommittedOffsetRow]:
    """Return the rows of committed offsets and of assigned partitions without one, sorted."""
    rows = [*offset_rows(coordinator.offsets(group)), *uncommitted_rows(coordinator, group)]
    return sorted(rows, key=lambda each: (each.group, each.topic, each.partition))


def commit_rows(
    commits: Iterable[CommitRecord], lags: Iterable[CommitLag] | None = None
) -> Iterator[CommitRow]:
    """Yield the rows of commits and tombstones.

    Args:
        commits: the commits.
        lags: the lag of each; None: not asked for.
    """
    unknown = CommitLag(None, None, "")
    for each, lag in zip(commits, repeat(unknown) if lags is None else lags, strict=False):
        value = each.committed
        yield CommitRow(
            each.log,
            each.log_offset,
            each.timestamp,
            each.group,
            *each.where,
            None if value is None else value.offset,
            None if value is None else value.leader_epoch,
            None if value is None else value.metadata,
            None if value is None else value.commit_timestamp,
            None if value is None else value.expire_timestamp,
            each.producer_id,
            each.fate,
            each.ended_at,
            lag.log_end_offset,
            lag.lag,
            lag.reason or None,
        )


def transaction_rows(coordinator: StoredTransactions) -> Iterator[TransactionRow]:
    """Yield the rows of every id, then of transactions that no id waits for.

    Walks the batch headers of every log.
    """
    opened = coordinator.open_producers()
    yield from id_rows(coordinator, opened)
    for each in opened:
        if each.verdict == WAITS:
            continue
        transaction = each.transaction
        yield TransactionRow(
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


def id_rows(
    coordinator: StoredTransactions, opened: Iterable[OpenProducer]
) -> Iterator[TransactionRow]:
    """Yield the rows of every transactional id.

    Args:
        coordinator: the loaded ids.
        opened: the open transactions that ids wait for, among others.
    """
    waiting: dict[str | None, list[OpenProducer]] = {}
    for each in opened:
        waiting.setdefault(each.transactional_id, []).append(each)
    for name, state in coordinator.transactions.items():
        yield id_row(state, waiting.get(name, ()))


def id_row(
    state: TransactionMetadata,
    opened: Iterable[OpenProducer],
    expiration_ms: int = ID_EXPIRATION_MS,
) -> TransactionRow:
    """Return the row of a transactional id.

    Args:
        state: the id's state.
        opened: the open transactions of its producer.
        expiration_ms: `transactional.id.expiration.ms`.
    """
    return TransactionRow(
        state.transactional_id,
        state.producer_id,
        state.producer_epoch,
        state.state,
        state.phase,
        [str(where) for where in sorted(state.partitions)],
        state.timeout_ms,
        _known(state.start_timestamp),
        state.last_update_timestamp,
        state.times_out_at,
        state.expires_after(expiration_ms),
        _known(state.previous_producer_id),
        _known(state.next_producer_id),
        state.client_transaction_version,
        *_blocked([each for each in opened if each.verdict == WAITS]),
        "",
        state.log_partition,
        state.record_offset,
    )


def _known(number: int) -> int | None:
    return None if number < 0 else number


def _blocked(opened: list[OpenProducer]) -> tuple[list[str], int]:
    oldest = [each for each in opened if each.blocked]
    return [str(each.where) for each in oldest], sum(each.blocked for each in oldest)


def open_producer_row(each: OpenProducer) -> OpenProducerRow:
    """Return the row of a transaction that is open in a log."""
    transaction = each.transaction
    return OpenProducerRow(
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


def marker_row(each: MarkerData) -> MarkerRow:
    """Return the row of a transaction marker."""
    return MarkerRow(
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


def repair_rows(repairs: Iterable[Repair], *, values: bool) -> Iterator[RepairRow]:
    """Yield the rows of the steps of a repair.

    Args:
        repairs: the steps, in order.
        values: whether the rows hold keys and values.
    """
    for step, each in enumerate(repairs, 1):
        yield RepairRow(
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
