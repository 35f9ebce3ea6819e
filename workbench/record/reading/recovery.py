"""Walk over a `.log` file as a recovering broker does: to the first invalid or incomplete batch.

Kafka: LogSegment.recover, FileLogInputStream, RecordBatch.ensureValid (4.2)
"""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.file_system.source import FileSource
from workbench.kernels import dispatch
from workbench.layout import problems
from workbench.layout.batch_header import ENTRY_HEADER_SIZE, LENGTH_END
from workbench.layout.batch_row import BATCH_ROW
from workbench.layout.message_header import SMALLEST_MESSAGE

_WINDOW: Final = 8 << 20  # bytes; large enough to make the cost per window small
_ROWS: Final = 16384

Rows = npt.NDArray[Any]


class WholeBatches(NamedTuple):
    """Batches with valid sizes and CRCs, and their bytes.

    Attributes:
        rows: BATCH_ROW[m], without a gap, in file order; valid until the next are asked for.
        data: uint8[n], the file's bytes from ``position``; valid until the next are asked for.
        position: the position of ``data[0]`` in the file.
        problem: why the walk ends after these batches; "" while it continues or at the end of the
            file. An incomplete batch at the end is not a problem.
    """

    rows: Rows
    data: npt.NDArray[np.uint8]
    position: int
    problem: str

    def entry(self, row: Any) -> npt.NDArray[np.uint8]:
        """Return uint8[size], the bytes of one of the batches."""
        start = int(row["position"]) - self.position
        return self.data[start : start + int(row["size"])]


def whole_batches(
    source: FileSource, end: int, largest: int | None = None
) -> Iterator[WholeBatches]:
    """Yield the batches of [0, end) up to the first that a broker finds invalid.

    The last item may hold only the problem. Uses about 10 MiB, more if a batch is larger.

    Args:
        source: the `.log` file.
        end: byte position of its end.
        largest: the largest size that a batch may claim, in bytes; None: any.

    Raises:
        OSError: the file cannot be read.
    """
    buffer = np.empty(max(min(_WINDOW, end), ENTRY_HEADER_SIZE), np.uint8)
    rows = np.zeros(min(_ROWS, end // (LENGTH_END + SMALLEST_MESSAGE) + 1), BATCH_ROW)
    position = 0
    while True:
        got = source.read_into(buffer[: min(len(buffer), end - position)], position)
        data = buffer[:got]
        count, reached, code = dispatch.scan_window(data, position, end, rows)
        found = rows[:count]
        needed = 0
        if count and reached > position + got:  # the last reaches beyond the window
            needed = int(found[-1]["size"])
            found = found[:-1]
            reached -= needed
        valid = int(dispatch.first_invalid(data, position, found))
        if largest is not None:
            too_large = np.flatnonzero(found["size"][:valid] - LENGTH_END > largest)
            valid = int(too_large[0]) if len(too_large) else valid
        if valid < len(found):
            bad = found[valid]
            yield WholeBatches(found[:valid], data, position, _what_is_wrong(bad, largest))
            return
        if code == problems.BAD_SIZE and end - reached > ENTRY_HEADER_SIZE and not needed:
            size = int.from_bytes(source.read(reached + LENGTH_END - 4, 4).tobytes(), signed=True)
            problem = f"a batch of {size} bytes (expected at least {SMALLEST_MESSAGE})"
            yield WholeBatches(found, data, position, problem)
            return
        yield WholeBatches(found, data, position, "")
        if got == 0 or not (needed or code in {problems.MORE_DATA, problems.ROWS_FULL}):
            return
        if reached == position and needed <= len(buffer):
            return  # the file has become shorter meanwhile
        if needed > len(buffer):
            buffer = np.empty(needed, np.uint8)
        position = reached


def _what_is_wrong(row: Any, largest: int | None) -> str:
    told = int(row["size"]) - LENGTH_END
    if largest is not None and told > largest:
        return f"a message of {told:,} bytes, more than max.message.bytes = {largest:,}"
    if row["problem"] == problems.SHORT_BATCH:
        return f"a batch of {row['size']} bytes, too short for its header"
    return f"a batch whose CRC is not the stored {row['crc']:08x}"


def choose_index_entries(rows: Rows, last_entry: int, interval: int) -> npt.NDArray[np.int64]:
    """Return the rows that get an index entry, int64[k].

    Args:
        rows: BATCH_ROW[m], batches of one file in order.
        last_entry: the position of the batch of the previous entry; 0 if there is none.
        interval: `index.interval.bytes`.

    Kafka: LogSegment.recover (4.2)
    """
    chosen = np.empty(len(rows), np.int64)
    return chosen[: dispatch.choose_entries(rows, last_entry, interval, chosen)]
