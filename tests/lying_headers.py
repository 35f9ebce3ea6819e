"""Logs with a batch whose header lies in one field, with a CRC that is right.

Readers that answer for one log must take the same records from it, or stop at the same byte.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from tests import naive
from tests.naive import Record
from workbench.layout.batch_header import BATCH_HEADER, CRC_AT, CRC_FROM
from workbench.layout.structure import place, width
from workbench.record.crc import crc32c

LIES: Final[dict[str, tuple[int, ...]]] = {
    "base_offset": (0, 2, 9, -1, 2**62, 2**63 - 1, -7, 2**63 - 2, -(2**63)),
    "batch_length": (0, -1, 48, 60, 2**31 - 1),
    "partition_leader_epoch": (-1, -2, 2**31 - 1),
    "magic": (-1, 0, 1, 3),
    "attributes": (0x01, 0x02, 0x03, 0x04, 0x05, 0x07, 0x08, 0x10, 0x20, 0x30, 0x40, 0x4000),
    "last_offset_delta": (-1, 0, 1, 50, 2**31 - 1),
    "base_timestamp": (-1, -2, 0, 2**62, 2**63 - 1),
    "max_timestamp": (-1, 0, 2**62, 2**63 - 1),
    "producer_id": (-2, 0, 7, 2**63 - 1),
    "producer_epoch": (-2, 0, 32767),
    "base_sequence": (-2, 0, 2**31 - 1),
    "record_count": (-1, 0, 1, 2, 4, 1000, 2**31 - 1),
}
"""Field → what it says instead. The batch has three records; it begins with offset 5."""


class Lie(NamedTuple):
    """A log of three batches of which the second lies.

    Attributes:
        name: that of a topic: the field, the number of the lie, the codec, the kind of batch.
        content: of its first segment.
    """

    name: str
    content: bytes


def lying_logs() -> Iterator[Lie]:
    """Yield every lie, in plain and in compressed batches, and in transactional ones."""
    for field, values in LIES.items():
        for number, value in enumerate(values):
            for kind, codec, attributes in (("plain", 0, 0), ("lz4", 3, 0), ("txn", 0, 0x10)):
                producer = {"producer_id": 7, "producer_epoch": 0} if attributes else {}
                true = naive.batch(_records(5, 8), codec, attributes=attributes, **producer)
                first, last = naive.batch(_records(0, 5)), naive.batch(_records(10, 12))
                end = naive.marker(8, 7, commit=True) if attributes else b""
                lie = with_field(true, field, value)
                yield Lie(f"{field}.{number}.{kind}", first + lie + end + last)


def with_field(batch: bytes, field: str, value: int) -> bytes:
    """Return a batch whose header says something else, with a CRC that is right."""
    at, size = place(BATCH_HEADER, field), width(BATCH_HEADER, field)
    lie = batch[:at] + value.to_bytes(size, signed=True) + batch[at + size :]
    return lie[:CRC_AT] + crc32c(lie[CRC_FROM:]).to_bytes(4) + lie[CRC_FROM:]


def _records(first: int, end: int) -> list[Record]:
    return [Record(at, 1000 + at, b"k%d" % at, b"v%d" % at) for at in range(first, end)]
