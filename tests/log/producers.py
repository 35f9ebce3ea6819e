"""A partition's producer state that a test fills batch by batch, as Kafka's own tests do."""

from pathlib import Path

from workbench.config.producer_state_config import ProducerStateConfig
from workbench.file_system.local import LOCAL
from workbench.files.names import TopicPartition, file_name
from workbench.log.append.append_origin import AppendOrigin
from workbench.log.fetch import LogOffsetMetadata
from workbench.log.producers.batches import ProducerBatch, TransactionMarker
from workbench.log.producers.producer import CompletedTransaction, ProducerAppendInfo
from workbench.log.producers.state import ProducerStateManager
from workbench.runtime.clock import ManualClock
from workbench.runtime.steps import Observer

NOW = 1_700_000_000_000
EXPIRATION = 86_400_000  # ms
TIMEOUT = 900_000  # ms
LAST_SEQUENCE = 2**31 - 1
PARTITION = TopicPartition("test", 0)

CLIENT = AppendOrigin.CLIENT
COORDINATOR = AppendOrigin.COORDINATOR
REPLICATION = AppendOrigin.REPLICATION


def batch(
    producer_id: int,
    epoch: int,
    sequence: int,
    offset: int,
    *,
    count: int = 1,
    timestamp: int = NOW,
    transactional: bool = False,
    control: bool = False,
) -> ProducerBatch:
    """Return what a row says of a batch; ``sequence`` and ``offset`` are its first."""
    last = -1 if sequence == -1 else (sequence + count - 1) % 2**31
    return ProducerBatch(
        row=0,
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        last_sequence=last,
        base_offset=offset,
        last_offset=offset + count - 1,
        max_timestamp=timestamp,
        record_count=count,
        is_transactional=transactional,
        is_control=control,
    )


class Producers:
    """A `ProducerStateManager` in a folder, with appends in one call."""

    def __init__(self, folder: Path, observer: Observer | None = None) -> None:
        self.folder = folder
        self.clock = ManualClock(NOW)
        self.config = ProducerStateConfig(TIMEOUT, EXPIRATION)
        self.manager = self.reopened(observer)

    def reopened(self, observer: Observer | None = None) -> ProducerStateManager:
        """Return another manager of the same folder; it has loaded nothing yet."""
        return ProducerStateManager(
            PARTITION, str(self.folder), LOCAL, self.config, self.clock, observer
        )

    @property
    def snapshots(self) -> list[int]:
        """Offsets of the snapshot files in the folder, ascending."""
        return sorted(int(path.stem) for path in self.folder.glob("*.snapshot"))

    def path(self, offset: int) -> Path:
        """Return the path of a snapshot."""
        return self.folder / file_name("snapshot", offset)

    def append(
        self,
        producer_id: int,
        epoch: int,
        sequence: int,
        offset: int,
        *,
        count: int = 1,
        timestamp: int = NOW,
        transactional: bool = False,
        origin: AppendOrigin = CLIENT,
        manager: ProducerStateManager | None = None,
    ) -> ProducerAppendInfo:
        """Append one batch; nothing is changed if it is refused."""
        manager = manager or self.manager
        append = manager.prepare_update(producer_id, origin)
        append.append(
            batch(
                producer_id,
                epoch,
                sequence,
                offset,
                count=count,
                timestamp=timestamp,
                transactional=transactional,
            ),
            first_offset=LogOffsetMetadata(offset),
        )
        manager.update(append)
        manager.update_map_end_offset(offset + count)
        return append

    def end(
        self,
        producer_id: int,
        epoch: int,
        offset: int,
        *,
        abort: bool = False,
        coordinator_epoch: int = 0,
        timestamp: int = NOW,
        version: int | None = 0,
        origin: AppendOrigin = COORDINATOR,
        manager: ProducerStateManager | None = None,
    ) -> tuple[CompletedTransaction, int] | None:
        """Append a marker; return the transaction it ends and the last stable offset then."""
        manager = manager or self.manager
        append = manager.prepare_update(producer_id, origin)
        marker = TransactionMarker(abort, coordinator_epoch, timestamp)
        completed = append.end_transaction(marker, epoch, offset, version)
        manager.update(append)
        stable = None
        if completed is not None:
            stable = (completed, manager.last_stable_offset(completed))
            manager.complete_transaction(completed)
        manager.update_map_end_offset(offset + 1)
        return stable
