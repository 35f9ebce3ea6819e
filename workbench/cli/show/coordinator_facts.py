"""Groups, offsets and transactions as objects of JSON: names that other programs rely on.

A partition is named ``topic-0``, a time is in ms since the epoch, an unknown value is null.
"""

from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

from workbench.cli.command import open_logs, read_time
from workbench.cli.output import note
from workbench.config.changed_defaults import CHANGED_DEFAULTS
from workbench.coordinator.era import Era, era_of
from workbench.coordinator.groups.members import members_of
from workbench.coordinator.groups.rebalance_history import Rebalance
from workbench.coordinator.groups.share_state import SharePartition
from workbench.coordinator.groups.stored_groups import StoredGroups
from workbench.coordinator.repair.repair import Repair
from workbench.coordinator.transactions.marker_data import MarkerData
from workbench.coordinator.transactions.stored_transactions import OpenProducer
from workbench.coordinator.transactions.transaction_load import (
    ID_EXPIRATION_MS,
    TransactionMetadata,
)
from workbench.inspection.findings import Finding
from workbench.runtime.words import plural
from workbench.tables.columns import json_of
from workbench.tables.groups import GroupRow

Function = TypeVar("Function", bound=Callable[..., Any])

UNREADABLE: Final = 1
"""Exit code if records could not be read."""


