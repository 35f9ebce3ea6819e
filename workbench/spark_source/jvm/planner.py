"""Plan for the reader in Java: questions of the driver's JVM on stdin, answers on stdout, as JSON.

Each is a line. The process belongs to one driver, which starts it at its first question; it ends
when stdin does. Options, offsets and pieces are those of the Python source, by the same code.
"""

import json
import os
import sys
import warnings
from bisect import bisect
from collections.abc import Iterable
from itertools import count
from types import SimpleNamespace
from typing import Any, Final

import numpy as np
from pyspark.sql.types import StructType

from workbench.inspection.segment import Segment
from workbench.layout.batch_header import (
    BATCH_LENGTH_AT,
    ENTRY_HEADER_SIZE,
    LENGTH_END,
    MAGIC_AT,
)
from workbench.layout.index_entries import OFFSET_ENTRY
from workbench.layout.message_header import SMALLEST_MESSAGE
from workbench.loaders.scan.plan import SegmentRead
from workbench.loaders.scan.splits import located
from workbench.record.limits import LARGEST_CONTENT
from workbench.spark_source.columns import ALL_COLUMNS
from workbench.spark_source.option_values import small_names
from workbench.spark_source.options import SourceOptions, parse_options
from workbench.spark_source.plan.planning import Task
from workbench.spark_source.source import KafkaLogReader, KafkaLogSource, chosen_columns
from workbench.spark_source.streaming import KafkaLogStreamReader
from workbench.spark_source.tasks.committed import aborted_ranges, with_markers
from workbench.spark_source.tasks.reading import TaskPartition

_MOST_HEADERS: Final = 1000  # after the last entry of an index there are few

Answer = dict[str, Any]
Question = dict[str, Any]


class ForPython(Exception):  # noqa: N818 - it is not an error
    """Something that the Python source has to read; the message says what."""


def reason_of(options: SourceOptions, columns: Iterable[str]) -> str | None:
    """Return which option asks for what only the Python source does; None: none does."""
    asked = {
        "reader=python": options.reader == "python",
        f"onCorrupt={options.on_corrupt}": options.on_corrupt != "fail",
        "failOnDataLoss=false": not options.fail_on_data_loss,
        "decode": options.decode,
        "mask": options.masks.rules,
        "remote": options.tier,
        "includeControl": options.include_control,
        "batchRows": options.batch_rows,
        "the column damage": not set(columns) <= ALL_COLUMNS.keys(),
    }
    return next((name for name, is_asked in asked.items() if is_asked), None)


class Pieces:
    """Makes the pieces of tasks as the reader in Java takes them.

    Args:
        options: the options of the ``load``.
    """

    def __init__(self, options: SourceOptions) -> None:
        self._read_committed = options.read_committed
        self._looked_at: dict[str, tuple[bytes, int | None]] = {}

    def of(self, tasks: Iterable[Task]) -> Answer:
        """Return the answer for tasks.

        Raises:
            ForPython: a segment is not on this machine, of an older magic, or renamed.
        """
        found = [[piece for read in task for piece in self._of(read)] for task in tasks]
        tasks_left = [task for task in found if task]
        return {"tasks": tasks_left, "largest": LARGEST_CONTENT, "reason": None}

    def _of(self, planned: SegmentRead) -> Iterable[Answer]:
        entry = planned.segment.files["log"]
        if not entry.is_here:
            raise ForPython(f"{entry.path} is not on this machine")
        base_offset, magic = planned.segment.base_offset, -1
        start, old = self._look_at(planned.segment)
        if len(start) > MAGIC_AT:
            base_offset, magic = int.from_bytes(start[:8], signed=True), start[MAGIC_AT]
        if magic in {0, 1}:
            raise ForPython(f"{entry.path} begins with magic {magic}")
        if old is not None:
            raise ForPython(f"{entry.path} has magic {magic}, and an older one at byte {old}")
        if base_offset < planned.segment.base_offset:  # which offsets are its own, others say
            raise ForPython(f"{entry.path} begins with offset {base_offset}")
        read = located(planned)
        if read is not None and self._read_committed:
            read = with_markers(read)
        if read is None:
            return
        stop = entry.size if read.stop is None else read.stop
        yield {
            "topic": read.partition.topic,
            "partition": read.partition.partition,
            "path": entry.path,
            "segment": read.segment.base_offset,
            "size": entry.size,
            "modified": entry.modified_ms,
            "inode": entry.inode,
            "isActive": read.segment.is_active,
            "start": read.start,
            "stop": stop,
            "low": read.low,
            "high": read.high,
            "floor": read.floor,
            "end": read.next_base,
            "aborted": aborted_ranges(read) if self._read_committed else [],
        }

    def _look_at(self, segment: Segment) -> tuple[bytes, int | None]:
        """Return a segment's first bytes, up to a magic, and where a batch of magic 0 or 1 is.

        That is looked for from the last entry of the offset index on: a topic whose
        message.format.version was lowered has older magics from then on.
        """
        path = segment.files["log"].path
        if path not in self._looked_at:
            index = segment.files.get("index")
            try:
                with open(path, "rb", buffering=0) as file:
                    start = file.read(ENTRY_HEADER_SIZE)
                    position = 0 if index is None else _last_position(index.path)
                    self._looked_at[path] = start, _old_magic(file.fileno(), position)
            except OSError:
                self._looked_at[path] = b"", None
        return self._looked_at[path]


