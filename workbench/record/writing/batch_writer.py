"""Build one batch from records one by one, byte for byte as Kafka does.

What is appended is encoded at once and compressed when the batch is finished; the header is written
last. In magic 0 and 1 every record is an entry of its own, or all are in one compressed wrapper. In
magic 2 a record is (many at once go through `column_encoding`):

    record  ::=  length: varint  attributes: 00  timestamp delta: varlong  offset delta: varint
                 key size: varint  key  value size: varint  value  header count: varint  header*
    header  ::=  name size: varint  name  value size: varint  value

A size of -1 is null, for keys and values; a name is never null.

Kafka: MemoryRecordsBuilder; DefaultRecord.writeTo, DefaultRecordBatch.writeHeader (4.2)
"""

import struct
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.kernels import dispatch
from workbench.layout.attributes import (
    CODEC_NAMES,
    CONTROL_BIT,
    CREATE_TIME,
    DELETE_HORIZON_BIT,
    LOG_APPEND_TIME,
    LOG_APPEND_TIME_BIT,
    NO_TIMESTAMP,
    NONE,
    TIMESTAMP_TYPE_NAMES,
    TRANSACTIONAL_BIT,
    ZSTD,
)
from workbench.layout.batch_header import (
    BATCH_HEADER,
    BATCH_HEADER_SIZE,
    CRC_AT,
    CRC_FROM,
    LENGTH_END,
)
from workbench.layout.integers import INT32_MAX
from workbench.layout.structure import as_struct
from workbench.record import varint
from workbench.record.codecs.compression import compress
from workbench.record.writing.message_encoding import encode_message, entry_overhead, entry_size

Bytes = npt.NDArray[np.uint8]
Header = tuple[bytes | str, bytes | None]

_MAGIC: Final = 2

_HEADER: Final = as_struct(BATCH_HEADER)
_NULL: Final = varint.encode(-1)
_varint = lru_cache(maxsize=1 << 14)(varint.encode)
_varlong = lru_cache(maxsize=1 << 14)(varint.encode_long)
MOST_RECORDS: Final = INT32_MAX  # of a batch; also the largest offset delta
_RATIO_FACTOR: Final = np.float32(1.05)  # what Kafka adds to a guess at a compressed size
_TIMESTAMP_TYPES: Final = {name: code for code, name in TIMESTAMP_TYPE_NAMES.items()}


class BatchInfo(NamedTuple):
    """What an append needs to know about a built batch.

    Attributes:
        max_timestamp: ms; None without one.
        offset_of_max_timestamp: the last offset of the first batch that has it; None without one.
    """

    max_timestamp: int | None
    offset_of_max_timestamp: int | None


