"""Load logs into a table: the records of dead or living brokers' disks, for SQL and notebooks."""

import os
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

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
from workbench.pipelines.lake.parquet_table import ParquetTable
from workbench.pipelines.lake.shape import evolved, schema_of_scan, shaped, with_every_field
from workbench.pipelines.lake.source import (
    NewOffsets,
    chosen,
    ids_of,
    in_commits,
    logs_of,
    new_range,
)
from workbench.pipelines.lake.table import Table
from workbench.runtime.several import several
from workbench.tables.lake import LoadedRow

if TYPE_CHECKING:
    from workbench.values.masking import AnyMasks
    from workbench.values.registry import AnyDecoding

TOPIC: Final = "{topic}"
"""In the name of a table: each topic gets its own."""

COMMIT_BYTES: Final = 1 << 30
"""Bytes of logs that are committed together."""

_ALWAYS: Final = ("topic", "partition", "offset", "timestamp")
_COUNTED: Final = ("aborted", "control", "compacted", "deleted", "damaged", "missing")


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
    filesystem: Any = None,
    tell: Callable[[str], object] = warnings.warn,
) -> pa.Table:
    """Load the records that a table does not have yet; return what became of every offset.

    Up to where each partition was loaded is kept with the table, and changes in the same commit as
    its records: a run that is killed at any moment and started again loads each record once, and a
    run later takes only what is new. The files are divided by topic and day (UTC).

    Args:
        paths: log directories of one broker, or of several of one cluster: of each partition the
            replica that is ahead is read. Directories and URIs as `open_log_directory` takes them.
        to: the table: a folder or a URI; with ``{topic}`` in it, each topic has its own.
        topics: names; None: all but those that brokers make for themselves.
        partitions: numbers, or names as ``orders-0``; None: all.
        remote: the folder or URL of the remote tier (KIP-405).
        remote_keys: key id → file of the RSA private key of an encrypted tier.
        columns: names of the columns of a scan, see `Scan`; topic, partition, offset and timestamp
            are always there. ``day`` is added.
        decode: how to read keys and values, see `Scan`. JSON without a type gets every field that
            one of the records has; later runs add new fields to the table.
        mask: rules that keep private data out, see `values.masking`.
        isolation_level: ``read_committed`` leaves out aborted records and ends at the last stable
            offset; ``read_uncommitted`` takes all.
        commit_bytes: about as many bytes of logs are loaded in one commit.
        workers: threads that decode; None: one per core.
        filesystem: of `pyarrow.fs` or fsspec, in which ``to`` is a path; None: by its URI.
        tell: receives sentences: which replica is read, and which records are lost.

    Returns:
        One row per partition (`tables.lake.LoadedRow`). Damaged batches are left out, warned of,
        and counted.

    Raises:
        InconsistentTopicIdError: a topic was deleted and made again since it was loaded.
        LogDirectoryError: a path does not exist, a log ends below what was loaded, or records were
            read that the batch headers do not mention, or the other way round.
        LookupError: a topic, partition or column does not exist.
        OutputError: the table would be in a directory that is read, or somebody else has written to
            it meanwhile.
        SchemaError: a decoding or mask cannot be used, or values do not fit the table's types.
        ValueError: an argument has no meaning.
    """
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
    for name, mine in _by_table(os.fspath(to), found).items():
        table = _opened(name, filesystem, listing)
        rows += _load(table, mine, scan_of, isolation_level, commit_bytes, tell)
    return table_of(LoadedRow, rows)


def _by_table(to: str, partitions: list[Partition]) -> dict[str, list[Partition]]:
    """Return the partitions of each table."""
    if TOPIC not in to:
        return {to: partitions}
    found: dict[str, list[Partition]] = {}
    for each in partitions:
        found.setdefault(to.replace(TOPIC, each.topic), []).append(each)
    return found


