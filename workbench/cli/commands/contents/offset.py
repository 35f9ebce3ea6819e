"""`kafka-workbench offset`: what became of an offset, what consumers get there, and what to do."""

import os
from typing import Final, cast

import click

from workbench.cli.colors import line_painter, painted_part
from workbench.cli.command import (
    PATHS,
    Command,
    Selection,
    as_json,
    open_logs,
    pick_partitions,
    reads_remote_tier,
)
from workbench.cli.output import note, print_json, print_table
from workbench.cli.reading import Reading, SelectedBatches
from workbench.cli.show.decoded_text import key_format, look_at, shown_as_json, value_format
from workbench.cli.show.hiding import takes_values
from workbench.cli.show.text_lines import RecordLines
from workbench.cli.show.value_text import Formats
from workbench.files.names import parse_directory_name
from workbench.layout.rows import runs_of
from workbench.loaders.exports import json_lines
from workbench.loaders.offsets.runs import IN_BATCHES
from workbench.loaders.partition import Partition
from workbench.loaders.scan.plan import offsets_of
from workbench.runtime.times import is_likely_time, milliseconds, time_text
from workbench.runtime.words import json_text, plural, safe

_COLUMN: Final = 18
_READABLE: Final = frozenset({"record", "aborted", "open"})
_SHOWN: Final = ("first_offset", "last_offset", "offsets", "fate", "reason")


class _OfPartition(Command):
    """A command about one partition, whose folder is enough to name it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments; the only path, if it is a partition's folder, gives the name, too."""
        paths = [each for each in args if os.path.isdir(each)]
        if len(paths) == 1:
            name = os.path.basename(os.path.abspath(paths[0]))
            others = [each for each in args if each != paths[0]]
            if parse_directory_name(name) is not None and name not in others:
                args = [name, *others, paths[0]]
        return super().parse_args(ctx, args)


@click.command("offset", cls=_OfPartition)
@click.argument("name", metavar="PARTITION")
@click.argument("offsets", metavar="OFFSET|A:B|TIME")
@PATHS
@click.option("--gaps", is_flag=True, help="Only offsets that no batch has, and why.")
@takes_values
@key_format("The format of the key: hex, base64, utf8, json, avro, avro:FILE, …; default: auto.")
@value_format("The format of the value.")
@reads_remote_tier
@as_json
def command(
    *,
    name: str,
    offsets: str,
    paths: tuple[str, ...],
    gaps: bool,
    show_values: bool,
    key_format: Formats,
    value_format: Formats,
    as_json: bool,
) -> int:
    """Say what became of an offset, what a consumer that asks for it gets, and what to do.

    \b
    offset orders-0 1234 DIR         one offset
    offset DIR/orders-0 1234         the same: the folder is the name
    offset orders-0 1000:2000 DIR    the runs of a range, each with its fate
    offset orders-0 : DIR --gaps     all gaps of the log, and why
    offset orders-0 2026-03-01 DIR   the first offset at or after a time, as
                                     kafka-get-offsets --time finds it

    An offset is a record, or was compacted away, aborted, deleted below the log start offset, lost
    in damaged bytes, is a control record, or was never written; the answer names the bytes that
    show it, and the record. Where a broker is assumed, it serves the directory as it is.

    A number past the log end offset that is a time of these decades in ms since the epoch is taken
    as that time.

    Exit codes: 0 done; 1: a broker finds no record at or after TIME.

    With --json: an object with partition, offset, fate, why, first_offset, last_offset (of the
    offsets around it with the same fate), path, position, advice, rescuable (in
    damaged bytes: the offsets that --rescue reads), and for read_uncommitted and
    read_committed outcome, next_offset and why; and record, as dump --json has it, or null. Of a
    range: a list of objects with topic,
    partition, first_offset, last_offset, offsets, fate, reason, path and byte.
    """  # noqa: D301 - click's mark for lines to keep is a backspace
    listing = open_logs(paths).listing
    (partition,) = pick_partitions(listing, (), (name,))
    known = cast(Partition, partition)
    time = _time_of(known, offsets)
    if time is not None:
        at = _first_at(known, time)
        if at is None:
            return 1
        offsets = str(at)
    if offsets.isdecimal() and not gaps:
        found = known.fate(int(offsets))
        place = int(offsets)
        one = Selection([known], (place, place + 1), listing=listing)
        record = _record(one) if found.fate in _READABLE else None
        if as_json:
            shown = shown_as_json(one, key_format, value_format, show_values=show_values)
            text = "null" if record is None else _line(*record, shown(known.topic))
            facts = json_text(found.as_dict(), indent=2).removesuffix("\n}")
            click.echo(line_painter()(f'{facts},\n  "record": {text}\n}}\n'), nl=False)
            return 0
        look = look_at(one, key_format, value_format, show_values=show_values, full=True)
        lines = RecordLines(known.topic, look)
        fields = () if record is None else lines.fields(record[0].columns, record[1])
        for field, text in [*found.rows(), *fields]:
            line = safe(f"{field:<{_COLUMN}}{text}")
            click.echo(painted_part(line, _COLUMN, len(line)) if look.color else line)
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


def _record(one: Selection) -> tuple[SelectedBatches, int] | None:
    """Return the only record of a selection: a part and its place there; None: it has none."""
    for part in Reading(one, options=json_lines.EVERYTHING, quiet=True):
        for at, _ in runs_of(part.keep):
            return part, at
    return None


def _line(part: SelectedBatches, at: int, shown: json_lines.Shown) -> str:
    """Return a record as JSON lines have it: numbers as they are stored, on one line."""
    where = part.partition.topic, part.partition.partition
    runs = [(at, at + 1)]
    line = json_lines.record_lines(part.columns, part.batch_rows, runs, where, shown=shown)
    return "".join(line).strip()


def _time_of(partition: Partition, offsets: str) -> int | None:
    """Return the time that was given instead of offsets, ms; None: they are offsets."""
    try:
        offsets_of(offsets)
    except ValueError as not_offsets:
        try:
            return milliseconds(offsets)
        except ValueError as error:
            raise click.UsageError(f"{not_offsets}; {error}") from None
    if not offsets.isdecimal() or not is_likely_time(int(offsets)):
        return None
    end = partition.broker_log_end_offset
    if int(offsets) <= end:
        return None
    note(f"{offsets} is past the log end offset {end:,}, and taken as a time")
    return int(offsets)


def _first_at(partition: Partition, timestamp: int) -> int | None:
    """Return the first offset that a broker finds at or after a time, and say if there is none."""
    offset, time = partition.offset_for_timestamp(timestamp), time_text(timestamp)
    if offset is None:
        note(f"a broker finds no offset at or after {time}")
    else:
        note(
            f"offset {offset:,} is the first at or after {time}; records after it may be older: "
            f"kafka-workbench dump DIR -p {partition.name} --offsets {offset}: --until {time}"
        )
    return offset
