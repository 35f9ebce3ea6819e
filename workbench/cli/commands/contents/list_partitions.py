"""`kafka-workbench ls`: topics and partitions with their sizes, offsets and segments."""

from collections.abc import Collection, Iterable
from functools import partial
from typing import Any, Final

import click

from workbench.cli.command import (
    Command,
    as_json,
    chooses_partitions,
    open_logs,
    pick_partitions,
    reads_remote_tier,
)
from workbench.cli.output import Size, is_terminal, note, print_json, print_table, say
from workbench.cli.progress import progress
from workbench.inspection.listing import Root
from workbench.inspection.partition import DiskPartition
from workbench.inspection.remote_tier.segment_rows import remote_totals
from workbench.inspection.unreadable import findings_of_unread, if_readable, unreadable
from workbench.loaders.offsets.record_counts import count_records
from workbench.loaders.remote import only_in_tier
from workbench.log_directory import LogDirectory
from workbench.runtime.times import time_text
from workbench.runtime.words import named_or_more, plural, size_text
from workbench.tables.columns import json_of
from workbench.tables.directories import ListingRow

SORTS: Final = ("name", "size", "segments", "offsets", "modified", "records")


@click.command("ls", cls=Command, fields={"--json, in partitions or topics": ListingRow})
@chooses_partitions
@reads_remote_tier
@click.option("--topics", "by_topic", is_flag=True, help="Show one row per topic.")
@click.option(
    "--records", "counts", is_flag=True,
    help="Count the records that consumers of each isolation level get, by batch headers.",
)  # fmt: skip
@click.option(
    "--files", "deletable", is_flag=True,
    help="Show which files may be deleted by hand when the disk is full, and which never.",
)  # fmt: skip
@click.option("--sort", type=click.Choice(SORTS), default="name", help="Sort by this column.")
@click.option("--reverse", "-r", is_flag=True, help="Reverse the order.")
@as_json
def command(
    *,
    paths: tuple[str, ...],
    topics: tuple[str, ...],
    partitions: tuple[str, ...],
    by_topic: bool,
    counts: bool,
    deletable: bool,
    sort: str,
    reverse: bool,
    as_json: bool,
) -> int:
    """List partitions with their sizes, offsets and segments.

    Names and sizes come from the file system, log end offsets from the last batches. Directories
    that are not a partition's current log (-delete, -stray, -future) are listed with their kind; a
    line below the table names what no broker would know. Of a remote tier (--remote, or its path
    alone), segments and their sizes before compression are counted apart; --sort size adds both.

    --files shows which files may be deleted by hand, with the broker stopped: "yes" is what a
    broker would delete itself, "no" is what it reads.

    "offsets" is log end minus log start: not the number of records after compaction, and with
    transactions. --records counts those that a consumer gets: "records" with read_uncommitted,
    "committed" with read_committed.

    Exit codes: 0 done.

    With --json: an object with "partitions" (or "topics"), "totals", "unknown_files",
    "unknown_folders", "only_remote" (partitions that only the remote tier has) and "not_read".
    """
    logs = open_logs(paths)
    chosen = pick_partitions(logs.listing, topics, partitions)
    if deletable:
        everywhere = not topics and not partitions
        return _print_files(logs, None if everywhere else {p.name for p in chosen}, as_json=as_json)
    if not topics and not partitions:
        chosen = list(logs.values())
    rows = []
    with progress("listing", len(chosen), unit="partitions") as meter:
        for partition in chosen:
            rows.append(_row(partition, counts=counts))
            meter.advance(1)
    totals = _sum("total", rows)
    others = 0 if topics or partitions else logs.listing.occupied_by_others
    beside = [str(each) for root in logs.roots for each in findings_of_unread(root.unread)]
    remote = _only_remote(logs, topics, is_all=not topics and not partitions)
    if by_topic:
        rows = _by_topic(rows)
    rows = _sorted(rows, sort, reverse=reverse)
    if as_json:
        print_json(
            {
                "topics" if by_topic else "partitions": [json_of(row) for row in rows],
                "totals": _totals(totals, rows, by_topic=by_topic) | {"occupied_by_others": others},
                "unknown_files": [file.path for root in logs.roots for file in root.unknown],
                "unknown_folders": [
                    f"{root.path}/{name}" for root in logs.roots for name in root.unknown_folders
                ],
                "only_remote": remote,
                "not_read": [*totals.not_read, *beside],
            }
        )
        return 0
    _print(rows, totals, by_topic=by_topic, several_roots=len(logs.roots) > 1)
    if others and rows and is_terminal():
        held = totals.occupied + others
        say(f"on the disk: {size_text(held)}, {size_text(others)} of it in files of no topic")
    _print_remote(remote)
    for root in logs.roots:
        _print_unknown(root)
    for line in (*totals.not_read, *beside):
        note(line)
    return 0


