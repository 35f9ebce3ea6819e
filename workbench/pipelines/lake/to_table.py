"""Load logs into a table: the records of dead or living brokers' disks, for SQL and notebooks."""

import os
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal

import pyarrow as pa

from workbench.errors import LogDirectoryError
from workbench.file_system.mounts import is_uri
from workbench.file_system.outputs import refuse_inputs
from workbench.inspection.listing import Listing, StrPath
from workbench.inspection.partition import Partition
from workbench.loaders.remote import writable_place
from workbench.loaders.scan.plan import IsolationLevel, input_paths
from workbench.loaders.scan.scan import Scan
from workbench.loaders.schemas import RECORD_FIELDS
from workbench.loaders.tables.rows import table_of
from workbench.pipelines.lake.delta_table import DeltaTable
from workbench.pipelines.lake.iceberg_table import IcebergTable
from workbench.pipelines.lake.parquet_table import ParquetTable
from workbench.pipelines.lake.shape import (
    evolved,
    require_key,
    schema_of_scan,
    shaped,
    with_every_field,
)
from workbench.pipelines.lake.source import (
    NewOffsets,
    chosen,
    ids_of,
    in_commits,
    is_made_again,
    logs_of,
    new_offsets,
)
from workbench.pipelines.lake.table import DELETES, Log, Positions, Table, log_of
from workbench.runtime.several import several
from workbench.tables.lake import LoadedRow

if TYPE_CHECKING:
    from workbench.values.masking import AnyMasks
    from workbench.values.registry import AnyDecoding

Mode = Literal["append", "upsert"]
TableFormat = Literal["parquet", "delta", "iceberg"]
FORMATS: Final[tuple[TableFormat, ...]] = ("parquet", "delta", "iceberg")

TOPIC: Final = "{topic}"
"""In the name of a table: each topic gets its own."""

COMMIT_BYTES: Final = 1 << 30
"""Bytes of logs that are committed together."""

_ALWAYS: Final = ("topic", "partition", "offset", "timestamp")
_COUNTED: Final = (
    "superseded",
    "tombstones",
    "aborted",
    "control",
    "compacted",
    "deleted",
    "damaged",
    "missing",
)


def to_table(
    paths: StrPath | Iterable[StrPath],
    to: StrPath,
    *,
    topics: Iterable[str] | str | None = None,
    partitions: Iterable[int | str] | int | str | None = None,
    remote: StrPath | None = None,
    remote_keys: Mapping[str, StrPath] | None = None,
    columns: Iterable[str] | str | None = None,
    decode: "Mapping[str, AnyDecoding] | str | None" = None,
    mask: "AnyMasks" = None,
    isolation_level: IsolationLevel = "read_committed",
    commit_bytes: int = COMMIT_BYTES,
    workers: int | None = None,
    table_format: TableFormat = "parquet",
    options: Mapping[str, str] | None = None,
    filesystem: Any = None,
    mode: Mode = "append",
    tell: Callable[[str], object] = warnings.warn,
) -> pa.Table:
    """Load the records that a table does not have yet; return what became of every offset.

    Up to where each partition was loaded is kept with the table, and changes in the same commit as
    its records: a run that is killed at any moment and started again loads each record once, and a
    run later takes only what is new. The files are divided by topic and day (UTC). A topic that was
    deleted and made again, so that it has another id, is loaded from its beginning, beside the
    records of the topic before it.

    Args:
        paths: log directories of one broker, or of several of one cluster: of each partition the
            replica that is ahead is read. Directories and URIs as `open_log_directory` takes them.
        to: the table: a folder or a URI, of Iceberg its identifier (``lake.orders``); with
            ``{topic}`` in it, each topic has its own.
        topics: names; None: all but those that brokers make for themselves.
        partitions: numbers, or names as ``orders-0``; None: all.
        remote: the folder or URL of the remote tier (KIP-405).
        remote_keys: key id → file of the RSA private key of an encrypted tier.
        columns: names of the columns of a scan, see `Scan`; topic, partition, offset and timestamp
            are always there. ``day`` and ``topic_id`` are added.
        decode: how to read keys and values, see `Scan`. JSON without a type gets every field that
            one of the records has; later runs add new fields to the table.
        mask: rules that keep private data out, see `values.masking`.
        isolation_level: ``read_committed`` leaves out aborted records and ends at the last stable
            offset; ``read_uncommitted`` takes all.
        commit_bytes: about as many bytes of logs are loaded in one commit.
        workers: threads that decode; None: one per core.
        table_format: "parquet": a folder of files; "delta" or "iceberg": a table of that kind,
            written without Spark.
        options: Delta: storage options of deltalake; Iceberg: properties of the catalog of
            pyiceberg, with its ``name`` in ``.pyiceberg.yaml`` if it has one.
        filesystem: Parquet: of `pyarrow.fs` or fsspec, in which ``to`` is a path; None: by its URI.
        mode: "append" adds every record; "upsert" keeps the newest record of each key of a
            partition, for compacted topics: it replaces the row of its key, and a tombstone deletes
            it; records without a key are left out.
        tell: receives sentences: which replica is read, which topics were made again, and which
            records are lost.

    Returns:
        One row per partition (`tables.lake.LoadedRow`). Damaged batches are left out, warned of,
        and counted.

    Raises:
        LogDirectoryError: a path does not exist, a log ends below what was loaded, or records were
            read that the batch headers do not mention, or the other way round.
        LookupError: a topic, partition or column does not exist.
        MissingDependencyError: deltalake or pyiceberg is not installed.
        OutputError: the table would be in a directory that is read, or somebody else has written to
            it meanwhile.
        SchemaError: a decoding or mask cannot be used, or values do not fit the table's types.
        ValueError: an argument has no meaning.
    """
    if mode not in {"append", "upsert"}:
        raise ValueError(f"mode is {mode!r}, not append or upsert")
    listing = logs_of(paths, remote, remote_keys, tell)
    found = chosen(listing, topics, partitions)
    names = list(dict.fromkeys((*_ALWAYS, *(several(columns) or RECORD_FIELDS))))
    by_column = decode if isinstance(decode, Mapping) else {"value": decode} if decode else {}
    scan_of = partial(
        _scan,
        listing,
        columns=tuple(names),
        decode=dict(by_column),
        mask=mask,
        isolation_level=isolation_level,
        workers=workers,
    )
    rows: list[LoadedRow] = []
    for name, mine in _by_table(os.fspath(to), found, table_format).items():
        table = _opened(name, table_format, options or {}, filesystem, listing)
        loading = _Loading(table, scan_of, isolation_level, commit_bytes, mode == "upsert", tell)
        rows += loading.rows(mine)
    return table_of(LoadedRow, rows)


