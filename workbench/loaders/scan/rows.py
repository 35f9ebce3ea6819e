"""The records of a scan one by one, as dicts by column name."""

from collections import deque
from collections.abc import Iterable, Iterator
from threading import get_ident
from typing import Any, Final, Self

import pyarrow as pa

from workbench.values.far_times import python_values

MOST_KEPT: Final = 256 << 20  # bytes of batches that wait to be taken


class BatchesAhead(Iterator[pa.RecordBatch]):
    """The batches of one reading; `count` reads them before the first is taken, and keeps them.

    ``list(scan)`` begins to iterate, then asks for the length, then takes the records: so it reads
    them once.

    Args:
        batches: the reading.
    """

    def __init__(self, batches: Iterator[pa.RecordBatch]) -> None:
        self._batches = batches
        self._kept: deque[pa.RecordBatch] = deque()
        self._size = self._records = 0
        self._has_begun = False
        self._thread = get_ident()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> pa.RecordBatch:
        self._has_begun = True
        return self._kept.popleft() if self._kept else next(self._batches)

    def count(self) -> int | None:
        """Return how many records there are.

        None: batches were taken already, another thread takes them, or they have more than
        `MOST_KEPT` bytes.
        """
        if self._has_begun or self._thread != get_ident():
            return None
        while self._size <= MOST_KEPT:
            batch = next(self._batches, None)
            if batch is None:
                return self._records
            self._kept.append(batch)
            self._size += batch.nbytes
            self._records += batch.num_rows
        return None


def rows_of(batches: Iterable[pa.RecordBatch]) -> Iterator[dict[str, Any]]:
    """Yield one dict per record.

    Times are datetimes; ms since the epoch where they are beyond what a datetime can hold.
    """
    for batch in batches:
        try:
            yield from batch.to_pylist()
        except (OverflowError, ValueError):
            names = batch.schema.names
            for row in zip(*map(python_values, batch.columns), strict=True):
                yield dict(zip(names, row, strict=True))
