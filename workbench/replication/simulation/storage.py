"""Where a simulated broker keeps its log: in real files, or in a light log for searches."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, Self

from workbench.decoders.consumer_offsets import decode_key, decode_value
from workbench.file_system.dry import DryFileSystem
from workbench.file_system.local import LOCAL, FileSystem
from workbench.files.names import TopicPartition
from workbench.log.log import Log
from workbench.log_manager.manager import LogManager
from workbench.record.memory_records import MemoryRecords
from workbench.replication.replica_log import ReplicaLog
from workbench.replication.simulation.light_log import LightLog
from workbench.runtime.clock import ManualClock
from workbench.runtime.scheduler import ManualScheduler
from workbench.runtime.steps import Observer


class StoredRecord(NamedTuple):
    """One record of a replica.

    Attributes:
        offset: its offset.
        epoch: the leader epoch of its batch; -1: none.
        value: its value as text.
    """

    offset: int
    epoch: int
    value: str


class Storage(ABC):
    """The log of one partition at one broker, over its lives.

    Attributes:
        checkpointed: the high watermark that was written last; 0: none.
    """

    checkpointed = 0

    @abstractmethod
    def start(self) -> None:
        """Open what is stored."""

    @abstractmethod
    def log(self, partition: TopicPartition) -> ReplicaLog:
        """Return the partition's log, with its checkpointed high watermark."""

    @abstractmethod
    def checkpoint(self) -> None:
        """Write the high watermark to the checkpoint."""

    @abstractmethod
    def stop(self) -> None:
        """Close cleanly."""

    @abstractmethod
    def kill(self, lose: int = 0) -> None:
        """Stop as a killed process, and lose the last ``lose`` records with the page cache."""

    @abstractmethod
    def records_of(self, value: str) -> Any:
        """Return a batch with one record to append."""

    @abstractmethod
    def records(self, log: ReplicaLog) -> list[StoredRecord]:
        """Return all records of a log."""


class LightStorage(Storage):
    """A light log that outlives crashes."""

    def __init__(self, *, keeps_epochs: bool) -> None:
        self.stored = LightLog(keeps_epochs=keeps_epochs)
        self.checkpointed = 0

    def copy(self) -> Self:
        """Return the same stored log."""
        other = type(self).__new__(type(self))
        other.stored = self.stored.copy()
        other.checkpointed = self.checkpointed
        return other

    def start(self) -> None:
        """Forget the epochs without records, as a load does.

        Kafka: LogLoader.load (4.2)
        """
        self.stored.leader_epochs.truncate_from_end(self.stored.log_end_offset)

    def log(self, partition: TopicPartition) -> ReplicaLog:  # noqa: ARG002
        """Return the log, with its checkpointed high watermark."""
        self.stored.update_high_watermark(self.checkpointed)
        return self.stored

    def checkpoint(self) -> None:
        """Remember the high watermark."""
        self.checkpointed = self.stored.high_watermark

    def stop(self) -> None:
        """Remember the high watermark."""
        self.checkpoint()

    def kill(self, lose: int = 0) -> None:
        """Lose the last records."""
        if lose:
            self.stored.truncate_to(max(0, self.stored.log_end_offset - lose))

    def records_of(self, value: str) -> Any:
        """Return what `LightLog.append_as_leader` takes."""
        return (value,)

    def records(self, log: ReplicaLog) -> list[StoredRecord]:
        """Return all records of a log."""
        assert isinstance(log, LightLog)
        return [
            StoredRecord(offset, epoch, value)
            for offset, (epoch, value) in enumerate(log.content, log.log_start_offset)
        ]


