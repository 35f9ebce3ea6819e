"""A table of Delta Lake, written by package `deltalake`; no connector of Spark is needed.

Positions are the table's own transaction identifiers (`txn` actions), which checkpoints keep and
whose conflicts Delta detects: one for the offset, two for the halves of the topic's id, and one for
the offset in the topic of that id.

Delta: Transaction Identifiers (protocol)
"""

import json
import os
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

import pyarrow as pa

from workbench.errors import OutputError, SchemaError
from workbench.file_system.source import is_uri
from workbench.files.text import format_uuid, parse_uuid
from workbench.pipelines.lake.data_files import (
    PARTITIONED_BY,
    DataFile,
    Staging,
    fits_a_folder,
    folders_of,
)
from workbench.pipelines.lake.table import (
    DELETES,
    KEY,
    LoadedUpTo,
    Positions,
    joined_text,
    of_topic,
    schema_of_upsert,
    written_meanwhile,
)
from workbench.runtime.clock import SystemClock
from workbench.runtime.extras import optional
from workbench.runtime.words import plural

_APP: Final = "kafka-log-workbench"
_HALF: Final = 1 << 64
_KEPT: Final = {"name": "kafka-log-workbench"}
_TOPIC: Final = PARTITIONED_BY[0]
_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - UTC, which is written as Z

_RANGED: Final = ("partition", "offset", "timestamp")
"""The columns of which the table keeps the smallest and the largest value of a file."""


