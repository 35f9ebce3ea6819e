"""Set in place, in the bytes of a batch, the fields that a broker sets when it appends one.

The CRC does not cover the offset, nor in magic 2 the leader epoch; it covers times and their type,
so it is recomputed when they change.

Kafka: MutableRecordBatch; DefaultRecordBatch, AbstractLegacyRecordBatch (4.2)
"""

import struct
from typing import Final

import numpy as np
import numpy.typing as npt

from workbench.kernels import dispatch
from workbench.layout.attributes import (
    CODEC_MASK,
    CONTROL_BIT,
    DELETE_HORIZON_BIT,
    LOG_APPEND_TIME,
    LOG_APPEND_TIME_BIT,
    TRANSACTIONAL_BIT,
)
from workbench.layout.batch_header import (
    ATTRIBUTES_AT,
    CRC_AT,
    CRC_FROM,
    LAST_OFFSET_DELTA_AT,
    LENGTH_END,
    MAGIC_AT,
    MAX_TIMESTAMP_AT,
    PARTITION_LEADER_EPOCH_AT,
)
from workbench.layout.message_header import (
    MESSAGE_ATTRIBUTES_AT,
    MESSAGE_CRC_AT,
    MESSAGE_CRC_FROM,
    MESSAGE_TIMESTAMP_AT,
)

Bytes = npt.NDArray[np.uint8]

_OFFSET: Final = struct.Struct(">q")
_INT: Final = struct.Struct(">i")
_CRC: Final = struct.Struct(">I")
_OFFSET_AND_EPOCH: Final = struct.Struct(">qii")
OFFSET_AND_EPOCH_SIZE: Final = _OFFSET_AND_EPOCH.size
"""Bytes at the start of a batch of magic 2 that `set_offset_and_epoch` sets, all of them."""
_TIME: Final = struct.Struct(">q")
_ATTRIBUTES: Final = struct.Struct(">h")
_KEPT_BITS: Final = CODEC_MASK | TRANSACTIONAL_BIT | CONTROL_BIT | DELETE_HORIZON_BIT


def set_offset_and_epoch(
    buffer: Bytes, position: int, size: int, base_offset: int, leader_epoch: int
) -> None:
    """Set the base offset and the leader epoch of a batch of magic 2 of ``size`` bytes.

    The same as `set_last_offset` and `set_leader_epoch` for callers that know the header.
    """
    _OFFSET_AND_EPOCH.pack_into(buffer, position, base_offset, size - LENGTH_END, leader_epoch)


def set_last_offset(buffer: Bytes, position: int, last_offset: int) -> None:
    """Set the offsets of the batch at a byte position so that it ends with ``last_offset``.

    Kafka: DefaultRecordBatch.setLastOffset, ByteBufferLegacyRecordBatch.setLastOffset (4.2)
    """
    delta = 0
    if buffer[position + MAGIC_AT] == 2:
        (delta,) = _INT.unpack_from(buffer, position + LAST_OFFSET_DELTA_AT)
    _OFFSET.pack_into(buffer, position, last_offset - delta)


def set_leader_epoch(buffer: Bytes, position: int, leader_epoch: int) -> None:
    """Set the leader epoch of the batch at a byte position.

    Raises:
        ValueError: it is of magic 0 or 1, which have no leader epoch.

    Kafka: DefaultRecordBatch.setPartitionLeaderEpoch (4.2)
    """
    if buffer[position + MAGIC_AT] != 2:
        raise ValueError(f"magic {buffer[position + MAGIC_AT]} has no leader epoch")
    _INT.pack_into(buffer, position + PARTITION_LEADER_EPOCH_AT, leader_epoch)


def set_max_timestamp(
    buffer: Bytes, position: int, timestamp_type: int, timestamp: int
) -> tuple[int, int]:
    """Set the type of timestamps and the largest one of the batch at a byte position, and its CRC.

    With LogAppendTime it is every record's timestamp; the records' own deltas do not change.

    Args:
        timestamp_type: 0 CreateTime, 1 LogAppendTime.
        timestamp: the largest time in ms; for a message of magic 1 its timestamp.

    Returns:
        The attributes and the CRC of the batch now; the previous ones if nothing changed.

    Raises:
        ValueError: the batch is of magic 0, which has no time, or the type is neither of the two.

    Kafka: DefaultRecordBatch.setMaxTimestamp, ByteBufferLegacyRecordBatch.setMaxTimestamp (4.2)
    """
    magic = int(buffer[position + MAGIC_AT])
    if magic == 0:
        raise ValueError("magic 0 has no timestamps")
    if not 0 <= timestamp_type <= LOG_APPEND_TIME:
        raise ValueError(f"{timestamp_type} is not a type of timestamps")
    is_old = magic == 1
    bits_at = position + (MESSAGE_ATTRIBUTES_AT if is_old else ATTRIBUTES_AT)
    time_at = position + (MESSAGE_TIMESTAMP_AT if is_old else MAX_TIMESTAMP_AT)
    crc_at = position + (MESSAGE_CRC_AT if is_old else CRC_AT)
    bits = int(buffer[bits_at]) if is_old else int(_ATTRIBUTES.unpack_from(buffer, bits_at)[0])
    type_bit = LOG_APPEND_TIME_BIT if timestamp_type == LOG_APPEND_TIME else 0
    (stored,) = _TIME.unpack_from(buffer, time_at)
    if bits & LOG_APPEND_TIME_BIT == type_bit and stored == timestamp:
        return bits, int(_CRC.unpack_from(buffer, crc_at)[0])
    (length,) = _INT.unpack_from(buffer, position + LENGTH_END - _INT.size)
    end = position + LENGTH_END + length
    _TIME.pack_into(buffer, time_at, timestamp)
    if is_old:
        bits = bits & CODEC_MASK | type_bit
        buffer[bits_at] = bits
        crc = int(dispatch.crc32(buffer[position + MESSAGE_CRC_FROM : end]))
    else:
        bits = bits & _KEPT_BITS | type_bit
        _ATTRIBUTES.pack_into(buffer, bits_at, bits)
        crc = int(dispatch.crc32c(buffer[position + CRC_FROM : end]))
    _CRC.pack_into(buffer, crc_at, crc)
    return bits, crc
