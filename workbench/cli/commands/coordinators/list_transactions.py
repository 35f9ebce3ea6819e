"""`kafka-workbench transactions`: transactional ids, and the transactions that are open in logs."""

from collections.abc import Iterable

import click

from workbench.cli.command import Command, as_json, open_logs
from workbench.cli.output import note, print_json, print_table, time_of
from workbench.cli.show.coordinator_facts import (
    marker_facts,
    open_facts,
    report,
    transaction_facts,
)
from workbench.coordinator.transactions.marker_data import DATA, MISSING, MarkerData, marker_data
from workbench.coordinator.transactions.stored_transactions import HANGS, StoredTransactions
from workbench.runtime.words import plural


@click.command("transactions", cls=Command)
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path())
@click.option(
    "--open", "is_open", is_flag=True,
    help="List the transactions that are open in the logs, and whether they hang.",
)  # fmt: skip
@click.option(
    "--markers", "is_bare", is_flag=True,
    help="List the transaction markers in the logs that end no data, and why.",
)  # fmt: skip
@as_json
def command(*, paths: tuple[str, ...], is_open: bool, is_bare: bool, as_json: bool) -> int:
    """List the transactional ids in __transaction_state as a broker would after a restart.

    With --open: the transactions that no marker has ended yet, from the batch headers of every
    log. A transaction that its coordinator does not know hangs: no marker will end it, and the
    last stable offset of the partition cannot advance.

    With --markers: the transaction markers without data of their producer since its last marker,
    and the reason: the data was compacted or deleted, never written, the marker is repeated.

    Exit codes: 0 done, 1 something could not be read, a transaction hangs, or the data of a marker
    is missing and nothing explains it.

    With --json: a list of objects with transactionalId, producerId, producerEpoch, state,
    topicPartitions, transactionTimeoutMs, transactionStartTimeMs, lastUpdateTimestamp, timesOutAt
    (an ongoing transaction), expiresAt (the id), previousProducerId, nextProducerId,
    clientTransactionVersion, coordinatorPartition and recordOffset. With --open: topic, partition,
    producerId, producerEpoch, firstOffset, lastOffset, lastTimestamp, transactionalId, state,
    verdict (waits, hangs, or null: unknown), reason, lastStableOffset and blockedOffsets. With
    --markers: topic, partition, offset, timestamp, type (COMMIT, ABORT), producerId, producerEpoch,
    coordinatorEpoch, transactionalId, verdict (unreadable, compacted, deleted, repeated, "not
    written", missing, or null: unknown) and reason.
    """
    if is_open and is_bare:
        raise click.UsageError("--open and --markers are two lists: give one of them")
    listing = open_logs(paths).listing
    coordinator = StoredTransactions(listing)
    if not coordinator.loads:
        note("the directories have no partition of __transaction_state")
    code = report(coordinator.findings())
    if is_open:
        return max(code, _list_open(coordinator, as_json=as_json))
    if is_bare:
        partitions = [each for each in listing.partitions.values() if each.kind == "log"]
        return max(code, _list_markers(marker_data(coordinator, partitions), as_json=as_json))
    found = [transaction_facts(state) for state in coordinator.transactions.values()]
    if as_json:
        print_json(found)
        return code
    print_table(
        ["transactional id", "producer", "epoch", "state", "partitions", "last update (UTC)"],
        [
            [
                each["transactionalId"],
                each["producerId"],
                each["producerEpoch"],
                each["state"],
                ", ".join(each["topicPartitions"]) or None,
                time_of(each["lastUpdateTimestamp"]),
            ]
            for each in found
        ],
        spare=("last update (UTC)", "epoch"),
    )
    return code


def _list_open(coordinator: StoredTransactions, *, as_json: bool) -> int:
    found = [open_facts(each) for each in coordinator.open_producers()]
    if as_json:
        print_json(found)
    else:
        names = ("topic", "partition", "producerId", "firstOffset", "transactionalId", "verdict")
        print_table(
            ["topic", "partition", "producer", "first offset", "transactional id", "verdict",
             "last record (UTC)", "blocked offsets", "reason"],
            [
                [
                    *(each[name] for name in names),
                    time_of(each["lastTimestamp"]),
                    each["blockedOffsets"],
                    each["reason"],
                ]
                for each in found
            ],
            spare=("reason", "last record (UTC)"),
        )  # fmt: skip
    return 1 if any(each["verdict"] == HANGS for each in found) else 0


def _list_markers(markers: Iterable[MarkerData], *, as_json: bool) -> int:
    total, found = 0, []
    for each in markers:
        total += 1
        if each.verdict != DATA:
            found.append(marker_facts(each))
    note(f"{plural(total, 'transaction marker')}, {len(found):,} without data")
    if as_json:
        print_json(found)
    else:
        names = ("topic", "partition", "offset", "type", "producerId", "producerEpoch",
                 "transactionalId", "verdict", "reason")  # fmt: skip
        print_table(
            ["topic", "partition", "offset", "type", "producer", "epoch", "transactional id",
             "verdict", "reason"],
            [[each[name] for name in names] for each in found],
            spare=("reason", "epoch"),
        )  # fmt: skip
    return 1 if any(each["verdict"] == MISSING for each in found) else 0
