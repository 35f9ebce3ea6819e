"""Producer snapshot: the state of each producer id at an offset of the log.

A header with a CRC-32C of everything after it, then one entry of 46 bytes per producer id, in no
order (`layout.producer_snapshot`). The file is named after the offset where it ends (exclusive).
Only the newest batch of a producer is kept. A broker deletes a damaged snapshot and takes the one
before.

Kafka: ProducerStateManager.readSnapshot, writeSnapshot (4.0); since 0.11
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import eq
from typing import Final, NamedTuple, Self, overload

from workbench.errors import CorruptSnapshotError
from workbench.files.reading import MIB, FileProblem, ProblemList, SmallFile
from workbench.layout.producer_snapshot import (
    CRC_FROM,
    PRODUCER_ENTRY,
    SNAPSHOT_HEADER,
    SNAPSHOT_VERSION,
)
from workbench.layout.structure import as_struct, place
from workbench.record.crc import crc32c

ABSENT: Final = -1  # None in the file
SEQUENCES: Final = 2**31  # sequence numbers wrap from 2**31 - 1 to 0

_HEADER: Final = as_struct(SNAPSHOT_HEADER)
_ENTRY: Final = as_struct(PRODUCER_ENTRY)


class ProducerEntry(NamedTuple):
    """The state of one producer id.

    Attributes:
        producer_id: the producer id.
        producer_epoch: the newest one.
        last_sequence: the newest batch's last; None if there is no batch of this epoch.
        last_offset: the newest batch's last; None if there is none.
        offset_delta: that batch's last offset minus its first.
        timestamp: ms; the newest batch's or transaction marker's.
        coordinator_epoch: the newest transaction marker's; None if there was none.
        current_transaction_first_offset: first offset of the open transaction; None without one.
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


class ProducerEntries(Sequence[ProducerEntry]):
    """Entries in the bytes of a snapshot, made on access: objects take ten times more memory.

    Args:
        data: whole entries, as in the file.
    """

    __slots__ = ("_data",)

    def __init__(self, data: memoryview) -> None:
        self._data = data

    def __len__(self) -> int:
        return len(self._data) // _ENTRY.size

    @overload
    def __getitem__(self, slot: int) -> ProducerEntry: ...
    @overload
    def __getitem__(self, slot: slice) -> tuple[ProducerEntry, ...]: ...
    def __getitem__(self, slot: int | slice) -> ProducerEntry | tuple[ProducerEntry, ...]:
        places = range(0, len(self._data), _ENTRY.size)[slot]
        if isinstance(places, int):
            return _entry(_ENTRY.unpack_from(self._data, places))
        return tuple(_entry(_ENTRY.unpack_from(self._data, place)) for place in places)

    def __iter__(self) -> Iterator[ProducerEntry]:
        return map(_entry, _ENTRY.iter_unpack(self._data))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (tuple, ProducerEntries)):
            return NotImplemented
        return len(self) == len(other) and all(map(eq, self, other))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))

    def __reduce__(
        self,
    ) -> tuple[type[tuple[ProducerEntry, ...]], tuple[tuple[ProducerEntry, ...]]]:
        return tuple, (tuple(self),)


@dataclass(frozen=True, slots=True)
class ProducerSnapshot(SmallFile):
    """The producers of one .snapshot file.

    Attributes:
        entries: in the file's order; entries from a file are made at each access.
        version: 1; None if the file is damaged.
        crc: as stored; None if the file is damaged, and in one made to be written.
        problems: see `reading`. Entries are there even if the CRC does not match.
    """

    entries: Sequence[ProducerEntry] = ()
    version: int | None = SNAPSHOT_VERSION
    crc: int | None = None
    problems: tuple[FileProblem, ...] = ()

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
        computed = crc32c(memoryview(data)[CRC_FROM:])
        if computed != crc:
            found, expected = f"{crc:08x}", f"{computed:08x}, the CRC of the bytes after it"
            problems.add("wrong crc", place(SNAPSHOT_HEADER, "crc"), found, expected)
        _check_count(count, len(data) - _HEADER.size, problems)
        fitting = min(max(count, 0), (len(data) - _HEADER.size) // _ENTRY.size)
        end = _HEADER.size + fitting * _ENTRY.size
        entries = memoryview(data)[_HEADER.size : end]
        return cls(ProducerEntries(entries) if fitting else (), version, crc, problems.found())

    def encode(self) -> bytes:
        """Return the file's bytes, with a valid CRC."""
        body = b"".join(
            _ENTRY.pack(*(ABSENT if value is None else value for value in entry))
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
        None if sequence == ABSENT else sequence,
        None if offset == ABSENT else offset,
        delta,
        timestamp,
        None if coordinator_epoch == ABSENT else coordinator_epoch,
        None if first == ABSENT else first,
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
        problems.add("left over bytes", behind, found, f"nothing after {count} entries")
