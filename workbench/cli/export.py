"""`kafka-workbench export`: records to a Parquet, CSV or JSON lines file.

The file appears under its name only when it is complete, and memory does not grow with its size.
"""

import base64
import contextlib
import json
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, Final

import click

from workbench.cli import json_lines
from workbench.cli.command import Command, Selection, chooses_records, select_records
from workbench.cli.output import note, plural, print_json, size_text
from workbench.cli.progress import progress
from workbench.cli.reading import Reading
from workbench.loaders.schemas import RECORD_FIELDS, SCAN_FIELDS

FORMATS: Final = ("parquet", "csv", "jsonl")
_SUFFIXES: Final = {".parquet": "parquet", ".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl"}
_STDOUT: Final = "-"
_DAMAGED: Final = 2


@click.command("export", cls=Command, short_help="Write records to Parquet, CSV or JSON lines.")
@chooses_records
@click.option(
    "--to",
    "target",
    required=True,
    metavar="FILE",
    help="Where to; - is stdout (not for Parquet).",
)
@click.option("--format", "form", type=click.Choice(FORMATS), help="Default: what FILE ends in.")
@click.option(
    "--columns",
    metavar="A,B,…",
    help="parquet, csv: columns to write, out of those of a scan; default those of a record.",
)
@click.option("--control", is_flag=True, help="Write control records, too.")
@click.option(
    "--text",
    type=click.Choice(["utf8", "hex", "base64"]),
    default="utf8",
    help="csv: how keys, values and headers are written.",
)
@click.option("--compression", default="zstd", help="parquet: zstd, snappy, gzip, lz4, none.")
@click.option("--overwrite", is_flag=True, help="Replace a file that is already there.")
@click.option("--strict", is_flag=True, help="Exit with 2 when something damaged was left out.")
@click.option("--json", "as_json", is_flag=True, help="Print a summary as JSON.")
def command(
    *,
    target: str,
    form: str | None,
    columns: str | None,
    control: bool,
    text: str,
    compression: str,
    overwrite: bool,
    strict: bool,
    as_json: bool,
    **choice: Any,
) -> int:
    r"""Write the records of log directories, partitions or files to one file, in log order.

    Parquet keeps keys and values as bytes and null apart from empty. CSV writes null as nothing and
    an empty string as "" (text that is not UTF-8 with \xNN). JSON lines are those of dump.
    """
    form = form or _SUFFIXES.get(Path(target).suffix.lower())
    if form is None:
        raise click.UsageError(
            f"--format is needed: {target!r} does not end in .parquet, .csv, .jsonl"
        )
    if target == _STDOUT and (form == "parquet" or as_json):
        raise click.UsageError("stdout takes csv and jsonl, without --json")
    if target != _STDOUT and os.path.exists(target) and not overwrite:
        raise click.UsageError(f"{target} is already there; --overwrite replaces it")
    if columns is not None and form == "jsonl":
        raise click.UsageError("--columns goes with parquet and csv")
    selection = select_records(**choice)
    if form == "jsonl":
        count, findings = _to_json_lines(selection, target, include_control=control)
    else:
        names = [name.strip() for name in columns.split(",")] if columns else list(RECORD_FIELDS)
        write = _to_parquet(compression) if form == "parquet" else _to_csv(text)
        count, findings = _to_table(selection, names, target, write, include_control=control)
    if as_json:
        size = os.path.getsize(target)
        print_json(
            {
                "path": target,
                "format": form,
                "records": count,
                "size": size,
                "findings": [finding.as_dict() for finding in findings],
            }
        )
    elif target != _STDOUT:
        note(f"{plural(count, 'record')} in {target}, {size_text(os.path.getsize(target))}")
    if findings:
        note(f"{plural(len(findings), 'damaged place')} left out; the first: {findings[0]}")
    return _DAMAGED if findings and strict else 0


@contextlib.contextmanager
def _whole_file(target: str) -> Iterator[IO[bytes]]:
    """Open a file that gets its name when all is written; on an error it is removed."""
    if target == _STDOUT:
        yield sys.stdout.buffer
        sys.stdout.flush()
        return
    unfinished = f"{target}.unfinished"
    try:
        with open(unfinished, "wb") as file:
            yield file
        os.replace(unfinished, target)
    finally:
        if os.path.exists(unfinished):
            os.unlink(unfinished)


