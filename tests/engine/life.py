"""The recorded life of one log, with what must be left of it after a crash at any moment.

A log is opened on a recording file system, in a log directory with checkpoints and marker as a log
manager writes them. After each step the recording is marked with the batches that have reached the
disk and must not be lost.
"""

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from tests.engine.crash_states import CrashState
from tests.engine.file_systems import RecordingFileSystem
from tests.engine.soundness import StoredBatch, all_batches, stored_batches
from workbench.cleaner.cleaner import clean_log
from workbench.cleaner.config import CleanerConfig
from workbench.cleaner.schedule.log_to_clean import log_to_clean
from workbench.config.log_config import LogConfig
from workbench.file_system.local import LOCAL, FileSystem
from workbench.files.checkpoints import OffsetCheckpoint
from workbench.files.names import (
    CLEAN_SHUTDOWN,
    LOG_START_OFFSETS,
    RECOVERY_POINTS,
    TopicPartition,
)
from workbench.log.append.append_origin import AppendOrigin
from workbench.log.log import Log
from workbench.log.segments.segment import create_new_cleaned_segment
from workbench.record.memory_records import MemoryRecords
from workbench.record.writing.builder import end_transaction_marker
from workbench.runtime.clock import ManualClock
from workbench.runtime.scheduler import ManualScheduler

NOW = 1_700_000_000_000
ORDERS = TopicPartition("orders", 0)
SETTINGS = {
    "segment.bytes": 700,
    "index.interval.bytes": 150,
    "segment.index.bytes": 96,
    "file.delete.delay.ms": 1000,
    "retention.ms": 100_000,
}

_CLEANER = CleanerConfig(map_memory=1 << 13, buffer_size=600)


class Expected(NamedTuple):
    """What must be there after a crash.

    Attributes:
        durable: first offset → the batch.
        log_start: the highest that the log had; leader epochs before it may be forgotten.
        is_clean: whether the log is closed and nothing has happened since.
    """

    durable: dict[int, StoredBatch]
    log_start: int = 0
    is_clean: bool = False


class DeferringScheduler(ManualScheduler):
    """Runs nothing before a test asks for it, not even what is due at once: a slow thread."""

    is_slow = False

    def run_due(self) -> None:
        """Run what is due, unless it is slow."""
        if not self.is_slow:
            super().run_due()


