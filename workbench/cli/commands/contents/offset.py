"""`kafka-workbench offset`: what became of an offset, what consumers get there, and what to do."""

from typing import Final, cast

import click

from workbench.cli.command import (
    Command,
    as_json,
    open_logs,
    pick_partitions,
    reads_remote_tier,
)
from workbench.cli.output import console, note, print_json, print_table, rich_text
from workbench.loaders.offsets.runs import IN_BATCHES
from workbench.loaders.partition import Partition
from workbench.loaders.scan.plan import offsets_of
from workbench.runtime.times import milliseconds, time_text
from workbench.runtime.words import plural

_SHOWN: Final = ("first_offset", "last_offset", "offsets", "fate", "reason")


@click.command("offset", cls=Command)
@click.argument("name", metavar="PARTITION")
@click.argument("offsets", metavar="OFFSET|A:B|TIME")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path())
@click.option("--gaps", is_flag=True, help="Only offsets that no batch has, and why.")
@reads_remote_tier
@as_json
def command(*, name: str, offsets: str, paths: tuple[str, ...], gaps: bool, as_json: bool) -> int:
    """Say what became of an offset, what a consumer that asks for it gets, and what to do.

    \b
    offset orders-0 1234 DIR         one offset
    offset orders-0 1000:2000 DIR    the runs of a range, each with its fate
    offset orders-0 : DIR --gaps     all gaps of the log, and why
    offset orders-0 2026-03-01 DIR   the first offset at or after a time, as
                                     kafka-get-offsets --time finds it

    An offset is a record, or was compacted away, aborted, deleted below the log start offset, lost
    in damaged bytes, is a control record, or was never written; the answer names the bytes that
    show it. Where a broker is assumed, it serves the directory as it is.

    Exit codes: 0 done; 1: a broker finds no record at or after TIME.

    With --json: an object with partition, offset, fate, why, first_offset, last_offset (of the
    offsets around it with the same fate), path, position, advice, and for read_uncommitted and
    read_committed outcome, next_offset and why. Of a range: a list of objects with topic,
    partition, first_offset, last_offset, offsets, fate, reason, path and byte.
    """  # noqa: D301 - click's mark for lines to keep is a backspace
    (partition,) = pick_partitions(open_logs(paths).listing, (), (name,))
    known = cast(Partition, partition)
    try:
        offsets_of(offsets)
    except ValueError as error:
        at = _first_at(known, offsets, error)
        if at is None:
            return 1
        offsets = str(at)
    if offsets.isdecimal() and not gaps:
        found = known.fate(int(offsets))
        if as_json:
            print_json(found.as_dict())
            return 0
        out = console()
        for field, text in found.rows():
            out.print(rich_text(f"{field:<18}{text}"))
        return 0
    rows = known.fates(offsets).to_pylist()
    if gaps:
        rows = [row for row in rows if row["fate"] not in IN_BATCHES]
    if as_json:
        print_json(rows)
        return 0
    print_table(_SHOWN, [[row[column] for column in _SHOWN] for row in rows])
    if not rows:
        click.echo(f"{plural(0, 'gap')}: every offset is in a batch")
    return 0


def _first_at(partition: Partition, time: str, not_offsets: ValueError) -> int | None:
    """Return the first offset that a broker finds at or after a time, and say if there is none."""
    try:
        timestamp = milliseconds(time)
    except ValueError as error:
        raise click.UsageError(f"{not_offsets}; {error}") from None
    offset = partition.offset_for_timestamp(timestamp)
    said = f"offset {offset:,} is the first" if offset is not None else "a broker finds no offset"
    note(f"{said} at or after {time_text(timestamp)}")
    return offset