class BatchWriter:
    """One batch that is being built. Not thread-safe.

    Args:
        magic: 0, 1 or 2.
        codec: "none", "gzip", "snappy", "lz4" or "zstd".
        level: Kafka's; None is the codec's default.
        timestamp_type: "CreateTime" or "LogAppendTime"; magic 0 has neither.
        base_offset: the first record's offset, unless another is given with it.
        log_append_time: ms; every record's timestamp with "LogAppendTime".
        producer_id, producer_epoch, base_sequence: None without an idempotent producer.
        is_control: whether the records are control records.
        partition_leader_epoch: -1: not known.
        delete_horizon: the delete horizon in ms; it replaces the base timestamp.
        write_limit: the size in bytes at which `is_full`; one record always fits. None: no limit.

    Raises:
        ValueError: the format has no such thing, or the codec no such level.
    """

    def __init__(
        self,
        magic: int = 2,
        codec: str = "none",
        level: int | None = None,
        timestamp_type: str = "CreateTime",
        base_offset: int = 0,
        log_append_time: int | None = None,
        *,
        producer_id: int | None = None,
        producer_epoch: int | None = None,
        base_sequence: int | None = None,
        is_transactional: bool = False,
        is_control: bool = False,
        partition_leader_epoch: int = -1,
        delete_horizon: int | None = None,
        write_limit: int | None = None,
    ) -> None:
        if not 0 <= magic <= 2:
            raise ValueError(f"magic {magic} is not known: 0, 1 and 2 are")
        if codec not in CODEC_NAMES:
            raise ValueError(f"codec {codec!r} is not known: {', '.join(CODEC_NAMES)} are")
        if timestamp_type not in _TIMESTAMP_TYPES:
            names = " or ".join(_TIMESTAMP_TYPES)
            raise ValueError(f"the timestamp type is {names}, not {timestamp_type!r}")
        self.magic = magic
        self.codec = CODEC_NAMES.index(codec)
        self.timestamp_type = _TIMESTAMP_TYPES[timestamp_type]
        if magic < 2:
            for name, is_asked in (
                ("transactional records", is_transactional),
                ("control records", is_control),
                ("zstd", self.codec == ZSTD),
                ("a delete horizon", delete_horizon is not None),
            ):
                if is_asked:
                    raise ValueError(f"magic {magic} does not have {name}")
        self.level = level
        if level is not None:
            compress(self.codec, b"", magic, level)  # says now that there is no such level
        self.base_offset = base_offset
        self.log_append_time = _or_none(log_append_time)
        self.is_control = is_control
        self.partition_leader_epoch = partition_leader_epoch
        self.delete_horizon = delete_horizon
        self.write_limit = write_limit
        self.estimated_ratio = 1.0  # of compressed to uncompressed bytes
        self.record_count = 0
        self.last_offset: int | None = None
        self._finished: Bytes | None = None
        self.set_producer_state(producer_id, producer_epoch, base_sequence, is_transactional)
        self._base_timestamp = delete_horizon
        self._max_timestamp = NO_TIMESTAMP
        self._offset_of_max_timestamp = -1
        self._parts: list[bytes | memoryview] = []
        self._records_size = 0
        self._takes_records = True
        self._is_aborted = False

    def set_producer_state(
        self,
        producer_id: int | None,
        producer_epoch: int | None,
        base_sequence: int | None,
        is_transactional: bool,  # noqa: FBT001  # one of four that always come together
    ) -> None:
        """Set the batch's producer, which may be known only when the batch is about to be sent.

        Raises:
            RuntimeError: the batch is built.
        """
        if self._finished is not None:
            raise RuntimeError("the batch is built: its producer can no longer be set")
        self.producer_id = _or_none(producer_id)
        self.producer_epoch = _or_none(producer_epoch)
        self.base_sequence = _or_none(base_sequence)
        self.is_transactional = is_transactional

    def append(
        self,
        timestamp: int | None,
        key: bytes | None,
        value: bytes | None,
        headers: Sequence[Header] = (),
    ) -> int:
        """Append a record at the next offset, and return that; errors as `append_with_offset`.

        Args:
            timestamp: ms; None without one.
            headers: (name, value), the value None for null.

        Kafka: MemoryRecordsBuilder.append (4.2)
        """
        offset = self.next_offset
        self.append_with_offset(offset, timestamp, key, value, headers)
        return offset

    def _closed(self) -> RuntimeError:
        return RuntimeError("the batch is closed: it takes no more records")

    def append_with_offset(
        self,
        offset: int,
        timestamp: int | None,
        key: bytes | None,
        value: bytes | None,
        headers: Sequence[Header] = (),
    ) -> None:
        """Append a record at an offset.

        Raises:
            ValueError: the offset does not ascend or is too far from the base offset, the timestamp
                is negative, the format has no headers, or this is a control batch.
            RuntimeError: the batch is built or given up.

        Kafka: MemoryRecordsBuilder.appendWithOffset (4.2)
        """
        if self.is_control:
            raise ValueError("a control batch takes control records only")
        time = NO_TIMESTAMP if timestamp is None else timestamp
        self.append_record(offset, time, key, value, headers)

    def append_record(
        self,
        offset: int,
        timestamp: int,
        key: bytes | None,
        value: bytes | None,
        headers: Sequence[Header] = (),
    ) -> None:
        """Append a record or control record.

        Args:
            offset: above that of the record before.
            timestamp: ms, -1: none.

        Raises:
            ValueError: the offset does not ascend or is 2**31 or more above the base offset, the
                timestamp is negative, or the format has no headers.
            RuntimeError: the batch is built or given up.
        """
        last = self.last_offset
        if last is not None and offset <= last:
            raise ValueError(f"offset {offset} does not ascend: the last one was {last}")
        if timestamp < NO_TIMESTAMP:
            raise ValueError(f"{timestamp} is not a timestamp")
        if headers and self.magic < 2:
            raise ValueError(f"magic {self.magic} does not have headers")
        if not self._takes_records:
            raise self._closed()
        if self._base_timestamp is None:
            self._base_timestamp = timestamp
        delta = offset - self.base_offset
        if delta > MOST_RECORDS:
            raise ValueError(f"offset {offset} is too far from base offset {self.base_offset}")
        if self.magic == 2:
            part = encode_record(delta, timestamp - self._base_timestamp, key, value, headers)
        else:
            if self.timestamp_type == LOG_APPEND_TIME:
                timestamp = self._append_time
            part = encode_message(
                self.magic,
                delta if self.magic == 1 and self.codec != NONE else offset,
                timestamp,
                key,
                value,
                timestamp_type=self.timestamp_type,
            )
        self._take(part, 1, offset, timestamp, offset)

    def _take(
        self, part: bytes | memoryview, count: int, last_offset: int, newest: int, newest_at: int
    ) -> None:
        """Keep encoded records; ``newest`` is their largest timestamp, first at ``newest_at``."""
        self._parts.append(part)
        self._records_size += len(part)
        self.record_count += count
        self.last_offset = last_offset
        if self.magic > 0 and newest > self._max_timestamp:
            self._max_timestamp = newest
            self._offset_of_max_timestamp = newest_at

    @property
    def next_offset(self) -> int:
        """Offset of the next record unless another is given."""
        return self.base_offset if self.last_offset is None else self.last_offset + 1

    @property
    def _append_time(self) -> int:
        return NO_TIMESTAMP if self.log_append_time is None else self.log_append_time

    @property
    def header_size(self) -> int:
        """Bytes before the first record, or before the compressed ones.

        Kafka: AbstractRecords.recordBatchHeaderSizeInBytes (4.2)
        """
        if self.magic == 2:
            return BATCH_HEADER_SIZE
        return 0 if self.codec == NONE else entry_overhead(self.magic)

    @property
    def uncompressed_size(self) -> int:
        """Bytes of header and records before they are compressed."""
        return self.header_size + self._records_size

    @property
    def size_estimate(self) -> int:
        """The size of the batch in bytes: exact if built or not compressed, or an estimate.

        Kafka: MemoryRecordsBuilder.estimatedSizeInBytes (4.2)
        """
        if self._finished is not None:
            return len(self._finished)
        if self.codec == NONE:
            return self.uncompressed_size
        ratio = np.float32(self.estimated_ratio)
        return self.header_size + int(np.float32(self._records_size) * ratio * _RATIO_FACTOR)

    @property
    def is_full(self) -> bool:
        """Whether the write limit is reached, or no more records are taken."""
        if not self._takes_records:
            return True
        limit = self.write_limit
        return limit is not None and self.record_count > 0 and limit <= self.size_estimate

    def has_room_for(
        self,
        timestamp: int | None,
        key: bytes | None,
        value: bytes | None,
        headers: Sequence[Header] = (),
    ) -> bool:
        """Return whether one more record fits within the write limit; the first always does.

        Kafka: MemoryRecordsBuilder.hasRoomFor (4.2)
        """
        if self.is_full:
            return False
        if self.record_count == 0 or self.write_limit is None:
            return True
        if self.magic < 2:
            size = entry_size(self.magic, key, value)
        else:
            base = self._base_timestamp
            time = NO_TIMESTAMP if timestamp is None else timestamp
            delta = 0 if base is None else time - base
            size = record_size(self.next_offset - self.base_offset, delta, key, value, headers)
        return self.write_limit >= self.size_estimate + size

    @property
    def info(self) -> BatchInfo:
        """The largest timestamp and where it is.

        Kafka: MemoryRecordsBuilder.info (4.2)
        """
        is_one_batch = self.codec != NONE or self.magic == 2
        if self.timestamp_type == LOG_APPEND_TIME:
            where = self.last_offset if is_one_batch else self.base_offset
            return BatchInfo(self.log_append_time, where)
        if self._max_timestamp == NO_TIMESTAMP:
            return BatchInfo(None, None)
        where = self.last_offset if is_one_batch else self._offset_of_max_timestamp
        return BatchInfo(self._max_timestamp, where)

    def override_last_offset(self, last_offset: int) -> None:
        """Give the batch a last offset above that of its last record, as compaction leaves them.

        Raises:
            RuntimeError: the batch is built.
        """
        if self._finished is not None:
            raise RuntimeError("the batch is built: its last offset can no longer be set")
        self.last_offset = last_offset

    def close_for_appends(self) -> None:
        """Take no more records; the header may still change."""
        self._takes_records = False

    def abort(self) -> None:
        """Abort the batch; it can no longer be built."""
        self.close_for_appends()
        self._parts.clear()
        self._is_aborted = True

    def finish(self) -> Bytes:
        """Return the batch, uint8[n]; nothing when no record was appended. A second call too.

        Raises:
            ValueError: the producer's id, epoch and sequence do not fit together or the format.
            RuntimeError: the batch was given up.

        Kafka: MemoryRecordsBuilder.close (4.2)
        """
        if self._is_aborted:
            raise RuntimeError("the batch was given up")
        if self._finished is None:
            self._check_producer()
            self.close_for_appends()
            records = b"".join(self._parts)
            self._parts.clear()
            self._finished = self._assembled(records) if self.record_count else _as_array(b"")
        return self._finished

    def _check_producer(self) -> None:
        if self.producer_id is None:
            if self.is_transactional:
                raise ValueError("a transactional batch needs a producer id")
            return
        if self.producer_epoch is None:
            raise ValueError("a producer id needs an epoch")
        if (self.base_sequence is None or self.base_sequence < 0) and not self.is_control:
            raise ValueError("a producer id needs a base sequence")
        if self.magic < 2:
            raise ValueError(f"magic {self.magic} does not have producer ids")

    def _assembled(self, records: bytes) -> Bytes:
        """Return header and records, compressed if need be."""
        if self.magic < 2 and self.codec == NONE:
            return _as_array(records)
        if self.codec != NONE:
            records = compress(self.codec, records, self.magic, self.level)
        last_offset = self.next_offset - 1
        is_append_time = self.timestamp_type == LOG_APPEND_TIME
        max_timestamp = self._append_time if is_append_time else self._max_timestamp
        if self.magic < 2:
            wrapper = encode_message(
                self.magic,
                last_offset,
                max_timestamp,
                None,
                records,
                timestamp_type=self.timestamp_type,
                codec=self.codec,
            )
            return _as_array(wrapper)
        batch = np.empty(BATCH_HEADER_SIZE + len(records), np.uint8)
        memoryview(batch)[BATCH_HEADER_SIZE:] = records
        base_timestamp = self._base_timestamp
        assert base_timestamp is not None
        header = HeaderFields(
            self.base_offset,
            last_offset,
            self.partition_leader_epoch,
            attributes_of(
                self.codec,
                self.timestamp_type,
                is_transactional=self.is_transactional,
                is_control=self.is_control,
                has_delete_horizon=self.delete_horizon is not None,
            ),
            base_timestamp,
            max_timestamp,
            -1 if self.producer_id is None else self.producer_id,
            -1 if self.producer_epoch is None else self.producer_epoch,
            -1 if self.base_sequence is None else self.base_sequence,
            self.record_count,
        )
        write_header(batch, header)
        return batch


