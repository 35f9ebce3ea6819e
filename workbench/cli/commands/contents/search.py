"""`kafka-workbench search`: records whose key, value or header matches, in whole logs.

If a search finds nothing, no record that can be read matches: it does not sample, and it has no
limit unless one is given.
"""

import os
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Final

import click
import numpy as np
import numpy.typing as npt

from workbench.cli.colors import line_painter
from workbench.cli.command import (
    Command,
    Selection,
    chooses_records,
    chosen_tier,
    select_records,
    takes_workers,
)
from workbench.cli.output import is_terminal, note, print_json
from workbench.cli.reading import Reading, SelectedBatches
from workbench.cli.show import text_lines
from workbench.cli.show.decoded_text import (
    SHOWN_KEYS,
    decoders_of,
    key_format,
    look_at,
    shown_as_json,
    value_format,
)
from workbench.cli.show.hiding import takes_values
from workbench.cli.show.text_lines import Look
from workbench.cli.show.value_text import Formats
from workbench.cli.words import is_path, path_first
from workbench.errors import QueryError
from workbench.layout.rows import runs_of
from workbench.loaders.exports import json_lines
from workbench.loaders.exports.pieces import are_huge
from workbench.loaders.queries.conditions import AnyOf, Condition, Holds, HoldsHeader, IsNull, Not
from workbench.loaders.queries.patterns import Pattern, literal, regular_expression
from workbench.loaders.queries.query import Query, all_of, parse
from workbench.loaders.queries.ranges import EVERYTHING, HIGHEST, LOWEST, common
from workbench.loaders.scan.segment_batches import columns_of
from workbench.runtime.words import plural, safe
from workbench.runtime.workers import worker_count

Mask = npt.NDArray[np.bool_]

_ASKS_SIZE: Final = re.compile(r"(?<![\w.$:])size\s*[<>=]")

Printer = Callable[[SelectedBatches, Mask], None]

NOT_FOUND: Final = 1

_TOMBSTONES: Final[list[Condition]] = [IsNull("value"), Not(IsNull("key"))]


def _pattern(text: str, *, is_literal: bool, as_hex: bool, ignores_case: bool) -> Pattern:
    """Return what an argument finds.

    Raises:
        UsageError: it is not a regular expression, or not hex.
    """
    if as_hex:
        try:
            return literal(bytes.fromhex(text))
        except ValueError:
            raise click.UsageError(f"{text!r} is not hex: two digits per byte") from None
    if is_literal:
        return literal(text.encode("utf-8", "surrogateescape"), ignores_case=ignores_case)
    try:
        return regular_expression(text, ignores_case=ignores_case)
    except QueryError as error:
        raise click.UsageError(str(error)) from None


def _header(text: str, pattern: Callable[[str], Pattern]) -> Condition:
    name, equals, rest = text.partition("=")
    return HoldsHeader(name.encode(), pattern(rest) if equals else None)


def _anywhere(pattern: Pattern) -> Condition:
    return AnyOf((Holds("key", pattern), Holds("value", pattern), HoldsHeader(None, pattern)))


@click.command("search", cls=Command)
@chooses_records
@click.option("--key", "-k", metavar="PATTERN", help="Only records with a matching key.")
@click.option("--value", metavar="PATTERN", help="Only records with a matching value.")
@click.option(
    "--header",
    "-H",
    "headers",
    multiple=True,
    metavar="NAME[=PATTERN]",
    help="Only records with this header, and a matching value; repeatable.",
)
@click.option(
    "--where",
    "-w",
    metavar="QUERY",
    help="Only records that meet a query, as PATTERN: 'key:id-7 $.amount > 100 not test'.",
)
@click.option("--tombstones", is_flag=True, help="Only records with a key and a null value.")
@click.option(
    "--literal",
    "-F",
    "literal_text",
    is_flag=True,
    help="Read PATTERN as plain text, not as a query or regular expression.",
)
@click.option("--hex", "-x", "as_hex", is_flag=True, help="Read PATTERN as bytes in hex.")
@click.option("--ignore-case", "-i", is_flag=True, help="Ignore case (ASCII only).")
@click.option("--count", "-c", is_flag=True, help="Print only the number of matches.")
@takes_values
@click.option("--wide", "-v", is_flag=True, help="Do not shorten lines.")
@key_format(SHOWN_KEYS)
@value_format("The format of values.")
@takes_workers
@click.option("--json", "as_json", is_flag=True, help="Print JSON lines, as dump does.")
def command(
    *,
    key: str | None,
    value: str | None,
    headers: tuple[str, ...],
    where: str | None,
    tombstones: bool,
    literal_text: bool,
    as_hex: bool,
    ignore_case: bool,
    count: bool,
    show_values: bool,
    wide: bool,
    key_format: Formats,
    value_format: Formats,
    workers: int | None,
    as_json: bool,
    **choice: Any,
) -> int:
    r"""Print the records that match every condition.

    search DIR PATTERN takes a query, as --where, widgets and Python do: words to find in the key,
    the value or a header, 'key=id-7', '$.amount > 100', 'header.trace:7', '/^id-\\d+$/',
    'size > 1000', and, or, not, parentheses. Without another condition, the last or first of
    several PATHs is a PATTERN if no file or folder has that name. docs/queries.md has every form.

    The PATTERN of --key, --value and --header is a regular expression over bytes, found anywhere:
    'a.*b', '^id-7$', '\\x00\\x01'. With --literal a PATTERN is text, with --hex bytes. Null matches
    no pattern; an empty one matches everything else.

    A range needs no pattern: search PATH --since 2026-03-01 --until 2026-03-02.

    What was not looked at, such as a folder that is marked for deletion, is named on stderr;
    --everything includes it.

    Exit codes: 0 found, 1 nothing found. A file without a batch is not a log: 3.
    """
    if literal_text and as_hex:
        raise click.UsageError("--literal and --hex exclude each other")
    pattern = partial(_pattern, is_literal=literal_text, as_hex=as_hex, ignores_case=ignore_case)
    conditions = [_header(text, pattern) for text in headers]
    conditions += [] if key is None else [Holds("key", pattern(key))]
    conditions += [] if value is None else [Holds("value", pattern(value))]
    conditions += _TOMBSTONES if tombstones else []
    asked = [_parsed("--where", where or "", ignores_case=ignore_case)]
    either = None
    if not conditions and where is None:
        choice["paths"], either = _last_pattern(choice["paths"])
    if either is not None and (literal_text or as_hex):
        conditions.append(_anywhere(pattern(either)))
    elif either is not None:
        asked.append(_parsed("PATTERN", either, ignores_case=ignore_case))
    selection = select_records(**choice, include_internal=True)
    query = all_of(asked, conditions)
    if query.asks_invalid:
        query = query.with_decoders(decoders_of(selection, key_format, value_format))
    selection = _narrowed(selection, query)
    reading = Reading(
        replace(selection, limit=None),
        workers=worker_count(workers),
        query=query.text,
    )
    printer: Printer = _TextPrinter(
        look_at(selection, key_format, value_format, show_values=show_values, full=wide)
    )
    if as_json:
        shown = shown_as_json(selection, key_format, value_format, show_values=show_values)
        printer = _JsonPrinter(selection, shown)
    found = _search(reading, query, selection.limit, None if count else printer)
    _tell(found, reading, either, is_count=count, as_json=as_json)
    if _ASKS_SIZE.search(query.text):
        note(
            "size is of a record's key and value; of a batch, as max.message.bytes limits it: "
            'sql DIR "select topic, partition, base_offset, size from batches where size > N"'
        )
    return 0 if found else NOT_FOUND


