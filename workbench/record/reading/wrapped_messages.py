"""The messages inside a compressed message of magic 0 or 1, as a broker checks them.

Kafka: AbstractLegacyRecordBatch.DeepRecordsIterator (4.2)
"""

import struct
import zlib
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.errors import CorruptRecordError, InvalidRecordError
from workbench.layout import problems
from workbench.layout.attributes import CODEC_MASK, LOG_APPEND_TIME, NO_TIMESTAMP, ZSTD
from workbench.layout.batch_header import LENGTH_END, MAGIC_AT
from workbench.layout.message_header import (
    MESSAGE_ATTRIBUTES_AT,
    MESSAGE_CRC_AT,
    MESSAGE_CRC_FROM,
    MESSAGE_TIMESTAMP_AT,
    MESSAGE_V0,
    MESSAGE_V1,
    SMALLEST_MESSAGE,
)
from workbench.record.codecs.compression import decompress_into
from workbench.record.limits import MOST_CONTENT
from workbench.record.reading.arena import DecompressionError
from workbench.record.reading.batch_records import thread_arena
from workbench.record.reading.wrapper import WrapperError, wrapper_value
from workbench.record.writing.validation import CheckedBatch

_INT: Final = struct.Struct(">i")
_LONG: Final = struct.Struct(">q")
_CRC: Final = struct.Struct(">I")


class WrappedMessage(NamedTuple):
    """A message inside a compressed one.

    Attributes:
        offset: the absolute offset.
        timestamp: the time in ms, -1: none.
        is_compressed: whether it claims to hold messages itself, which is not allowed.
        is_valid: whether its CRC is valid.
    """

    offset: int
    magic: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    is_compressed: bool
    is_valid: bool


def wrapped_messages(buffer: npt.NDArray[np.uint8], batch: CheckedBatch) -> list[WrappedMessage]:
    """Return the messages inside a compressed one, without an incomplete one at the end.

    Raises:
        InvalidRecordError: it has no value or no messages in it, a codec that its format lacks, or
            an offset below that of its last message.
        CorruptRecordError: it cannot be decompressed, or sizes inside are invalid.
    """
    if batch.codec == ZSTD:
        raise InvalidRecordError(f"magic {batch.magic} does not have zstd")
    view = memoryview(buffer)[batch.position : batch.position + batch.size]
    try:
        first, last = wrapper_value(view)
        arena = thread_arena()
        first, last = decompress_into(
            batch.codec, view[first:last], arena, batch.magic, MOST_CONTENT
        )
    except WrapperError as error:
        raise InvalidRecordError(str(error)) from error
    except DecompressionError as error:
        words = problems.WORDS[problems.BAD_COMPRESSION]
        raise CorruptRecordError(None, batch.position, f"{words}: {error}") from error
    data = bytes(arena.view[first:last])
    found, at = [], 0
    while len(data) - at >= LENGTH_END:
        (size,) = _INT.unpack_from(data, at + 8)
        if size < SMALLEST_MESSAGE:
            problem = f"a message inside a compressed one has size {size}"
            raise CorruptRecordError(None, batch.position, problem)
        end = at + LENGTH_END + size
        if end > len(data):
            break
        found.append(_message(data[at:end], batch))
        at = end
    if not found:
        raise InvalidRecordError(problems.WORDS[problems.EMPTY_WRAPPER])
    if batch.magic == 0 or batch.last_offset == 0:  # some producers leave the wrapper's offset at 0
        return found
    base = batch.last_offset - found[-1].offset
    if base < 0:
        raise InvalidRecordError(problems.WORDS[problems.BAD_WRAPPER_OFFSET])
    return [message._replace(offset=base + message.offset) for message in found]


def _message(data: bytes, batch: CheckedBatch) -> WrappedMessage:
    """Return one entry, its offset as stored."""
    magic = data[MAGIC_AT]
    timestamp = NO_TIMESTAMP
    header = MESSAGE_V0.itemsize
    if magic:
        header = MESSAGE_V1.itemsize
        if batch.timestamp_type == LOG_APPEND_TIME:
            timestamp = batch.max_timestamp
        elif len(data) >= header:
            (timestamp,) = _LONG.unpack_from(data, MESSAGE_TIMESTAMP_AT)
    try:
        key, at = _sized(data, header)
        value, _ = _sized(data, at)
    except struct.error:  # its CRC is invalid, too, unless crafted
        raise InvalidRecordError(problems.WORDS[problems.BAD_INNER_MESSAGE]) from None
    (crc,) = _CRC.unpack_from(data, MESSAGE_CRC_AT)
    return WrappedMessage(
        _LONG.unpack_from(data)[0],
        magic,
        timestamp,
        key,
        value,
        is_compressed=data[MESSAGE_ATTRIBUTES_AT] & CODEC_MASK != 0,
        is_valid=crc == zlib.crc32(data[MESSAGE_CRC_FROM:]),
    )


def _sized(data: bytes, at: int) -> tuple[bytes | None, int]:
    (size,) = _INT.unpack_from(data, at)
    start = at + _INT.size
    return (None, start) if size < 0 else (data[start : start + size], start + size)
