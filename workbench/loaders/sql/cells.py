"""The cells of a query's rows as plain values: for JSON, CSV and tables that people read."""

import datetime as dt
import json
import math
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa

from workbench.layout.integers import INT32_MAX, INT64_MAX
from workbench.runtime.times import DAY, EPOCH
from workbench.values.readable import as_line, readable

_PER_SECOND: Final = {"s": 1, "ms": 1000, "us": 1_000_000, "ns": 1_000_000_000}
_INFINITE: Final = {INT64_MAX: "infinity", -INT64_MAX: "-infinity"}
_INFINITE_DATES: Final = {INT32_MAX: "infinity", -INT32_MAX: "-infinity"}


def plain_rows(batches: pa.RecordBatchReader) -> Iterator[tuple[Any, ...]]:
    """Yield rows as JSON has them: bytes as text, or hex; times as ISO 8601."""
    for batch in batches:
        columns = [[plain(value) for value in values_of(column)] for column in batch.columns]
        yield from zip(*columns, strict=True)


def values_of(column: pa.Array) -> list[Any]:
    """Return a column's values; times and dates that no datetime holds are ms, or ``infinity``."""
    try:
        return list(column.to_pylist())
    except (OverflowError, ValueError):
        return [_value(each) for each in column]


def _value(found: Any) -> Any:
    """Return an Arrow scalar as Python; within lists, maps and structs, too."""
    kind = found.type
    if not found.is_valid:
        return None
    if pa.types.is_struct(kind):
        return {name: _value(each) for name, each in found.items()}
    if pa.types.is_map(kind):
        return [(_value(each["key"]), _value(each["value"])) for each in found.values]
    if pa.types.is_union(kind):
        return _value(found.value)
    if pa.types.is_nested(kind) and hasattr(found, "values"):
        return [_value(each) for each in found.values]
    try:
        return found.as_py()
    except (OverflowError, ValueError):
        if pa.types.is_date32(kind):
            return _INFINITE_DATES.get(found.value, found.value * DAY)
        return _time(found.value, _PER_SECOND[kind.unit]) if hasattr(kind, "unit") else found.value


def _time(value: int, unit: int) -> dt.datetime | int | str:
    """Return a time since the epoch, in so many per second."""
    try:
        return EPOCH + dt.timedelta(microseconds=value * 1_000_000 // unit)
    except OverflowError:
        return _INFINITE.get(value, value * 1000 // unit)


def plain(value: Any) -> Any:
    """Return a value as JSON has it: bytes as text, or hex; times as ISO 8601."""
    if isinstance(value, bytes | bytearray):
        return as_line(readable(bytes(value)))
    if isinstance(value, dt.datetime):
        return value.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if isinstance(value, Decimal):  # a sum of integers is one in DuckDB
        return int(value) if value == int(value) else float(value)
    if hasattr(value, "nanoseconds"):  # a difference of times
        return _interval(*value)
    if isinstance(value, dict):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
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


def cell_text(value: Any) -> Any:
    """Return a plain value as a cell has it: objects and lists are JSON text."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value
