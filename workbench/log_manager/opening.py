"""Open one log with what the manager has, and apply changes of the configuration to it.

The registry's lock is held while a log is created and while a configuration changes: so a log is
either created with the new configuration, or gets the change afterwards.

Kafka: LogManager.loadLog, updateTopicConfig, reconfigureDefaultLogConfig (4.2)
"""

import os
from collections.abc import Callable, Mapping
from typing import Any, Final
from uuid import UUID

from workbench.config.broker_rules import MODELED_RULES, BrokerRules
from workbench.config.log_config import LogConfig
from workbench.errors import CorruptCheckpointError, LogDirectoryError, StorageError
from workbench.files.names import TopicPartition, directory_name, parse_directory_name
from workbench.log.log import Log
from workbench.log_manager.context import ManagerContext
from workbench.log_manager.loading import FolderToLoad

SET_ASIDE: Final = "log set aside as stray"
"""Kind of the step that reports it."""

LATER_FORMAT: Final = "does not read them, and takes each for one message"
"""Part of the reason of a log whose format is later: `later_format`."""

StrayTest = Callable[[Log], str | None]
"""Returns why a log belongs to no topic that the broker knows; None if it does."""


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
    """Open the log in a folder; for arguments and errors see `Log.open`.

    Raises:
        StorageError: also if its topic id or leader epochs cannot be parsed: a broker treats
            that as a failure of the disk.
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
            metrics=context.metrics,
            rules=context.rules,
        )
    except CorruptCheckpointError as error:
        directory = os.path.dirname(folder)
        context.failures.add(directory, OSError(str(error)))
        raise StorageError(directory, str(error)) from error
    log.commits_appends = context.commits_appends
    if topic_id is not None and log.topic_id is None:
        log.assign_topic_id(topic_id)
    return log


def load_folder(
    context: ManagerContext, folder: FolderToLoad, is_stray: StrayTest | None = None
) -> Log:
    """Load the log in a folder and add it to the logs of its kind.

    Raises:
        LogDirectoryError: the folder has a name that a broker of the version does not know.
        DuplicateLogError: another directory has a log of the same partition.
        StorageError: the directory failed.
        OSError: the folder cannot be read.
        WorkbenchError: an error that keeps a broker from starting.

    Kafka: LogManager.loadLog (4.2)
    """
    partition = folder.topic_partition
    name = parse_directory_name(os.path.basename(folder.path))
    kind = "log" if name is None else name.kind
    if kind == "stray" and not context.rules.knows_stray_names:
        raise LogDirectoryError(
            folder.path,
            f"a broker of Kafka {context.rules.version} does not know the suffix -stray, and does "
            "not start with such a folder",
        )
    log = open_log(
        context,
        folder.path,
        partition,
        recovery_point=folder.recovery_point,
        log_start_offset=folder.log_start_offset,
        had_clean_shutdown=folder.had_clean_shutdown,
    )
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


def reads_all(rules: BrokerRules) -> bool:
    """Whether a version reads every format of batches."""
    return rules.newest_magic == MODELED_RULES.newest_magic


def later_format(log: Log) -> str:
    """Return why the version cannot read a loaded log: a clause; empty if it can.

    Such a broker loads the log all the same, and takes each batch for one message: no offset that
    it then has is worth saying.

    Kafka: FileMessageSet, Log.loadSegments (0.8.2 to 0.10.2)
    """
    rules = log.context.rules
    if reads_all(rules):
        return ""
    for segment in log.segments:
        magics = segment.log.batches(0, segment.size).rows["magic"]
        if len(magics) and magics.max() > rules.newest_magic:
            return (
                f"batches of magic {magics.max()} are in {os.path.basename(segment.log.path)}: "
                f"Kafka {rules.version} {LATER_FORMAT}"
            )
    return ""


def set_aside(context: ManagerContext, log: Log, reason: str) -> None:
    """Rename a log's folder to `-stray`; it is kept, and not served."""
    unique = f"{context.rng.getrandbits(128):032x}"
    log.rename_directory(directory_name(*log.topic_partition, "stray", unique), reinitialize=False)
    context.registry.stray[log.topic_partition] = log
    context.tell(SET_ASIDE, log.topic_partition, reason, directory=log.directory)


# --- its configuration ----------------------------------------------------------------------


def reconfigure_topic(context: ManagerContext, topic: str, config: Mapping[str, Any]) -> None:
    """Replace a topic's own configuration.

    Raises:
        ConfigError: a name or value is wrong; nothing changed.

    Kafka: LogManager.updateTopicConfig (4.2)
    """
    with context.registry.lock:
        LogConfig.of(config, defaults=context.defaults)
        context.topic_configs[topic] = dict(config)
        for log in context.registry.of_topic(topic):
            _update(context, log)


def reconfigure_defaults(context: ManagerContext, defaults: LogConfig) -> None:
    """Replace the default configuration of topics.

    Raises:
        ConfigError: a topic's own configuration contradicts it; some logs may have changed.

    Kafka: DynamicLogConfig.reconfigure (4.2)
    """
    with context.registry.lock:
        context.defaults = defaults
        for log in context.registry:
            _update(context, log)


def apply_newer_config(context: ManagerContext, log: Log) -> None:
    """Apply to a log that was just loaded what was changed meanwhile.

    Kafka: LogManager.finishedInitializingLog (4.2)
    """
    with context.registry.lock:
        _update(context, log)


def _update(context: ManagerContext, log: Log) -> None:
    new = context.config_of(log.topic_partition.topic)
    old = log.config
    if new == old:
        return
    log.update_config(new)
    context.tell("config changed", log.topic_partition)
    if context.cleaning is not None and old.compact and not new.compact:
        context.cleaning.abort_cleaning(log.topic_partition)
