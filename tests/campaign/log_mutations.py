"""What is done to the bytes of a `.log` file: to batches, their headers, records and compression.

Checksums are mended after every change, so that what they cover is reached. Each mutation
takes the bytes and a source of chance, and returns other bytes; what does not apply returns them
as they were.
"""

import struct
import zlib
from collections.abc import Callable
from random import Random
from typing import Any, Final, NamedTuple

import crc32c
import numpy as np

from tests.naive import varint
from workbench.layout.attributes import CODEC_MASK
from workbench.layout.batch_header import BATCH_HEADER, BATCH_HEADER_SIZE
from workbench.layout.message_header import MESSAGE_V0, MESSAGE_V1
from workbench.layout.structure import place, width
from workbench.record.codecs.compression import compress, decompress
from workbench.record.reading.arena import DecompressionError

LENGTH_END: Final = 12
MAGIC_AT: Final = 16
LARGEST_PAYLOAD: Final = 4 << 20  # bytes decompressed to be changed
BOMB: Final = 96 << 20  # bytes that a small payload decompresses to

VARINTS: Final = (
    -1, 0, 1, 63, 64, -64, -65, 2**31 - 1, -(2**31), 2**31, 2**32, 2**62, 2**63 - 1, -(2**63),
)  # fmt: skip
WORDS: Final = (
    b"\xff" * 5, b"\x80" * 4 + b"\x00", b"\xff" * 10, b"\x80" * 10, b"\x80" * 9 + b"\x01",
)  # fmt: skip


class Entry(NamedTuple):
    """One batch or message by its header.

    Attributes:
        start, end: bytes of the file.
        magic: as the file has it.
    """

    start: int
    end: int
    magic: int


def entries_of(data: bytes) -> list[Entry]:
    """Return what can be walked from the start on; what is after it is left alone."""
    found: list[Entry] = []
    at = 0
    while at + MAGIC_AT < len(data):
        end = at + LENGTH_END + int.from_bytes(data[at + 8 : at + 12], signed=True)
        if not at + 26 <= end <= len(data):
            break
        found.append(Entry(at, end, data[at + MAGIC_AT]))
        at = end
    return found


def mended(entry: bytes) -> bytes:
    """Return a batch or message with its length and its checksum made right."""
    length = struct.pack(">i", len(entry) - LENGTH_END)
    entry = entry[:8] + length + entry[LENGTH_END:]
    if entry[MAGIC_AT] == 2 and len(entry) >= BATCH_HEADER_SIZE:
        return entry[:17] + struct.pack(">I", crc32c.crc32c(entry[21:])) + entry[21:]
    return entry[:12] + struct.pack(">I", zlib.crc32(entry[16:])) + entry[16:]


def extreme(size: int, rng: Random) -> bytes:
    """Return an integer of that many bytes, near an edge of its range."""
    bits = 8 * size
    value = rng.choice(
        (0, 1, -1, 2 ** (bits - 1) - 1, -(2 ** (bits - 1)), 2 ** (bits - 2), rng.getrandbits(bits))
    )
    unsigned: int = value % 2**bits
    return unsigned.to_bytes(size)


def with_field(
    data: bytes, layout: "np.dtype[Any]", rng: Random, names: tuple[str, ...] = ()
) -> bytes:
    """Return bytes that begin with a layout with one field changed a little or to an extreme."""
    field = rng.choice(names or tuple(layout.names or ()))
    at, size = place(layout, field), width(layout, field)
    old = int.from_bytes(data[at : at + size])
    near: int = (old + rng.choice((-1, 1, 2, 256))) % 2 ** (8 * size)
    new: bytes = extreme(size, rng) if rng.random() < 0.6 else near.to_bytes(size)
    return data[:at] + new + data[at + size :]


Change = Callable[[bytes, Random], bytes]


def _at_one(change: Change) -> Change:
    """Change one entry of a log, the earlier ones and the last more often."""

    def mutate(data: bytes, rng: Random) -> bytes:
        entries = entries_of(data)
        if not entries:
            return data
        entry = rng.choice((entries[0], entries[-1], rng.choice(entries)))
        new = change(data[entry.start : entry.end], rng)
        return data[: entry.start] + new + data[entry.end :]

    return mutate


def header_field(entry: bytes, rng: Random) -> bytes:
    """One header field at an extreme, with a valid CRC where the CRC covers it."""
    if entry[MAGIC_AT] == 2:
        changed = with_field(entry, BATCH_HEADER, rng)
        covered = changed[21:] != entry[21:]
    else:
        changed = with_field(entry, MESSAGE_V1 if entry[MAGIC_AT] else MESSAGE_V0, rng)
        covered = changed[16:] != entry[16:]
    if not covered or changed[MAGIC_AT] != entry[MAGIC_AT]:
        return changed
    return mended(changed)


def places(entry: bytes, rng: Random) -> bytes:
    """A base offset, length, leader epoch or magic that no CRC covers."""
    names = ("base_offset", "batch_length", "partition_leader_epoch", "magic")
    return with_field(entry, BATCH_HEADER, rng, names)


