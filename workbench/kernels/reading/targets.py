"""The targets of decode kernels as addresses, and their fill levels as scalars.

Passing arrays to an inner kernel costs reference counts, which is much on batches of one record;
named tuples of numbers cost nothing.
"""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.kernels._jit import inlined, kernel
from workbench.kernels.intrinsics import address_of, copy, move, read_u8, write_u8
from workbench.kernels.reading.outputs import (
    HEADER_COUNT,
    HEADER_KEY_BYTES,
    HEADER_VALUE_BYTES,
    HEADER_VALUE_NULLS,
    KEY_BYTES,
    KEY_NULLS,
    RECORDS,
    VALUE_BYTES,
    VALUE_NULLS,
    RecordOutputs,
)

STEP: Final = 32  # bytes; values move by at least a batch header, which is more
_LONG: Final = 256  # bytes; from this size the system's copy is faster


class Targets(NamedTuple):
    """Addresses of the output arrays."""

    offsets: int
    timestamps: int
    batch: int
    key_offsets: int
    key_data: int
    key_validity: int
    value_offsets: int
    value_data: int
    value_validity: int
    header_offsets: int
    header_key_offsets: int
    header_key_data: int
    header_value_offsets: int
    header_value_data: int
    header_value_validity: int


class Counters(NamedTuple):
    """How much of each output is filled: `RecordOutputs.used` as scalars."""

    records: int
    key_bytes: int
    value_bytes: int
    headers: int
    header_key_bytes: int
    header_value_bytes: int
    key_nulls: int
    value_nulls: int
    header_value_nulls: int


@kernel
def targets_of(out: RecordOutputs) -> Targets:
    """Return the addresses of the arrays of ``out``."""
    return Targets(
        address_of(out.offsets),
        address_of(out.timestamps),
        address_of(out.batch),
        address_of(out.key_offsets),
        address_of(out.key_data),
        address_of(out.key_validity),
        address_of(out.value_offsets),
        address_of(out.value_data),
        address_of(out.value_validity),
        address_of(out.header_offsets),
        address_of(out.header_key_offsets),
        address_of(out.header_key_data),
        address_of(out.header_value_offsets),
        address_of(out.header_value_data),
        address_of(out.header_value_validity),
    )


@kernel
def load_counters(used: npt.NDArray[np.int64]) -> Counters:
    """Return ``used`` as scalars."""
    return Counters(
        used[RECORDS],
        used[KEY_BYTES],
        used[VALUE_BYTES],
        used[HEADER_COUNT],
        used[HEADER_KEY_BYTES],
        used[HEADER_VALUE_BYTES],
        used[KEY_NULLS],
        used[VALUE_NULLS],
        used[HEADER_VALUE_NULLS],
    )


@kernel
def store_counters(used: npt.NDArray[np.int64], counters: Counters) -> None:
    """Write the scalars back."""
    used[RECORDS] = counters.records
    used[KEY_BYTES] = counters.key_bytes
    used[VALUE_BYTES] = counters.value_bytes
    used[HEADER_COUNT] = counters.headers
    used[HEADER_KEY_BYTES] = counters.header_key_bytes
    used[HEADER_VALUE_BYTES] = counters.header_value_bytes
    used[KEY_NULLS] = counters.key_nulls
    used[VALUE_NULLS] = counters.value_nulls
    used[HEADER_VALUE_NULLS] = counters.header_value_nulls


@kernel
def clear_bit(bitmap: int, item: int) -> None:
    """Clear the validity bit of ``item``."""
    at = bitmap + (item >> 3)
    write_u8(at, read_u8(at) & ~(1 << (item & 7)))


@kernel
def set_bits(bitmap: int, first: int, last: int) -> None:
    """Set the validity bits of [first, last) again, after a batch that failed."""
    for item in range(first, last):
        at = bitmap + (item >> 3)
        write_u8(at, read_u8(at) | (1 << (item & 7)))


@inlined
def copy_field(target: int, source: int, size: int, room: int) -> None:
    """Copy a key or value, beyond its end if there is room.

    Args:
        target: the address to write to; the bytes can overlap if it is `STEP` or more below
            ``source``.
        room: the number of bytes that can be read at ``source`` and written at ``target``.
    """
    if size > _LONG or room - size < STEP:
        move(target, source, size)
        return
    done = 0
    while done < size:
        copy(target + done, source + done, STEP)
        done += STEP