def _by_table(
    to: str, partitions: list[Partition], table_format: TableFormat
) -> dict[str, list[Partition]]:
    """Return the partitions of each table."""
    if TOPIC not in to:
        return {to: partitions}
    found: dict[str, list[Partition]] = {}
    for each in partitions:
        # A dot would be another namespace; Kafka allows no two topics that differ in this alone.
        topic = each.topic.replace(".", "_") if table_format == "iceberg" else each.topic
        found.setdefault(to.replace(TOPIC, topic), []).append(each)
    return found


def _opened(
    name: str,
    table_format: TableFormat,
    options: Mapping[str, str],
    filesystem: Any,
    listing: Listing,
) -> Table:
    """Return a table.

    Raises:
        LogDirectoryError: the location cannot be reached.
        OutputError: it is inside of what is read.
        ValueError: the format is unknown.
    """
    if table_format not in FORMATS:
        raise ValueError(f"table_format is {table_format!r}, not one of {', '.join(FORMATS)}")
    if table_format == "iceberg":
        return IcebergTable(name, options)
    if filesystem is None and not is_uri(name):
        refuse_inputs(os.path.realpath(name), input_paths(listing.partitions.values()))
    if table_format == "delta":
        return DeltaTable(name, options)
    return ParquetTable(*_place(name, filesystem), name.partition("?")[0])


def _place(name: str, filesystem: Any) -> tuple[Any, str]:
    """Return a file system of pyarrow, and the path of a table in it."""
    from pyarrow.fs import FileSystem, FSSpecHandler, LocalFileSystem, PyFileSystem

    if filesystem is None and not is_uri(name):
        return LocalFileSystem(), os.path.realpath(name)
    if filesystem is None:
        files, path = writable_place(name)
        return files, path.rstrip("/")
    is_arrow = isinstance(filesystem, FileSystem)
    files = filesystem if is_arrow else PyFileSystem(FSSpecHandler(filesystem))
    return files, name.rstrip("/")


