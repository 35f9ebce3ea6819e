"""Twin of `kernels.writing.validate` in plain Python."""

from typing import Final

import numpy as np
import numpy.typing as npt

from workbench.kernels.plain.checksum import crc32, crc32c
from workbench.kernels.plain.varint import wrap64
from workbench.kernels.plain.writing.validate_records import (
    AppendRules,
    Bytes,
    Row,
    check_decompressed,
)
from workbench.kernels.writing import checks
from workbench.kernels.writing.checks import AT
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

_BATCH: Final = as_struct(BATCH_HEADER)
_V0: Final = as_struct(MESSAGE_V0)
_V1: Final = as_struct(MESSAGE_V1)
_SMALLEST: Final = (SMALLEST_ENTRY, SMALLEST_ENTRY + 8, BATCH_HEADER_SIZE)


def _problem(crc: int, computed: int, codec: int) -> int:
    if crc != computed:
        return problems.CRC_MISMATCH
    return problems.UNKNOWN_CODEC if codec > attributes.LARGEST_CODEC else problems.OK


def _read_batch(entry: bytes, row: Row) -> None:
    (base_offset, _, epoch, _, crc, stored, delta, base_time, max_time, pid, pepoch, seq, count) = (
        _BATCH.unpack_from(entry)
    )
    bits = stored & 0xFF  # Kafka reads only the low byte
    last_sequence = -1
    if seq != -1:
        last_sequence = seq + delta if seq + delta < 2**31 else seq + delta - 2**31
    computed = crc32c(entry[CRC_FROM:])
    codec = bits & attributes.CODEC_MASK
    row[AT.base_offset : AT.magic] = (
        base_offset,
        wrap64(base_offset + delta),
        base_time,
        max_time,
        epoch,
    )
    row[AT.attributes : AT.record_problem] = (
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
    computed = crc32(entry[MESSAGE_CRC_FROM:])
    row[AT.base_offset : AT.magic] = (
        -1 if codec else offset,
        offset,
        timestamp,
        timestamp,
        -1,
    )
    row[AT.attributes : AT.record_problem] = (
        *(bits, codec, kind, 0, 0, -1, -1, -1, -1),
        -1 if codec else 1,
        crc,
        computed,
        _problem(crc, computed, codec),
    )


def _check_message(entry: bytes, magic: int, row: Row, rules: AppendRules) -> None:
    key_at = (_V1 if magic else _V0).size
    has_key = int.from_bytes(entry[key_at : key_at + 4], signed=True) >= 0
    timestamp = int(row[AT.max_timestamp])
    has_append_time = bool(row[AT.timestamp_type] == attributes.LOG_APPEND_TIME)
    row[AT.checked_count] = 1
    row[AT.largest_timestamp] = max(attributes.NO_TIMESTAMP, timestamp)
    row[AT.refused_count] = rules.refuses(
        timestamp, has_key=has_key, has_append_time=has_append_time
    )


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
    rules = AppendRules(options, now, before, after)
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
        row[[AT.position, AT.size, AT.magic]] = position, size, magic
        row[[AT.record_problem, AT.refused_count, AT.is_ready]] = 0
        row[AT.is_in_order] = 1
        if size < _SMALLEST[magic]:
            row[AT.base_offset : AT.last_offset + 1] = int.from_bytes(head[:8], signed=True)
            row[AT.problem] = problems.SHORT_BATCH
        elif magic == 2:
            _read_batch(entry, row)
        else:
            _read_message(entry, magic, row)
        sound = row[AT.problem] == problems.OK and row[AT.codec] == attributes.NONE
        if options & checks.CHECK_RECORDS and sound:
            if magic == 2:
                check_decompressed(entry, BATCH_HEADER_SIZE, size, -position, row, rules)
            else:
                _check_message(entry, magic, row, rules)
        count += 1
        position += size
