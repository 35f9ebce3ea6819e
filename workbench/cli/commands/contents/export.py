"""`kafka-workbench export`: records to a Parquet, CSV or JSON lines file.

The file appears under its name only when it is complete, and memory does not grow with its size.
"""

import contextlib
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, Final, get_args

import click

from workbench.cli.command import (
    Command,
    Selection,
    chooses_records,
    chosen_tier,
    includes_internal,
    is_strict_with_values,
    overwrites,
    select_records,
    takes_workers,
)
from workbench.cli.output import STDOUT, is_terminal, note, print_json
from workbench.cli.progress import progress
from workbench.cli.reading import Reading, tell_uncommitted
from workbench.cli.show.decoded_text import asked_formats, key_format, shown_as_json, value_format
from workbench.cli.show.value_text import Formats
from workbench.errors import CorruptDataWarning, UncommittedRecordsWarning
from workbench.file_system.outputs import new_file
from workbench.layout.rows import runs_of
from workbench.loaders.exports import json_lines
from workbench.loaders.exports.csv_file import TextForm, write_csv
from workbench.loaders.exports.export import FORMATS, SUFFIXES
from workbench.loaders.exports.parquet_file import write_parquet
from workbench.loaders.scan.not_searched import summary
from workbench.loaders.scan.plan import input_paths
from workbench.loaders.scan.reading import losses
from workbench.loaders.scan.scan import Scan
from workbench.loaders.schemas import RECORD_FIELDS
from workbench.runtime.words import plural, safe, size_text
from workbench.runtime.workers import worker_count
from workbench.values.masking import Masks

_DAMAGED: Final = 2


@click.command("export", cls=Command)
@chooses_records
@includes_internal
@click.option(
    "--to",
    "--output",
    "-o",
    "target",
    metavar="FILE",
    help="Write to FILE; - is stdout, by default JSON lines. Default: FILE is the last PATH.",
)
@click.option("--format", "form", type=click.Choice(FORMATS), help="Default: the ending of FILE.")
@click.option(
    "--columns",
    metavar="A,B,…",
    help="parquet, csv: columns of a scan to write, or $.FIELD of JSON values; default: those of a "
    "record.",
)
@key_format("Decode keys, as utf8, avro or avro:FILE. Default: bytes.")
@value_format("Decode values.")
@click.option(
    "--mask",
    type=click.Path(),
    metavar="FILE",
    help="parquet, csv: keep private data out. Each line of FILE is TOPIC PATH drop, TOPIC PATH "
    "hash or TOPIC PATH first N, as in: orders value.email hash. A rule about a field needs "
    "--value-format, such as json.",
)
@click.option("--control", is_flag=True, help="Also write control records.")
@click.option(
    "--text",
    type=click.Choice(get_args(TextForm)),
    default="utf8",
    help="csv: the format of keys, values and headers.",
)
@click.option(
    "--escape-formulas/--no-escape-formulas",
    default=True,
    help="csv: put an apostrophe before text that begins with = + - @, tab or CR (the default), "
    "because a spreadsheet would run it as a formula, and records come from anywhere. Numbers do "
    "not change.",
)
@click.option("--compression", default="zstd", help="parquet: zstd, snappy, gzip, lz4, none.")
@overwrites
@takes_workers
@is_strict_with_values
@click.option("--json", "as_json", is_flag=True, help="Print a summary as JSON.")
def command(
    *,
    target: str | None,
    form: str | None,
    columns: str | None,
    key_format: Formats,
    value_format: Formats,
    mask: str | None,
    control: bool,
    text: TextForm,
    escape_formulas: bool,
    compression: str,
    overwrite: bool,
    workers: int | None,
    strict: bool,
    as_json: bool,
    **choice: Any,
) -> int:
    r"""Write the records of log directories, partitions or files to one file, in log order.

    Parquet stores keys and values as bytes, and distinguishes null from empty. CSV writes null as
    nothing, an empty string as "", and bytes that are not UTF-8 as \xNN. JSON lines are as in dump.

    FILE appears under its name when it is complete. It must not be in a directory that is read.

    Examples: export DIR records.parquet; export DIR -t orders --to - --format csv

    Exit codes: 0 done, 2 with --strict: data was left out.
    """
    if target is None:
        *paths, target = choice["paths"]
        if not paths and chosen_tier()["remote"] is None:
            raise click.UsageError(
                "FILE is missing: give the file to write, as in export PATH FILE"
            )
        choice["paths"] = tuple(paths)
    form = _checked_format(form, target, columns, overwrite=overwrite, as_json=as_json)
    values = _values(form, key_format, value_format, mask)
    selection = select_records(**choice)
    if form == "jsonl":
        with _whole_file(target, selection, overwrite=overwrite) as file:
            shown = shown_as_json(selection, key_format, value_format)
            count, lost, findings = _to_json_lines(
                selection, file, shown, include_control=control, workers=workers
            )
    else:
        names = [name.strip() for name in columns.split(",")] if columns else list(RECORD_FIELDS)
        if form == "parquet":
            write = _to_parquet(compression, worker_count(workers))
            workers = 1  # that read: encoding takes several times as long
        else:
            write = _to_csv(text, escapes=escape_formulas, shown=target == STDOUT)
        with _whole_file(target, selection, overwrite=overwrite) as file:
            scan = _scan(selection, names, values, include_control=control, workers=workers)
            count, lost, findings = _to_table(scan, selection, file, write)
    if as_json:
        size = os.path.getsize(target)
        print_json(
            {
                "path": target,
                "format": form,
                "records": count,
                "size": size,
                "findings": [finding.as_dict() for finding in findings],
                "not_searched": [each.as_dict() for each in selection.left_out],
            }
        )
    elif target != STDOUT:
        note(f"{plural(count, 'record')} in {target}, {size_text(os.path.getsize(target))}")
    _tell_left_out(selection, lost)
    return _DAMAGED if findings and strict else 0


