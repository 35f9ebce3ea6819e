"""Check `meta.properties`, `.kafka_cleanshutdown` and names, and several directories together.

Kafka: LogManager.loadLogs, MetaPropertiesEnsemble, CleanShutdownFileHandler (4.2)
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Final

from workbench.config.broker_rules import MODELED_RULES, BrokerRules, StrayRule
from workbench.config.internal_topics import METADATA_LOG, METADATA_TOPIC
from workbench.files import names, text
from workbench.files.clean_shutdown import CleanShutdown
from workbench.inspection.findings import Finding, Severity
from workbench.inspection.listing import Root
from workbench.inspection.node_start.identity import (
    is_kraft_node,
    judge_alike,
    judge_ids,
    judge_missing,
    judge_old_properties,
    judge_properties,
    judge_together,
    node_id_of,
)
from workbench.inspection.node_start.judge import judge_metadata_log
from workbench.inspection.node_start.known_topics import KnownTopics, known_topics
from workbench.inspection.node_start.membership import (
    judge_configs,
    judge_membership,
    judge_records,
)
from workbench.inspection.partition import DiskPartition
from workbench.inspection.unreadable import findings_of_unread, if_readable, unreadable
from workbench.inspection.verify.leftovers import HALF_WRITTEN, IGNORED
from workbench.inspection.verify.metadata_log import verify_bootstrap
from workbench.inspection.verify.partition import Era
from workbench.inspection.verify.shutdown_state import has_own_files


def era_of(root: Root) -> Era:
    """Return which files the partitions of a log directory should have, judged by those there."""
    used = [partition for partition in root.partitions if partition.kind == "log"]
    timed = any("timeindex" in s.files for partition in used for s in partition.segments)
    epochs = any(partition.file(names.LEADER_EPOCHS) for partition in used)
    metadata = any(partition.file(names.PARTITION_METADATA) for partition in used)
    meta = if_readable(lambda: root.meta_properties)
    version = None if meta is None else meta.version
    kraft = version == 1 or (version is None and metadata)
    return Era(timed or epochs or metadata, epochs or metadata, metadata, kraft)


def verify_root(root: Root, era: Era, rules: BrokerRules) -> Iterator[Finding]:
    """Yield what is wrong with a log directory's plain files and with the names in it."""
    yield from findings_of_unread(root.unread)
    if not root.is_log_directory:
        return
    yield from _meta_properties(root, era, rules)
    yield from _clean_shutdown(root)
    yield from _names(root)


def _clean_shutdown(root: Root) -> Iterator[Finding]:
    flag = root.file(names.CLEAN_SHUTDOWN)
    if flag is not None:
        try:
            contents = flag.read(CleanShutdown)
        except OSError as error:
            yield from unreadable(flag.path, error)
            return
        for problem in contents.problems:
            broker = "A broker still sees a clean shutdown; only the broker epoch is lost."
            yield Finding(
                "clean-shutdown-damaged", "info", flag.path, problem.position, None, problem.found,
                problem.expected, broker,
            )  # fmt: skip


def _meta_properties(root: Root, era: Era, rules: BrokerRules) -> Iterator[Finding]:
    entry = root.file(names.META_PROPERTIES)
    try:
        meta = root.meta_properties
    except OSError as error:
        yield from unreadable(str(error.filename), error)
        return
    if entry is None or meta is None:
        if root.has_name(names.META_PROPERTIES):
            return  # it is not read, which has a finding of its own
        refusal = judge_missing(root) if era.epochs_and_snapshots and has_own_files(root) else None
        if refusal is not None:
            yield refusal.finding
        return
    refusal = judge_properties(root, rules) or judge_old_properties(root, rules) or judge_ids(root)
    if refusal is not None:
        yield refusal.finding


def _names(root: Root) -> Iterator[Finding]:
    for entry in root.unknown:
        broker = IGNORED
        found = f"{entry.size} bytes"
        yield Finding("unknown-file", "info", entry.path, None, None, found, "", broker)
    for entry in root.files:
        if entry.name.endswith(names.TEMPORARY) and entry not in root.unknown:
            broker = HALF_WRITTEN
            found = f"{entry.size} bytes"
            yield Finding("leftover-temporary", "info", entry.path, None, None, found, "", broker)
    for folder in root.unknown_folders:
        broker = (
            "A broker does not start: every folder must be a partition directory (KafkaException)."
        )
        path = f"{root.path}/{folder}"
        wanted = "a name like topic-0"
        yield Finding("unknown-folder", "error", path, None, None, "a folder", wanted, broker)
    for partition in root.partitions:
        problem = names.topic_name_problem(partition.topic)
        if problem is not None and partition.kind == "log":
            broker = "A broker loads the log, but no topic of this name can be in the cluster."
            yield Finding("topic-name", "warning", partition.path, None, None, problem, "", broker)
        kind = {"delete": "deleted"}.get(partition.kind, partition.kind)
        if partition.kind != "log":
            broker = _FOLDERS[partition.kind]
            found = f"{len(partition.files)} files"
            yield Finding(
                f"directory-{kind}", "info", partition.path, None, None, found, "", broker
            )


_FOLDERS: Final = {
    "delete": "A broker deletes the directory a minute after it renamed it, or after it starts.",
    "stray": "A broker does not serve this log: the cluster gave the broker no such partition.",
    "future": "A broker continues the copy, and swaps it in when it has caught up.",
}


