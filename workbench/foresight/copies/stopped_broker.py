"""Change a log directory as a broker that starts and stops does, whatever is changed between.

The directory is ready for a broker afterwards: shut down cleanly, with checkpoints and the clean
shutdown file.

Kafka: LogManager.startup, shutdown (4.2)
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from workbench.config.broker_config import BrokerConfig
from workbench.config.broker_rules import BrokerRules
from workbench.errors import StorageError
from workbench.file_system.local import FileSystem
from workbench.log_manager.loading import Outcome, Progress
from workbench.log_manager.manager import LogManager
from workbench.runtime.clock import ManualClock
from workbench.runtime.scheduler import ManualScheduler
from workbench.runtime.steps import Observer

_CLOSING_MS: Final = 1  # after the last delay, so that every waiting task is due


class Started(NamedTuple):
    """What has started.

    Attributes:
        manager: the loaded logs.
        outcomes: what loading each of them gave.
        clock: its time; it does not move by itself.
    """

    manager: LogManager
    outcomes: list[Outcome]
    clock: ManualClock


@contextmanager
def started(
    path: str,
    now: int,
    broker: BrokerConfig,
    rules: BrokerRules,
    *,
    topic_configs: Mapping[str, Mapping[str, Any]],
    fs: FileSystem,
    observer: Observer | None,
    progress: Progress | None,
    commits_appends: bool = True,
) -> Iterator[Started]:
    """Load the logs of a directory; at the end delete what is marked for deletion, and close.

    Args:
        path: the log directory, which is changed.
        now: ms since the epoch.
        broker: the broker's configuration.
        rules: those of its version.
        topic_configs: topic → its own configuration, by Kafka's names.
        fs: the file system that is written through.
        observer: the receiver of each step.
        progress: a callback after each loaded partition.
        commits_appends: whether all replicas held all records.

    Raises:
        LogDirectoryError: the directory is in use, or a directory's name is not one that a broker
            gives.
        WorkbenchError: a log cannot be loaded.
        StorageError: the directory failed; earlier changes are kept.
    """
    clock = ManualClock(now)
    manager = LogManager(
        [path],
        broker,
        fs=fs,
        clock=clock,
        scheduler=ManualScheduler(clock),
        observer=observer,
        topic_configs=topic_configs,
        progress=progress,
        rules=rules,
        commits_appends=commits_appends,
    )
    outcomes = manager.startup(with_tasks=False)
    try:
        yield Started(manager, outcomes, clock)
    finally:
        if not manager.offline_directories:
            delays = [log.config.file_delete_delay_ms for log in manager.logs.values()]
            clock.advance(max(delays, default=0) + _CLOSING_MS)
        manager.shutdown()
    if manager.offline_directories:
        raise StorageError(manager.offline_directories[0], "writing to the log directory failed")
