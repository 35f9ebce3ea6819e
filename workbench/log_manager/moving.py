"""Logs that move: to another directory, to `-delete`, to `-stray`.

Each move is one rename of the folder; the checkpoints of its directory are written after it, so
that they do not name a removed log.

Kafka: LogManager.replaceCurrentWithFutureLog, asyncDelete (4.2)
"""

from collections.abc import Callable, Iterable

from workbench.errors import StorageError
from workbench.files.names import TopicPartition, directory_name
from workbench.log.log import Log
from workbench.log_manager.context import ManagerContext


def replace_current_with_future_log(
    context: ManagerContext, topic_partition: TopicPartition
) -> None:
    """Make the copy that was moving in the partition's log, and delete the one it replaces.

    Raises:
        StorageError: one of the two is missing: its directory is offline.

    Kafka: LogManager.replaceCurrentWithFutureLog (4.2)
    """
    registry = context.registry
    with registry.lock:
        source = registry.get(topic_partition)
        target = registry.get(topic_partition, is_future=True)
        for log, what in ((source, "log"), (target, "future log")):
            if log is None:
                where = ", ".join(context.offline) or "no directory"
                raise StorageError(where, f"the {what} of {topic_partition} is offline")
        assert source is not None
        assert target is not None
        replace(context, source, target, update_high_watermark=True)


def replace(
    context: ManagerContext, source: Log | None, target: Log, *, update_high_watermark: bool = False
) -> None:
    """Make ``target``, a future log, the current one; it replaces ``source``, if there is one.

    Kafka: LogManager.replaceCurrentWithFutureLog (4.2)
    """
    partition = target.topic_partition
    target.flush()  # the log that it replaces is soon removed; Kafka relies on the other replicas
    target.rename_directory(directory_name(*partition))
    if update_high_watermark and source is not None:
        target.update_high_watermark(source.high_watermark)
    context.registry.replace(target)
    if context.cleaning is not None and source is not None:
        directories = (source.parent_directory, target.parent_directory)
        context.cleaning.alter_checkpoint_dir(partition, *directories)
    context.registry.pop(partition, is_future=True)  # last, because it can be cleaned from now on
    context.tell("log moved", partition, directory=target.directory)
    if source is None:
        return
    try:
        source.rename_directory(_marked(context, partition, is_stray=False))
        context.checkpoint(source.parent_directory)
        context.deletion.add(source)
    except StorageError:
        source.close_handlers()  # no map has it any more, so nothing else would
        raise


def delete_later(
    context: ManagerContext,
    topic_partition: TopicPartition,
    *,
    is_future: bool = False,
    is_stray: bool = False,
    checkpoint: bool = True,
) -> Log | None:
    """Rename a log's folder to `-delete` (removed later) or to `-stray` (kept).

    Args:
        topic_partition: the log's partition.
        is_future: whether it is the copy that is moving in, not the log that is served.
        is_stray: whether to rename it to `-stray`.
        checkpoint: whether to write the checkpoints of its directory.

    Returns:
        The log; None if there is none.

    Raises:
        StorageError: there is none, but an offline directory may have it.

    Kafka: LogManager.asyncDelete (4.2)
    """
    log = context.registry.pop(topic_partition, is_future=is_future)
    if log is None:
        if context.offline:
            where = ", ".join(context.offline)
            raise StorageError(where, f"offline, and may hold {topic_partition}: not deleted")
        return None
    if context.cleaning is not None and not is_future:
        context.cleaning.abort_cleaning(topic_partition)
        if checkpoint:
            context.cleaning.checkpoints.update(log.parent_directory, remove=topic_partition)
    name = _marked(context, topic_partition, is_stray=is_stray)
    log.rename_directory(name, reinitialize=False)
    if is_stray:
        context.registry.stray[topic_partition] = log
    else:
        context.deletion.add(log)
    what = "set aside as stray" if is_stray else "marked for deletion"
    context.tell(f"log {what}", topic_partition, directory=log.directory)
    if checkpoint:
        context.checkpoint(log.parent_directory)
    return log


def delete_all_later(
    context: ManagerContext,
    partitions: Iterable[TopicPartition],
    *,
    is_stray: bool,
    on_error: Callable[[TopicPartition, Exception], None],
) -> None:
    """Call `delete_later` for current and future logs of several partitions.

    The checkpoints of each directory are written once, after all folders are renamed.

    Kafka: LogManager.asyncDelete (4.2)
    """
    touched: list[str] = []
    for partition in partitions:
        for is_future in (False, True):
            log = context.registry.get(partition, is_future=is_future)
            if log is None:
                continue
            touched.append(log.parent_directory)
            try:
                delete_later(
                    context, partition, is_future=is_future, is_stray=is_stray, checkpoint=False
                )
            except Exception as error:  # noqa: BLE001 - the caller decides
                on_error(partition, error)
    by_directory = context.registry.by_directory()
    for path in dict.fromkeys(touched):
        if context.cleaning is not None:
            context.cleaning.checkpoints.update(path)
        logs = by_directory.get(path, {})
        context.checkpoint_recovery_points(path, logs)
        context.checkpoint_log_start_offsets(path, logs)


def _marked(context: ManagerContext, topic_partition: TopicPartition, *, is_stray: bool) -> str:
    unique = f"{context.rng.getrandbits(128):032x}"
    return directory_name(*topic_partition, "stray" if is_stray else "delete", unique)
