"""One worker of the cleaner: clean the filthiest log, then the next, then wait.

Kafka: LogCleaner.CleanerThread (4.2)
"""

import threading
from typing import Final, NamedTuple

from workbench.cleaner.cleaner import clean_log
from workbench.cleaner.config import CleanerConfig
from workbench.cleaner.schedule.log_to_clean import LogToClean
from workbench.cleaner.schedule.manager import LogCleanerManager
from workbench.cleaner.schedule.throttler import Throttler
from workbench.cleaner.statistics import CleanerStats, PreCleanStats
from workbench.errors import CleaningAbortedError, StorageError
from workbench.file_system.local import is_passing
from workbench.files.names import TopicPartition
from workbench.runtime.clock import Clock
from workbench.runtime.scheduler import Scheduler, Task

THREAD_NAME: Final = "kafka-log-cleaner-thread-"


class CleanedLog(NamedTuple):
    """The outcome for a log that was chosen.

    Attributes:
        to_clean: the log and its dirty offsets.
        stats: the round's statistics; None if it was aborted or the log directory failed.
    """

    to_clean: LogToClean
    stats: CleanerStats | None


class CleanerThread:
    """Cleans one log at a time, run by a scheduler or by the caller. Threads may share it.

    Args:
        number: the thread's number, in the name of its task.
        config: the memory and buffers to use.
        manager: chooses the logs.
        throttler: the throttler of all threads.
        clock: the time; delete horizons depend on it.
        stopping: set when the thread is to end.

    Attributes:
        last_stats, last_pre_clean_stats: statistics of the last round.
        is_dead: whether an error that no log caused ended the thread.

    Kafka: LogCleaner.CleanerThread (4.2)
    """

    def __init__(
        self,
        number: int,
        config: CleanerConfig,
        manager: LogCleanerManager,
        throttler: Throttler,
        clock: Clock,
        stopping: threading.Event,
    ) -> None:
        self.last_stats = CleanerStats()
        self.last_pre_clean_stats = PreCleanStats()
        self.is_dead = False
        self._number = number
        self._config = config
        self._manager = manager
        self._throttler = throttler
        self._clock = clock
        self._stopping = stopping
        self._lock = threading.RLock()
        self._task: Task | None = None

    def start(self, scheduler: Scheduler, backoff_ms: int, delay_ms: int = 1) -> None:
        """Clean what needs it after ``delay_ms``, and check again ``backoff_ms`` after that.

        Args:
            scheduler: runs the task.
            backoff_ms: time between two checks that find nothing.
            delay_ms: at least 1, so that the task does not run within this call.

        Kafka: LogCleaner.CleanerThread.doWork (4.2)
        """

        def work() -> None:
            try:
                while not self._stopping.is_set() and self.clean_filthiest() is not None:
                    pass
            except BaseException:
                self.is_dead = True
                raise
            self.start(scheduler, backoff_ms, max(backoff_ms, 1))

        with self._lock:
            if not self._stopping.is_set():
                self._task = scheduler.schedule(f"{THREAD_NAME}{self._number}", work, delay_ms)

    def join(self) -> None:
        """Wait until a round in progress has ended; ``stopping`` must be set."""
        with self._lock:
            if self._task is not None:
                self._task.cancel()

    def clean_filthiest(self) -> CleanedLog | None:
        """Clean a log if one is dirty enough, and apply retention to those that are compacted.

        Returns:
            What was cleaned; None if there was nothing, if it failed, which makes it uncleanable,
            or after the cleaner was shut down, when nothing is cleaned or written.

        Kafka: LogCleaner.CleanerThread.tryCleanFilthiestLog, cleanFilthiestLog (4.2)
        """
        with self._lock:
            if self._stopping.is_set():
                return None
            stats = PreCleanStats()
            chosen = self._manager.grab_filthiest_compacted_log(stats)
            cleaned = None
            if chosen is not None:
                self.last_pre_clean_stats = stats
                cleaned = self._clean(chosen)
            self._delete_old_segments()
            self._manager.maintain_uncleanable_partitions()
            return cleaned

    def _clean(self, chosen: LogToClean) -> CleanedLog | None:
        """Clean a log.

        Kafka: LogCleaner.CleanerThread.cleanLog (4.2)
        """
        log, end_offset, now = chosen.log, chosen.first_dirty_offset, self._clock.now()

        def check() -> None:
            self._check_done(chosen.topic_partition)

        try:
            stats = clean_log(
                log,
                chosen.first_dirty_offset,
                chosen.first_uncleanable_offset,
                now,
                self._config,
                check=check,
                throttle=self._throttler.maybe_throttle,
                collects=False,
            ).stats
            end_offset = stats.end_offset
        except (CleaningAbortedError, StorageError):
            return CleanedLog(chosen, None)
        except Exception as error:  # noqa: BLE001 one log must not block the others
            if isinstance(error, OSError) and is_passing(error):
                return CleanedLog(chosen, None)  # nothing was replaced; the next round tries again
            self._manager.mark_partition_uncleanable(log, error)
            return None
        finally:
            self._manager.done_cleaning(log, end_offset)
        self.last_stats = stats
        return CleanedLog(chosen, stats)

    def _check_done(self, topic_partition: TopicPartition) -> None:
        """Raise CleaningAbortedError if a cleaning must end.

        Kafka: LogCleaner.CleanerThread.checkDone (4.2)
        """
        if self._stopping.is_set():
            raise CleaningAbortedError(
                f"cleaning of {topic_partition} was aborted, because the cleaner is shutting down"
            )
        self._manager.check_cleaning_aborted(topic_partition)

    def _delete_old_segments(self) -> None:
        logs = self._manager.deletable_logs()
        try:
            for log in logs:
                if self._stopping.is_set():
                    return
                try:
                    log.delete_old_segments()
                except StorageError:
                    continue  # recorded where it happened: the directory is offline
                except Exception as error:  # noqa: BLE001 as above
                    if isinstance(error, OSError) and is_passing(error):
                        continue
                    self._manager.mark_partition_uncleanable(log, error)
        finally:
            self._manager.done_deleting(logs)
