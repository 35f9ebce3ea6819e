"""The bytes of one batch, and what its compressed part decompresses to; for `explain_batch`.

Kafka: DefaultRecordBatch, LegacyRecord (4.2)
"""

from typing import NamedTuple

from workbench.inspection.segment import Segment
from workbench.layout.attributes import CODEC_MASK, NONE
from workbench.layout.batch_header import ATTRIBUTES_AT, BATCH_HEADER_SIZE, MAGIC_AT
from workbench.layout.message_header import MESSAGE_V0, MESSAGE_V1
from workbench.layout.structure import place
from workbench.record.codecs.compression import decompress
from workbench.record.reading.arena import DecompressionError


class BatchBytes(NamedTuple):
    """One batch.

    Attributes:
        data: the batch's bytes in the file.
        decompressed: the records of a compressed batch, or the messages in a wrapper; None when
            nothing is compressed or it cannot be decompressed. The positions of fields with
            `Field.is_decompressed` are positions in it.
    """

    data: bytes
    decompressed: bytes | None


def read_batch(segment: Segment, position: int, size: int) -> BatchBytes:
    """Read ``size`` bytes at ``position`` of the segment's `.log` file, fewer at its end.

    Raises:
        OSError: the file cannot be read.
    """
    with segment.open() as source:
        data = source.read(position, size).tobytes()
    magic = data[MAGIC_AT] if len(data) > MAGIC_AT else -1
    if magic == 2 and len(data) > BATCH_HEADER_SIZE:
        codec, packed = data[ATTRIBUTES_AT + 1], data[BATCH_HEADER_SIZE:]
    elif magic in {0, 1} and len(data) > (layout := MESSAGE_V1 if magic else MESSAGE_V0).itemsize:
        codec, packed = data[place(layout, "attributes")], _value(data, layout.itemsize)
    else:
        return BatchBytes(data, None)
    if codec & CODEC_MASK == NONE or not packed:
        return BatchBytes(data, None)
    try:
        inner = decompress(codec & CODEC_MASK, memoryview(packed), magic)
    except DecompressionError:
        return BatchBytes(data, None)
    return BatchBytes(data, bytes(memoryview(inner)))


def _value(data: bytes, at: int) -> bytes:
    """Return the value of the message whose key length is at ``at``; empty if it is incomplete."""
    found = b""
    for _ in ("key", "value"):
        size = max(int.from_bytes(data[at : at + 4], signed=True), 0)
        found = data[at + 4 : at + 4 + size]
        at += 4 + size
    return found if at <= len(data) else b""
