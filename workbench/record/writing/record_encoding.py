"""Records and headers of magic 2 as bytes, one at a time; many at once go through `encode_batch`.

    record  ::=  length: varint  attributes: 00  timestamp delta: varlong  offset delta: varint
                 key size: varint  key  value size: varint  value  header count: varint  header*
    header  ::=  name size: varint  name  value size: varint  value

A size of -1 is null, for keys and values; a name is never null.

Kafka: DefaultRecord.writeTo, DefaultRecordBatch.writeHeader (4.2)
"""

import struct
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.kernels import dispatch
from workbench.layout.attributes import (
    CONTROL_BIT,
    DELETE_HORIZON_BIT,
    LOG_APPEND_TIME,
    LOG_APPEND_TIME_BIT,
    NO_TIMESTAMP,
    TRANSACTIONAL_BIT,
)
from workbench.layout.batch_header import (
    BATCH_HEADER,
    BATCH_HEADER_SIZE,
    CRC_AT,
    CRC_FROM,
    LENGTH_END,
)
from workbench.layout.structure import as_struct
from workbench.record import varint

Header = tuple[bytes | str, bytes | None]

LARGEST_OVERHEAD: Final = 21  # of a record without key, value and headers: 5 + 1 + 10 + 5 bytes
MAGIC: Final = 2

_HEADER: Final = as_struct(BATCH_HEADER)
_NULL: Final = varint.encode(-1)
_varint = lru_cache(maxsize=1 << 14)(varint.encode)
_varlong = lru_cache(maxsize=1 << 14)(varint.encode_long)


class BatchHeader(NamedTuple):
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


def write_header(batch: npt.NDArray[np.uint8], header: BatchHeader) -> None:
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
            MAGIC,
            0,
            header.attributes,
            header.last_offset - header.base_offset,
            *header[4:],
        )
    except struct.error as error:
        raise ValueError(f"a field does not fit into a header ({error}): {header}") from error
    crc = int(dispatch.crc32c(batch[CRC_FROM:]))
    view[CRC_AT : CRC_AT + 4] = crc.to_bytes(4, "big")


def empty_batch_header(
    *,
    base_offset: int,
    last_offset: int,
    max_timestamp: int,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    partition_leader_epoch: int = -1,
    timestamp_type: int = 0,
    is_transactional: bool = False,
    is_control: bool = False,
) -> npt.NDArray[np.uint8]:
    """Return uint8[61]: a batch without records, as compaction leaves it; its base timestamp is -1.

    Kafka: DefaultRecordBatch.writeEmptyHeader (4.2)
    """
    batch = np.empty(BATCH_HEADER_SIZE, np.uint8)
    bits = attributes_of(
        0, timestamp_type, is_transactional=is_transactional, is_control=is_control
    )
    header = BatchHeader(
        base_offset, last_offset, partition_leader_epoch, bits, NO_TIMESTAMP, max_timestamp,
        producer_id, producer_epoch, base_sequence, 0,
    )  # fmt: skip
    write_header(batch, header)
    return batch


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
