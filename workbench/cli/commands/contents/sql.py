"""`kafka-workbench sql`: a query in SQL over records, segments, groups and other tables."""

import csv
import io
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, Final, NamedTuple, get_args

import click

from workbench.cli.colors import has_color, painted
from workbench.cli.command import (
    Command,
    chosen_tier,
    is_strict_with_values,
    open_logs,
    overwrites,
    reads_remote_tier,
    takes_mask,
)
from workbench.cli.output import STDOUT, is_terminal, note, print_table
from workbench.cli.progress import ProgressMeter, progress
from workbench.cli.reading import tell_uncommitted
from workbench.cli.show.decoded_text import DECODED_KEYS, asked_formats, key_format, value_format
from workbench.cli.show.value_text import Formats
from workbench.cli.words import path_first
from workbench.errors import CorruptDataWarning, UncommittedRecordsWarning
from workbench.file_system.outputs import new_file
from workbench.inspection.transactions import IsolationLevel
from workbench.loaders.scan.not_searched import internal_topics
from workbench.runtime.words import json_text, plural, safe, size_text

FORMATS: Final = ("table", "csv", "json", "jsonl", "parquet")
_ENDINGS: Final = {"ndjson": "jsonl", **{form: form for form in FORMATS[1:]}}
_MOST_SHOWN: Final = 1000  # rows of a table in a terminal
_DAMAGED: Final = 2  # exit code with --strict


@click.command("sql", cls=Command)
@click.argument("paths", metavar="PATH... QUERY", nargs=-1, required=True, type=click.Path())
@click.option("--output", "--to", "-o", metavar="FILE", default=STDOUT, help="Write to FILE.")
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    help="Default: the ending of FILE, a table on a terminal, jsonl in a pipe.",
)
@key_format(DECODED_KEYS)
@value_format("Decode values.")
@takes_mask
@click.option(
    "--escape-formulas/--no-escape-formulas",
    default=True,
    help="In CSV, put an apostrophe before text that a spreadsheet would run.",
)
@click.option(
    "--isolation-level",
    type=click.Choice(get_args(IsolationLevel)),
    help="read_committed omits aborted records and stops at the last stable offset. Default: all "
    "records; stderr says how many are not committed.",
)
@is_strict_with_values
@overwrites
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@reads_remote_tier
def command(
    *,
    paths: tuple[str, ...],
    output: str,
    form: str | None,
    key_format: Formats,
    value_format: Formats,
    mask: str | None,
    escape_formulas: bool,
    isolation_level: Any,
    strict: bool,
    overwrite: bool,
    as_json: bool,
) -> int:
    """Run one SELECT of DuckDB's SQL over log directories.

    A topic is a table of its records, with the columns topic, partition, offset, timestamp, key,
    value, headers and others; "quote" a name such as "orders-archive". Keys and values are bytes:
    decode(value) is their text, and value.NAME a field of JSON, or of values that begin with the id
    of a schema; it is null where it does not fit the type of all. headers['NAME'] is the value of a
    header. A query can also name columns of the batch, such as producer_id,
    is_transactional and committed: whether a consumer with read_committed gets the record.
    TOPIC_latest is the newest record of each key; a null value is a tombstone. The table records
    has those of all topics but Kafka's own. Other tables are segments, batches, disk_usage, keys,
    groups, group_offsets, transactions and more: "show tables" lists all with a sentence for each.
    inspect.batches is meant even if a topic is named batches.
    Only what the query names is read. It cannot read other files, or write.

    Example: sql DIR "select topic, sum(size) from segments group by all order by 2 desc"

    Exit codes: 0 done, 2 with --strict: data was left out.
    """
    *given, query = path_first(paths)
    if not given and chosen_tier()["remote"] is None:
        raise click.UsageError('QUERY is missing, as in sql PATH "select count(*) from orders"')
    form = form or ("json" if as_json else _form_of(output))
    if form == "parquet" and output == STDOUT:
        raise click.UsageError("parquet needs --output FILE")
    if form == "table" and output != STDOUT:
        raise click.UsageError("a table is for people; --output takes csv, json, jsonl or parquet")
    from workbench.loaders.sql.run import run_sql  # with DuckDB, which starts slowly

    logs = open_logs(tuple(given))
    decode = asked_formats({"key": key_format, "value": value_format})
    given_mask = Path(mask) if mask else None
    inputs = [root.path for root in logs.listing.roots]
    target: Any = nullcontext(None)
    if output != STDOUT:
        target = new_file(output, inputs, overwrite=overwrite)
    with (
        target as file,
        progress("reading", 0, unit="records") as meter,
        warnings.catch_warnings(record=True) as told,
    ):
        warnings.simplefilter("always")
        relation = run_sql(
            logs.listing,
            query,
            decode=decode,
            mask=given_mask,
            isolation_level=isolation_level,
            watch=meter,
        )
        out = _Output(file, meter)
        count = _write_rows(query, relation, form, out, escapes=escape_formulas)
    # DuckDB may read a topic several times.
    for text, kind in dict.fromkeys((str(each.message), each.category) for each in told):
        if issubclass(kind, UncommittedRecordsWarning):
            tell_uncommitted(text.partition(";")[0])
        else:
            note(text)
    if text := internal_topics(relation.left_out, "query {} by name"):
        note(text)
    if not count:
        note("0 rows")
    if output != STDOUT:
        note(f"{plural(count, 'row')} in {output}, {size_text(os.path.getsize(output))}")
    is_whole = not any(issubclass(each.category, CorruptDataWarning) for each in told)
    return 0 if is_whole or not strict else _DAMAGED


