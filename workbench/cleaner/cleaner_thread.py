"""One worker of the cleaner: clean the filthiest log, then the next, then wait.

Kafka: LogCleaner.CleanerThread (4.2)
"""

import threading
from typing import NamedTuple

from workbench.cleaner.cleaner import clean_log
from workbench.cleaner.config import CleanerConfig
from workbench.cleaner.log_to_clean import LogToClean
from workbench.cleaner.manager import LogCleanerManager
from workbench.cleaner.statistics import CleanerStats, PreCleanStats
from workbench.cleaner.throttler import Throttler
from workbench.errors import CleaningAbortedError, StorageError
from workbench.files.names import TopicPartition
from workbench.log.clock import Clock
from workbench.log.scheduler import Scheduler, Task


class CleanedLog(NamedTuple):
    """What became of a log that was chosen.

    Attributes:
        to_clean: how dirty it was.
        stats: of the round; None if it was aborted, or the log directory failed.
    """

    to_clean: LogToClean
    stats: CleanerStats | None


class CleanerThread:
    """Cleans one log at a time, by a scheduler or by hand. Threads may share it.

    Args:
        name: of its task.
        config: memory and buffers.
        manager: chooses the logs.
        throttler: of all threads.
        clock: the time; delete horizons are measured by it.
        stopping: is set when it is to end.

    Attributes:
        last_stats, last_pre_clean_stats: of the last round.
        last_clean_ms: how long that took.
        is_dead: whether an error ended it that was no fault of a log.

    Kafka: LogCleaner.CleanerThread (4.2)
    """

    def __init__(
        self,
        name: str,
        config: CleanerConfig,
        manager: LogCleanerManager,
        throttler: Throttler,
        clock: Clock,
        stopping: threading.Event,
    ) -> None:
        self.last_stats = CleanerStats()
        self.last_pre_clean_stats = PreCleanStats()
        self.last_clean_ms = 0
        self.is_dead = False
        self._name = name
        self._config = config
        self._manager = manager
        self._throttler = throttler
        self._clock = clock
        self._stopping = stopping
        self._lock = threading.RLock()
        self._task: Task | None = None

    def start(self, scheduler: Scheduler, backoff_ms: int, delay_ms: int = 1) -> None:
        """Clean in ``delay_ms`` what there is to clean, and look again ``backoff_ms`` after that.

        Args:
            scheduler: runs it.
            backoff_ms: time between two looks that find nothing.
            delay_ms: at least 1, so that it is not run within this call.

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
                self._task = scheduler.schedule(self._name, work, delay_ms)

    def join(self) -> None:
        """Return when a round that is going on has ended; ``stopping`` must be set."""
        with self._lock:
            if self._task is not None:
                self._task.cancel()

    def clean_filthiest(self) -> CleanedLog | None:
        """Clean a log if one is dirty enough, and apply retention to those that are compacted.

        Returns:
            What was cleaned; None if there was nothing, or it failed: it is uncleanable then.

        Kafka: LogCleaner.CleanerThread.tryCleanFilthiestLog, cleanFilthiestLog (4.2)
        """
        with self._lock:
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
        except Exception as error:  # noqa: BLE001 one log may not keep the others from their turn
            self._manager.mark_partition_uncleanable(log, error)
            return None
        finally:
            self._manager.done_cleaning(log, end_offset)
        self.last_stats, self.last_clean_ms = stats, self._clock.now() - now
        return CleanedLog(chosen, stats)

    def _check_done(self, topic_partition: TopicPartition) -> None:
        """Raise CleaningAbortedError if a cleaning is to end.

        Kafka: LogCleaner.CleanerThread.checkDone (4.2)
        """
        if self._stopping.is_set():
            raise CleaningAbortedError(f"cleaning of {topic_partition} ends with the cleaner")
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
                    continue  # noted where it happened: the directory is offline
                except Exception as error:  # noqa: BLE001 as above
                    self._manager.mark_partition_uncleanable(log, error)
        finally:
            self._manager.done_deleting(logs)
