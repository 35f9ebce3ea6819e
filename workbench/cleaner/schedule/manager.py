"""Which log is cleaned next, and which must not be cleaned now.

A partition is in no state, or it is being cleaned ("in progress", which includes retention of
compacted logs), or its cleaning was asked to end ("aborted"), or its cleaning must not begin
("paused", with a count). A partition whose cleaning failed is left alone until the partition is
deleted or the process ends.

Kafka: LogCleanerManager (4.2)
"""

import logging
import threading
from collections.abc import Container, Iterable, Mapping
from typing import Any, Final, NamedTuple

from workbench.cleaner.schedule.checkpoints import CleanerCheckpoints
from workbench.cleaner.schedule.log_to_clean import (
    LogToClean,
    cleaning_order,
    log_to_clean,
    tell_choice,
)
from workbench.cleaner.statistics import PreCleanStats
from workbench.errors import CleaningAbortedError
from workbench.files.names import TopicPartition
from workbench.log.log import Log
from workbench.log.offset_checkpoint_file import OffsetCheckpointFile
from workbench.runtime.clock import Clock

_LOG: Final = logging.getLogger(__name__)


class CleaningState(NamedTuple):
    """The cleaning state of a partition.

    Attributes:
        name: "in progress", "aborted" or "paused".
        pauses: number of pauses that were not resumed; 0 unless it is paused.

    Kafka: LogCleaningState (4.2)
    """

    name: str
    pauses: int = 0


IN_PROGRESS: Final = CleaningState("in progress")
ABORTED: Final = CleaningState("aborted")


def paused(pauses: int) -> CleaningState:
    """Return the state of a partition that was paused this many times."""
    return CleaningState("paused", pauses)


