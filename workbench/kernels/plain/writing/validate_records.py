"""Twin of `kernels.writing.validate_records` in plain Python."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.kernels.plain.varint import BadRecordError, decode_varint, wrap64
from workbench.kernels.writing import checks
from workbench.kernels.writing.checks import AT
from workbench.layout import attributes, problems

Bytes = npt.NDArray[np.uint8]
Row = npt.NDArray[np.int64]


class AppendRules(NamedTuple):
    """The checks of records: see `check_batches`."""

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
    """Skip a size and that many bytes: (whether it is not null, the position after it)."""
    size, behind = decode_varint(data, at, end, 32)
    if size > end - behind or (size < 0 and not nullable):
        raise BadRecordError(code, at)
    return size >= 0, behind + max(size, 0)


def _record(data: bytes, at: int, end: int, *, heads_only: bool) -> tuple[int, int, bool, int]:
    """Skip one record: (timestamp delta, offset delta, whether it has a key, position after)."""
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


def check_decompressed(
    data: bytes, at: int, end: int, shift: int, row: Row, rules: AppendRules
) -> None:
    """Fill in the facts about the records of one batch; subtract ``shift`` from positions."""
    count, base, largest = (
        int(row[column]) for column in (AT.record_count, AT.base_timestamp, AT.max_timestamp)
    )
    use_max = row[AT.timestamp_type] == attributes.LOG_APPEND_TIME
    newest, refused, in_order, done, code = attributes.NO_TIMESTAMP, 0, True, 0, problems.OK
    heads_only = bool(rules.options & checks.HEADS_ONLY)
    row[AT.checked_count] = 0
    row[AT.record_problem_at] = at - shift
    if count < 0:
        row[AT.record_problem] = problems.BAD_COUNT
        return
    try:
        while done < count:
            delta, offset_delta, has_key, at = _record(data, at, end, heads_only=heads_only)
            timestamp = largest if use_max else wrap64(base + delta)
            newest = max(newest, timestamp)
            in_order &= wrap64(int(row[AT.base_offset]) + offset_delta) == done
            refused += rules.refuses(timestamp, has_key=has_key, has_append_time=bool(use_max))
            done += 1
        if count and at != end:
            raise BadRecordError(problems.BYTES_AFTER_RECORDS, at)  # noqa: TRY301
    except BadRecordError as error:
        code, at = error.code, error.position
    row[AT.record_problem] = code
    row[AT.record_problem_at] = at - shift
    row[AT.checked_count] = done
    row[AT.largest_timestamp] = newest
    row[AT.refused_count] = refused
    row[AT.is_in_order] = in_order
    row[AT.is_ready] = (
        code == problems.OK
        and refused == 0
        and in_order
        and count > 0
        and row[AT.base_offset] == 0
        and row[AT.last_offset] == count - 1
        and not row[AT.is_control]
        and (row[AT.producer_id] < 0 or row[AT.base_sequence] >= 0)
        and row[AT.timestamp_type] == attributes.CREATE_TIME
        and not rules.options & checks.APPEND_TIME
        and largest == newest
    )


def check_records(
    data: Bytes, start: int, end: int, row: Row, options: int, now: int, before: int, after: int
) -> None:
    """Check the decompressed records of one magic 2 batch: see `validate.check_records`."""
    rules = AppendRules(options, now, before, after)
    check_decompressed(data[start:end].tobytes(), 0, end - start, 0, row, rules)
