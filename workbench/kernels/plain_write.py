"""The kernels of appending in plain Python: readable twins, as `plain` is for reading.

Same arguments, same results, same codes and positions as the compiled ones in `validate`
and `validate_records`, whose docstrings hold here too.
"""

import zlib
from typing import Final, NamedTuple

import crcmod.predefined
import numpy as np
import numpy.typing as npt

from workbench.kernels import checks
from workbench.kernels.plain import BadRecordError, decode_varint, wrap64
from workbench.layout import attributes, problems
from workbench.layout.batch_header import (
    BATCH_HEADER,
    BATCH_HEADER_SIZE,
    CRC_FROM,
    ENTRY_HEADER_SIZE,
    LENGTH_END,
    MAGIC_AT,
)
from workbench.layout.message_header import (
    MESSAGE_CRC_FROM,
    MESSAGE_V0,
    MESSAGE_V1,
    SMALLEST_ENTRY,
    SMALLEST_MESSAGE,
)
from workbench.layout.structure import as_struct

__all__ = ["check_batches", "check_records"]

_BATCH: Final = as_struct(BATCH_HEADER)
_V0: Final = as_struct(MESSAGE_V0)
_V1: Final = as_struct(MESSAGE_V1)
_SMALLEST: Final = (SMALLEST_ENTRY, SMALLEST_ENTRY + 8, BATCH_HEADER_SIZE)
_crc32c = crcmod.predefined.mkCrcFun("crc-32c")

Bytes = npt.NDArray[np.uint8]
Row = npt.NDArray[np.int64]


class _Rules(NamedTuple):
    """What is asked of records: `check_batches` says what each means."""

    options: int
    now: int
    before: int
    after: int

    def refuses(self, timestamp: int, *, has_key: bool, has_append_time: bool) -> bool:
        """Return whether a record breaks a rule of the topic."""
        if self.options & checks.NEEDS_KEYS and not has_key:
            return True
        if not self.options & checks.APPEND_TIME and timestamp != attributes.NO_TIMESTAMP:
            age = wrap64(self.now - timestamp)
            return age > self.before or wrap64(-age) > self.after
        return has_append_time


def _skip(data: bytes, at: int, end: int, code: int, *, nullable: bool = True) -> tuple[bool, int]:
    """Pass over a size and that many bytes: (whether it is not null, the place behind)."""
    size, behind = decode_varint(data, at, end, 32)
    if size > end - behind or (size < 0 and not nullable):
        raise BadRecordError(code, at)
    return size >= 0, behind + max(size, 0)


def _record(data: bytes, at: int, end: int, *, heads_only: bool) -> tuple[int, int, bool, int]:
    """Pass over one record: (timestamp delta, offset delta, whether it has a key, place behind)."""
    start = at
    length, at = decode_varint(data, at, end, 32)
    record_end = end
    if not heads_only:
        if length < 1 or length > end - at:
            raise BadRecordError(problems.BAD_RECORD_LENGTH, start)
        record_end = at + length
    at += 1
    timestamp_delta, at = decode_varint(data, at, record_end, 64)
    offset_delta, at = decode_varint(data, at, record_end, 32)
    has_key, at = _skip(data, at, record_end, problems.BAD_KEY)
    _, at = _skip(data, at, record_end, problems.BAD_VALUE)
    count, behind = decode_varint(data, at, record_end, 32)
    if not 0 <= count <= record_end - behind:
        raise BadRecordError(problems.BAD_HEADERS, at)
    at = behind
    for _ in range(count):
        _, at = _skip(data, at, record_end, problems.BAD_HEADERS, nullable=False)
        _, at = _skip(data, at, record_end, problems.BAD_HEADERS)
    if not heads_only and at != record_end:
        raise BadRecordError(problems.RECORD_NOT_FILLED, at)
    return timestamp_delta, offset_delta, has_key, at


