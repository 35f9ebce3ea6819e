"""The batch table: one row per batch of a `.log` file, from its headers alone.

Nothing is decompressed and no CRC is checked, so the base offset and the record count of a
compressed message of magic 0 or 1 are unknown.

Kafka: FileLogInputStream, DefaultRecordBatch, AbstractLegacyRecordBatch (4.2)
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.file_system.source import FileSource
from workbench.kernels import dispatch
from workbench.layout import problems
from workbench.layout.attributes import TIMESTAMP_TYPE_NAMES, codec_name
from workbench.layout.batch_row import BATCH_ROW
from workbench.layout.message_header import SMALLEST_ENTRY
from workbench.layout.rows import with_more_rows

_WINDOW: Final = 1 << 18  # bytes read at a time if batches are small
ROWS_AT_ONCE: Final = 1 << 14
"""Rows that a walk over any number of batches holds at a time: 1.5 MiB."""
_FIRST_ROWS: Final = 1024
_MOST_FIRST_ROWS: Final = (
    1 << 18
)  # a sparse file can claim any size; rows are added as they are found
_SMALL_BATCH: Final = 128  # bytes; few batches of one record have fewer
_FEWEST_ROWS: Final = 32
_BYTES_A_ROW: Final = 8192  # a guess that sizes the table: below a typical batch of 16 KiB


class ScanStop(NamedTuple):
    """Why and where a walk over batch headers ended; ``code`` is END, UNFINISHED or BAD_SIZE."""

    code: int
    position: int

    @property
    def is_end(self) -> bool:
        """Whether the file ends where its last batch does."""
        return self.code == problems.END


@dataclass(frozen=True, slots=True)
class Batch:
    """One batch, or one magic 0 or 1 message, by its header. ``None``: none, or not stored.

    Times are ms since the epoch (UTC), `position` and `size` bytes; `last_*` inclusive.
    """

    position: int
    size: int
    base_offset: int | None
    last_offset: int
    base_timestamp: int | None
    max_timestamp: int | None
    delete_horizon: int | None
    producer_id: int | None
    producer_epoch: int | None
    base_sequence: int | None
    last_sequence: int | None
    partition_leader_epoch: int | None
    record_count: int | None
    magic: int
    codec: str
    timestamp_type: str | None
    is_transactional: bool
    is_control: bool
    attributes: int
    crc: int
    problem: str | None


def places_of(rows: npt.NDArray[Any], origin: int = 0) -> npt.NDArray[np.int64]:
    """Return int64[m, 2]: start and end of batches, BATCH_ROW[m], relative to ``origin``."""
    places = np.empty((len(rows), 2), np.int64)
    np.subtract(rows["position"], origin, out=places[:, 0])
    np.add(places[:, 0], rows["size"], out=places[:, 1])
    return places


def first_offsets(rows: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return int64[n]: base offsets of BATCH_ROW[n]; the last offset where there is none.

    The header of a wrapper has no base offset. A negative one of magic 2 is damaged: see
    `inspection.verify.segments.log_pass.first_offsets`, which keeps it to report it.
    """
    base: npt.NDArray[np.int64] = np.where(
        rows["base_offset"] < 0, rows["last_offset"], rows["base_offset"]
    )
    return base


def out_of_place(
    first: npt.NDArray[np.int64], last: npt.NDArray[np.int64], lowest: int, blamed: int = -1
) -> list[tuple[int, int]]:
    """Return where batches overlap the next ones, and which of the two is out of place.

    Args:
        first, last: int64[n], the batches' offsets.
        lowest: the last offset before the batches.
        blamed: a batch that is known to be out of place; -1 none.

    Returns:
        Pairs (boundary, culprit), ascending: the batch ``boundary`` and the one after it overlap,
        and the culprit is one of them. One culprit explains the overlaps on both its sides.
    """
    found: list[tuple[int, int]] = []
    for boundary in np.flatnonzero(first[1:] <= last[:-1]).tolist():
        if blamed != boundary:
            blamed = _culprit(first, last, boundary, lowest)
            found.append((boundary, blamed))
    return found


