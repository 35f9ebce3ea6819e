"""The batch table of all that can be read of a `.log` file: behind damage, too.

A broker ends a log at damage; a reader of records continues at the next batch with a valid CRC.
What counts by headers continues at the same one, so that both are about the same batches.

Kafka: none; FileLogInputStream ends at the damage (4.2)
"""

from collections.abc import Iterator
from functools import cached_property
from typing import Final

import numpy as np

from workbench.file_system.source import FileSource
from workbench.layout import problems
from workbench.layout.batch_row import BATCH_ROW
from workbench.layout.rows import joined_rows
from workbench.record.limits import LARGEST_BATCH
from workbench.record.reading.batch_table import BatchTable, ScanStop, walk_batches
from workbench.record.reading.resync import ResyncBudget, find_following, last_sound_offset

_DAMAGE: Final = frozenset({problems.BAD_SIZE, problems.UNFINISHED})


def readable_batches(
    source: FileSource, start: int = 0, *, base_offset: int = 0
) -> Iterator[BatchTable]:
    """Yield the batches from ``start``, where a batch must start, in tables of some thousand rows.

    The last table has the `stop`: where nothing that can be read follows. The others stop at
    ROWS_FULL, or where damage begins.

    Args:
        source: the file.
        start: a byte position.
        base_offset: the segment's base offset; after damage only offsets from it are trusted.

    Raises:
        OSError: the file cannot be read.
    """
    yield from _Walk(source, base_offset - 1).tables(start)


def readable_table(source: FileSource, *, base_offset: int = 0) -> BatchTable:
    """Return all `readable_batches` as one table.

    Raises:
        OSError: the file cannot be read.
    """
    return _joined(list(readable_batches(source, base_offset=base_offset)))


def more_readable(source: FileSource, known: BatchTable, *, base_offset: int = 0) -> BatchTable:
    """Do what `readable_table` does for a file that grew: read only what follows known batches.

    The last of them is read again. If it is not there any more, the whole file is walked.

    Raises:
        OSError: the file cannot be read.
    """
    if not len(known):
        return readable_table(source, base_offset=base_offset)
    last = last_sound_offset(known.rows[:-1], base_offset - 1)
    more = _joined(list(_Walk(source, last).tables(int(known.rows["position"][-1]))))
    if not len(more) or more.rows[0].tobytes() != known.rows[-1].tobytes():
        return readable_table(source, base_offset=base_offset)
    return BatchTable(joined_rows([known.rows[:-1], more.rows], BATCH_ROW), more.stop)


def _joined(tables: list[BatchTable]) -> BatchTable:
    return BatchTable(joined_rows([each.rows for each in tables], BATCH_ROW), tables[-1].stop)


class _Walk:
    """A walk over the headers of a file.

    Args:
        source: the file.
        last_offset: that of the last sound batch before.
    """

    def __init__(self, source: FileSource, last_offset: int) -> None:
        self._source = source
        self._last_offset = last_offset

    @cached_property
    def _patience(self) -> ResyncBudget:
        return ResyncBudget()

    def tables(self, start: int) -> Iterator[BatchTable]:
        """Yield what `readable_batches` does."""
        following: int | None = start
        stop = self._source.size
        while following is not None:
            position, following = following, None
            for walked in walk_batches(self._source, stop, start=position):
                table = _below_too_large(walked)
                self._last_offset = last_sound_offset(table.rows, self._last_offset)
                if table.stop.code in _DAMAGE and table.stop.position < stop:
                    following, _ = find_following(
                        self._source, table.stop.position, stop, self._last_offset, self._patience
                    )
                yield table
                if table is not walked:
                    break


def _below_too_large(table: BatchTable) -> BatchTable:
    """Return a table up to the first batch that is too large to be read."""
    too_large = np.flatnonzero(table.rows["size"] > LARGEST_BATCH)
    if not len(too_large):
        return table
    at = int(too_large[0])
    return BatchTable(table.rows[:at], ScanStop(problems.BAD_SIZE, int(table.rows["position"][at])))
