"""A partition directory that a test fills as a broker leaves it, and loads."""

from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

from workbench.config.log_config import LogConfig
from workbench.config.producer_state_config import ProducerStateConfig
from workbench.file_system.local import LOCAL, FileSystem
from workbench.files.names import TopicPartition, file_name
from workbench.log.context import LogContext
from workbench.log.leader_epoch_cache import LeaderEpochCache
from workbench.log.loading.loader import LoadedOffsets, LogLoader
from workbench.log.producers.state import ProducerStateManager
from workbench.log.segments.log_segments import LogSegments
from workbench.log.segments.segment import LogSegment
from workbench.record.memory_records import MemoryRecords
from workbench.record.writing.builder import end_transaction_marker
from workbench.runtime.clock import ManualClock
from workbench.runtime.failures import LogDirFailures
from workbench.runtime.scheduler import ManualScheduler
from workbench.runtime.steps import Step

NOW = 1_700_000_000_000
DELETE_DELAY = 60_000  # file.delete.delay.ms
MAX_RELATIVE = 2**31 - 1
# An entry for each batch but the first, and no 10 MB of zeros for it.
_SETTINGS: Final = {"index.interval.bytes": 0, "segment.index.bytes": 4096}


def batch(first: int, count: int = 1, *, epoch: int = 0, **options: Any) -> MemoryRecords:
    """Return a batch whose records have their offsets for keys and times."""
    records = [
        (NOW + offset % MAX_RELATIVE, b"k%d" % offset, b"v%d" % offset)
        for offset in range(first, first + count)
    ]
    return MemoryRecords.of(*records, base_offset=first, partition_leader_epoch=epoch, **options)


def produced(
    first: int,
    count: int = 1,
    *,
    producer: int,
    sequence: int = 0,
    producer_epoch: int = 0,
    transactional: bool = False,
) -> MemoryRecords:
    """Return a batch of an idempotent or transactional producer."""
    return batch(
        first,
        count,
        producer_id=producer,
        producer_epoch=producer_epoch,
        base_sequence=sequence,
        is_transactional=transactional,
    )


def marker(
    offset: int, *, producer: int, commit: bool, producer_epoch: int = 0, coordinator_epoch: int = 0
) -> MemoryRecords:
    """Return the batch that ends a transaction."""
    return end_transaction_marker(
        offset,
        NOW + offset,
        producer,
        producer_epoch,
        commit=commit,
        coordinator_epoch=coordinator_epoch,
        partition_leader_epoch=0,
    )


class Loaded(NamedTuple):
    """A loaded log and the steps of its loading."""

    context: LogContext
    segments: LogSegments
    offsets: LoadedOffsets
    epochs: LeaderEpochCache
    producers: ProducerStateManager
    steps: list[Step]
    remaining: list[int]

    @property
    def bases(self) -> list[int]:
        """The base offsets of the segments."""
        return [segment.base_offset for segment in self.segments.all]

    @property
    def keys(self) -> list[bytes | None]:
        """The keys of all records that are no markers."""
        return [
            record.key
            for segment in self.segments.all
            for record in segment.log.read(0, segment.size).records()
            if record.key is not None and record.key.startswith(b"k")
        ]

    def told(self, kind: str) -> list[Step]:
        """Return the steps of a kind."""
        return [step for step in self.steps if step.kind == kind]

    def close(self) -> None:
        """Close it as a broker does that stops in order."""
        self.producers.take_snapshot()
        for segment in self.segments.all:
            segment.flush()
        self.segments.close()


class Folder:
    """One partition directory, with a clock that does not move."""

    def __init__(
        self,
        root: Path,
        name: str = "orders-0",
        fs: FileSystem = LOCAL,
        settings: dict[str, Any] | None = None,
    ) -> None:
        self.path = root / name
        self.path.mkdir(parents=True, exist_ok=True)
        self.clock = ManualClock(NOW)
        self.scheduler = ManualScheduler(self.clock)
        self.failures = LogDirFailures()
        self.steps: list[Step] = []
        self.context = LogContext(
            directory=str(self.path),
            topic_partition=TopicPartition("orders", 0),
            config=LogConfig.of({**_SETTINGS, **(settings or {})}),
            fs=fs,
            clock=self.clock,
            scheduler=self.scheduler,
            failures=self.failures,
            observer=self.steps.append,
            rng=Random(1),
        )

    def file(self, kind: Any, offset: int, suffix: str = "") -> Path:
        """Return the path of a file that is called after an offset."""
        return self.path / file_name(kind, offset, suffix)

    @property
    def names(self) -> list[str]:
        """What is in the folder, sorted."""
        return sorted(path.name for path in self.path.iterdir())

    def names_of(self, ending: str) -> list[str]:
        """Return the names that end like this, sorted."""
        return [name for name in self.names if name.endswith(ending)]

    def write_segment(
        self, base_offset: int, *batches: MemoryRecords, suffix: str = ""
    ) -> LogSegment:
        """Write a segment with its indexes as a clean shutdown leaves it, and return it closed."""
        segment = LogSegment.open(self.context, base_offset, suffix=suffix)
        for one in batches:
            segment.append(int(one.batches().rows["last_offset"][-1]), one)
        segment.on_become_inactive()
        segment.flush()
        segment.close()
        return segment

    def write_raw(self, base_offset: int, *batches: MemoryRecords, suffix: str = "") -> None:
        """Write a `.log`, whatever its offsets, and empty indexes."""
        self.file("log", base_offset, suffix).write_bytes(b"".join(map(bytes, batches)))
        for kind in ("index", "timeindex"):
            self.file(kind, base_offset, suffix).write_bytes(b"")

    def load(self, *, clean: bool = False, log_start: int = 0, recovery_point: int = 0) -> Loaded:
        """Load the log that is there."""
        context = self.context
        self.steps.clear()
        segments = LogSegments()
        producers = ProducerStateManager(
            context.topic_partition,
            context.directory,
            context.fs,
            ProducerStateConfig(),
            context.clock,
            context.observer,
        )
        epochs = LeaderEpochCache(context)
        remaining: list[int] = []
        loader = LogLoader(
            context,
            segments,
            had_clean_shutdown=clean,
            log_start_offset_checkpoint=log_start,
            recovery_point_checkpoint=recovery_point,
            leader_epochs=epochs,
            producer_state=producers,
            remaining=remaining.append,
        )
        offsets = loader.load()
        return Loaded(context, segments, offsets, epochs, producers, self.steps, remaining)

    def delete_later(self) -> None:
        """Let the time pass after which deleted files are removed."""
        self.clock.advance(DELETE_DELAY)


def three_segments(folder: Folder) -> None:
    """Write batches of 1 record, 5 to a segment."""
    for base in (0, 5, 10):
        folder.write_segment(base, *(batch(offset) for offset in range(base, base + 5)))


def keys(start: int, stop: int) -> list[bytes]:
    """Return the keys of the records with offsets in [start, stop)."""
    return [b"k%d" % offset for offset in range(start, stop)]


def flip(path: Path, position: int) -> None:
    """Change the byte at a position."""
    data = bytearray(path.read_bytes())
    data[position] ^= 0xFF
    path.write_bytes(data)


def snapshots(folder: Folder) -> list[int]:
    """Return what the producer snapshots in a folder reach up to."""
    return [int(name[:20]) for name in folder.names_of(".snapshot")]
