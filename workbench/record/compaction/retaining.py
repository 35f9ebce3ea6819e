"""Decide which records of batches to keep, and write the batches, many at a time.

The caller gives the reasons as a table; this module applies it to each record, and writes the kept
records as Kafka's builder would.

Kafka: MemoryRecords.filterTo, MemoryRecords.buildRetainedRecordsInto (4.2)
"""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.kernels import dispatch
from workbench.kernels.codecs.inputs import Library
from workbench.kernels.reading.outputs import OUT_OF_ROOM
from workbench.layout.attributes import NONE
from workbench.layout.batch_header import BATCH_HEADER_SIZE
from workbench.layout.compaction import REBUILT
from workbench.record.codecs.compression import compress
from workbench.record.codecs.libraries import compiled_encoder
from workbench.record.compaction.locating import Located

_MOST_GROWTH: Final = 16  # bytes that a record can grow by: a longer timestamp delta and length
_MOST_FRAMING: Final = 128  # bytes that a frame may add to what does not compress

Bytes = npt.NDArray[np.uint8]
Longs = npt.NDArray[np.int64]
Rows = npt.NDArray[Any]


class Decided(NamedTuple):
    """Decisions on records.

    Attributes:
        reasons: uint8[n].
        newer_offsets: int64[n], the offset of the record that supersedes each; -1 if none does.
        kept: the number of kept records.
        max_offset: the last kept record's offset, or the last of a batch kept whole; -1: none.
    """

    reasons: Bytes
    newer_offsets: Longs
    kept: int
    max_offset: int


