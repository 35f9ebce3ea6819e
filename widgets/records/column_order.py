"""What the record list can be sorted by: time and place, key and size, and what a column shows."""

import math
from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa

from widgets.records.field_columns import (
    PLAIN_COLUMNS,
    document_of,
    field_of,
    field_value,
    plain_value,
    values_of,
)
from widgets.view.meanings import Meanings
from widgets.view.record_cells import ROW_COLUMNS, ReadRecord, read_records
from widgets.view.records import Lens
from workbench.loaders.search.matches import PLACE_ORDERS
from workbench.loaders.search.sort_keys import KEY, MOST_KEPT, SIZE, SortKey
from workbench.values.formats.text import field_text

_KEYS: Final = {KEY.name: KEY, SIZE.name: SIZE}
_SHOWN: Final = pa.schema(
    [("number", pa.float64()), ("integer", pa.int64()), ("text", pa.large_string())]
)
_LARGEST: Final = 2**63


def is_of_values(order: str) -> bool:
    """Return whether an order is by what a column shows, which takes values that are shown."""
    return order not in PLACE_ORDERS and order not in _KEYS


def check_order(order: str) -> None:
    """Check that records can be sorted so.

    Raises:
        QueryError: it is neither a column nor a field's path.
    """
    if order not in PLAIN_COLUMNS:
        field_of(order)


def sort_key(order: str, lens: Lens, meanings: Meanings) -> SortKey | None:
    """Return what a search must keep of its matches to sort them; None: nothing.

    Args:
        order: the name of a column.
        lens: how much is shown.
        meanings: decodes keys and values; the search's thread alone uses it.
    """
    if not is_of_values(order):
        return _KEYS.get(order)

    def keep(batch: pa.RecordBatch, matches: pa.Array) -> pa.RecordBatch:
        table = pa.Table.from_batches([batch.take(matches)])
        return _kept([_shown(order, each, lens) for each in read_records(table, lens, meanings)])

    return SortKey(order, ROW_COLUMNS, _SHOWN, keep)


def _shown(order: str, record: ReadRecord, lens: Lens) -> Any:
    """Return what a record has in a column: JSON's number or text; None for nothing."""
    if order in PLAIN_COLUMNS:
        return plain_value(order, record, lens)
    return field_value(values_of(field_of(order), document_of(record, lens)))


def _kept(values: Sequence[Any]) -> pa.RecordBatch:
    """Return values to sort by: numbers come before texts, and what is none has no place."""
    numbers: list[float | None] = []
    integers: list[int | None] = []
    texts: list[str | None] = []
    for value in values:
        number = _number(value)
        is_exact = number is not None and isinstance(value, int) and -_LARGEST <= value < _LARGEST
        numbers.append(number)
        integers.append(value if is_exact else None)
        is_text = number is None and value is not None
        texts.append(field_text(value)[:MOST_KEPT].casefold() if is_text else None)
    arrays = [
        pa.array(column, kind)
        for column, kind in zip((numbers, integers, texts), _SHOWN.types, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=_SHOWN)


def _number(value: Any) -> float | None:
    """Return a number that others compare with; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    return None if math.isnan(number) else number