def _tell_left_out(selection: Selection, lost: str) -> None:
    """Report on stderr what is not in the file."""
    if lost:
        note(lost)
    if text := summary(selection.left_out, "--everything"):
        note(text)


def _values(
    form: str, key_format: Formats, value_format: Formats, mask: str | None
) -> tuple[dict[str, dict[str, str]], Masks]:
    """Return what to decode, and the masks.

    Raises:
        SchemaError: a mask has no meaning.
        UsageError: the format does not accept them.
    """
    decode = asked_formats({"key": key_format, "value": value_format})
    if form == "jsonl" and mask is not None:
        raise click.UsageError("--mask needs parquet or csv")
    return decode, Masks.of(None if mask is None else Path(mask))


def _checked_format(
    form: str | None, target: str, columns: str | None, *, overwrite: bool, as_json: bool
) -> str:
    """Return one of `FORMATS`.

    Raises:
        UsageError: the format is unknown, or the target does not accept it.
    """
    ending = SUFFIXES.get(Path(target).suffix.lower())
    form = form or ("jsonl" if target == STDOUT else ending)
    if form is None:
        raise click.UsageError(
            f"--format is needed: {target!r} does not end in .parquet, .csv, .jsonl, .json"
        )
    if target == STDOUT and (form == "parquet" or as_json):
        raise click.UsageError("stdout accepts csv and jsonl, without --json")
    if target != STDOUT and os.path.lexists(target) and not overwrite:
        raise click.UsageError(f"{target} is already there; --overwrite replaces it")
    if columns is not None and form == "jsonl":
        raise click.UsageError("--columns applies only to parquet and csv")
    return form


@contextlib.contextmanager
def _whole_file(target: str, selection: Selection, *, overwrite: bool) -> Iterator[IO[bytes]]:
    """Open a file that gets its name when it is complete, or stdout."""
    if target == STDOUT:
        yield sys.stdout.buffer
        sys.stdout.flush()
        return
    with new_file(target, input_paths(selection.partitions), overwrite=overwrite) as file:
        yield file


def _to_json_lines(
    selection: Selection,
    file: IO[bytes],
    shown: Callable[[str], json_lines.Shown],
    *,
    include_control: bool,
    workers: int | None,
) -> tuple[int, str, list[Any]]:
    """Write JSON lines; return how many records, and what was left out: a sentence, findings."""
    reading = Reading(
        selection,
        include_control=include_control,
        workers=worker_count(workers),
        limit=selection.limit,
    )
    count = 0
    left = selection.limit
    for part in reading if left != 0 else ():
        runs = runs_of(part.keep)
        if left is not None:
            runs = json_lines.first_records(runs, left - count)
        where = (part.partition.topic, part.partition.partition)
        for text in json_lines.record_lines(
            part.columns, part.batch_rows, runs, where, shown=shown(where[0])
        ):
            file.write(text.encode())
        count += sum(end - first for first, end in runs)
        if count == left:
            break
    else:
        if left != 0:
            reading.require_batches()
    reading.tell_uncommitted()
    return count, losses(reading.findings, 0), reading.findings


Writer = Callable[[Any, Iterator[Any], IO[bytes]], None]


def _scan(
    selection: Selection,
    names: list[str],
    values: tuple[dict[str, dict[str, str]], Masks],
    *,
    include_control: bool,
    workers: int | None,
) -> Scan:
    """Return the scan of a selection, decoded and masked."""
    scan = Scan(
        selection.listing,
        decode=values[0],
        mask=values[1],
        offsets=selection.offsets,
        timestamps=selection.times,
        columns=names,
        isolation_level=selection.isolation_level,
        limit=selection.limit,
        include_control=include_control,
        rescue=selection.rescue,
        workers=workers,
        everything=selection.everything,
    )
    scan.partitions = selection.partitions  # even of folders that a scan of a directory skips
    return scan


def _to_table(
    scan: Scan, selection: Selection, file: IO[bytes], write: Writer
) -> tuple[int, str, list[Any]]:
    """Write Arrow batches; return how many records, and what was left out, as with lines."""
    count = 0

    def counted() -> Iterator[Any]:
        nonlocal count
        total = sum(partition.size for partition in selection.partitions)
        with progress("exporting", total) as meter:
            for batch in scan.batches():
                yield batch
                count += batch.num_rows
                meter.advance(batch.nbytes)

    with warnings.catch_warnings():
        for each in (CorruptDataWarning, UncommittedRecordsWarning):
            warnings.simplefilter("ignore", each)  # reported at the end, in one line
        write(scan.schema, counted(), file)
    if not count and selection.limit != 0:  # look again: no records, or not a log
        reading = Reading(selection, options=0)
        for _ in reading:
            pass
        reading.require_batches()
    tell_uncommitted(scan.last_reading.uncommitted())
    return count, scan.last_reading.losses(), scan.findings


def _to_parquet(compression: str, workers: int) -> Writer:
    def write(schema: Any, batches: Iterator[Any], file: IO[bytes]) -> None:
        write_parquet(batches, schema, file, compression, workers=workers)

    return write


def _to_csv(text: TextForm, *, escapes: bool, shown: bool) -> Writer:
    """Return the function that writes CSV.

    Args:
        text: how keys, values and headers are written.
        escapes: put an apostrophe before what a spreadsheet would run.
        shown: whether the output may be a terminal, which must not obey the text.
    """
    clean = safe if shown and is_terminal() else None

    def write(schema: Any, batches: Iterator[Any], file: IO[bytes]) -> None:
        write_csv(batches, schema, file, text=text, escapes=escapes, clean=clean)

    return write
