"""The log cleaner of a log manager, and how it is kept away from logs that others work on.

Kafka: the calls of LogManager on LogCleaner (4.2)
"""

from collections.abc import Iterator
from contextlib import contextmanager

from workbench.cleaner.schedule.log_cleaner import LogCleaner
from workbench.files.names import CLEANER_OFFSETS, TopicPartition
from workbench.log.log import Log
from workbench.log_manager.context import ManagerContext
from workbench.runtime.scheduler import Scheduler


def make_cleaner(context: ManagerContext, scheduler: Scheduler | None) -> LogCleaner | None:
    """Return the cleaner of the loaded logs; None with `log.cleaner.enable=false`.

    Args:
        context: the manager's context; gets the cleaner.
        scheduler: runs its workers; None gives it threads of its own.

    Kafka: LogManager.startupWithConfigOverrides (4.2)
    """
    if not context.config.log_cleaner_enable:
        return None
    cleaner = LogCleaner(
        context.config,
        context.registry.current,
        {directory.path: directory.checkpoint(CLEANER_OFFSETS) for directory in context.live},
        context.clock,
        scheduler,
        moving=context.registry.future,
    )
    context.cleaning = cleaner.manager
    return cleaner


@contextmanager
def pausing_all_but_compacted(context: ManagerContext) -> Iterator[list[TopicPartition]]:
    """Keep the cleaner away from logs that are not compacted, and return them for retention.

    They may become compacted meanwhile. Logs that the cleaner is working on are left out.

    Kafka: LogManager.cleanupLogs (4.2)
    """
    if context.cleaning is None:
        logs = list(context.registry.current.items())
        yield [partition for partition, log in logs if not log.config.compact]
        return
    paused = context.cleaning.pause_cleaning_for_non_compacted_partitions()
    try:
        yield paused
    finally:
        context.cleaning.resume_cleaning(paused)


@contextmanager
def truncating(context: ManagerContext, log: Log) -> Iterator[None]:
    """Keep the cleaner away from a log; then lower its checkpoint to the active segment.

    Kafka: LogManager.truncateTo, maybeTruncateCleanerCheckpointToActiveSegmentBaseOffset (4.2)
    """
    cleaning, partition = context.cleaning, log.topic_partition
    if cleaning is None:
        yield
        return
    cleaning.abort_and_pause_cleaning(partition)
    try:
        yield
        base_offset = log.active_segment.base_offset
        cleaning.checkpoints.truncate(log.parent_directory, partition, base_offset)
    finally:
        cleaning.resume_cleaning([partition])