def _or_none(value: int | None) -> int | None:
    return None if value == -1 else value


def _as_array(data: bytes) -> Bytes:
    """Return a copy that may be written."""
    return np.frombuffer(bytearray(data), np.uint8)


class HeaderFields(NamedTuple):
    """The fields of a header of magic 2 that do not follow from the bytes; ms; -1: none."""

    base_offset: int
    last_offset: int
    partition_leader_epoch: int
    attributes: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int


def attributes_of(
    codec: int,
    timestamp_type: int,
    *,
    is_transactional: bool = False,
    is_control: bool = False,
    has_delete_horizon: bool = False,
) -> int:
    """Return the attributes of a batch.

    Raises:
        ValueError: ``timestamp_type`` is neither CreateTime nor LogAppendTime.
    """
    if timestamp_type < 0:
        raise ValueError("a batch of magic 2 has a timestamp type")
    bits = codec
    if timestamp_type == LOG_APPEND_TIME:
        bits |= LOG_APPEND_TIME_BIT
    if is_transactional:
        bits |= TRANSACTIONAL_BIT
    if is_control:
        bits |= CONTROL_BIT
    if has_delete_horizon:
        bits |= DELETE_HORIZON_BIT
    return bits


def write_header(batch: Bytes, header: HeaderFields) -> None:
    """Write the first 61 bytes of a whole batch, uint8[n]; the CRC covers the bytes after them.

    Raises:
        ValueError: the base timestamp is negative and not -1, or a field does not fit.
    """
    if header.base_timestamp < NO_TIMESTAMP:
        raise ValueError(f"{header.base_timestamp} is not a timestamp")
    view = memoryview(batch)
    try:
        _HEADER.pack_into(
            view,
            0,
            header.base_offset,
            len(batch) - LENGTH_END,
            header.partition_leader_epoch,
            _MAGIC,
            0,
            header.attributes,
            header.last_offset - header.base_offset,
            *header[4:],
        )
    except struct.error as error:
        raise ValueError(f"a field does not fit into a header ({error}): {header}") from error
    crc = int(dispatch.crc32c(batch[CRC_FROM:]))
    view[CRC_AT : CRC_AT + 4] = crc.to_bytes(4, "big")


