"""`logs.inspect`: what lies in a log directory as Arrow tables, one method a kind of thing.

Every method takes ``topics`` and ``partitions`` as `LogDirectory.scan` does. Files that are
damaged give the rows that can be read; `LogDirectory.verify` tells what is wrong with them.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from workbench.files import names
from workbench.inspection.listing import Listing
from workbench.inspection.partition import Partition
from workbench.inspection.segment import Segment
from workbench.inspection.verify import verify_listing
from workbench.loaders import schemas, segment_tables
from workbench.loaders.disk_usage import file_kind, usage_of_partition, usage_of_root
from workbench.loaders.key_table import key_table
from workbench.loaders.plan import choose_partitions
from workbench.loaders.rows import table_of

Topics = Iterable[str] | str | None
Partitions = Iterable[int | str] | int | str | None


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
        return segment_tables.segments(self._segments(topics, partitions))

    def batches(self, topics: Topics = None, partitions: Partitions = None) -> pa.Table:
        """Return one row a batch (`schemas.BATCHES`), from the headers alone."""
        return segment_tables.batches(self._segments(topics, partitions))

    def offset_index(self, topics: Topics = None, partitions: Partitions = None) -> pa.Table:
        """Return one row an entry of the `.index` files (`schemas.OFFSET_INDEX`)."""
        return segment_tables.offset_index(self._segments(topics, partitions))

    def time_index(self, topics: Topics = None, partitions: Partitions = None) -> pa.Table:
        """Return one row an entry of the `.timeindex` files (`schemas.TIME_INDEX`)."""
        return segment_tables.time_index(self._segments(topics, partitions))

    def aborted_transactions(
        self, topics: Topics = None, partitions: Partitions = None
    ) -> pa.Table:
        """Return one row an entry of the `.txnindex` files (`schemas.ABORTED_TRANSACTIONS`)."""
        return segment_tables.aborted_transactions(self._segments(topics, partitions))

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