class Retainer:
    """Decides on records by a table, and writes the kept ones. Reuses its memory.

    Args:
        reasons: uint8[k, FACTS], the reason for each rule of a batch and facts of a record.
        superseded: the reason for superseded records. Records with this or a larger reason are
            dropped, the others kept.
    """

    def __init__(self, reasons: Bytes, superseded: int) -> None:
        self._reasons = reasons
        self._superseded = superseded
        self._chosen = np.empty(0, np.uint8)
        self._newer = np.empty(0, np.int64)
        self._out = np.empty(0, np.uint8)
        self._filled = 0
        self._plain = np.empty(0, np.uint8)  # what is compressed next

    def decide(
        self,
        rows: Rows,
        located: Located,
        newest: Longs,
        end_offset: int,
        new_horizon: int,
        outcomes: Rows,
    ) -> Decided:
        """Decide on records and their batches; the answer is valid until the next.

        Args:
            rows: BATCH_ROW[m].
            located: the records of some of them.
            newest: int64[n], newest offset of the key of each record; -1: not known.
            end_offset: the end of the offset map.
            new_horizon: the delete horizon in ms for batches that get one now; -1: none.
            outcomes: BATCH_OUTCOME[m], filled for the batches that are located.
        """
        count = len(located.places)
        if count > len(self._chosen):
            self._chosen, self._newer = np.empty(count, np.uint8), np.empty(count, np.int64)
        chosen, newer = self._chosen[:count], self._newer[:count]
        kept, max_offset = dispatch.decide_batches(
            rows,
            located.places,
            newest,
            end_offset,
            self._reasons,
            self._superseded,
            new_horizon,
            outcomes,
            located.first,
            located.last,
            chosen,
            newer,
        )
        return Decided(chosen, newer, int(kept), int(max_offset))

    @property
    def size(self) -> int:
        """Bytes that were written since the last `take`."""
        return self._filled

    def take(self) -> Bytes:
        """Return what was written since the last call; valid until something is written."""
        taken, self._filled = self._out[: self._filled], 0
        return taken

    def write(
        self,
        buffer: Bytes,
        rows: Rows,
        located: Located,
        decided: Decided,
        outcomes: Rows,
        progress: tuple[int, int],
    ) -> tuple[int, int]:
        """Write the kept records of the located batches.

        Args:
            buffer: uint8[b], the bytes with the batches of ``rows``.
            rows: BATCH_ROW[m].
            located, decided: the records and decisions of the same batches.
            outcomes: BATCH_OUTCOME[m]; the sizes of rebuilt batches are filled in.
            progress: the (row, record) to begin at.

        Returns:
            (row, record) where it stopped: after the last batch, or at an unusual one that the
            caller must write by `append`.
        """
        first, used = progress
        is_compressed = bool(rows[first]["codec"] != NONE)
        size = _MOST_GROWTH * len(located.places) + BATCH_HEADER_SIZE * (located.last - first)
        size += len(buffer) + (len(located.data) if is_compressed else 0)
        if is_compressed:
            self._plain = _with_room(self._plain, 0, size)
        self._out = _with_room(self._out, self._filled, size)
        filled, used, row, code = dispatch.write_batches(
            buffer,
            located.data,
            rows,
            located.places,
            used,
            decided.reasons,
            self._superseded,
            outcomes,
            first,
            located.last,
            self._plain if is_compressed else self._out,
            0 if is_compressed else self._filled,
        )
        if code == OUT_OF_ROOM:
            raise RuntimeError(f"the output is too small for row {row} of {len(rows)}")
        if is_compressed:
            self._compress(rows, outcomes, first, int(row))
        else:
            self._filled = int(filled)
        return int(row), int(used)

    def append(self, part: Bytes) -> None:
        """Write a batch that was made elsewhere."""
        self._out = _with_room(self._out, self._filled, len(part))
        self._out[self._filled : self._filled + len(part)] = part
        self._filled += len(part)

    def _compress(self, rows: Rows, outcomes: Rows, first: int, last: int) -> None:
        """Write batches whose records are to be compressed, or were copied compressed."""
        codec, at = int(rows[first]["codec"]), 0
        library = compiled_encoder(codec)
        if library is not None:
            size = int(outcomes["new_size"][first:last].sum())  # and what some codecs may add
            room = size + size // 64 + _MOST_FRAMING * (last - first)
            self._out = _with_room(self._out, self._filled, room)
        while first < last:
            if library is not None:
                at, first = self._pack(codec, library, outcomes, first, last, at)
            if first < last:
                at = self._compress_one(codec, outcomes[first : first + 1], at)
                first += 1

    def _pack(
        self, codec: int, library: Library, outcomes: Rows, first: int, last: int, at: int
    ) -> tuple[int, int]:
        """Write batches in one call of compiled code; return the position and row after them."""
        self._filled, at, first = dispatch.pack_batches(
            self._plain, at, codec, library, outcomes, first, last, self._out, self._filled
        )
        return at, first

    def _compress_one(self, codec: int, outcome: Rows, at: int) -> int:
        """Write one batch; return where the next one is."""
        size = int(outcome["new_size"][0])
        if not size:
            return at
        start, head = self._filled, at + BATCH_HEADER_SIZE
        records: Any = memoryview(self._plain)[head : at + size]
        is_rebuilt = outcome["verdict"][0] == REBUILT
        if is_rebuilt:
            records = compress(codec, records, 2)
        end = start + BATCH_HEADER_SIZE + len(records)
        self._out = _with_room(self._out, start, end - start)
        out = memoryview(self._out)
        out[start : start + BATCH_HEADER_SIZE] = memoryview(self._plain)[at:head]
        out[start + BATCH_HEADER_SIZE : end] = records
        if is_rebuilt:
            dispatch.seal_batch(self._out, start, end)
            outcome["new_size"] = end - start
        self._filled = end
        return at + size


def _with_room(memory: Bytes, filled: int, size: int) -> Bytes:
    """Return memory that begins with the same bytes and has room for ``size`` more."""
    if filled + size <= len(memory):
        return memory
    grown = np.empty(max(filled + size, 2 * len(memory)), np.uint8)
    grown[:filled] = memory[:filled]
    return grown
