"""Open one log with what the manager has: configuration, file system, clock, scheduler.

Kafka: LogManager.loadLog (4.2)
"""

import os
from collections.abc import Callable
from typing import Final
from uuid import UUID

from workbench.errors import CorruptCheckpointError, StorageError
from workbench.files.names import TopicPartition, directory_name, parse_directory_name
from workbench.log.log import Log
from workbench.log_manager.context import ManagerContext
from workbench.log_manager.loading import FolderToLoad
from workbench.log_manager.reconfiguration import apply_newer_config

SET_ASIDE: Final = "log set aside as stray"
"""Kind of the step that tells of it."""

StrayTest = Callable[[Log], str | None]
"""Tells of a log why it belongs to nothing that the broker knows; None if it does."""


def open_log(
    context: ManagerContext,
    folder: str,
    topic_partition: TopicPartition,
    *,
    recovery_point: int = 0,
    log_start_offset: int = 0,
    had_clean_shutdown: bool = True,
    topic_id: UUID | None = None,
) -> Log:
    """Open the log in a folder; arguments and errors as of `Log.open`.

    Raises:
        StorageError: also where its topic id or leader epochs cannot be understood: for a broker
            that is a failure of the disk.
    """
    try:
        log = Log.open(
            folder,
            context.config_of(topic_partition.topic),
            log_start_offset=log_start_offset,
            recovery_point=recovery_point,
            had_clean_shutdown=had_clean_shutdown,
            fs=context.fs,
            clock=context.clock,
            scheduler=context.scheduler,
            failures=context.failures,
            producer_config=context.config.producer_config,
            rng=context.rng,
            observer=context.observer,
        )
    except CorruptCheckpointError as error:
        directory = os.path.dirname(folder)
        context.failures.add(directory, OSError(str(error)))
        raise StorageError(directory, str(error)) from error
    if topic_id is not None and log.topic_id is None:
        log.assign_topic_id(topic_id)
    return log


def load_folder(
    context: ManagerContext, folder: FolderToLoad, is_stray: StrayTest | None = None
) -> Log:
    """Load the log in a folder and put it where its kind belongs.

    Raises:
        DuplicateLogError: another directory has a log of the same partition.
        StorageError: the directory failed.
        OSError: the folder cannot be read.
        WorkbenchError: what stops a broker from starting.

    Kafka: LogManager.loadLog (4.2)
    """
    partition = folder.topic_partition
    log = open_log(
        context,
        folder.path,
        partition,
        recovery_point=folder.recovery_point,
        log_start_offset=folder.log_start_offset,
        had_clean_shutdown=folder.had_clean_shutdown,
    )
    name = parse_directory_name(os.path.basename(folder.path))
    kind = "log" if name is None else name.kind
    if kind == "delete":
        context.deletion.add(log)
    elif kind == "stray":
        context.registry.stray[partition] = log
    elif is_stray is not None and (reason := is_stray(log)) is not None:
        set_aside(context, log, reason)
    else:
        context.registry.put(log)
        apply_newer_config(context, log)
    return log


def set_aside(context: ManagerContext, log: Log, reason: str) -> None:
    """Rename a log's folder to `-stray`; it is kept, and not served."""
    unique = f"{context.rng.getrandbits(128):032x}"
    log.rename_directory(directory_name(*log.topic_partition, "stray", unique), reinitialize=False)
    context.registry.stray[log.topic_partition] = log
    context.tell(SET_ASIDE, log.topic_partition, reason, directory=log.directory)
