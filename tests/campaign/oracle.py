"""Holds what a scan gives of a directory against what plain Python finds in the files' bytes.

Nothing is shared with the product but the codecs; see `tests.naive`. What a scan gives must be in
a batch whose CRC is valid, exactly so. What is in sound batches, in order, must be given.
"""

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Final

import crc32c

import workbench as wb
from tests import naive
from tests.naive import Record
from workbench.record.codecs.compression import decompress
from workbench.record.reading.arena import DecompressionError

LARGEST: Final = 1 << 20  # bytes of a `.log` file that is looked at, its holes too
COLUMNS: Final = ("offset", "timestamp", "key", "value", "headers")


class WrongRecordError(AssertionError):
    """A scan gave a record that is not in the file, or left out one that is."""


@dataclass
class Found:
    """What is in a `.log` file.

    Attributes:
        possible: every record of every batch with a valid CRC, wherever it begins.
        batches: the records of batches with a valid CRC in the order of the file, first offset,
            last offset; records are None where they are not sound.
        is_plain: no batch is within bytes that could be one as well.
    """

    possible: set[Record] = field(default_factory=set)
    batches: list[tuple[int, int, list[Record] | None]] = field(default_factory=list)
    is_plain: bool = True


def check(directory: Path) -> None:
    """Hold every partition that is a log against its files.

    Raises:
        WrongRecordError: see there.
    """
    logs = wb.open_log_directory(directory)
    for partition in logs.values():
        paths = [Path(segment.path) for segment in partition.segments]
        plain = all(path.is_file() and path.stat().st_size <= LARGEST for path in paths)
        if partition.kind == "log" and plain and paths:
            check_partition(logs, partition)


def check_partition(logs: wb.LogDirectory, partition: wb.Partition) -> None:
    """Hold one partition against its files; see `check`."""
    try:
        scan = logs.scan(partitions=partition.name, columns=COLUMNS, include_control=True)
        given = list(_records(scan))
    except (wb.WorkbenchError, OSError):
        return
    segments = [
        (segment.base_offset, find_batches(Path(segment.path).read_bytes()))
        for segment in partition.segments
    ]
    seen = set(given)
    possible: set[Record] = set().union(*(found.possible for _, found in segments))
    for record in given:
        if record not in possible:
            raise WrongRecordError(f"{partition.name}: {record} is in no batch")
    start = partition.log_start_offset
    missing = [
        record
        for record in must_be_given(segments)
        if record.offset >= start and record not in seen
    ]
    if missing:
        raise WrongRecordError(f"{partition.name}: {missing[0]} was left out")
    if len(seen) < len(given):
        raise WrongRecordError(f"{partition.name}: records are given twice")


def _records(scan: wb.Scan) -> Iterator[Record]:
    for batch in scan.batches():
        offsets, times, keys, values, headers = batch.columns
        stamps = times.cast("int64").to_pylist()
        for row, offset in enumerate(offsets.to_pylist()):
            own = [(h["key"], h["value"]) for h in headers[row].as_py() or ()]
            yield Record(
                offset,
                -1 if stamps[row] is None else stamps[row],
                keys[row].as_py(),
                values[row].as_py(),
                tuple((name.encode() if isinstance(name, str) else name, v) for name, v in own),
            )


def must_be_given(segments: list[tuple[int, Found]]) -> Iterator[Record]:
    """Yield the records of sound batches, if all batches of all segments are in order."""
    following = [base for base, _ in segments[1:]] + [2**63 - 1]
    highest = -1
    for (base, found), end in zip(segments, following, strict=True):
        if not found.is_plain:
            return
        for first, last, _ in found.batches:
            if not max(base, highest + 1) <= first <= last < end:
                return
            highest = last
    for _, found in segments:
        for _, _, records in found.batches:
            yield from records or ()


def find_batches(data: bytes) -> Found:
    """Find every batch whose CRC is valid, wherever it begins."""
    found = Found()
    at = doubtful_until = 0
    next_start = 0
    while at + 26 <= len(data):
        end = at + 12 + int.from_bytes(data[at + 8 : at + 12], signed=True)
        is_whole = at + 26 <= end <= len(data)
        if is_whole and data[at + 16] <= 2 and has_right_crc(data[at:end]):
            entry = data[at:end]
            records, is_sound = records_of(entry)
            found.possible.update(records)
            if at >= next_start:
                found.is_plain &= at >= doubtful_until
                first, last = _offsets(entry, records)
                found.batches.append((first, last, records if is_sound else None))
                next_start = end
        elif is_whole and at >= next_start:
            doubtful_until = max(doubtful_until, end)
        at += 1
    return found


