"""`kafka-workbench describe`: one directory, partition, segment, batch or small file in detail."""

import os
from bisect import bisect_right
from collections.abc import Sequence
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
from workbench.cli.output import (
    Size,
    cell,
    console,
    label,
    note,
    print_json,
    print_table,
    rich_text,
    time_of,
)
from workbench.cli.show.described import (
    DescribedField,
    DescribedOneSegment,
    DescribedPartition,
    DescribedRoot,
    DescribedSegment,
    DescribedTopic,
)
from workbench.cli.show.hiding import takes_values
from workbench.inspection.partition import DiskPartition
from workbench.inspection.segment import Segment
from workbench.loaders.remote import opened
from workbench.runtime.words import plural

_SHOWN: Final = 40  # rows of a table by default
_TIMES: Final = frozenset({"first_timestamp", "largest_timestamp", "max_timestamp", "modified"})
_SPARE: Final = (
    "is active", "is control", "is transactional", "directory id", "broker epoch",
    "first timestamp",
    "txnindex", "timeindex", "index", "base sequence", "producer epoch", "magic", "topic id",
    "partition leader epoch", "coordinator epoch", "offset delta", "other folders",
)  # fmt: skip
"""Columns that are left out on a narrow terminal."""

_COUNTS: Final = {
    "batch_table": "batches",
    "offset_index": "offset_index_entries",
    "time_index": "time_index_entries",
    "transaction_index": "transaction_index_entries",
    "entries": "entries_in_use",
    "producers": "producer_count",
}
"""Facts that count all rows of a table, of which fewer may be shown."""

_TIMES_IN_TABLES: Final = _TIMES | {"timestamp", "event_time"}


@click.command(
    "describe",
    cls=Command,
    fields={
        "--json of a directory, in directories": DescribedRoot,
        "--json of a directory, in topics": DescribedTopic,
        "--json of a partition": DescribedPartition,
        "--json of a partition, in segments": DescribedSegment,
        "--json of a segment": DescribedOneSegment,
        "--json of a batch": DescribedField,
    },
)
@chooses_partitions
@reads_remote_tier
@click.option("--segment", type=int, metavar="BASE", help="Only the segment with this base offset.")
@click.option(
    "--batch", type=click.IntRange(min=0), metavar="POSITION",
    help="Show the batch at this position in its segment, every byte with its name.",
)  # fmt: skip
@click.option(
    "--rows", type=click.IntRange(min=0), default=_SHOWN, metavar="COUNT", show_default=True,
    help="Show at most COUNT rows of a table.",
)  # fmt: skip
@click.option("--all", "everything", is_flag=True, help="Show all rows of every table.")
@takes_values
@as_json
def command(
    *,
    paths: tuple[str, ...],
    topics: tuple[str, ...],
    partitions: tuple[str, ...],
    segment: int | None,
    batch: int | None,
    rows: int,
    everything: bool,
    show_values: bool,
    as_json: bool,
) -> int:
    """Show one thing in detail.

    \b
    describe DIRECTORY                        who wrote it, topics, checkpoints
    describe DIRECTORY -p orders-0            offsets, segments, epochs, producers
    describe DIRECTORY/orders-0               the same
    describe DIRECTORY -p orders-0 --segment 0        batches and index entries
    describe DIRECTORY/orders-0/000….log --batch 0    every byte of a batch
    describe DIRECTORY/orders-0/000….timeindex        the file's entries

    Exit codes: 0 done, even if the output names problems.

    With --json: the same as one object (times in ms since the epoch), with --batch a list of
    fields.
    """  # noqa: D301 - click's mark for lines to keep is a backspace
    from workbench.cli.show import facts
    from workbench.inspection.facts.file_facts import is_small_file_name, small_file_facts

    most = None if everything or as_json else rows
    if len(paths) == 1 and is_small_file_name(os.path.basename(paths[0].partition("?")[0])):
        path, fs = opened(paths[0])
        if fs.is_file(path):
            return _show(small_file_facts(path, most, fs), rows=most, as_json=as_json)
    logs = open_logs(paths)
    is_file = any(partition.only is not None for partition in logs.values())
    one = segment is not None or batch is not None or is_file
    is_overview = not topics and not partitions and any(r.is_log_directory for r in logs.roots)
    if is_overview and not one:
        return _show(facts.directory_facts(logs), rows=most, as_json=as_json)
    chosen = pick_partitions(logs.listing, topics, partitions)
    if not one:
        described = [facts.partition_facts(logs, partition) for partition in chosen]
        if as_json:
            print_json(described[0] if len(described) == 1 else described)
            return 0
        for each in described:
            _show(each, rows=most, as_json=False)
        return 0
    found = _one_segment(chosen, segment)
    if batch is None:
        about = facts.segment_facts(chosen[0], found, most)
        return _show(about, rows=most, as_json=as_json)
    return _show_batch(found, batch, rows=most, as_json=as_json, show_values=show_values)


