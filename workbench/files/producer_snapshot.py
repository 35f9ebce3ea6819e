"""Producer snapshot: what the leader knew of each producer id at an offset of the log.

A header with a CRC-32C of all that follows it, then one entry of 46 bytes a producer id, in no
order (`layout.producer_snapshot`). The file is called after the offset that it reaches up to
(exclusive). Only the newest batch of a producer is kept. A broker deletes a snapshot that is
damaged and takes the one before.

Kafka: ProducerStateManager.readSnapshot, writeSnapshot (4.0); since 0.11
"""

from dataclasses import dataclass
from typing import Final, NamedTuple, Self

from workbench.errors import CorruptSnapshotError
from workbench.files.reading import MIB, Problem, ProblemList, SmallFile
from workbench.layout.producer_snapshot import (
    CRC_FROM,
    PRODUCER_ENTRY,
    SNAPSHOT_HEADER,
    SNAPSHOT_VERSION,
)
from workbench.layout.structure import as_struct, place
from workbench.record.crc import crc32c

NONE: Final = -1  # what stands in the file for None
SEQUENCES: Final = 2**31  # sequence numbers go round from 2**31 - 1 to 0

_HEADER: Final = as_struct(SNAPSHOT_HEADER)
_ENTRY: Final = as_struct(PRODUCER_ENTRY)


class ProducerEntry(NamedTuple):
    """What is known of one producer id.

    Attributes:
        producer_id: whose entry this is.
        producer_epoch: the newest seen.
        last_sequence: of the newest batch; None if there is no batch of this epoch.
        last_offset: of the newest batch; None if there is none.
        offset_delta: of that batch, its last offset minus its first.
        timestamp: ms; of the newest batch or transaction marker.
        coordinator_epoch: of the newest marker; None if there was none.
        current_transaction_first_offset: first offset of the open transaction; None if none is.
    """

    producer_id: int
    producer_epoch: int
    last_sequence: int | None
    last_offset: int | None
    offset_delta: int
    timestamp: int
    coordinator_epoch: int | None
    current_transaction_first_offset: int | None

    @property
    def first_sequence(self) -> int | None:
        """Sequence of the newest batch's first record; None if there is no batch.

        Kafka: BatchMetadata.firstSeq (4.0)
        """
        if self.last_sequence is None:
            return None
        return (self.last_sequence - self.offset_delta) % SEQUENCES

    @property
    def first_offset(self) -> int | None:
        """Offset of the newest batch's first record; None if there is no batch."""
        return None if self.last_offset is None else self.last_offset - self.offset_delta


@dataclass(frozen=True, slots=True)
class ProducerSnapshot(SmallFile):
    """The producers of one .snapshot file.

    Attributes:
        entries: in the file's order.
        version: 1; None where the file is damaged.
        crc: as stored; None where the file is damaged, and in one made to be written.
        problems: see `reading`. Entries stand also where the crc is wrong.
    """

    entries: tuple[ProducerEntry, ...] = ()
    version: int | None = SNAPSHOT_VERSION
    crc: int | None = None
    problems: tuple[Problem, ...] = ()

    corrupt_error = CorruptSnapshotError
    size_limit = 64 * MIB  # 1.4 million producers

    @classmethod
    def _parse(cls, data: bytes, problems: ProblemList) -> Self:
        if len(data) < _HEADER.size:
            problems.add("missing", len(data), f"{len(data)} bytes", f"{_HEADER.size} or more")
            return cls((), None, None, problems.found())
        version, crc, count = _HEADER.unpack_from(data)
        if version != SNAPSHOT_VERSION:
            problems.add("unknown version", 0, f"version {version}", f"{SNAPSHOT_VERSION}")
        computed = crc32c(data[CRC_FROM:])
        if computed != crc:
            found, expected = f"{crc:08x}", f"{computed:08x}, that of the bytes behind it"
            problems.add("wrong crc", place(SNAPSHOT_HEADER, "crc"), found, expected)
        _check_count(count, len(data) - _HEADER.size, problems)
        fitting = min(max(count, 0), (len(data) - _HEADER.size) // _ENTRY.size)
        end = _HEADER.size + fitting * _ENTRY.size
        entries = tuple(map(_entry, _ENTRY.iter_unpack(data[_HEADER.size : end])))
        return cls(entries, version, crc, problems.found())

    def encode(self) -> bytes:
        """Return the file's bytes, with the CRC that they should have."""
        body = b"".join(
            _ENTRY.pack(*(NONE if value is None else value for value in entry))
            for entry in self.entries
        )
        header = _HEADER.pack(SNAPSHOT_VERSION, 0, len(self.entries))
        crc = crc32c(header[CRC_FROM:] + body)
        return _HEADER.pack(SNAPSHOT_VERSION, crc, len(self.entries)) + body


def _entry(values: tuple[int, ...]) -> ProducerEntry:
    producer_id, epoch, sequence, offset, delta, timestamp, coordinator_epoch, first = values
    return ProducerEntry(
        producer_id,
        epoch,
        None if sequence == NONE else sequence,
        None if offset == NONE else offset,
        delta,
        timestamp,
        None if coordinator_epoch == NONE else coordinator_epoch,
        None if first == NONE else first,
    )


def _check_count(count: int, body_size: int, problems: ProblemList) -> None:
    position = place(SNAPSHOT_HEADER, "count")
    whole, rest = divmod(body_size, _ENTRY.size)
    if count < 0 or count > whole:
        found = f"{count} entries"
        problems.add("wrong count", position, found, f"{whole} in {body_size} bytes")
    elif count < whole or rest:
        behind = _HEADER.size + count * _ENTRY.size
        found = f"{body_size - count * _ENTRY.size} bytes"
        problems.add("left over bytes", behind, found, f"nothing behind {count} entries")
