"""A log that a test opens, fills and opens again, with a clock that does not move."""

from pathlib import Path
from random import Random
from typing import Any

from workbench.config.log_config import LogConfig
from workbench.config.producer_state_config import ProducerStateConfig
from workbench.file_system.local import LOCAL, FileSystem
from workbench.log.append.append_info import LogAppendInfo
from workbench.log.append.append_origin import AppendOrigin
from workbench.log.fetch import FetchData
from workbench.log.log import Log
from workbench.record.memory_records import MemoryRecords
from workbench.record.writing.builder import end_transaction_marker
from workbench.runtime.clock import ManualClock
from workbench.runtime.failures import LogDirFailures
from workbench.runtime.scheduler import ManualScheduler
from workbench.runtime.steps import Step

NOW = 1_700_000_000_000
EXPIRATION = 86_400_000  # producer.id.expiration.ms

COORDINATOR = AppendOrigin.COORDINATOR


class LogHome:
    """The folder of one log, and what it is opened with.

    Args:
        root: the log directory.
        settings: the topic's.
        fs: what is written through.
        name: the folder's.
    """

    def __init__(
        self,
        root: Path,
        settings: dict[str, Any] | None = None,
        *,
        fs: FileSystem = LOCAL,
        name: str = "orders-0",
    ) -> None:
        self.root = root
        self.path = root / name
        self.fs = fs
        self.config = LogConfig.of(settings or {})
        self.clock = ManualClock(NOW)
        self.scheduler = ManualScheduler(self.clock)
        self.failures = LogDirFailures()
        self.steps: list[Step] = []

    def open(
        self,
        *,
        clean: bool = True,
        log_start_offset: int = 0,
        recovery_point: int = 0,
        settings: dict[str, Any] | None = None,
    ) -> Log:
        """Open the log, made if it is not there."""
        if settings is not None:
            self.config = LogConfig.of(settings)
        return Log.open(
            str(self.path),
            self.config,
            log_start_offset=log_start_offset,
            recovery_point=recovery_point,
            had_clean_shutdown=clean,
            fs=self.fs,
            clock=self.clock,
            scheduler=self.scheduler,
            failures=self.failures,
            producer_config=ProducerStateConfig(producer_id_expiration_ms=EXPIRATION),
            rng=Random(1),
            observer=self.steps.append,
        )

    def reopen(self, log: Log, **options: Any) -> Log:
        """Close a log and open it again."""
        log.close()
        return self.open(recovery_point=log.recovery_point, **options)

    def told(self, kind: str) -> list[Step]:
        """Return the steps of a kind."""
        return [step for step in self.steps if step.kind == kind]

    @property
    def names(self) -> list[str]:
        """What is in the folder, sorted."""
        return sorted(path.name for path in self.path.iterdir())

    def names_of(self, ending: str) -> list[str]:
        """Return the names that end like this, sorted."""
        return [name for name in self.names if name.endswith(ending)]

    @property
    def snapshots(self) -> list[int]:
        """What the producer snapshots in the folder reach up to."""
        return [int(name[:20]) for name in self.names_of(".snapshot")]


def values(
    count: int = 1, *, timestamp: int = NOW, value: bytes = b"value", **options: Any
) -> MemoryRecords:
    """Return a batch as a client sends it: its offsets begin with 0."""
    records = [(timestamp, b"k%d" % number, value) for number in range(count)]
    return MemoryRecords.of(*records, **options)


def sent_by(
    producer: int,
    sequence: int,
    count: int = 1,
    *,
    epoch: int = 0,
    transactional: bool = False,
    **options: Any,
) -> MemoryRecords:
    """Return a batch of an idempotent or transactional producer."""
    return values(
        count,
        producer_id=producer,
        producer_epoch=epoch,
        base_sequence=sequence,
        is_transactional=transactional,
        **options,
    )


def in_transaction(producer: int, sequence: int, count: int = 1, **options: Any) -> MemoryRecords:
    """Return a batch of a transaction."""
    return sent_by(producer, sequence, count, transactional=True, **options)


def end_transaction(
    log: Log,
    producer: int,
    *,
    commit: bool,
    epoch: int = 0,
    coordinator_epoch: int = 0,
    timestamp: int = NOW,
) -> LogAppendInfo:
    """Append the marker that ends a transaction."""
    marker = end_transaction_marker(
        0, timestamp, producer, epoch, commit=commit, coordinator_epoch=coordinator_epoch
    )
    return log.append_as_leader(marker, origin=COORDINATOR)


def offsets(fetched: FetchData) -> list[int]:
    """Return the offsets of the records that were read."""
    return [record.offset for record in fetched.records.records()]


def every_offset(log: Log) -> list[int]:
    """Return the offsets of all records of a log, read one fetch after the other."""
    found: list[int] = []
    position = log.log_start_offset
    while position < log.log_end_offset:
        fetched = offsets(log.read(position, 1 << 20))
        if not fetched:
            break
        found += [offset for offset in fetched if offset >= position]
        position = fetched[-1] + 1
    return found


def bases(log: Log) -> list[int]:
    """Return the base offsets of the segments."""
    return [segment.base_offset for segment in log.segments]
