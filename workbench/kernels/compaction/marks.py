"""Marks of offsets, compiled: two bits per offset, counted from an origin.

They record that an offset was put into a table of keys, and that a later one replaced it. So
whether a record is superseded can be checked without its key.
"""

from workbench.kernels._jit import kernel
from workbench.kernels.intrinsics import read_u8, write_u8


@kernel
def set_mark(marks: int, count: int, offset: int, bit: int) -> None:
    """Set a bit of an offset, counted from the origin; ``count`` bytes are at address ``marks``."""
    if 0 <= offset < 4 * count:
        at = marks + (offset >> 2)
        write_u8(at, read_u8(at) | bit << 2 * (offset & 3))


@kernel
def marks_of(marks: int, count: int, offset: int) -> int:
    """Return the bits of an offset, counted from the origin; 0 if there are none."""
    if 0 <= offset < 4 * count:
        return read_u8(marks + (offset >> 2)) >> 2 * (offset & 3) & 3  # type: ignore[no-any-return]
    return 0