@dataclass
class DeltaTable:
    """A table in a folder or at a URI.

    Attributes:
        name: the folder or URI.
        options: what `deltalake` calls storage options.
        partition_by, file_bytes: see `Table`.
    """

    name: str
    options: Mapping[str, str] = field(default_factory=dict)
    partition_by: tuple[str, ...] = ()
    file_bytes: int | None = None

    def __post_init__(self) -> None:
        self._delta: Any = optional("deltalake")
        self._open()

    def _open(self) -> None:
        """Take the newest version; a commit fails if another one came after it."""
        self._table: Any = None
        options = dict(self.options)
        if self._delta.DeltaTable.is_deltatable(self.name, options):
            self._table = self._delta.DeltaTable(self.name, storage_options=options)
            columns = self._table.metadata().partition_columns
            self.partition_by = tuple(each for each in columns if each not in PARTITIONED_BY)

    @property
    def schema(self) -> pa.Schema | None:
        """See `Table.schema`."""
        return None if self._table is None else pa.schema(self._table.schema().to_arrow())

    def widens(self, _here: pa.DataType, _new: pa.DataType) -> bool:
        """See `Table.widens`: deltalake takes no table that widens types."""
        return False

    def positions(self, logs: Positions) -> Positions:
        """See `Table.positions`."""
        found = {}
        for log, now in logs.items() if self._table is not None else ():
            offset, *halves = (self._table.transaction_version(app) for app in _apps(*log))
            if offset is not None:
                last = LoadedUpTo(offset, None if None in halves else _id_of(*halves))
                known = self._table.transaction_version(_app_of_topic(*log, now.topic_id))
                found[log] = of_topic(now.topic_id, last, known)
        return found

    def commit(
        self,
        batches: Iterator[pa.RecordBatch],
        schema: pa.Schema,
        moved: Positions,
        *,
        upsert: bool,
    ) -> None:
        """See `Table.commit`."""
        if upsert:
            _require_short(topic for topic, _ in moved)
            with self._refuses_others():
                self._merge(batches, schema, self._properties(moved))
            return
        staging = self.staging(schema)
        self.publish(staging, staging.write(batches), moved)

    def staging(self, schema: pa.Schema) -> Staging:
        """See `Table.staging`."""
        from pyarrow.fs import LocalFileSystem, PyFileSystem

        files, folder = LocalFileSystem(), os.path.realpath(self.name)
        if is_uri(self.name):
            stores = optional("deltalake.fs", "deltalake")
            handler = stores.DeltaStorageHandler(self.name, dict(self.options))
            files, folder = PyFileSystem(handler), ""
        return Staging(
            files,
            folder,
            secrets.token_hex(8),
            schema,
            columns=self._divided,
            folders=folders_of(self._divided, prefix=""),
            has_columns=False,
            file_bytes=self.file_bytes,
        )

    @property
    def _divided(self) -> tuple[str, ...]:
        """The columns that the table is partitioned by."""
        return *PARTITIONED_BY, *self.partition_by

    @property
    def _settings(self) -> dict[str, str]:
        """The configuration of a new table."""
        return {} if self.file_bytes is None else {"delta.targetFileSize": str(self.file_bytes)}

    def publish(self, staging: Staging, added: Sequence[DataFile], moved: Positions) -> None:
        """See `Table.publish`; new columns are a commit of their own before that of the files."""
        with self._refuses_others():
            self._publish(staging.schema, [_add(each) for each in added], self._properties(moved))

    def optimize(self) -> str:
        """See `Table.optimize`: files are joined up to delta.targetFileSize."""
        with self._refuses_others():
            joined = self._table.optimize.compact(
                target_size=self.file_bytes, commit_properties=self._properties({})
            )
            deleted = self._table.vacuum(dry_run=False)
            self._table.create_checkpoint()
            self._table.cleanup_metadata()
        before, after = joined["numFilesRemoved"], joined["numFilesAdded"]
        return (
            f"{joined_text(self.name, before, after)}, {plural(len(deleted), 'old file')} deleted"
        )

    @contextmanager
    def _refuses_others(self) -> Iterator[None]:
        """Commit what the body commits, unless somebody else has written meanwhile.

        Raises:
            OutputError: somebody has, or it cannot be written.
        """
        of = self._delta.exceptions
        try:
            yield
        except (of.DeltaError, OSError) as error:
            if isinstance(error, of.CommitFailedError) or "already exists" in str(error):
                raise written_meanwhile(self.name, error) from error
            raise OutputError(self.name, f"cannot be written: {_reason(error)}") from error
        self._open()

    def _publish(self, schema: pa.Schema, added: list[Any], properties: Any) -> None:
        transaction = optional("deltalake.transaction", "deltalake")
        if self._table is None:
            transaction.create_table_with_add_actions(
                self.name,
                self._delta.Schema.from_arrow(schema),
                added,
                partition_by=list(self._divided),
                configuration=self._settings,
                storage_options=dict(self.options),
                commit_properties=properties,
            )
            return
        if set(schema) != set(self.schema or ()):
            version = self._table.version() + 1
            self._change_columns(schema, self._properties({}))
            if self._table.version() != version:  # Delta sees no conflict with what is before
                raise written_meanwhile(self.name, f"it has version {self._table.version()}")
        self._table.create_write_transaction(
            added, "append", schema, list(self._divided), commit_properties=properties
        )

    def _properties(self, moved: Positions) -> Any:
        """Return the properties of a commit that moves positions.

        A commit that creates the table is not tried again: deltalake would repeat it as version 1
        of a table that another process has created, without looking for conflicts.
        """
        transactions = [
            self._delta.Transaction(app, number)
            for log, at in moved.items()
            for app, number in zip(
                _apps(*log), (at.next_offset, *_halves(at.topic_id)), strict=False
            )
        ]
        transactions += [
            self._delta.Transaction(_app_of_topic(*log, at.topic_id), at.next_offset)
            for log, at in moved.items()
            if at.topic_id is not None
        ]
        return self._delta.CommitProperties(_KEPT, 0 if self._table is None else None, transactions)

    def _change_columns(self, schema: pa.Schema, properties: Any) -> None:
        """Make a commit without files."""
        self._delta.write_deltalake(
            self._table,
            pa.RecordBatchReader.from_batches(schema, ()),
            mode="append",
            schema_mode="merge",
            partition_by=list(self._divided),
            storage_options=dict(self.options),
            commit_properties=properties,
        )

    def _merge(self, batches: Iterator[pa.RecordBatch], schema: pa.Schema, properties: Any) -> None:
        if self._table is None:
            self._table = self._delta.DeltaTable.create(
                self.name,
                self._delta.Schema.from_arrow(schema),
                mode="error",
                configuration=self._settings,
                partition_by=list(self._divided),
                storage_options=dict(self.options),
                commit_properties=self._properties({}),
            )
        merger = self._table.merge(
            pa.RecordBatchReader.from_batches(schema_of_upsert(schema), batches),
            " and ".join(f"target.`{name}` = source.`{name}`" for name in KEY),
            source_alias="source",
            target_alias="target",
            merge_schema=True,
            commit_properties=properties,
        )
        merger = merger.when_matched_delete(f"source.{DELETES}")
        merger = merger.when_matched_update_all(except_cols=[DELETES])
        merger = merger.when_not_matched_insert_all(f"not source.{DELETES}", except_cols=[DELETES])
        version = self._table.version()
        merger.execute()
        if self._table.version() == version:  # nothing changes: deltalake makes no commit
            self._change_columns(schema, properties)


