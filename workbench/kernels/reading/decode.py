"""Records of magic 2 batches into columns, compiled.

Every byte that is read is checked against its bound first.

Kafka: DefaultRecord.readFrom, DefaultRecordBatch.iterator (4.2)
"""

import numpy as np
import numpy.typing as npt

from workbench.kernels._jit import kernel
from workbench.kernels.checksum import crc32c_at
from workbench.kernels.intrinsics import address_of, copy, write_i32, write_i64
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
    copy_field,
    load_counters,
    set_bits,
    store_counters,
    targets_of,
)
from workbench.kernels.varint import read_varint, read_varlong
from workbench.layout.attributes import LOG_APPEND_TIME
from workbench.layout.batch_header import BATCH_HEADER_SIZE, CRC_FROM, SMALLEST_RECORD
from workbench.layout.problems import (
    BAD_COUNT,
    BAD_HEADERS,
    BAD_KEY,
    BAD_RECORD_LENGTH,
    BAD_VALUE,
    BAD_VARINT,
    BYTES_AFTER_RECORDS,
    CRC_MISMATCH,
    OK,
    RECORD_NOT_FILLED,
)


@kernel
def _decode_headers(
    at: int, end: int, count: int, options: int, to: Targets, filled: tuple[int, int, int, int]
) -> tuple[int, int, int, int, int, int]:
    """Decode ``count`` headers of one record; copy them when HEADERS is wanted.

    Args:
        filled: (headers, key bytes, value bytes, null values) before.

    Returns:
        (address after the headers, code, and the four values of ``filled`` afterwards).
    """
    headers, key_bytes, value_bytes, nulls = filled
    wanted = (options & HEADERS) != 0
    for _ in range(count):
        size, next_at = read_varint(at, end)
        if next_at == 0:
            return at, BAD_VARINT, headers, key_bytes, value_bytes, nulls
        if size < 0 or size > end - next_at:
            return at, BAD_HEADERS, headers, key_bytes, value_bytes, nulls
        at = next_at
        if wanted:
            copy(to.header_key_data + key_bytes, at, size)
            key_bytes += size
            write_i64(to.header_key_offsets + 8 * (headers + 1), key_bytes)
        at += size
        size, next_at = read_varint(at, end)
        if next_at == 0:
            return at, BAD_VARINT, headers, key_bytes, value_bytes, nulls
        if size > end - next_at:
            return at, BAD_HEADERS, headers, key_bytes, value_bytes, nulls
        at = next_at
        if wanted:
            if size < 0:
                clear_bit(to.header_value_validity, headers)
                nulls += 1
                size = 0
            copy(to.header_value_data + value_bytes, at, size)
            value_bytes += size
            write_i64(to.header_value_offsets + 8 * (headers + 1), value_bytes)
            headers += 1
        at += max(size, 0)
    return at, OK, headers, key_bytes, value_bytes, nulls


@kernel
def decode_batch(
    span: tuple[int, int],
    times: tuple[int, int, bool],
    base_offset: int,
    row_and_count: tuple[int, int],
    options: int,
    to: Targets,
    c: Counters,
) -> tuple[Counters, int, int]:
    """Decode the records of one batch.

    Args:
        span: (address of the first record, address after the last).
        times: (base timestamp, max timestamp, whether the max is every record's timestamp).
        row_and_count: (row of the batch, its record count).

    Returns:
        (counters afterwards, code, address of the problem).
    """
    at, end = span
    base_timestamp, max_timestamp, use_max = times
    row, record_count = row_and_count
    want_keys = (options & KEYS) != 0
    want_values = (options & VALUES) != 0
    want_headers = (options & HEADERS) != 0
    records, key_bytes, value_bytes = c.records, c.key_bytes, c.value_bytes
    headers, header_key_bytes, header_value_bytes = (
        c.headers,
        c.header_key_bytes,
        c.header_value_bytes,
    )
    key_nulls, value_nulls, header_nulls = c.key_nulls, c.value_nulls, c.header_value_nulls
    code = OK
    for _ in range(record_count):
        length, next_at = read_varint(at, end)
        if next_at == 0:
            code = BAD_VARINT
            break
        if length < SMALLEST_RECORD - 1 or length > end - next_at:
            code = BAD_RECORD_LENGTH
            break
        at = next_at
        record_end = at + length
        at += 1  # the record's attributes: one byte, unused
        timestamp_delta, next_at = read_varlong(at, record_end)
        if next_at == 0:
            code = BAD_VARINT
            break
        at = next_at
        offset_delta, next_at = read_varint(at, record_end)
        if next_at == 0:
            code = BAD_VARINT
            break
        at = next_at
        write_i64(to.offsets + 8 * records, base_offset + offset_delta)
        write_i64(
            to.timestamps + 8 * records,
            max_timestamp if use_max else base_timestamp + timestamp_delta,
        )
        write_i32(to.batch + 4 * records, row)

        size, next_at = read_varint(at, record_end)
        if next_at == 0:
            code = BAD_VARINT
            break
        if size > record_end - next_at:
            code = BAD_KEY
            break
        at = next_at
        if want_keys:
            if size < 0:
                clear_bit(to.key_validity, records)
                key_nulls += 1
            else:
                copy_field(to.key_data + key_bytes, at, size, end - at)
                key_bytes += size
            write_i64(to.key_offsets + 8 * (records + 1), key_bytes)
        at += max(size, 0)

        size, next_at = read_varint(at, record_end)
        if next_at == 0:
            code = BAD_VARINT
            break
        if size > record_end - next_at:
            code = BAD_VALUE
            break
        at = next_at
        if want_values:
            if size < 0:
                clear_bit(to.value_validity, records)
                value_nulls += 1
            else:
                copy_field(to.value_data + value_bytes, at, size, end - at)
                value_bytes += size
            write_i64(to.value_offsets + 8 * (records + 1), value_bytes)
        at += max(size, 0)

        count, next_at = read_varint(at, record_end)
        if next_at == 0:
            code = BAD_VARINT
            break
        if count < 0 or count > record_end - next_at:
            code = BAD_HEADERS
            break
        at = next_at
        if count > 0:
            (at, code, headers, header_key_bytes, header_value_bytes, header_nulls) = (
                _decode_headers(
                    at,
                    record_end,
                    count,
                    options,
                    to,
                    (headers, header_key_bytes, header_value_bytes, header_nulls),
                )
            )
            if code != OK:
                break
        if want_headers:
            write_i32(to.header_offsets + 4 * (records + 1), headers)
        if at != record_end:
            code = RECORD_NOT_FILLED
            break
        records += 1
    if code == OK and at != end:
        code = BYTES_AFTER_RECORDS
    if code != OK:
        if want_keys:
            set_bits(to.key_validity, c.records, records + 1)
        if want_values:
            set_bits(to.value_validity, c.records, records + 1)
        if want_headers:
            set_bits(to.header_value_validity, c.headers, headers + 1)
        return c, code, at
    after = Counters(
        records,
        key_bytes,
        value_bytes,
        headers,
        header_key_bytes,
        header_value_bytes,
        key_nulls,
        value_nulls,
        header_nulls,
    )
    return after, OK, at