class Life:
    """One log's life, from its beginning or from a crash on; each method is a step of it.

    Attributes:
        root: the log directory.
        fs: the recording.
        log: while it is open.
        is_open: whether it is: not while it is opened again.
        written: every batch that was in the log at any time, by first offset.
    """

    def __init__(
        self,
        root: Path,
        settings: dict[str, Any] | None = None,
        *,
        fs: RecordingFileSystem | None = None,
    ) -> None:
        root.mkdir(parents=True, exist_ok=True)
        self.root = root
        self.fs = RecordingFileSystem(root) if fs is None else fs
        self.clock = ManualClock(NOW)
        self.scheduler = DeferringScheduler(self.clock)
        self.config = LogConfig.of({**SETTINGS, **(settings or {})})
        self.written: dict[int, set[StoredBatch]] = {}
        self._expected = Expected({})
        self._sequences: dict[int, int] = {}
        self._count = 0
        self._log_start = 0
        is_new = not (root / "orders-0").exists()
        self.is_open = False
        self._open(clean=is_new)
        self._resume_sequences()
        self.observe()

    def observe(self, start: int | None = None, *, is_clean: bool = False) -> None:
        """Mark what has to be on the disk now, and what had to from the beginning of a step on."""
        assert self.log.recovery_point <= self.log.log_end_offset
        batches = all_batches(self.log)
        for batch in batches:
            self.written.setdefault(batch.first_offset, set()).add(batch)
        self._log_start = max(self._log_start, self.log.log_start_offset)
        live = {
            batch.first_offset: batch
            for batch in batches
            if batch.last_offset >= self.log.log_start_offset
        }
        if start is not None:
            kept = {
                offset: batch
                for offset, batch in self._expected.durable.items()
                if live.get(offset) == batch
            }
            self.fs.marks.append((start, Expected(kept, self._log_start)))
        durable = {
            offset: batch
            for offset, batch in live.items()
            if batch.last_offset < self.log.recovery_point
        }
        self._expected = Expected(durable, self._log_start, is_clean)
        self.fs.mark(self._expected)

    def do(self, step: Callable[[], object]) -> None:
        """Take a step and mark what it changes."""
        start = len(self.fs.operations)
        step()
        self.observe(start)

    def append(
        self, count: int = 2, *, epoch: int = 0, keys: int | None = None, **options: Any
    ) -> None:
        """Append a batch of records that no other batch has; ``keys``: of that many keys."""
        self.clock.advance(10)
        records = [
            (
                self.clock.now() - 5 * (n % 2),
                b"k%d" % (self._count if keys is None else (self._count + n) % keys),
                b"v" * (self._count * 7 % 60),
            )
            for n in range(count)
        ]
        self._count += 1
        batch = MemoryRecords.of(*records, **options)
        self.do(lambda: self.log.append_as_leader(batch, leader_epoch=epoch))

    def produce(
        self, producer: int, count: int = 2, *, transactional: bool = False, epoch: int = 0
    ) -> None:
        """Append a batch of an idempotent or transactional producer."""
        sequence = self._sequences.get(producer, 0)
        self._sequences[producer] = sequence + count
        self.append(
            count,
            epoch=epoch,
            producer_id=producer,
            producer_epoch=0,
            base_sequence=sequence,
            is_transactional=transactional,
        )

    def end_transaction(self, producer: int, *, commit: bool, epoch: int = 0) -> None:
        """Append the marker that ends a producer's transaction."""
        self.clock.advance(10)
        marker = end_transaction_marker(
            0, self.clock.now(), producer, 0, commit=commit, coordinator_epoch=0
        )
        self.do(
            lambda: self.log.append_as_leader(
                marker, leader_epoch=epoch, origin=AppendOrigin.COORDINATOR
            )
        )

    def roll(self) -> None:
        """Begin a new segment."""
        self.do(self.log.roll)

    def flush(self) -> None:
        """Flush, and write the recovery point."""
        self.do(self.log.flush)

    def checkpoint(self) -> None:
        """Write both checkpoints."""
        log = self.log
        if log.recovery_point > log.local.synced_to:
            self._write(LOG_START_OFFSETS, log.log_start_offset)
        self._write(RECOVERY_POINTS, log.recovery_point)
        is_needed = log.log_start_offset > log.segments[0].base_offset
        self._write(LOG_START_OFFSETS, log.log_start_offset if is_needed else None)

    def _write(self, name: str, offset: int | None) -> None:
        data = OffsetCheckpoint({} if offset is None else {ORDERS: offset}).encode()
        self.fs.write_atomically(str(self.root / name), data)

    def truncate_to(self, offset: int) -> None:
        """Truncate, and write the recovery point as a log manager does then."""
        self.do(lambda: self.log.truncate_to(offset))
        self._resume_sequences()
        self.checkpoint()

    def truncate_fully(self, offset: int) -> None:
        """Empty the log, and write the recovery point as a log manager does then."""
        self.do(lambda: self.log.truncate_fully_and_start_at(offset))
        self._resume_sequences()
        self.checkpoint()

    def _resume_sequences(self) -> None:
        known = self.log.producer_state.producers
        self._sequences = {
            id_: entry.batches[-1].last_sequence + 1
            for id_, entry in known.items()
            if entry.batches and entry.batches[-1].last_sequence is not None
        }

    def commit(self) -> None:
        """Raise the high watermark to the log's end."""
        self.do(lambda: self.log.update_high_watermark(self.log.log_end_offset))

    def delete_records(self, offset: int) -> None:
        """Raise the log's start."""
        self.do(lambda: self.log.delete_records(offset))

    def retain(self) -> None:
        """Apply retention."""
        self.do(self.log.delete_old_segments)

    def wait(self, ms: int) -> None:
        """Let time pass: files that are marked deleted are removed."""
        self.do(lambda: self.clock.advance(ms))

    def hold_tasks(self) -> None:
        """Let what is scheduled wait: the flush after a roll, the removal of files."""
        self.scheduler.is_slow = True

    def run_tasks(self) -> None:
        """Let what is scheduled run."""
        self.scheduler.is_slow = False
        self.do(self.scheduler.run_due)

    def clean(self, rng: Random) -> None:
        """Put one segment in the place of the first two that lacks some of their batches."""
        old = self.log.segments[:2]
        assert len(self.log.segments) > len(old)
        kept = [
            batch
            for segment in old
            for batch in stored_batches(segment)
            if batch.producer_id >= 0 or rng.random() < 0.6
        ]
        start = len(self.fs.operations)
        with self.log.context.guard("clean"):
            new = create_new_cleaned_segment(self.log.context, old[0].base_offset)
            for batch in kept:
                new.append(batch.last_offset, MemoryRecords.copy_of(batch.data))
            new.on_become_inactive()
            new.flush()
            new.set_last_modified(old[-1].last_modified)
            self.log.replace_segments([new], old, "cleaned")
        self.observe(start)

    def close(self) -> None:
        """Close in order, as a log manager does: flush, close, checkpoints, marker."""
        start = len(self.fs.operations)
        self.log.flush(force_active_segment=True)
        self.observe(start)
        self.log.close()
        self.checkpoint()
        file = self.fs.create(str(self.root / CLEAN_SHUTDOWN))
        file.write(b'{"version":0,"brokerEpoch":-1}', 0)
        file.sync()
        file.close()
        self.fs.sync_directory(str(self.root))
        self.observe(is_clean=True)
        self.log.close_handlers()

    def reopen(self) -> None:
        """Open again what was shut down cleanly."""
        self.fs.remove(str(self.root / CLEAN_SHUTDOWN))
        self.fs.sync_directory(str(self.root))
        self._open(clean=True)
        self.observe()

    def recover(self) -> None:
        """Open the log as after a kill: what was scheduled is lost, the rest is recovered."""
        self.scheduler.shutdown()
        self.scheduler = DeferringScheduler(self.clock)
        self.log.close_handlers()
        self._open(clean=False)
        self._resume_sequences()
        self.observe()

    def compact(self) -> None:
        """Let the cleaner clean what it can."""
        self.commit()
        log, now = self.log, self.clock.now()
        found = log_to_clean(log, None, now)
        first, end = found.first_dirty_offset, found.first_uncleanable_offset
        if first < end:
            self.do(lambda: clean_log(log, first, end, now, _CLEANER))

    def _open(self, *, clean: bool) -> None:
        self.is_open = False
        self.log = open_log(
            self.root, self.config, self.clock, self.scheduler, self.fs, clean=clean
        )
        self.is_open = True