def last_in_order(rows: npt.NDArray[Any], before: int) -> int:
    """Return the last offset of the sound batches that are in order; ``before`` without any.

    Args:
        rows: BATCH_ROW[m].
        before: the last offset before them.
    """
    if not len(rows):
        return before
    end = int(rows["last_offset"][-1])
    if end > before and end == rows["last_offset"].max() and not rows["problem"].any():
        return end
    sound = rows[(rows["problem"] == problems.OK) & (rows["last_offset"] > before)]
    if not len(sound):
        return before
    first, last = first_offsets(sound), sound["last_offset"]
    culprits = [culprit for _, culprit in out_of_place(first, last, before)]
    return int(np.delete(last, culprits).max(initial=before))


def _culprit(
    first: npt.NDArray[np.int64], last: npt.NDArray[np.int64], boundary: int, lowest: int
) -> int:
    """Return which of two batches that overlap is out of place: ``boundary`` or the next one.

    That is the batch without which the others ascend; if both are, the one with a gap on its other
    side.
    """
    behind = boundary + 1
    before_last = int(last[boundary - 1]) if boundary else lowest
    without_first = before_last < first[behind]
    without_second = behind + 1 >= len(first) or last[boundary] < first[behind + 1]
    if without_first != without_second:
        return boundary if without_first else behind
    if first[boundary] > before_last + 1 or first[boundary] < before_last:
        return boundary
    return behind


def batch_of(row: Any) -> Batch:
    """Return one row of a batch table as an object."""

    def known(name: str) -> int | None:
        value = int(row[name])
        return None if value == -1 else value

    horizon = known("delete_horizon")
    return Batch(
        position=int(row["position"]),
        size=int(row["size"]),
        base_offset=known("base_offset"),
        last_offset=int(row["last_offset"]),
        base_timestamp=None if horizon is not None else known("base_timestamp"),
        max_timestamp=known("max_timestamp"),
        delete_horizon=horizon,
        producer_id=known("producer_id"),
        producer_epoch=known("producer_epoch"),
        base_sequence=known("base_sequence"),
        last_sequence=known("last_sequence"),
        partition_leader_epoch=known("partition_leader_epoch"),
        record_count=known("record_count"),
        magic=int(row["magic"]),
        codec=codec_name(int(row["codec"])),
        timestamp_type=TIMESTAMP_TYPE_NAMES.get(int(row["timestamp_type"])),
        is_transactional=bool(row["is_transactional"]),
        is_control=bool(row["is_control"]),
        attributes=int(row["attributes"]),
        crc=int(row["crc"]),
        problem=problems.WORDS.get(int(row["problem"])),
    )


