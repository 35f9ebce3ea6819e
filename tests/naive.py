"""Kafka's batches and messages written and read in the plainest Python: an oracle for tests, slow.

Nothing here is shared with the product but the codecs. CRC-32C comes from another library.
"""

import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import crc32c

from workbench.record.codecs.compression import compress, decompress

Header = tuple[bytes, bytes | None]


@dataclass(frozen=True)
class Record:
    """One record; a timestamp of -1 is none."""

    offset: int
    timestamp: int = 0
    key: bytes | None = None
    value: bytes | None = None
    headers: tuple[Header, ...] = ()


def varint(value: int) -> bytes:
    """Return a zigzag varint or varlong."""
    raw = value * 2 if value >= 0 else -value * 2 - 1
    encoded = bytearray()
    while raw > 0x7F:
        encoded.append(raw & 0x7F | 0x80)
        raw >>= 7
    return bytes([*encoded, raw])


def _sized(content: bytes | None) -> bytes:
    return varint(-1) if content is None else varint(len(content)) + content


def record_bytes(record: Record, base_offset: int, base_timestamp: int) -> bytes:
    """Return a record as it is in a batch of magic 2."""
    body = b"\0" + varint(record.timestamp - base_timestamp) + varint(record.offset - base_offset)
    body += _sized(record.key) + _sized(record.value) + varint(len(record.headers))
    for key, value in record.headers:
        body += _sized(key) + _sized(value)
    return varint(len(body)) + body


def batch(records: Sequence[Record], codec: int = 0, **fields: Any) -> bytes:
    """Return a batch of magic 2.

    Args:
        records: ascending by offset.
        codec: 0 to 4.
        fields: the header's, written instead of what follows from the records: base_offset,
            last_offset, base_timestamp, max_timestamp, leader_epoch, magic, crc, attributes (added
            to the codec), producer_id, producer_epoch, base_sequence, count; or ``payload``, the
            bytes after the header, and ``tail``, bytes added to the records before compression.
    """
    base_offset = fields.get("base_offset", records[0].offset if records else 0)
    last_offset = fields.get("last_offset", records[-1].offset if records else base_offset)
    base_timestamp = fields.get("base_timestamp", records[0].timestamp if records else -1)
    max_timestamp = fields.get("max_timestamp", max((r.timestamp for r in records), default=-1))
    plain = b"".join(record_bytes(record, base_offset, base_timestamp) for record in records)
    payload: bytes = fields.get("payload", compress(codec, plain + fields.get("tail", b""), 2))
    covered = (
        struct.pack(
            ">hiqqqhii",
            codec | fields.get("attributes", 0),
            last_offset - base_offset,
            base_timestamp,
            max_timestamp,
            fields.get("producer_id", -1),
            fields.get("producer_epoch", -1),
            fields.get("base_sequence", -1),
            fields.get("count", len(records)),
        )
        + payload
    )
    header = struct.pack(
        ">qiibI",
        base_offset,
        len(covered) + 9,
        fields.get("leader_epoch", 0),
        fields.get("magic", 2),
        fields.get("crc", crc32c.crc32c(covered)),
    )
    return header + covered


def message(magic: int, record: Record, attributes: int = 0) -> bytes:
    """Return an entry of magic 0 or 1; headers are left out."""
    time = struct.pack(">q", record.timestamp) if magic else b""
    body = struct.pack(">bb", magic, attributes) + time
    for content in (record.key, record.value):
        body += struct.pack(">i", -1 if content is None else len(content)) + (content or b"")
    return struct.pack(">qiI", record.offset, len(body) + 4, zlib.crc32(body)) + body


def marker(offset: int, producer: int, *, commit: bool) -> bytes:
    """Return the control batch that ends a transaction of a producer."""
    key, value = struct.pack(">hh", 0, commit), struct.pack(">hi", 0, 3)
    record = Record(offset, 5, key, value)
    return batch([record], attributes=0x30, producer_id=producer, producer_epoch=0)


