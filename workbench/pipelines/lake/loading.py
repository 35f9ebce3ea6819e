"""One run that loads what is new of logs into one table."""

import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial, reduce
from itertools import chain
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from workbench.errors import CorruptDataWarning, LogDirectoryError, OutputError, SchemaError
from workbench.file_system.outputs import still_there
from workbench.files.partition_metadata import is_made_again
from workbench.inspection.partition import DiskPartition, metadata_now
from workbench.loaders.read_warnings import warn_caller
from workbench.loaders.scan.reading import losses
from workbench.loaders.scan.scan import Scan
from workbench.pipelines.lake.data_files import DataFile, Staging
from workbench.pipelines.lake.row_reader import REASON, Counts, RowReader
from workbench.pipelines.lake.shape import (
    declared,
    evolved,
    require_divisible,
    require_key,
    schema_of_scan,
    with_every_field,
)
from workbench.pipelines.lake.source import NewOffsets, ids_of, in_commits
from workbench.pipelines.lake.table import (
    LoadedUpTo,
    Log,
    Positions,
    Table,
    by_log,
    log_of,
    schema_of_upsert,
)
from workbench.pipelines.lake.tasks import find_new, in_tasks, load_part, shape_of_part
from workbench.runtime.words import plural
from workbench.tables.lake import LoadedRow
from workbench.values.inference import Shape

_TASK_BYTES: Final = 128 << 20

Counted = dict[Log, Counter[str]]
"""How many offsets of each log have which fate."""

_COUNTED: Final = (
    "superseded",
    "tombstones",
    "undecoded",
    "aborted",
    "control",
    "compacted",
    "deleted",
    "damaged",
    "missing",
    "rescued",
)


