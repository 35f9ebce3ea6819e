"""How the plain twins fill the columns of `kernels.reading.outputs`."""

import numpy as np
import numpy.typing as npt

from workbench.kernels.reading.outputs import (
    HEADER_COUNT,
    HEADER_KEY_BYTES,
    HEADER_VALUE_BYTES,
    HEADER_VALUE_NULLS,
    HEADERS,
    KEY_BYTES,
    KEY_NULLS,
    KEYS,
    RECORDS,
    VALUE_BYTES,
    VALUE_NULLS,
    VALUES,
    RecordOutputs,
)

Bytes = npt.NDArray[np.uint8]
Header = tuple[bytes, bytes | None]
Fields = tuple[int, int, bytes | None, bytes | None, list[Header]]


def _put(
    out: tuple[npt.NDArray[np.int64], Bytes, Bytes], places: tuple[int, int, int], value: bytes |
        None,
    used: npt.NDArray[np.int64],
) -> None:  # fmt: skip
    """Append to a binary column; ``places``: positions of count, bytes, nulls in ``used``."""
    offsets, data, validity = out
    count, size, nulls = places
    item, at = int(used[count]), int(used[size])
    if value is None:
        validity[item >> 3] &= ~(1 << (item & 7)) & 0xFF
        used[nulls] += 1
    else:
        data[at : at + len(value)] = np.frombuffer(value, np.uint8)
        used[size] += len(value)
    offsets[item + 1] = used[size]


_NO_NULLS = -1  # for header keys, which cannot be null


def append(out: RecordOutputs, options: int, row: int, record: Fields) -> None:
    """Append one record, given with its final timestamp and offset."""
    timestamp, offset, key, value, headers = record
    used = out.used
    item = int(used[RECORDS])
    out.offsets[item], out.timestamps[item], out.batch[item] = offset, timestamp, row
    if options & KEYS:
        columns = (out.key_offsets, out.key_data, out.key_validity)
        _put(columns, (RECORDS, KEY_BYTES, KEY_NULLS), key, used)
    if options & VALUES:
        columns = (out.value_offsets, out.value_data, out.value_validity)
        _put(columns, (RECORDS, VALUE_BYTES, VALUE_NULLS), value, used)
    if options & HEADERS:
        for name, content in headers:
            columns = (out.header_key_offsets, out.header_key_data, out.header_value_validity)
            _put(columns, (HEADER_COUNT, HEADER_KEY_BYTES, _NO_NULLS), name, used)
            columns = (out.header_value_offsets, out.header_value_data, out.header_value_validity)
            _put(columns, (HEADER_COUNT, HEADER_VALUE_BYTES, HEADER_VALUE_NULLS), content, used)
            used[HEADER_COUNT] += 1
        out.header_offsets[item + 1] = used[HEADER_COUNT]
    used[RECORDS] += 1


def lacks_room(out: RecordOutputs, options: int, records: int, size: int) -> bool:
    """Return whether a batch of ``records`` and ``size`` bytes might not fit the rest."""
    used = out.used
    return bool(
        used[RECORDS] + records > len(out.offsets)
        or (options & KEYS and used[KEY_BYTES] + size > len(out.key_data))
        or (options & VALUES and used[VALUE_BYTES] + size > len(out.value_data))
        or (
            options & HEADERS
            and (
                used[HEADER_COUNT] + size // 2 + 1 >= len(out.header_key_offsets)
                or used[HEADER_KEY_BYTES] + size > len(out.header_key_data)
                or used[HEADER_VALUE_BYTES] + size > len(out.header_value_data)
            )
        )
    )