class _Output(NamedTuple):
    """Where rows are written.

    Attributes:
        file: None: stdout.
        meter: the bar of the reading.
    """

    file: IO[bytes] | None
    meter: ProgressMeter

    def write(self, text: str) -> None:
        """Write text; on a terminal in place of the bar."""
        if self.file is not None:
            self.file.write(text.encode())
            return
        if is_terminal():
            self.meter.hide()
        click.echo(text, nl=False)

    def write_json(self, text: str) -> None:
        """Write JSON; on a terminal with colors."""
        self.write(painted(text) if self.file is None and has_color() else text)


def _write_rows(query: str, relation: Any, form: str, out: _Output, *, escapes: bool) -> int:
    """Write the rows of a query, and return their number.

    Raises:
        QueryError: a value does not fit the query, such as bytes that are not text.
    """
    import duckdb

    from workbench.loaders.sql.run import query_error

    write = partial(_to_csv, escapes=escapes) if form == "csv" else _WRITERS[form]
    try:
        return int(relation.run(lambda: write(relation, out)))
    except duckdb.Error as error:
        raise query_error(query, error) from error


def _form_of(output: str) -> str:
    """Return the format that a file's name asks for."""
    ending = os.path.splitext(output)[1].removeprefix(".")
    if output == STDOUT:
        return "table" if is_terminal() else "jsonl"
    return _ENDINGS.get(ending, "csv")


def _batches(relation: Any) -> Any:
    import pyarrow as pa

    return pa.RecordBatchReader.from_stream(relation)


def _rows(relation: Any) -> Iterator[tuple[Any, ...]]:
    from workbench.loaders.sql.cells import plain_rows

    return plain_rows(_batches(relation))


def _to_table(relation: Any, out: _Output) -> int:
    from workbench.loaders.sql.cells import cell_text

    rows = list(islice(_rows(relation), _MOST_SHOWN + 1 if is_terminal() else None))
    if is_terminal() and len(rows) > _MOST_SHOWN:
        note(f"only the first {_MOST_SHOWN:,} rows are shown; --format csv prints all")
        del rows[_MOST_SHOWN:]
    out.meter.hide()
    print_table(relation.columns, [list(map(cell_text, row)) for row in rows])
    return len(rows)


def _to_csv(relation: Any, out: _Output, *, escapes: bool) -> int:
    """Write rows as `export` does: no formulas and, to a terminal, nothing that steers it."""
    clean = safe if out.file is None and is_terminal() else None
    count = -1
    for row in chain([relation.columns], _csv_rows(relation, escapes=escapes)):
        line = io.StringIO()
        cells = [clean(each) if clean and isinstance(each, str) else each for each in row]
        csv.writer(line, lineterminator="\n").writerow(cells)
        out.write(line.getvalue())
        count += 1
    return count


def _csv_rows(relation: Any, *, escapes: bool) -> Iterator[tuple[Any, ...]]:
    from workbench.loaders.sql.cells import cell_text, plain, values_of

    for batch in _batches(relation):
        columns = [
            [cell_text(plain(value)) for value in values_of(column)] for column in batch.columns
        ]
        yield from zip(*map(_escaped, columns) if escapes else columns, strict=True)


def _escaped(cells: list[Any]) -> list[Any]:
    """Return cells with an apostrophe before formulas."""
    import pyarrow as pa

    from workbench.loaders.exports.csv_file import without_formulas

    texts = pa.array([each if isinstance(each, str) else None for each in cells], pa.large_string())
    escaped = without_formulas(texts).to_pylist()
    return [cell if text is None else text for cell, text in zip(cells, escaped, strict=True)]


def _to_json_lines(relation: Any, out: _Output) -> int:
    count = 0
    for row in _rows(relation):
        out.write_json(f"{_json(relation.columns, row)}\n")
        count += 1
    return count


def _to_json(relation: Any, out: _Output) -> int:
    objects = [_json(relation.columns, row) for row in _rows(relation)]
    out.write_json("[\n" + ",\n".join(objects) + "\n]\n" if objects else "[]\n")
    return len(objects)


def _json(columns: list[str], row: tuple[Any, ...]) -> str:
    return json_text(dict(zip(columns, row, strict=True)))


def _require_parquet(schema: Any) -> None:
    """Check that Parquet has every type.

    Raises:
        click.UsageError: it does not.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    for field in schema:
        try:
            pq.ParquetWriter(pa.BufferOutputStream(), pa.schema([field])).close()
        except pa.ArrowNotImplementedError:
            name = "interval" if pa.types.is_interval(field.type) else str(field.type)
            raise click.UsageError(
                f"column {field.name} has the type {name}, which Parquet does not have; cast it in "
                "the query, such as to varchar, or write CSV or JSON lines"
            ) from None


def _to_parquet(relation: Any, out: _Output) -> int:
    import pyarrow.parquet as pq

    reader, count = _batches(relation), 0
    _require_parquet(reader.schema)
    with pq.ParquetWriter(out.file, reader.schema, compression="zstd") as writer:
        for batch in reader:
            writer.write_batch(batch)
            count += batch.num_rows
    return count


_WRITERS: Final[dict[str, Callable[[Any, _Output], int]]] = {
    "table": _to_table,
    "json": _to_json,
    "jsonl": _to_json_lines,
    "parquet": _to_parquet,
}