def verify_roots(roots: Sequence[Root], rules: BrokerRules = MODELED_RULES) -> Iterator[Finding]:
    """Yield the contradictions between log directories that were opened together.

    Args:
        roots: the log directories.
        rules: of the broker that findings speak of.
    """
    directories = [root for root in roots if root.is_log_directory]
    first: dict[str, str] = {}
    for root in directories:
        for partition in root.partitions:
            if partition.kind != "log":
                continue
            if partition.name in first:
                broker = (
                    "A broker that has both in log.dirs does not start (IllegalStateException: "
                    "Duplicate log directories found)."
                )
                found = f"also in {first[partition.name]}"
                kind = "duplicate-partition"
                yield Finding(
                    kind, "error", partition.path, None, None, found, "one directory", broker
                )
            first.setdefault(partition.name, partition.path)
    yield from _unformatted(directories)
    is_kraft = is_kraft_node(rules, directories)
    for refusal in (
        *judge_alike(directories, rules, is_kraft=is_kraft), *judge_together(directories)
    ):  # fmt: skip
        yield refusal.finding
    yield from _topic_ids(directories)
    yield from _of_metadata(directories, rules)


def _unformatted(roots: Sequence[Root]) -> Iterator[Finding]:
    """Yield the directories with nothing of a broker beside those of a KRaft broker."""
    found = [if_readable(partial(getattr, root, "meta_properties")) for root in roots]
    if not any(meta is not None and meta.version for meta in found):
        return
    for root in roots:
        refusal = None if has_own_files(root) else judge_missing(root)
        if refusal is not None:
            yield refusal.finding


def _topic_ids(roots: Sequence[Root]) -> Iterator[Finding]:
    by_topic: dict[str, tuple[str, str]] = {}
    by_id: dict[str, tuple[str, str]] = {}
    for partition in (p for root in roots for p in root.partitions if p.kind in {"log", "future"}):
        topic_id = partition.topic_id
        if topic_id is None:
            continue
        known, where = by_topic.setdefault(partition.topic, (topic_id, partition.name))
        topic, other = by_id.setdefault(topic_id, (partition.topic, partition.name))
        path = f"{partition.path}/{names.PARTITION_METADATA}"
        found = f"topic id {topic_id}"
        if known != topic_id:
            broker = "A broker sets the directory whose id is not the cluster's aside as stray."
            wanted = f"{known}, as in {where}"
            yield Finding("topic-id", "warning", path, None, None, found, wanted, broker)
        elif topic != partition.topic:
            broker = "A broker compares ids, not names: it loads the log, but does not serve it."
            wanted = f"an id of its own; {other} has this one"
            yield Finding("topic-id", "warning", path, None, None, found, wanted, broker)


def _of_metadata(roots: Sequence[Root], rules: BrokerRules) -> Iterator[Finding]:
    """Yield what the metadata log, and the files beside it, make of the other partitions."""
    found = [root for root in roots if any(p.name == METADATA_LOG for p in root.partitions)]
    for root in found[:1] or roots[:1]:
        yield from verify_bootstrap(root)
    if not found:
        return
    for root in found:
        if root is not roots[0]:
            path = f"{root.path}/{METADATA_LOG}"
            broker = (
                "A broker that looks for it in the first of log.dirs does not start "
                "(KafkaException): metadata.log.dir must name this directory."
            )
            wanted = f"one in {roots[0].path}, the first directory"
            severity: Severity = "warning" if len(found) == 1 else "error"
            kind = "metadata-log-place"
            yield Finding(kind, severity, path, None, None, METADATA_LOG, wanted, broker)
    metadata = next(p for p in found[0].partitions if p.name == METADATA_LOG)
    if any(judge_metadata_log(metadata, rules=rules)):
        return  # no node gets to know its topics
    known = if_readable(lambda: known_topics(metadata, node_id_of(roots), rules=rules))
    if known is None:
        return
    for refusal in (
        judge_records(metadata, known),
        judge_configs(metadata, known, rules),
        judge_membership(roots, found[0], known),
    ):
        if refusal is not None:
            yield refusal.finding
    used = [p for root in roots for p in root.partitions if p.kind in {"log", "future"}]
    yield from _stray(used, known, rules)


_STRAYS: Final = {
    StrayRule.DELETED: "A broker deletes the directory once it has started.",
    StrayRule.RENAMED_AT_LOAD: (
        "A broker renames the directory to -stray, and does not serve the log."
    ),
}


def _stray(
    partitions: Iterable[DiskPartition], known: KnownTopics, rules: BrokerRules
) -> Iterator[Finding]:
    """Yield the partitions that a node sets aside or deletes because it does not know them."""
    broker = _STRAYS.get(rules.strays, _STRAYS[StrayRule.RENAMED_AT_LOAD])
    for partition in partitions:
        found = partition.topic_id  # read once: a broker may delete the directory meanwhile
        topic_id = None if found is None else text.parse_uuid(found)
        if topic_id is None or partition.topic == METADATA_TOPIC:
            continue
        reason = known.stray_reason(topic_id, partition.partition)
        if reason is not None:
            kind = "topic-unknown"
            yield Finding(kind, "warning", partition.path, None, None, reason, "", broker)
