"""Check whether a batch's records are as a builder would write them, so that it can copy, compiled.

Kafka: DefaultRecord.writeTo (4.2), which writes every number in its shortest form
"""

import numpy as np
import numpy.typing as npt

from workbench.kernels._jit import kernel
from workbench.kernels.intrinsics import address_of, read_u8
from workbench.kernels.varint import read_varint, read_varlong
from workbench.layout.attributes import NO_TIMESTAMP

_NULL = -1


@kernel
def is_shortest(at: int, behind: int, most: int, highest: int) -> bool:
    """Return whether the varint in [at, behind) has its shortest form, without excess bits.

    Args:
        most: the size in bytes of the type's longest varint.
        highest: the largest last byte of such a varint.
    """
    last = read_u8(behind - 1)
    return behind - at == 1 or (last != 0 and (behind - at < most or last <= highest))


@kernel
def _shortest_varint(at: int, end: int) -> tuple[int, int]:
    """Return (value, address after it) of a varint; address 0 if it is not in shortest form."""
    value, behind = read_varint(at, end)
    if behind == 0 or not is_shortest(at, behind, 5, 0x0F):
        return 0, 0
    return value, behind


@kernel
def _behind_field(at: int, end: int) -> int:
    """Return the address after a size and that many bytes; 0 if no builder writes it so."""
    size, behind = _shortest_varint(at, end)
    if behind == 0 or size < _NULL or size > end - behind:
        return 0
    return behind + max(size, 0)  # type: ignore[no-any-return]


@kernel
def are_canonical(
    data: npt.NDArray[np.uint8], start: int, end: int, count: int, base_timestamp: int
) -> bool:
    """Return whether a builder would write the records of a batch in the same way.

    It would if their offset deltas are 0, 1, 2 …, the first has the base timestamp, no timestamp
    is below -1, their attributes are 0, and all numbers are in their shortest form.

    Args:
        data: uint8[n], C-contiguous; the records are [start, end).
        count: the number of records.
        base_timestamp: the batch's base timestamp in ms.
    """
    at = address_of(data) + start
    last = address_of(data) + end
    for index in range(count):
        length, body = _shortest_varint(at, last)
        if body == 0 or length < 1 or length > last - body or read_u8(body) != 0:
            return False
        record_end = body + length
        delta, at = read_varlong(body + 1, record_end)
        if at == 0 or not is_shortest(body + 1, at, 10, 1):
            return False
        if base_timestamp + delta < NO_TIMESTAMP or (index == 0 and delta != 0):
            return False
        offset_delta, at = _shortest_varint(at, record_end)
        if at == 0 or offset_delta != index:
            return False
        at = _behind_field(at, record_end)
        if at != 0:
            at = _behind_field(at, record_end)
        if at == 0:
            return False
        headers, at = _shortest_varint(at, record_end)
        if at == 0 or headers < 0:
            return False
        for _ in range(headers):
            size, behind = _shortest_varint(at, record_end)
            if behind == 0 or size < 0 or size > record_end - behind:
                return False
            at = _behind_field(behind + size, record_end)
            if at == 0:
                return False
        if at != record_end:
            return False
    return at == last  # type: ignore[no-any-return]
