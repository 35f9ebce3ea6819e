"""SQL over a log directory, in DuckDB: topics as views of records, and the tables of inspection.

Only what a query names is read. The query can read nothing else on this machine, and write nothing.
"""

import os
import re
import tempfile
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

import pyarrow as pa

from workbench.errors import QueryError
from workbench.inspection.listing import Listing
from workbench.loaders.scan.arrow import utf8
from workbench.loaders.scan.column_engines import new_connection
from workbench.loaders.scan.scan import Scan
from workbench.loaders.sql_query import LIST, SqlQuery, read_query
from workbench.loaders.tables.inspect import Inspect
from workbench.runtime.words import did_you_mean, plural

if TYPE_CHECKING:
    from workbench.values.masking import AnyMasks
    from workbench.values.registry import AnyDecoding

LATEST: Final = "_latest"
SCHEMA: Final = "inspect"
"""Where a table of inspection always is: ``inspect.batches``, even if a topic is named so."""

TABLES: Final = tuple(name for name in dir(Inspect) if not name.startswith("_"))
"""Tables of inspection, by the names of `Inspect`'s methods."""

MEMORY: Final = "KAFKA_WORKBENCH_SQL_MEMORY"
"""The environment variable with the memory that DuckDB takes, as 4GiB."""

USUAL_MEMORY: Final = "1GiB"
"""Without it. DuckDB alone would take four fifths of the machine's."""

RECORDS: Final = "records"
"""The view of the records of all topics, unless a topic has this name."""

_BYTES: Final = (
    "decode(value) is the text of bytes and octet_length(value) their size; --value-format json,"
    " in Python decode={'value': 'json'}, makes columns of the fields"
)


def run_sql(
    listing: Listing,
    query: str,
    *,
    decode: "Mapping[str, AnyDecoding] | None" = None,
    mask: "AnyMasks | None" = None,
) -> Any:
    """Return a query's result as a `duckdb` relation, which reads when rows are fetched.

    DuckDB keeps to 1 GiB, or to what the variable `MEMORY` sets, and writes what does not fit to a
    temporary folder.

    Args:
        listing: the directories.
        query: one SELECT statement. A topic is a view of its records, with the columns of a scan; a
            name with other signs than letters, digits and _ needs double quotes. A name and
            `LATEST` is the newest record of each key, null values being tombstones. `RECORDS` has
            the records of all topics. A table of `TABLES` is named ``batches`` or, beside a topic
            of that name, ``inspect.batches``. ``show tables`` lists them all.
        decode: how keys and values are decoded, as in `Scan`.
        mask: rules that keep private values out, as in `Scan`.

    Raises:
        LookupError: a table is neither a topic nor one of inspection; the message has a hint.
        MissingDependencyError: duckdb is not installed.
        QueryError: DuckDB cannot read the query, it is not a SELECT, or it takes bytes for text.
    """
    topics = {utf8(p.topic).decode(): p.topic for p in listing.partitions.values()}
    read = read_query(query, topics)
    connection = new_connection()
    if read.asks_for_names:
        connection.register("names", _names(listing))
        return connection.sql("from names")
    connection.execute(f"create schema {SCHEMA}").fetchall()
    columns: list[pa.Field] = []
    for schema, name in sorted(read.tables):
        topic = topics.get(name, topics.get(name.removesuffix(LATEST)))
        every = topic is None and name.lower() == RECORDS
        if schema != SCHEMA and (topic is not None or every):
            latest = not every and name not in topics
            scan = Scan(listing, topics=topic, decode=decode, mask=mask, latest=latest)
            connection.register(name, scan)
            columns.extend(scan.schema)
        elif name.lower() in TABLES:
            _add_table(connection, listing, name.lower(), is_alone=name.lower() not in topics)
    _refuse_bytes_as_text(query, read, columns)
    _limit_memory(connection)
    # DuckDB makes it when a query needs more than memory, and removes it. The query may use it.
    spill = os.path.join(tempfile.gettempdir(), f"kafka-log-workbench-{uuid4().hex}")
    connection.execute("set temp_directory = ?", [spill]).fetchall()
    connection.execute("set enable_external_access = false").fetchall()
    try:
        return connection.sql(query)
    except Exception as error:
        for _, name in sorted(read.tables):
            if f"name {name} does not exist" in str(error):
                hint = did_you_mean(name, [*topics, *TABLES, RECORDS]) or f"; {LIST}"
                raise LookupError(f"unknown topic or table {name}{hint}") from error
        raise query_error(query, error) from error


def _limit_memory(connection: Any) -> None:
    """Set the memory that DuckDB takes.

    Raises:
        QueryError: the variable does not have a size.
    """
    limit = os.environ.get(MEMORY) or USUAL_MEMORY
    try:
        connection.execute("set memory_limit = ?", [limit]).fetchall()
    except Exception as error:
        raise QueryError(f"{MEMORY} is {limit!r}, not a size such as 4GiB") from error


def query_error(query: str, error: Exception) -> QueryError:
    """Return what DuckDB says of a query, with a hint where it is about bytes or memory."""
    if str(error).startswith("Out of Memory"):
        limit = os.environ.get(MEMORY) or USUAL_MEMORY
        return QueryError(
            f"{query}: DuckDB needs more than {limit} of memory for what it cannot write to a "
            f"temporary folder; the environment variable {MEMORY} raises this limit"
        )
    hint = f"; {_BYTES}" if "BLOB" in str(error) and "decode(BLOB" not in str(error) else ""
    return QueryError(f"{query}: {' '.join(str(error).split())}{hint}")


def _refuse_bytes_as_text(query: str, read: SqlQuery, columns: list[pa.Field]) -> None:
    """Refuse a query that looks for text in a column of bytes, where DuckDB finds none."""
    texts = {each.name for each in columns if not _holds_bytes(each.type)}
    binaries = {each.name for each in columns} - texts - read.made_columns
    for column, taker in read.taken_as_text:
        if column in binaries:
            raise QueryError(f"{query}: {taker} takes text, and {column} is bytes; {_BYTES}")


def _names(listing: Listing) -> pa.Table:
    """Return what a query can name: topics with their partitions, tables with a sentence."""
    partitions = Counter(utf8(p.topic).decode() for p in listing.partitions.values())
    rows = [
        *(
            (name, "topic", plural(count, "partition"))
            for name, count in sorted(partitions.items())
        ),
        (RECORDS, "topics", "the records of all topics"),
        *((name, "table", _about(name)) for name in TABLES),
    ]
    return pa.table([*map(list, zip(*rows, strict=True))], names=["name", "kind", "about"])


def _about(table: str) -> str:
    """Return the first sentence of a table's docstring, without markup and classes."""
    sentence = (getattr(Inspect, table).__doc__ or "").partition("\n")[0]
    plain = re.sub(r" \(`\w+`\)|`", "", sentence)
    return plain.removeprefix("Return ").removesuffix(".")


def _holds_bytes(kind: pa.DataType) -> bool:
    """Return whether there are bytes in values of a type, at any depth: DuckDB escapes them all."""
    return "binary" in str(kind)


def _add_table(connection: Any, listing: Listing, name: str, *, is_alone: bool) -> None:
    connection.register(f"_{name}", getattr(Inspect(listing), name)())
    for view in (f"{SCHEMA}.{name}", *([name] if is_alone else [])):
        statement = f"create or replace view {view} as select * from _{name}"  # noqa: S608 - ours
        connection.execute(statement).fetchall()
