"""Fields of keys and values as columns of the record list: their paths, cells and a profile.

A field is looked for in what the lens shows: in a decoded key or value, or in the JSON of the bytes
that a mask lets through. So a column has nothing that a cell of the whole value would not show.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from widgets.view.record_cells import ReadRecord, shown_bytes
from widgets.view.records import Cell, Lens
from workbench.errors import QueryError
from workbench.loaders.queries.json_path import (
    NOT_JSON,
    Step,
    parsed,
    paths_in,
    take_path,
    values_at,
)
from workbench.values.formats.text import field_text

PLAIN_COLUMNS: Final = ("partition", "offset", "time", "key", "value", "headers", "size")
"""The columns of the list that are not fields, in their first order."""

MOST_COLUMNS: Final = 60
MOST_OF_FIELD: Final = 160
"""Characters of a field in a cell."""


class RecordField(NamedTuple):
    """A field of a key or a value.

    Attributes:
        column: "key" or "value".
        steps: its path, see `json_path.take_path`.
    """

    column: str
    steps: tuple[Step, ...]


def field_of(name: str) -> RecordField:
    """Return the field that a column's name means: ``$.customer.id``, or ``key$.id``.

    Raises:
        QueryError: it is not a path.
    """
    column, dollar, path = name.partition("$")
    steps, end = take_path(path, 0) if dollar else ((), 0)
    if column not in {"", "key", "value"} or not steps or end < len(path):
        known = ", ".join(PLAIN_COLUMNS)
        raise QueryError(f"no column {name!r} (expected {known}, $.path or key$.path)")
    return RecordField(column or "value", steps)


def document_of(record: ReadRecord, lens: Lens) -> dict[str, Any]:
    """Return by "key" and "value" what the lens shows of a record, as Python has JSON."""
    stored = {"key": record.key, "value": record.value}
    return {
        name: record.meaning[name]
        if name in record.meaning and lens.decodes
        else parsed(shown_bytes(name, data, lens))
        for name, data in stored.items()
    }


def values_of(field: RecordField, document: Mapping[str, Any]) -> list[Any]:
    """Return what a field is in a record: nothing if it is missing, several in lists."""
    whole = document[field.column]
    return [] if whole is NOT_JSON else list(values_at(whole, field.steps))


def field_cell(values: Sequence[Any], lens: Lens) -> Cell:
    """Return text and kind of a field's cell: "null", "quiet" (missing), "hidden" or "text"."""
    if not lens.show_values:
        return ["hidden", "hidden", lens.hint]
    if not values:
        return ["", "quiet"]
    if len(values) == 1 and values[0] is None:
        return ["null", "null"]
    text, most = ", ".join(map(field_text, values)), max(MOST_OF_FIELD, lens.most)
    return [text if len(text) <= most else f"{text[: most - 1]}…", "text"]


def field_paths(found: Sequence[Mapping[str, Any]], most: int) -> list[str]:
    """Return the paths of the fields of documents: those of values, then those of keys."""
    of_values = paths_in((each["value"] for each in found), most)
    of_keys = paths_in((each["key"] for each in found), most)
    return [*of_values, *(f"key{path}" for path in of_keys)][:most]


def fields_of(columns: Iterable[str]) -> dict[str, RecordField]:
    """Return those columns that are fields, by their names."""
    return {name: field_of(name) for name in columns if name not in PLAIN_COLUMNS}


def plain_value(name: str, record: ReadRecord, lens: Lens) -> Any:
    """Return what a record has in one of `PLAIN_COLUMNS`, for a profile; None for nothing."""
    if name == "time":
        return record.time
    if name in {"partition", "offset", "size"}:
        return getattr(record, name)
    if name in {"key", "value"}:
        cell = lens.cell(name, getattr(record, name), record.meaning)
        return cell[0] if cell[1] == "text" else None
    return lens.headers(record.headers)[0] or None


def field_value(values: list[Any]) -> Any:
    """Return what a record has in a field, for a profile; None for nothing."""
    return values[0] if len(values) == 1 else values or None