def _check_records(data: bytes, at: int, end: int, shift: int, row: Row, rules: _Rules) -> None:
    count, base, largest = (
        int(row[column])
        for column in (checks.RECORD_COUNT, checks.BASE_TIMESTAMP, checks.MAX_TIMESTAMP)
    )
    use_max = row[checks.TIMESTAMP_TYPE] == attributes.LOG_APPEND_TIME
    newest, refused, in_order, done, code = attributes.NO_TIMESTAMP, 0, True, 0, problems.OK
    heads_only = bool(rules.options & checks.HEADS_ONLY)
    row[checks.CHECKED_COUNT] = 0
    row[checks.RECORD_PROBLEM_AT] = at - shift
    if count < 0:
        row[checks.RECORD_PROBLEM] = problems.BAD_COUNT
        return
    try:
        while done < count:
            delta, offset_delta, has_key, at = _record(data, at, end, heads_only=heads_only)
            timestamp = largest if use_max else wrap64(base + delta)
            newest = max(newest, timestamp)
            in_order &= wrap64(int(row[checks.BASE_OFFSET]) + offset_delta) == done
            refused += rules.refuses(timestamp, has_key=has_key, has_append_time=bool(use_max))
            done += 1
        if count and at != end:
            raise BadRecordError(problems.BYTES_AFTER_RECORDS, at)  # noqa: TRY301
    except BadRecordError as error:
        code, at = error.code, error.position
    row[checks.RECORD_PROBLEM] = code
    row[checks.RECORD_PROBLEM_AT] = at - shift
    row[checks.CHECKED_COUNT] = done
    row[checks.LARGEST_TIMESTAMP] = newest
    row[checks.REFUSED_COUNT] = refused
    row[checks.IS_IN_ORDER] = in_order
    row[checks.IS_READY] = (
        code == problems.OK
        and refused == 0
        and in_order
        and count > 0
        and row[checks.BASE_OFFSET] == 0
        and row[checks.LAST_OFFSET] == count - 1
        and not row[checks.IS_CONTROL]
        and (row[checks.PRODUCER_ID] < 0 or row[checks.BASE_SEQUENCE] >= 0)
        and row[checks.TIMESTAMP_TYPE] == attributes.CREATE_TIME
        and not rules.options & checks.APPEND_TIME
        and largest == newest
    )


def _problem(crc: int, computed: int, codec: int) -> int:
    if crc != computed:
        return problems.CRC_MISMATCH
    return problems.UNKNOWN_CODEC if codec > attributes.ZSTD else problems.OK


def _read_batch(entry: bytes, row: Row) -> None:
    (base_offset, _, epoch, _, crc, stored, delta, base_time, max_time, pid, pepoch, seq, count) = (
        _BATCH.unpack_from(entry)
    )
    bits = stored & 0xFF  # Kafka looks at the low byte only
    last_sequence = -1
    if seq != -1:
        last_sequence = seq + delta if seq + delta < 2**31 else seq + delta - 2**31
    computed = _crc32c(entry[CRC_FROM:])
    codec = bits & attributes.CODEC_MASK
    row[checks.BASE_OFFSET : checks.MAGIC] = (
        base_offset,
        wrap64(base_offset + delta),
        base_time,
        max_time,
        epoch,
    )
    row[checks.ATTRIBUTES : checks.RECORD_PROBLEM] = (
        stored,
        codec,
        1 if bits & attributes.LOG_APPEND_TIME_BIT else 0,
        1 if bits & attributes.TRANSACTIONAL_BIT else 0,
        1 if bits & attributes.CONTROL_BIT else 0,
        pid,
        pepoch,
        seq,
        last_sequence,
        count,
        crc,
        computed,
        _problem(crc, computed, codec),
    )