def open_log(
    root: Path,
    config: LogConfig,
    clock: ManualClock | None = None,
    scheduler: ManualScheduler | None = None,
    fs: FileSystem = LOCAL,
    *,
    clean: bool | None = None,
) -> Log:
    """Open the log of a log directory with what its checkpoints and its marker say.

    Args:
        clean: whether it was shut down cleanly; None: whether its file exists, which is removed.
    """
    if clean is None:
        clean = (root / CLEAN_SHUTDOWN).exists()
        (root / CLEAN_SHUTDOWN).unlink(missing_ok=True)
    clock = ManualClock(NOW) if clock is None else clock
    scheduler = ManualScheduler(clock) if scheduler is None else scheduler
    offsets = {}
    for name in (RECOVERY_POINTS, LOG_START_OFFSETS):
        path = root / name
        found = OffsetCheckpoint.decode(path.read_bytes(), str(path)) if path.exists() else None
        offsets[name] = 0 if found is None else found.offsets.get(ORDERS, 0)
    return Log.open(
        str(root / "orders-0"),
        config,
        recovery_point=offsets[RECOVERY_POINTS],
        log_start_offset=offsets[LOG_START_OFFSETS],
        had_clean_shutdown=clean,
        fs=fs,
        clock=clock,
        scheduler=scheduler,
        rng=Random(1),
    )


def expected_after(state: CrashState) -> Expected:
    """Return what must be there in a state."""
    return latest_expected(state.marks)


def latest_expected(marks: list[Any]) -> Expected:
    """Return what the last mark says; at the beginning nothing is expected."""
    found = marks[-1] if marks else Expected({})
    assert isinstance(found, Expected)
    return found