def _era(_ctx: click.Context, _param: click.Parameter, value: str | None) -> Era | None:
    try:
        return None if value is None else era_of(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


_RETENTION: Final = CHANGED_DEFAULTS["offsets.retention.minutes"]
_OPTIONS: Final = (
    click.option(
        "--kafka", "era", metavar="VERSION", callback=_era,
        help="Load groups by the rules of this version; default: the version that wrote them.",
    ),
    click.option(
        "--now", metavar="TIME", callback=read_time,
        help="Omit offsets that have expired by this time: ISO 8601, or ms since the epoch. "
        "Default: no offset has expired, as in a broker that has just started.",
    ),
    click.option(
        "--retention-minutes", type=click.IntRange(min=0), metavar="MINUTES",
        help="Set offsets.retention.minutes; default: that version's default, "
        f"{_RETENTION.since} since {_RETENTION.version}, {_RETENTION.before} before.",
    ),
)  # fmt: skip


def loads_groups(function: Function) -> Function:
    """Add the options that decide how groups are loaded."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def load_groups(
    paths: tuple[str, ...], era: Era | None, now: int | None, retention_minutes: int | None
) -> StoredGroups:
    """Load the groups of what the arguments name.

    Raises:
        LogDirectoryError: a path does not exist.
        OSError: a file cannot be read.
    """
    minutes = retention_minutes
    coordinator = StoredGroups(
        open_logs(paths).listing,
        era=era,
        now=now,
        retention_ms=None if minutes is None else minutes * 60_000,
    )
    if not coordinator.loads:
        note("the directories have no partition of __consumer_offsets")
    return coordinator


def report(findings: list[Finding]) -> int:
    """Print what could not be read on stderr; return the exit code."""
    if findings:
        others = f"; {plural(len(findings), 'finding')} in all" if len(findings) > 1 else ""
        note(f"{findings[0]}{others}")
    return UNREADABLE if findings else 0


def group_facts(row: GroupRow, coordinator: StoredGroups) -> dict[str, Any]:
    """Return a group as an object, with its members."""
    members = members_of(coordinator.groups[row.group].group, coordinator.logs.topic_names)
    return {**json_of(row), "members": [json_of(member) for member in members]}


def share_facts(share: SharePartition) -> dict[str, Any]:
    """Return what a share group has delivered of a partition as an object."""
    return {
        "topic": share.topic,
        "partition": share.partition,
        "topicId": share.topic_id,
        "startOffset": share.start_offset,
        "endOffset": share.end_offset,
        "leaderEpoch": share.leader_epoch,
        "stateEpoch": share.state_epoch,
        "deliveryCompleteCount": share.delivery_complete_count,
        "lag": share.lag,
        "inFlight": share.in_flight,
        **{state: share.count(state) for state in ("available", "acknowledged", "archived")},
        "logStartOffset": share.log_start_offset,
        "logEndOffset": share.log_end_offset,
        "states": [each._asdict() for each in share.ranges],
        "log": share.log,
        "recordOffset": share.record_offset,
    }


def rebalance_facts(each: Rebalance) -> dict[str, Any]:
    """Return a change of a group's generation, epoch or assignment as an object."""
    return {
        "timestamp": each.timestamp,
        "event": each.event,
        "state": each.state,
        "generation": each.generation,
        "targetAssignmentEpoch": each.assignment_epoch,
        "protocol": each.protocol,
        "leader": each.leader,
        "memberCount": each.members,
        "joined": each.joined,
        "left": each.left,
        "reason": each.reason,
        "log": each.log,
        "recordOffset": each.log_offset,
    }


def transaction_facts(
    state: TransactionMetadata, expiration_ms: int = ID_EXPIRATION_MS
) -> dict[str, Any]:
    """Return a transactional id as an object.

    Args:
        state: the id's state.
        expiration_ms: `transactional.id.expiration.ms`.
    """
    return {
        "transactionalId": state.transactional_id,
        "producerId": state.producer_id,
        "producerEpoch": state.producer_epoch,
        "state": state.state,
        "topicPartitions": [str(where) for where in state.partitions],
        "transactionTimeoutMs": state.timeout_ms,
        "transactionStartTimeMs": state.start_timestamp,
        "lastUpdateTimestamp": state.last_update_timestamp,
        "timesOutAt": state.times_out_at,
        "expiresAt": state.expires_after(expiration_ms),
        "previousProducerId": state.previous_producer_id,
        "nextProducerId": state.next_producer_id,
        "clientTransactionVersion": state.client_transaction_version,
        "coordinatorPartition": state.log_partition,
        "recordOffset": state.record_offset,
    }


def open_facts(each: OpenProducer) -> dict[str, Any]:
    """Return a transaction that is open in a log as an object."""
    transaction = each.transaction
    return {
        "topic": each.where.topic,
        "partition": each.where.partition,
        "producerId": transaction.producer_id,
        "producerEpoch": transaction.producer_epoch,
        "firstOffset": transaction.first_offset,
        "lastOffset": transaction.last_offset,
        "lastTimestamp": transaction.last_timestamp if transaction.last_timestamp >= 0 else None,
        "transactionalId": each.transactional_id,
        "state": each.state,
        "verdict": each.verdict,
        "reason": each.reason,
        "lastStableOffset": each.last_stable_offset,
        "blockedOffsets": each.blocked,
    }


def marker_facts(each: MarkerData) -> dict[str, Any]:
    """Return a transaction marker without data as an object."""
    return {
        "topic": each.where.topic,
        "partition": each.where.partition,
        "offset": each.offset,
        "timestamp": each.timestamp if each.timestamp >= 0 else None,
        "type": each.name,
        "producerId": each.producer_id,
        "producerEpoch": each.producer_epoch,
        "coordinatorEpoch": each.coordinator_epoch,
        "transactionalId": each.transactional_id,
        "verdict": each.verdict,
        "reason": each.reason,
    }


def repair_facts(each: Repair, *, show_values: bool) -> dict[str, Any]:
    """Return a step of a repair as an object; keys and values in hex, or null."""
    return {
        "topic": each.where.topic,
        "partition": each.where.partition,
        "action": each.action,
        "by": each.by,
        "finding": each.finding,
        "subject": each.subject,
        "what": each.what,
        "offset": each.offset,
        "timestamp": each.timestamp,
        "producerId": each.producer_id,
        "producerEpoch": each.producer_epoch,
        "coordinatorEpoch": each.coordinator_epoch,
        "keySize": None if each.key is None else len(each.key),
        "valueSize": None if each.value is None else len(each.value),
        "key": each.key.hex() if show_values and each.key is not None else None,
        "value": each.value.hex() if show_values and each.value is not None else None,
        "reason": each.reason,
    }
