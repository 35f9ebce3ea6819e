"""Positions of fields in the dtypes declared in this folder, and structs of them.

A packed big-endian numpy dtype is the only declaration of a layout. The dtype reads many rows at
once; `as_struct` reads one at a time, in half the time.
"""

import struct
from typing import Any, Final

import numpy as np

_CODES: Final = {
    "i1": "b", "u1": "B", "i2": "h", "u2": "H", "i4": "i", "u4": "I", "i8": "q", "u8": "Q",
}  # fmt: skip


def place(layout: np.dtype[Any], field: str) -> int:
    """Return the byte where ``field`` begins in ``layout``."""
    assert layout.fields is not None
    return int(layout.fields[field][1])


def width(layout: np.dtype[Any], field: str) -> int:
    """Return how many bytes ``field`` takes in ``layout``."""
    return int(layout[field].itemsize)


def as_struct(layout: np.dtype[Any]) -> struct.Struct:
    """Return the big-endian struct with the same fields, to read or write one row at a time."""
    return struct.Struct(">" + "".join(_CODES[layout[name].str[1:]] for name in layout.names or ()))
