"""Load logs into a table: the records of dead or living brokers' disks, for SQL and notebooks."""

import os
import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

import pyarrow as pa

from workbench.errors import SchemaError
from workbench.file_system.outputs import Places, places_of, refuse_inside
from workbench.file_system.source import is_uri
from workbench.inspection.listing import Listing, StrPath
from workbench.inspection.partition import DiskPartition, metadata_now
from workbench.inspection.transactions import IsolationLevel
from workbench.loaders.in_hand import InHand
from workbench.loaders.remote import writable_place
from workbench.loaders.scan.plan import input_paths
from workbench.loaders.scan.scan import Scan
from workbench.loaders.schemas import RECORD_FIELDS
from workbench.loaders.tables.rows import table_of
from workbench.pipelines.lake.data_files import PARTITIONED_BY, folder_name
from workbench.pipelines.lake.delta_table import DeltaTable
from workbench.pipelines.lake.iceberg_table import IcebergTable
from workbench.pipelines.lake.loading import Loading, name_of_refusals
from workbench.pipelines.lake.parquet_table import ParquetTable
from workbench.pipelines.lake.source import NewOffsets, chosen, logs_of
from workbench.pipelines.lake.table import (
    Table,
)
from workbench.runtime.several import Names, Partitions, several
from workbench.runtime.signatures import explained
from workbench.tables.lake import LoadedRow
from workbench.values.by_topic import of_topics
from workbench.values.registry import declared_type

if TYPE_CHECKING:
    from workbench.values.masking import AnyMasks
    from workbench.values.registry import AnyType, ColumnDecoding

Mode = Literal["append", "upsert"]
TableFormat = Literal["parquet", "delta", "iceberg"]
OnFailure = Callable[[str, Exception], object]
FORMATS: Final[tuple[TableFormat, ...]] = get_args(TableFormat)

TOPIC: Final = "{topic}"
"""In the name of a table: each topic gets its own."""

COMMIT_BYTES: Final = 1 << 30
"""Bytes of logs that are committed together."""

SPARK_COMMIT_BYTES: Final = 64 << 30
"""Bytes of logs that tasks of Spark load at a time, and that are committed together."""

_ALWAYS: Final = ("topic", "partition", "offset", "timestamp")


