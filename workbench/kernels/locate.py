"""Where the records of magic 2 batches lie, compiled: what compaction works on, without a copy.

Every byte that is read is checked against its bound first, as strictly as `decode` does.

Kafka: DefaultRecord.readFrom, DefaultRecordBatch.iterator (4.2)
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.kernels._jit import inlined, kernel
from workbench.kernels.intrinsics import address_of
from workbench.kernels.marks import marks_of
from workbench.kernels.outputs import OUT_OF_ROOM, Rows
from workbench.kernels.varint import read_short, read_varint, read_varlong
from workbench.kernels.verbatim import is_shortest
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


@kernel
def _read_any_size(at: int, end: int) -> tuple[int, int, bool]:
    """Return what `_read_size` does, however many bytes there are."""
    size, behind = read_varint(at, end)
    return size, behind, size >= _NULL and behind != 0 and is_shortest(at, behind, 5, 0x0F)


@inlined
def _read_size(at: int, end: int) -> tuple[int, int, bool]:
    """Return (value, address behind it, whether a builder writes it so); address 0: cut short."""
    size, behind, is_short = read_short(at, end)
    if behind != 0:
        return size, behind, is_short and size >= _NULL
    return _read_any_size(at, end)  # type: ignore[no-any-return]


@kernel
def _pass_headers(at: int, end: int, count: int) -> tuple[int, int, bool]:
    """Pass over the headers of a record: (address, code, whether a builder writes them so)."""
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
        span: (address of the first record, address behind the last).
        start: address that byte places count from.
        times: (base timestamp, max timestamp, whether the max is every record's timestamp).
        row_and_count: (row of the batch, its record count).
        places: RECORD_PLACE[n], filled from ``used`` on.
        marks: (address, bytes, origin); records that they tell to be superseded are passed over.

    Returns:
        (used, code, address of what is wrong).
    """
    at, end = span
    base_timestamp, max_timestamp, use_max = times
    row, count = row_and_count
    mark_at, mark_count, origin = marks
    for index in range(count):
        length, behind = read_varint(at, end)
        if behind == 0:
            return used, BAD_VARINT, at
        if length < SMALLEST_RECORD - 1 or length > end - behind:
            return used, BAD_RECORD_LENGTH, at
        at = behind
        record_end = at + length
        at += 1  # the record's attributes: one byte, unused
        timestamp_delta, behind = read_varlong(at, record_end)
        if behind == 0:
            return used, BAD_VARINT, at
        at = behind
        tail = at
        offset_delta, behind, shortest = _read_size(at, record_end)
        if behind == 0:
            return used, BAD_VARINT, at
        offset = base_offset + offset_delta
        if marks_of(mark_at, mark_count, offset - origin) & IS_SUPERSEDED:
            at = record_end
            continue
        at = behind
        key_size, behind, is_short = _read_size(at, record_end)
        if behind == 0:
            return used, BAD_VARINT, at
        if key_size > record_end - behind:
            return used, BAD_KEY, at
        key_start = behind
        at = behind + max(key_size, 0)
        shortest &= is_short
        value_size, behind, is_short = _read_size(at, record_end)
        if behind == 0:
            return used, BAD_VARINT, at
        if value_size > record_end - behind:
            return used, BAD_VALUE, at
        at = behind + max(value_size, 0)
        shortest &= is_short
        headers, behind, is_short = _read_size(at, record_end)
        if behind == 0:
            return used, BAD_VARINT, at
        if headers < 0 or headers > record_end - behind:
            return used, BAD_HEADERS, at
        at = behind
        shortest &= is_short
        if headers > 0:
            at, code, is_short = _pass_headers(at, record_end, headers)
            if code != OK:
                return used, code, at
            shortest &= is_short
        if at != record_end:
            return used, RECORD_NOT_FILLED, at
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
    if row.record_count < 1 or row.last_offset - row.base_offset != row.record_count - 1:
        return False
    for delta in range(row.record_count):
        if marks_of(marks, count, row.base_offset + delta - origin) & IS_SUPERSEDED == 0:
            return False
    return True


@kernel
def superseded_batches(
    rows: Rows, marks: npt.NDArray[np.uint8], origin: int
) -> npt.NDArray[np.bool_]:
    """Return which batches hold no other records than superseded ones, as far as marks tell.

    Args:
        rows: BATCH_ROW[m], of magic 2.
        marks, origin: as of `key_table.put_keys`.
    """
    found = np.zeros(len(rows), np.bool_)
    for index in range(len(rows)):
        found[index] = _is_superseded(rows[index], address_of(marks), len(marks), origin)
    return found


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
) -> tuple[int, int, int, int]:
    """Locate the records of magic 2 batches ``first`` to ``last`` (excluded).

    Args:
        data: uint8[n], C-contiguous.
        spans: int64[m, 2], where the records of each batch start and end in ``data``; a batch that
            starts below 0 is passed over. int64[0, 2]: they stand behind their headers in ``data``.
        rows: BATCH_ROW[m], the batches' headers.
        places: RECORD_PLACE[k], filled from ``used`` on.
        used: records that are there already.
        marks, origin: as of `key_table.put_keys`; records that they tell to be superseded are
            passed over. Of those no more is read than where they end, and their offset; of a batch
            that holds no others, nothing.

    Returns:
        (used, row, code, position): all records located and ``(last, OK, 0)``, or the first row
        that cannot be read, why, and the byte place in ``data``. `OUT_OF_ROOM`: ``places`` is too
        short for that row.
    """
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
        if begin < start or count == 0:
            continue
        if _is_superseded(row, address_of(marks), len(marks), origin):
            continue
        if count < 0 or count * SMALLEST_RECORD > end - begin:
            return used, index, BAD_COUNT, begin - start
        if count > len(places) - used:
            return used, index, OUT_OF_ROOM, begin - start
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
            return used, index, code, where - start
        used = behind
    return used, last, OK, 0


@kernel
def survey_batches(rows: Rows) -> tuple[int, int]:
    """Return what there is among batches, a sum of `HAS_OTHERS` and its like, and the last offset.

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