def _opened(name: str, filesystem: Any, listing: Listing) -> Table:
    """Return a table.

    Raises:
        LogDirectoryError: the location cannot be reached.
        OutputError: it is inside of what is read.
    """
    from pyarrow.fs import FileSystem, FSSpecHandler, LocalFileSystem, PyFileSystem

    if filesystem is not None:
        is_arrow = isinstance(filesystem, FileSystem)
        files = filesystem if is_arrow else PyFileSystem(FSSpecHandler(filesystem))
        return ParquetTable(files, name.rstrip("/"), name)
    if is_uri(name):
        files, path = writable_place(name)
        return ParquetTable(files, path.rstrip("/"), name.partition("?")[0])
    path = os.path.realpath(name)
    refuse_inputs(path, input_paths(listing.partitions.values()))
    return ParquetTable(LocalFileSystem(), path, name)


def _load(
    table: Table,
    partitions: list[Partition],
    scan_of: Callable[..., Scan],
    isolation_level: IsolationLevel,
    commit_bytes: int,
    tell: Callable[[str], object],
) -> list[LoadedRow]:
    """Load what is new into one table."""
    there = table.positions(ids_of(partitions))
    ranges = [
        new_range(each, there.get((each.topic, each.partition)), isolation_level)
        for each in partitions
    ]
    counts = {each.log: Counter[str]() for each in ranges}
    for commit in in_commits(ranges, commit_bytes):
        fates = {each.log: each.fates() for each in commit}
        _commit(table, commit, fates, scan_of)
        for log, found in fates.items():
            counts[log] += found
    return [_row(each, counts[each.log], table.name, there, tell) for each in ranges]


def _commit(
    table: Table,
    commit: list[NewOffsets],
    fates: dict[tuple[str, int], Counter[str]],
    scan_of: Callable[..., Scan],
) -> None:
    """Load some ranges of offsets in one commit."""
    whole = scan_of(commit)

    def values(name: str) -> Iterator[pa.Array]:
        for batch in scan_of(commit, columns=(name,), decode={}, mask=None).batches():
            yield batch.column(0)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the reading that counts will warn
        decode = with_every_field(whole.decode, values, table.schema, whole.masks)
    whole = scan_of(commit, decode=decode)
    schema = evolved(table.schema, schema_of_scan(whole), table.name)
    batches = _counted(shaped(whole.batches(), schema), commit, fates)
    table.commit(batches, schema, {each.log: each.position for each in commit})


def _counted(
    batches: Iterator[pa.RecordBatch],
    commit: list[NewOffsets],
    fates: dict[tuple[str, int], Counter[str]],
) -> Iterator[pa.RecordBatch]:
    """Yield batches, each of one partition, and compare them with what the headers count.

    Raises:
        LogDirectoryError: there are more records, or fewer.
    """
    read: Counter[tuple[str, int]] = Counter()
    for batch in batches:
        read[batch.column("topic")[0].as_py(), batch.column("partition")[0].as_py()] += len(batch)
        yield batch
    for each in commit:
        wanted = fates[each.log]["record"]
        if read[each.log] != wanted:
            raise LogDirectoryError(
                each.partition.path,
                f"{read[each.log]:,} records from offset {each.low} to {each.high} were read "
                f"(expected {wanted:,}, by its batches); nothing was loaded: if the log is being "
                "written, run it again",
            )


def _row(
    each: NewOffsets,
    fates: Counter[str],
    table: str,
    there: Any,
    tell: Callable[[str], object],
) -> LoadedRow:
    """Return what became of the offsets of a partition."""
    if fates["deleted"] and each.log in there:
        start = each.partition.log_start_offset
        tell(
            f"{each.partition.topic}-{each.partition.partition}: the offsets from {each.low} to "
            f"{start} were deleted before they were loaded: the log starts at {start}"
        )
    return LoadedRow(
        topic=each.partition.topic,
        partition=each.partition.partition,
        before=each.low,
        records=fates["record"],
        unread=fates["unread"] + fates["remote"],
        waiting=each.log_end - each.high,
        log_end_offset=each.log_end,
        table=table,
        replica=each.partition.path,
        **{name: fates[name] for name in _COUNTED},
    )


def _scan(listing: Listing, commit: list[NewOffsets], **options: Any) -> Scan:
    """Return a scan of ranges of offsets."""
    offsets = {each.partition.name: (each.low, each.high) for each in commit}
    scan = Scan(listing, offsets=offsets, **options)
    scan.partitions = [each.partition for each in commit]
    return scan
