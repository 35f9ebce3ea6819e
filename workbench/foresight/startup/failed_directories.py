"""Say what becomes of a start, and of the logs, if a log directory fails: by version, in one place.

Kafka: LogManager.loadLogs, getOrCreateLog (3.0 to 4.4), ReplicaManager.handleLogDirFailure (3.7)
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from workbench.config.broker_rules import FailedDirectoryRule
from workbench.config.internal_topics import METADATA_TOPIC
from workbench.file_system.local import FileSystem
from workbench.files.names import TopicPartition, directory_name, parse_directory_name
from workbench.foresight.startup.node import NodeStart
from workbench.foresight.startup.prediction import SERVED, PartitionStart, Verdict
from workbench.log_manager.context import ManagerContext


def why_it_ends(
    failed: Mapping[str, OSError], by_logs: Collection[str], node: NodeStart, directories: int
) -> str:
    """Return why a broker ends because of directories that failed; empty if it goes on.

    Args:
        failed: path of a log directory → what failed.
        by_logs: those of them that a log took offline, and no file of the directory's own.
        node: the node.
        directories: how many log directories it has.
    """
    for path, error in failed.items():
        if len(failed) == directories:
            return f"every log directory has failed, and the broker halts: {path}: {error}"
        rule = node.rules.failed_directory
        if rule is FailedDirectoryRule.ENDS_IN_A_LOG and path in by_logs:
            return f"{path}: {error}"
        keeps = rule is FailedDirectoryRule.KEEPS_PLACES and node.is_kraft
        if keeps and path == node.metadata_dir:
            return f"the log directory of the metadata log has failed: {path}: {error}"
    return ""


def with_failed_directories(
    rows: Iterable[PartitionStart],
    why: Mapping[str, str],
    verdict: Verdict,
    fs: FileSystem,
    *,
    starts: bool,
) -> Iterator[PartitionStart]:
    """Yield the rows, those in directories that failed as not served, with one for every log.

    Args:
        rows: the logs that were loaded, or tried.
        why: path of a log directory → why no log of it is served.
        verdict: "offline", or "unread" if it could not be read here.
        fs: lists the directories.
        starts: whether the broker starts. If not, no log is served, and the rows keep what each log
            alone would do.
    """
    seen = set()
    for row in rows:
        seen.add((row.directory, row.name))
        is_lost = starts and row.directory in why and row.verdict in SERVED
        yield _lost(row, verdict, why[row.directory]) if is_lost else row
    for directory, reason in why.items():
        for name in _logs_in(directory, fs):
            if (directory, name) not in seen:
                yield PartitionStart(directory, name, verdict, reason)


def _lost(row: PartitionStart, verdict: Verdict, reason: str) -> PartitionStart:
    """Return the row of a log that was loaded before, or after, its directory failed."""
    return replace(
        row, verdict=verdict, reason=f"its log directory fails: {reason}", log_start_offset=None,
        log_end_offset=None, unnoticed=(), consumers=(),
    )  # fmt: skip


def _logs_in(directory: str, fs: FileSystem) -> Sequence[str]:
    """Return the names of the folders of a directory's logs; nothing if it cannot be listed."""
    try:
        entries = list(fs.list(directory))
    except OSError:
        return ()
    parsed = ((each.name, parse_directory_name(each.name)) for each in entries if each.is_directory)
    return [
        name
        for name, found in parsed
        if found is not None and found.kind == "log" and found.topic != METADATA_TOPIC
    ]


def created_partitions(
    context: ManagerContext,
    node: NodeStart,
    rows: Iterable[PartitionStart],
    failed: Collection[str],
    failed_before_loading: Collection[str],
) -> tuple[str, ...]:
    """Return the partitions for which the node makes an empty log.

    Since 3.7 a node without every directory makes none: the log may be in the others. From 3.3 to
    3.6 it makes again what it had not loaded, and leads it from offset 0.

    Args:
        context: what was loaded.
        node: the node.
        rows: what becomes of the logs, copies that become logs among them.
        failed: the directories that failed.
        failed_before_loading: those of them that failed until all logs were loaded.

    Kafka: LogManager.getOrCreateLog (3.3 to 4.4)
    """
    known = node.topics
    makes_again = node.rules.failed_directory is FailedDirectoryRule.MAKES_LOGS_AGAIN
    if known is None or (failed and not makes_again):
        return ()
    there = {
        partition
        for partition, log in context.registry.current.items()
        if log.parent_directory not in failed_before_loading
    }
    others = (  # copies that become logs, and logs that were not read here
        parse_directory_name(row.name) for row in rows if row.becomes_log or row.verdict == "unread"
    )
    there |= {TopicPartition(each.topic, each.partition) for each in others if each is not None}
    found = (TopicPartition(topic, number) for topic, number in known.replicas_here())
    return tuple(directory_name(*each) for each in sorted(found) if each not in there)


def leaderless_partitions(
    context: ManagerContext, node: NodeStart, created: Iterable[str]
) -> Iterator[str]:
    """Yield those of the created partitions that may remain without a leader.

    Args:
        context: the log directories.
        node: the node.
        created: names of partitions, from `created_partitions`.
    """
    if node.topics is None or not node.rules.has_directory_ids:
        return
    ids = {each for path in context.directories if (each := node.directory_id(path)) is not None}
    topic_ids = node.topics.cluster.topic_ids
    for folder in created:
        name = parse_directory_name(folder)
        if name is None or name.topic not in topic_ids:
            continue
        if node.topics.lost_directory(topic_ids[name.topic], name.partition, ids):
            yield folder