def _reason(error: Exception) -> str:
    """Return why a library of Rust could not write: what the system said, if it says so."""
    found = re.search(r"os error (\d+)|Os \{ code: (\d+)", str(error))
    return os.strerror(int(found[1] or found[2])) if found else str(error)


def _add(file: DataFile) -> Any:
    """Return the action that adds a file.

    Delta: Add File (protocol)
    """
    return optional("deltalake.transaction", "deltalake").AddAction(
        file.path,
        file.size,
        dict(file.values),
        SystemClock().now(),
        data_change=True,
        stats=json.dumps(_statistics(file.metadata)),
    )


def _statistics(metadata: Any) -> dict[str, Any]:
    """Return what readers may know of a file by its footer, to leave it out.

    Delta: Per-file Statistics (protocol)
    """
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    names = [groups[0].column(number).path_in_schema for number in range(metadata.num_columns)]
    ranges = {}
    for name in set(names) & set(_RANGED):
        found = [group.column(names.index(name)).statistics for group in groups]
        if all(each is not None and each.has_min_max for each in found):
            ends = min(each.min_raw for each in found), max(each.max_raw for each in found)
            ranges[name] = [_as_time(each) for each in ends] if name == "timestamp" else ends
    return {
        "numRecords": metadata.num_rows,
        "minValues": {name: low for name, (low, _) in ranges.items()},
        "maxValues": {name: high for name, (_, high) in ranges.items()},
    }


def _as_time(microseconds: int) -> str | None:
    """Return a time as Delta writes it; None: its year has more than four digits."""
    try:
        time = _EPOCH + timedelta(microseconds=microseconds)
    except OverflowError:
        return None
    return f"{time.isoformat(timespec='milliseconds')}Z"


def _require_short(topics: Iterable[str]) -> None:
    """Check that deltalake can write files of topics itself: it has no shorter name for a folder.

    Raises:
        SchemaError: the name of one is too long.
    """
    for topic in topics:
        if not fits_a_folder(_TOPIC, topic):
            raise SchemaError(
                f"{topic[:40]}…: the name of the topic is too long for the folders of an upsert by "
                "deltalake; load it by itself into a table of Parquet or Iceberg"
            )


def _apps(topic: str, partition: int) -> tuple[str, str, str]:
    """Return the ids of the transactions that keep the position of a log."""
    name = f"{_APP}/{topic}-{partition}"
    return name, f"{name}/topic-id/high", f"{name}/topic-id/low"


def _app_of_topic(topic: str, partition: int, topic_id: str | None) -> str:
    """Return the id of the transaction that keeps the position in the topic of an id."""
    return f"{_APP}/{topic}-{partition}/topic-id/{topic_id}"


def _halves(topic_id: str | None) -> tuple[int, ...]:
    """Return the two signed halves of a topic id; none if it is unknown."""
    if topic_id is None:
        return ()
    found = parse_uuid(topic_id)
    assert found is not None  # it was written from one
    number = found.int
    return tuple(h - _HALF if h >= _HALF >> 1 else h for h in divmod(number, _HALF))


def _id_of(high: int, low: int) -> str:
    return format_uuid(UUID(int=(high % _HALF) * _HALF + low % _HALF))