def _one_segment(partitions: Sequence[DiskPartition], base: int | None) -> Segment:
    """Return the segment that the options name.

    Raises:
        UsageError: they name none, or more than one.
    """
    if len(partitions) != 1:
        counted = plural(len(partitions), "partition")
        raise click.UsageError(f"--segment and --batch need one partition, not {counted}")
    segments = partitions[0].segments
    if base is None and len(segments) == 1:
        return segments[0]
    for segment in segments:
        if segment.base_offset == base:
            return segment
    bases = ", ".join(str(segment.base_offset) for segment in segments)
    what = "--segment is needed" if base is None else f"unknown segment {base}"
    raise click.UsageError(f"{what}: {partitions[0].name} has {bases or 'none'}")


def _show(facts: dict[str, Any], *, rows: int | None, as_json: bool) -> int:
    """Print facts: single ones in two columns, lists as tables below them."""
    if as_json:
        print_json(facts)
        return 0
    single = {name: value for name, value in facts.items() if not _is_table(value)}
    width = max((len(name) for name in single), default=0) + 2
    out = console()
    for name, value in single.items():
        text = _text(name, value)
        if text is not None:
            line = f"{label(name):<{width}}{text}"
            out.print(rich_text(line, "red" if name == "problems" else ""))
    for name, value in facts.items():
        if _is_table(value) and value:
            click.echo()
            shown = value if rows is None else value[:rows]
            total = facts.get(_COUNTS.get(name, ""), len(value))
            _print_rows(label(name), shown, total - len(shown))
    return 0


def _is_table(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def _text(name: str, value: Any) -> str | None:
    """Return a fact's text; None if the fact is empty."""
    if value is None or value in ([], {}):
        return None
    if name in _TIMES:
        return time_of(value)
    if name == "size":
        return cell(Size(value)) if value < 1000 else f"{cell(Size(value))} ({value:,} bytes)"
    if isinstance(value, dict):
        return ", ".join(f"{key} {cell(each)}" for key, each in value.items())
    if isinstance(value, list):
        return ", ".join(str(each) for each in value)
    return cell(value)


def _print_rows(title: str, rows: list[dict[str, Any]], left: int) -> None:
    columns = [name for name in rows[0] if any(row[name] not in (None, [], {}) for row in rows)]
    cells = [[_cell(name, row[name]) for name in columns] for row in rows]
    headings = [label(name) for name in columns]
    print_table(headings, cells, title=title, spare=_SPARE)
    if left:
        click.echo(f"{left:,} more; --all shows them")


def _cell(name: str, value: Any) -> Any:
    if value is None:
        return None
    if name in _TIMES_IN_TABLES:
        return time_of(value)
    if name == "size":
        return Size(value)
    if isinstance(value, dict | list):
        return _text(name, value)
    return value


def _inside_of(segment: Segment, position: int) -> str:
    """Return where batches begin, if a position is inside of one; otherwise an empty text."""
    rows = segment.batches.rows
    starts = rows["position"].tolist()
    at = bisect_right(starts, position) - 1
    if at < 0 or starts[at] == position or position >= starts[at] + int(rows["size"][at]):
        return ""
    near = starts[max(0, at - 1) : at + 3]
    return (
        f"byte {position} is inside of the batch at {starts[at]}; batches begin at "
        f"{', '.join(map(str, near))}{', …' if near[-1] != starts[-1] else ''}"
    )


def _show_batch(
    segment: Segment, position: int, *, rows: int | None, as_json: bool, show_values: bool
) -> int:
    """Print every byte of a batch with its name."""
    from workbench.cli.show.facts import field_facts, field_line
    from workbench.inspection.bytes.fields import MOST_RECORDS, explain_batch

    most = MOST_RECORDS if rows is None or rows == _SHOWN else rows
    fields = explain_batch(segment, position, most)
    if not fields:
        raise click.UsageError(f"byte {position} is past the end of {segment.path}")
    if text := _inside_of(segment, position):
        note(text)
    if as_json:
        print_json([field_facts(field, show_values=show_values) for field in fields])
        return 0
    was_decompressed = False
    for field in fields:
        if field.is_decompressed and not was_decompressed:
            click.echo("\ndecompressed:")
            was_decompressed = True
        click.echo(field_line(field, show_values=show_values))
    return 0
