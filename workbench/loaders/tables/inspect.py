"""`logs.inspect`: the contents of a log directory as Arrow tables, one method per kind.

Every method takes ``topics`` and ``partitions`` as `LogDirectory.scan` does, except `checkpoints`
and `files`, which cover entire log directories. Damaged files give the rows that can be read;
`findings`, or `LogDirectory.verify`, says what is wrong with them. Files that
cannot be read are left out with a `CorruptDataWarning`.
"""

import os
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from workbench.coordinator.offsets.group_lag import WINDOW_MS
from workbench.files import names
from workbench.inspection.broker_version import meant_broker
from workbench.inspection.findings import Finding, without_info
from workbench.inspection.listing import Listing
from workbench.inspection.partition import DiskPartition
from workbench.inspection.remote_tier.segment_rows import remote_segment_rows
from workbench.inspection.segment import Segment
from workbench.inspection.verify.partition import Advance
from workbench.inspection.verify.verify import verify_partitions
from workbench.loaders.offsets.record_counts import count_records
from workbench.loaders.scan.plan import choose_partitions, chosen_names
from workbench.loaders.schemas import schema_of
from workbench.loaders.tables import segment_tables
from workbench.loaders.tables.by_hand import by_hand, swapped_in
from workbench.loaders.tables.cluster_tables import ClusterTables
from workbench.loaders.tables.disk_usage import file_kind, usage_of_partition, usage_of_root
from workbench.loaders.tables.keys import key_table
from workbench.loaders.tables.rows import finding_table, table_of
from workbench.loaders.tables.segment_tables import warn_left_out
from workbench.runtime.several import Names, Partitions
from workbench.runtime.workers import worker_count
from workbench.tables.cleaning import CleaningRow, KeyRow
from workbench.tables.directories import (
    CheckpointRow,
    DiskUsageRow,
    FileRow,
    LeaderEpochRow,
    ProducerRow,
)
from workbench.tables.groups import (
    CommitRow,
    CommittedOffsetRow,
    DeliveryRow,
    GroupRow,
    MemberRow,
    RebalanceRow,
)
from workbench.tables.offsets import DamagedRangeRow, OffsetRunRow, RecordCountRow
from workbench.tables.segments import RemoteSegmentRow
from workbench.tables.transactions import MarkerRow, OpenProducerRow, RepairRow, TransactionRow

if TYPE_CHECKING:  # what coordinators keep is imported when it is asked for
    from workbench.coordinator.groups.stored_groups import StoredGroups


def chosen_findings(
    listing: Listing,
    topics: Names,
    partitions: Partitions,
    *,
    deep: bool,
    info: bool,
    workers: int | None = None,
    kafka: str | None = None,
    advance: Advance | None = None,
) -> list[Finding]:
    """Return the findings of `LogDirectory.verify`, which describes the arguments.

    ``advance`` is that of `verify_partitions`: what it raises ends the check after a segment.

    Raises:
        ConfigError: the version is unknown.
        LookupError: a topic or partition does not exist.
    """
    folders, chosen = None, chosen_names(listing, topics, partitions)
    if chosen is not None:
        # A chosen partition includes its stray and future directories.
        every = (p for root in listing.roots for p in root.partitions)
        folders = {p.path for p in every if (p.topic, p.partition) in chosen}
    threads = worker_count(workers)
    rules = meant_broker(listing, kafka).rules
    steps = verify_partitions(
        listing, folders=folders, deep=deep, advance=advance, workers=threads, rules=rules
    )
    found = [finding for _, findings in steps for finding in findings]
    if advance is not None:
        advance(0)
    if partitions is None:
        from workbench.coordinator.verify import verify_coordinators

        wanted = None if chosen is None else {topic for topic, _ in chosen}
        found += verify_coordinators(listing, topics=wanted, deep=deep)
    return found if info else without_info(found)


