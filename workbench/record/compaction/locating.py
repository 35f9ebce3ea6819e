"""Survey a chunk of batches for compaction, and locate their records without copying each one.

Compressed batches are decompressed, a run of them at a time, into memory that is used again.

Kafka: DefaultRecordBatch.streamingIterator (4.2)
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.errors import CorruptRecordError
from workbench.kernels import dispatch
from workbench.kernels.reading.outputs import KEYS, OUT_OF_ROOM, VALUES
from workbench.layout import problems
from workbench.layout.attributes import NONE
from workbench.layout.batch_header import BATCH_HEADER_SIZE, MAGIC_AT
from workbench.layout.batch_row import BATCH_ROW
from workbench.layout.compaction import HAS_COMPRESSED, HAS_OTHERS, HAS_TRANSACTIONS, RECORD_PLACE
from workbench.layout.rows import with_more_rows
from workbench.record.codecs.compression import decompress_run
from workbench.record.columns import RecordColumns
from workbench.record.compaction.key_table import NO_MARKS, Marks
from workbench.record.control import decode_control_type
from workbench.record.limits import MOST_CONTENT
from workbench.record.memory_records import MemoryRecords
from workbench.record.reading.arena import Arena
from workbench.record.reading.batch_records import columns_of
from workbench.record.reading.batch_table import places_of

_ARENA_RUN: Final = 1 << 20  # decompressed bytes that are located at a time
_USUAL_RECORDS: Final = 1 << 13  # there is room for them from the start
_USUAL_BATCHES: Final = 1 << 8
_BEHIND_HEADERS: Final = np.empty((0, 2), np.int64)  # uncompressed records follow their headers

Bytes = npt.NDArray[np.uint8]
Rows = npt.NDArray[Any]


class Located(NamedTuple):
    """The records of some batches that follow each other; valid until the next are located.

    Attributes:
        first, last: the rows [first, last) of the batches.
        data: uint8[n], the bytes with the decompressed records.
        places: RECORD_PLACE[m]; for magic 0 and 1 only offsets, times and keys are known.
        passed: the number of skipped records.
    """

    first: int
    last: int
    data: Bytes
    places: npt.NDArray[Any]
    passed: int = 0

    def kept_from(self, buffer: Bytes) -> "Located":
        """Return the same records in memory of their own, unless they are in ``buffer``."""
        data = self.data if self.data.base is buffer.base else self.data.copy()
        return self._replace(data=data, places=with_more_rows(self.places, 0))


class SurveyedBatches(NamedTuple):
    """Some whole batches of a file that follow each other; valid until the next are surveyed.

    Attributes:
        path: the file's path.
        position: byte position of the first batch in the file.
        buffer: uint8[n]; after the batches it may hold a part of another one.
        rows: BATCH_ROW[m], with positions in ``buffer``.
        found: the kinds of batches present: bits of `layout.compaction`.
        last_offset: the largest; -1 without batches.
        size: the batches' size in bytes.
        limit: the size in bytes to which one batch may decompress.
        control_types: type of the first record of each control batch, by row; None if it has none.
    """

    path: str
    position: int
    buffer: Bytes
    rows: Rows
    found: int
    last_offset: int
    size: int
    limit: int
    control_types: Mapping[int, int | None]

    def columns(self, index: int, options: int) -> RecordColumns:
        """Return the records of a batch; see `record.reading.batch_records.columns_of`.

        Raises:
            CorruptRecordError: the records cannot be read.
        """
        with _placed(self.path, self.position):
            return columns_of(self.buffer, self.rows[index : index + 1], options, self.limit)

    def offsets(self, index: int) -> npt.NDArray[np.int64]:
        """Return the offsets of a batch's records; those of its header if it is damaged."""
        try:
            return self.columns(index, 0).offsets
        except CorruptRecordError:
            row = self.rows[index]
            base, count = int(row["base_offset"]), max(int(row["record_count"]), 0)
            return np.arange(base, min(base + count, int(row["last_offset"]) + 1), dtype=np.int64)


