"""`kafka-workbench dump`: every record, and every batch, for people or for other tools.

Kafka: DumpLogSegments (4.2)
"""

import re
import sys
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, Final

import click
import numpy as np

from workbench.cli.colors import line_painter
from workbench.cli.command import (
    Command,
    chooses_records,
    includes_internal,
    is_strict,
    select_records,
)
from workbench.cli.output import is_terminal, note
from workbench.cli.reading import Reading, SelectedBatches
from workbench.cli.show import text_lines
from workbench.cli.show.decoded_text import (
    SHOWN_KEYS,
    key_format,
    look_at,
    shown_as_json,
    value_format,
)
from workbench.cli.show.hiding import takes_values
from workbench.cli.show.line_format import line_format
from workbench.cli.show.text_lines import Look
from workbench.cli.show.value_text import Formats
from workbench.decoders.registry import decoder_for
from workbench.inspection.transactions import Transactions, read_transactions
from workbench.layout.rows import runs_of
from workbench.loaders.exports import json_lines
from workbench.loaders.exports.pieces import are_huge
from workbench.loaders.scan.plan import offset_range

Runs = list[tuple[int, int]]
Lines = Callable[[SelectedBatches, Runs], Iterator[str | bytes]]

_PRINTS_VALUES: Final = re.compile("%[ksh]")
_DAMAGED: Final = 2  # exit code with --strict


@click.command("dump", cls=Command)
@chooses_records
@includes_internal
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "jsonl"]),
    help="jsonl: one JSON object per line. Default: text on a terminal, otherwise jsonl.",
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format jsonl.")
@click.option(
    "-f", "line", metavar="TEXT",
    help="Print each record as kcat does: %t topic, %p partition, %o offset, %T timestamp in ms, "
    "%k key, %s value, %K and %S their bytes (-1: null), %h headers; \\n ends the line.",
)  # fmt: skip
@click.option(
    "--newest", "--tail", "newest", type=click.IntRange(min=1), metavar="N",
    help="Print the newest N records of each partition, the newest first; of these, -n the first.",
)  # fmt: skip
@click.option(
    "--latest", is_flag=True,
    help="Print only the newest record of each key of a partition; a null value is a tombstone.",
)  # fmt: skip
@click.option("--control", is_flag=True, help="Also print control records.")
@click.option(
    "--batches/--no-batches", default=None, help="Also print batches. Default: only in text."
)
@click.option("--records/--no-records", default=True, help="Print records (the default).")
@takes_values
@key_format(SHOWN_KEYS)
@value_format("The format of values.")
@click.option(
    "--decode", is_flag=True, help='jsonl: add "decoded" to the records of internal topics.'
)
@click.option("--wide", "--full", "-v", "full", is_flag=True, help="text: do not shorten lines.")
@is_strict
def command(
    *,
    form: str | None,
    as_json: bool,
    line: str | None,
    newest: int | None,
    latest: bool,
    control: bool,
    batches: bool | None,
    records: bool,
    show_values: bool,
    key_format: Formats,
    value_format: Formats,
    decode: bool,
    full: bool,
    strict: bool,
    **choice: Any,
) -> int:
    """Print the records of log directories, partitions or files, in log order.

    With --format jsonl, each record is one JSON object: topic, partition, offset, timestamp (ms;
    -1: none), time (ISO 8601 in UTC), timestamp_type, key, value, headers (a list of [name,
    value]).
    Control records also have "control". With --batches, each batch is one object before its
    records, with the columns of the batch table. With --decode, records of Kafka's own topics have
    "decoded", an object with the decoded "key" and "value".

    Keys and values are text, JSON where the text is a JSON object or array, what the decoder of a
    topic of Kafka's own says, or what a schema of the topic _schemas in the same directories says.
    All other bytes are hex: 0x00ff in text, {"bytes": "00ff"} in JSON. --key-format and
    --value-format overrule that; hex is bare hex for all. On a terminal, a record is one line,
    shortened to the width.

    With -f, keys and values are the stored bytes; on a terminal, signs that control it are escaped.

    Damaged batches are left out and reported on stderr; `verify` explains them.

    Exit codes: 0 done, 2 with --strict: data was left out. A file without a batch is not a log: 3.
    """
    selection = select_records(**choice)
    is_chosen = any(choice[name] is not None for name in ("since", "until")) or any(
        each is not None for each in selection.offsets
    )
    if latest and newest is not None:
        raise click.UsageError("--latest and --newest choose records in two ways: give one")
    if latest and selection.everything:
        raise click.UsageError("--latest asks for one record of each key, --everything for all")
    if line is not None or newest is not None or latest:
        batches = False
    is_text = (form or ("jsonl" if as_json or not is_terminal() else "text")) == "text"
    with_batches = is_text if batches is None else batches
    limit = selection.limit
    reading = Reading(
        replace(selection, limit=None),
        include_control=control,
        all_batches=with_batches,
        quiet=is_terminal(),
        latest=latest,
        limit=selection.limit,
        options=json_lines.EVERYTHING if records else 0,
    )
    if line is not None:
        lines = _formatted(line, show_values=show_values)
    elif is_text:
        look = look_at(selection, key_format, value_format, show_values=show_values, full=full)
        lines = _text(
            look,
            with_segments=newest is None,
            with_batches=with_batches,
            with_records=records,
        )
    else:
        shown = shown_as_json(selection, key_format, value_format, show_values=show_values)
        lines = _json(shown, with_batches=with_batches, with_records=records, decode=decode)
    if newest is None:
        _print(reading, lines, limit)
    else:
        reading = _print_newest(reading, lines, newest if limit is None else min(newest, limit))
    reading.tell_not_searched()
    if records:
        if is_chosen and newest is None and not reading.wanted_count:
            note("no record has these offsets and times")
        reading.tell_uncommitted()
    return _DAMAGED if reading.tell_findings() and strict else 0


