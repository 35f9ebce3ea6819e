"""Check the records of one magic 2 batch, compiled: their structure, and the topic's rules.

Kafka: DefaultRecord.readFrom and readPartiallyFrom, LogValidator.validateRecord (4.2)
"""

import numpy as np
import numpy.typing as npt

from workbench.kernels._jit import kernel
from workbench.kernels.intrinsics import address_of
from workbench.kernels.varint import read_varint, read_varlong
from workbench.kernels.writing.checks import APPEND_TIME, AT, HEADS_ONLY, NEEDS_KEYS
from workbench.layout.attributes import (
    CREATE_TIME,
    LOG_APPEND_TIME,
)
from workbench.layout.problems import (
    BAD_COUNT,
    BAD_HEADERS,
    BAD_KEY,
    BAD_RECORD_LENGTH,
    BAD_VALUE,
    BAD_VARINT,
    BYTES_AFTER_RECORDS,
    OK,
    RECORD_NOT_FILLED,
)

_SMALLEST_BODY = 1  # bytes after a record's length: the attributes are read before anything else


@kernel
def is_refused(
    timestamp: int, facts: tuple[bool, bool], options: int, window: tuple[int, int, int]
) -> bool:
    """Return whether a record breaks a rule of the topic.

    Args:
        facts: (has a key, its batch has append times).
        window: (now, ms before now, ms after now), the bounds of a create time.
    """
    has_key, has_append_time = facts
    if options & NEEDS_KEYS and not has_key:
        return True
    if options & APPEND_TIME == 0 and timestamp != -1:
        now, before, after = window
        age = now - timestamp
        return age > before or -age > after
    return has_append_time


@kernel
def _walk_records(
    at: int,
    end: int,
    base_offset: int,
    count: int,
    times: tuple[int, int, bool],
    options: int,
    window: tuple[int, int, int],
) -> tuple[int, int, int, int, int, bool]:
    """Walk over the records of a batch of magic 2 between two addresses.

    Args:
        times: (base timestamp, max timestamp, whether the max is every record's timestamp).

    Returns:
        (code, address of the problem, records, largest timestamp, rejected records, whether the
        offsets are 0, 1, 2 …).
    """
    base_timestamp, max_timestamp, use_max = times
    heads_only = options & HEADS_ONLY != 0
    largest = -1
    refused = 0
    in_order = True
    for index in range(count):
        length, next_at = read_varint(at, end)
        if next_at == 0:
            return BAD_VARINT, at, index, largest, refused, in_order
        record_end = end
        if not heads_only:
            if length < _SMALLEST_BODY or length > end - next_at:
                return BAD_RECORD_LENGTH, at, index, largest, refused, in_order
            record_end = next_at + length
        at = next_at + 1  # the record's attributes: one byte, unused
        timestamp_delta, next_at = read_varlong(at, record_end)
        if next_at == 0:
            return BAD_VARINT, at, index, largest, refused, in_order
        at = next_at
        offset_delta, next_at = read_varint(at, record_end)
        if next_at == 0:
            return BAD_VARINT, at, index, largest, refused, in_order
        at = next_at
        key_size, next_at = read_varint(at, record_end)
        if next_at == 0:
            return BAD_VARINT, at, index, largest, refused, in_order
        if key_size > record_end - next_at:
            return BAD_KEY, at, index, largest, refused, in_order
        at = next_at + max(key_size, 0)
        value_size, next_at = read_varint(at, record_end)
        if next_at == 0:
            return BAD_VARINT, at, index, largest, refused, in_order
        if value_size > record_end - next_at:
            return BAD_VALUE, at, index, largest, refused, in_order
        at = next_at + max(value_size, 0)
        headers, next_at = read_varint(at, record_end)
        if next_at == 0:
            return BAD_VARINT, at, index, largest, refused, in_order
        if headers < 0 or headers > record_end - next_at:
            return BAD_HEADERS, at, index, largest, refused, in_order
        at = next_at
        for _ in range(headers):
            size, next_at = read_varint(at, record_end)
            if next_at == 0:
                return BAD_VARINT, at, index, largest, refused, in_order
            if size < 0 or size > record_end - next_at:
                return BAD_HEADERS, at, index, largest, refused, in_order
            at = next_at + size
            size, next_at = read_varint(at, record_end)
            if next_at == 0:
                return BAD_VARINT, at, index, largest, refused, in_order
            if size > record_end - next_at:
                return BAD_HEADERS, at, index, largest, refused, in_order
            at = next_at + max(size, 0)
        if not heads_only and at != record_end:
            return RECORD_NOT_FILLED, at, index, largest, refused, in_order
        timestamp = max_timestamp if use_max else base_timestamp + timestamp_delta
        largest = max(largest, timestamp)
        in_order &= base_offset + offset_delta == index
        refused += is_refused(timestamp, (key_size >= 0, use_max), options, window)
    if count > 0 and at != end:
        return BYTES_AFTER_RECORDS, at, count, largest, refused, in_order
    return OK, at, count, largest, refused, in_order


@kernel
def fill_records(
    at: int,
    end: int,
    row: npt.NDArray[np.int64],
    shift: int,
    options: int,
    window: tuple[int, int, int],
) -> None:
    """Fill a row's columns about records, for those of a magic 2 batch between two addresses.

    Args:
        shift: the number to add to an address to get a position.
    """
    count = row[AT.record_count]
    if count < 0:
        row[AT.record_problem] = BAD_COUNT
        row[AT.record_problem_at] = at - shift
        row[AT.checked_count] = 0
        return
    times = (
        row[AT.base_timestamp],
        row[AT.max_timestamp],
        row[AT.timestamp_type] == LOG_APPEND_TIME,
    )
    code, where, checked, largest, refused, in_order = _walk_records(
        at, end, row[AT.base_offset], count, times, options, window
    )
    row[AT.record_problem] = code
    row[AT.record_problem_at] = where - shift
    row[AT.checked_count] = checked
    row[AT.largest_timestamp] = largest
    row[AT.refused_count] = refused
    row[AT.is_in_order] = in_order
    row[AT.is_ready] = (
        code == OK
        and refused == 0
        and in_order
        and count > 0
        and row[AT.base_offset] == 0
        and row[AT.last_offset] == count - 1
        and row[AT.is_control] == 0
        and (row[AT.producer_id] < 0 or row[AT.base_sequence] >= 0)
        and row[AT.timestamp_type] == CREATE_TIME
        and options & APPEND_TIME == 0
        and row[AT.max_timestamp] == largest
    )


@kernel
def check_records(
    data: npt.NDArray[np.uint8],
    start: int,
    end: int,
    row: npt.NDArray[np.int64],
    options: int,
    now: int,
    before: int,
    after: int,
) -> None:
    """Check the decompressed records of one magic 2 batch.

    Args:
        data: uint8[n], C-contiguous; the records are [start, end).
        row: int64[COLUMNS], the batch's header; its columns about records are filled, with
            `record_problem_at` relative to ``start``.
        options: sum of NEEDS_KEYS, APPEND_TIME, HEADS_ONLY.
        now, before, after: times in ms; a create time must be in [now - before, now + after].
    """
    base = address_of(data)
    fill_records(base + start, base + end, row, base + start, options, (now, before, after))