def attributes(entry: bytes, rng: Random) -> bytes:
    """Other attribute bits: codec, timestamp type, transactional, control, delete horizon."""
    at = 22 if entry[MAGIC_AT] == 2 else 17
    bit = bytes([entry[at] ^ 1 << rng.randrange(8)])
    return mended(entry[:at] + bit + entry[at + 1 :])


def _payload(entry: bytes) -> tuple[int, int, bytes] | None:
    """Return where the records are, their codec, and them decompressed; None where that fails."""
    if entry[MAGIC_AT] == 2 and len(entry) >= BATCH_HEADER_SIZE:
        start, codec = BATCH_HEADER_SIZE, entry[22] & CODEC_MASK
    elif entry[MAGIC_AT] < 2:
        start, codec = 18 + 8 * entry[MAGIC_AT], entry[17] & CODEC_MASK
        if codec:
            start += 8  # a key of -1, and the size of the value
    else:
        return None
    content = entry[start:]
    if not codec:
        return start, codec, content
    try:
        plain = decompress(codec, content, entry[MAGIC_AT], LARGEST_PAYLOAD)
    except DecompressionError:
        return None
    return start, codec, plain


def _packed(entry: bytes, start: int, codec: int, plain: bytes) -> bytes:
    """Return the entry with other records: compressed again, sizes and checksum mended."""
    magic = entry[MAGIC_AT]
    content = compress(codec, plain, magic) if codec else plain
    head = entry[:start]
    if codec and magic < 2:
        head = head[:-4] + struct.pack(">i", len(content))
    return mended(head + content)


def _in_records(change: Change) -> Change:
    """Change the records of an entry as they are decompressed."""

    def mutate(entry: bytes, rng: Random) -> bytes:
        found = _payload(entry)
        if found is None:
            return entry
        start, codec, plain = found
        changed = change(plain, rng) if plain else rng.randbytes(9)
        return _packed(entry, start, codec, changed)

    return mutate


def varints_of(plain: bytes) -> list[tuple[int, int]]:
    """Return the places of the varints of records of magic 2, as far as they can be followed."""
    found: list[tuple[int, int]] = []

    def read(at: int) -> tuple[int, int]:
        value = shift = 0
        start = at
        while True:
            byte = plain[at]
            value |= (byte & 0x7F) << shift
            at, shift = at + 1, shift + 7
            if byte < 0x80:
                break
        found.append((start, at))
        return (value >> 1) ^ -(value & 1), at

    at = 0
    try:
        while at < len(plain) and len(found) < 4000:
            _, at = read(at)
            at += 1
            for _ in range(2):
                _, at = read(at)
            for _ in range(2):
                size, at = read(at)
                at += max(size, 0)
            count, at = read(at)
            for _ in range(2 * min(max(count, 0), 100)):
                size, at = read(at)
                at += max(size, 0)
    except IndexError:
        pass
    return found


def record_varint(plain: bytes, rng: Random) -> bytes:
    """One length, delta or count of a record at an extreme, or written too long."""
    found = varints_of(plain)
    if not found:
        return plain
    start, end = rng.choice(found)
    new = varint(rng.choice(VARINTS)) if rng.random() < 0.8 else rng.choice(WORDS)
    return plain[:start] + new + plain[end:]


def some_bytes(data: bytes, rng: Random) -> bytes:
    """A few bytes changed, put in or taken out."""
    at = rng.randrange(len(data) + 1)
    size = rng.choice((1, 1, 2, 7, 40))
    new = rng.choice((rng.randbytes(size), b"\xff" * size, bytes(size), b""))
    gone = rng.choice((0, size, size))
    return data[:at] + new + data[at + gone :]


def cut_or_longer(data: bytes, rng: Random) -> bytes:
    """The end cut off, or bytes after it."""
    if rng.random() < 0.5:
        return data[: rng.randrange(len(data) + 1)]
    return data + rng.choice((rng.randbytes(30), bytes(9000), data, rng.randbytes(200_000)))


def _frame(change: Change) -> Change:
    """Change the compressed bytes themselves."""

    def mutate(entry: bytes, rng: Random) -> bytes:
        found = _payload(entry)
        if found is None or not found[1]:
            return entry
        start = found[0]
        content = change(entry[start:], rng)
        head = entry[:start]
        if entry[MAGIC_AT] < 2:
            head = head[:-4] + struct.pack(">i", len(content))
        return mended(head + content)

    return mutate


def bomb(entry: bytes, rng: Random) -> bytes:
    """Records that decompress to much more than they say."""
    if entry[MAGIC_AT] != 2:
        return entry
    codec = rng.choice((1, 3, 4))
    head = entry[:21] + struct.pack(">h", codec) + entry[23:BATCH_HEADER_SIZE]
    return mended(head + compress(codec, bytes(BOMB), 2))