def _print(reading: Reading, lines: Lines, limit: int | None) -> None:
    """Write lines until the limit is reached."""
    out = sys.stdout.buffer
    left = limit
    if left == 0:
        return
    for part in reading:
        runs = runs_of(part.keep)
        if left is not None:
            kept = json_lines.first_records(runs, left)
            left -= sum(end - first for first, end in kept)
            if left == 0:  # batches after the last record are beyond the limit, too
                last = part.batch_rows["position"][part.columns.batch[kept[-1][1] - 1]]
                part = part._replace(rows=part.rows[part.rows["position"] <= last])  # noqa: PLW2901
            runs = kept
        out.writelines(map(_encoded, lines(part, runs)))
        if left == 0:
            break
    else:
        reading.require_batches()
    out.flush()
    sys.stdout.flush()


def _encoded(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode()


def _formatted(text: str, *, show_values: bool) -> Lines:
    """Return the function that writes records as a format string says.

    Raises:
        UsageError: the string has an unknown letter, or prints what is to be hidden.
    """
    if not show_values and (asked := _PRINTS_VALUES.search(text)):
        raise click.UsageError(f"-f prints {asked[0]}, but values are hidden: add --show-values")
    try:
        write = line_format(text, is_safe=is_terminal())
    except ValueError as error:
        raise click.UsageError(str(error)) from None

    def lines(part: SelectedBatches, runs: Runs) -> Iterator[bytes]:
        where = part.partition.topic, part.partition.partition
        for first, end in runs:
            for at in range(first, end):
                yield write(part.columns, at, where)

    return lines


def _print_newest(reading: Reading, lines: Lines, count: int) -> Reading:
    """Write the last records of each partition, the last one first; return the last reading.

    Reads backwards from the end of each log, in windows that grow until they hold enough.
    """
    last = reading
    for partition in reading.selection.partitions:
        low, high = offset_range(reading.selection.offsets, partition)
        end = min(high, partition.log_end_offset)
        start = max(low, 0)
        window = count
        while True:
            begin = max(start, end - window)
            chosen = replace(reading.selection, partitions=[partition], offsets=(begin, end))
            last = replace(reading, selection=chosen, findings=[])
            kept: deque[bytes] = deque(maxlen=count)
            for part in last:
                for first, stop in runs_of(part.keep):
                    for at in range(first, stop):
                        kept.append(b"".join(map(_encoded, lines(part, [(at, at + 1)]))))
            if len(kept) == count or begin == start:
                break
            window *= 8
        sys.stdout.buffer.writelines(reversed(kept))
    sys.stdout.buffer.flush()
    return last


def _by_batch(part: SelectedBatches, runs: Runs) -> Iterator[tuple[Any, Runs]]:
    """Yield each batch of a part with the runs of its records that are wanted."""
    batch = part.columns.batch
    numbers = np.flatnonzero(np.isin(part.batch_rows["position"], part.rows["position"]))
    firsts = np.searchsorted(batch, numbers, side="left").tolist()
    ends = np.searchsorted(batch, numbers, side="right").tolist()
    at = 0
    for row, first, end in zip(part.rows, firsts, ends, strict=True):
        while at < len(runs) and runs[at][1] <= first:
            at += 1
        mine = []
        number = at
        while number < len(runs) and runs[number][0] < end:
            mine.append((max(runs[number][0], first), min(runs[number][1], end)))
            number += 1
        yield row, mine


def _json(
    shown: Callable[[str], json_lines.Shown],
    *,
    with_batches: bool,
    with_records: bool,
    decode: bool,
) -> Lines:
    """Return the function that turns a part into JSON lines."""

    def lines(part: SelectedBatches, runs: Runs) -> Iterator[str]:
        where = (part.partition.topic, part.partition.partition)
        decoder = decoder_for(where[0]) if decode else None
        columns, rows = part.columns, part.batch_rows
        paint = line_painter()
        write = partial(json_lines.record_lines, decoder=decoder, shown=shown(where[0]))
        if not with_batches:
            if with_records:
                yield from map(paint, write(columns, rows, runs, where))
            return
        texts = json_lines.batch_lines(part.rows, *where, part.read.segment.base_offset)
        for text, (_, mine) in zip(texts, _by_batch(part, runs), strict=True):
            yield paint(text + "\n")
            if with_records and mine:
                yield from map(paint, write(columns, rows, mine, where))

    return lines


def _text(look: Look, *, with_segments: bool, with_batches: bool, with_records: bool) -> Lines:
    """Return the function that turns a part into lines for people."""
    shown: set[str] = set()
    known: dict[str, Transactions] = {}

    def lines(part: SelectedBatches, runs: Runs) -> Iterator[str]:
        segment = part.read.segment
        if with_segments and segment.path not in shown and len(part.rows):
            shown.add(segment.path)
            line = text_lines.segment_line(part.partition.name, segment.path, segment.size, look)
            yield line + "\n"
        fates = np.zeros(len(part.rows), np.int8)
        if with_batches and (part.rows["is_transactional"] & ~part.rows["is_control"]).any():
            if part.partition.path not in known:
                known[part.partition.path] = read_transactions(part.partition)
            fates = known[part.partition.path].fates(part.rows)
        huge = are_huge(part.columns) if with_records else []
        make = text_lines.RecordLines(part.partition.topic, look).line
        for fate, (row, mine) in zip(fates.tolist(), _by_batch(part, runs), strict=True):
            if with_batches:
                yield text_lines.batch_line(row, fate, look) + "\n"
            if not with_records:
                continue
            is_control = bool(row["is_control"])
            for first, end in mine:
                for at in range(first, end):
                    yield from make(part.columns, at, is_control=is_control, is_huge=huge[at])
                    yield "\n"

    return lines
