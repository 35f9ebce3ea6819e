"""Set in place, in the bytes of a batch, what a broker sets when it appends one.

Offsets and the leader epoch stand outside the CRC, except that nothing does in magic 0 and 1 but
the offset; times and their type are covered by it, so it is computed again when they change.

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
from workbench.layout.batch_header import BATCH_HEADER, CRC_FROM, LENGTH_END, MAGIC_AT
from workbench.layout.message_header import MESSAGE_CRC_AT, MESSAGE_CRC_FROM, MESSAGE_V0, MESSAGE_V1
from workbench.layout.structure import place

Bytes = npt.NDArray[np.uint8]

_OFFSET: Final = struct.Struct(">q")
_INT: Final = struct.Struct(">i")
_CRC: Final = struct.Struct(">I")
_OFFSET_AND_EPOCH: Final = struct.Struct(">qii")
OFFSET_AND_EPOCH_SIZE: Final = _OFFSET_AND_EPOCH.size
"""Bytes at the start of a batch of magic 2 that `set_offset_and_epoch` sets, all of them."""
_TIME: Final = struct.Struct(">q")
_ATTRIBUTES: Final = struct.Struct(">h")
_DELTA_AT: Final = place(BATCH_HEADER, "last_offset_delta")
_EPOCH_AT: Final = place(BATCH_HEADER, "partition_leader_epoch")
_CRC_AT: Final = place(BATCH_HEADER, "crc")
_ATTRIBUTES_AT: Final = place(BATCH_HEADER, "attributes")
_MAX_TIMESTAMP_AT: Final = place(BATCH_HEADER, "max_timestamp")
_OLD_ATTRIBUTES_AT: Final = place(MESSAGE_V0, "attributes")
_OLD_TIMESTAMP_AT: Final = place(MESSAGE_V1, "timestamp")
_KEPT_BITS: Final = CODEC_MASK | TRANSACTIONAL_BIT | CONTROL_BIT | DELETE_HORIZON_BIT


def set_offset_and_epoch(
    buffer: Bytes, position: int, size: int, base_offset: int, leader_epoch: int
) -> None:
    """Set the base offset and the leader epoch of a batch of magic 2 of ``size`` bytes.

    The same as `set_last_offset` and `set_leader_epoch` for who knows the header already.
    """
    _OFFSET_AND_EPOCH.pack_into(buffer, position, base_offset, size - LENGTH_END, leader_epoch)


def set_last_offset(buffer: Bytes, position: int, last_offset: int) -> None:
    """Set the offsets of the batch at a byte position so that it ends with ``last_offset``.

    Kafka: DefaultRecordBatch.setLastOffset, ByteBufferLegacyRecordBatch.setLastOffset (4.2)
    """
    delta = 0
    if buffer[position + MAGIC_AT] == 2:
        (delta,) = _INT.unpack_from(buffer, position + _DELTA_AT)
    _OFFSET.pack_into(buffer, position, last_offset - delta)


def set_leader_epoch(buffer: Bytes, position: int, leader_epoch: int) -> None:
    """Set the leader epoch of the batch at a byte position.

    Raises:
        ValueError: it is of magic 0 or 1, which have none.

    Kafka: DefaultRecordBatch.setPartitionLeaderEpoch (4.2)
    """
    if buffer[position + MAGIC_AT] != 2:
        raise ValueError(f"magic {buffer[position + MAGIC_AT]} has no leader epoch")
    _INT.pack_into(buffer, position + _EPOCH_AT, leader_epoch)


def set_max_timestamp(
    buffer: Bytes, position: int, timestamp_type: int, timestamp: int
) -> tuple[int, int]:
    """Set the type of timestamps and the largest one of the batch at a byte position, and its CRC.

    With that of appending every record has it; what the records say stays as it is.

    Args:
        timestamp_type: 0 CreateTime, 1 LogAppendTime.
        timestamp: ms; of a message of magic 1 the one that it has.

    Returns:
        The attributes and the CRC that the batch has now; those of before when nothing changed.

    Raises:
        ValueError: the batch is of magic 0, which has no time, or the type is none of the two.

    Kafka: DefaultRecordBatch.setMaxTimestamp, ByteBufferLegacyRecordBatch.setMaxTimestamp (4.2)
    """
    magic = int(buffer[position + MAGIC_AT])
    if magic == 0:
        raise ValueError("magic 0 has no timestamps")
    if not 0 <= timestamp_type <= LOG_APPEND_TIME:
        raise ValueError(f"{timestamp_type} is not a type of timestamps")
    is_old = magic == 1
    bits_at = position + (_OLD_ATTRIBUTES_AT if is_old else _ATTRIBUTES_AT)
    time_at = position + (_OLD_TIMESTAMP_AT if is_old else _MAX_TIMESTAMP_AT)
    crc_at = position + (MESSAGE_CRC_AT if is_old else _CRC_AT)
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
