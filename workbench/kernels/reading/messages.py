"""Messages of magic 0 and 1 into columns, compiled: plain messages, and those inside wrappers.

Kafka: LegacyRecord, AbstractLegacyRecordBatch.DeepRecordsIterator (4.2)
"""

import numpy as np
import numpy.typing as npt

from workbench.kernels._jit import kernel
from workbench.kernels.checksum import crc32_at
from workbench.kernels.intrinsics import (
    address_of,
    copy,
    read_i8,
    read_i32,
    read_i64,
    write_i32,
    write_i64,
)
from workbench.kernels.reading.outputs import (
    CHECK_CRC,
    HEADERS,
    KEYS,
    OUT_OF_ROOM,
    VALUES,
    RecordOutputs,
    Rows,
)
from workbench.kernels.reading.targets import (
    Counters,
    Targets,
    clear_bit,
    load_counters,
    set_bits,
    store_counters,
    targets_of,
)
from workbench.layout.attributes import CODEC_MASK, LOG_APPEND_TIME, NONE
from workbench.layout.batch_header import LENGTH_END, MAGIC_AT
from workbench.layout.message_header import (
    MESSAGE_ATTRIBUTES_AT,
    MESSAGE_CRC_FROM,
    MESSAGE_SIZE_AT,
    MESSAGE_TIMESTAMP_AT,
    MESSAGE_V0,
    MESSAGE_V1,
    SMALLEST_ENTRY,
    SMALLEST_MESSAGE,
)
from workbench.layout.problems import (
    BAD_INNER_MESSAGE,
    BAD_KEY,
    BAD_VALUE,
    BAD_WRAPPER_OFFSET,
    CRC_MISMATCH,
    CUT_WRAPPER,
    EMPTY_WRAPPER,
    NESTED_COMPRESSION,
    OK,
    RECORD_NOT_FILLED,
)

_V0_HEADER = MESSAGE_V0.itemsize
_V1_HEADER = MESSAGE_V1.itemsize


@kernel
def _decode_message(
    at: int, end: int, row: int, options: int, to: Targets, c: Counters
) -> tuple[Counters, int, int]:
    """Decode one entry; write its stored offset and its own timestamp.

    Requires: ``end - at`` is the entry's size and at least SMALLEST_ENTRY; for magic 1, 8 bytes
        more.
    """
    start = at
    key_bytes, value_bytes = c.key_bytes, c.value_bytes
    key_nulls, value_nulls = c.key_nulls, c.value_nulls
    timestamp = -1
    header = _V0_HEADER
    if read_i8(at + MAGIC_AT) == 1:
        timestamp = read_i64(at + MESSAGE_TIMESTAMP_AT)
        header = _V1_HEADER
    write_i64(to.offsets + 8 * c.records, read_i64(at))
    write_i64(to.timestamps + 8 * c.records, timestamp)
    write_i32(to.batch + 4 * c.records, row)
    at = start + header
    size = read_i32(at)
    at += 4
    if size > end - at - 4:
        return c, BAD_KEY, at - 4
    if options & KEYS:
        if size < 0:
            clear_bit(to.key_validity, c.records)
            key_nulls += 1
        else:
            copy(to.key_data + key_bytes, at, size)
            key_bytes += size
        write_i64(to.key_offsets + 8 * (c.records + 1), key_bytes)
    at += max(size, 0)
    size = read_i32(at)
    at += 4
    if size > end - at:
        return c, BAD_VALUE, at - 4
    if options & VALUES:
        if size < 0:
            clear_bit(to.value_validity, c.records)
            value_nulls += 1
        else:
            copy(to.value_data + value_bytes, at, size)
            value_bytes += size
        write_i64(to.value_offsets + 8 * (c.records + 1), value_bytes)
    at += max(size, 0)
    if at != end:
        return c, RECORD_NOT_FILLED, at
    if options & HEADERS:
        write_i32(to.header_offsets + 4 * (c.records + 1), c.headers)
    after = Counters(
        c.records + 1,
        key_bytes,
        value_bytes,
        c.headers,
        c.header_key_bytes,
        c.header_value_bytes,
        key_nulls,
        value_nulls,
        c.header_value_nulls,
    )
    return after, OK, at