class LogCleanerManager:
    """The states of all partitions, and the choice of the next log to clean. Thread-safe.

    Args:
        logs: the served logs by partition; the mapping changes as logs come and go.
        checkpoint_files: path of a log directory → its `cleaner-offset-checkpoint`.
        clock: the time; lags depend on it.
        moving: partitions that are copied to another log directory: not cleaned meanwhile.
            (Kafka pauses them.)

    Attributes:
        checkpoints: the offsets up to which logs are clean.
        max_dirty_ratio: largest ratio of the logs checked last, for `max-dirty-percent`.

    Kafka: LogCleanerManager (4.2)
    """

    def __init__(
        self,
        logs: Mapping[TopicPartition, Log],
        checkpoint_files: Mapping[str, OffsetCheckpointFile],
        clock: Clock,
        moving: Container[TopicPartition] = (),
    ) -> None:
        self.checkpoints = CleanerCheckpoints(logs, checkpoint_files)
        self.max_dirty_ratio = 0.0
        self._logs = logs
        self._directories = tuple(checkpoint_files)
        self._clock = clock
        self._moving = moving
        self._time_of_last_run = clock.now()
        self._states: dict[TopicPartition, CleaningState] = {}
        self._uncleanable: dict[str, dict[TopicPartition, Exception]] = {}
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)

    # What is cleaned

    def grab_filthiest_compacted_log(self, stats: PreCleanStats | None = None) -> LogToClean | None:
        """Choose the log to clean next, which is then in progress. None: there is none.

        An invalid checkpoint is set to the first dirty offset, even of logs that are not chosen.

        Args:
            stats: receives counts of what was found.

        Kafka: LogCleanerManager.grabFilthiestCompactedLog (4.2)
        """
        stats = PreCleanStats() if stats is None else stats
        with self._lock:
            self._time_of_last_run = now = self._clock.now()
            last_clean = self.checkpoints.all()
            found = [
                self._look_at(log, last_clean.get(partition), now, stats)
                for partition, log in self._free_logs().items()
            ]
            dirty = [each for each in found if each is not None and each.total_bytes > 0]
            self.max_dirty_ratio = max((each.cleanable_ratio for each in dirty), default=0.0)
            cleanable = cleaning_order(dirty)
            if not cleanable:
                return None
            stats.cleanable_partitions = len(cleanable)
            chosen = cleanable[0]
            self._states[chosen.topic_partition] = IN_PROGRESS
        tell_choice(chosen.log.context, chosen)
        return chosen

    def _look_at(
        self, log: Log, last_clean_offset: int | None, now: int, stats: PreCleanStats
    ) -> LogToClean | None:
        """Return how dirty a log is; None if that is unknown, which makes it uncleanable."""
        try:
            found = log_to_clean(log, last_clean_offset, now)
        except Exception as error:  # noqa: BLE001 one log must not block the others
            self.mark_partition_uncleanable(log, error)
            return None
        if found.offsets.force_update_checkpoint:
            first_dirty = {log.topic_partition: found.first_dirty_offset}
            self.checkpoints.update(log.parent_directory, first_dirty)
        stats.take_delay(found.compaction_delay_ms)
        return found

    def deletable_logs(self) -> list[Log]:
        """Return the logs that the cleaner applies retention to; they are then in progress.

        All compacted logs, even without `delete`: segments may be before the log start offset.

        Kafka: LogCleanerManager.deletableLogs (4.2)
        """
        with self._lock:
            logs = self._free_logs()
            self._states.update(dict.fromkeys(logs, IN_PROGRESS))
            return list(logs.values())

    def pause_cleaning_for_non_compacted_partitions(self) -> list[TopicPartition]:
        """Pause and return the logs that are not compacted, for retention until they are resumed.

        Kafka: LogCleanerManager.pauseCleaningForNonCompactedPartitions (4.2)
        """
        with self._lock:
            free = [
                partition
                for partition, log in list(self._logs.items())
                if not log.config.compact and partition not in self._states
            ]
            self._states.update(dict.fromkeys(free, paused(1)))
            return free

    def _free_logs(self) -> dict[TopicPartition, Log]:
        """Return the compacted logs in no state that can be cleaned."""
        return {
            partition: log
            for partition, log in list(self._logs.items())
            if log.config.compact
            and partition not in self._states
            and partition not in self._moving
            and partition not in self._uncleanable.get(log.parent_directory, {})
            and not log.context.failures.is_offline(log.parent_directory)
        }

    # States

    def cleaning_state(self, topic_partition: TopicPartition) -> CleaningState | None:
        """Return the state of a partition; None if it has none.

        Kafka: LogCleanerManager.cleaningState (4.2)
        """
        return self._states.get(topic_partition)

    def abort_cleaning(self, topic_partition: TopicPartition) -> None:
        """Abort the cleaning of a partition, if there is one, and return when it has ended.

        Kafka: LogCleanerManager.abortCleaning (4.2)
        """
        with self._lock:
            self.abort_and_pause_cleaning(topic_partition)
            self.resume_cleaning([topic_partition])

    def abort_and_pause_cleaning(self, topic_partition: TopicPartition) -> None:
        """Abort the cleaning of a partition, if there is one; none begins until it is resumed.

        Returns when it has ended. If another thread waits for the same, this one waits too; Kafka
        raises IllegalStateException.

        Kafka: LogCleanerManager.abortAndPauseCleaning (4.2)
        """
        with self._changed:
            self._changed.wait_for(lambda: self._states.get(topic_partition) != ABORTED)
            state = self._states.get(topic_partition)
            if state == IN_PROGRESS:
                self._states[topic_partition] = ABORTED
                self._changed.wait_for(lambda: self._is_paused(topic_partition))
            else:
                self._states[topic_partition] = paused(1 if state is None else state.pauses + 1)

    def resume_cleaning(self, partitions: Iterable[TopicPartition]) -> None:
        """Undo one pause of each partition.

        Raises:
            RuntimeError: a partition is not paused.

        Kafka: LogCleanerManager.resumeCleaning (4.2)
        """
        with self._changed:
            for partition in partitions:
                state = self._states.get(partition)
                if state is None or not state.pauses:
                    raise RuntimeError(f"cleaning of {partition} is {_shown(state)}, not paused")
                if state.pauses == 1:
                    del self._states[partition]
                else:
                    self._states[partition] = paused(state.pauses - 1)
            self._changed.notify_all()

    def check_cleaning_aborted(self, topic_partition: TopicPartition) -> None:
        """Raise CleaningAbortedError if the cleaning of a partition must end.

        Kafka: LogCleanerManager.checkCleaningAborted (4.2)
        """
        if self._states.get(topic_partition) == ABORTED:
            raise CleaningAbortedError(f"cleaning of {topic_partition} was aborted")

    def done_cleaning(self, log: Log, end_offset: int) -> None:
        """Record the end of a cleaning and, unless it was aborted, up to where the log is clean.

        Raises:
            RuntimeError: the partition is not being cleaned.

        Kafka: LogCleanerManager.doneCleaning (4.2)
        """
        partition = log.topic_partition
        with self._lock:
            if self._states.get(partition) == IN_PROGRESS:
                self.checkpoints.update(log.parent_directory, {partition: end_offset})
            self._done(partition)

    def done_deleting(self, logs: Iterable[Log]) -> None:
        """Record that retention of logs returned by `deletable_logs` has ended.

        Raises:
            RuntimeError: a log was not in progress.

        Kafka: LogCleanerManager.doneDeleting (4.2)
        """
        with self._lock:
            for log in logs:
                self._done(log.topic_partition)

    def _done(self, partition: TopicPartition) -> None:
        state = self._states.get(partition)
        if state == IN_PROGRESS:
            del self._states[partition]
        elif state == ABORTED:
            self._states[partition] = paused(1)
            self._changed.notify_all()
        else:
            raise RuntimeError(f"cleaning of {partition} is {_shown(state)}, not in progress")

    def _is_paused(self, partition: TopicPartition) -> bool:
        state = self._states.get(partition)
        return state is not None and state.pauses > 0

    # What cannot be cleaned

    def uncleanable_partitions(self, directory: str) -> dict[TopicPartition, Exception]:
        """Return the partitions of a log directory that cannot be cleaned, and what was raised.

        Kafka: LogCleanerManager.uncleanablePartitions (4.2)
        """
        with self._lock:
            return dict(self._uncleanable.get(directory, {}))

    def mark_partition_uncleanable(self, log: Log, error: Exception) -> None:
        """Stop cleaning a log whose cleaning raised an unexpected error.

        Kafka: LogCleanerManager.markPartitionUncleanable (4.2)
        """
        partition, directory = log.topic_partition, log.parent_directory
        with self._lock:
            self._uncleanable.setdefault(directory, {})[partition] = error
        _LOG.warning("%s in %s is no longer cleaned", partition, directory, exc_info=error)
        log.context.tell("log uncleanable", reason=f"{type(error).__name__}: {error}")

    def maintain_uncleanable_partitions(self) -> None:
        """Forget partitions that no longer exist.

        Kafka: LogCleanerManager.maintainUncleanablePartitions (4.2)
        """
        with self._lock:
            for partitions in self._uncleanable.values():
                for gone in [each for each in partitions if each not in self._logs]:
                    del partitions[gone]

    # Directories

    def alter_checkpoint_dir(
        self, topic_partition: TopicPartition, source: str, target: str
    ) -> None:
        """Follow a partition to its new log directory.

        Kafka: LogCleanerManager.alterCheckpointDir (4.2)
        """
        with self._lock:
            self.checkpoints.move(topic_partition, source, target)
            error = self._uncleanable.get(source, {}).pop(topic_partition, None)
            if error is not None:
                self._uncleanable.setdefault(target, {})[topic_partition] = error

    # Metrics

    def metrics(self) -> dict[str, Any]:
        """Return Kafka's gauges by name; those of log directories as a mapping of their paths.

        Kafka: the gauges of LogCleanerManager (4.2)
        """
        with self._lock:
            return {
                "uncleanable-partitions-count": {
                    path: len(self._uncleanable.get(path, {})) for path in self._directories
                },
                "uncleanable-bytes": {
                    path: self._uncleanable_bytes(path) for path in self._directories
                },
                "max-dirty-percent": int(100 * self.max_dirty_ratio),
                "time-since-last-run-ms": self._clock.now() - self._time_of_last_run,
            }

    def _uncleanable_bytes(self, directory: str) -> int:
        last_clean, now = self.checkpoints.all(), self._clock.now()
        logs = (self._logs.get(each) for each in self._uncleanable.get(directory, {}))
        return sum(
            log_to_clean(log, last_clean.get(log.topic_partition), now).cleanable_bytes
            for log in logs
            if log is not None
        )


def _shown(state: CleaningState | None) -> str:
    return "idle" if state is None else state.name
