"""How a log manager locks its directories, drops them when they fail, and closes them.

The clean shutdown file is written last, and only if every log was flushed and closed and both
checkpoints are on the disk: a directory that has it needs no recovery.

Kafka: LogManager.createAndValidateLogDirs, lockLogDirs, handleLogDirFailure, shutdown (4.2)
"""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from workbench.errors import LogDirectoryError, StorageError
from workbench.log.log import Log
from workbench.log_manager.context import ManagerContext
from workbench.log_manager.high_watermarks import checkpoint_high_watermarks
from workbench.log_manager.identity import Identity, agree, make_missing, read_meta_properties
from workbench.log_manager.loading import Outcome


def take_directories(
    context: ManagerContext, node_id: int | None, cluster_id: str | None
) -> Identity:
    """Create missing directories, lock all, and check that they belong to the same broker.

    Directories that cannot be read or written go offline.

    Raises:
        LogDirectoryError: a directory is in use, or belongs to another broker.
        StorageError: every directory failed.
    """
    for directory in context.live:
        with_errors_offline(context, directory.path, directory.prepare)
    for directory in context.live:
        with_errors_offline(context, directory.path, directory.lock)
    check_any_is_live(context)
    found, missing = {}, []
    for directory in context.live:
        try:
            properties = read_meta_properties(directory.path, context.fs)
        except LogDirectoryError:
            raise
        except OSError as error:
            context.failures.add(directory.path, error)
            continue
        if properties is None:
            missing.append(directory.path)
        else:
            found[directory.path] = properties
    identity = agree(found, node_id, cluster_id)
    for path in missing:
        try:
            identity = make_missing(identity, [path], context.fs, context.rng)
        except OSError as error:
            context.failures.add(path, error)
    check_any_is_live(context)
    context.directory_ids.update(identity.directory_ids)
    context.is_kraft = identity.is_kraft
    return identity


def with_errors_offline(context: ManagerContext, path: str, work: Callable[[], None]) -> None:
    """Perform an action on a directory; an error of the operating system takes it offline.

    Raises:
        LogDirectoryError: passed on, because it is not an error of the disk.
    """
    try:
        work()
    except LogDirectoryError:
        raise
    except OSError as error:
        context.failures.add(path, error)


def check_any_is_live(context: ManagerContext) -> None:
    """Raise StorageError if no directory is left; in that case a broker halts.

    Kafka: LogManager.handleLogDirFailure (4.2)
    """
    if context.live:
        return
    for path in context.directories:
        try:
            context.failures.check(path)
        except StorageError as error:
            problem = f"{error.problem}; a broker halts when no directory is left"
            raise StorageError(path, problem) from error
    raise StorageError("log.dirs", "no log directory is named")


def raise_first_refusal(outcomes: Iterable[Outcome]) -> None:
    """Raise the first error that keeps a broker from starting; a note names the folder.

    Kafka: LogManager.loadLogs (4.2)
    """
    for outcome in outcomes:
        error = outcome.error
        if error is not None and outcome.stops_a_broker:
            error.add_note(f"while loading {outcome.path}; a broker does not start with this error")
            raise error


def leave_directory(context: ManagerContext, path: str) -> None:
    """Stop serving the logs of a failed directory, and unlock it.

    Nothing more is written to it. Other directories are not affected.

    Kafka: LogManager.handleLogDirFailure (4.2)
    """
    if context.cleaning is not None:
        context.cleaning.checkpoints.leave_directory(path)
    with context.registry.lock:
        logs = context.registry.pop_directory(path)
        logs += context.deletion.drop_directory(path)
        context.directory_ids.pop(path, None)
    for log in logs:
        log.close_handlers()
    context.directories[path].unlock()
    context.tell("directory left", path, "the log directory failed", logs=len(logs))
    if not context.live:
        context.tell(
            "all directories failed", path, "a broker halts when every log directory has failed"
        )


def close_directories(context: ManagerContext, broker_epoch: int | None) -> None:
    """Flush and close all logs; then, if all succeeded, write checkpoints and clean shutdown file.

    High watermarks are written even if a log could not be closed: they need not be exact.

    Kafka: ReplicaManager.shutdown, LogManager.shutdown (4.2)
    """
    by_directory = context.registry.by_directory()
    threads = context.config.num_recovery_threads_per_data_dir
    for directory in context.live:
        logs = by_directory.get(directory.path, {})
        closed = _close_all(context, list(logs.values()), threads)
        checkpoint_high_watermarks(context, [directory.path])
        if not closed:
            context.tell("marker not written", directory.path, "a log could not be closed")
            continue
        context.checkpoint_recovery_points(directory.path, logs)
        context.checkpoint_log_start_offsets(directory.path, logs)
        if context.failures.is_offline(directory.path):
            continue
        if directory.had_clean_shutdown or directory.loaded:
            write_marker = partial(directory.write_marker, broker_epoch)
            with_errors_offline(context, directory.path, write_marker)


def release(context: ManagerContext) -> None:
    """Close what is still open, without flushing, and unlock all directories."""
    registry = context.registry
    for log in [*registry, *registry.stray.values(), *context.deletion.logs]:
        log.close_handlers()
    for directory in context.directories.values():
        directory.unlock()


def _close_all(context: ManagerContext, logs: list[Log], threads: int) -> bool:
    """Flush and close logs of one directory; return whether all succeeded."""

    def close(log: Log) -> bool:
        try:
            log.flush(force_active_segment=True)
            log.close()
        except (StorageError, OSError) as error:
            context.tell("log not closed", log.topic_partition, str(error))
            return False
        return True

    if threads == 1:
        return all(list(map(close, logs)))
    with ThreadPoolExecutor(threads, "log-closing") as pool:
        return all(list(pool.map(close, logs)))