def _tell(
    found: int, reading: Reading, either: str | None, *, is_count: bool, as_json: bool
) -> None:
    """Report how many records were found, and what was not searched."""
    if is_count and as_json:
        left = [each.as_dict() for each in reading.not_searched]
        print_json({"count": found, "not_searched": left})
    elif is_count:
        click.echo(str(found))
    elif not as_json:
        what = "" if either is None else f" for {either!r}"
        note(f"{plural(found, 'record')} found{what}")
    reading.tell_findings()
    reading.tell_not_searched()


def _parsed(name: str, text: str, *, ignores_case: bool) -> Query:
    try:
        return parse(text, ignores_case=ignores_case)
    except QueryError as error:
        raise click.UsageError(f"{name}: {error}") from None


def _narrowed(selection: Selection, where: Query) -> Selection:
    """Return the selection without what a query excludes by its ranges."""
    first, end = selection.offsets
    offsets = (LOWEST if first is None else first, HIGHEST if end is None else end)
    known = list(selection.listing.partitions.values())
    return replace(
        selection,
        partitions=where.admitted(selection.partitions, known),
        meant=tuple(where.admitted(selection.meant, known)),
        offsets=selection.offsets
        if where.offsets == EVERYTHING
        else common(offsets, where.offsets),
        times=common(selection.times, where.times),
    )


def _last_pattern(paths: tuple[str, ...]) -> tuple[tuple[str, ...], str | None]:
    """Return the paths and the pattern: the last or first of several paths, if it is missing."""
    if not paths:  # a remote tier is read alone
        return paths, None
    *before, last = path_first(paths)
    if is_path(last) or not (before or chosen_tier()["remote"]):
        return paths, None
    return tuple(before), last


def _search(
    reading: Reading,
    query: Query,
    limit: int | None,
    printer: Printer | None,
) -> int:
    """Print the matches and return their number, at most ``limit``."""
    found = 0
    if limit == 0:
        return 0
    for part in reading:
        columns = columns_of(part.columns, part.batch_rows, part.read)
        mask = query.mask(columns, part.keep)
        reading.unread += len(columns.unread)
        if limit is not None:
            places = np.flatnonzero(mask)
            mask[places[limit - found :]] = False
        count = int(mask.sum())
        found += count
        if count and printer is not None:
            if is_terminal():
                reading.hide_progress()
            printer(part, mask)
        if found == limit:
            break
    else:
        reading.require_batches()
    return found


class _JsonPrinter:
    """Prints matches as JSON lines; with --everything, with the file of each."""

    def __init__(self, selection: Selection, shown: Callable[[str], json_lines.Shown]) -> None:
        self._names_files = selection.everything
        self._shown = shown

    def __call__(self, part: SelectedBatches, mask: Mask) -> None:
        where = (part.partition.topic, part.partition.partition)
        file = part.read.segment.path if self._names_files else ""
        paint = line_painter()
        for text in json_lines.record_lines(
            part.columns,
            part.batch_rows,
            runs_of(mask),
            where,
            shown=self._shown(where[0]),
            file=file,
        ):
            sys.stdout.write(paint(text))


class _TextPrinter:
    """Prints matches below the name of their partition."""

    def __init__(self, look: Look) -> None:
        self._look = look
        self._title = ""

    def __call__(self, part: SelectedBatches, mask: Mask) -> None:
        name, file = part.partition.name, part.read.segment.path
        title = name if file.endswith(".log") else f"{name} {os.path.basename(file)}"
        if title != self._title:
            self._title = title
            click.echo(self._look.style(safe(title), bold=True))
        huge = are_huge(part.columns)
        line = text_lines.RecordLines(part.partition.topic, self._look).line
        for index in np.flatnonzero(mask).tolist():
            text = line(part.columns, index, is_control=False, is_huge=huge[index])
            sys.stdout.writelines(text)
            sys.stdout.write("\n")
