"""Define decoders: pairs of functions from the bytes of keys and values to what a person reads.

Decoders never raise on bad bytes: they return `failure(...)`, a dict with the reason and the bytes.
What they return can be written as JSON.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any

from workbench.errors import CorruptRecordError, UnsupportedFormatError

Bytes = bytes | memoryview


@dataclass(frozen=True, slots=True)
class Decoder:
    """How to read the records of a topic. Can be pickled and shared by threads.

    Attributes:
        name: as given to `registry.decoder`.
        key: from the bytes of a key to its meaning; None gives None.
        value: from the bytes of the record's key and value to the value's meaning. A null value
            gives None.
    """

    name: str
    key: Callable[[Bytes | None], Any]
    value: Callable[[Bytes | None, Bytes | None], Any]


class JsonText(str):
    """Text that is JSON, as it was stored."""

    __slots__ = ()


def failure(problem: str, data: Bytes) -> dict[str, str]:
    """Return the result for bytes that cannot be decoded: ``error`` and ``bytes`` in hex."""
    return {"error": problem, "bytes": bytes(data).hex()}


def problem_of(error: CorruptRecordError | UnsupportedFormatError) -> str:
    """Return what is wrong and where in the key or value, without naming a file."""
    return error.problem if error.position is None else f"byte {error.position}: {error.problem}"


def printable(value: Any) -> Any:
    """Return the same value as JSON has it: bytes as hex, number keys, NaN and infinity as text."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float) and not isfinite(value):
        return _NOT_FINITE.get(value, "NaN")
    if isinstance(value, dict):
        return {
            str(name): printable(item) if isinstance(item, _TO_PRINT) else item
            for name, item in value.items()
        }
    if isinstance(value, list):
        return [printable(item) if isinstance(item, _TO_PRINT) else item for item in value]
    return value


_TO_PRINT = (bytes, dict, float, list)
_NOT_FINITE = {inf: "Infinity", -inf: "-Infinity"}