class Inspect(ClusterTables):
    """Arrow tables of everything but the records. Made by `LogDirectory.inspect`."""

    _other_options: Final = dict.fromkeys(
        ("base_offset", "segment", "segments"),
        '; one segment is logs["orders-0"].segments[0], with batches, offset_index, time_index',
    )
    """Options that people look for, and where that is."""

    def __init__(self, listing: Listing) -> None:
        self._listing = listing

    def __repr__(self) -> str:
        names = [name for name in dir(self) if not name.startswith("_")]
        return f"<Inspect: {len(names)} tables, such as {', '.join(sorted(names)[:5])}>"

    def _segments(
        self, topics: Names, partitions: Partitions
    ) -> Iterator[tuple[DiskPartition, Segment]]:
        for partition in self._chosen(topics, partitions):
            for segment in partition.segments:
                yield partition, segment

    def _chosen(self, topics: Names, partitions: Partitions) -> list[DiskPartition]:
        """Return the requested partitions, with a warning about what is left out of them."""
        chosen = choose_partitions(self._listing, topics, partitions)
        for partition in chosen:
            for each in partition.unread:
                warn_left_out(each.path, each.found)
        return chosen

    def segments(self, topics: Names = None, partitions: Partitions = None) -> pa.Table:
        """Return one row per segment in use (`SegmentRow`), from names and sizes alone."""
        return segment_tables.segments(self._segments(topics, partitions))

    def remote_segments(self, topics: Names = None, partitions: Partitions = None) -> pa.Table:
        """Return one row per segment in the remote tier (`RemoteSegmentRow`).

        Of every state, deleted ones too; none if no tier was opened with the directories.
        """
        chosen = self._chosen(topics, partitions)
        return table_of(RemoteSegmentRow, chain.from_iterable(map(remote_segment_rows, chosen)))

    def batches(
        self,
        topics: Names = None,
        partitions: Partitions = None,
        *,
        workers: int | None = None,
    ) -> pa.Table:
        """Return one row per batch (`BatchRow`), from the headers alone.

        Args:
            topics: names.
            partitions: numbers or names.
            workers: threads that read segments side by side; None: one per core, at most 8.

        Raises:
            LookupError: a topic or partition does not exist.
            ValueError: ``workers`` is below 1.
        """
        found = self._segments(topics, partitions)
        return segment_tables.batches(found, worker_count(workers))

    def gaps(self, topics: Names = None, partitions: Partitions = None) -> pa.Table:
        """Return one row per run of offsets that no consumer gets, and why (`OffsetRunRow`).

        Compacted away, deleted, lost in damage, control records, …: see `Partition.fates`, which
        also has the records. Reads every batch.
        """
        from workbench.loaders.offsets.explanation import gap_rows

        return table_of(OffsetRunRow, gap_rows(self._chosen(topics, partitions)))

    def record_counts(self, topics: Names = None, partitions: Partitions = None) -> pa.Table:
        """Return one row per partition: how many records consumers get (`RecordCountRow`).

        Of both isolation levels, beside log end minus log start. From batch headers where these
        are exact; what they do not show, such as an invalid CRC, `findings` has.
        """

        def rows() -> Iterator[RecordCountRow]:
            for p in self._chosen(topics, partitions):
                try:
                    start, end, counts = p.log_start_offset, p.log_end_offset, count_records(p)
                except OSError as error:
                    warn_left_out(p.path, error)
                    continue
                end = max(start, end)
                yield RecordCountRow(p.topic, p.partition, start, end, end - start, *counts)

        return table_of(RecordCountRow, rows())

    def damaged_ranges(self, topics: Names = None, partitions: Partitions = None) -> pa.Table:
        """Return one row per range of offsets lost in damage (`DamagedRangeRow`).

        With how many records it had, and where a consumer can continue. Reads every batch.
        """
        from workbench.loaders.offsets.damage import damaged_ranges

        chosen = self._chosen(topics, partitions)
        return table_of(DamagedRangeRow, (row for p in chosen for row in damaged_ranges(p)))

    def offset_index(self, topics: Names = None, partitions: Partitions = None) -> pa.Table:
        """Return one row per entry of the `.index` files (`OffsetIndexRow`)."""
        return segment_tables.offset_index(self._segments(topics, partitions))

    def time_index(self, topics: Names = None, partitions: Partitions = None) -> pa.Table:
        """Return one row per entry of the `.timeindex` files (`TimeIndexRow`)."""
        return segment_tables.time_index(self._segments(topics, partitions))

    def aborted_transactions(self, topics: Names = None, partitions: Partitions = None) -> pa.Table:
        """Return one row per entry of the `.txnindex` files (`AbortedTransactionRow`)."""
        return segment_tables.aborted_transactions(self._segments(topics, partitions))

    def producers(
        self, topics: Names = None, partitions: Partitions = None, *, every: bool = False
    ) -> pa.Table:
        """Return one row per producer of the newest `.snapshot` (`ProducerRow`).

        Args:
            every: whether to read every snapshot, not only the newest of each partition.
        """

        def rows() -> Iterator[ProducerRow]:
            for p in self._chosen(topics, partitions):
                for entry in p.snapshots if every else p.snapshots[-1:]:
                    name = names.parse_file_name(entry.name)
                    assert name is not None
                    try:
                        snapshot = p.producer_snapshot(entry)
                    except OSError as error:
                        warn_left_out(entry.path, error)
                        continue
                    for producer in snapshot.entries:
                        yield ProducerRow(p.topic, p.partition, name.offset, *producer)

        return table_of(ProducerRow, rows())

    def checkpoints(self) -> pa.Table:
        """Return one row per entry of the four offset checkpoints (`CheckpointRow`)."""

        def rows() -> Iterator[CheckpointRow]:
            for root in self._listing.roots:
                for name in names.OFFSET_CHECKPOINTS:
                    try:
                        checkpoint = root.checkpoint(name)
                    except OSError as error:
                        warn_left_out(os.path.join(root.path, name), error)
                        continue
                    if checkpoint is not None:
                        for where, offset in checkpoint.offsets.items():
                            yield CheckpointRow(root.path, name, *where, offset)

        return table_of(CheckpointRow, rows())

    def leader_epochs(self, topics: Names = None, partitions: Partitions = None) -> pa.Table:
        """Return one row per entry of the leader epoch checkpoints (`LeaderEpochRow`)."""

        def rows() -> Iterator[LeaderEpochRow]:
            for p in self._chosen(topics, partitions):
                try:
                    epochs = p.leader_epochs
                except OSError as error:
                    warn_left_out(os.path.join(p.path, names.LEADER_EPOCHS), error)
                    continue
                for entry in () if epochs is None else epochs.entries:
                    yield LeaderEpochRow(p.topic, p.partition, entry.epoch, entry.start_offset)

        return table_of(LeaderEpochRow, rows())

    def cleaning(
        self,
        topics: Names = None,
        partitions: Partitions = None,
        *,
        config: Mapping[str, Any] | None = None,
        now: int | None = None,
        tries: bool = True,
        kafka: str | None = None,
    ) -> pa.Table:
        """Return one row per partition: how clean it is, whether it is due (`CleaningRow`).

        Compacted logs are loaded as a broker does, with every change kept in memory; rows of other
        logs only say that they are not compacted. See `Partition.explain_cleaning` for arguments.

        Args:
            tries: plan the cleaning of what is due, to see whether it would fail.
        """
        from workbench.loaders.tables.cleaning_table import cleaning_rows

        chosen = choose_partitions(self._listing, topics, partitions)
        rows = cleaning_rows(self._listing, chosen, config, now, tries=tries, kafka=kafka)
        return table_of(CleaningRow, rows)

    def keys(
        self, topics: Names = None, partitions: Partitions = None, *, limit: int | None = 100
    ) -> pa.Table:
        """Return one row per key (`KeyRow`), first those that compaction would shrink most.

        Reads every record. Transactions are ignored: `Partition.plan_cleaning` decides exactly
        which records are dropped.

        Args:
            limit: rows of each partition at most; None: all.
        """
        chosen = self._chosen(topics, partitions)
        tables = [key_table(partition, limit) for partition in chosen]
        return pa.concat_tables([schema_of(KeyRow).empty_table(), *tables])

    def groups(self, *, version: str | None = None) -> pa.Table:
        """Return one row per group of every kind (`GroupRow`), as a restarted broker has it.

        Loads all of `__consumer_offsets` that is in the directories.

        Args:
            version: the version of the loading broker, such as "2.8"; None: from the cluster's
                metadata and the records.

        Raises:
            ValueError: ``version`` is not a version.
        """
        from workbench.loaders.tables.coordinator_rows import group_rows

        return table_of(GroupRow, group_rows(self._coordinator(version)))

    def group_members(self, *, version: str | None = None) -> pa.Table:
        """Return one row per member of a group (`MemberRow`), from its last record.

        Args:
            version: see `groups`.

        Raises:
            ValueError: ``version`` is not a version.
        """
        from workbench.loaders.tables.coordinator_rows import member_rows

        return table_of(MemberRow, member_rows(self._coordinator(version)))

    def group_offsets(
        self,
        group: str | None = None,
        *,
        version: str | None = None,
        now: int | None = None,
        retention_ms: int | None = None,
    ) -> pa.Table:
        """Return one row per committed offset (`CommittedOffsetRow`), with its log.

        A partition that is assigned to a member, and for which nothing is committed, has a row
        without an offset. Offsets that a restarted broker would not return are included:
        ``unserved`` says why.

        Args:
            group: only of this group.
            version: see `groups`.
            now: ms; what has expired then is unserved. None: expiry removes nothing.
            retention_ms: `offsets.retention.minutes` in ms; None: the default of the version.

        Raises:
            LookupError: no record names the group.
            ValueError: ``version`` is not a version.
        """
        from workbench.loaders.tables.coordinator_rows import all_offset_rows

        coordinator = self._coordinator(version, now=now, retention_ms=retention_ms)
        found = table_of(CommittedOffsetRow, all_offset_rows(coordinator, group))
        return _of_a_group(found, coordinator, group)

    def commits(
        self, group: str | None = None, *, version: str | None = None, lag: bool = True
    ) -> pa.Table:
        """Return one row per commit or tombstone in the log (`CommitRow`), and its fate.

        The lag is that at the time of the commit, by the timestamps of the committed log.

        Args:
            group: only of this group.
            version: see `groups`.
            lag: read the batch headers of the committed logs around the commits, for the lag.

        Raises:
            LookupError: no record names the group.
            ValueError: ``version`` is not a version.
        """
        from workbench.coordinator.groups.commit_history import CommitHistory
        from workbench.coordinator.offsets.commit_lag import lags_of
        from workbench.loaders.tables.coordinator_rows import commit_rows

        history = CommitHistory(group)
        coordinator = self._coordinator(version)
        coordinator.observe(history, group)
        lags = lags_of(history.commits, coordinator.logs) if lag else None
        found = table_of(CommitRow, commit_rows(history.commits, lags))
        return _of_a_group(found, coordinator, group)

    def group_lags(
        self,
        *,
        now: int | None = None,
        window_ms: int = WINDOW_MS,
        version: str | None = None,
    ) -> pa.Table:
        """Return one row per offset or assigned partition (`GroupLagRow`): lag, time, verdict.

        Args:
            now: ms; the end of the window, and when records are aged and offsets expire. None: the
                newest commit, and nothing has expired, as in a broker that has just started.
            window_ms: the time before it, whose commits decide the verdict.
            version: see `groups`.

        Raises:
            ValueError: ``version`` is not a version.
        """
        from workbench.coordinator.offsets.group_lag import group_lags
        from workbench.tables.stuck import GroupLagRow

        coordinator = self._coordinator(version, now=now)
        return table_of(GroupLagRow, group_lags(coordinator, now, window_ms))

    def rebalances(self, group: str | None = None, *, version: str | None = None) -> pa.Table:
        """Return one row per change of a generation, epoch or assignment (`RebalanceRow`).

        Classic groups: one row per record of the group. Groups of KIP-848: one row per heartbeat
        that changed an epoch, a target or a current assignment. ``event`` is one of
        `coordinator.groups.rebalance_history.EVENTS`. Of what compaction has removed nothing is
        known, and then ``joined``, ``left`` or ``state`` is null.

        Args:
            group: only of this group.
            version: see `groups`.

        Raises:
            LookupError: no record names the group.
            ValueError: ``version`` is not a version.
        """
        from workbench.coordinator.groups.rebalance_history import RebalanceHistory

        coordinator = self._coordinator(version)
        history = RebalanceHistory(coordinator.logs.topic_names, group)
        coordinator.observe(history, group, each_commit=False)
        return _of_a_group(table_of(RebalanceRow, history.finish()), coordinator, group)

    def deliveries(self, group: str | None = None) -> pa.Table:
        """Return one row per change of records of a share group (`DeliveryRow`).

        ``event`` is one of `coordinator.groups.share_history.EVENTS`. Records that a group fetched
        and acknowledged at once are in one row with their neighbors. A coordinator writes snapshots
        and prunes its log: of what came before the first one, only the state is known.

        Args:
            group: only of this group.

        Raises:
            LookupError: no record names the group.
        """
        coordinator = self._coordinator(None)
        found = table_of(DeliveryRow, coordinator.share_deliveries(group))
        return _of_a_group(found, coordinator, group)

    def transactions(self) -> pa.Table:
        """Return one row per transactional id (`TransactionRow`), and what it blocks.

        Transactions that are open in a log, and that no transactional id waits for, follow with a
        null id. Loads `__transaction_state` and walks the batch headers of every log.
        """
        from workbench.coordinator.transactions.stored_transactions import (
            StoredTransactions,
        )
        from workbench.loaders.tables.coordinator_rows import transaction_rows

        return table_of(TransactionRow, transaction_rows(StoredTransactions(self._listing)))

    def open_producers(self, topics: Names = None, partitions: Partitions = None) -> pa.Table:
        """Return one row per transaction open in a log (`OpenProducerRow`): does it hang?"""
        from workbench.coordinator.transactions.stored_transactions import (
            StoredTransactions,
        )
        from workbench.loaders.tables.coordinator_rows import open_producer_row

        chosen = choose_partitions(self._listing, topics, partitions)
        opened = StoredTransactions(self._listing).open_producers(chosen)
        return table_of(OpenProducerRow, map(open_producer_row, opened))

    def transaction_markers(self, topics: Names = None, partitions: Partitions = None) -> pa.Table:
        """Return one row per transaction marker (`MarkerRow`), with its data.

        Where there is none, ``verdict`` and ``reason`` say why: it was compacted, deleted, never
        written, … Loads `__transaction_state`, walks the batch headers and reads the markers.
        """
        from workbench.coordinator.transactions.marker_data import marker_data
        from workbench.coordinator.transactions.stored_transactions import (
            StoredTransactions,
        )
        from workbench.loaders.tables.coordinator_rows import marker_row

        chosen = choose_partitions(self._listing, topics, partitions)
        markers = marker_data(StoredTransactions(self._listing), chosen)
        return table_of(MarkerRow, map(marker_row, markers))

    def coordinator_repairs(self, *, values: bool = False) -> pa.Table:
        """Return what must be written so that a broker serves on (`RepairRow`).

        One row per record of `__consumer_offsets` and `__transaction_state`, transaction marker and
        cleaning, in the order in which they are needed. Nothing is written. What damage has hidden
        shows in the table of the repaired copy: plan until it is empty.

        Args:
            values: whether the rows hold the bytes of keys and values.
        """
        from workbench.coordinator.repair.plan import plan_repairs
        from workbench.loaders.tables.coordinator_rows import repair_rows

        found = plan_repairs(self._listing)
        return table_of(RepairRow, repair_rows(found, values=values))

    def _coordinator(self, version: str | None, **options: Any) -> "StoredGroups":
        from workbench.coordinator.groups.stored_groups import StoredGroups
        from workbench.coordinator.runtime.era import era_of

        era = None if version is None else era_of(version)
        return StoredGroups(self._listing, era=era, **options)

    def disk_usage(self, topics: Names = None, partitions: Partitions = None) -> pa.Table:
        """Return the use of the bytes on the disk (`DiskUsageRow`), down to keys and values.

        Reads every record. The bytes of all rows are the sizes of all files, those in `-delete`,
        `-stray` and `-future` directories of the partitions included; of preallocated or sparse
        files the disk holds less, the occupied bytes.
        """
        rows: list[DiskUsageRow] = []
        is_whole = topics is None and partitions is None
        chosen = self._chosen(topics, partitions)
        logs = {(each.topic, each.partition) for each in chosen}
        for root in self._listing.roots:
            for partition in root.partitions:
                if is_whole or (partition.topic, partition.partition) in logs:
                    rows += usage_of_partition(partition)
            if is_whole:
                rows += usage_of_root(root)
        return table_of(DiskUsageRow, rows)

    def findings(
        self,
        topics: Names = None,
        partitions: Partitions = None,
        *,
        deep: bool = True,
        info: bool = False,
        workers: int | None = None,
    ) -> pa.Table:
        """Return one row per finding (`FindingRow`) of `LogDirectory.verify`.

        Args:
            topics: names; only their partitions are checked, and no other files.
            partitions: numbers or names; as ``topics``.
            deep: see `LogDirectory.verify`.
            info: see `LogDirectory.verify`.
            workers: see `LogDirectory.verify`.
        """
        found = chosen_findings(
            self._listing, topics, partitions, deep=deep, info=info, workers=workers
        )
        return finding_table(found)

    def files(self) -> pa.Table:
        """Return one row per file (`FileRow`), even those that no broker knows.

        ``by_hand`` says whether it may be deleted when the disk is full.
        """

        def rows() -> Iterator[FileRow]:
            for root in self._listing.roots:
                unknown = set(root.unknown)
                for f in root.files:
                    kind = "unknown" if f in unknown else f.name
                    sizes = f.size, f.occupied, f.modified_ms
                    yield FileRow(root.path, None, f.name, kind, *sizes, *by_hand(f, None, ()))
                for p in root.partitions:
                    swapped = swapped_in(p)
                    for f in p.files:
                        kind = file_kind(f, p)
                        sizes = f.size, f.occupied, f.modified_ms
                        advice = by_hand(f, p, swapped)
                        yield FileRow(root.path, p.name, f.name, kind, *sizes, *advice)

        return table_of(FileRow, rows())


def _of_a_group(found: pa.Table, coordinator: "StoredGroups", group: str | None) -> pa.Table:
    """Return the rows of a group.

    Raises:
        LookupError: there is no row, and no record in force names the group.
    """
    if group is not None and not found.num_rows and group not in coordinator.names:
        raise LookupError(f"no record of group {group!r}{coordinator.other_names(group)}")
    return found