def _to_json_lines(
    selection: Selection, target: str, *, include_control: bool
) -> tuple[int, list[Any]]:
    """Write JSON lines; return how many records and what was left out."""
    reading = Reading(selection, include_control=include_control)
    count = 0
    left = selection.limit
    with _whole_file(target) as file:
        for part in reading if left != 0 else ():
            runs = json_lines.runs_of(part.keep)
            if left is not None:
                runs = json_lines.first_records(runs, left - count)
            where = (part.partition.topic, part.partition.partition)
            for text in json_lines.record_lines(part.columns, part.batch_rows, runs, where):
                file.write(text.encode())
            count += sum(end - first for first, end in runs)
            if count == left:
                break
    return count, reading.findings


Writer = Callable[[Any, Iterator[Any], IO[bytes]], None]


def _to_table(
    selection: Selection, names: list[str], target: str, write: Writer, *, include_control: bool
) -> tuple[int, list[Any]]:
    """Write Arrow batches; return how many records and what was left out."""
    from workbench.inspection.listing import Listing
    from workbench.loaders.scan import CorruptDataWarning, Scan

    for name in names:
        if name not in SCAN_FIELDS:
            raise click.UsageError(f"there is no column {name}; there are {', '.join(SCAN_FIELDS)}")
    chosen = {partition.path: partition for partition in selection.partitions}
    scan = Scan(
        Listing((), chosen),
        offsets=selection.offsets,
        timestamps=selection.times,
        columns=names,
        isolation_level=selection.isolation_level,
        limit=selection.limit,
        include_control=include_control,
        check_crc=selection.check_crc,
    )
    scan.partitions = selection.partitions  # also of folders that a scan of a directory passes over
    count = 0

    def counted() -> Iterator[Any]:
        nonlocal count
        total = sum(partition.size for partition in selection.partitions)
        with progress("exporting", total) as meter:
            for batch in scan.batches():
                yield batch
                count += batch.num_rows
                meter.advance(batch.nbytes)

    with warnings.catch_warnings(), _whole_file(target) as file:
        warnings.simplefilter("ignore", CorruptDataWarning)  # told at the end, in one line
        write(scan.schema, counted(), file)
    return count, scan.findings


def _to_parquet(compression: str) -> Writer:
    def write(schema: Any, batches: Iterator[Any], file: IO[bytes]) -> None:
        import pyarrow.parquet as pq

        with pq.ParquetWriter(file, schema, compression=compression) as writer:
            for batch in batches:
                writer.write_batch(batch)

    return write


def _to_csv(text: str) -> Writer:
    """Return the function that writes CSV as RFC 4180 says: null is nothing, empty is ``""``."""

    def write(schema: Any, batches: Iterator[Any], file: IO[bytes]) -> None:
        import pyarrow as pa
        from pyarrow import csv

        kept = {field.name: field for field in schema}
        shown = pa.schema(
            [pa.field(n, pa.large_string()) if n in _BINARY else kept[n] for n in schema.names]
        )
        with csv.CSVWriter(file, shown) as writer:
            for batch in batches:
                arrays = [
                    _as_text(name, column, text) if name in _BINARY else column
                    for name, column in zip(schema.names, batch.columns, strict=True)
                ]
                writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=shown))

    return write


_BINARY: Final = frozenset({"key", "value", "headers"})


def _as_text(name: str, column: Any, form: str) -> Any:
    """Return keys, values or headers as an Arrow array of strings."""
    import pyarrow as pa

    if name != "headers" and form == "utf8":
        with contextlib.suppress(pa.ArrowInvalid):  # some are not UTF-8: one at a time, then
            return column.cast(pa.large_string())
    show = _SHOWN[form]

    def shown(value: bytes | None) -> str | None:
        return None if value is None else show(value)

    if name == "headers":
        texts: list[str | None] = [
            json.dumps([[header["key"], shown(header["value"])] for header in row])
            for row in column.to_pylist()
        ]
    else:
        texts = [shown(value) for value in column.to_pylist()]
    return pa.array(texts, pa.large_string())


_SHOWN: Final[dict[str, Callable[[bytes], str]]] = {
    "utf8": lambda data: data.decode("utf-8", "backslashreplace"),
    "hex": bytes.hex,
    "base64": lambda data: base64.b64encode(data).decode(),
}
"""How --text writes bytes."""