def control(entry: bytes, rng: Random) -> bytes:
    """A control batch of one record, whose key and value are right or at an edge."""
    if entry[MAGIC_AT] != 2:
        return entry
    edges = (0, 1, 2, 3, 4, 5, 6, 7, -1, 32767)
    key = struct.pack(">hh", rng.choice((0, 0, 1, -1)), rng.choice(edges))
    value = struct.pack(">hi", rng.choice((0, 0, 1, -1)), rng.choice((0, 7, -1, 2**31 - 1)))
    key, value = key[: rng.choice((4, 4, 3, 0))], value[: rng.choice((6, 6, 2, 0))]
    body = b"\0\0\0" + varint(len(key)) + key + varint(len(value)) + value + b"\0"
    record = varint(len(body)) + body
    flags = rng.choice((0x30, 0x30, 0x20))
    fields = struct.pack(">hi", flags, 0) + entry[27:57] + struct.pack(">i", 1)
    return mended(entry[:21] + fields + record)


def recompressed(entry: bytes, rng: Random) -> bytes:
    """The same records under another codec; for `BATCH_HEADER` only."""
    found = _payload(entry)
    if found is None or entry[MAGIC_AT] != 2:
        return entry
    codec = rng.randrange(5)
    head = entry[:21] + bytes([entry[21], entry[22] & ~CODEC_MASK & 0xFF | codec]) + entry[23:61]
    return _packed(head, BATCH_HEADER_SIZE, codec, found[2])


def _order(data: bytes, rng: Random) -> bytes:
    """Batches dropped, repeated, swapped, moved, turned round."""
    entries = entries_of(data)
    if not entries:
        return data
    parts = [data[entry.start : entry.end] for entry in entries]
    rest = data[entries[-1].end :]
    one, other = rng.randrange(len(parts)), rng.randrange(len(parts))
    match rng.randrange(6):
        case 0:
            del parts[one]
        case 1:
            parts.insert(other, parts[one])
        case 2:
            parts[one], parts[other] = parts[other], parts[one]
        case 3:
            parts.reverse()
        case 4:
            parts[one] = b""
            parts.insert(0, rng.choice((bytes(61), rng.randbytes(90))))
        case _:
            parts += parts[one:] * rng.choice((1, 1, 50))
    return b"".join(parts) + rest


def _numbered(data: bytes, rng: Random) -> bytes:
    """All base offsets from one batch on moved: back, a little, or far ahead."""
    entries = entries_of(data)
    if not entries:
        return data
    first = rng.randrange(len(entries))
    by = rng.choice((-1, 1, -100, 2**31 - 1, 2**31, 2**40, 2**62, -(2**40)))
    parts = [data[entry.start : entry.end] for entry in entries]
    for number in range(first, len(parts)):
        moved = (int.from_bytes(parts[number][:8]) + by) % 2**64
        parts[number] = moved.to_bytes(8) + parts[number][8:]
    return b"".join(parts) + data[entries[-1].end :]


def _hole(data: bytes, rng: Random) -> bytes:
    """Zeros, or other bytes, over whole batches or over a page that was never written."""
    entries = entries_of(data)
    if not entries:
        return data
    one = rng.choice(entries)
    start, end = one.start, rng.choice((one, *entries[-1:])).end
    if rng.random() < 0.4:
        start = rng.randrange(len(data)) & ~0xFFF
        end = min(start + 4096, len(data))
    elif end - start > 1 << 14:
        end = one.end
    filler = rng.choice((bytes(end - start), b"\xff" * (end - start), rng.randbytes(end - start)))
    return data[:start] + filler + data[end:]


def _edge_offset(data: bytes, rng: Random) -> bytes:
    """The base offset of the last batch, or of any, at an edge; no CRC covers it."""
    entries = entries_of(data)
    if not entries:
        return data
    at = rng.choice((entries[-1], rng.choice(entries))).start
    edge = rng.choice((2**63 - 1, 2**63 - 2, 2**62, -(2**63), -1, 2**31, 2**53 + 1)) % 2**64
    return data[:at] + edge.to_bytes(8) + data[at + 8 :]


LOG_MUTATIONS: Final[dict[str, Change]] = {
    "header field": _at_one(header_field),
    "place in the log": _at_one(places),
    "attributes": _at_one(attributes),
    "record varint": _at_one(_in_records(record_varint)),
    "record bytes": _at_one(_in_records(some_bytes)),
    "records cut or longer": _at_one(_in_records(cut_or_longer)),
    "frame bytes": _at_one(_frame(some_bytes)),
    "frame cut or longer": _at_one(_frame(cut_or_longer)),
    "bomb": _at_one(bomb),
    "control record": _at_one(control),
    "recompressed": _at_one(recompressed),
    "order of batches": _order,
    "offsets moved": _numbered,
    "hole": _hole,
    "offset at an edge": _edge_offset,
}
"""By name; each gives bytes that are those of a `.log` file no more, or of another."""