def _last_position(path: str) -> int:
    """Return the position of the last entry of an offset index; 0 if there is none.

    Raises:
        OSError: it cannot be read.
    """
    with open(path, "rb", buffering=0) as file:
        size = OFFSET_ENTRY.itemsize

        def position(entry: int) -> int:
            data = os.pread(file.fileno(), size, entry * size)
            return int(np.frombuffer(data, OFFSET_ENTRY)["position"][0]) if len(data) == size else 0

        last = os.fstat(file.fileno()).st_size // size - 1
        if last < 0 or position(last):
            return position(max(last, 0))
        # It is preallocated: zeros follow the entries.
        return position(max(bisect(range(1, last), 0, key=lambda entry: not position(entry)), 0))


def _old_magic(file: int, position: int) -> int | None:
    """Return where the first batch of magic 0 or 1 is at or after a position of a segment."""
    for _ in range(_MOST_HEADERS):
        header = os.pread(file, ENTRY_HEADER_SIZE, position)
        if len(header) < ENTRY_HEADER_SIZE or header[MAGIC_AT] > 2:
            return None
        length = int.from_bytes(header[BATCH_LENGTH_AT : BATCH_LENGTH_AT + 4], signed=True)
        if length < SMALLEST_MESSAGE:
            return None
        if header[MAGIC_AT] < 2:
            return position
        position += LENGTH_END + length
    return None


class Planner:
    """Answers questions; keeps the streams that are open."""

    def __init__(self) -> None:
        self._streams: dict[int, tuple[KafkaLogStreamReader, Pieces]] = {}
        self._numbers = count(1)

    def answer(self, question: Question) -> Answer:
        """Return the answer to one question, by its name.

        Raises:
            Exception: the options, or the log directories, cannot be used.
        """
        answer: Answer = getattr(self, f"_{question['what']}")(question)
        return answer

    def _schema(self, question: Question) -> Answer:
        return {"schema": KafkaLogSource(question["options"]).schema().json()}

    def _plan(self, question: Question) -> Answer:
        """Plan a batch query, or say why none is possible: a stream has other options."""
        given, columns = _asked(question)
        ending = {name for name in small_names(given) if name.startswith("ending")}
        try:
            options = parse_options(given)
        except ValueError as error:
            reason = None if ending else reason_of(parse_options(given, streaming=True), columns)
            return {"tasks": [], "refused": str(error), "reason": reason}
        if reason := reason_of(options, columns):
            return {"tasks": [], "reason": reason}
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            try:
                partitions = KafkaLogReader(options, columns).partitions()
                answer = Pieces(options).of(_tasks(partitions))
            except ForPython as reason_found:
                return {"tasks": [], "reason": str(reason_found)}
            except Exception as error:  # noqa: BLE001 - raised again where the query begins
                return {"tasks": [], "refused": str(error), "reason": None}
        return answer | {"warnings": [str(each.message) for each in told]}

    def _stream(self, question: Question) -> Answer:
        given, columns = _asked(question)
        options = parse_options(given, streaming=True)
        number = next(self._numbers)
        self._streams[number] = (KafkaLogStreamReader(options, columns), Pieces(options))
        return {"stream": number, "most": options.max_offsets}

    def _initial(self, question: Question) -> Answer:
        return {"offsets": self._of(question)[0].initialOffset()}

    def _latest(self, question: Question) -> Answer:
        limit = SimpleNamespace(max_rows=question["most"]) if "most" in question else None
        return {"offsets": self._of(question)[0].latestOffset(question["start"], limit)}

    def _report(self, question: Question) -> Answer:
        return {"offsets": self._of(question)[0].reportLatestOffset()}

    def _available(self, question: Question) -> Answer:
        self._of(question)[0].prepareForTriggerAvailableNow()
        return {}

    def _partitions(self, question: Question) -> Answer:
        reader, pieces = self._of(question)
        try:
            return pieces.of(_tasks(reader.partitions(question["start"], question["end"])))
        except ForPython as reason:
            return {"tasks": [], "reason": str(reason)}

    def _stop(self, question: Question) -> Answer:
        self._streams.pop(question["stream"], None)
        return {}

    def _of(self, question: Question) -> tuple[KafkaLogStreamReader, Pieces]:
        return self._streams[question["stream"]]


def _asked(question: Question) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the options of a question, and the columns of its schema."""
    given = question["options"]
    schema = StructType.fromJson(json.loads(question["schema"]))
    return given, chosen_columns(schema, KafkaLogSource(given).schema())


def _tasks(partitions: Iterable[Any]) -> list[Task]:
    found = []
    for each in partitions:
        assert isinstance(each, TaskPartition)
        found.append(each.task)
    return found


def main() -> None:
    """Answer until the questions end."""
    # What a library prints must not be taken for an answer.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    planner = Planner()
    for line in sys.stdin:
        try:
            answer = planner.answer(json.loads(line))
        except Exception as error:  # noqa: BLE001 - every error goes to the user of the JVM
            answer = {"error": str(error)}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