@dataclass(frozen=True)
class Loading:
    """One run that loads into one table.

    Attributes:
        table: the table.
        place: its folder, resolved; None: it is not on this machine, or a catalog knows where.
        refusals: opens the table of the records that an upsert refuses.
        metadata: `partition.metadata_now` of each log, before anything of it was read.
        scan_of: returns a scan of ranges of offsets, with the options of the user.
        raw: the options of a scan that neither decodes nor masks.
        commit_bytes, spark, tell, dry_run: see `to_table`.
        upsert: whether records replace those of their key.
        types: what is declared of the fields of values.
        failed: gets the name of each log or topic that cannot be loaded, and the error.
        planned: gets the columns that a dry run finds.
    """

    table: Table
    place: str | None
    refusals: Callable[[], Table]
    metadata: Mapping[Log, tuple[int, ...] | None]
    scan_of: Callable[..., Scan]
    raw: Mapping[str, Any]
    commit_bytes: int
    upsert: bool
    spark: Any
    tell: Callable[[str], object]
    types: tuple[pa.StructType, ...]
    dry_run: bool
    failed: dict[str, Exception]
    planned: dict[str, pa.Field] = field(default_factory=dict)

    def rows(self, partitions: list[DiskPartition]) -> list[LoadedRow]:
        """Load what is new, and return what became of every offset."""
        there = self._known(partitions)
        ranges = self._ranges([(p, there.get((p.topic, p.partition))) for p in partitions])
        counts = {each.log: Counter[str]() for each in ranges}
        for commit in in_commits(ranges, self.commit_bytes):
            for log, found in self._committed(commit).items():
                counts[log] += found
        if self.planned:
            self.tell(self._plan())
        return [
            self._row(each, counts[each.log], is_first=each.log not in there)
            for each in ranges
            if each.partition.topic not in self.failed
        ]

    def _plan(self) -> str:
        """Return the columns that a dry run has found, and which of them are new."""
        there = self.table.schema
        known = self.planned if there is None else there.names
        columns = (
            f"{each.name} {each.type}{'' if each.name in known else ' (new)'}"
            for each in self.planned.values()
        )
        state = "would be made with" if there is None else "would have"
        return f"{self.table.name} {state} the columns {', '.join(columns)}"

    def _committed(self, commit: list[NewOffsets]) -> Counted:
        """Commit some ranges of offsets, topic by topic if one of them cannot be loaded."""
        commit = [each for each in commit if each.partition.topic not in self.failed]
        topics = {each.partition.topic for each in commit}
        try:
            return self._commit(commit) if commit else {}
        except (SchemaError, LogDirectoryError) as error:
            if len(topics) == 1:
                self.failed[topics.pop()] = error
                return {}
        found: Counted = {}
        for topic in sorted(topics):
            found |= self._committed([each for each in commit if each.partition.topic == topic])
        return found

    def _known(self, partitions: list[DiskPartition]) -> Positions:
        """Return up to where the table has the partitions, and report which were made again."""
        there = dict(self.table.positions(ids_of(partitions)))
        for each in partitions:
            log = each.topic, each.partition
            if log in there and is_made_again(there[log].topic_id, each.topic_id):
                before = there.pop(log).topic_id
                self.tell(
                    f"{each.topic}-{each.partition}: the topic was deleted and made again: its id "
                    f"is {each.topic_id}, and {before} of what was loaded last. It is loaded from "
                    "its first record on; column topic_id distinguishes the records of the two"
                )
        return there

    def _ranges(self, items: list[tuple[DiskPartition, LoadedUpTo | None]]) -> list[NewOffsets]:
        """Return what is new of partitions, of which positions are known."""
        find = partial(find_new, self.raw["isolation_level"])
        found = map(find, items) if self.spark is None else in_tasks(self.spark, find, items)
        ranges = []
        for new, (partition, _) in zip(found, items, strict=True):
            if isinstance(new, Exception):
                self.failed[f"{partition.topic}-{partition.partition}"] = new
            else:
                ranges.append(new._replace(partition=partition))
        return ranges

    def _commit(self, commit: list[NewOffsets]) -> Counted:
        """Load some ranges of offsets in one commit; return how many offsets have which fate."""
        scan = self.scan_of(commit)
        known = declared(self.table.schema, self.types, self.table.widens, self.table.name)
        parts = [commit]
        if self.spark is not None:  # of an upsert, a task finds the newest records of a whole log
            parts = list(in_commits(commit, _TASK_BYTES, splits_logs=not self.upsert))

        def shape_of(name: str) -> Shape:
            find = partial(shape_of_part, self.raw, name)
            shapes = map(find, parts) if self.spark is None else in_tasks(self.spark, find, parts)
            return reduce(Shape.merge, shapes)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the reading that counts will warn
            decode = with_every_field(scan.decode, shape_of, known, scan.masks)
        scan = self.scan_of(commit, decode=decode)
        found = schema_of_scan(scan, known)
        schema = evolved(known, found, scan.decode, self.table.widens, self.table.name)
        require_divisible(schema, divided := self.table.partition_by, self.table.name)
        if self.upsert:
            require_key(schema, divided, self.table.name)
        reader = RowReader(self.raw, scan.values, scan.schema, schema, divided, self.upsert)
        if self.spark is None:
            counts, stopped = Counts.of(commit), list[Exception]()
            batches = self._counted(reader, commit, counts, stopped)
            try:
                if self.dry_run:
                    self.planned.update((each.name, each) for each in schema)
                    for _ in batches:  # counts them
                        pass
                else:
                    with still_there(self.place):
                        self.table.commit(batches, schema, _moved(commit), upsert=self.upsert)
            except Exception:
                if stopped:  # a library has made an error of its own of it
                    raise stopped[0] from None
                raise
        else:
            counts = self._in_tasks(reader, commit, parts)
        return counts.fates

    def _counted(
        self,
        reader: RowReader,
        commit: list[NewOffsets],
        counts: Counts,
        stopped: list[Exception],
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows; at their end the counts must be right. ``stopped`` gets the error."""
        try:
            yield from reader.batches(commit, counts)
            self._check(commit, counts)
            if counts.left and not self.dry_run:
                with ThreadPoolExecutor(1) as other:  # deltalake is writing in this one
                    other.submit(self._refuse, reader, commit).result()
        except Exception as error:
            stopped.append(error)
            raise

    def _refuse(self, reader: RowReader, commit: list[NewOffsets]) -> None:
        """Add the records whose values cannot be decoded to their own table, each once.

        This is a commit of its own before that of the records: a run that dies between the two
        finds that the table of the refused is ahead.
        """
        table = self.refusals()
        if table.schema is not None and REASON not in table.schema.names:
            raise OutputError(
                table.name,
                f"is not the table of what is refused from {self.table.name} (expected a column "
                f"{REASON})",
            )
        there = table.positions(ids_of([each.partition for each in commit]))
        done = {
            log: at.next_offset
            for log, at in there.items()
            if not is_made_again(at.topic_id, _moved(commit)[log].topic_id)
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they were warned of
            found = (
                rows.filter(pc.greater_equal(rows["offset"], done.get(log_of(rows), 0)))
                for rows in reader.refused(commit)
            )
            new = (rows for rows in found if rows.num_rows)
            if (first := next(new, None)) is not None:
                schema = reader.schema_of_refused
                with still_there(self.place and name_of_refusals(self.place)):
                    table.commit(chain([first], new), schema, _moved(commit), upsert=False)
        self.tell(f"records whose values cannot be decoded are in {table.name}")

    def _in_tasks(
        self, reader: RowReader, commit: list[NewOffsets], parts: list[list[NewOffsets]]
    ) -> Counts:
        """Let tasks of Spark write the rows, and commit them if the counts are right."""
        moved, schema = _moved(commit), reader.schema
        staging = self.table.staging(schema)
        if not self.upsert:
            counts, added = self._written(reader, staging, commit, parts)
            with still_there(self.place):
                self.table.publish(staging, added, moved)
            return counts
        with staging.beside(schema_of_upsert(schema)) as found:
            counts, added = self._written(reader, found, commit, parts)
            if left := [each for each in commit if counts.left[each.log]]:
                self._refuse(reader, left)
            with still_there(self.place):
                self.table.commit(by_log(found.read(added)), schema, moved, upsert=True)
        return counts

    def _written(
        self,
        reader: RowReader,
        staging: Staging,
        commit: list[NewOffsets],
        parts: list[list[NewOffsets]],
    ) -> tuple[Counts, list[DataFile]]:
        """Let tasks write the rows; return the counts, which are right, and the files."""
        with still_there(self.place):
            loaded = in_tasks(self.spark, partial(load_part, reader, staging), parts)
        counts = Counts({})
        for each in loaded:
            counts.add(each.counts)
            for sentence in each.warned:
                warn_caller(sentence, CorruptDataWarning)
        self._check(commit, counts)
        return counts, [file for each in loaded for file in each.files]

    def _check(self, commit: list[NewOffsets], counts: Counts) -> None:
        """Check that all was read, of one topic each, and report what could not be decoded.

        Raises:
            LogDirectoryError: the counts are not those of the log's batches, or a topic was made
                again meanwhile: its id would be kept with offsets of the one before.
        """
        for each in commit:
            if metadata_now(each.partition) != self.metadata[each.log]:
                raise LogDirectoryError(
                    each.partition.path,
                    "the topic was deleted or made again while it was read; run it again",
                )
        counts.check(commit, upsert=self.upsert)
        if counts.undecoded:
            self.tell(losses(counts.undecoded, counts.lost))
        for (topic, partition), count in counts.untimed.items():
            if count:
                self.tell(
                    f"{topic}-{partition}: the timestamp of {plural(count, 'record')} is null in "
                    "the table, which holds times to the year 294246 (expected milliseconds; does "
                    "a producer count in nanoseconds?)"
                )

    def _row(self, each: NewOffsets, fates: Counter[str], *, is_first: bool) -> LoadedRow:
        """Return what became of the offsets of a partition."""
        topic, partition = each.log
        if fates["deleted"] and not is_first:
            start = each.partition.log_start_offset
            self.tell(
                f"{topic}-{partition}: the offsets from {each.low} to {start} were deleted before "
                f"they were loaded: the log starts at {start}"
            )
        return LoadedRow(
            topic=topic,
            partition=partition,
            before=each.low,
            records=fates["record"],
            unread=fates["unread"] + fates["remote"],
            waiting=each.log_end - each.high,
            log_end_offset=each.log_end,
            table=self.table.name,
            replica=each.partition.path,
            **{name: fates[name] for name in _COUNTED},
        )


def _moved(commit: list[NewOffsets]) -> Positions:
    return {each.log: each.loaded for each in commit}


def name_of_refusals(name: str) -> str:
    """Return the name of the table with the records that an upsert into a table refuses."""
    path, mark, query = name.partition("?")
    return f"{path.rstrip('/')}_refused{mark}{query}"