@kernel
def _decode_inner(
    at: int, end: int, row: int, options: int, to: Targets, c: Counters, stamp: tuple[bool, int]
) -> tuple[Counters, int, int]:
    """Decode the entries of one decompressed wrapper; skip an incomplete last one.

    Args:
        stamp: (whether every message of magic 1 has the wrapper's timestamp, that timestamp).

    Returns:
        The counters, a code, and its position; with OK, where the whole entries end.
    """
    use_timestamp, timestamp = stamp
    while end - at >= LENGTH_END:
        size = read_i32(at + MESSAGE_SIZE_AT)
        if size < SMALLEST_MESSAGE:
            return c, BAD_INNER_MESSAGE, at
        if size > end - at - LENGTH_END:
            break
        magic = read_i8(at + MAGIC_AT)
        if magic < 0 or magic > 1 or (magic == 1 and size < SMALLEST_MESSAGE + 8):
            return c, BAD_INNER_MESSAGE, at
        if read_i8(at + MESSAGE_ATTRIBUTES_AT) & CODEC_MASK:
            return c, NESTED_COMPRESSION, at
        entry_end = at + LENGTH_END + size
        c, code, where = _decode_message(at, entry_end, row, options, to, c)
        if code != OK:
            return c, code, where
        if use_timestamp and magic == 1:
            write_i64(to.timestamps + 8 * (c.records - 1), timestamp)
        at = entry_end
    return c, OK, at


@kernel
def _place_inner(out: RecordOutputs, first: int, last: int, magic: int, offset: int) -> int:
    """Turn inner offsets of records [first, last) into the log's; return a code.

    Args:
        magic, offset: the wrapper's magic and offset.
    """
    if first == last:
        return EMPTY_WRAPPER
    if magic == 1 and offset != 0:  # some producers leave it at 0: then inner offsets are kept
        last_inner = out.offsets[last - 1]
        if offset < last_inner:
            return BAD_WRAPPER_OFFSET
        for record in range(first, last):
            out.offsets[record] += offset - last_inner
    return OK


@kernel
def decode_messages(
    data: npt.NDArray[np.uint8],
    spans: npt.NDArray[np.int64],
    rows: Rows,
    first: int,
    last: int,
    options: int,
    out: RecordOutputs,
) -> tuple[int, int, int]:
    """Decode magic 0 and 1 entries ``first`` to ``last`` (excluded) into columns.

    Args:
        data: uint8[n], C-contiguous.
        spans: int64[m, 2]: a plain message's whole entry, or a wrapper's decompressed value.
        rows: BATCH_ROW[m]; `base_offset` and `record_count` of wrappers are filled in.
        options: sum of CHECK_CRC (plain messages only), KEYS, VALUES, HEADERS (always empty lists).
        out: the outputs to append to, see `decode.decode_records`.

    Returns:
        (row, code, position), see `decode.decode_records`; with CUT_WRAPPER the row's whole
        messages are there.
    """
    start = address_of(data)
    to = targets_of(out)
    counters = load_counters(out.used)
    for index in range(first, last):
        row = rows[index]
        begin = start + spans[index, 0]
        end = start + spans[index, 1]
        size = end - begin
        before = counters
        code = OK
        where = begin
        if (
            before.records + size // SMALLEST_ENTRY + 1 > len(out.offsets)
            or (options & KEYS and before.key_bytes + size > len(out.key_data))
            or (options & VALUES and before.value_bytes + size > len(out.value_data))
        ):
            code = OUT_OF_ROOM
        elif row.codec != NONE:
            stamp = (row.timestamp_type == LOG_APPEND_TIME, row.max_timestamp)
            counters, code, where = _decode_inner(begin, end, index, options, to, counters, stamp)
            if code == OK:
                code = _place_inner(
                    out, before.records, counters.records, np.int64(row.magic), row.last_offset
                )
                if code == OK:
                    row.base_offset = out.offsets[before.records]
                    row.record_count = counters.records - before.records
                    if where != end:
                        store_counters(out.used, counters)
                        return index, CUT_WRAPPER, where - start
        elif options & CHECK_CRC and (
            crc32_at(begin + MESSAGE_CRC_FROM, size - MESSAGE_CRC_FROM) != row.crc
        ):
            code = CRC_MISMATCH
        else:
            counters, code, where = _decode_message(begin, end, index, options, to, counters)
        if code != OK:
            if options & KEYS:
                set_bits(to.key_validity, before.records, counters.records + 1)
            if options & VALUES:
                set_bits(to.value_validity, before.records, counters.records + 1)
            store_counters(out.used, before)
            return index, code, where - start
    store_counters(out.used, counters)
    return last, OK, 0


@kernel
def check_message_crcs(
    data: npt.NDArray[np.uint8], position: int, rows: Rows, matches: npt.NDArray[np.bool_]
) -> None:
    """Check the CRC of whole magic 0 and 1 entries; arguments as in `decode.check_crcs`."""
    start = address_of(data) - position
    for index in range(len(rows)):
        row = rows[index]
        if row.problem == OK and 0 <= row.magic <= 1:
            at = start + row.position + MESSAGE_CRC_FROM
            matches[index] = crc32_at(at, row.size - MESSAGE_CRC_FROM) == row.crc
