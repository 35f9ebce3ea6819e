"""Byte places and structs of the dtypes declared in this folder.

A packed big-endian numpy dtype is the one declaration of a layout. Many at once are read through
the dtype; one at a time through `as_struct`, which costs half as much.
"""

import struct
from typing import Any, Final

import numpy as np

_CODES: Final = {
    "i1": "b", "u1": "B", "i2": "h", "u2": "H", "i4": "i", "u4": "I", "i8": "q", "u8": "Q",
}  # fmt: skip


def place(layout: np.dtype[Any], field: str) -> int:
    """Return the byte place of ``field`` in ``layout``."""
    assert layout.fields is not None
    return int(layout.fields[field][1])


def width(layout: np.dtype[Any], field: str) -> int:
    """Return how many bytes ``field`` takes in ``layout``."""
    return int(layout[field].itemsize)


def as_struct(layout: np.dtype[Any]) -> struct.Struct:
    """Return the big-endian struct with the same fields, to read or write one at a time."""
    return struct.Struct(">" + "".join(_CODES[layout[name].str[1:]] for name in layout.names or ()))
