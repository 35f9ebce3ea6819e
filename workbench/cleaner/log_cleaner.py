"""The log cleaner: workers that keep compacted logs small, and can be changed while they work.

    cleaner = LogCleaner(config, logs, checkpoint_files, clock)
    cleaner.startup()            # on threads of its own, or on the scheduler that it was given
    cleaner.clean_filthiest()    # or one log at a time, by hand

A worker that finds nothing to clean waits for `log.cleaner.backoff.ms`, on a scheduler: it neither
runs nor holds memory meanwhile.

Kafka: LogCleaner (4.2)
"""

import threading
from collections.abc import Container, Mapping
from typing import Any, Final

from workbench.cleaner.cleaner_thread import CleanedLog, CleanerThread
from workbench.cleaner.config import CleanerConfig
from workbench.cleaner.manager import LogCleanerManager
from workbench.cleaner.throttler import Throttler
from workbench.errors import ConfigError
from workbench.files.names import TopicPartition
from workbench.log.broker_config import BrokerConfig
from workbench.log.clock import Clock
from workbench.log.log import Log
from workbench.log.offset_checkpoint_file import OffsetCheckpointFile
from workbench.log.scheduler import Scheduler, ThreadScheduler

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
"""What can be changed while it works; Kafka names `message.max.bytes` too, which counts at once."""

_THREAD_NAME: Final = "kafka-log-cleaner-thread-"


class LogCleaner:
    """Cleans the logs of a broker. Threads may share it.

    Args:
        config: of the broker.
        logs: the logs that are served, by partition, as they come and go.
        checkpoint_files: path of a log directory → its `cleaner-offset-checkpoint`.
        clock: the time; lags and delete horizons are measured by it.
        scheduler: runs the workers; None makes one with a thread for each. One that is given is
            not shut down.
        moving: partitions that are copied to another log directory: none is cleaned meanwhile.

    Attributes:
        config: of the broker, as it is now.
        manager: chooses the logs, and is asked to keep away from them.
        threads: the workers.
        throttler: keeps them below `log.cleaner.io.max.bytes.per.second`.

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
                f"{_THREAD_NAME}{number}",
                config,
                self.manager,
                self.throttler,
                self._clock,
                self._stopping,
            )
            for number in range(self.config.log_cleaner_threads)
        ]

    def startup(self) -> None:
        """Let the workers begin.

        Kafka: LogCleaner.startup (4.2)
        """
        self._is_started = True
        self.manager.checkpoints.all()  # makes the files that are not there
        scheduler = self._given_scheduler
        if scheduler is None:
            self._own_scheduler = ThreadScheduler(len(self.threads), _THREAD_NAME)
            scheduler = self._own_scheduler
        for thread in self.threads:
            thread.start(scheduler, self.config.log_cleaner_backoff_ms)

    def shutdown(self) -> None:
        """End what is being cleaned, and return when nothing is any more.

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
        """Clean a log in the caller's thread; see `CleanerThread.clean_filthiest`."""
        return self.threads[0].clean_filthiest()

    def reconfigure(self, values: Mapping[str, Any]) -> None:
        """Change the configuration; what is being cleaned begins anew with it.

        Args:
            values: by Kafka's names, those of `RECONFIGURABLE`.

        Raises:
            ConfigError: a name cannot be changed or a value is not allowed; nothing is changed.

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
        """Return Kafka's gauges by name, also those of the manager.

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
            "max-clean-time-secs": max(thread.last_clean_ms for thread in threads) // 1000,
            "max-compaction-delay-secs": delay_ms // 1000,
            "DeadThreadCount": sum(thread.is_dead for thread in threads),
        }


def _check_threads(now: int, new: int) -> None:
    """Raise ConfigError if the number of threads changes too much at once.

    Kafka: LogCleaner.validateReconfiguration (4.2)
    """
    if not now // 2 <= new <= 2 * now:
        problem = f"{new} is not from half to double the {now} that there are"
        raise ConfigError("log.cleaner.threads", problem)