class EngineStorage(Storage):
    """A broker's log directory under a `LogManager`.

    Args:
        directory: path of the log directory.
        node_id: the broker's id.
        cluster_id: the cluster's id.
        clock: the cluster's clock.
        topic_configs: topic → its configuration.
        in_memory: whether no file is written.
        observer: receives the steps of the logs.
    """

    def __init__(
        self,
        directory: str,
        node_id: int,
        cluster_id: str,
        clock: ManualClock,
        topic_configs: Mapping[str, Mapping[str, Any]],
        *,
        in_memory: bool,
        observer: Observer | None = None,
    ) -> None:
        self.directory = directory
        self._identity = (node_id, cluster_id)
        self._clock = clock
        self._topic_configs = topic_configs
        self._fs: FileSystem = DryFileSystem(now=clock.now) if in_memory else LOCAL
        self._observer = observer
        self._decoded: dict[_Batch, tuple[StoredRecord, ...]] = {}
        self._manager: LogManager | None = None
        self._scheduler: ManualScheduler | None = None

    @property
    def manager(self) -> LogManager:
        """The log manager of the broker that runs."""
        assert self._manager is not None, "the broker does not run"
        return self._manager

    def start(self) -> None:
        """Load the directory."""
        node_id, cluster_id = self._identity
        self._scheduler = ManualScheduler(self._clock)
        self._manager = LogManager(
            [self.directory],
            {"log.cleaner.enable": False},
            fs=self._fs,
            clock=self._clock,
            scheduler=self._scheduler,
            node_id=node_id,
            cluster_id=cluster_id,
            topic_configs=self._topic_configs,
            observer=self._observer,
            commits_appends=False,
        )
        self._manager.startup(with_tasks=False)

    def log(self, partition: TopicPartition) -> Log:
        """Return the log, created if there is none."""
        return self.manager.get_or_create_log(partition)

    def checkpoint(self) -> None:
        """Write `replication-offset-checkpoint`."""
        self.manager.checkpoint_high_watermarks()
        self._remember()

    def _remember(self) -> None:
        for log in self.manager.logs.values():
            self.checkpointed = log.high_watermark

    def stop(self) -> None:
        """Close cleanly."""
        self._remember()
        self.manager.shutdown()
        self._end()

    def kill(self, lose: int = 0) -> None:
        """Stop without a flush; remove the last records from the files."""
        cuts = [_cut(log, lose) for log in self.manager.logs.values()] if lose else []
        self.manager.halt()
        self._end()
        for path, size in cuts:
            file = self._fs.open(path)
            file.truncate(size)
            file.close()

    def _end(self) -> None:
        if self._scheduler is not None:
            self._scheduler.shutdown()
            self._clock.listeners.remove(self._scheduler.run_due)
        self._manager = self._scheduler = None

    def records_of(self, value: str) -> MemoryRecords:
        """Return a batch of one record without a key."""
        return MemoryRecords.of((None, value.encode()), timestamp=self._clock.now())

    def records(self, log: ReplicaLog) -> list[StoredRecord]:
        """Return all records of a log.

        Batches that were decoded before are known by offset, epoch and CRC.
        """
        found: list[StoredRecord] = []
        decoded: dict[_Batch, tuple[StoredRecord, ...]] = {}
        offset = log.log_start_offset
        while offset < log.log_end_offset:
            batches: MemoryRecords = log.read(offset).records
            rows = batches.batches().rows
            for base, epoch, crc, position, size in zip(
                *(rows[name].tolist() for name in _BATCH), strict=True
            ):
                key = (base, epoch, crc)
                records = self._decoded.get(key)
                if records is None:
                    records = _decode(batches.part(position, position + size), epoch)
                decoded[key] = records
                found += records
            offset = int(rows["last_offset"][-1]) + 1
        self._decoded = decoded
        return found


_Batch = tuple[int, int, int]
_BATCH: Final = ("base_offset", "partition_leader_epoch", "crc", "position", "size")


def _decode(batch: MemoryRecords, epoch: int) -> tuple[StoredRecord, ...]:
    return tuple(
        StoredRecord(record.offset, epoch, _text_of(record.key, record.value))
        for record in batch.records()
    )


def _text_of(key: bytes | None, value: bytes | None) -> str:
    """Return a record's value as text; an offset commit, which has a key, as its group says it."""
    if key is None:
        return bytes(value or b"").decode(errors="replace")
    where = decode_key(key)["data"]
    text = f"{where['group']} {where['topic']}-{where['partition']}"
    if value is None:
        return f"{text} deleted"
    return f"{text}={decode_value(key, value)['data']['offset']}"


def _cut(log: Log, lose: int) -> tuple[str, int]:
    """Return the file and the size that a log has without its last batches."""
    offset = max(log.log_start_offset, log.log_end_offset - lose)
    found = log.read(offset)
    at = found.offset_metadata
    segment = next(s for s in log.segments if s.base_offset == at.segment_base_offset)
    return segment.log.path, at.position
