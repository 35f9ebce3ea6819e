"""`kafka-workbench sql`: a query in SQL over records, segments, groups and other tables."""

import csv
import datetime as dt
import io
import json
import math
import os
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from decimal import Decimal
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, Final

import click

from workbench.cli.command import Command, open_logs, reads_remote_tier
from workbench.cli.output import is_terminal, note, print_table
from workbench.cli.show.decoded_text import key_format, value_format
from workbench.cli.show.value_text import AUTO, plain_text
from workbench.file_system.outputs import new_file
from workbench.runtime.words import plural, size_text

FORMATS: Final = ("table", "csv", "json", "jsonl", "parquet")
_MOST_SHOWN: Final = 1000  # rows of a table in a terminal
_STDOUT: Final = "-"


@click.command("sql", cls=Command)
@click.argument("paths", metavar="PATH... QUERY", nargs=-1, required=True, type=click.Path())
@click.option("--output", "-o", metavar="FILE", default=_STDOUT, help="Write to FILE.")
@click.option(
    "--format", "form", type=click.Choice(FORMATS), help="Default: the ending of FILE, or a table."
)
@key_format("Decode keys, as utf8, json, avro or avro:FILE. Default: bytes.")
@value_format("Decode values.")
@click.option(
    "--mask", type=click.Path(), metavar="FILE", help="Keep private values out, as in export."
)
@click.option("--overwrite", is_flag=True, help="Replace a file that already exists.")
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@reads_remote_tier
def command(
    *,
    paths: tuple[str, ...],
    output: str,
    form: str | None,
    key_format: str,
    value_format: str,
    mask: str | None,
    overwrite: bool,
    as_json: bool,
) -> int:
    """Run one SELECT of DuckDB's SQL over log directories.

    A topic is a table of its records, with the columns topic, partition, offset, timestamp, key,
    value, headers and others; "quote" a name such as "orders-archive". Keys and values are bytes:
    decode(value) is their text, and --value-format json makes columns of their fields.
    TOPIC_latest is the newest record of each key; a null value is a tombstone. The table records
    has those of all topics. Other tables are segments, batches, disk_usage, keys, groups,
    group_offsets, transactions and more: "show tables" lists all with a sentence for each.
    inspect.batches is meant even if a topic is named batches.
    Only what the query names is read. It cannot read other files, or write.

    Example: sql DIR "select topic, sum(size) from segments group by all order by 2 desc"

    Exit codes: 0 done.
    """
    *given, query = paths
    if not given:
        raise click.UsageError('QUERY is missing, as in sql PATH "select count(*) from orders"')
    form = form or ("json" if as_json else _form_of(output))
    if form == "parquet" and output == _STDOUT:
        raise click.UsageError("parquet needs --output FILE")
    if form == "table" and output != _STDOUT:
        raise click.UsageError("a table is for people; --output takes csv, json, jsonl or parquet")
    logs = open_logs(tuple(given))
    formats = {"key": key_format, "value": value_format}
    decode = {column: name for column, name in formats.items() if name != AUTO}
    relation = logs.sql(query, decode=decode, mask=Path(mask) if mask else None)
    inputs = [root.path for root in logs.listing.roots]
    target: Any = nullcontext(None)
    if output != _STDOUT:
        target = new_file(output, inputs, overwrite=overwrite)
    with target as file:
        count = _write_rows(query, relation, form, file)
    if not count:
        note("0 rows")
    if output != _STDOUT:
        note(f"{plural(count, 'row')} in {output}, {size_text(os.path.getsize(output))}")
    return 0


def _write_rows(query: str, relation: Any, form: str, file: IO[bytes] | None) -> int:
    """Write the rows of a query, and return their number.

    Raises:
        QueryError: a value does not fit the query, such as bytes that are not text.
    """
    import duckdb

    from workbench.loaders.sql import query_error

    try:
        return _WRITERS[form](relation, file)
    except duckdb.Error as error:
        raise query_error(query, error) from error


def _form_of(output: str) -> str:
    """Return the format that a file's name asks for."""
    ending = os.path.splitext(output)[1].removeprefix(".")
    return ending if ending in FORMATS else "table" if output == _STDOUT else "csv"


