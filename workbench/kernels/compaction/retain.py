"""What compaction keeps of batches: decided record by record, and written, compiled.

Kafka: Cleaner.shouldRetainRecord, MemoryRecords.filterTo (4.2)
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.kernels._jit import kernel
from workbench.kernels.checksum import crc32c_at
from workbench.kernels.intrinsics import (
    address_of,
    copy,
    put_i16,
    put_i32,
    put_i64,
    write_u8,
)
from workbench.kernels.reading.outputs import OUT_OF_ROOM, Rows
from workbench.kernels.writing.encode import varint_size, write_varint
from workbench.layout.attributes import (
    CONTROL_BIT,
    DELETE_HORIZON_BIT,
    LOG_APPEND_TIME,
    LOG_APPEND_TIME_BIT,
    NO_TIMESTAMP,
    NONE,
    TRANSACTIONAL_BIT,
)
from workbench.layout.batch_header import (
    ATTRIBUTES_AT,
    BASE_SEQUENCE_AT,
    BASE_TIMESTAMP_AT,
    BATCH_HEADER_SIZE,
    BATCH_LENGTH_AT,
    CRC_AT,
    CRC_FROM,
    LAST_OFFSET_DELTA_AT,
    LENGTH_END,
    MAGIC_AT,
    MAX_TIMESTAMP_AT,
    PARTITION_LEADER_EPOCH_AT,
    PRODUCER_EPOCH_AT,
    PRODUCER_ID_AT,
    RECORD_COUNT_AT,
)
from workbench.layout.compaction import (
    BEYOND,
    COPIED,
    EMPTIED,
    NO_KEY,
    REBUILT,
    REMOVED,
    SUPERSEDED,
    TOMBSTONE,
    UNUSUAL,
)
from workbench.layout.integers import INT32_MAX
from workbench.layout.problems import OK

_NO_HORIZON = -1
_NO_PRODUCER = -1
_MAGIC = 2


@kernel
def decide_batches(
    rows: Rows,
    places: Any,
    found: npt.NDArray[np.int64],
    end_offset: int,
    reasons: npt.NDArray[np.uint8],
    superseded: int,
    new_horizon: int,
    outcomes: Any,
    first: int,
    last: int,
    chosen: npt.NDArray[np.uint8],
    newer: npt.NDArray[np.int64],
) -> tuple[int, int]:
    """Decide on the records of batches ``first`` to ``last`` (excluded), then on the batches.

    Args:
        rows: BATCH_ROW[m].
        places: RECORD_PLACE[n], all records of these batches, in their order.
        found: int64[n], the newest offset of each key; -1: not known.
        end_offset: the end of the offset map: it has no records at or after this offset.
        reasons: uint8[k, FACTS]: the reason for each rule of a batch and facts of a record.
        superseded: the reason for superseded records; records with this or a larger reason are
            dropped, the others kept.
        new_horizon: the delete horizon in ms for batches that get one now; -1: none gets one.
        outcomes: BATCH_OUTCOME[m], the second half of each is filled; the size of rebuilt batches
            is not known yet.
        chosen: uint8[n], filled: the records' reasons.
        newer: int64[n], filled: the offset that supersedes each record; -1: none does.

    Returns:
        (number of kept records, the largest `max_offset`).
    """
    index = 0
    total = 0
    highest = -1
    count = len(places)
    for batch in range(first, last):
        row = rows[batch]
        outcome = outcomes[batch]
        rule = outcome.rule
        start = index
        kept = 0
        tombstones = 0
        max_offset = -1
        while index < count and places[index].batch == batch:
            place = places[index]
            facts = 0
            if place.is_tombstone:
                facts |= TOMBSTONE
            if found[index] > place.offset:
                facts |= SUPERSEDED
            if place.key_size < 0:
                facts |= NO_KEY
            if place.offset >= end_offset:  # the map does not know whether it has a newer one
                facts |= BEYOND
            reason = reasons[rule, facts]
            chosen[index] = reason
            newer[index] = found[index] if reason == superseded else -1
            if reason < superseded:
                kept += 1
                tombstones += place.is_tombstone
                max_offset = place.offset
            index += 1
        total += kept
        horizon = row.delete_horizon
        size = row.size
        # A horizon is set once: it counts from the first cleaning that met the tombstone or marker.
        lacks_horizon = horizon == _NO_HORIZON and new_horizon != _NO_HORIZON
        sets_horizon = lacks_horizon and (outcome.sets_horizon or tombstones > 0)
        if kept > 0:
            # Nothing changes: the bytes are copied, still compressed, with their CRC. The batch's
            # last offset counts, which an earlier cleaning may have left without a record.
            if kept == row.record_count and row.magic == _MAGIC and not sets_horizon:
                verdict = COPIED
                max_offset = row.last_offset
            else:
                verdict = REBUILT
            if sets_horizon:
                horizon = new_horizon
        else:
            horizon = _NO_HORIZON
            # A header alone keeps a producer's newest sequence number, or the end of the round.
            if outcome.keeping != 0:
                verdict = EMPTIED
                size = BATCH_HEADER_SIZE
                max_offset = row.last_offset
            else:
                verdict = REMOVED
                size = 0
        outcome.verdict = verdict
        outcome.count = index - start
        outcome.kept = kept
        outcome.delete_horizon = horizon
        outcome.new_size = size
        outcome.max_offset = max_offset
        highest = max(highest, max_offset)
    return total, highest


@kernel
def _is_usual(row: Any) -> bool:
    """Return whether a builder takes the fields of a header.

    What it refuses is crafted or damaged, and is left to the builder in Python, which names why.
    """
    if row.magic != _MAGIC or not 0 <= row.last_offset - row.base_offset <= INT32_MAX:
        return False
    if row.producer_id == _NO_PRODUCER:
        return not row.is_transactional
    return row.producer_epoch != -1 and (row.base_sequence >= 0 or row.is_control)  # type: ignore[no-any-return]


@kernel
def _write_header(
    at: int, size: int, row: Any, attributes: int, times: tuple[int, int], count: int
) -> None:
    """Write the header of a batch before its records; the CRC, too, if they are final.

    Args:
        times: (base timestamp, max timestamp), ms.
    """
    put_i64(at, row.base_offset)
    put_i32(at + BATCH_LENGTH_AT, size - LENGTH_END)
    put_i32(at + PARTITION_LEADER_EPOCH_AT, row.partition_leader_epoch)
    write_u8(at + MAGIC_AT, _MAGIC)
    put_i16(at + ATTRIBUTES_AT, attributes)
    put_i32(at + LAST_OFFSET_DELTA_AT, row.last_offset - row.base_offset)
    put_i64(at + BASE_TIMESTAMP_AT, times[0])
    put_i64(at + MAX_TIMESTAMP_AT, times[1])
    put_i64(at + PRODUCER_ID_AT, row.producer_id)
    put_i16(at + PRODUCER_EPOCH_AT, row.producer_epoch)
    put_i32(at + BASE_SEQUENCE_AT, row.base_sequence)
    put_i32(at + RECORD_COUNT_AT, count)
    _seal(at, size)


@kernel
def _seal(at: int, size: int) -> None:
    """Write the CRC of a batch."""
    put_i32(at + CRC_AT, crc32c_at(at + CRC_FROM, size - CRC_FROM))


@kernel
def seal_batch(data: npt.NDArray[np.uint8], start: int, end: int) -> None:
    """Write the length and the CRC of a batch of magic 2 that is otherwise complete.

    Args:
        data: uint8[n], C-contiguous; the batch is [start, end).
    """
    at = address_of(data) + start
    put_i32(at + BATCH_LENGTH_AT, end - start - LENGTH_END)
    _seal(at, end - start)


@kernel
def _attributes_of(row: Any, codec: int) -> int:
    """Return the attributes that a batch keeps."""
    bits = codec
    if row.timestamp_type == LOG_APPEND_TIME:
        bits |= LOG_APPEND_TIME_BIT
    if row.is_transactional:
        bits |= TRANSACTIONAL_BIT
    if row.is_control:
        bits |= CONTROL_BIT
    return bits


@kernel
def _write_records(
    at: int,
    end: int,
    source: int,
    base_timestamp: int,
    places: Any,
    span: tuple[int, int],
    chosen: npt.NDArray[np.uint8],
    superseded: int,
    before: int,
) -> int:
    """Write the kept records of a batch; return the address after them.

    0: there is no room; -1: a builder must write them, for example because their offsets do not
    ascend from ``before``.
    """
    for index in range(span[0], span[1]):
        if chosen[index] >= superseded:
            continue
        place = places[index]
        if not place.is_shortest or place.timestamp < NO_TIMESTAMP or place.offset <= before:
            return -1
        before = place.offset
        delta = place.timestamp - base_timestamp
        tail = place.end - place.tail
        # From the offset delta on, a record is copied: the base offset does not change.
        length = 1 + varint_size(delta) + tail
        if length + varint_size(length) > end - at:
            return 0
        at = write_varint(at, length)
        write_u8(at, 0)
        at = write_varint(at + 1, delta)
        copy(at, source + place.tail, tail)
        at += tail
    return at


@kernel
def write_batches(
    buffer: npt.NDArray[np.uint8],
    data: npt.NDArray[np.uint8],
    rows: Rows,
    places: Any,
    used: int,
    chosen: npt.NDArray[np.uint8],
    superseded: int,
    outcomes: Any,
    first: int,
    last: int,
    out: npt.NDArray[np.uint8],
    filled: int,
) -> tuple[int, int, int, int]:
    """Write the rest of batches ``first`` to ``last`` (excluded), uncompressed unless unchanged.

    A rebuilt batch keeps its base and last offset, and so its sequence numbers. A compressed batch
    has the attributes of one, but its records are yet to be compressed.

    Args:
        buffer: uint8[b], C-contiguous: the bytes with the batches of ``rows``.
        data: uint8[n], C-contiguous: the bytes with the records of ``places``.
        rows: BATCH_ROW[m].
        places: RECORD_PLACE[k].
        used: the first record of batch ``first``.
        chosen, superseded: the records' reasons; see `decide_batches`.
        outcomes: BATCH_OUTCOME[m], as decided; the size of rebuilt batches is filled in.
        out: uint8[o], C-contiguous, filled from ``filled``.
        filled: the number of bytes of ``out`` in use.

    Returns:
        (filled, used, row, code): ``(…, last, OK)``, or a row that is not written and why: UNUSUAL:
        a builder must write it; OUT_OF_ROOM: ``out`` is too small.
    """
    base = address_of(out)
    end = base + len(out)
    at = base + filled
    source = address_of(data)
    for batch in range(first, last):
        row = rows[batch]
        outcome = outcomes[batch]
        behind = used + outcome.count
        verdict = outcome.verdict
        if verdict == COPIED:
            if row.size > end - at:
                return at - base, used, batch, OUT_OF_ROOM
            copy(at, address_of(buffer) + row.position, row.size)
            at += row.size
        elif verdict != REMOVED:
            if not _is_usual(row):
                return at - base, used, batch, UNUSUAL
            if end - at < BATCH_HEADER_SIZE:
                return at - base, used, batch, OUT_OF_ROOM
            if verdict == EMPTIED:
                times = (NO_TIMESTAMP, row.max_timestamp)
                _write_header(at, BATCH_HEADER_SIZE, row, _attributes_of(row, NONE), times, 0)
                at += BATCH_HEADER_SIZE
            else:
                base_timestamp = outcome.delete_horizon
                largest = NO_TIMESTAMP
                # Backward, so that the first kept record is the last to set the base timestamp. A
                # delete horizon has the place of that field.
                for index in range(behind - 1, used - 1, -1):
                    if chosen[index] < superseded:
                        largest = max(largest, places[index].timestamp)
                        if outcome.delete_horizon == _NO_HORIZON:
                            base_timestamp = places[index].timestamp
                if base_timestamp < NO_TIMESTAMP or outcome.max_offset > row.last_offset:
                    return at - base, used, batch, UNUSUAL
                records_end = _write_records(
                    at + BATCH_HEADER_SIZE,
                    end,
                    source,
                    base_timestamp,
                    places,
                    (used, behind),
                    chosen,
                    superseded,
                    row.base_offset - 1,
                )
                if records_end <= 0:
                    code = OUT_OF_ROOM if records_end == 0 else UNUSUAL
                    return at - base, used, batch, code
                attributes = _attributes_of(row, row.codec)
                if outcome.delete_horizon != _NO_HORIZON:
                    attributes |= DELETE_HORIZON_BIT
                if row.timestamp_type == LOG_APPEND_TIME:  # the batch's time is every record's
                    largest = row.max_timestamp
                times = (base_timestamp, largest)
                size = records_end - at
                _write_header(at, size, row, attributes, times, outcome.kept)
                outcome.new_size = size
                at = records_end
        used = behind
    return at - base, used, last, OK
