"""Twin of `kernels.writing.canonical` in plain Python."""

import numpy as np
import numpy.typing as npt

from workbench.kernels.plain.varint import BadRecordError, decode_varint, encode_varint
from workbench.layout import problems

Bytes = npt.NDArray[np.uint8]


def _canonical_record(data: bytes, at: int, end: int, offset_delta: int, least: int) -> int | None:
    """Return the end of a record; None if a builder would write it in another way.

    Args:
        least: the smallest allowed timestamp delta in ms.
    """

    def shortest(at: int, bits: int = 32) -> tuple[int, int]:
        value, behind = decode_varint(data, at, end, bits)
        if encode_varint(value) != data[at:behind]:
            raise BadRecordError(problems.BAD_VARINT, at)
        return value, behind

    def field(at: int, least: int = -1) -> int:
        size, behind = shortest(at)
        if not least <= size <= end - behind:
            raise BadRecordError(problems.BAD_VALUE, at)
        return behind + max(size, 0)

    try:
        length, at = shortest(at)
        if not 1 <= length <= end - at or data[at]:
            return None
        end = at + length
        delta, at = shortest(at + 1, 64)
        found, at = shortest(at)
        if delta < least or (offset_delta == 0 and delta) or found != offset_delta:
            return None
        at = field(field(at))
        count, at = shortest(at)
        if count < 0:
            return None
        for _ in range(count):
            at = field(field(at, 0))
    except BadRecordError:
        return None
    return at if at == end else None


def are_canonical(data: Bytes, start: int, end: int, count: int, base_timestamp: int) -> bool:
    """Return whether records are as a builder writes them: see `canonical.are_canonical`."""
    raw, at = data[start:end].tobytes(), 0
    for index in range(count):
        found = _canonical_record(raw, at, len(raw), index, -1 - base_timestamp)
        if found is None:
            return False
        at = found
    return at == len(raw)
