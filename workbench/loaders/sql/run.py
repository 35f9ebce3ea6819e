"""SQL over a log directory, in DuckDB: topics as views of records, and the tables of inspection.

Only what a query names is read. The query can read nothing else on this machine, and write nothing.
"""

import os
import re
import tempfile
from collections import Counter
from collections.abc import Collection, Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

import pyarrow as pa

from workbench.errors import QueryError, WorkbenchError
from workbench.inspection.listing import Listing
from workbench.loaders.scan.arrow import utf8
from workbench.loaders.scan.column_engines import DuckdbStream, new_connection
from workbench.loaders.scan.reading import Watch
from workbench.loaders.scan.scan import Scan
from workbench.loaders.scan.scan_options import ScanOptions, by_column
from workbench.loaders.schemas import RECORD_FIELDS, SCAN_FIELDS
from workbench.loaders.sql.fields import formats_of_fields, needed_fields
from workbench.loaders.sql.hints import meant
from workbench.loaders.sql.masks import masked_table, require_covered
from workbench.loaders.sql.query import LIST, SqlQuery, read_query
from workbench.loaders.sql.result import SqlResult
from workbench.loaders.tables.inspect import Inspect
from workbench.runtime.words import did_you_mean, plural
from workbench.values.masking import Masks

if TYPE_CHECKING:
    from workbench.inspection.transactions import IsolationLevel
    from workbench.values.masking import AnyMasks
    from workbench.values.registry import ColumnDecoding

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
"""The view of the records of all topics but Kafka's own, unless a topic has this name."""

_BYTES: Final = (
    "decode(value) is the text of bytes and octet_length(value) their size; value.NAME is a field"
    " of JSON, or of values with a schema"
)


def run_sql(
    listing: Listing,
    query: str,
    *,
    decode: "Mapping[str, ColumnDecoding] | str | None" = None,
    mask: "AnyMasks | None" = None,
    isolation_level: "IsolationLevel | None" = None,
    watch: Watch | None = None,
) -> SqlResult:
    """Return a query's result, a `duckdb` relation, which reads when rows are fetched.

    DuckDB keeps to 1 GiB, or to what the variable `MEMORY` sets, and writes what does not fit to a
    temporary folder.

    Args:
        listing: the directories.
        query: one SELECT statement. A topic is a view of its records, with the columns of a record,
            and those of its batch that the query names, as ``committed`` or ``producer_id``; a
            name with other signs than letters, digits and _ needs double quotes. A name and
            `LATEST` is the newest record of each key, null values being tombstones. `RECORDS` has
            the records of all topics but Kafka's own. A table of `TABLES` is named ``batches`` or,
            beside a topic of that name, ``inspect.batches``. ``show tables`` lists them all.
        decode: how keys and values are decoded, as in `Scan`. Keys or values without a decoding,
            of which the query names fields, as in ``value.order_id``, are read as
            `fields.formats_of_fields` finds them: JSON, or by the ids of their schemas.
        mask: rules that keep private values out, as in `Scan`; a table of inspection that would
            show what a rule hides is refused, and the metadata of commits are hidden.
        isolation_level: as in `Scan`; None reads all, and a warning counts what is not committed.
        watch: receives how many records are read.

    Raises:
        LookupError: a table is neither a topic nor one of inspection; the message has a hint.
        MissingDependencyError: duckdb is not installed.
        QueryError: DuckDB cannot read the query, it is not a SELECT, it takes bytes for text, or it
            names two tables whose names differ in case alone.
        SchemaError: a mask or decoding cannot be used, or does not cover a table.
    """
    topics = {utf8(p.topic).decode(): p.topic for p in listing.partitions.values()}
    read = read_query(query, topics)
    if read.asks_for_names:
        connection = new_connection()
        connection.register("names", _names(listing))
        return SqlResult(connection.sql("from names"))
    masks = Masks.of(mask)
    masks.require_topics(each.topic for each in listing.partitions.values())
    _refuse_equal_names(query, read, topics)
    given = by_column(decode or {}, RECORD_FIELDS)
    options: ScanOptions = {"mask": masks}
    if isolation_level is not None:
        options["isolation_level"] = isolation_level
    result = partial(
        _result, listing, topics, query, given=given, masks=masks, options=options, watch=watch
    )
    if read.needed is not None and not masks.rules:  # a mask may look at anything
        # What fails with the columns and fields that are needed fails with all, or succeeds: the
        # query is read again, for its result or for an error that names what there is.
        with suppress(LookupError, WorkbenchError):
            return result(read)
    return result(read._replace(needed=None))


