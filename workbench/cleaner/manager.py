"""Which log is cleaned next, and which may not be cleaned now.

A partition is in no state, or it is being cleaned ("in progress"; retention of compacted logs
counts as that), or that has been asked to end ("aborted"), or it may not begin ("paused", as often
as it was asked for). A partition whose cleaning failed is left alone until it or the process is
gone.

Kafka: LogCleanerManager (4.2)
"""

import logging
import threading
from collections.abc import Container, Iterable, Mapping
from typing import Any, Final, NamedTuple

from workbench.cleaner.checkpoints import CleanerCheckpoints
from workbench.cleaner.cleaning_steps import tell_choice
from workbench.cleaner.log_to_clean import LogToClean, cleaning_order, log_to_clean
from workbench.cleaner.statistics import PreCleanStats
from workbench.errors import CleaningAbortedError
from workbench.files.names import TopicPartition
from workbench.log.clock import Clock
from workbench.log.log import Log
from workbench.log.offset_checkpoint_file import OffsetCheckpointFile

_LOG: Final = logging.getLogger(__name__)


class CleaningState(NamedTuple):
    """What is going on with a partition.

    Attributes:
        name: "in progress", "aborted" or "paused".
        pauses: how often it was paused without being resumed; 0 unless it is paused.

    Kafka: LogCleaningState (4.2)
    """

    name: str
    pauses: int = 0


IN_PROGRESS: Final = CleaningState("in progress")
ABORTED: Final = CleaningState("aborted")


def paused(pauses: int) -> CleaningState:
    """Return the state of a partition that was paused so often."""
    return CleaningState("paused", pauses)


class LogCleanerManager:
    """The states of all partitions, and the choice of the next one. Threads share it.

    Args:
        logs: the logs that are served, by partition, as they come and go.
        checkpoint_files: path of a log directory → its `cleaner-offset-checkpoint`.
        clock: the time; lags are measured by it.
        moving: partitions that are copied to another log directory: none is cleaned meanwhile.
            (Kafka pauses them.)

    Attributes:
        checkpoints: up to where logs are clean.
        max_dirty_ratio: of the logs that were looked at last; what `max-dirty-percent` is of.

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
        """Choose the log to be cleaned next: it is in progress from then on. None: there is none.

        A checkpoint that cannot be right is set to the first dirty offset, also of logs that are
        not chosen.

        Args:
            stats: counts what was found.

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
        """Return how dirty a log is; None if that cannot be told: it is uncleanable then."""
        try:
            found = log_to_clean(log, last_clean_offset, now)
        except Exception as error:  # noqa: BLE001 one log may not keep the others from their turn
            self.mark_partition_uncleanable(log, error)
            return None
        if found.offsets.force_update_checkpoint:
            first_dirty = {log.topic_partition: found.first_dirty_offset}
            self.checkpoints.update(log.parent_directory, first_dirty)
        stats.take_delay(found.compaction_delay_ms)
        return found

    def deletable_logs(self) -> list[Log]:
        """Return the logs that the cleaner applies retention to; they are in progress then.

        All compacted logs, also without `delete`: segments may lie before the log start offset.

        Kafka: LogCleanerManager.deletableLogs (4.2)
        """
        with self._lock:
            logs = self._free_logs()
            self._states.update(dict.fromkeys(logs, IN_PROGRESS))
            return list(logs.values())

    def pause_cleaning_for_non_compacted_partitions(self) -> list[TopicPartition]:
        """Pause, and return, what is not compacted: retention may work on it until it is resumed.

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
        """Return what is going on with a partition; None if nothing is.

        Kafka: LogCleanerManager.cleaningState (4.2)
        """
        return self._states.get(topic_partition)

    def abort_cleaning(self, topic_partition: TopicPartition) -> None:
        """End the cleaning of a partition, if there is one, and return when it has ended.

        Kafka: LogCleanerManager.abortCleaning (4.2)
        """
        with self._lock:
            self.abort_and_pause_cleaning(topic_partition)
            self.resume_cleaning([topic_partition])

    def abort_and_pause_cleaning(self, topic_partition: TopicPartition) -> None:
        """End the cleaning of a partition, if there is one; none begins until it is resumed.

        Returns when it has ended. While another thread waits for the same, this one does so first;
        Kafka raises IllegalStateException.

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
        """Take one pause back of each partition.

        Raises:
            RuntimeError: one is not paused.

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
        """Raise CleaningAbortedError if the cleaning of a partition is to end.

        Kafka: LogCleanerManager.checkCleaningAborted (4.2)
        """
        if self._states.get(topic_partition) == ABORTED:
            raise CleaningAbortedError(f"cleaning of {topic_partition} was aborted")

    def done_cleaning(self, log: Log, end_offset: int) -> None:
        """Note that a cleaning has ended, and up to where the log is clean unless it was aborted.

        Raises:
            RuntimeError: it is not being cleaned.

        Kafka: LogCleanerManager.doneCleaning (4.2)
        """
        partition = log.topic_partition
        with self._lock:
            if self._states.get(partition) == IN_PROGRESS:
                self.checkpoints.update(log.parent_directory, {partition: end_offset})
            self._done(partition)

    def done_deleting(self, logs: Iterable[Log]) -> None:
        """Note that retention has ended, of logs that `deletable_logs` returned.

        Raises:
            RuntimeError: one was not in progress.

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
        """Clean a log no more, whose cleaning raised what it should not.

        Kafka: LogCleanerManager.markPartitionUncleanable (4.2)
        """
        partition, directory = log.topic_partition, log.parent_directory
        with self._lock:
            self._uncleanable.setdefault(directory, {})[partition] = error
        _LOG.warning("%s in %s is not cleaned any more", partition, directory, exc_info=error)
        log.context.tell("log uncleanable", f"{type(error).__name__}: {error}")

    def maintain_uncleanable_partitions(self) -> None:
        """Forget partitions that are gone.

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
        """Follow a partition to the log directory that it is in now.

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
    return "not going on" if state is None else state.name