@explained
def to_table(
    paths: InHand | Iterable[InHand],
    to: StrPath,
    *,
    topics: Names = None,
    partitions: Partitions = None,
    remote: StrPath | None = None,
    remote_keys: Mapping[str, StrPath] | None = None,
    columns: Names = None,
    decode: "Mapping[str, ColumnDecoding] | str | None" = None,
    types: "Mapping[str, AnyType] | None" = None,
    mask: "AnyMasks" = None,
    isolation_level: IsolationLevel = "read_committed",
    commit_bytes: int | None = None,
    workers: int | None = None,
    spark: Any = None,
    table_format: TableFormat = "parquet",
    options: Mapping[str, str] | None = None,
    filesystem: Any = None,
    mode: Mode = "append",
    tell: Callable[[str], object] = warnings.warn,
    on_failure: OnFailure | None = None,
    dry_run: bool = False,
    optimize: bool = False,
    partition_by: Iterable[str] | str | None = None,
    target_file_size: int | None = None,
) -> pa.Table:
    """Load the records that a table does not have yet; return what became of every offset.

    Up to where each partition was loaded is kept with the table, and changes in the same commit as
    its records: a run that is killed at any moment and started again loads each record once, and a
    run later takes only what is new. The files are divided by topic and day (UTC). A topic that was
    deleted and made again, so that it has another id, is loaded from its beginning, beside the
    records of the topic before it. A log or topic that cannot be loaded does not stop the others.

    Args:
        paths: log directories of one broker, or of several of one cluster: of each partition the
            replica that is ahead is read. What `open_log_directory` takes.
        to: the table: a folder or a URI, of Iceberg its identifier (``lake.orders``); with
            ``{topic}`` in it, each topic has its own.
        topics: names; None: all but those that brokers make for themselves.
        partitions: numbers, or names as ``orders-0``; None: all.
        remote: the folder or URL of the remote tier (KIP-405).
        remote_keys: key id → file of the RSA private key of an encrypted tier.
        columns: names of the columns of a scan, see `Scan`; topic, partition, offset and timestamp
            are always there. ``day`` and ``topic_id`` are added.
        decode: how to read keys and values, see `Scan`; where the topics of a table have formats
            that differ, the column is text. JSON without a type gets every field that
            one of the records has; later runs add new fields to the table, and a type that a field
            has remains. What does not fit is null, and kept as text in the column ``_rescued``.
        types: topic → the types of fields of its values: an Arrow schema, or a file with an Avro or
            JSON Schema. The table has these columns from its first commit on, and keeps them. Of a
            field that is not declared, the first records decide. Values are JSON unless ``decode``
            says something else.
        mask: rules that keep private data out, see `values.masking`.
        isolation_level: ``read_committed`` leaves out aborted records and ends at the last stable
            offset; ``read_uncommitted`` takes all.
        commit_bytes: about as many bytes of logs are loaded in one commit; None: `COMMIT_BYTES`,
            with ``spark`` `SPARK_COMMIT_BYTES`.
        workers: threads that decode; None: one per core, of a task one.
        spark: a `pyspark.sql.SparkSession`, classic or Connect: its tasks read the logs and write
            the files, and this process commits them. Directories and table are where all of them
            reach them. Of an upsert, one task reads all that is new of a partition, and this
            process merges what tasks have found into the table.
        table_format: "parquet": a folder of files; "delta" or "iceberg": a table of that kind,
            written without a connector of Spark.
        options: Delta: storage options of deltalake; Iceberg: properties of the catalog of
            pyiceberg, with its ``name`` in ``.pyiceberg.yaml`` if it has one.
        filesystem: Parquet: of `pyarrow.fs` or fsspec, in which ``to`` is a path; None: by its URI.
        mode: "append" adds every record; "upsert" keeps the newest record of each key of a
            partition, for compacted topics: it replaces the row of its key, and a tombstone deletes
            it; records without a key are left out. A value that cannot be decoded replaces nothing:
            the newest that can be counts, and the record is added to the table ``<to>_refused``.
        tell: receives sentences: which replica is read, which topics were made again, and which
            records are lost.
        on_failure: receives the name of each log or topic that was not loaded, and the error. None:
            the first is raised after the others were loaded, with a note for each of the rest.
        dry_run: whether all is read, decoded and counted, and nothing is written; a sentence names
            the columns that the table would get. Without ``spark``.
        optimize: whether, after the load, small files of the tables are joined and what is old is
            deleted, as far as the format's library for Python can; a sentence says what was done.
        partition_by: columns that the files are divided by after topic and day: of text, whole
            numbers, true and false, or dates, with few values. A table keeps those of its first
            commit. Of a decoded field, what cannot be the name of a folder, as empty text, is
            rescued. None: those that the table has.
        target_file_size: about how many bytes a file becomes at most, also by ``optimize``; None:
            as large as a commit makes it, or as the format's library joins it.

    Returns:
        One row per partition that was loaded (`tables.lake.LoadedRow`). Damaged batches are left
        out, warned of, and counted.

    Raises:
        LogDirectoryError: a path does not exist, a log ends below what was loaded, records were
            read that the batch headers do not mention, or the other way round, or a topic was made
            again meanwhile.
        LookupError: a topic, partition or column does not exist, or types are declared for a topic
            that is not loaded.
        MissingDependencyError: deltalake or pyiceberg is not installed.
        OutputError: the table would be in a directory that is read, or somebody else has written to
            it meanwhile.
        SchemaError: a decoding, mask or declared type cannot be used or is not the table's, a table
            is divided by other columns, or a key of an upsert cannot be decoded.
        ValueError: an argument has no meaning.
    """
    _require_meaning(mode, target_file_size)
    if dry_run and (spark is not None or optimize):
        raise ValueError("a dry run is one process that writes nothing: leave out spark, optimize")
    divided = _besides(partition_by)
    listing = logs_of(paths, remote, remote_keys, tell)
    found = chosen(listing, topics, partitions)
    metadata = {(each.topic, each.partition): metadata_now(each) for each in found}
    names = list(dict.fromkeys((*_ALWAYS, *(several(columns) or RECORD_FIELDS))))
    by_column = decode if isinstance(decode, Mapping) else {"value": decode} if decode else {}
    if types:
        by_column = {"value": "json", **by_column}
    workers = 1 if spark is not None and workers is None else workers
    raw: dict[str, Any] = {"isolation_level": isolation_level, "workers": workers}
    of_user = {"columns": tuple(names), "decode": by_column, "mask": mask, **raw}
    scan_of = partial(_scan, listing, **of_user)
    _scan(listing, [], **of_user)  # what is wrong with the options is said before all else
    types_of = {topic: declared_type(given) for topic, given in (types or {}).items()}
    if unknown := sorted(set(types_of) - {each.topic for each in found}):
        raise LookupError(f"types are declared for {unknown[0]!r}, which is not loaded")
    most = commit_bytes or (COMMIT_BYTES if spark is None else SPARK_COMMIT_BYTES)
    rows: list[LoadedRow] = []
    loaded: list[Table] = []
    failed: dict[str, Exception] = {}
    tables = _by_table(os.fspath(to), found, table_format)
    if mode == "upsert":
        _require_apart(tables)
    inputs = {} if is_uri(os.fspath(to)) else places_of(input_paths(listing.partitions.values()))
    for name, mine in tables.items():
        opened = partial(
            _opened,
            table_format=table_format,
            options=options or {},
            filesystem=filesystem,
            inputs=inputs,
            file_bytes=target_file_size,
        )
        is_local = table_format != "iceberg" and filesystem is None and not is_uri(name)
        table = opened(name, partition_by=divided or ())
        if (error := _divided_otherwise(table, divided)) is not None:
            failed |= dict.fromkeys((each.topic for each in mine), error)
            continue
        loading = Loading(
            table=table,
            place=os.path.realpath(name) if is_local else None,
            refusals=partial(opened, name_of_refusals(name)),
            metadata=metadata,
            scan_of=partial(scan_of, decode=of_topics(by_column, {p.topic for p in mine})),
            raw=raw,
            commit_bytes=most,
            spark=spark,
            tell=tell,
            types=tuple(
                types_of[topic] for topic in {p.topic: None for p in mine} if topic in types_of
            ),
            upsert=mode == "upsert",
            dry_run=dry_run,
            failed=failed,
        )
        rows += loading.rows(mine)
        loaded.append(loading.table)
    for table in loaded:
        if optimize and table.schema is not None:
            tell(table.optimize())
    _report(failed, on_failure)
    return table_of(LoadedRow, rows)


