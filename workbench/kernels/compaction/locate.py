"""Locate the records of magic 2 batches for compaction, without a copy, compiled.

Every byte that is read is checked against its bound first, as strictly as `decode` does.

Kafka: DefaultRecord.readFrom, DefaultRecordBatch.iterator (4.2)
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.kernels._jit import inlined, kernel
from workbench.kernels.compaction.marks import marks_of
from workbench.kernels.intrinsics import address_of, read_u8
from workbench.kernels.reading.outputs import OUT_OF_ROOM, Rows
from workbench.kernels.varint import read_short, read_usual, read_varint, read_varlong
from workbench.kernels.writing.canonical import is_shortest
from workbench.layout.attributes import LOG_APPEND_TIME, NONE
from workbench.layout.batch_header import BATCH_HEADER_SIZE, SMALLEST_RECORD
from workbench.layout.compaction import (
    HAS_COMPRESSED,
    HAS_HORIZONS,
    HAS_OTHERS,
    HAS_PRODUCERS,
    HAS_TRANSACTIONS,
    IS_SUPERSEDED,
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

_NULL = -1
_USUAL_HEAD = 7  # most bytes of a length, attributes, timestamp and offset delta that are short
_USUAL_BODY = 3  # least bytes of the sizes of a key and a value, and the count of headers


@kernel
def _read_any_size(at: int, end: int) -> tuple[int, int, bool]:
    """Return what `_read_size` does, however many bytes there are."""
    size, behind = read_varint(at, end)
    return size, behind, size >= _NULL and behind != 0 and is_shortest(at, behind, 5, 0x0F)


@inlined
def _read_size(at: int, end: int) -> tuple[int, int, bool]:
    """Return (value, address after it, whether a builder writes it so); address 0: incomplete."""
    size, behind, is_short = read_short(at, end)
    if behind != 0:
        return size, behind, is_short and size >= _NULL
    return _read_any_size(at, end)  # type: ignore[no-any-return]


@kernel
def _pass_headers(at: int, end: int, count: int) -> tuple[int, int, bool]:
    """Skip the headers of a record: (address, code, whether a builder writes them so)."""
    shortest = True
    for _ in range(count):
        size, behind, is_short = _read_size(at, end)
        if behind == 0:
            return at, BAD_VARINT, shortest
        if size < 0 or size > end - behind:
            return at, BAD_HEADERS, shortest
        at = behind + size
        shortest &= is_short
        size, behind, is_short = _read_size(at, end)
        if behind == 0:
            return at, BAD_VARINT, shortest
        if size > end - behind:
            return at, BAD_HEADERS, shortest
        at = behind + max(size, 0)
        shortest &= is_short
    return at, OK, shortest


@kernel
def _read_any_head(at: int, end: int) -> tuple[int, int, int, int, int, bool, int]:
    """Return what `_read_head` does for any head, and whether a builder writes it so.

    A code follows; if it is not OK, the first number is the address of the problem.
    """
    length, behind = read_varint(at, end)
    if behind == 0:
        return at, 0, 0, 0, 0, False, BAD_VARINT
    if length < SMALLEST_RECORD - 1 or length > end - behind:
        return at, 0, 0, 0, 0, False, BAD_RECORD_LENGTH
    record_end = behind + length
    at = behind + 1  # after the attributes: one byte, unused
    timestamp_delta, tail = read_varlong(at, record_end)
    if tail == 0:
        return at, 0, 0, 0, 0, False, BAD_VARINT
    offset_delta, behind, shortest = _read_size(tail, record_end)
    if behind == 0:
        return tail, 0, 0, 0, 0, False, BAD_VARINT
    return record_end, timestamp_delta, tail, offset_delta, behind, shortest, OK


@inlined
def _read_head(at: int, end: int) -> tuple[int, int, int, int, int]:
    """Read a record up to its key, if its numbers are short.

    Returns:
        (address after the record, timestamp delta, address after that, offset delta, address after
        that); the first is 0 if the head is not as usual: more than two bytes per number, more than
        a builder writes, or invalid.
    """
    if end - at < _USUAL_HEAD:
        return 0, 0, 0, 0, 0
    length, behind = read_usual(at)
    record_end = behind + length
    if behind == 0 or length < SMALLEST_RECORD - 1 or record_end > end:
        return 0, 0, 0, 0, 0
    timestamp_delta, tail = read_usual(behind + 1)  # after the attributes: one byte, unused
    if tail == 0:
        return 0, 0, 0, 0, 0
    offset_delta, behind = read_usual(tail)
    if behind == 0 or behind > record_end or offset_delta < _NULL:
        return 0, 0, 0, 0, 0
    return record_end, timestamp_delta, tail, offset_delta, behind


@kernel
def _read_any_body(at: int, end: int) -> tuple[int, int, int, bool, int]:
    """Return what `_read_body` does for any body, and whether a builder writes it so.

    A code follows; if it is not OK, the first number is the address of the problem.
    """
    key_size, behind, shortest = _read_size(at, end)
    if behind == 0:
        return at, 0, 0, False, BAD_VARINT
    if key_size > end - behind:
        return at, 0, 0, False, BAD_KEY
    key_start = behind
    at = behind + max(key_size, 0)
    value_size, behind, is_short = _read_size(at, end)
    if behind == 0:
        return at, 0, 0, False, BAD_VARINT
    if value_size > end - behind:
        return at, 0, 0, False, BAD_VALUE
    at = behind + max(value_size, 0)
    shortest &= is_short
    headers, behind, is_short = _read_size(at, end)
    if behind == 0:
        return at, 0, 0, False, BAD_VARINT
    if headers < 0 or headers > end - behind:
        return at, 0, 0, False, BAD_HEADERS
    at = behind
    shortest &= is_short
    if headers > 0:
        at, code, is_short = _pass_headers(at, end, headers)
        if code != OK:
            return at, 0, 0, False, code
        shortest &= is_short
    if at != end:
        return at, 0, 0, False, RECORD_NOT_FILLED
    return key_start, key_size, value_size, shortest, OK


@inlined
def _read_body(at: int, end: int) -> tuple[int, int, int]:
    """Read the rest of a record from its key size, if it has no headers and short numbers.

    Returns:
        (address of the key, its size, size of the value); the first is 0 if the body is not as
        usual, see `_read_head`.
    """
    if end - at < _USUAL_BODY:
        return 0, 0, 0
    key_size, key_start = read_usual(at)
    at = key_start + max(key_size, 0)
    if key_start == 0 or key_size < _NULL or end - at < _USUAL_BODY - 1:
        return 0, 0, 0
    value_size, behind = read_usual(at)
    if behind == 0 or value_size < _NULL or behind + max(value_size, 0) != end - 1:
        return 0, 0, 0
    if read_u8(end - 1) != 0:
        return 0, 0, 0
    return key_start, key_size, value_size


@kernel
def _locate_batch(
    span: tuple[int, int],
    start: int,
    times: tuple[int, int, bool],
    base_offset: int,
    row_and_count: tuple[int, int],
    places: Any,
    used: int,
    marks: tuple[int, int, int],
) -> tuple[int, int, int]:
    """Locate the records of one batch.

    Args:
        span: (address of the first record, address after the last).
        start: the address of position 0.
        times: (base timestamp, max timestamp, whether the max is every record's timestamp).
        row_and_count: (row of the batch, its record count).
        places: RECORD_PLACE[n], filled from ``used``.
        marks: (address, bytes, origin); records marked as superseded are skipped.

    Returns:
        (used, code, address of the problem).
    """
    at, end = span
    base_timestamp, max_timestamp, use_max = times
    row, count = row_and_count
    mark_at, mark_count, origin = marks
    for index in range(count):
        shortest = True
        record_end, timestamp_delta, tail, offset_delta, key_at = _read_head(at, end)
        if record_end == 0:
            record_end, timestamp_delta, tail, offset_delta, key_at, shortest, code = (
                _read_any_head(at, end)
            )
            if code != OK:
                return used, code, record_end
        at = record_end
        offset = base_offset + offset_delta
        # The pass that built the map has seen a newer record of its key: the rest is not read.
        if marks_of(mark_at, mark_count, offset - origin) & IS_SUPERSEDED:
            continue
        key_start, key_size, value_size = _read_body(key_at, record_end)
        if key_start == 0:
            key_start, key_size, value_size, is_short, code = _read_any_body(key_at, record_end)
            if code != OK:
                return used, code, key_start
            shortest &= is_short
        place = places[used]
        place.index = index
        place.offset = offset
        place.timestamp = max_timestamp if use_max else base_timestamp + timestamp_delta
        place.tail = tail - start
        place.end = record_end - start
        place.key_start = key_start - start
        place.key_size = max(key_size, _NULL)
        place.batch = row
        place.is_tombstone = value_size < 0
        place.is_shortest = shortest
        used += 1
    return used, (OK if at == end else BYTES_AFTER_RECORDS), at


@kernel
def _is_superseded(row: Any, marks: int, count: int, origin: int) -> bool:
    """Return whether all of a batch's offsets are marked so, and each of them has a record."""
    # With gaps, offsets of the batch have no record, and no mark of theirs says anything.
    if row.record_count < 1 or row.last_offset - row.base_offset != row.record_count - 1:
        return False
    for delta in range(row.record_count):
        if marks_of(marks, count, row.base_offset + delta - origin) & IS_SUPERSEDED == 0:
            return False
    return True


@kernel
def superseded_batches(
    rows: Rows, marks: npt.NDArray[np.uint8], origin: int, found: npt.NDArray[np.bool_]
) -> None:
    """Find the batches that hold only superseded records, according to the marks.

    Args:
        rows: BATCH_ROW[m], batches of magic 2.
        marks, origin: see `key_table.put_keys`.
        found: bool[m], filled.
    """
    for index in range(len(rows)):
        found[index] = _is_superseded(rows[index], address_of(marks), len(marks), origin)


@kernel
def locate_records(
    data: npt.NDArray[np.uint8],
    spans: npt.NDArray[np.int64],
    rows: Rows,
    first: int,
    last: int,
    places: Any,
    used: int,
    marks: npt.NDArray[np.uint8],
    origin: int,
) -> tuple[int, int, int, int, int]:
    """Locate the records of magic 2 batches ``first`` to ``last`` (excluded).

    Args:
        data: uint8[n], C-contiguous.
        spans: int64[m, 2], start and end of each batch's records in ``data``; a batch whose start
            is below 0 is skipped. int64[0, 2]: the records follow their headers in ``data``.
        rows: BATCH_ROW[m], the batches' headers.
        places: RECORD_PLACE[k], filled from ``used``.
        used: the number of records in ``places`` already.
        marks, origin: see `key_table.put_keys`; records marked as superseded are skipped. Only
            their size and offset are read; if a batch holds no others, nothing of it is read.

    Returns:
        (used, row, code, position, passed): all records located and ``(last, OK, 0)``, or the first
        row that cannot be read, why, and the position in ``data``. `OUT_OF_ROOM`: ``places`` is
        too short for that row. The last number is the number of skipped records.
    """
    passed = 0
    start = address_of(data)
    has_spans = len(spans) > 0
    for index in range(first, last):
        row = rows[index]
        count = row.record_count
        begin = start + row.position + BATCH_HEADER_SIZE
        end = start + row.position + row.size
        if has_spans:
            begin = start + spans[index, 0]
            end = start + spans[index, 1]
        has_none = begin < start or count == 0
        if has_none or _is_superseded(row, address_of(marks), len(marks), origin):
            passed += count
            continue
        # Before room is asked for: the bytes cannot hold so many records.
        if count < 0 or count * SMALLEST_RECORD > end - begin:
            return used, index, BAD_COUNT, begin - start, passed
        if count > len(places) - used:
            return used, index, OUT_OF_ROOM, begin - start, passed
        behind, code, where = _locate_batch(
            (begin, end),
            start,
            (row.base_timestamp, row.max_timestamp, row.timestamp_type == LOG_APPEND_TIME),
            row.base_offset,
            (index, count),
            places,
            used,
            (address_of(marks), len(marks), origin),
        )
        if code != OK:
            return used, index, code, where - start, passed
        passed += count - (behind - used)
        used = behind
    return used, last, OK, 0, passed


@kernel
def survey_batches(rows: Rows) -> tuple[int, int]:
    """Return the kinds of batches present, a sum of `HAS_OTHERS` etc., and the last offset.

    Args:
        rows: BATCH_ROW[m].
    """
    found = 0
    highest = -1
    for index in range(len(rows)):
        row = rows[index]
        if row.magic != 2 or row.problem != OK:
            found |= HAS_OTHERS
        if row.codec != NONE:
            found |= HAS_COMPRESSED
        if row.is_transactional or row.is_control:
            found |= HAS_TRANSACTIONS
        if row.producer_id != -1:
            found |= HAS_PRODUCERS
        if row.delete_horizon != -1:
            found |= HAS_HORIZONS
        highest = max(highest, row.last_offset)
    return found, highest
