"""What a log is made of, for the functions of this folder that work on one.

Kafka: the fields of UnifiedLog (4.2)
"""

from dataclasses import dataclass
from uuid import UUID

from workbench.config.log_config import LogConfig
from workbench.errors import CorruptCheckpointError, CorruptTopicIdError
from workbench.files.names import PARTITION_METADATA, TopicPartition
from workbench.files.partition_metadata import PartitionMetadata
from workbench.files.reading import FileProblem
from workbench.log.context import LogContext
from workbench.log.fetch import LogOffsetMetadata
from workbench.log.leader_epoch_cache import LeaderEpochCache
from workbench.log.local_log import LocalLog
from workbench.log.producers.state import ProducerStateManager
from workbench.log.segments.segment import LogSegment
from workbench.log.watermarks import Watermarks


@dataclass(eq=False, repr=False)
class BaseLog:
    """The parts of one log, and what can be asked of it.

    Attributes:
        context: directory, configuration, file system, clock.
        local: the segments.
        leader_epochs: where each leader epoch starts.
        producer_state: sequences and transactions of producers.
        watermarks: log start offset, high watermark and last stable offset.
        highest_remote_offset: the last offset that the remote tier has, -1 for none; None: the
            broker has no tier.
        lock: held by every change of the log.
    """

    context: LogContext
    local: LocalLog
    leader_epochs: LeaderEpochCache
    producer_state: ProducerStateManager
    watermarks: Watermarks

    def __post_init__(self) -> None:
        self.lock = self.watermarks.lock
        self.highest_remote_offset: int | None = None

    @property
    def topic_partition(self) -> TopicPartition:
        """The log's partition."""
        return self.context.topic_partition

    @property
    def directory(self) -> str:
        """Path of the partition directory."""
        return self.context.directory

    @property
    def parent_directory(self) -> str:
        """Path of the log directory."""
        return self.context.log_directory

    @property
    def is_future(self) -> bool:
        """Whether the log is a copy that moves in from another log directory."""
        return self.context.kind == "future"

    @property
    def config(self) -> LogConfig:
        """The topic's configuration."""
        return self.context.config

    @property
    def segments(self) -> list[LogSegment]:
        """The segments as they are now, ascending."""
        return self.local.segments.all

    @property
    def active_segment(self) -> LogSegment:
        """The segment that is appended to."""
        return self.local.segments.active

    @property
    def size(self) -> int:
        """Size of all batches in bytes."""
        return self.local.segments.size

    @property
    def log_start_offset(self) -> int:
        """The first offset that can be read."""
        return self.watermarks.log_start_offset

    @property
    def log_end_offset(self) -> int:
        """The offset of the next record."""
        return self.local.end_offset

    @property
    def log_end(self) -> LogOffsetMetadata:
        """The log end offset and its position."""
        return self.local.end

    @property
    def high_watermark(self) -> int:
        """The offset before which every in-sync replica has the records."""
        return self.watermarks.high

    @property
    def first_unstable_offset(self) -> int | None:
        """First offset of the oldest undecided transaction; None if there is none."""
        return self.watermarks.first_unstable

    @property
    def last_stable_offset(self) -> int:
        """The offset where read_committed consumers must stop."""
        return self.watermarks.last_stable

    @property
    def recovery_point(self) -> int:
        """The first offset that might not be on the disk yet."""
        return self.local.recovery_point

    @property
    def last_flush_time(self) -> int:
        """Time when the recovery point last rose; ms."""
        return self.local.last_flushed_ms


def read_topic_id(context: LogContext) -> UUID | None:
    """Return the id of a log's topic, in its `partition.metadata`; None if there is no file.

    Raises:
        CorruptCheckpointError: the file is not valid.
        CorruptTopicIdError: the file is so short, or its id so wrong, that a broker ends.
        StorageError: it cannot be read; the log directory is offline.
    """
    path = context.path(PARTITION_METADATA)
    if not context.fs.exists(path):
        return None
    with context.guard("read the topic id of", changes_nothing=True):
        data = context.fs.read(path, PartitionMetadata.size_limit + 1)
    found = PartitionMetadata.decode(data, path, strict=False)
    fatal = found.ends_a_broker()
    if fatal is not None:
        raise CorruptTopicIdError(path, str(fatal), is_short=fatal.kind == "missing")
    for problem in found.problems:
        raise CorruptCheckpointError(path, problem.position, str(problem))
    if context.rules.checks_topic_id_version and found.version:
        problem = FileProblem("unknown version", 0, f"version {found.version}", "0")
        raise CorruptCheckpointError(path, 0, str(problem))
    return found.topic_id


def write_topic_id(context: LogContext, topic_id: UUID) -> None:
    """Write the id of a log's topic.

    Kafka: PartitionMetadataFile (4.2)

    Raises:
        StorageError: writing failed; the log directory is offline.
    """
    with context.guard("write the topic id of", changes_nothing=True):
        path = context.path(PARTITION_METADATA)
        context.fs.write_atomically(path, PartitionMetadata(topic_id=topic_id).encode())
