"""`kafka-workbench transactions`: transactional ids, and the transactions that are open in logs."""

from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import Any

import click

from workbench.cli.command import (
    Command,
    Row,
    as_json,
    chooses_rows,
    chooses_times,
    chosen_rows,
    is_between,
    open_logs,
    rows_between,
)
from workbench.cli.output import note, print_json, print_table, time_of
from workbench.cli.show.coordinator_facts import load_transactions, report
from workbench.coordinator.transactions.marker_data import DATA, MISSING, MarkerData, marker_data
from workbench.coordinator.transactions.stored_transactions import HANGS
from workbench.files.names import DirectoryName, parse_directory_name
from workbench.loaders.tables.coordinator_rows import id_rows, marker_row, open_producer_row
from workbench.runtime.words import plural
from workbench.tables.columns import json_of
from workbench.tables.transactions import MarkerRow, OpenProducerRow, TransactionRow


@click.command(
    "transactions",
    cls=Command,
    fields={
        "--json": TransactionRow,
        "--open --json": OpenProducerRow,
        "--markers --json": MarkerRow,
    },
)
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path())
@click.option(
    "--open", "is_open", is_flag=True,
    help="List the transactions that are open in the logs, and whether they hang.",
)  # fmt: skip
@click.option(
    "--markers", "is_bare", is_flag=True,
    help="List the transaction markers in the logs that end no data, and why.",
)  # fmt: skip
@chooses_rows
@chooses_times("transactions and markers whose last record is")
@as_json
def command(
    *,
    paths: tuple[str, ...],
    is_open: bool,
    is_bare: bool,
    topics: tuple[str, ...],
    partitions: tuple[str, ...],
    since: int | None,
    until: int | None,
    as_json: bool,
) -> int:
    """List the transactional ids in __transaction_state as a broker would after a restart.

    With --open: the transactions that no marker has ended yet, from the batch headers of every
    log. A transaction that its coordinator does not know hangs: no marker will end it, and the
    last stable offset of the partition cannot advance.

    With --markers: the transaction markers without data of their producer since its last marker,
    and the reason: the data was compacted or deleted, never written, the marker is repeated.

    Exit codes: 0 done, 1 something could not be read, a transaction hangs, or the data of a marker
    is missing and nothing explains it.

    --topic and --partition choose the transactions that are in these partitions, and the markers
    there.

    With --json: a list of objects with the fields below.
    """
    if is_open and is_bare:
        raise click.UsageError("--open and --markers are two lists: give one of them")
    listing = open_logs(paths).listing
    coordinator = load_transactions(listing)
    code = report(coordinator.findings())

    def chosen(rows: Iterable[Row], time: str, **of: Any) -> list[Row]:
        named = chosen_rows(rows, listing, topics, partitions, **of)
        return rows_between(named, since, until, attrgetter(time))

    if is_open:
        producers = map(open_producer_row, coordinator.open_producers())
        return max(code, _list_open(chosen(producers, "last_time"), as_json=as_json))
    if is_bare:
        logs = [each for each in listing.partitions.values() if each.kind == "log"]
        every = marker_data(coordinator, chosen_rows(logs, listing, topics, partitions))
        markers = (each for each in every if is_between(marker_row(each).time, since, until))
        return max(code, _list_markers(markers, as_json=as_json))
    every_id = id_rows(coordinator, coordinator.waiting_producers())
    found = chosen(every_id, "last_update_time", of=_places)
    if as_json:
        print_json([json_of(each) for each in found])
        return code
    print_table(
        ["transactional id", "producer", "epoch", "state", "partitions", "last update"],
        [
            [
                each.transactional_id,
                each.producer_id,
                each.producer_epoch,
                each.state,
                ", ".join(each.partitions) or None,
                time_of(each.last_update_time),
            ]
            for each in found
        ],
        spare=("last update", "epoch"),
    )
    return code


def _places(row: TransactionRow) -> Iterator[DirectoryName]:
    return filter(None, map(parse_directory_name, row.partitions))


def _list_open(found: list[OpenProducerRow], *, as_json: bool) -> int:
    if as_json:
        print_json([json_of(each) for each in found])
    else:
        names = ("topic", "partition", "producer_id", "first_offset", "transactional_id", "verdict")
        print_table(
            ["topic", "partition", "producer", "first offset", "transactional id", "verdict",
             "last record", "blocked offsets", "reason"],
            [
                [
                    *(getattr(each, name) for name in names),
                    time_of(each.last_time),
                    each.blocked_offsets,
                    each.reason,
                ]
                for each in found
            ],
            spare=("reason", "last record"),
        )  # fmt: skip
    return 1 if any(each.verdict == HANGS for each in found) else 0


def _list_markers(markers: Iterable[MarkerData], *, as_json: bool) -> int:
    total, found = 0, []
    for each in markers:
        total += 1
        if each.verdict != DATA:
            found.append(marker_row(each))
    note(f"{plural(total, 'transaction marker')}, {len(found):,} without data")
    if as_json:
        print_json([json_of(each) for each in found])
    else:
        names = ("topic", "partition", "offset", "type", "producer_id", "producer_epoch",
                 "transactional_id", "verdict", "reason")  # fmt: skip
        print_table(
            ["topic", "partition", "offset", "type", "producer", "epoch", "transactional id",
             "verdict", "reason"],
            [[getattr(each, name) for name in names] for each in found],
            spare=("reason", "epoch"),
        )  # fmt: skip
    return 1 if any(each.verdict == MISSING for each in found) else 0
