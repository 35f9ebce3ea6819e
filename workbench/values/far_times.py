"""Times and dates beyond those that Python has, or that Arrow writes as text."""

import datetime as dt
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from workbench.layout.integers import INT64_MIN
from workbench.runtime.times import DAY, EPOCH

_PER_SECOND: Final = {"s": 1, "ms": 1000, "us": 1_000_000, "ns": 1_000_000_000}
_YEARS: Final = np.array(["-32767", "32768"], "M8[Y]")
"""Before and after these, Arrow writes another year, none, or fails: it has 16 bits."""


def texts_of(array: Any) -> pa.Array:
    """Return values without fields as large_string[n], as Arrow writes them; times of any year.

    ``2024-01-01 00:00:00.000Z`` is a time in UTC, one without a zone has no ``Z``.
    """
    kind = array.type
    if not (pa.types.is_timestamp(kind) or pa.types.is_date32(kind)) or "[ns" in str(kind):
        return array.cast(pa.large_string())
    unit = "D" if pa.types.is_date32(kind) else kind.unit
    numbers = array.cast(pa.int32() if unit == "D" else pa.int64())
    first, end = _YEARS.astype(f"M8[{unit}]").astype(np.int64).tolist()
    is_far = pc.or_(pc.less(numbers, first), pc.greater_equal(numbers, end))
    if not pc.any(is_far).as_py():
        return array.cast(pa.large_string())
    texts = pc.if_else(is_far, None, array).cast(pa.large_string())
    is_far = pc.and_kleene(is_far, numbers.is_valid())  # null is not far
    zone = "Z" if unit != "D" and kind.tz else ""
    found = [far_text(each, unit, zone) for each in numbers.filter(is_far).to_pylist()]
    return pc.replace_with_mask(texts, is_far, pa.array(found, texts.type))


def plain_texts(array: Any) -> pa.Array:
    """Return values as `texts_of`; of nested ones, their Python text."""
    if pa.types.is_nested(array.type) or pa.types.is_null(array.type):
        texts = [None if each is None else str(each) for each in python_values(array)]
        return pa.array(texts, pa.large_string())
    return texts_of(array)


def far_text(number: int, unit: str, zone: str, between: str = " ") -> str:
    """Return a time since 1970 as text.

    Args:
        number: how many units.
        unit: of `numpy.datetime64`.
        zone: what follows it.
        between: what is between date and time.
    """
    if number == INT64_MIN:  # which numpy takes for no time
        return str(number)
    return f"{np.array(number, f'M8[{unit}]')}{zone}".replace("T", between)


def nearest(found: Any) -> dt.datetime | int:
    """Return a time or date of Arrow as a datetime in us; beyond those, as ms since 1970."""
    kind = found.type
    if pa.types.is_date32(kind):
        return int(found.value) * DAY
    per_second = _PER_SECOND["ms" if pa.types.is_date(kind) else kind.unit]
    try:
        return EPOCH + dt.timedelta(microseconds=found.value * 1_000_000 // per_second)
    except OverflowError:
        return int(found.value * 1000 // per_second)


def python_values(array: Any, far: Callable[[Any], Any] = nearest) -> list[Any]:
    """Return the values of an array as Python has them, at any depth.

    Args:
        array: of any type.
        far: returns what stands for a time or date of Arrow that no datetime holds.
    """
    try:
        return list(array.to_pylist())
    except (OverflowError, ValueError):
        return [_value(each, far) for each in array]


def _value(found: Any, far: Callable[[Any], Any]) -> Any:
    kind = found.type
    if not found.is_valid:
        return None
    if pa.types.is_struct(kind):
        return {name: _value(each, far) for name, each in found.items()}
    if pa.types.is_map(kind):
        return [(_value(each["key"], far), _value(each["value"], far)) for each in found.values]
    if pa.types.is_union(kind):
        return _value(found.value, far)
    if pa.types.is_nested(kind) and hasattr(found, "values"):
        return [_value(each, far) for each in found.values]
    try:
        return found.as_py()
    except (OverflowError, ValueError):
        return far(found) if pa.types.is_temporal(kind) else found.value
