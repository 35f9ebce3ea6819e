"""SQL over a log directory, in DuckDB: topics as views of records, and the tables of inspection.

Only what a query names is read. The query can read nothing else on this machine, and write nothing.
"""

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from workbench.errors import QueryError
from workbench.inspection.listing import Listing
from workbench.loaders.scan.arrow import utf8
from workbench.loaders.scan.column_engines import new_connection
from workbench.loaders.scan.scan import Scan
from workbench.loaders.tables.inspect import Inspect
from workbench.runtime.words import did_you_mean

if TYPE_CHECKING:
    from workbench.values.masking import AnyMasks
    from workbench.values.registry import AnyDecoding

LATEST: Final = "_latest"
SCHEMA: Final = "inspect"
"""Where a table of inspection always is: ``inspect.batches``, even if a topic is named so."""

TABLES: Final = tuple(name for name in dir(Inspect) if not name.startswith("_"))
"""Tables of inspection, by the names of `Inspect`'s methods."""


def run_sql(
    listing: Listing,
    query: str,
    *,
    decode: "Mapping[str, AnyDecoding] | None" = None,
    mask: "AnyMasks | None" = None,
) -> Any:
    """Return a query's result as a `duckdb` relation, which reads when rows are fetched.

    Args:
        listing: the directories.
        query: one SELECT statement. A topic is a view of its records, with the columns of a scan; a
            name with other signs than letters, digits and _ needs double quotes. A name and
            `LATEST` is the newest record of each key, null values being tombstones. A table of
            `TABLES` is named ``batches`` or, beside a topic of that name, ``inspect.batches``.
        decode: how keys and values are decoded, as in `Scan`.
        mask: rules that keep private values out, as in `Scan`.

    Raises:
        LookupError: a table is neither a topic nor one of inspection; the message has a hint.
        MissingDependencyError: duckdb is not installed.
        QueryError: DuckDB cannot read the query, or it is not a SELECT.
    """
    named = set(_tables_in(query))
    topics = {utf8(p.topic).decode(): p.topic for p in listing.partitions.values()}
    connection = new_connection()
    connection.execute(f"create schema {SCHEMA}").fetchall()
    for schema, name in sorted(named):
        topic = topics.get(name, topics.get(name.removesuffix(LATEST)))
        if topic is not None and schema != SCHEMA:
            latest = name not in topics
            scan = Scan(listing, topics=topic, decode=decode, mask=mask, latest=latest)
            connection.register(name, scan)
        elif name.lower() in TABLES:
            _add_table(connection, listing, name.lower(), is_alone=name.lower() not in topics)
    # DuckDB makes it when a query needs more than memory, and removes it. The query may use it.
    spill = os.path.join(tempfile.gettempdir(), f"kafka-log-workbench-{uuid4().hex}")
    connection.execute("set temp_directory = ?", [spill]).fetchall()
    connection.execute("set enable_external_access = false").fetchall()
    try:
        return connection.sql(query)
    except Exception as error:
        for _, name in sorted(named):
            if f"name {name} does not exist" in str(error):
                hint = did_you_mean(name, [*topics, *TABLES])
                raise LookupError(f"unknown topic or table {name}{hint}") from error
        raise QueryError(f"{query}: {' '.join(str(error).split())}") from error


def _add_table(connection: Any, listing: Listing, name: str, *, is_alone: bool) -> None:
    connection.register(f"_{name}", getattr(Inspect(listing), name)())
    for view in (f"{SCHEMA}.{name}", *([name] if is_alone else [])):
        statement = f"create or replace view {view} as select * from _{name}"  # noqa: S608 - ours
        connection.execute(statement).fetchall()


def _tables_in(query: str) -> Iterator[tuple[str, str]]:
    """Yield schema and name of each table that a query names, as it spells them.

    Raises:
        QueryError: it cannot be parsed, or is not a SELECT.
    """
    [(text,)] = new_connection().execute("select json_serialize_sql(?)", [query]).fetchall()
    tree = json.loads(text)
    if tree["error"]:
        at = tree.get("position")
        where = "" if at is None else f" at character {at}"
        raise QueryError(f"{query}: {tree['error_message']}{where} (expected one SELECT statement)")
    if len(tree["statements"]) != 1:
        raise QueryError(f"{query}: {len(tree['statements'])} statements (expected one SELECT)")
    nodes = [tree]
    while nodes:
        node = nodes.pop()
        if isinstance(node, dict) and node.get("type") == "BASE_TABLE":
            yield node["schema_name"], node["table_name"]
        if isinstance(node, dict | list):
            nodes += node.values() if isinstance(node, dict) else node
