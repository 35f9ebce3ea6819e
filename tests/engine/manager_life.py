"""The recorded life of a log manager with two directories, and what must be left after a crash."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

from tests.engine.file_systems import RecordingFileSystem
from tests.engine.soundness import StoredBatch, all_batches
from workbench.errors import StorageError
from workbench.file_system.local import LOCAL, FileSystem
from workbench.files.names import TopicPartition
from workbench.log.log import Log
from workbench.log_manager.manager import LogManager
from workbench.record.memory_records import MemoryRecords
from workbench.runtime.clock import ManualClock
from workbench.runtime.scheduler import ManualScheduler

NOW = 1_700_000_000_000
BROKER = {
    "num.recovery.threads.per.data.dir": 1,
    "log.initial.task.delay.ms": 1000,
    "log.retention.check.interval.ms": 20_000,
    "log.flush.offset.checkpoint.interval.ms": 5000,
    "log.flush.start.offset.checkpoint.interval.ms": 7000,
    "log.flush.scheduler.interval.ms": 3000,
    "log.flush.interval.ms": 2500,
    "log.index.size.max.bytes": 96,
}
TOPIC = {
    "segment.bytes": 400,
    "index.interval.bytes": 150,
    "file.delete.delay.ms": 4000,
    "retention.ms": 60_000,
}
TOPICS = {"orders": TOPIC, "users": TOPIC}
USERS_ID = UUID(int=7 << 64 | 9)

Durable = dict[TopicPartition, dict[int, StoredBatch]]


def manager_of(
    root: Path, fs: FileSystem = LOCAL, clock: ManualClock | None = None, now: int = NOW
) -> LogManager:
    """Return a manager of the two directories below a folder."""
    clock = ManualClock(now) if clock is None else clock
    return LogManager(
        [root / "a", root / "b"],
        BROKER,
        fs=fs,
        clock=clock,
        scheduler=ManualScheduler(clock),
        rng=Random(1),
        topic_configs=TOPICS,
        node_id=1,
        cluster_id="workbench",
    )


class ManagerLife:
    """A manager's life: steps, after each of which the recording is marked with what is flushed.

    Attributes:
        root: holds the directories `a` and `b`.
        fs: the recording.
        manager: the manager, started by `start`.
        written: partition → first offset → every batch that was there at any time.
    """

    def __init__(self, root: Path, fs: RecordingFileSystem | None = None) -> None:
        root.mkdir(parents=True, exist_ok=True)
        self.root = root
        self.fs = RecordingFileSystem(root) if fs is None else fs
        self.clock = ManualClock(NOW)
        self.manager = manager_of(root, self.fs, self.clock)
        self.written: dict[TopicPartition, dict[int, set[StoredBatch]]] = {}
        self._count = 0
        self._expected: Durable = {}

    def durable(self) -> Durable:
        """Return the batches of each log that are on the disk for good; note all as written."""
        found: Durable = {}
        for partition, log in self.manager.logs.items():
            batches = all_batches(log)
            for batch in batches:
                known = self.written.setdefault(partition, {})
                known.setdefault(batch.first_offset, set()).add(batch)
            found[partition] = {
                batch.first_offset: batch
                for batch in batches
                if log.log_start_offset <= batch.last_offset < log.recovery_point
            }
        return found

    @contextmanager
    def step(self) -> Iterator[None]:
        """Mark what a step leaves, from its beginning on, and what it brings."""
        start = len(self.fs.operations)
        yield
        after = self.durable()
        kept: Durable = {
            partition: {
                offset: batch
                for offset, batch in batches.items()
                if after.get(partition, {}).get(offset) == batch
            }
            for partition, batches in self._expected.items()
        }
        self.fs.marks.append((start, kept))
        self._expected = after
        self.fs.mark(after)

    def do(self, action: Callable[[], Any]) -> None:
        """Take a step; one that a failed directory refuses is left out."""
        with self.step(), suppress(StorageError):
            action()

    def start(self) -> None:
        """Start the manager."""
        with self.step():
            self.manager.startup()

    def create(self, *names: str) -> None:
        """Make logs."""
        for name in names:
            topic_id = USERS_ID if name.startswith("users") else None
            self.do(lambda n=name, i=topic_id: self.manager.get_or_create_log(n, topic_id=i))  # type: ignore[misc]

    def append(self, name: str, count: int = 2) -> None:
        """Append a batch that no other log has, to a log that is not offline."""
        self.clock.advance(10)
        self._count += 1
        records = [(b"%d-%d" % (self._count, n), b"v" * 20) for n in range(count)]
        batch = MemoryRecords.of(*records, timestamp=self.clock.now())
        log = self.manager.get_log(name)
        if log is not None:
            self.do(lambda: log.append_as_leader(batch))
            self.do(lambda: log.update_high_watermark(log.log_end_offset))

    def flush(self, name: str) -> None:
        """Flush a log that is not offline."""
        log = self.manager.get_log(name)
        if log is not None:
            self.do(log.flush)

    def delete_records(self, name: str, offset: int) -> None:
        """Raise the start of a log that is not offline."""
        log = self.manager.get_log(name)
        if log is not None:
            self.do(lambda: log.delete_records(offset))

    def wait(self, ms: int) -> None:
        """Let time pass: the periodic tasks run."""
        for _ in range(ms // 1000):
            self.do(lambda: self.clock.advance(1000))

    def move(self, name: str, directory: str) -> None:
        """Move a log to the other directory, as a replica's fetcher does it."""
        log = self.manager.get_log(name)
        if log is None or log.parent_directory == str(self.root / directory):
            return
        self.manager.prefer_directory(name, self.root / directory)
        self.do(lambda: self.manager.get_or_create_log(name, is_future=True))
        future = self.manager.get_log(name, is_future=True)
        if future is None:
            return
        self.do(lambda: copy(log, future))
        if future.log_end_offset == log.log_end_offset:
            self.do(lambda: self.manager.replace_current_with_future_log(name))

    def stop(self) -> None:
        """Shut the manager down."""
        with self.step():
            self.manager.shutdown()


