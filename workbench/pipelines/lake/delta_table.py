"""A table of Delta Lake, written by package `deltalake` without Spark.

Positions are the table's own transaction identifiers (`txn` actions), which checkpoints keep and
whose conflicts Delta detects: one for the offset, two for the halves of the topic's id, and one for
the offset in the topic of that id.

Delta: Transaction Identifiers (protocol)
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

import pyarrow as pa

from workbench.files.text import format_uuid, parse_uuid
from workbench.pipelines.lake.table import (
    DELETES,
    KEY,
    PARTITIONED_BY,
    LoadedUpTo,
    Positions,
    of_topic,
    schema_of_upsert,
    written_meanwhile,
)
from workbench.runtime.extras import optional

_APP: Final = "kafka-log-workbench"
_HALF: Final = 1 << 64
_KEPT: Final = {"name": "kafka-log-workbench"}


@dataclass
class DeltaTable:
    """A table in a folder or at a URI.

    Attributes:
        name: the folder or URI.
        options: what `deltalake` calls storage options.
    """

    name: str
    options: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._delta: Any = optional("deltalake")
        self._open()

    def _open(self) -> None:
        """Take the newest version; a commit fails if another one came after it."""
        self._table: Any = None
        options = dict(self.options)
        if self._delta.DeltaTable.is_deltatable(self.name, options):
            self._table = self._delta.DeltaTable(self.name, storage_options=options)

    @property
    def schema(self) -> pa.Schema | None:
        """See `Table.schema`."""
        return None if self._table is None else pa.schema(self._table.schema().to_arrow())

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
        properties = self._delta.CommitProperties(_KEPT, None, transactions)
        try:
            if upsert:
                self._merge(batches, schema, properties)
            else:
                self._append(batches, schema, properties)
        except self._delta.exceptions.CommitFailedError as error:
            raise written_meanwhile(self.name, error) from error
        self._open()

    def _append(
        self, batches: Iterator[pa.RecordBatch], schema: pa.Schema, properties: Any
    ) -> None:
        self._delta.write_deltalake(
            self.name if self._table is None else self._table,
            pa.RecordBatchReader.from_batches(schema, batches),
            mode="append",
            schema_mode=None if self._table is None else "merge",
            partition_by=list(PARTITIONED_BY),
            storage_options=dict(self.options),
            commit_properties=properties,
        )

    def _merge(self, batches: Iterator[pa.RecordBatch], schema: pa.Schema, properties: Any) -> None:
        if self._table is None:
            self._table = self._delta.DeltaTable.create(
                self.name,
                self._delta.Schema.from_arrow(schema),
                mode="error",
                partition_by=list(PARTITIONED_BY),
                storage_options=dict(self.options),
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
        merger.when_not_matched_insert_all(f"not source.{DELETES}", except_cols=[DELETES]).execute()


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
