"""Check a log directory's `meta.properties`, flag and names, and several directories together.

Kafka: LogManager.loadLogs, MetaPropertiesEnsemble, CleanShutdownFileHandler (4.2)
"""

from collections.abc import Iterator, Sequence
from typing import Final

from workbench.files import names
from workbench.files.clean_shutdown import CleanShutdown
from workbench.files.meta_properties import MetaProperties
from workbench.inspection.findings import Finding
from workbench.inspection.listing import Root
from workbench.inspection.verify_metadata_log import verify_metadata_snapshot
from workbench.inspection.verify_partition import Era
from workbench.inspection.verify_situation import has_own_files


def era_of(root: Root) -> Era:
    """Return what the partitions of a log directory should hold, by what most of them do."""
    used = [partition for partition in root.partitions if partition.kind == "log"]
    timed = any("timeindex" in s.files for partition in used for s in partition.segments)
    epochs = any(partition.file(names.LEADER_EPOCHS) for partition in used)
    metadata = any(partition.file(names.PARTITION_METADATA) for partition in used)
    meta = root.file(names.META_PROPERTIES)
    version = MetaProperties.read(meta.path, strict=False).version if meta else None
    kraft = version == 1 or (version is None and metadata)
    return Era(timed or epochs or metadata, epochs or metadata, metadata, kraft)


def verify_root(root: Root, era: Era) -> Iterator[Finding]:
    """Yield what is wrong with a log directory's plain files and with the names in it."""
    if not root.is_log_directory:
        return
    yield from _meta_properties(root, era)
    flag = root.file(names.CLEAN_SHUTDOWN)
    if flag is not None:
        for problem in CleanShutdown.read(flag.path, strict=False).problems:
            broker = "It still counts as a clean stop; only the broker's epoch is lost."
            yield Finding(
                "clean-shutdown-damaged", "info", flag.path, problem.position, None, problem.found,
                problem.expected, broker,
            )  # fmt: skip
    bootstrap = root.file(names.BOOTSTRAP_CHECKPOINT)
    if bootstrap is not None:
        yield from verify_metadata_snapshot(bootstrap, deep=True)
    yield from _names(root)


def _meta_properties(root: Root, era: Era) -> Iterator[Finding]:
    entry = root.file(names.META_PROPERTIES)
    if entry is None:
        if era.epochs_and_snapshots and has_own_files(root):
            broker = (
                "A broker in KRaft mode (3.x, 4.x) does not start: the directory is not formatted. "
                "With ZooKeeper it makes a new one."
            )
            kind = "meta-properties-missing"
            yield Finding(kind, "error", root.path, None, None, "no meta.properties", "one", broker)
        return
    meta = MetaProperties.read(entry.path, strict=False)
    broker = "A broker since 3.x exits; one with ZooKeeper (2.8) starts with what it can read."
    for problem in meta.problems[:1]:
        yield Finding(
            "meta-properties-damaged", "error", entry.path, problem.position, None, problem.found,
            problem.expected, broker,
        )  # fmt: skip
    if not meta.problems and meta.node_id is None:
        found, wanted = "neither node.id nor broker.id", "the id of the broker it belongs to"
        kind = "meta-properties-damaged"
        yield Finding(kind, "error", entry.path, None, None, found, wanted, broker)


def _names(root: Root) -> Iterator[Finding]:
    for entry in root.unknown:
        broker = "A broker takes no notice of it."
        found = f"{entry.size} bytes"
        yield Finding("unknown-file", "info", entry.path, None, None, found, "", broker)
    for entry in root.files:
        if entry.name.endswith(names.TEMPORARY) and entry not in root.unknown:
            broker = "It was being written when the broker stopped: the next writing replaces it."
            found = f"{entry.size} bytes"
            yield Finding("leftover-temporary", "info", entry.path, None, None, found, "", broker)
    for folder in root.unknown_folders:
        broker = (
            "A broker does not start: it takes every folder for a partition's (KafkaException)."
        )
        path = f"{root.path}/{folder}"
        wanted = "a name like topic-0"
        yield Finding("unknown-folder", "error", path, None, None, "a folder", wanted, broker)
    for partition in root.partitions:
        problem = names.topic_name_problem(partition.topic)
        if problem is not None and partition.kind == "log":
            broker = "A broker loads it as a log, but no topic of this name can be in the cluster."
            yield Finding("topic-name", "warning", partition.path, None, None, problem, "", broker)
        kind = {"delete": "deleted"}.get(partition.kind, partition.kind)
        if partition.kind != "log":
            broker = _FOLDERS[partition.kind]
            found = f"{len(partition.files)} files"
            yield Finding(
                f"directory-{kind}", "info", partition.path, None, None, found, "", broker
            )


_FOLDERS: Final = {
    "delete": "A broker deletes the folder when it starts, or a minute after it was renamed.",
    "stray": "A broker leaves it aside: it belonged to no partition that the cluster gave it.",
    "future": "A broker goes on copying, and swaps it in when it has caught up.",
}


def verify_roots(roots: Sequence[Root]) -> Iterator[Finding]:
    """Yield what log directories that were opened together contradict each other in."""
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
                    kind, "error", partition.path, None, None, found, "one folder", broker
                )
            first.setdefault(partition.name, partition.path)
    yield from _same_owner(directories)
    yield from _topic_ids(directories)


def _same_owner(roots: Sequence[Root]) -> Iterator[Finding]:
    seen: dict[str, tuple[str, str]] = {}
    ids: dict[str, str] = {}
    for root in roots:
        entry = root.file(names.META_PROPERTIES)
        if entry is None:
            continue
        meta = MetaProperties.read(entry.path, strict=False)
        for name, value in (("node.id", meta.node_id), ("cluster.id", meta.cluster_id)):
            if value is None:
                continue
            known, where = seen.setdefault(name, (str(value), entry.path))
            if known != str(value):
                broker = "A broker that has both in log.dirs does not start."
                found, wanted = f"{name} {value}", f"{known}, as in {where}"
                kind = "meta-properties-mismatch"
                yield Finding(kind, "error", entry.path, None, None, found, wanted, broker)
        if meta.directory_id is not None:
            text = str(meta.directory_id)
            if text in ids:
                broker = "A broker that has both in log.dirs does not start."
                found, wanted = f"directory.id as in {ids[text]}", "one of its own"
                kind = "meta-properties-mismatch"
                yield Finding(kind, "error", entry.path, None, None, found, wanted, broker)
            ids.setdefault(text, entry.path)


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
            broker = "A broker takes the folder whose id is not the cluster's for a stray."
            wanted = f"{known}, as in {where}"
            yield Finding("topic-id", "warning", path, None, None, found, wanted, broker)
        elif topic != partition.topic:
            broker = "A broker compares ids, not names: it loads the folder, and nobody is served."
            wanted = f"one of its own; {other} has it"
            yield Finding("topic-id", "warning", path, None, None, found, wanted, broker)
