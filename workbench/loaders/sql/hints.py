"""What DuckDB's errors about columns mean, in the words of Kafka's records."""

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from workbench.loaders.schemas import SCAN_FIELDS
from workbench.loaders.sql.fields import fields_in
from workbench.runtime.words import did_you_mean, first_few, nearest

if TYPE_CHECKING:
    from workbench.loaders.scan.scan import Scan
    from workbench.loaders.sql.query import SqlQuery

_NO_COLUMN: Final = re.compile(
    r'Referenced column "(.+?)" not found|"(.+?)" does not have a column named "(.+?)"'
)
_NO_FIELDS: Final = re.compile(r"Cannot extract field '(.+?)' from expression \"(.+?)\" because")
_NO_FIELD: Final = re.compile(r'Could not find key "(.+?)" in struct')
_NOT_AN_INDEX: Final = re.compile(r"Could not convert string '(.+?)' to INT64")
_NAMED: Final = 12  # columns or fields of a hint
_BATCH: Final = tuple(SCAN_FIELDS)


def meant(
    error: Exception,
    query: "SqlQuery",
    scans: "Mapping[str, Scan]",
    tables: Mapping[str, pa.Schema],
) -> str:
    """Return what an error of DuckDB means; empty if it is about something else.

    Args:
        error: of DuckDB.
        query: what the query names.
        scans: the topics that it reads, by the name that it has for them.
        tables: the schemas of the tables of inspection that it reads, likewise.
    """
    text = str(error)
    if found := _NO_COLUMN.search(text):
        name = found[1] or found[3]
        known = query.aliases.get(found[2] or "", ("", found[2]))[1]
        own = {known} if known in {*scans, *tables} else {*scans, *tables}
        return _no_column(
            name,
            {each: scan for each, scan in scans.items() if each in own},
            {each: schema for each, schema in tables.items() if each in own},
        )
    if found := _NO_FIELDS.search(text):
        column = found[2].rpartition(".")[2].strip('"')
        taken = any(path.is_of_bytes and path.names[-1] == column for path in query.paths)
        return _no_fields(found[1], column, scans, is_taken=taken)
    if found := _NO_FIELD.search(text):
        fields = {
            path
            for scan in scans.values()
            for each in scan.schema
            for path in _paths(each.name, each.type)
        }
        return f"values have no field {found[1]}{_nearest(found[1], fields)}"
    return ""


def _no_column(name: str, scans: "Mapping[str, Scan]", tables: Mapping[str, pa.Schema]) -> str:
    """Return what to write for a column that is not there: a field, or another column."""
    for scan in scans.values():
        for column in ("value", "key"):
            if name in fields_in(scan, column):
                return f"unknown column {name}; it is a field of {column}: write {column}.{name}"
    known = [each for schema in tables.values() for each in schema.names]
    known += _BATCH if scans else []
    hint = did_you_mean(name, known)
    if not hint and scans:
        hint = "; a field of JSON or of values with a schema is value.NAME"
    columns = first_few(list(dict.fromkeys(known)), _NAMED)
    return f"unknown column {name}{hint}" + ("" if hint.endswith("?") else f"; columns: {columns}")


def _no_fields(field: str, column: str, scans: "Mapping[str, Scan]", *, is_taken: bool) -> str:
    """Return why a column has no fields, and what to write."""
    if column == "headers":
        return f"headers is a list: write headers['{field}'] for the value of the last such header"
    if column not in {"key", "value"} or not scans:
        return ""
    if is_taken:
        return (
            f"{column} is bytes for one part of the query, as for decode({column}), and has fields "
            f"for another; for a field of its text, write decode({column})->>'$.{field}'"
        )
    topics = " and ".join(sorted(scans))
    return (
        f"{column}.{field}: no fields are known of the {column}s of {topics}, which are not JSON "
        f"and name no schema of _schemas; --{column}-format, in Python decode={{'{column}': …}}, "
        "gives another format, such as avro:orders.avsc"
    )


def _paths(name: str, kind: pa.DataType) -> Iterable[str]:
    if pa.types.is_struct(kind):
        for field in kind:
            yield f"{name}.{field.name}"
            yield from _paths(f"{name}.{field.name}", field.type)


def _nearest(name: str, paths: Iterable[str]) -> str:
    """Return the field that was probably meant, or the fields that there are."""
    given = sorted(paths)
    last = {path.rpartition(".")[2]: path for path in reversed(given)}
    if near := nearest(name, last):
        return f"; did you mean {last[near]}?"
    return f"; fields: {first_few(given, _NAMED)}"