def _read_message(entry: bytes, magic: int, row: Row) -> None:
    offset, _, crc, _, bits = _V0.unpack_from(entry)
    timestamp, kind = attributes.NO_TIMESTAMP, attributes.NO_TIMESTAMP_TYPE
    if magic == 1:
        timestamp = _V1.unpack_from(entry)[-1]
        kind = 1 if bits & attributes.LOG_APPEND_TIME_BIT else 0
    codec = bits & attributes.CODEC_MASK
    computed = zlib.crc32(entry[MESSAGE_CRC_FROM:])
    row[checks.BASE_OFFSET : checks.MAGIC] = (
        -1 if codec else offset,
        offset,
        timestamp,
        timestamp,
        -1,
    )
    row[checks.ATTRIBUTES : checks.RECORD_PROBLEM] = (
        *(bits, codec, kind, 0, 0, -1, -1, -1, -1),
        -1 if codec else 1,
        crc,
        computed,
        _problem(crc, computed, codec),
    )


def _check_message(entry: bytes, magic: int, row: Row, rules: _Rules) -> None:
    key_at = (_V1 if magic else _V0).size
    has_key = int.from_bytes(entry[key_at : key_at + 4], signed=True) >= 0
    timestamp = int(row[checks.MAX_TIMESTAMP])
    has_append_time = bool(row[checks.TIMESTAMP_TYPE] == attributes.LOG_APPEND_TIME)
    row[checks.CHECKED_COUNT] = 1
    row[checks.LARGEST_TIMESTAMP] = max(attributes.NO_TIMESTAMP, timestamp)
    row[checks.REFUSED_COUNT] = rules.refuses(
        timestamp, has_key=has_key, has_append_time=has_append_time
    )


def check_records(
    data: Bytes, start: int, end: int, row: Row, options: int, now: int, before: int, after: int
) -> None:
    """Check the decompressed records of one magic 2 batch: see `validate.check_records`."""
    rules = _Rules(options, now, before, after)
    _check_records(data[start:end].tobytes(), 0, end - start, 0, row, rules)


def check_batches(
    data: Bytes,
    position: int,
    rows: npt.NDArray[np.int64],
    options: int,
    now: int,
    before: int,
    after: int,
) -> tuple[int, int, int]:
    """Walk over the batches of an append and check them: see `validate.check_batches`."""
    rules = _Rules(options, now, before, after)
    count = 0
    while True:
        left = len(data) - position
        if left <= 0:
            return count, position, problems.END
        if left < LENGTH_END:
            return count, position, problems.UNFINISHED
        head = data[position : position + ENTRY_HEADER_SIZE].tobytes()
        length = int.from_bytes(head[8:LENGTH_END], signed=True)
        if length < SMALLEST_MESSAGE:
            return count, position, problems.BAD_SIZE
        if left < ENTRY_HEADER_SIZE:
            return count, position, problems.UNFINISHED
        magic = int.from_bytes(head[MAGIC_AT:], signed=True)
        if not 0 <= magic <= 2:
            return count, position, problems.UNKNOWN_MAGIC
        size = length + LENGTH_END
        if size > left:
            return count, position, problems.UNFINISHED
        if count == len(rows):
            return count, position, problems.ROWS_FULL
        entry = data[position : position + size].tobytes()
        row = rows[count]
        row[:] = -1
        row[[checks.POSITION, checks.SIZE, checks.MAGIC]] = position, size, magic
        row[[checks.RECORD_PROBLEM, checks.REFUSED_COUNT, checks.IS_READY]] = 0
        row[checks.IS_IN_ORDER] = 1
        if size < _SMALLEST[magic]:
            row[checks.BASE_OFFSET : checks.LAST_OFFSET + 1] = int.from_bytes(head[:8], signed=True)
            row[checks.PROBLEM] = problems.SHORT_BATCH
        elif magic == 2:
            _read_batch(entry, row)
        else:
            _read_message(entry, magic, row)
        sound = row[checks.PROBLEM] == problems.OK and row[checks.CODEC] == attributes.NONE
        if options & checks.CHECK_RECORDS and sound:
            if magic == 2:
                _check_records(entry, BATCH_HEADER_SIZE, size, -position, row, rules)
            else:
                _check_message(entry, magic, row, rules)
        count += 1
        position += size