def _batches(relation: Any) -> Any:
    import pyarrow as pa

    return pa.RecordBatchReader.from_stream(relation)


def _rows(relation: Any) -> Iterator[tuple[Any, ...]]:
    for batch in _batches(relation):
        yield from zip(*map(_values, batch.columns), strict=True)


def _values(column: Any) -> list[Any]:
    """Return a column's values; times that no datetime can hold are numbers."""
    try:
        return list(column.to_pylist())
    except (OverflowError, ValueError):
        return list(column.cast("int64").to_pylist())


def _plain(value: Any) -> Any:
    """Return a value as JSON has it: bytes as text, or hex; times as ISO 8601."""
    if isinstance(value, bytes | bytearray):
        return plain_text(bytes(value))
    if isinstance(value, dt.datetime):
        return value.isoformat(sep=" ", timespec="milliseconds")
    if isinstance(value, Decimal):  # a sum of integers is one in DuckDB
        return int(value) if value == int(value) else float(value)
    if hasattr(value, "nanoseconds"):  # a difference of times
        return _interval(*value)
    if isinstance(value, dict):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value if isinstance(value, int | float | str | None) else str(value)


def _interval(months: int, days: int, nanoseconds: int) -> str:
    """Return an interval as DuckDB prints it: ``2 days 04:17:33.677``."""
    counts = (("year", int(months / 12)), ("month", int(math.fmod(months, 12))), ("day", days))
    parts = [f"{count} {word}{'s' * (abs(count) != 1)}" for word, count in counts if count]
    seconds, left = divmod(abs(nanoseconds), 10**9)
    if nanoseconds or not parts:
        sign = "-" if nanoseconds < 0 else ""
        clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        fraction = f".{left:09}".rstrip("0") if left else ""
        parts.append(f"{sign}{clock}{fraction}")
    return " ".join(parts)


def _text(value: Any) -> Any:
    plain = _plain(value)
    return json.dumps(plain, ensure_ascii=False) if isinstance(plain, dict | list) else plain


def _to_table(relation: Any, _file: IO[bytes] | None) -> int:
    rows = list(islice(_rows(relation), _MOST_SHOWN + 1 if is_terminal() else None))
    if is_terminal() and len(rows) > _MOST_SHOWN:
        note(f"only the first {_MOST_SHOWN:,} rows are shown; --format csv prints all")
        del rows[_MOST_SHOWN:]
    print_table(relation.columns, [[_text(value) for value in row] for row in rows])
    return len(rows)


def _to_csv(relation: Any, file: IO[bytes] | None) -> int:
    count = -1
    for row in chain([relation.columns], _rows(relation)):
        line = io.StringIO()
        csv.writer(line, lineterminator="\n").writerow(map(_text, row))
        _write(file, line.getvalue())
        count += 1
    return count


def _to_json_lines(relation: Any, file: IO[bytes] | None) -> int:
    count = 0
    for row in _rows(relation):
        _write(file, f"{_json(relation.columns, row)}\n")
        count += 1
    return count


def _to_json(relation: Any, file: IO[bytes] | None) -> int:
    objects = [_json(relation.columns, row) for row in _rows(relation)]
    _write(file, "[\n" + ",\n".join(objects) + "\n]\n" if objects else "[]\n")
    return len(objects)


def _json(columns: list[str], row: tuple[Any, ...]) -> str:
    return json.dumps(dict(zip(columns, map(_plain, row), strict=True)))


def _write(file: IO[bytes] | None, text: str) -> None:
    if file is None:
        click.echo(text, nl=False)
    else:
        file.write(text.encode())


def _to_parquet(relation: Any, file: IO[bytes] | None) -> int:
    import pyarrow.parquet as pq

    reader, count = _batches(relation), 0
    with pq.ParquetWriter(file, reader.schema, compression="zstd") as writer:
        for batch in reader:
            writer.write_batch(batch)
            count += batch.num_rows
    return count


_WRITERS: Final[dict[str, Callable[[Any, IO[bytes] | None], int]]] = {
    "table": _to_table,
    "csv": _to_csv,
    "json": _to_json,
    "jsonl": _to_json_lines,
    "parquet": _to_parquet,
}