def copy(source: Log, target: Log) -> None:
    """Copy what a log has to a future one."""
    if source.log_start_offset > target.log_end_offset:
        target.truncate_fully_and_start_at(source.log_start_offset)
    while target.log_end_offset < source.log_end_offset:
        records = source.read(target.log_end_offset, 300).records
        target.append_as_follower(MemoryRecords.copy_of(bytes(records)))


def live(life: ManagerLife) -> None:
    """Do what a broker does in a day: create, write, retain, delete, move, truncate, stop."""
    life.start()
    life.create("orders-0", "orders-1", "users-0", "users-1")
    for _ in range(3):
        for name in ("orders-0", "orders-1", "users-0", "users-1"):
            life.append(name)
    life.wait(8000)
    for number in range(6):
        life.append("orders-0", 3)
        life.append("users-1", 1 + number % 2)
    life.delete_records("orders-0", 9)
    life.do(lambda: life.manager.truncate_to({TopicPartition("users", 1): 8}))
    life.append("users-1")
    life.wait(6000)
    life.do(lambda: life.manager.async_delete("users-0"))
    life.append("orders-1", 4)
    life.move("orders-0", "b")
    life.move("orders-1", "b")
    life.append("orders-0")
    life.wait(6000)
    users = TopicPartition("users", 1)
    life.do(lambda: life.manager.truncate_fully_and_start_at(users, 30))
    for _ in range(3):
        life.append("users-1")
    life.delete_records("users-1", 35)
    life.wait(8000)
    life.do(lambda: life.manager.truncate_to({users: 32}))
    life.append("users-1", 1)
    life.flush("users-1")
    life.wait(65_000)
    life.append("orders-1", 4)
    life.append("orders-0", 4)
    life.stop()


def live_briefly(life: ManagerLife) -> None:
    """Do some of what `live` does, and touch all logs at the end."""
    life.start()
    life.create("orders-0", "orders-1", "users-0", "users-1")
    for name in ("orders-0", "orders-1", "users-0", "users-1"):
        life.append(name)
    life.do(lambda: life.clock.advance(8000))
    for _ in range(3):
        life.append("orders-0", 5)
    life.append("users-0", 4)
    life.do(lambda: life.manager.async_delete("users-0"))
    life.move("orders-0", "b")
    life.do(lambda: life.clock.advance(12_000))
    for name in ("orders-0", "orders-1", "users-1"):
        life.append(name)
    life.do(lambda: life.clock.advance(5000))
