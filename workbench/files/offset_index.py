"""Offset index: the position in a segment's .log file to start reading from for an offset.

A run of 8-byte entries (`OFFSET_ENTRY`), offsets and positions both ascending. Sparse: one entry
for `index.interval.bytes` of log or more, so a look-up lands at or before the wanted batch and the
caller reads on from there. No checksum; it can be rebuilt from the log.

An entry's offset is the first of the batch at its position up to Kafka 1.1, the last since 2.0.
Either way no batch before the position reaches the offset, so both are looked up alike.

Kafka: OffsetIndex (4.0)
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from workbench.files.entry_run import (
    EntryProblems,
    EntryRun,
    IndexFile,
    falls,
    read_last_entry,
    relative_offset,
)
from workbench.files.reading import Problem
from workbench.layout.index_entries import OFFSET_ENTRY
from workbench.layout.structure import as_struct

_ENTRY: Final = as_struct(OFFSET_ENTRY)


class OffsetPosition(NamedTuple):
    """A record offset and the position of a batch in the .log file."""

    offset: int
    position: int


@dataclass(frozen=True, slots=True, eq=False)
class OffsetIndex(IndexFile):
    """The entries of one .index file; `len()` is the number in use.

    Attributes:
        base_offset: of the segment.
        offsets: int64[n]; ascending in a sound index.
        positions: int64[n]; ascending in a sound index.
        file_size: in bytes.
        slack: bytes of zeros behind the entries, allocated for more of them.
        problems: see `reading`. A broker since 2.3 looks for none of them.
        ascends: whether offsets and positions both do.
    """

    base_offset: int
    offsets: npt.NDArray[np.int64]
    positions: npt.NDArray[np.int64]
    file_size: int
    slack: int = 0
    problems: tuple[Problem, ...] = ()
    ascends: bool = field(default=True, repr=False)

    entry = OFFSET_ENTRY

    @classmethod
    def _of_run(cls, run: EntryRun, base_offset: int) -> Self:
        entries = np.frombuffer(run.data, OFFSET_ENTRY)
        relative_offsets = entries["relative_offset"].astype(np.int64)
        positions = entries["position"].astype(np.int64)
        problems = EntryProblems(
            run,
            OFFSET_ENTRY.itemsize,
            lambda slot: f"relative offset {relative_offsets[slot]} at position {positions[slot]}",
        )
        falling = falls(relative_offsets, or_stays=True) | falls(positions, or_stays=True)
        problems.add_where("below base offset", relative_offsets < 0, "no negative offset")
        problems.add_where("bad value", positions < 0, "no negative position")
        problems.add_where("wrong order", falling, "both above those of the entry before")
        return cls(
            base_offset=base_offset,
            offsets=relative_offsets + base_offset,
            positions=positions,
            file_size=run.file_size,
            slack=run.slack,
            problems=problems.found(),
            ascends=not falling.any(),
        )

    def encode(self) -> bytes:
        """Return the bytes of the entries in use, as the file holds them once it is cut to size."""
        entries = np.empty(len(self), OFFSET_ENTRY)
        entries["relative_offset"] = self.offsets - self.base_offset
        entries["position"] = self.positions
        return entries.tobytes()

    def __len__(self) -> int:
        return len(self.offsets)

    def __getitem__(self, slot: int) -> OffsetPosition:
        return OffsetPosition(int(self.offsets[slot]), int(self.positions[slot]))

    def __iter__(self) -> Iterator[OffsetPosition]:
        return map(OffsetPosition, self.offsets.tolist(), self.positions.tolist())

    @property
    def last_offset(self) -> int:
        """The offset of the last entry; the segment's base offset if there is none."""
        return int(self.offsets[-1]) if len(self) else self.base_offset

    def lookup(self, target_offset: int) -> OffsetPosition:
        """Return the last entry at or before ``target_offset``; the segment's start if none is.

        An index whose entries do not ascend always answers with the segment's start: slow, but
        never past the wanted batch. The index of another log may ascend and still be wrong; only
        the batches tell.

        Kafka: OffsetIndex.lookup (4.0)
        """
        if self.ascends:
            slot = int(self.offsets.searchsorted(target_offset, "right")) - 1
            if slot >= 0:
                return self[slot]
        return OffsetPosition(self.base_offset, 0)

    def upper_bound(self, position: int, size: int) -> OffsetPosition | None:
        """Return the first entry at or behind ``position + size``; None if none is.

        Its offset bounds the records of a fetch of ``size`` bytes from ``position``.

        Kafka: OffsetIndex.fetchUpperBoundOffset (4.0)
        """
        if not self.ascends:
            return None
        slot = int(self.positions.searchsorted(position + size, "left"))
        return self[slot] if slot < len(self) else None


def encode_entry(base_offset: int, offset: int, position: int) -> bytes:
    """Return the bytes of one entry.

    Raises:
        OffsetOverflowError: ``offset`` is before the segment or too far behind its start.
    """
    return _ENTRY.pack(relative_offset(offset, base_offset), position)


def read_last(path: str, base_offset: int) -> OffsetPosition | None:
    """Return the last entry of an index file without reading the rest; None if it has none.

    Raises:
        OSError: the file cannot be read.
    """
    data = read_last_entry(path, OFFSET_ENTRY.itemsize)
    if not data:
        return None
    relative, position = _ENTRY.unpack(data)
    return OffsetPosition(base_offset + relative, position)