@contextmanager
def _placed(path: str, position: int) -> Iterator[None]:
    """Complete an error about the bytes of a buffer: its file, and the position there."""
    try:
        yield
    except CorruptRecordError as error:
        place = position + (error.position or 0)
        raise CorruptRecordError(path, place, error.problem) from error


class BatchSurveyor:
    """Walks over the batches of buffers. Memory is used again."""

    def __init__(self) -> None:
        self._rows = np.zeros(_USUAL_BATCHES, BATCH_ROW)

    def survey(
        self, buffer: Bytes, path: str, position: int, limit: int = MOST_CONTENT
    ) -> SurveyedBatches:
        """Return the whole batches of a buffer.

        Args:
            buffer: uint8[n], C-contiguous.
            path: the file's path.
            position: byte position of the buffer in the file.
            limit: the size in bytes to which one batch may decompress.

        Raises:
            CorruptRecordError: see `MemoryRecords.batches`; or a control record cannot be read.
        """
        count, size, code = dispatch.scan_window(buffer, 0, len(buffer), self._rows)
        rows = self._rows[:count]
        found, last_offset = dispatch.survey_batches(rows)
        rest = len(buffer) - size
        is_cut = code == problems.UNFINISHED and rest > MAGIC_AT and buffer[size + MAGIC_AT] < 3
        controls: dict[int, int | None] = {}
        with _placed(path, position):
            if found & HAS_OTHERS or not (code == problems.END or is_cut):
                batches = MemoryRecords(buffer).batches(self._rows)  # looks closer
                rows, size = batches.rows, batches.valid_size
                if len(rows) > len(self._rows):
                    self._rows = np.zeros(len(rows), BATCH_ROW)
                found, last_offset = dispatch.survey_batches(rows)
            if found & HAS_TRANSACTIONS:
                for index in np.flatnonzero(rows["is_control"]).tolist():
                    keys = columns_of(buffer, rows[index : index + 1], KEYS, limit).keys
                    try:
                        controls[index] = decode_control_type(keys.item(0)) if keys else None
                    except CorruptRecordError as error:
                        at = int(rows["position"][index])
                        raise CorruptRecordError(None, at, error.problem) from error
        return SurveyedBatches(
            path, position, buffer, rows, found, last_offset, size, limit, controls
        )