@kernel
def _has_room(out: RecordOutputs, c: Counters, records: int, size: int, options: int) -> bool:
    """Return whether ``records`` more records of ``size`` bytes in total are sure to fit."""
    if c.records + records > len(out.offsets):
        return False
    if options & KEYS and c.key_bytes + size > len(out.key_data):
        return False
    if options & VALUES and c.value_bytes + size > len(out.value_data):
        return False
    return not (
        options & HEADERS
        and (
            c.headers + size // 2 + 1 >= len(out.header_key_offsets)
            or c.header_key_bytes + size > len(out.header_key_data)
            or c.header_value_bytes + size > len(out.header_value_data)
        )
    )


@kernel
def decode_records(
    data: npt.NDArray[np.uint8],
    spans: npt.NDArray[np.int64],
    rows: Rows,
    first: int,
    last: int,
    options: int,
    out: RecordOutputs,
) -> tuple[int, int, int]:
    """Decode the records of magic 2 batches ``first`` to ``last`` (excluded) into columns.

    Args:
        data: uint8[n], C-contiguous.
        spans: int64[m, 2], start and end of each batch's records in ``data``.
        rows: BATCH_ROW[m], the batches' headers; without rows that have a problem.
        options: the sum of CHECK_CRC, KEYS, VALUES, HEADERS. With CHECK_CRC the batch header must
            be before the span in ``data``, and the CRC of both is checked.
        out: the outputs to append to, with room for all records and all bytes of the spans. Its
            `value_data` can be ``data`` itself if a batch's values start `targets.STEP` or more
            before its span there, as they do with headers between the spans.

    Returns:
        (row, code, position): ``(last, OK, 0)``, or the first row that cannot be decoded, why, and
        the position in ``data``. Outputs then hold the whole batches before that row and nothing
        of it.
    """
    start = address_of(data)
    to = targets_of(out)
    counters = load_counters(out.used)
    for index in range(first, last):
        row = rows[index]
        begin = start + spans[index, 0]
        end = start + spans[index, 1]
        code = OK
        where = begin
        if row.record_count * SMALLEST_RECORD > end - begin:
            code = BAD_COUNT
        elif not _has_room(out, counters, row.record_count, end - begin, options):
            code = OUT_OF_ROOM
        elif options & CHECK_CRC:
            covered = begin - BATCH_HEADER_SIZE + CRC_FROM
            if crc32c_at(covered, end - covered) != row.crc:
                code = CRC_MISMATCH
        if code == OK and (row.record_count > 0):
            counters, code, where = decode_batch(
                (begin, end),
                (row.base_timestamp, row.max_timestamp, row.timestamp_type == LOG_APPEND_TIME),
                row.base_offset,
                (index, row.record_count),
                options,
                to,
                counters,
            )
        if code != OK:
            store_counters(out.used, counters)
            return index, code, where - start
    store_counters(out.used, counters)
    return last, OK, 0


@kernel
def check_crcs(
    data: npt.NDArray[np.uint8], position: int, rows: Rows, matches: npt.NDArray[np.bool_]
) -> None:
    """Check the CRC of whole magic 2 batches.

    Args:
        data: uint8[n], C-contiguous: the file's bytes from ``position``; holds every batch of
            ``rows``.
        rows: BATCH_ROW[m]; rows of other magic or with a problem are not checked.
        matches: bool[m], set for the checked rows.
    """
    start = address_of(data) - position
    for index in range(len(rows)):
        row = rows[index]
        if row.magic == 2 and row.problem == OK:
            covered = row.size - CRC_FROM
            matches[index] = crc32c_at(start + row.position + CRC_FROM, covered) == row.crc
