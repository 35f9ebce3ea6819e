"""What differs between a segment that our cleaner left and the one that a broker's left.

Uncompressed batches have to be the same bytes. Compressed ones the same fields and records: other
compressors write other bytes, and so later batches and their index entries are elsewhere.
"""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import crc32c

from tests import naive
from tests.golden.directories import (
    Difference,
    differences,
    read_entries,
    state_of,
    with_leaders,
)

HEADER: Final = struct.Struct(">qiibIhiqqqhii")
MAGIC: Final = 16
CRC_FROM: Final = 21
CONTROL_BIT: Final = 32
HORIZON_BIT: Final = 64


class Batch(NamedTuple):
    """A batch of magic 2; ``data`` is empty if it is compressed."""

    position: int
    base_offset: int
    last_offset: int
    leader_epoch: int
    attributes: int
    base_timestamp: int
    max_timestamp: int
    producer: tuple[int, int, int]
    records: tuple[naive.Record, ...]
    data: bytes

    @property
    def content(self) -> tuple[object, ...]:
        """Everything but its position."""
        return self[1:]


def batches_in(path: Path) -> list[Batch]:
    """Return the batches of a `.log` of magic 2; their CRCs have to be right."""
    data, found, at = path.read_bytes(), [], 0
    while at < len(data):
        fields = HEADER.unpack_from(data, at)
        base, length, epoch, magic, crc, attributes, delta, first, newest = fields[:9]
        whole = data[at : at + 12 + length]
        assert magic == 2
        assert crc32c.crc32c(whole[CRC_FROM:]) == crc
        found.append(
            Batch(
                at, base, base + delta, epoch, attributes, first, newest, fields[9:12],
                tuple(naive.read(whole)), b"" if attributes & 7 else whole,
            )
        )  # fmt: skip
        at += len(whole)
    return found


def compaction_differences(ours: Path, theirs: Path) -> list[Difference]:
    """Return what differs between two log directories, but for what is explained."""
    mine, its = state_of(ours), state_of(theirs)
    found = differences(with_leaders(mine, its), its)
    return [each for each in found if not _is_explained(each, ours, theirs)]


def _is_explained(difference: Difference, ours: Path, theirs: Path) -> bool:
    kind, folder, text = difference
    if kind == "leftover":  # a broker leaves them for the next round; we remove them at once
        return text.endswith(".cleaned is gone")
    if kind not in {"log", "index"} or " is " in text.partition(":")[0]:
        return False
    name = f"{int(text.split()[1].rstrip(':')):020}"
    mine, its = ours / folder / f"{name}.log", theirs / folder / f"{name}.log"
    batches = batches_in(mine)
    if [b.content for b in batches] != [b.content for b in batches_in(its)]:
        return False
    return kind == "log" or _numbered(mine) == _numbered(its)


def _numbered(log: Path) -> list[tuple[int, int]]:
    """Return the entries of an offset index with numbers of batches instead of positions."""
    numbers = {batch.position: number for number, batch in enumerate(batches_in(log))}
    entries = read_entries(log.with_suffix(".index").read_bytes(), "index")
    return [(offset, numbers[position]) for offset, position in entries]


def survivor_differences(ours: Path, theirs: Path) -> list[Difference]:
    """Return what differs in what is left of a partition, however it is divided into batches.

    Brokers of old formats leave these; 4.2 makes batches of magic 2 of all that it cleans.

    Args:
        ours, theirs: folders of the partition.
    """
    mine, its = survivors_in(ours), survivors_in(theirs)
    found = [
        Difference(kind, ours.name, f"{each} is {what}")
        for kind in mine
        for what, left, right in (
            ("too much", mine[kind], its[kind]),
            ("gone", its[kind], mine[kind]),
        )
        for each in left
        if each not in right
    ]
    if all(entry[MAGIC] == 2 for entry in entries_in(theirs)):
        same = values_in(ours) == values_in(theirs)
        found += [] if same else [Difference("batches", ours.name, "are others")]
    return found


def survivors_in(folder: Path) -> dict[str, list[object]]:
    """Return the records with values, the tombstones, markers, segments and aborted transactions.

    Markers and segments by their offsets.
    """
    found: dict[str, list[object]] = {"record": [], "tombstone": [], "marker": []}
    for entry in entries_in(folder):
        is_control = entry[MAGIC] == 2 and entry[CRC_FROM + 1] & CONTROL_BIT
        for record in naive.read(entry):
            if is_control:
                found["marker"].append(record.offset)
            else:
                found["record" if record.value is not None else "tombstone"].append(record)
    found["segment"] = [int(path.stem) for path in sorted(folder.glob("*.log"))]
    found["txnindex"] = [
        entry
        for path in sorted(folder.glob("*.txnindex"))
        for entry in read_entries(path.read_bytes(), "txnindex")
    ]
    return found


def values_in(folder: Path) -> list[tuple[object, ...]]:
    """Return what a partition's consumers see but for tombstones, with batches and producers."""
    return [
        (record, batch.base_offset, batch.last_offset, batch.max_timestamp, batch.producer)
        for path in sorted(folder.glob("*.log"))
        for batch in batches_in(path)
        if not batch.attributes & CONTROL_BIT
        for record in batch.records
        if record.value is not None
    ]


def horizons_in(folder: Path) -> Iterator[int]:
    """Yield the delete horizons of a partition's batches, ms."""
    for entry in entries_in(folder):
        if entry[MAGIC] == 2:
            attributes, base_timestamp = struct.unpack_from(">h4xq", entry, CRC_FROM)
            if attributes & HORIZON_BIT:
                yield base_timestamp


def entries_in(folder: Path) -> Iterator[bytes]:
    """Yield the batches, and messages of magic 0 and 1, of a partition."""
    for path in sorted(folder.glob("*.log")):
        data, at = path.read_bytes(), 0
        while at < len(data):
            (length,) = struct.unpack_from(">i", data, at + 8)
            yield data[at : at + 12 + length]
            at += 12 + length