def _only_remote(logs: LogDirectory, topics: Collection[str], *, is_all: bool) -> list[str]:
    """Return the names of partitions that only the remote tier has."""
    found = only_in_tier(logs.listing, **logs.tier)
    return [each.name for each in found if is_all or each.topic in topics]


def _print_remote(names: list[str]) -> None:
    if names:
        say(
            f"only the remote tier has segments of {plural(len(names), 'partition')}: "
            f"{named_or_more(names)} (--remote without a directory reads them)"
        )


def _print_files(logs: LogDirectory, chosen: set[str] | None, *, as_json: bool) -> int:
    """Print files by what may be done with them, those that may go first and one by one."""
    rows = logs.inspect.files().to_pylist()
    rows = [row for row in rows if chosen is None or row["folder"] in chosen]
    if as_json:
        print_json([{**row, "modified": round(row["modified"].timestamp() * 1000)} for row in rows])
        return 0
    groups: dict[tuple[str, ...], list[Any]] = {}
    for row in rows:
        is_kept = row["by_hand"] == "no"
        place = f"{row['folder']}/{row['name']}" if row["folder"] else row["name"]
        name = f"every {row['kind']}" if is_kept else place
        groups.setdefault((row["by_hand"], name, row["why"]), []).append(row)
    order = {"yes": 0, "look": 1, "no": 2}
    print_table(
        ["by hand", "file", "files", "on disk", "why"],
        [
            [verdict, name, len(mine), Size(sum(row["occupied_bytes"] for row in mine)), why]
            for (verdict, name, why), mine in sorted(groups.items(), key=lambda g: order[g[0][0]])
        ],
        spare=("files",),
    )
    return 0


def _row(partition: DiskPartition, *, counts: bool) -> ListingRow:
    start, not_read = partition.log_start_offset, [*map(str, findings_of_unread(partition.unread))]
    end: int | None = None
    try:
        end = partition.log_end_offset
    except OSError as error:
        not_read += map(str, unreadable(partition.segments[-1].path, error))
    if not_read and not partition.segments:
        end = None  # not known
    size = partition.size
    counted = if_readable(partial(count_records, partition)) if counts else None
    remote_segments, remote_size = remote_totals(partition)
    return ListingRow(
        name=partition.name,
        topic=partition.topic,
        partition=partition.partition,
        kind=partition.kind,
        segments=len(partition.segments),
        size=size,
        other_size=sum(file.size for file in partition.files) - size,
        occupied=sum(file.occupied for file in partition.files),
        log_start_offset=start,
        log_end_offset=end,
        offset_count=0 if end is None else max(0, end - start),
        leftovers=len(partition.leftovers),
        unknown=len(partition.unknown),
        modified=max((segment.modified_ms for segment in partition.segments), default=None),
        path=partition.path,
        not_read=tuple(not_read),
        remote_segments=remote_segments,
        remote_size=remote_size,
        records=None if counted is None else counted.records,
        records_read_committed=None if counted is None else counted.committed,
    )


def _added(counts: Iterable[int | None]) -> int | None:
    """Return the sum of what was counted; None if nothing was."""
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _sum(name: str, rows: list[ListingRow]) -> ListingRow:
    """Return the sum of rows."""
    return ListingRow(
        name=name,
        topic=name,
        partition=len(rows),
        kind="topic",
        segments=sum(row.segments for row in rows),
        size=sum(row.size for row in rows),
        other_size=sum(row.other_size for row in rows),
        occupied=sum(row.occupied for row in rows),
        log_start_offset=None,
        log_end_offset=None,
        offset_count=sum(row.offset_count for row in rows),
        leftovers=sum(row.leftovers for row in rows),
        unknown=sum(row.unknown for row in rows),
        modified=max((row.modified for row in rows if row.modified is not None), default=None),
        path=None,
        not_read=tuple(line for row in rows for line in row.not_read),
        remote_segments=sum(row.remote_segments for row in rows),
        remote_size=sum(row.remote_size for row in rows),
        records=_added(row.records for row in rows),
        records_read_committed=_added(row.records_read_committed for row in rows),
    )