def _require_meaning(mode: str, target_file_size: int | None) -> None:
    if mode not in {"append", "upsert"}:
        raise ValueError(f"mode is {mode!r}, not append or upsert")
    if target_file_size is not None and target_file_size <= 0:
        raise ValueError(f"target_file_size is {target_file_size} (expected bytes, 1 or more)")


def _besides(partition_by: Iterable[str] | str | None) -> tuple[str, ...] | None:
    """Return the columns besides `PARTITIONED_BY`, which may be named, too; None: not said."""
    if partition_by is None:
        return None
    named = dict.fromkeys(each.strip() for each in several(partition_by))
    return tuple(name for name in named if name not in PARTITIONED_BY)


def _require_apart(tables: Mapping[str, list[DiskPartition]]) -> None:
    """Check that no table is also that of what an upsert into another one refuses.

    Raises:
        ValueError: one is.
    """
    for name in tables:
        if (other := name_of_refusals(name)) in tables:
            raise ValueError(
                f"the topic {tables[other][0].topic} would share the table {other} with what the "
                f"upsert into {name} refuses: load it by itself, to another place"
            )


def _divided_otherwise(table: Table, wanted: tuple[str, ...] | None) -> SchemaError | None:
    """Return the error if a table is divided by other columns than was asked for."""
    if wanted is None or wanted == table.partition_by:
        return None
    found, expected = (
        ", ".join((*PARTITIONED_BY, *columns)) for columns in (table.partition_by, wanted)
    )
    return SchemaError(
        f"{table.name} is partitioned by {found} (asked for {expected}), and a table keeps its "
        "partitions; leave out what it shall be partitioned by, or load into another table"
    )


def _report(failed: Mapping[str, Exception], on_failure: OnFailure | None) -> None:
    """Report what was not loaded, or raise the first error."""
    first: Exception | None = None
    for name, error in failed.items():
        if on_failure is not None:
            on_failure(name, error)
        elif first is None:
            first = error
        else:
            first.add_note(f"{name} is not loaded, either: {error}")
    if first is not None:
        raise first


def _by_table(
    to: str, partitions: list[DiskPartition], table_format: TableFormat
) -> dict[str, list[DiskPartition]]:
    """Return the partitions of each table."""
    if TOPIC not in to:
        return {to: partitions}
    found: dict[str, list[DiskPartition]] = {}
    for each in partitions:
        topic = folder_name(each.topic)
        if table_format == "iceberg":
            # A dot would be another namespace; Kafka allows no two topics that differ in this
            # alone. Two that a broker does not take share a table, whose rows have the topic.
            topic = topic.replace(".", "_").replace("~", "_")
        found.setdefault(to.replace(TOPIC, topic), []).append(each)
    return found


def _opened(
    name: str,
    *,
    table_format: TableFormat,
    options: Mapping[str, str],
    filesystem: Any,
    inputs: Places,
    file_bytes: int | None,
    partition_by: tuple[str, ...] = (),
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
        return IcebergTable(name, options, partition_by, file_bytes)
    if filesystem is None and not is_uri(name):
        refuse_inside(os.path.realpath(name), inputs)
    if table_format == "delta":
        return DeltaTable(name, options, partition_by, file_bytes)
    files, root = _place(name, filesystem)
    return ParquetTable(files, root, name.partition("?")[0], partition_by, file_bytes)


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


def _scan(listing: Listing, commit: list[NewOffsets], **options: Any) -> Scan:
    """Return a scan of ranges of offsets."""
    offsets = {each.partition.name: (each.low, each.high) for each in commit}
    scan = Scan(listing, offsets=offsets, **options)
    scan.partitions = [each.partition for each in commit]
    return scan
