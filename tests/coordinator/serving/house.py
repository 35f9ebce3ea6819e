"""A log manager with a transaction coordinator, on a clock that is moved by hand."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from workbench.coordinator.transaction_coordinator.config import TransactionConfig
from workbench.coordinator.transaction_coordinator.markers import CompletesOffsets
from workbench.coordinator.transaction_coordinator.producer_ids import RequestBlock, blocks_from
from workbench.coordinator.transaction_coordinator.request_checks import ProducerIdAndEpoch
from workbench.coordinator.transaction_coordinator.transaction_coordinator import (
    TransactionCoordinator,
)
from workbench.coordinator.transactions.states import TransactionState, TransactionVersion
from workbench.coordinator.transactions.transaction_metadata import TransactionMetadata
from workbench.file_system.local import LOCAL, FileSystem
from workbench.files.names import TopicPartition
from workbench.log.log import Log
from workbench.log_manager.manager import LogManager
from workbench.record.memory_records import MemoryRecords
from workbench.runtime.clock import ManualClock
from workbench.runtime.error_codes import ErrorCode
from workbench.runtime.scheduler import ManualScheduler, Task
from workbench.runtime.steps import Step

NOW = 1_700_000_000_000
ORDERS = TopicPartition("orders", 0)
PAYMENTS = TopicPartition("payments", 1)


class UnreliableManager(LogManager):
    """A log manager some of whose logs are away for a while, as if their directory was offline."""

    away: frozenset[TopicPartition] = frozenset()

    def get_log(
        self, partition: Any, number: int | None = None, *, is_future: bool = False
    ) -> Log | None:
        """Return a log; None while it is away."""
        found = super().get_log(partition, number, is_future=is_future)
        return None if found is None or found.topic_partition in self.away else found

    @property
    def offline_directories(self) -> list[str]:
        """Directories that might have what is not here."""
        return ["/offline"] if self.away else super().offline_directories


class Held:
    """A scheduler whose tasks without delay wait until `run`: between an answer and its markers."""

    def __init__(self, clock: ManualClock) -> None:
        self._scheduler = ManualScheduler(clock)

    def schedule(
        self, name: str, task: Any, delay_ms: int = 0, period_ms: int | None = None
    ) -> Task:
        """Queue a task; see `Scheduler`."""
        return self._scheduler.schedule(name, task, max(delay_ms, 1), period_ms)

    def run(self) -> None:
        """Run what was scheduled without delay; the clock moves by 1 ms for each round."""
        self._scheduler.clock.advance(1)

    def shutdown(self) -> None:
        """Forget all tasks."""
        self._scheduler.shutdown()


class TransactionHouse:
    """One broker: log manager, coordinator, and what they reported.

    Args:
        root: the log directory.
        version: the cluster's transaction version.
        holds: whether markers and loads wait for `run`.
        tasks: whether the periodic tasks run.
        partitions: of `__transaction_state`.
        config: other configurations of the coordinator.
    """

    def __init__(
        self,
        root: Path,
        version: int = 2,
        *,
        holds: bool = False,
        tasks: bool = False,
        partitions: int = 1,
        fs: FileSystem = LOCAL,
        request_block: RequestBlock | None = None,
        epoch: int | None = None,
        now: int = NOW,
        offsets: CompletesOffsets | None = None,
        **config: Any,
    ) -> None:
        self.version = TransactionVersion(version)
        self.clock = ManualClock(now)
        self.scheduler = ManualScheduler(self.clock)
        self.held = Held(self.clock) if holds else None
        self.steps: list[Step] = []
        self.manager = UnreliableManager(
            [root], {"log.cleaner.enable": False}, fs=fs, clock=self.clock, scheduler=self.scheduler
        )
        self.manager.startup(with_tasks=False)
        self.coordinator = TransactionCoordinator(
            self.manager,
            TransactionConfig(
                num_partitions=partitions, transaction_version=self.version, **config
            ),
            clock=self.clock,
            scheduler=self.held or self.scheduler,
            request_block=request_block or blocks_from(4000),
            offsets=offsets,
            observer=self.steps.append,
        )
        self.coordinator.startup(with_tasks=tasks)
        for number in range(partitions):
            self.coordinator.on_election(number, epoch)
        self.run()

    def run(self) -> None:
        """Let loads and markers happen."""
        if self.held is not None:
            self.held.run()

    def stop(self) -> None:
        """Shut down cleanly."""
        self.coordinator.shutdown()
        self.manager.shutdown()

    def log(self, where: TopicPartition = ORDERS) -> Log:
        """Return a partition's log."""
        return self.manager.get_or_create_log(where)

    def limit(self, size: int) -> None:
        """Let the log of states take batches up to a size in bytes."""
        config = {"cleanup.policy": "compact", "max.message.bytes": size}
        self.manager.update_topic_config("__transaction_state", config)

    def init(self, name: str = "tx", **options: Any) -> ProducerIdAndEpoch:
        """Initialize a producer, which must be answered."""
        found = self.coordinator.init_producer_id(name, **options)
        assert found.error is ErrorCode.NONE
        return found

    def add(
        self,
        producer: ProducerIdAndEpoch,
        *where: TopicPartition,
        name: str = "tx",
        client: int = 2,
    ) -> ErrorCode:
        """Add partitions, orders-0 if none is named, to a producer's transaction."""
        return self.coordinator.add_partitions_to_transaction(
            name, *producer[:2], where or (ORDERS,), TransactionVersion(client)
        )

    def produce(
        self,
        producer: ProducerIdAndEpoch,
        *values: bytes,
        where: TopicPartition = ORDERS,
        sequence: int = 0,
    ) -> None:
        """Append a transactional batch."""
        records = MemoryRecords.of(
            *((self.clock.now(), None, value) for value in values),
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            base_sequence=sequence,
            is_transactional=True,
        )
        self.log(where).append_as_leader(records)

    def end(
        self,
        producer: ProducerIdAndEpoch,
        *,
        commit: bool = True,
        name: str = "tx",
        client: int = 2,
    ) -> ProducerIdAndEpoch:
        """End a producer's transaction."""
        return self.coordinator.end_transaction(
            name, *producer[:2], commit=commit, client_version=TransactionVersion(client)
        )

    def state(self, name: str = "tx") -> TransactionMetadata:
        """Return the state that the coordinator serves."""
        found = self.coordinator.states.get(name)
        assert found is not None
        return found.metadata

    def status(self, name: str = "tx") -> TransactionState:
        """Return the name of the state."""
        return self.state(name).state

    def committed(self, where: TopicPartition = ORDERS) -> list[bytes | None]:
        """Return the values that a read_committed consumer gets."""
        return read_committed(self.log(where))


def read_committed(log: Log) -> list[bytes | None]:
    """Return the values that a read_committed consumer gets: it skips aborted batches itself."""
    fetched = log.read(log.log_start_offset, 1 << 20, "read_committed")
    if fetched.source is None:
        return []
    aborted = sorted(fetched.aborted_transactions or (), key=lambda each: each.first_offset)
    batches = fetched.records
    open_aborts: set[int] = set()
    values: list[bytes | None] = []
    for row in batches.batches().rows:
        while aborted and aborted[0].first_offset <= row["base_offset"]:
            open_aborts.add(aborted.pop(0).producer_id)
        start = int(row["position"])
        batch = MemoryRecords(batches.buffer[start : start + int(row["size"])])
        if row["is_control"]:
            open_aborts.discard(int(row["producer_id"]))
        elif int(row["producer_id"]) not in open_aborts:
            values += [record.value for record in batch.records()]
    return values


def kinds(steps: Sequence[Step]) -> list[str]:
    """Return the kinds of steps."""
    return [step.kind for step in steps]