@dataclass(frozen=True)
class _Loading:
    """One run that loads into one table.

    Attributes:
        table: the table.
        scan_of: returns a scan of ranges of offsets, with the options of the user.
        isolation_level, commit_bytes, tell: see `to_table`.
        upsert: whether records replace those of their key.
    """

    table: Table
    scan_of: Callable[..., Scan]
    isolation_level: IsolationLevel
    commit_bytes: int
    upsert: bool
    tell: Callable[[str], object]

    def rows(self, partitions: list[Partition]) -> list[LoadedRow]:
        """Load what is new, and return what became of every offset."""
        there = self._known(partitions)
        ranges = [
            new_offsets(each, there.get((each.topic, each.partition)), self.isolation_level)
            for each in partitions
        ]
        counts = {each.log: Counter[str]() for each in ranges}
        for commit in in_commits(ranges, self.commit_bytes):
            for log, found in self._commit(commit).items():
                counts[log] += found
        return [
            self._row(each, counts[each.log], is_first=each.log not in there) for each in ranges
        ]

    def _known(self, partitions: list[Partition]) -> Positions:
        """Return up to where the table has the partitions, and tell which were made again."""
        there = dict(self.table.positions(ids_of(partitions)))
        for each in partitions:
            log = each.topic, each.partition
            if log in there and is_made_again(each, there[log]):
                before = there.pop(log).topic_id
                self.tell(
                    f"{each.topic}-{each.partition}: the topic was deleted and made again: its id "
                    f"is {each.topic_id}, and {before} of what was loaded last. It is loaded from "
                    "its first record on; column topic_id tells the records of the two apart"
                )
        return there

    def _commit(self, commit: list[NewOffsets]) -> dict[Log, Counter[str]]:
        """Load some ranges of offsets in one commit; return how many offsets have which fate."""
        fates = {each.log: each.fates() for each in commit}
        scan = self.scan_of(commit)

        def values(name: str) -> Iterator[pa.Array]:
            for batch in self.scan_of(commit, columns=(name,), decode={}, mask=None).batches():
                yield batch.column(0)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the reading that counts will warn
            decode = with_every_field(scan.decode, values, self.table.schema, scan.masks)
        scan = self.scan_of(commit, decode=decode)
        schema = evolved(self.table.schema, schema_of_scan(scan), self.table.name)
        if self.upsert:
            require_key(schema, self.table.name)
        moved = {each.log: each.loaded for each in commit}
        batches = self._counted(self._shaped(scan, commit, schema), commit, fates)
        self.table.commit(batches, schema, moved, upsert=self.upsert)
        return fates

    def _shaped(
        self, scan: Scan, commit: list[NewOffsets], schema: pa.Schema
    ) -> Iterator[pa.RecordBatch]:
        """Yield the records with the columns of the table; a batch is of one partition."""
        logs = {each.log: each.partition for each in commit}
        columns = tuple(dict.fromkeys((*scan.values.read, *(("value",) if self.upsert else ()))))
        raw = self.scan_of(commit, columns=columns, decode={}, mask=None, latest=self.upsert)
        of_scan, undecoded = scan.schema, []
        for batch in raw.batches():
            for part in scan.values.parts(batch):
                log = log_of(part)
                decoded, findings = scan.values.apply(part, of_scan, log[0], logs[log].path)
                undecoded += findings
                yield shaped(part, decoded, logs[log].topic_id, schema, upsert=self.upsert)
        if undecoded:
            self.tell(
                f"{len(undecoded)} batches have values that are null; the first: {undecoded[0]}"
            )

    def _counted(
        self,
        batches: Iterator[pa.RecordBatch],
        commit: list[NewOffsets],
        fates: dict[Log, Counter[str]],
    ) -> Iterator[pa.RecordBatch]:
        """Yield batches, and compare the number of their records with what the log's batches count.

        Raises:
            LogDirectoryError: there are more records, or fewer.
        """
        read: Counter[Log] = Counter()
        deletes: Counter[Log] = Counter()
        for batch in batches:
            log = log_of(batch)
            read[log] += batch.num_rows
            if self.upsert:
                deletes[log] += batch[DELETES].true_count
            yield batch
        for each in commit:
            found = fates[each.log]
            missing = found["record"] - read[each.log]
            if missing < 0 or (missing and not self.upsert):
                raise LogDirectoryError(
                    each.partition.path,
                    f"{read[each.log]:,} records from offset {each.low} to {each.high} were read "
                    f"(expected {found['record']:,}, by its batches); nothing was loaded: if the "
                    "log is being written, run it again",
                )
            found["superseded"], found["tombstones"] = missing, deletes[each.log]
            found["record"] -= missing + deletes[each.log]

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


def _scan(listing: Listing, commit: list[NewOffsets], **options: Any) -> Scan:
    """Return a scan of ranges of offsets."""
    offsets = {each.partition.name: (each.low, each.high) for each in commit}
    scan = Scan(listing, offsets=offsets, **options)
    scan.partitions = [each.partition for each in commit]
    return scan
