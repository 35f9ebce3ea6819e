"""The cells of a query's rows as plain values: for JSON, CSV and tables that people read."""

import datetime as dt
import json
import math
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa

from workbench.decoders.decoder import printable
from workbench.layout.integers import INT32_MAX, INT64_MAX
from workbench.values.far_times import nearest, python_values
from workbench.values.readable import as_line, readable

_INFINITE: Final = {INT64_MAX: "infinity", -INT64_MAX: "-infinity"}
_INFINITE_DATES: Final = {INT32_MAX: "infinity", -INT32_MAX: "-infinity"}


def plain_rows(batches: pa.RecordBatchReader) -> Iterator[tuple[Any, ...]]:
    """Yield rows as JSON has them: bytes as text, or hex; times as ISO 8601."""
    for batch in batches:
        columns = [[plain(value) for value in values_of(column)] for column in batch.columns]
        yield from zip(*columns, strict=True)


def values_of(column: pa.Array) -> list[Any]:
    """Return a column's values; times and dates that no datetime holds are ms, or ``infinity``."""
    return python_values(column, _shown)


def _shown(found: Any) -> dt.datetime | int | str:
    """Return a time or date of DuckDB."""
    value = nearest(found)
    if isinstance(value, dt.datetime):
        return value
    return (_INFINITE_DATES if pa.types.is_date(found.type) else _INFINITE).get(found.value, value)


def plain(value: Any) -> Any:
    """Return a value as JSON has it: bytes as text, or hex; times as ISO 8601; NaN as text."""
    if isinstance(value, bytes | bytearray):
        return as_line(readable(bytes(value)))
    if isinstance(value, dt.datetime):
        in_ms = value.microsecond % 1000 == getattr(value, "nanosecond", 0) == 0
        text = value.isoformat(timespec="milliseconds" if in_ms else "auto")
        return text.replace("+00:00", "Z")
    if isinstance(value, Decimal):
        return _number(value)
    if hasattr(value, "nanoseconds"):  # a difference of times
        return _interval(*value)
    if isinstance(value, dict):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return printable(value) if isinstance(value, int | float | str | None) else str(value)


def _number(value: Decimal) -> int | float | str:
    """Return a decimal as a number, as which DuckDB sums integers; text if it has more digits."""
    if value == int(value):
        return int(value)
    return float(value) if Decimal(repr(float(value))) == value else str(value)


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