class BatchTable:
    """The batches of one file, ascending by position.

    Attributes:
        rows: BATCH_ROW[n].
        stop: why and where the walk ended.
    """

    def __init__(self, rows: npt.NDArray[Any], stop: ScanStop) -> None:
        self.rows = rows
        self.stop = stop

    def __repr__(self) -> str:
        return (
            f"<BatchTable: {len(self):,} batches, {self.valid_size:,} bytes; "
            "rows is a numpy array, logs.inspect.batches() an Arrow table>"
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("to_") or name == "__arrow_c_stream__":
            raise AttributeError(
                f"a batch table has no {name}: rows is a numpy array, and logs.inspect.batches() "
                "an Arrow table"
            )
        raise AttributeError(f"a batch table has no {name}", name=name, obj=self)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> Batch:
        return batch_of(self.rows[index])

    def column(self, name: str) -> npt.NDArray[Any]:
        """Return one column of the table: a view of n items, fields as in `BATCH_ROW`."""
        return self.rows[name]

    @property
    def valid_size(self) -> int:
        """The end of the last complete batch: the next one would be written here."""
        return self.stop.position

    def at(self, position: int) -> int:
        """Return the row of the batch that covers byte ``position``.

        Raises:
            LookupError: no batch does.
        """
        row = int(np.searchsorted(self.rows["position"], position, side="right")) - 1
        if row < 0 or position >= self.rows["position"][row] + self.rows["size"][row]:
            msg = f"no batch covers byte {position}"
            raise LookupError(msg)
        return row

    def find_offset(self, offset: int) -> int:
        """Return the first row whose last offset is ``offset`` or above; n when there is none.

        Kafka: FileRecords.searchForOffsetWithSize
        """
        found = np.flatnonzero(self.rows["last_offset"] >= offset)
        return int(found[0]) if len(found) else len(self)


def _scan_in_windows(
    source: FileSource, position: int, file_end: int, rows: npt.NDArray[Any]
) -> tuple[int, int, int]:
    """Do what `scan_file` does on systems without pread."""
    window = np.empty(_WINDOW, np.uint8)
    count = 0
    while True:
        got = source.read_into(window[: max(0, min(_WINDOW, file_end - position))], position)
        done, reached, code = dispatch.scan_window(window[:got], position, file_end, rows[count:])
        count += done
        if code != problems.MORE_DATA or reached == position:
            return count, reached, code
        position = reached


def _fill_rows(
    source: FileSource,
    position: int,
    file_end: int,
    window: npt.NDArray[np.uint8],
    rows: npt.NDArray[Any],
) -> tuple[int, int, int]:
    """Fill ``rows`` with the batches from ``position``.

    Returns (rows filled, position reached, code); ROWS_FULL means that there is more.
    """
    if dispatch.HAS_PREAD and source.descriptor >= 0:
        got = dispatch.scan_file(source.descriptor, position, file_end, window, rows)
    else:
        got = _scan_in_windows(source, position, file_end, rows)
    count, position, code = map(int, got)
    if code == problems.MORE_DATA:  # the file is shorter now than it was
        code = problems.UNFINISHED
    return count, position, code


def scan_batches(source: FileSource, start: int = 0, stop: int | None = None) -> BatchTable:
    """Walk over the batch headers of [start, stop); ``start`` must be where a batch starts.

    Reads the headers and little more. A batch that does not end before ``stop`` (default: the
    file's end) is incomplete and not in the table.

    Raises:
        OSError: the file cannot be read.
    """
    file_end = source.size if stop is None else stop
    size = max(0, file_end - start)  # an index may point past the end
    guess = min(
        max(_FIRST_ROWS, size // _BYTES_A_ROW), _MOST_FIRST_ROWS, size // SMALLEST_ENTRY + 1
    )
    rows = np.zeros(guess, BATCH_ROW)
    window = np.empty(_WINDOW, np.uint8)
    count, position = 0, start
    while True:
        done, position, code = _fill_rows(source, position, file_end, window, rows[count:])
        count += done
        if code != problems.ROWS_FULL:
            break
        rows = with_more_rows(rows[:count], max(count, _FIRST_ROWS))
    if 2 * count < len(rows):  # a table is kept; what it does not need is not
        rows = with_more_rows(rows[:count], 0)
    return BatchTable(rows[:count], ScanStop(code, position))


def walk_batches(
    source: FileSource, stop: int | None = None, *, start: int = 0
) -> Iterator[BatchTable]:
    """Do what `scan_batches` does in tables of some thousand rows; the last one has the `stop`.

    The others stop at ROWS_FULL. What is held does not grow with the file.

    Raises:
        OSError: the file cannot be read.
    """
    file_end = source.size if stop is None else stop
    window = np.empty(_WINDOW, np.uint8)
    position, code = start, problems.ROWS_FULL
    while code == problems.ROWS_FULL:
        guess = max(0, file_end - position) // _SMALL_BATCH  # an index may point past the end
        rows = np.zeros(min(ROWS_AT_ONCE, guess + _FEWEST_ROWS), BATCH_ROW)
        count, position, code = _fill_rows(source, position, file_end, window, rows)
        yield BatchTable(rows[:count], ScanStop(code, position))