def has_right_crc(entry: bytes) -> bool:
    """Whether the checksum of a batch or message is that of its bytes."""
    if entry[16] == 2:
        return len(entry) >= 61 and crc32c.crc32c(entry[21:]) == int.from_bytes(entry[17:21])
    return zlib.crc32(entry[16:]) == int.from_bytes(entry[12:16])


def _offsets(entry: bytes, records: list[Record]) -> tuple[int, int]:
    """Return first and last offset by the header; a wrapper's first by its records."""
    (offset,) = struct.unpack(">q", entry[:8])
    if entry[16] == 2:
        (delta,) = struct.unpack(">i", entry[23:27])
        return offset, offset + delta
    return (records[0].offset if records else offset), offset


def records_of(entry: bytes) -> tuple[list[Record], bool]:
    """Return the records of a batch, as far as there are any, and whether it is sound throughout.

    What is not sound may be left out or given: Kafka's own readers are of two minds there.
    """
    try:
        records = naive.read(entry)
    except (AssertionError, DecompressionError, IndexError, MemoryError, struct.error, ValueError):
        return _leniently(entry), False
    return records, _is_sound(entry, records)


def _leniently(entry: bytes) -> list[Record]:
    """Return what Kafka's reader takes of a message or wrapper that is not as it should be.

    It skips what is after key and value, and ends at an inner message that is cut.
    """
    magic = entry[16]
    if magic > 1:
        return []
    if not entry[17] & 7:
        return _plain_message(entry)
    try:
        inner = decompress(entry[17] & 7, entry[18 + 8 * magic + 8 :], magic)
    except (DecompressionError, MemoryError):
        return []
    found: list[Record] = []
    at = 0
    while at + 26 <= len(inner):
        end = at + 12 + int.from_bytes(inner[at + 8 : at + 12], signed=True)
        if not at + 26 <= end <= len(inner) or inner[at + 16] > 1:
            break
        found += _plain_message(inner[at:end])
        at = end
    last = int.from_bytes(entry[:8], signed=True)
    shift = last - found[-1].offset if found and magic == 1 else 0
    return [replace(record, offset=record.offset + shift) for record in found]


def _plain_message(entry: bytes) -> list[Record]:
    """Return a message that may be longer than its key and value; nothing if it is shorter."""
    at = 18 + 8 * entry[16]
    time = int.from_bytes(entry[18:26], signed=True) if entry[16] else -1
    parts: list[bytes | None] = []
    for _ in range(2):
        size = int.from_bytes(entry[at : at + 4], signed=True)
        at += 4
        if at + max(size, 0) > len(entry):
            return []
        parts.append(None if size < 0 else entry[at : at + size])
        at += max(size, 0)
    return [Record(int.from_bytes(entry[:8], signed=True), time, parts[0], parts[1])]


def _is_sound(entry: bytes, records: list[Record]) -> bool:
    offsets = [record.offset for record in records]
    ascending = all(a < b for a, b in pairwise(offsets))
    first, last = _offsets(entry, records)
    within = not offsets or (first <= offsets[0] and offsets[-1] <= last)
    if entry[16] < 2:
        attributes = entry[17]
        return ascending and within and attributes < 4 and _inner_is_sound(entry, attributes & 7)
    attributes = int.from_bytes(entry[21:23])
    return ascending and within and attributes & ~0x7F == 0 and attributes & 7 <= 4 and first >= 0


def _inner_is_sound(entry: bytes, codec: int) -> bool:
    """Whether the messages in a wrapper are of its magic, whole, plain, and have valid CRCs."""
    magic = entry[16]
    if not codec:
        return True
    start = 18 + 8 * magic + 8
    inner = decompress(codec, entry[start:], magic)
    at = 0
    while at < len(inner):
        end = at + 12 + int.from_bytes(inner[at + 8 : at + 12])
        if inner[at + 16] != magic or inner[at + 17] or not has_right_crc(inner[at:end]):
            return False
        at = end
    return bool(inner)
