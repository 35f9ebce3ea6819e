"""`logs.inspect`: what lies in a log directory as Arrow tables, one method a kind of thing.

Every method takes ``topics`` and ``partitions`` as `LogDirectory.scan` does. Files that are
damaged give the rows that can be read; `LogDirectory.verify` tells what is wrong with them.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from workbench.files import names
from workbench.inspection.listing import Listing
from workbench.inspection.partition import Partition
from workbench.inspection.segment import Segment
from workbench.inspection.verify import verify_listing
from workbench.layout import problems
from workbench.loaders import arrow, schemas
from workbench.loaders.disk_usage import file_kind, usage_of_partition, usage_of_root
from workbench.loaders.key_table import key_table
from workbench.loaders.plan import choose_partitions
from workbench.loaders.rows import table_of

Topics = Iterable[str] | str | None
Partitions = Iterable[int | str] | int | str | None


def _join(schema: pa.Schema, parts: Iterable[list[pa.Array]]) -> pa.Table:
    """Return batches of columns as a table."""
    batches = [pa.RecordBatch.from_arrays(arrays, schema=schema) for arrays in parts]
    return pa.Table.from_batches(batches, schema=schema)


def batch_columns(rows: Any, topic: str, partition: int, segment: int) -> list[pa.Array]:
    """Return BATCH_ROW[n] as the columns of `schemas.BATCHES`."""
    count = len(rows)
    arrays: list[pa.Array] = []
    constants: dict[str, str | int] = {"topic": topic, "partition": partition, "segment": segment}
    words = [problems.WORDS.get(code) for code in rows["problem"].tolist()]
    for field in schemas.BATCHES:
        name, kind = field.name, field.type
        if name in constants:
            arrays.append(arrow.repeated(constants[name], kind, count))
        elif name == "codec":
            arrays.append(arrow.codecs(rows["codec"]))
        elif name == "timestamp_type":
            arrays.append(arrow.timestamp_types(rows["timestamp_type"]))
        elif name == "problem":
            arrays.append(arrow.strings(words))
        elif kind == pa.bool_():
            arrays.append(arrow.booleans(rows[name]))
        elif name == "base_timestamp":
            shown = np.where(rows["delete_horizon"] == -1, rows[name], -1)
            arrays.append(arrow.integers(shown, kind))
        else:
            absent = -1 if field.nullable else arrow.NO_ABSENT
            arrays.append(arrow.integers(rows[name], kind, absent))
    return arrays


class Inspect:
    """Arrow tables of everything but the records. Made by `LogDirectory.inspect`."""

    def __init__(self, listing: Listing) -> None:
        self._listing = listing

    def _segments(
        self, topics: Topics, partitions: Partitions
    ) -> Iterator[tuple[Partition, Segment]]:
        for partition in choose_partitions(self._listing, topics, partitions):
            for segment in partition.segments:
                yield partition, segment

    def segments(self, topics: Topics = None, partitions: Partitions = None) -> pa.Table:
        """Return one row a segment in use (`schemas.SEGMENTS`), from names and sizes alone."""

        def size(segment: Segment, kind: Any) -> int | None:
            return segment.files[kind].size if kind in segment.files else None

        return table_of(
            schemas.SEGMENTS,
            (
                (
                    p.topic,
                    p.partition,
                    p.name,
                    s.base_offset,
                    s.size,
                    size(s, "index"),
                    size(s, "timeindex"),
                    size(s, "txnindex"),
                    s.modified_ms,
                    s.is_active,
                    s.path,
                )
                for p, s in self._segments(topics, partitions)
            ),
        )

    def batches(self, topics: Topics = None, partitions: Partitions = None) -> pa.Table:
        """Return one row a batch (`schemas.BATCHES`), from the headers alone."""
        return _join(
            schemas.BATCHES,
            (
                batch_columns(s.batches.rows, p.topic, p.partition, s.base_offset)
                for p, s in self._segments(topics, partitions)
            ),
        )

    def _entries(
        self, schema: pa.Schema, found: Iterable[tuple[Partition, Segment, list[Any]]]
    ) -> pa.Table:
        """Join index entries, given as two int64 columns a segment."""

        def columns(p: Partition, s: Segment, values: list[Any]) -> list[pa.Array]:
            count = len(values[0])
            where = zip((p.topic, p.partition, s.base_offset), list(schema)[:3], strict=True)
            return [
                *(arrow.repeated(value, field.type, count) for value, field in where),  # type: ignore[arg-type]
                arrow.integers(np.arange(count, dtype=np.int32), pa.int32(), arrow.NO_ABSENT),
                *(
                    arrow.integers(numbers, field.type, arrow.NO_ABSENT)
                    for numbers, field in zip(values, list(schema)[4:], strict=True)
                ),
            ]

        return _join(schema, (columns(*each) for each in found))

    def offset_index(self, topics: Topics = None, partitions: Partitions = None) -> pa.Table:
        """Return one row an entry of the `.index` files (`schemas.OFFSET_INDEX`)."""
        return self._entries(
            schemas.OFFSET_INDEX,
            (
                (p, s, [index.offsets, index.positions])
                for p, s in self._segments(topics, partitions)
                if (index := s.offset_index) is not None
            ),
        )

    def time_index(self, topics: Topics = None, partitions: Partitions = None) -> pa.Table:
        """Return one row an entry of the `.timeindex` files (`schemas.TIME_INDEX`)."""
        return self._entries(
            schemas.TIME_INDEX,
            (
                (p, s, [index.timestamps, index.offsets])
                for p, s in self._segments(topics, partitions)
                if (index := s.time_index) is not None
            ),
        )

    def aborted_transactions(
        self, topics: Topics = None, partitions: Partitions = None
    ) -> pa.Table:
        """Return one row an entry of the `.txnindex` files (`schemas.ABORTED_TRANSACTIONS`)."""
        return table_of(
            schemas.ABORTED_TRANSACTIONS,
            (
                (
                    p.topic,
                    p.partition,
                    s.base_offset,
                    entry.producer_id,
                    entry.first_offset,
                    entry.last_offset,
                    entry.last_stable_offset,
                )
                for p, s in self._segments(topics, partitions)
                for entry in s.transaction_index or ()
            ),
        )

    def producers(
        self, topics: Topics = None, partitions: Partitions = None, *, every: bool = False
    ) -> pa.Table:
        """Return one row a producer of the newest `.snapshot` (`schemas.PRODUCERS`).

        Args:
            every: of every snapshot, not only the newest of each partition.
        """

        def rows() -> Iterator[tuple[Any, ...]]:
            for p in choose_partitions(self._listing, topics, partitions):
                for entry in p.snapshots if every else p.snapshots[-1:]:
                    name = names.parse_file_name(entry.name)
                    assert name is not None
                    for producer in p.producer_snapshot(entry).entries:
                        yield (p.topic, p.partition, name.offset, *producer)

        return table_of(schemas.PRODUCERS, rows())

    def checkpoints(self) -> pa.Table:
        """Return one row an entry of the four offset checkpoints (`schemas.CHECKPOINTS`)."""
        return table_of(
            schemas.CHECKPOINTS,
            (
                (root.path, name, where.topic, where.partition, offset)
                for root in self._listing.roots
                for name in names.OFFSET_CHECKPOINTS
                if (checkpoint := root.checkpoint(name)) is not None
                for where, offset in checkpoint.offsets.items()
            ),
        )

    def leader_epochs(self, topics: Topics = None, partitions: Partitions = None) -> pa.Table:
        """Return one row an entry of the leader epoch checkpoints (`schemas.LEADER_EPOCHS`)."""
        return table_of(
            schemas.LEADER_EPOCHS,
            (
                (p.topic, p.partition, entry.epoch, entry.start_offset)
                for p in choose_partitions(self._listing, topics, partitions)
                if (epochs := p.leader_epochs) is not None
                for entry in epochs.entries
            ),
        )

    def cleaning(
        self,
        topics: Topics = None,
        partitions: Partitions = None,
        *,
        config: Mapping[str, Any] | None = None,
        now: int | None = None,
        tries: bool = True,
    ) -> pa.Table:
        """Return one row a partition: how clean it is, and whether it is due (`schemas.CLEANING`).

        Compacted logs are loaded as a broker does, with every change kept in memory; of others
        there is only said that they are none. Arguments as of `Partition.explain_cleaning`.

        Args:
            tries: plan the cleaning of what is due, to see whether it would fail.
        """
        from workbench.loaders.cleaning_table import cleaning_rows

        chosen = choose_partitions(self._listing, topics, partitions)
        rows = cleaning_rows(self._listing, chosen, config, now, tries=tries)
        return table_of(schemas.CLEANING, rows)

    def keys(
        self, topics: Topics = None, partitions: Partitions = None, *, limit: int | None = 100
    ) -> pa.Table:
        """Return one row a key (`schemas.KEYS`): of which compaction would save most, first.

        Reads every record. Transactions are not looked at: `Partition.plan_cleaning` tells exactly
        what goes.

        Args:
            limit: rows of each partition at most; None: all.
        """
        chosen = choose_partitions(self._listing, topics, partitions)
        tables = [key_table(partition, limit) for partition in chosen]
        return pa.concat_tables([schemas.KEYS.empty_table(), *tables])

    def disk_usage(self, topics: Topics = None, partitions: Partitions = None) -> pa.Table:
        """Return what the bytes on the disk are (`schemas.DISK_USAGE`), down to keys and values.

        Reads every record. The bytes of all rows are the sizes of all files; of preallocated
        indexes that nothing was written to yet the disk may hold less.
        """
        rows: list[tuple[Any, ...]] = []
        for partition in choose_partitions(self._listing, topics, partitions):
            rows += usage_of_partition(partition)
        if topics is None and partitions is None:
            for root in self._listing.roots:
                rows += usage_of_root(root)
        return table_of(schemas.DISK_USAGE, rows)

    def findings(self) -> pa.Table:
        """Return one row a finding of `LogDirectory.verify` (`schemas.FINDINGS`)."""
        return pa.Table.from_pylist(
            [finding.as_dict() for finding in verify_listing(self._listing)], schemas.FINDINGS
        )

    def files(self) -> pa.Table:
        """Return one row a file (`schemas.FILES`), also those no broker would know."""

        def rows() -> Iterator[tuple[Any, ...]]:
            for root in self._listing.roots:
                unknown = set(root.unknown)
                for f in root.files:
                    kind = "unknown" if f in unknown else f.name
                    yield root.path, None, f.name, kind, f.size, f.modified_ms
                for p in root.partitions:
                    for f in p.files:
                        yield root.path, p.name, f.name, file_kind(f, p), f.size, f.modified_ms

        return table_of(schemas.FILES, rows())