def _by_topic(rows: list[ListingRow]) -> list[ListingRow]:
    topics: dict[str, list[ListingRow]] = {}
    for row in rows:
        if row.kind == "log":
            topics.setdefault(row.topic, []).append(row)
    return [_sum(name, mine) for name, mine in topics.items()]


def _sorted(rows: list[ListingRow], sort: str, *, reverse: bool) -> list[ListingRow]:
    """Return rows in order: largest and newest first, names from a to z."""
    if sort == "name":
        return rows[::-1] if reverse else rows  # they come in the order of topics and numbers
    fields = {"offsets": ("offset_count",), "size": ("size", "remote_size")}.get(sort, (sort,))
    return sorted(
        rows,
        key=lambda row: sum(getattr(row, field) or 0 for field in fields),
        reverse=not reverse,
    )


def _totals(totals: ListingRow, rows: list[ListingRow], *, by_topic: bool) -> dict[str, Any]:
    names = (
        *("segments", "size", "other_size", "occupied", "offset_count", "leftovers", "unknown"),
        *("remote_segments", "remote_size", "records", "records_read_committed"),
    )
    counts = {name: getattr(totals, name) for name in names}
    topics = len(rows) if by_topic else len({row.topic for row in rows if row.kind == "log"})
    return {"topics": topics, "partitions": totals.partition, **counts}


def _print(
    rows: list[ListingRow], totals: ListingRow, *, by_topic: bool, several_roots: bool
) -> None:
    if not rows:
        click.echo("no partitions")
        return
    has_kinds = any(row.kind not in {"log", "topic"} for row in rows)
    columns: list[tuple[str, Any, Any]] = [
        ("topic" if by_topic else "partition", lambda row: row.name, _count(totals.partition)),
        *([("partitions", lambda row: row.partition, None)] if by_topic else []),
        *([("kind", lambda row: row.kind, None)] if has_kinds else []),
        ("segments", lambda row: row.segments, totals.segments),
        ("size", lambda row: Size(row.size), Size(totals.size)),
        *(
            [
                ("remote", lambda row: row.remote_segments or None, totals.remote_segments),
                ("remote size", lambda row: Size(row.remote_size), Size(totals.remote_size)),
            ]
            if totals.remote_segments
            else []
        ),
        ("other files", lambda row: Size(row.other_size), Size(totals.other_size)),
        *(
            [("on the disk", lambda row: Size(row.occupied), Size(totals.occupied))]
            if totals.occupied != totals.size + totals.other_size
            else []
        ),
        *([] if by_topic else [("log start", lambda row: row.log_start_offset, None)]),
        *([] if by_topic else [("log end", lambda row: row.log_end_offset, None)]),
        ("offsets", lambda row: row.offset_count, totals.offset_count),
        *(
            [
                ("records", lambda row: row.records, totals.records),
                (
                    "committed",
                    lambda row: row.records_read_committed,
                    totals.records_read_committed,
                ),
            ]
            if totals.records is not None
            else []
        ),
        *(
            [("leftovers", lambda row: row.leftovers or None, totals.leftovers)]
            if totals.leftovers
            else []
        ),
        ("file time (UTC)", lambda row: _minute(row.modified), None),
        *([("in", lambda row: row.path, None)] if several_roots and not by_topic else []),
    ]
    print_table(
        [name for name, _, _ in columns],
        [[value(row) for _, value, _ in columns] for row in rows],
        footer=[total for _, _, total in columns],
        spare=("in", "file time (UTC)", "other files", "offsets", "segments"),
    )


def _count(partitions: int) -> str:
    return plural(partitions, "partition")


def _minute(milliseconds: int | None) -> str | None:
    return None if milliseconds is None else time_text(milliseconds, "minutes")


def _print_unknown(root: Root) -> None:
    """Print the names that a broker would not know."""
    names = [*(file.name for file in root.unknown), *(f"{name}/" for name in root.unknown_folders)]
    if names:
        shown = ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")
        text = f"{root.path} also has what no broker creates there: {shown}"
        if is_terminal():
            say(text)
        else:
            note(text)


_SHOWN: Final = 5  # names of unknown files