def _result(
    listing: Listing,
    topics: Mapping[str, str],
    query: str,
    read: SqlQuery,
    *,
    given: "Mapping[str, ColumnDecoding]",
    masks: Masks,
    options: ScanOptions,
    watch: Watch | None,
) -> SqlResult:
    """Return a query's result, of what the query needs of its tables.

    Args:
        topics: by their names in SQL.
        given: decodings by column.
        options: of the scans, with the masks.

    Raises:
        As `run_sql`.
    """
    connection = new_connection()
    connection.execute(f"create schema {SCHEMA}").fetchall()
    scans: dict[str, Scan] = {}
    columns: list[pa.Field] = []
    tables: dict[str, pa.Schema] = {}
    for schema, name in sorted(read.tables):
        topic = topics.get(name, topics.get(name.removesuffix(LATEST)))
        every = topic is None and name.lower() == RECORDS
        if schema != SCHEMA and (topic is not None or every):
            latest = not every and name not in topics
            found = {**formats_of_fields(listing, topic, name, read), **given}
            own: ScanOptions = {
                **options,
                "topics": topic,
                "columns": _columns(read, found),
                "decode": needed_fields(found, read),
                "latest": latest,
            }
            scans[name] = Scan(listing, **own)
            scans[name].watch = watch
            columns += scans[name].schema  # DuckDB would hide which error this raises
            connection.register(name, DuckdbStream(scans[name]))
        elif name.lower() in TABLES:
            require_covered(name.lower(), masks)
            tables[name] = _add_table(
                connection, listing, name.lower(), masks, is_alone=schema != SCHEMA
            )
    _refuse_bytes_as_text(query, read, columns)
    _limit_memory(connection)
    # DuckDB makes it when a query needs more than memory, and removes it. The query may use it.
    spill = os.path.join(tempfile.gettempdir(), f"kafka-log-workbench-{uuid4().hex}")
    connection.execute("set temp_directory = ?", [spill]).fetchall()
    connection.execute("set enable_external_access = false").fetchall()
    try:
        return SqlResult(connection.sql(read.text), scans.values(), connection)
    except Exception as error:
        for _, name in sorted(read.tables):
            if f"name {name} does not exist" in str(error):
                hint = did_you_mean(name, [*topics, *TABLES, RECORDS]) or f"; {LIST}"
                raise LookupError(f"unknown topic or table {name}{hint}") from error
        raise query_error(query, error, meant(error, read, scans, tables)) from error


def _refuse_equal_names(query: str, read: SqlQuery, topics: Mapping[str, str]) -> None:
    """Refuse a query that names two tables by names that are one name to DuckDB.

    Raises:
        QueryError: it does.
    """
    found: dict[str, str] = {}
    for schema, name in sorted(read.tables):
        is_topic = name in topics or name.removesuffix(LATEST) in topics
        if schema == SCHEMA or not (is_topic or name.lower() in {*TABLES, RECORDS}):
            continue
        meant = name if is_topic else name.lower()  # of tables, any spelling is the same one
        other = found.setdefault(name.lower(), meant)
        if other != meant:
            raise QueryError(
                f"{query}: {other} and {meant} are one name to DuckDB, which knows no case "
                "(expected a query for each; a table of inspection is inspect.NAME)"
            )


def _columns(query: SqlQuery, decoded: Collection[str]) -> list[str]:
    """Return the columns of a topic: those of a record, and those of its batch that are named.

    If it is known what the query needs, those that it does not need and that are not decoded are
    left out.

    Beside tables of inspection, which have such columns, too, they must be named with their topic.
    """
    tables = {name.lower() for _, name in query.tables} & set(TABLES)
    elsewhere = {"", *tables} if tables else set()
    named = {name for table, name in query.named_columns if table not in elsewhere}
    found = [name for name in SCAN_FIELDS if name in RECORD_FIELDS or name in named]
    if query.needed is None:
        return found
    needed = {*query.needed.names, *decoded}
    return [name for name in found if name in needed] or ["offset"]


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


def query_error(query: str, error: Exception, words: str = "") -> QueryError:
    """Return what is wrong with a query, or what DuckDB says, with a hint about bytes or memory.

    Args:
        query: as it was given.
        error: of DuckDB.
        words: what `hints.meant` says of it; empty: DuckDB's own message.
    """
    if words:
        return QueryError(f"{query}: {words}")
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
        (RECORDS, "topics", "the records of all topics but Kafka's own"),
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


def _add_table(
    connection: Any, listing: Listing, name: str, masks: Masks, *, is_alone: bool
) -> pa.Schema:
    """Register a table of inspection, and return its schema."""
    # No folder, so no topic, has a "/" in its name.
    table = masked_table(getattr(Inspect(listing), name)(), masks)
    connection.register(f"{SCHEMA}/{name}", DuckdbStream(table))
    for view in (f"{SCHEMA}.{name}", *([name] if is_alone else [])):
        statement = f'create or replace view {view} as select * from "{SCHEMA}/{name}"'  # noqa: S608 - ours
        connection.execute(statement).fetchall()
    return table.schema
