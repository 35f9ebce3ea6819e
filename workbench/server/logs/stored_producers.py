"""The producers of a partition: its newest sound snapshot, and the sound batches after it.

Kafka: UnifiedLog.rebuildProducerState, ProducerStateManager.loadFromSnapshot (4.2)
"""

from workbench.errors import WorkbenchError
from workbench.files import names
from workbench.files.names import TopicPartition
from workbench.files.producer_snapshot import ProducerEntry
from workbench.inspection.findings import Finding
from workbench.inspection.partition import DiskPartition
from workbench.inspection.unreadable import unreadable
from workbench.layout.integers import INT64_MAX
from workbench.log.append.append_origin import AppendOrigin
from workbench.log.producers.batches import ProducerBatch, TransactionMarker, producer_batches
from workbench.log.producers.producer import ProducerAppendInfo, ProducerStateEntry
from workbench.log.producers.snapshots import FIRST_BUCKETS, LOAD_FACTOR, in_hash_order
from workbench.record.buffers import thread_pool
from workbench.server.logs.log_read import SoundBatches, sound_batches


class StoredProducers:
    """Reads the producers of a partition.

    None of them expires: a broker that opens the directory later forgets those that wrote nothing
    for a day. A log without any snapshot is read from its start, even after a clean shutdown.

    Args:
        partition: the partition.
        end_offset: the end of what is served; snapshots beyond it are not used.

    Attributes:
        entries: by producer id.
        findings: what could not be read.
    """

    def __init__(self, partition: DiskPartition, end_offset: int) -> None:
        self._where = TopicPartition(partition.topic, partition.partition)
        self._buckets = FIRST_BUCKETS
        self.entries: dict[int, ProducerStateEntry] = {}
        self.findings: list[Finding] = []
        start = max(self._load_snapshot(partition, end_offset), partition.log_start_offset)
        bases = [*(segment.base_offset for segment in partition.segments), INT64_MAX]
        for segment, following in zip(partition.segments, bases[1:], strict=True):
            if following <= start:
                continue
            try:
                at = segment.position_of(start) if start > segment.base_offset else 0
                offsets = (max(start, segment.base_offset), following)
                for found in sound_batches(segment, at, offsets, thread_pool()):
                    self._apply(found)
            except OSError as error:
                self.findings += unreadable(segment.path, error)

    def in_order(self) -> list[ProducerEntry]:
        """Return the entries in the order of a broker's map."""
        return [each.stored() for each in in_hash_order(self.entries.values(), self._buckets)]

    def _load_snapshot(self, partition: DiskPartition, end_offset: int) -> int:
        """Load the newest sound snapshot; return the offset that it reaches up to, or 0."""
        for entry in reversed(partition.snapshots):
            name = names.parse_file_name(entry.name)
            if name is None or name.offset > end_offset:
                continue
            try:
                snapshot = partition.producer_snapshot(entry)
            except OSError as error:
                self.findings += unreadable(entry.path, error)
                continue
            if not snapshot.problems:
                for stored in snapshot.entries:
                    self._add(ProducerStateEntry.of(stored))
                return name.offset
        return 0

    def _add(self, entry: ProducerStateEntry) -> None:
        self.entries[entry.producer_id] = entry
        if len(self.entries) > self._buckets * LOAD_FACTOR:
            self._buckets *= 2

    def _apply(self, found: SoundBatches) -> None:
        for batch in producer_batches(found.rows):
            row = found.rows[batch.row]
            begin = int(row["position"]) - found.window.position
            try:
                marker = None
                if batch.is_control and batch.record_count > 0:
                    data = found.window.data[begin : begin + int(row["size"])]
                    marker = TransactionMarker.read(data)
                self._apply_batch(batch, marker)
            except WorkbenchError:
                continue  # a broker's load would fail here; the other producers are known

    def _apply_batch(self, batch: ProducerBatch, marker: TransactionMarker | None) -> None:
        known = self.entries.get(batch.producer_id)
        append = ProducerAppendInfo(
            self._where,
            known or ProducerStateEntry(batch.producer_id),
            AppendOrigin.REPLICATION,
        )
        append.append(batch, marker)
        if known is None:
            self._add(append.updated)
        else:
            known.update(append.updated)
