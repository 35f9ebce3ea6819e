"""`kafka-workbench search`: records whose key, value or header matches, in whole logs.

If a search finds nothing, no record that can be read matches: it does not sample, and it has no
limit unless one is given.
"""

import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Final

import click
import numpy as np
import numpy.typing as npt

from workbench.cli.command import Command, Selection, chooses_records, select_records, takes_workers
from workbench.cli.output import is_terminal, note
from workbench.cli.reading import Part, Reading
from workbench.cli.show import text_lines
from workbench.cli.show.decoded_text import decoders, key_format, value_format
from workbench.cli.show.text_lines import Look
from workbench.errors import QueryError
from workbench.layout.rows import runs_of
from workbench.loaders.exports import json_lines
from workbench.loaders.exports.pieces import are_huge
from workbench.loaders.queries import query as queries
from workbench.loaders.queries.ranges import EVERYTHING, HIGHEST, LOWEST, common
from workbench.loaders.scan import arrow
from workbench.record.columns import BinaryColumn, HeaderColumn
from workbench.runtime.words import plural, safe
from workbench.runtime.workers import worker_count

Mask = npt.NDArray[np.bool_]

NOT_FOUND: Final = 1


@dataclass(frozen=True)
class Query:
    """The conditions that a record must meet, all of them.

    Attributes:
        key, value: the patterns; None: any.
        either: a pattern that the key or the value matches; None: any.
        headers: names and patterns of required headers; a None pattern: any value.
        is_tombstone: whether only records with a key and a null value are wanted.
        is_literal: whether the patterns are plain bytes, which are found faster.
        where: the conditions of ``--where``; its ranges are the selection's already.
    """

    key: re.Pattern[bytes] | None
    value: re.Pattern[bytes] | None
    either: re.Pattern[bytes] | None
    headers: tuple[tuple[bytes, re.Pattern[bytes] | None], ...]
    is_tombstone: bool
    is_literal: bool
    where: queries.Query = field(default_factory=queries.Query)

    def mask(self, part: Part) -> Mask:
        """Return bool[n]: which records of a part match."""
        columns, keep = part.columns, part.keep
        assert columns.keys is not None
        assert columns.values is not None
        assert columns.headers is not None
        if self.is_tombstone:
            keep = keep & columns.values.is_null() & ~columns.keys.is_null()
        find = find_literal if self.is_literal else find_pattern
        for pattern, column in ((self.key, columns.keys), (self.value, columns.values)):
            if pattern is not None:
                keep = find(pattern, column, keep)
        if self.either is not None:
            in_value = find(self.either, columns.values, keep)
            keep = find(self.either, columns.keys, keep) | in_value
        for name, pattern in self.headers:
            keep = _find_header(name, pattern, columns.headers, keep)
        place = (part.partition.topic, part.partition.partition, part.read.segment.base_offset)
        return self.where.mask(
            cache(lambda name: arrow.column(name, columns, part.batch_rows, place)), keep
        )


def find_pattern(pattern: re.Pattern[bytes], column: BinaryColumn, keep: Mask) -> Mask:
    """Return which of the items in ``keep`` hold a match; null never does."""
    found = np.zeros(len(keep), np.bool_)
    data = memoryview(column.data)
    offsets = column.offsets.tolist()
    search = pattern.search
    for index in np.flatnonzero(keep & ~column.is_null()).tolist():
        if search(data[offsets[index] : offsets[index + 1]]):
            found[index] = True
    return found


def find_literal(pattern: re.Pattern[bytes], column: BinaryColumn, keep: Mask) -> Mask:
    """Do what `find_pattern` does for plain bytes: look through all items at once."""
    found = np.zeros(len(keep), np.bool_)
    end = int(column.offsets[-1])
    data = memoryview(column.data)[:end]
    at = 0
    while (match := pattern.search(data, at)) is not None:
        first, last = match.span()
        if first == last:  # an empty pattern: everything but null matches
            return keep & ~column.is_null()
        item = int(np.searchsorted(column.offsets, first, side="right")) - 1
        at = first + 1
        if last <= column.offsets[item + 1]:  # otherwise it reaches into the next item
            found[item] = True
            at = int(column.offsets[item + 1])
    return found & keep


def _find_header(
    name: bytes, pattern: re.Pattern[bytes] | None, column: HeaderColumn, keep: Mask
) -> Mask:
    """Return which of the records in ``keep`` have a header of this name that matches."""
    found = np.zeros(len(keep), np.bool_)
    counts = np.diff(column.offsets)
    for index in np.flatnonzero(keep & (counts > 0)).tolist():
        for key, value in column.item(index):
            if key == name and (pattern is None or (value is not None and pattern.search(value))):
                found[index] = True
                break
    return found


def _compiler(*, literal: bool, as_hex: bool, ignore_case: bool) -> Callable[[str], Any]:
    """Return the function from an argument to a pattern over bytes."""
    flags = re.DOTALL | (re.IGNORECASE if ignore_case else 0)

    def compiled(text: str) -> re.Pattern[bytes]:
        if as_hex:
            try:
                return re.compile(re.escape(bytes.fromhex(text)))
            except ValueError:
                raise click.UsageError(f"{text!r} is not hex: two digits per byte") from None
        data = text.encode()
        try:
            return re.compile(re.escape(data) if literal else data, flags)
        except re.error as error:
            raise click.UsageError(f"{text!r} is not a regular expression: {error}") from None

    return compiled


