"""The work of a log manager on all its logs: retention, flushing, checkpoints, truncation.

A log whose directory fails does not keep the others from being processed.

Kafka: LogManager.cleanupLogs, flushDirtyLogs, checkpointLogRecoveryOffsets, truncateTo (4.2)
"""

from collections.abc import Mapping
from contextlib import nullcontext

from workbench.errors import StorageError
from workbench.files.names import TopicPartition
from workbench.log.log import Log
from workbench.log_manager.cleaning import pausing_all_but_compacted, truncating
from workbench.log_manager.context import ManagerContext


def delete_old_segments(context: ManagerContext) -> int:
    """Apply retention to all logs that are not compacted; return how many segments were deleted.

    Kafka: LogManager.cleanupLogs (4.2)
    """
    deleted = 0
    with pausing_all_but_compacted(context) as partitions:
        for partition in partitions:
            for is_future in (False, True):
                log = context.registry.get(partition, is_future=is_future)
                if log is not None:
                    deleted += _delete_old_segments_of(log)
    return deleted


def _delete_old_segments_of(log: Log) -> int:
    try:
        return sum(verdict.is_deleted for verdict in log.delete_old_segments())
    except StorageError:
        return 0  # recorded where it happened: the directory is offline


def flush_dirty_logs(context: ManagerContext) -> int:
    """Flush the logs that were not flushed for `flush.ms`; return how many.

    Kafka: LogManager.flushDirtyLogs (4.2)
    """
    flushed = 0
    for log in context.registry:
        if context.clock.now() - log.last_flush_time >= log.config.flush_ms:
            try:
                log.flush()
            except StorageError:
                continue  # recorded where it happened: the directory is offline
            flushed += 1
    return flushed


def checkpoint_recovery_points(context: ManagerContext) -> None:
    """Write the recovery points of all live directories.

    Kafka: LogManager.checkpointLogRecoveryOffsets (4.2)
    """
    logs = context.registry.by_directory()
    for directory in context.live:
        context.checkpoint_recovery_points(directory.path, logs.get(directory.path, {}))


def checkpoint_log_start_offsets(context: ManagerContext) -> None:
    """Write the log start offsets of all live directories.

    Kafka: LogManager.checkpointLogStartOffsets (4.2)
    """
    logs = context.registry.by_directory()
    for directory in context.live:
        context.checkpoint_log_start_offsets(directory.path, logs.get(directory.path, {}))


def truncate_to(
    context: ManagerContext, offsets: Mapping[TopicPartition, int], *, is_future: bool
) -> None:
    """Truncate logs to offsets, then write the recovery points of their directories.

    Log start offsets are written too if one fell: a start past the log end offset empties the log
    when it is loaded. (Kafka writes those a minute later.)

    Kafka: LogManager.truncateTo (4.2)
    """
    touched: dict[
        str, bool
    ] = {}  # path of a directory → whether one of its logs starts earlier now
    for partition, offset in offsets.items():
        log = context.registry.get(partition, is_future=is_future)
        if log is None:
            continue
        stops_cleaning = not is_future and offset < log.active_segment.base_offset
        start = log.log_start_offset
        with truncating(context, log) if stops_cleaning else nullcontext():
            if log.truncate_to(offset):
                path = log.parent_directory
                touched[path] = touched.get(path, False) or log.log_start_offset < start
    for path, starts_earlier in touched.items():
        _checkpoint(context, path, starts_earlier=starts_earlier)


def truncate_fully_and_start_at(
    context: ManagerContext,
    topic_partition: TopicPartition,
    offset: int,
    *,
    is_future: bool,
    log_start_offset: int | None,
) -> None:
    """Delete all records of a log and restart it at an offset; write checkpoints as above.

    Kafka: LogManager.truncateFullyAndStartAt (4.2)
    """
    log = context.registry.get(topic_partition, is_future=is_future)
    if log is None:
        return
    start = log.log_start_offset
    with nullcontext() if is_future else truncating(context, log):
        log.truncate_fully_and_start_at(offset, log_start_offset)
    starts_earlier = log.log_start_offset < start
    _checkpoint(context, log.parent_directory, starts_earlier=starts_earlier)


def _checkpoint(context: ManagerContext, path: str, *, starts_earlier: bool) -> None:
    if starts_earlier:
        context.checkpoint_log_start_offsets(path)
    context.checkpoint_recovery_points(path)