def encode_record(
    offset_delta: int,
    timestamp_delta: int,
    key: bytes | None,
    value: bytes | None,
    headers: Sequence[Header] = (),
) -> bytes:
    """Return one record; ``timestamp_delta`` in ms wraps at 64 bits as Java's does.

    Kafka: DefaultRecord.writeTo (4.2)
    """
    if not -(1 << 63) <= timestamp_delta < 1 << 63:
        timestamp_delta = (timestamp_delta + (1 << 63)) % (1 << 64) - (1 << 63)
    parts = [b"\0", _varlong(timestamp_delta), _varint(offset_delta)]
    for field in (key, value):
        if field is None:
            parts.append(_NULL)
        else:
            parts += (_varint(len(field)), field)
    parts.append(_varint(len(headers)))
    for name, content in headers:
        encoded = name.encode() if isinstance(name, str) else name
        parts += (_varint(len(encoded)), encoded)
        if content is None:
            parts.append(_NULL)
        else:
            parts += (_varint(len(content)), content)
    body = b"".join(parts)
    return _varint(len(body)) + body


def record_size(
    offset_delta: int,
    timestamp_delta: int,
    key: bytes | None,
    value: bytes | None,
    headers: Sequence[Header] = (),
) -> int:
    """Return how many bytes `encode_record` gives, its length included.

    Kafka: DefaultRecord.sizeInBytes (4.2)
    """
    size = 1 + varint.size_of(timestamp_delta) + varint.size_of(offset_delta)
    size += fields_size(key, value, headers)
    return size + varint.size_of(size)


def fields_size(key: bytes | None, value: bytes | None, headers: Sequence[Header]) -> int:
    """Return the bytes of key, value and headers with their sizes.

    Kafka: DefaultRecord.sizeOf (4.2)
    """
    size = varint.size_of(len(headers))
    fields = [key, value]
    for name, content in headers:
        fields += (name.encode() if isinstance(name, str) else name, content)
    for field in fields:
        size += 1 if field is None else varint.size_of(len(field)) + len(field)
    return size


assert CREATE_TIME == 0
