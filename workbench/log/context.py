"""What all parts of one partition's log need: its directory, configuration and file system.

The log owns the one `LogContext`; its parts get it and read its current values, because the
directory changes when the log is renamed or moved, and the configuration when it is altered.

Kafka: the fields that LocalLog and LogLoader hand on (4.2)
"""

import os
from dataclasses import dataclass, field
from random import Random

from workbench.config.broker_rules import MODELED_RULES, BrokerRules
from workbench.config.log_config import LogConfig
from workbench.errors import StorageError
from workbench.file_system.local import FileSystem
from workbench.files.names import DirectoryKind, TopicPartition, parse_directory_name
from workbench.layout.attributes import CODEC_NAMES
from workbench.record.writing.batch_checks import RecordRules
from workbench.runtime.clock import Clock
from workbench.runtime.failures import FailureGuard, LogDirFailures
from workbench.runtime.metrics import LogMetrics
from workbench.runtime.scheduler import Scheduler
from workbench.runtime.steps import Observer, Reporter


@dataclass(slots=True)
class LogContext(Reporter):
    """The shared context of one log.

    Attributes:
        directory: path of the partition directory; changes when the log is renamed.
        topic_partition: the log's partition.
        config: the topic's configuration; `update_config` replaces it.
        fs: the file system that is written through.
        clock: the time, ms since the epoch.
        scheduler: runs delayed work: deletions, flushes.
        failures: which log directories are offline.
        observer: receives each step; None for no observer.
        rng: source of the jitter of segments.
        log_directory: path of the log directory of the partition directory; it may go offline.
        names_changed: whether current names in the directory might not be on the disk.
        metrics: the metrics; the logs of a manager share them.
        rules: how brokers of the version that is assumed behave.
        record_rules: what the configuration asks of records.
        is_retained: whether retention works on the log; without a cleaner, not if it is compacted.
    """

    directory: str
    topic_partition: TopicPartition
    config: LogConfig
    fs: FileSystem
    clock: Clock
    scheduler: Scheduler
    failures: LogDirFailures
    observer: Observer | None
    rng: Random
    log_directory: str = field(init=False)
    names_changed: bool = True
    metrics: LogMetrics = field(default_factory=LogMetrics)
    rules: BrokerRules = MODELED_RULES
    record_rules: RecordRules = field(init=False)
    is_retained: bool = True

    def __post_init__(self) -> None:
        self.record_rules = record_rules(self.config)
        self.log_directory = os.path.dirname(self.directory)

    def update_config(self, config: LogConfig) -> LogConfig:
        """Replace the configuration; return the one before."""
        before, self.config = self.config, config
        self.record_rules = record_rules(config)
        return before

    def move_to(self, directory: str) -> None:
        """Follow the partition directory, which was renamed or moved."""
        self.directory = directory
        self.log_directory = os.path.dirname(directory)

    @property
    def kind(self) -> DirectoryKind | None:
        """The kind and partition in the directory's name; None for a name that no broker gives."""
        name = parse_directory_name(os.path.basename(self.directory))
        return None if name is None else name.kind

    def path(self, name: str) -> str:
        """Return the path of a file in the partition directory."""
        return os.path.join(self.directory, name)

    def sync_names(self) -> None:
        """Return when the names in the directory are on the disk; a removed one has none.

        Kafka: Utils.flushDirIfExists (4.2)
        """
        if self.names_changed:
            self.names_changed = False  # before the sync: a thread may change some meanwhile
            try:
                self.fs.sync_directory(self.directory)
            except FileNotFoundError:  # renamed meanwhile, to be deleted
                return
            except OSError:
                self.names_changed = True
                raise

    @property
    def subject(self) -> object:
        """The partition."""
        return self.topic_partition

    def guard(self, doing: str, *, changes_nothing: bool = False) -> FailureGuard:
        """Take the log directory offline on an error of the operating system.

        Args:
            doing: what is tried, for the message, which adds the partition: "append to".
            changes_nothing: see `LogDirFailures.guard`.

        Raises:
            StorageError: the directory has failed before, or fails now.

        Kafka: LocalLog.maybeHandleIOException (4.2)
        """
        return FailureGuard(
            self.failures,
            self.log_directory,
            doing,
            self.topic_partition,
            changes_nothing=changes_nothing,
        )

    def nothing_written(self, doing: str, error: OSError) -> StorageError:
        """Return the error of work that a lack of memory or descriptors stopped before it wrote.

        The log directory stays online.

        Args:
            doing: what was tried: "append to".
            error: of the operating system.
        """
        problem = f"could not {doing} {self.topic_partition}; no record was written: {error}"
        return StorageError(self.log_directory, problem)


def record_rules(config: LogConfig) -> RecordRules:
    """Return the rules that a topic's configuration sets for records.

    Kafka: the arguments of LogValidator (4.2)
    """
    codec = config.target_codec
    return RecordRules(
        needs_keys=config.compact,
        has_append_time=config.message_timestamp_type == "LogAppendTime",
        before_ms=config.message_timestamp_before_max_ms,
        after_ms=config.message_timestamp_after_max_ms,
        codec=None if codec is None else CODEC_NAMES.index(codec),
        level=None if codec is None else config.compression_level,
        largest=config.max_message_bytes,
    )
