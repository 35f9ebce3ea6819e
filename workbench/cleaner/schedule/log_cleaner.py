"""The log cleaner: workers that compact logs, and can be reconfigured while they work.

    cleaner = LogCleaner(config, logs, checkpoint_files, clock)
    cleaner.startup()            # on its own threads, or on the given scheduler
    cleaner.clean_filthiest()    # or one log at a time, in the caller's thread

A worker that finds nothing to clean waits for `log.cleaner.backoff.ms` on a scheduler; meanwhile
it neither runs nor holds memory.

Kafka: LogCleaner (4.2)
"""

import threading
from collections.abc import Container, Mapping
from typing import Any, Final

from workbench.cleaner.config import CleanerConfig
from workbench.cleaner.schedule.cleaner_thread import THREAD_NAME, CleanedLog, CleanerThread
from workbench.cleaner.schedule.manager import LogCleanerManager
from workbench.cleaner.schedule.throttler import Throttler
from workbench.config.broker_config import BrokerConfig
from workbench.errors import ConfigError
from workbench.files.names import TopicPartition
from workbench.log.log import Log
from workbench.log.offset_checkpoint_file import OffsetCheckpointFile
from workbench.runtime.clock import Clock
from workbench.runtime.scheduler import Scheduler, ThreadScheduler

RECONFIGURABLE: Final = frozenset(
    {
        "log.cleaner.backoff.ms",
        "log.cleaner.dedupe.buffer.size",
        "log.cleaner.io.buffer.load.factor",
        "log.cleaner.io.buffer.size",
        "log.cleaner.io.max.bytes.per.second",
        "log.cleaner.threads",
    }
)
"""What can be changed while the cleaner works; Kafka also names `message.max.bytes`."""


class LogCleaner:
    """Cleans the logs of a broker. Threads may share it.

    Args:
        config: the broker's configuration.
        logs: the served logs by partition; the mapping changes as logs come and go.
        checkpoint_files: path of a log directory → its `cleaner-offset-checkpoint`.
        clock: the time; lags and delete horizons depend on it.
        scheduler: runs the workers; None makes one with a thread for each. A given one is
            not shut down.
        moving: partitions that are copied to another log directory: not cleaned meanwhile.

    Attributes:
        config: the broker's current configuration.
        manager: chooses the logs, and keeps the workers away from paused ones.
        threads: the workers.
        throttler: keeps the workers below `log.cleaner.io.max.bytes.per.second`.

    Kafka: LogCleaner (4.2)
    """

    def __init__(
        self,
        config: BrokerConfig,
        logs: Mapping[TopicPartition, Log],
        checkpoint_files: Mapping[str, OffsetCheckpointFile],
        clock: Clock,
        scheduler: Scheduler | None = None,
        *,
        moving: Container[TopicPartition] = (),
    ) -> None:
        self.config = config
        self.manager = LogCleanerManager(logs, checkpoint_files, clock, moving)
        self.throttler = Throttler(
            config.log_cleaner_io_max_bytes_per_second,
            sleep=self._sleep,
        )
        self._clock = clock
        self._given_scheduler = scheduler
        self._own_scheduler: ThreadScheduler | None = None
        self._is_started = False
        self._make_threads()

    def _sleep(self, seconds: float) -> None:
        self._stopping.wait(seconds)

    def _make_threads(self) -> None:
        self._stopping = threading.Event()
        config = CleanerConfig.of(self.config)
        self.threads = [
            CleanerThread(
                number,
                config,
                self.manager,
                self.throttler,
                self._clock,
                self._stopping,
            )
            for number in range(self.config.log_cleaner_threads)
        ]

    def startup(self) -> None:
        """Start the workers.

        Kafka: LogCleaner.startup (4.2)
        """
        self._is_started = True
        self.manager.checkpoints.all()  # creates the missing files
        scheduler = self._given_scheduler
        if scheduler is None:
            self._own_scheduler = ThreadScheduler(len(self.threads), THREAD_NAME)
            scheduler = self._own_scheduler
        for thread in self.threads:
            thread.start(scheduler, self.config.log_cleaner_backoff_ms)

    def shutdown(self) -> None:
        """Stop cleaning, and return when no worker is cleaning.

        Kafka: LogCleaner.shutdown (4.2)
        """
        self._is_started = False
        self._stopping.set()
        for thread in self.threads:
            thread.join()
        if self._own_scheduler is not None:
            self._own_scheduler.shutdown()
            self._own_scheduler = None

    def clean_filthiest(self) -> CleanedLog | None:
        """Clean the filthiest log in the caller's thread; see `CleanerThread.clean_filthiest`."""
        return self.threads[0].clean_filthiest()

    def reconfigure(self, values: Mapping[str, Any]) -> None:
        """Change the configuration; cleanings in progress start again with it.

        Args:
            values: values by Kafka's names, those of `RECONFIGURABLE`.

        Raises:
            ConfigError: a name cannot be changed or a value is not allowed; nothing changed.

        Kafka: LogCleaner.validateReconfiguration, reconfigure (4.2)
        """
        for name in values:
            if name not in RECONFIGURABLE:
                raise ConfigError(name, "cannot be changed while the cleaner works")
        config = self.config.with_(values)
        _check_threads(self.config.log_cleaner_threads, config.log_cleaner_threads)
        was_started = self._is_started
        self.shutdown()
        self.config = config
        self.throttler.desired_rate = config.log_cleaner_io_max_bytes_per_second
        self._make_threads()
        if was_started:
            self.startup()

    def metrics(self) -> dict[str, Any]:
        """Return Kafka's gauges by name, including those of the manager.

        Kafka: the gauges of LogCleaner (4.2)
        """
        threads = self.threads
        read = sum(thread.last_stats.bytes_read for thread in threads)
        written = sum(thread.last_stats.bytes_written for thread in threads)
        delay_ms = max(each.last_pre_clean_stats.max_compaction_delay_ms for each in threads)
        return {
            **self.manager.metrics(),
            "max-buffer-utilization-percent": int(
                100 * max(thread.last_stats.map_utilization for thread in threads)
            ),
            "cleaner-recopy-percent": int(100 * written / max(read, 1)),
            "max-clean-time-secs": int(max(thread.last_stats.elapsed_secs for thread in threads)),
            "max-compaction-delay-secs": delay_ms // 1000,
            "DeadThreadCount": sum(thread.is_dead for thread in threads),
        }


def _check_threads(now: int, new: int) -> None:
    """Raise ConfigError if the number of threads changes too much at once.

    Kafka: LogCleaner.validateReconfiguration (4.2)
    """
    if not now // 2 <= new <= 2 * now:
        problem = (
            f"wrong number of threads (found {new}, expected half to double of the current {now})"
        )
        raise ConfigError("log.cleaner.threads", problem)