def wrapper(magic: int, records: Sequence[Record], codec: int, **fields: Any) -> bytes:
    """Return a compressed entry of magic 0 or 1 that holds records.

    Args:
        magic: that of the wrapper and of the messages in it.
        records: ascending by offset.
        codec: 1 to 3.
        fields: offset, timestamp, attributes of the wrapper, payload (before compression), value,
            inner_magic.
    """
    first = records[0].offset if records and magic == 1 else 0
    inner_magic = fields.get("inner_magic", magic)
    inner = b"".join(
        message(inner_magic, Record(r.offset - first, r.timestamp, r.key, r.value)) for r in records
    )
    value = fields.get("value")
    if value is None:
        value = compress(codec, fields.get("payload", inner), magic)
    outer = Record(
        fields.get("offset", records[-1].offset if records else 0),
        fields.get("timestamp", max((r.timestamp for r in records), default=-1)),
        None,
        value,
    )
    return message(magic, outer, codec | fields.get("attributes", 0))


class _Bytes:
    """Bytes with a place to read from."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, size: int) -> bytes:
        taken = self.data[self.at : self.at + size]
        assert len(taken) == size
        self.at += size
        return taken

    def unpack(self, form: str) -> Any:
        (value,) = struct.unpack(form, self.take(struct.calcsize(form)))
        return value

    def varint(self, bits: int = 32) -> int:
        raw = shift = 0
        while True:
            assert shift < bits, "too long"  # Kafka refuses it
            byte = self.take(1)[0]
            raw |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return raw >> 1 if raw % 2 == 0 else -(raw >> 1) - 1

    def sized(self) -> bytes | None:
        size = self.varint()
        return None if size < 0 else self.take(size)

    def sized32(self) -> bytes | None:
        size = self.unpack(">i")
        return None if size < 0 else self.take(size)


def read(data: bytes) -> list[Record]:
    """Return the records of sound bytes of any mixture of formats, control records too."""
    found: list[Record] = []
    source = _Bytes(data)
    while source.at < len(data):
        start = source.at
        offset, size = source.unpack(">q"), source.unpack(">i")
        entry = source.take(size)
        magic = data[start + 16]
        found += _read_batch(offset, entry) if magic == 2 else _read_message(offset, entry)
    return found


def _read_batch(base_offset: int, entry: bytes) -> Iterator[Record]:
    (attributes, _, base_timestamp, max_timestamp, _, _, _, count) = struct.unpack(
        ">hiqqqhii", entry[9:49]
    )
    if not count:
        return
    source = _Bytes(decompress(attributes & 7, entry[49:], 2))
    for _ in range(count):
        size = source.varint()
        end = source.at + size
        source.take(1)
        timestamp = base_timestamp + source.varint(64)
        offset = base_offset + source.varint()
        key, value = source.sized(), source.sized()
        count = source.varint()
        assert count >= 0
        headers = tuple((source.sized() or b"", source.sized()) for _ in range(count))
        assert source.at == end
        yield Record(offset, max_timestamp if attributes & 8 else timestamp, key, value, headers)
    assert source.at == len(source.data)


def _read_message(offset: int, entry: bytes) -> Iterator[Record]:
    source = _Bytes(entry)
    source.take(4)
    magic, attributes = source.unpack(">b"), source.unpack(">b")
    timestamp = source.unpack(">q") if magic == 1 else -1
    key, value = source.sized32(), source.sized32()
    assert source.at == len(entry)
    if not attributes & 7:
        yield Record(offset, timestamp, key, value)
        return
    assert value is not None
    entries = decompress(attributes & 7, value, magic)
    inner, magics, at = read(entries), [], 0
    while at < len(entries):
        magics.append(entries[at + 16])
        at += 12 + int.from_bytes(entries[at + 8 : at + 12])
    shift = offset - inner[-1].offset if magic == 1 and offset else 0
    for record, its_magic in zip(inner, magics, strict=True):
        # Messages of magic 0 have no timestamp, whatever is around them.
        stamped = attributes & 8 and its_magic == 1
        yield Record(
            record.offset + shift,
            timestamp if stamped else record.timestamp,
            record.key,
            record.value,
        )
