"""What differs between a log that our cleaner left and the one that Kafka's left.

Everything has to be the same, to the byte, except batches that were recompressed: two
compressors seldom write the same bytes. Of those all fields and the records have to be; and as
batches are then elsewhere, each index must be the one that follows from the batches beside it.
"""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import crc32c

from workbench.record.codecs.compression import decompress

OLDEST: Final = 1_000_000_000  # s; files of a case that the cleaners were given
NEWEST: Final = 1_100_000_000
HEADER: Final = struct.Struct(">hiqqqhii")  # from the attributes on
CODEC: Final = 7


class Batch(NamedTuple):
    """A batch, or a message of magic 0 or 1.

    Attributes:
        position: in the file, bytes.
        size: bytes.
        last_offset: the batch's.
        max_timestamp: ms.
        content: all that has to be the same, position and compression aside.
    """

    position: int
    size: int
    last_offset: int
    max_timestamp: int
    content: tuple[object, ...]


def batches_in(data: bytes) -> Iterator[Batch]:
    """Yield the batches of a `.log`; the CRCs of those of magic 2 have to be right."""
    at = 0
    while at < len(data):
        offset, length = struct.unpack_from(">qi", data, at)
        whole = data[at : at + 12 + length]
        if data[at + 16] < 2:
            time = struct.unpack_from(">q", whole, 18)[0] if data[at + 16] else -1
            yield Batch(at, len(whole), offset, time, (whole,))
        else:
            epoch, crc = struct.unpack_from(">ixI", whole, 12)
            assert crc32c.crc32c(whole[21:]) == crc, at
            fields = HEADER.unpack_from(whole, 21)
            records = whole[61:]
            if records:
                records = decompress(fields[0] & CODEC, records, 2)
            content = (offset, epoch, fields, records)
            yield Batch(at, len(whole), offset + fields[1], fields[3], content)
        at += len(whole)


def assert_same_log(ours: Path, theirs: Path, interval: int, *, has_codecs: bool) -> None:
    """Hold our folder of a partition against Kafka's.

    Args:
        ours, theirs: the folders.
        interval: index.interval.bytes.
        has_codecs: whether batches may be compressed.
    """
    names = sorted(path.name for path in ours.iterdir())
    assert names == sorted(path.name for path in theirs.iterdir())
    recompressed = set()
    for name in (name for name in names if name.endswith(".log")):
        pair = ours / name, theirs / name
        left, right = (path.read_bytes() for path in pair)
        times = [round(path.stat().st_mtime) for path in pair]
        assert times[0] == times[1] or min(times) > NEWEST, name
        if has_codecs and left != right:
            recompressed.add(name.partition(".")[0])
            assert_same_batches(name, left, right)
            for path in pair:
                assert_indexes_follow(path, interval)
    for name in names:
        is_free = name.endswith((".log", ".index", ".timeindex"))
        if not is_free or name.partition(".")[0] not in recompressed:
            assert (ours / name).read_bytes() == (theirs / name).read_bytes(), name


def assert_same_batches(name: str, ours: bytes, theirs: bytes) -> None:
    """Hold batches against each other, whatever their compressors wrote."""
    left, right = list(batches_in(ours)), list(batches_in(theirs))
    assert [one.content for one in left] == [one.content for one in right], name


def assert_indexes_follow(log: Path, interval: int) -> None:
    """Hold the indexes of a segment that was just cleaned against its batches."""
    base = int(log.stem)
    offsets, times = bytearray(), bytearray()
    newest, newest_offset, told = -1, base, -1
    since = 0
    for batch in batches_in(log.read_bytes()):
        if batch.max_timestamp > newest:
            newest, newest_offset = batch.max_timestamp, batch.last_offset
        if since > interval:
            offsets += struct.pack(">ii", batch.last_offset - base, batch.position)
            if newest > told:
                times += struct.pack(">qi", newest, newest_offset - base)
                told = newest
            since = 0
        since += batch.size
    if newest > told:
        times += struct.pack(">qi", newest, newest_offset - base)
    assert log.with_suffix(".index").read_bytes() == bytes(offsets), log
    assert log.with_suffix(".timeindex").read_bytes() == bytes(times), log
