"""Messages of magic 0 and 1 as bytes: plain messages, and wrappers around compressed ones.

Kafka: LegacyRecord.write, AbstractLegacyRecordBatch.writeHeader (4.2)
"""

import struct
import zlib
from typing import Final

from workbench.layout.attributes import LOG_APPEND_TIME, LOG_APPEND_TIME_BIT
from workbench.layout.message_header import (
    MESSAGE_CRC_AT,
    MESSAGE_CRC_FROM,
    MESSAGE_V0,
    MESSAGE_V1,
)
from workbench.layout.structure import as_struct

_V0: Final = as_struct(MESSAGE_V0)
_V1: Final = as_struct(MESSAGE_V1)
_SIZE: Final = struct.Struct(">i")
_CRC: Final = struct.Struct(">I")
_NULL: Final = _SIZE.pack(-1)


def entry_size(magic: int, key: bytes | None, value: bytes | None) -> int:
    """Return the bytes of a message with its offset and size.

    Kafka: LegacyRecord.recordSize, Records.LOG_OVERHEAD (4.2)
    """
    return entry_overhead(magic) + len(key or b"") + len(value or b"")


def entry_overhead(magic: int) -> int:
    """Return the bytes of an entry without key and value; of a wrapper, those before its value.

    Kafka: LegacyRecord.recordOverhead, Records.LOG_OVERHEAD (4.2)
    """
    return (_V0 if magic == 0 else _V1).size + 2 * _SIZE.size


def encode_message(
    magic: int,
    offset: int,
    timestamp: int,
    key: bytes | None,
    value: bytes | None,
    *,
    timestamp_type: int = 0,
    codec: int = 0,
) -> bytes:
    """Return one entry of magic 0 or 1.

    Args:
        magic: 0 has no time; ``timestamp`` and ``timestamp_type`` are then not written.
        offset: as it is stored: in a wrapper of magic 1 it is relative.
        timestamp: ms, -1: none.
        value: with a codec the compressed entries, and the entry is a wrapper.

    Raises:
        ValueError: the timestamp is negative and not -1.
    """
    if timestamp < -1:
        raise ValueError(f"{timestamp} is not a timestamp")
    key_part = _NULL if key is None else _SIZE.pack(len(key)) + key
    value_part = _NULL if value is None else _SIZE.pack(len(value)) + value
    size = entry_size(magic, key, value) - MESSAGE_CRC_AT
    if magic == 0:
        head = _V0.pack(offset, size, 0, magic, codec)
    else:
        bits = codec | (LOG_APPEND_TIME_BIT if timestamp_type == LOG_APPEND_TIME else 0)
        head = _V1.pack(offset, size, 0, magic, bits, timestamp)
    message = head[MESSAGE_CRC_FROM:] + key_part + value_part
    return head[:MESSAGE_CRC_AT] + _CRC.pack(zlib.crc32(message)) + message
