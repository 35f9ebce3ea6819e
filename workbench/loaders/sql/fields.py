"""How keys and values are read of which a query names fields: ``value.order_id``."""

import json
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from workbench.decoders.decoder import JsonText
from workbench.inspection.listing import Listing
from workbench.loaders.scan.reading import ScanReading
from workbench.loaders.scan.scan import Scan, stored_in
from workbench.loaders.sql.query import SqlQuery
from workbench.values.by_topic import formats_of
from workbench.values.formats.json_fields import JsonFields, are_quick
from workbench.values.readable import readable
from workbench.values.registry import Decoding

if TYPE_CHECKING:
    from workbench.values.registry import AnyDecoding, ColumnDecoding

_LOOKED_AT: Final = 100  # records of a topic
_DECODED: Final = ("key", "value")


def formats_of_fields(
    listing: Listing, topic: str | None, table: str, query: SqlQuery
) -> "dict[str, AnyDecoding]":
    """Return the formats of the keys and values of a topic of which a query names fields.

    The first records say which: ``json`` if half of them are JSON objects, ``registry`` if any
    begins like the id of a schema and the topic `_schemas` has schemas. Others stay bytes, and so
    do those that the query gives to a function of bytes, as ``decode(value)``.

    Args:
        listing: the directories.
        topic: its name; None: all.
        table: the name that the query has for it.
        query: what the query names.
    """
    found: dict[str, AnyDecoding] = {}
    for column in _DECODED:
        if column in query.made_columns or not has_fields(query, table, column):
            continue
        given = _first(listing, topic, column)
        if given and 2 * sum(map(_is_object, given)) >= len(given):
            found[column] = "json"
        elif any(each[:1] in {b"\0", b"\1"} for each in given) and stored_in(listing).by_id:
            found[column] = "registry"
    return found


def needed_fields(
    decode: "Mapping[str, ColumnDecoding]", query: SqlQuery
) -> "Mapping[str, ColumnDecoding]":
    """Return decodings that read no more of JSON than the fields that a query needs."""
    if query.needed is None or not are_quick():
        return decode
    fields = query.needed.fields
    return {
        column: _narrowed(how, JsonFields.of(fields[column])) if column in fields else how
        for column, how in decode.items()
    }


def _narrowed(how: "ColumnDecoding", fields: JsonFields) -> "ColumnDecoding":
    """Return a decoding, or those of topics, in which JSON has only some fields."""
    formats = formats_of(how)
    if isinstance(formats, Mapping):
        return {
            topic: Decoding("json", fields) if each == "json" else each
            for topic, each in formats.items()
        }
    return Decoding("json", fields) if formats == "json" else how


def has_fields(query: SqlQuery, table: str, column: str) -> bool:
    """Return whether a query names fields of a column of a table, and does not take its bytes."""
    own = {name for name, meant in query.aliases.items() if meant[1] == table}
    used = [
        (path, rest)
        for path in query.paths
        for rest in _fields(path.names, column, own, set(query.aliases))
    ]
    return any(rest for _, rest in used) and not any(path.is_of_bytes for path, _ in used)


def _fields(
    names: tuple[str, ...], column: str, own: set[str], tables: set[str]
) -> Iterator[tuple[str, ...]]:
    """Yield the path in a column that the names of a reference may mean."""
    first, *rest = names
    if first in own and rest[:1] == [column]:
        yield tuple(rest[1:])
    elif first == column and first not in tables:
        yield tuple(rest)


def fields_in(scan: Scan, column: str) -> set[str]:
    """Return the names of the fields of keys or values: of their type, or of JSON in bytes."""
    kind = scan.schema.field(column).type
    if pa.types.is_struct(kind):
        return {field.name for field in kind}
    if not pa.types.is_large_binary(kind) or scan.masks.touches(column):
        return set()
    given = _first(scan.listing, {partition.topic for partition in scan.partitions}, column)
    return {name for each in given if _is_object(each) for name in json.loads(each)}


def _first(listing: Listing, topics: Collection[str] | str | None, column: str) -> list[bytes]:
    """Return the first keys or values of topics that are not null."""
    scan = Scan(listing, topics=topics, columns=column, limit=_LOOKED_AT)
    batches = ScanReading(scan).batches()  # the query itself warns of what cannot be read
    return [each for batch in batches for each in batch.column(0).to_pylist() if each is not None]


def _is_object(data: bytes) -> bool:
    found = readable(data)
    return isinstance(found, JsonText) and found.lstrip().startswith("{")
