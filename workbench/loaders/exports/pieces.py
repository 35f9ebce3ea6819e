"""Huge keys, values and headers as text, in pieces: whole, they would take many times their size.

A piece has the text of `PIECE` bytes.
"""

import base64
import codecs
from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt

from workbench.record.columns import BinaryColumn, RecordColumns
from workbench.runtime.words import json_text
from workbench.values.readable import is_text

PIECE: Final = 3 << 16  # bytes; base64 takes three at a time
HUGE: Final = 1 << 20
"""A record of more bytes is written in pieces; records written at once have fewer in total."""

MOST_DECODED: Final = 4 << 20
"""Bytes of the largest key or value that a decoder gets: it takes up to twenty times as much."""

_BYTES_A_HEADER: Final = 64  # a header of no bytes takes memory, too


def sizes_of(columns: RecordColumns) -> npt.NDArray[np.int64]:
    """Return int64[n]: about how many bytes each record's key, value and headers take."""
    assert columns.keys is not None
    assert columns.values is not None
    assert columns.headers is not None
    headers = columns.headers
    sizes = columns.keys.sizes() + columns.values.sizes()
    if int(headers.offsets[0]) < int(headers.offsets[-1]):
        for names_or_values in (headers.keys, headers.values):
            sizes += np.diff(names_or_values.offsets[headers.offsets])
        sizes += _BYTES_A_HEADER * np.diff(headers.offsets)
    return sizes


def are_huge(columns: RecordColumns) -> list[bool]:
    """Return which records are written in pieces."""
    huge: list[bool] = (sizes_of(columns) > HUGE).tolist()
    return huge


def size_at(column: BinaryColumn, index: int) -> int:
    """Return the bytes of one value, 0 for null."""
    return int(column.offsets[index + 1] - column.offsets[index])


def is_null_at(column: BinaryColumn, index: int) -> bool:
    """Return whether one value is null."""
    return column.validity is not None and not column.validity[index >> 3] >> (index & 7) & 1


def byte_pieces(column: BinaryColumn, index: int) -> Iterator[bytes]:
    """Yield the bytes of one value."""
    start, end = int(column.offsets[index]), int(column.offsets[index + 1])
    for at in range(start, end, PIECE):
        yield column.data[at : min(at + PIECE, end)].tobytes()


def hex_json_pieces(column: BinaryColumn, index: int) -> Iterator[str]:
    """Yield one value as JSON: a string of hex digits, or null."""
    if is_null_at(column, index):
        yield "null"
        return
    yield '"'
    for piece in byte_pieces(column, index):
        yield piece.hex()
    yield '"'


def text_json_pieces(column: BinaryColumn, index: int) -> Iterator[str]:
    """Yield one value as JSON: a string of text, in which bytes that are not UTF-8 are replaced."""
    yield '"'
    for text in utf8_pieces(column, index, "replace"):
        yield json_text(text)[1:-1]
    yield '"'


def readable_json_pieces(column: BinaryColumn, index: int) -> Iterator[str]:
    """Yield one value, not null, as JSON: a string of text, or an object with ``bytes`` as hex."""
    if is_text_at(column, index):
        yield from text_json_pieces(column, index)
    else:
        yield '{"bytes": '
        yield from hex_json_pieces(column, index)
        yield "}"


def is_text_at(column: BinaryColumn, index: int) -> bool:
    """Return whether one value is text, as `values.readable` says."""
    try:
        return all(map(is_text, utf8_pieces(column, index, "strict")))
    except UnicodeDecodeError:
        return False


def hex_pieces(column: BinaryColumn, index: int) -> Iterator[str]:
    """Yield one value as hex digits; ``null`` for null."""
    if is_null_at(column, index):
        yield "null"
    for piece in byte_pieces(column, index):
        yield piece.hex()


def base64_pieces(column: BinaryColumn, index: int) -> Iterator[str]:
    """Yield one value in base64; ``null`` for null."""
    if is_null_at(column, index):
        yield "null"
    for piece in byte_pieces(column, index):
        yield base64.b64encode(piece).decode()


def utf8_pieces(column: BinaryColumn, index: int, errors: str) -> Iterator[str]:
    """Yield the text of one value.

    Raises:
        UnicodeDecodeError: it is not UTF-8, and ``errors`` is "strict".
    """
    decoder = codecs.getincrementaldecoder("utf-8")(errors)
    for piece in byte_pieces(column, index):
        yield decoder.decode(piece)
    yield decoder.decode(b"", final=True)