@click.command("search", cls=Command, short_help="Find records by key, value, header, time.")
@chooses_records
@click.option("--key", "-k", metavar="PATTERN", help="Only records with a matching key.")
@click.option("--value", "-v", metavar="PATTERN", help="Only records with a matching value.")
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
    help="Only records that meet a query: 'key:id-7 $.amount>100 -test', as in the record browser.",
)
@click.option("--tombstones", is_flag=True, help="Only records with a key and a null value.")
@click.option(
    "--literal", "-F", is_flag=True, help="Read patterns as plain text, not regular expressions."
)
@click.option("--hex", "-x", "as_hex", is_flag=True, help="Read patterns as bytes in hex.")
@click.option("--ignore-case", "-i", is_flag=True, help="Ignore case (ASCII only).")
@click.option("--count", "-c", is_flag=True, help="Print only the number of matches.")
@click.option(
    "--show-values", is_flag=True, help="Print keys, values and headers, not their sizes."
)
@key_format("The format of keys, as utf8, avro or avro:FILE; the default is auto.")
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
    literal: bool,
    as_hex: bool,
    ignore_case: bool,
    count: bool,
    show_values: bool,
    key_format: str,
    value_format: str,
    workers: int | None,
    as_json: bool,
    **choice: Any,
) -> int:
    r"""Print the records that match every condition.

    search DIR PATTERN searches keys and values: without another condition, the last of several
    PATHs is a pattern if no file or folder has that name.

    A PATTERN is a regular expression over bytes, found anywhere in the key or value: 'a.*b',
    '^id-7$', '\x00\x01'. With --literal it is text, with --hex bytes. Null matches no pattern; an
    empty pattern matches everything else.

    A range needs no pattern: search PATH --since 2026-03-01 --until 2026-03-02.

    Exit codes: 0 found, 1 nothing found. A file without a batch is not a log: 3.
    """
    if literal and as_hex:
        raise click.UsageError("--literal and --hex exclude each other")
    either = None
    wanted = _parsed(where or "")
    if key is value is where is None and not headers and not tombstones:
        choice["paths"], either = _last_pattern(choice["paths"])
    compiled = _compiler(literal=literal, as_hex=as_hex, ignore_case=ignore_case)
    query = Query(
        key=None if key is None else compiled(key),
        value=None if value is None else compiled(value),
        either=None if either is None else compiled(either),
        headers=tuple(_header(text, compiled) for text in headers),
        is_tombstone=tombstones,
        is_literal=literal or as_hex,
        where=wanted,
    )
    selection = _narrowed(select_records(**choice), wanted)
    look = Look(
        show_values,
        key_format,
        value_format,
        is_terminal(),
        decoders=decoders(selection),
    )
    reading = Reading(
        replace(selection, limit=None),
        quiet=is_terminal() and not count,
        workers=worker_count(workers),
    )
    printer = None if count else _print_json if as_json else _TextPrinter(look)
    found = _search(reading, query, selection.limit, printer)
    if count:
        click.echo(f'{{"count": {found}}}' if as_json else str(found))
    elif not as_json:
        what = "" if either is None else f" whose key or value matches {either!r}"
        note(f"{plural(found, 'record')} found{what}")
    reading.tell_findings()
    return 0 if found else NOT_FOUND


def _parsed(text: str) -> queries.Query:
    try:
        return queries.parse(text)
    except QueryError as error:
        raise click.UsageError(f"--where: {error}") from None


def _narrowed(selection: Selection, where: queries.Query) -> Selection:
    """Return the selection without what a query excludes by its ranges."""
    first, end = selection.offsets
    offsets = (LOWEST if first is None else first, HIGHEST if end is None else end)
    numbers = where.partitions
    return replace(
        selection,
        partitions=[p for p in selection.partitions if numbers is None or p.partition in numbers],
        offsets=selection.offsets
        if where.offsets == EVERYTHING
        else common(offsets, where.offsets),
        times=common(selection.times, where.times),
    )


def _last_pattern(paths: tuple[str, ...]) -> tuple[tuple[str, ...], str | None]:
    """Return the paths and the pattern after them: the last of several paths, if it is missing."""
    *before, last = paths
    if not before or "://" in last or os.path.lexists(last):
        return paths, None
    return tuple(before), last


def _header(text: str, compiled: Callable[[str], Any]) -> tuple[bytes, Any]:
    name, equals, pattern = text.partition("=")
    return name.encode(), compiled(pattern) if equals else None


def _search(
    reading: Reading,
    query: Query,
    limit: int | None,
    printer: Callable[[Part, Mask], None] | None,
) -> int:
    """Print the matches and return their number, at most ``limit``."""
    found = 0
    if limit == 0:
        return 0
    for part in reading:
        mask = query.mask(part)
        if limit is not None:
            places = np.flatnonzero(mask)
            mask[places[limit - found :]] = False
        count = int(mask.sum())
        found += count
        if count and printer is not None:
            printer(part, mask)
        if found == limit:
            break
    else:
        reading.require_batches()
    return found


def _print_json(part: Part, mask: Mask) -> None:
    where = (part.partition.topic, part.partition.partition)
    runs = runs_of(mask)
    for text in json_lines.record_lines(part.columns, part.batch_rows, runs, where):
        sys.stdout.write(text)


class _TextPrinter:
    """Prints matches below the name of their partition."""

    def __init__(self, look: Look) -> None:
        self._look = look
        self._partition = ""

    def __call__(self, part: Part, mask: Mask) -> None:
        if part.partition.path != self._partition:
            self._partition = part.partition.path
            click.echo(self._look.style(safe(part.partition.name), bold=True))
        huge = are_huge(part.columns)
        line = text_lines.RecordLines(part.partition.topic, self._look).line
        for index in np.flatnonzero(mask).tolist():
            text = line(part.columns, index, is_control=False, is_huge=huge[index])
            sys.stdout.writelines(text)
            sys.stdout.write("\n")
