"""Damage done to bytes and files, each at a named place: flip a bit, cut, zero, insert, overwrite.

The functions take bytes and return damaged ones; `edit` applies one to a file.
"""

from collections.abc import Callable, Iterator
from pathlib import Path


def flip(data: bytes, position: int, bit: int = 0) -> bytes:
    """Return the bytes with one bit turned over, 0 being the lowest of its byte."""
    return overwrite(data, position, bytes([data[position] ^ 1 << bit]))


def cut(data: bytes, size: int) -> bytes:
    """Return the first ``size`` bytes."""
    return data[:size]


def zero(data: bytes, start: int, end: int) -> bytes:
    """Return the bytes with zeros from ``start`` to ``end`` (exclusive)."""
    return overwrite(data, start, bytes(end - start))


def overwrite(data: bytes, position: int, new: bytes) -> bytes:
    """Return the bytes with others in the place of as many from ``position`` on."""
    return data[:position] + new + data[position + len(new) :]


def insert(data: bytes, position: int, new: bytes) -> bytes:
    """Return the bytes with others put in at ``position``."""
    return data[:position] + new + data[position:]


def every_cut(data: bytes) -> Iterator[bytes]:
    """Yield the bytes cut to each size below their own, the shortest first."""
    return (cut(data, size) for size in range(len(data)))


def every_flip(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield (position, bytes with one bit of the byte at it turned over), for each bit of each."""
    return (
        (position, flip(data, position, bit)) for position in range(len(data)) for bit in range(8)
    )


def edit(path: Path, change: Callable[[bytes], bytes]) -> None:
    """Change a file by one of these: ``edit(path, lambda data: cut(data, 100))``."""
    path.write_bytes(change(path.read_bytes()))