class RecordLocator:
    """Finds the records of batches. Not thread-safe; memory is used again.

    Args:
        marks: the marks to use; records of magic 2 marked as superseded are skipped, and a batch
            that holds no others is not even decompressed.
    """

    def __init__(self, marks: Marks = NO_MARKS) -> None:
        self._arena = Arena()
        self._places = np.empty(_USUAL_RECORDS, RECORD_PLACE)
        self._marks = marks

    def locate(
        self, chunk: SurveyedBatches, wanted: npt.NDArray[np.bool_] | None = None
    ) -> Iterator[Located]:
        """Yield the records of batches, in their order; batches that are not wanted end a run.

        Args:
            chunk: m batches.
            wanted: bool[m], which of them; None for all.

        Raises:
            CorruptRecordError: a batch cannot be read. CRCs are not checked.
        """
        with _placed(chunk.path, chunk.position):
            yield from self._runs(chunk, wanted)

    def _runs(
        self, chunk: SurveyedBatches, wanted: npt.NDArray[np.bool_] | None
    ) -> Iterator[Located]:
        buffer, rows = chunk.buffer, chunk.rows
        if wanted is None and not chunk.found & (HAS_OTHERS | HAS_COMPRESSED):
            yield self._located(buffer, rows, _BEHIND_HEADERS, 0, len(rows))
            return
        kinds = rows["magic"] * np.int8(8) + rows["codec"]
        if wanted is not None:
            kinds[~wanted] = -1
        edges = (np.flatnonzero(kinds[1:] != kinds[:-1]) + 1).tolist()
        for first, last in zip([0, *edges], [*edges, len(rows)], strict=True):
            kind = int(kinds[first])
            if kind < 0:
                continue
            if kind < 2 * 8:
                for index in range(first, last):
                    yield self._old(buffer, rows, index, chunk.limit)
                continue
            if chunk.found & HAS_OTHERS:
                _check_rows(rows[first:last])
            if kind == 2 * 8 + NONE:
                yield self._located(buffer, rows, _BEHIND_HEADERS, first, last)
            else:
                yield from self._compressed(buffer, rows, first, last, chunk.limit)

    def _compressed(
        self, buffer: Bytes, rows: Rows, first: int, last: int, limit: int
    ) -> Iterator[Located]:
        """Yield the records of batches of one codec, as many as the arena takes at a time."""
        run = rows[first:last]
        places = places_of(run)
        places[:, 0] += BATCH_HEADER_SIZE
        places[run["record_count"] == 0] = -1
        is_superseded = np.empty(len(run), np.bool_)
        dispatch.superseded_batches(run, *self._marks, is_superseded)
        places[is_superseded] = -1
        spans = np.empty((len(rows), 2), np.int64)
        codec = int(run[0]["codec"])
        done = 0
        while done < len(run):
            self._arena.clear()
            start = first + done
            count, failures = decompress_run(
                codec,
                buffer,
                places[done:],
                self._arena,
                spans[start:last],
                magic=2,
                limit=limit,
                enough=_ARENA_RUN,
            )
            for index, error in failures:
                words = problems.WORDS[problems.BAD_COMPRESSION]
                position = int(run[done + index]["position"])
                raise CorruptRecordError(None, position, f"{words}: {error}") from error
            data = self._arena.data[: self._arena.used]
            yield self._located(data, rows, spans, start, start + count)
            done += count

    def _located(
        self, data: Bytes, rows: Rows, spans: npt.NDArray[np.int64], first: int, last: int
    ) -> Located:
        used, passed, index = 0, 0, first
        while True:
            used, index, code, position, more_passed = dispatch.locate_records(
                data, spans, rows, index, last, self._places, used, *self._marks
            )
            passed += more_passed
            if code != OUT_OF_ROOM:
                break
            more = max(int(rows[index]["record_count"]), len(self._places))
            self._places = with_more_rows(self._places[:used], more)
        if code != problems.OK:
            inside = position - self._start(rows, spans, index)
            problem = f"{problems.WORDS[code]}, byte {inside} of the records"
            raise CorruptRecordError(None, int(rows[index]["position"]), problem)
        return Located(first, last, data, self._places[:used], passed)

    @staticmethod
    def _start(rows: Rows, spans: npt.NDArray[np.int64], index: int) -> int:
        behind = int(rows["position"][index]) + BATCH_HEADER_SIZE
        return int(spans[index, 0]) if len(spans) else behind

    def _old(self, buffer: Bytes, rows: Rows, index: int, limit: int) -> Located:
        """Return the records of a batch of magic 0 or 1; its row is completed."""
        columns = columns_of(buffer, rows[index : index + 1], KEYS | VALUES, limit)
        keys, values = columns.keys, columns.values
        assert keys is not None
        assert values is not None
        places = np.zeros(len(columns), RECORD_PLACE)
        places["offset"], places["timestamp"] = columns.offsets, columns.timestamps
        places["key_start"] = keys.offsets[:-1]
        places["key_size"] = np.where(keys.is_null(), -1, keys.sizes())
        places["batch"], places["index"] = index, np.arange(len(columns))
        places["is_tombstone"] = values.is_null()
        return Located(index, index + 1, keys.data, places)


def _check_rows(rows: Rows) -> None:
    """Refuse batches whose header is wrong.

    A last offset below the first does not make a batch invalid, as in Kafka.

    Raises:
        CorruptRecordError: one is.
    """
    is_odd = (rows["problem"] == problems.BAD_COUNT) & (rows["record_count"] >= 0)
    for row in rows[(rows["problem"] != problems.OK) & ~is_odd]:
        words = problems.WORDS[int(row["problem"])]
        raise CorruptRecordError(None, int(row["position"]), words)
