"""Judge `meta.properties`: whether log directories belong to one node, and to one cluster.

Kafka: MetaPropertiesEnsemble.verify, KafkaRaftServer.initializeLogDirs (3.7 to 4.2);
BrokerMetadataCheckpoint (2.8)
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from workbench.config.broker_rules import MODELED_RULES, BrokerRules, PropertiesRule, TopicsFrom
from workbench.config.internal_topics import RESERVED_IDS
from workbench.files import names
from workbench.files.meta_properties import LATEST_VERSION, MetaProperties
from workbench.files.text import format_uuid
from workbench.inspection.entries import FileEntry
from workbench.inspection.findings import Finding
from workbench.inspection.listing import Root
from workbench.inspection.node_start.refusal import KAFKA, MISMATCH, RUNTIME, Refusal
from workbench.inspection.unreadable import if_readable

_IDS: Final = frozenset({"broker.id", "node.id", "cluster.id"})
INCONSISTENT: Final = "kafka.common.InconsistentBrokerMetadataException"
_DAMAGED: Final = "meta-properties-damaged"
_TOGETHER: Final = "A broker that has both in log.dirs does not start."


def is_kraft_node(rules: BrokerRules, roots: Sequence[Root]) -> bool:
    """Return whether a broker of these rules runs without ZooKeeper.

    From 3.0 to 3.9 both exist; `meta.properties` of version 1 shows KRaft, or without that file a
    metadata log.
    """
    if rules.topics_from is not TopicsFrom.EITHER:
        return rules.topics_from is TopicsFrom.METADATA_LOG
    found = [_properties(root)[1] for root in roots]
    if any(each is not None for each in found):
        return any(each is not None and each.version == LATEST_VERSION for each in found)
    return any(root.metadata_log is not None for root in roots)


def skips_properties(rules: BrokerRules, *, is_kraft: bool) -> bool:
    """Return whether a node goes on without a directory whose `meta.properties` it cannot read."""
    return (rules.skips_unreadable_properties and is_kraft) or rules.needs_properties_version


def judge_old_properties(root: Root, rules: BrokerRules) -> Refusal | None:
    """Return why a broker before 2.8 does not start with what a `meta.properties` lacks.

    Kafka: BrokerMetadataCheckpoint.read (2.7)
    """
    entry, meta = _properties(root)
    if entry is None or meta is None or meta.problems or not rules.needs_properties_version:
        return None
    for name in ("version", "broker.id"):
        if name not in meta.properties:
            finding = _finding(_DAMAGED, entry, f"no {name}", "one", "The broker does not start.")
            return Refusal(finding, "java.lang.IllegalArgumentException")
    return None


def judge_properties(root: Root, rules: BrokerRules = MODELED_RULES) -> Refusal | None:
    """Return why a node cannot read a directory's `meta.properties`; None if it can.

    The directory goes offline then. A node without another directory does not start, nor one whose
    metadata log is in this directory, nor any before 3.7. One that cannot be read here is not
    judged.

    Kafka: MetaPropertiesEnsemble.Loader.load (3.7)
    """
    entry, meta = _properties(root)
    if entry is None or meta is None:
        return None
    for problem in meta.problems[:1]:
        broker = (
            "A broker with only this directory does not start. One with others continues without "
            "it, unless its metadata log is here."
        )
        if rules.needs_properties_version:
            broker = (
                "A broker with only this directory does not start. One with others continues "
                "without it."
            )
        elif not rules.skips_unreadable_properties:
            broker = (
                "A broker in KRaft mode does not start. With ZooKeeper, it starts with what it can "
                "parse, unless the version is unknown."
            )
        finding = Finding(
            _DAMAGED, "error", entry.path, problem.position, None, problem.found, problem.expected,
            broker,
        )  # fmt: skip
        return Refusal(finding, RUNTIME)
    return None


def judge_ids(root: Root) -> Refusal | None:
    """Return why a node does not start with the ids in a readable `meta.properties`."""
    entry, meta = _properties(root)
    if entry is None or meta is None or meta.problems:
        return None
    if meta.node_id is None:
        found, wanted = "neither node.id nor broker.id", "the id of the directory's broker"
        broker = "A broker in KRaft mode does not start."
        return Refusal(_finding(_DAMAGED, entry, found, wanted, broker), RUNTIME)
    directory_id = meta.directory_id
    if directory_id is not None and directory_id.int < RESERVED_IDS:
        found = f"directory.id {format_uuid(directory_id)}, which is reserved"
        broker = "A broker since 3.7 does not start."
        return Refusal(_finding(_DAMAGED, entry, found, "an id of its own", broker), RUNTIME)
    return None


def judge_missing(root: Root, rules: BrokerRules = MODELED_RULES) -> Refusal | None:
    """Return why a KRaft node does not start with a directory that has no `meta.properties`."""
    if root.has_name(names.META_PROPERTIES):
        return None
    broker = (
        "A broker in KRaft mode (3.x, 4.x) does not start: the directory is not formatted. "
        "With ZooKeeper it creates a new file."
    )
    kind = "meta-properties-missing"
    finding = Finding(kind, "error", root.path, None, None, "no meta.properties", "one", broker)
    return Refusal(finding, RUNTIME if rules.skips_unreadable_properties else KAFKA)


def judge_cluster_id(root: Root) -> Refusal | None:
    """Return why a KRaft node does not start with a directory of version 0 without cluster id."""
    entry, meta = _properties(root)
    if entry is None or meta is None or meta.problems or meta.cluster_id is not None:
        return None
    broker = "A broker in KRaft mode does not start."
    return Refusal(_finding(_DAMAGED, entry, "no cluster.id", "one", broker), RUNTIME)


def judge_together(
    roots: Sequence[Root],
    node_id: int | None = None,
    cluster_id: str | None = None,
    rules: BrokerRules = MODELED_RULES,
    *,
    is_kraft: bool = True,
) -> Iterator[Refusal]:
    """Yield the contradictions between the `meta.properties` of directories.

    Args:
        roots: the directories.
        node_id: the node's id; None takes the first that is found.
        cluster_id: the cluster's id; as ``node_id``.
        rules: how nodes of the version that is assumed behave.
        is_kraft: whether the node runs without ZooKeeper.
    """
    seen: dict[str, tuple[str, str]] = {}
    if node_id is not None:
        seen["node.id"] = str(node_id), ""
    if cluster_id is not None:
        seen["cluster.id"] = cluster_id, ""
    for root in roots:
        entry, meta = _properties(root)
        if entry is None or meta is None or meta.problems:
            continue
        own = [("node.id", meta.node_id), ("cluster.id", meta.cluster_id)]
        if meta.directory_id is not None:
            known, where = seen.setdefault(str(meta.directory_id), ("", entry.path))
            if where != entry.path:
                found, wanted = f"directory.id as in {where}", "an id of its own"
                yield Refusal(_finding(MISMATCH, entry, found, wanted, _TOGETHER), RUNTIME)
        for name, value in own:
            if value is None or (name == "cluster.id" and not rules.stores_cluster_id):
                continue
            known, where = seen.setdefault(name, (str(value), entry.path))
            if known != str(value):
                found = f"{name} {value}"
                wanted = f"{known}, as in {where}" if where else known
                broker = _TOGETHER if where else "A broker with the other id does not start."
                exception = _of_mismatch(roots, rules, name, is_kraft=is_kraft)
                yield Refusal(_finding(MISMATCH, entry, found, wanted, broker), exception)


def judge_alike(roots: Sequence[Root], rules: BrokerRules, *, is_kraft: bool) -> Iterator[Refusal]:
    """Yield the directories whose `meta.properties` has not what that of the first has.

    From 2.4 to 3.6 a broker compares the files before it looks at what they say. Ids that are
    there are judged by `judge_together`.

    Kafka: BrokerMetadataCheckpoint.getBrokerMetadataAndOfflineDirs (2.8 to 3.6)
    """
    rule = rules.properties_alike
    if rule is PropertiesRule.IDS_THAT_ARE_THERE or (
        rule is PropertiesRule.EVERYTHING_WITH_ZOOKEEPER and is_kraft
    ):
        return
    first: tuple[str, dict[str, str]] | None = None
    for root in roots:
        entry, meta = _properties(root)
        if entry is None or meta is None:
            continue
        own = meta.properties
        if rule is PropertiesRule.BOTH_IDS and meta.problems:
            continue
        if rule is PropertiesRule.BOTH_IDS:
            own = {name: own[name] for name in ("broker.id", "cluster.id") if name in own}
        if first is None:
            first = entry.path, own
        names_there = sorted(own.keys() | first[1].keys())
        pairs = [(name, own.get(name), first[1].get(name)) for name in names_there]
        is_judged = any(a and b and a != b for name, a, b in pairs if name in _IDS)
        for name, found, wanted in () if is_judged else pairs:
            if found != wanted:
                text = f"no {name}" if found is None else f"{name} {found}"
                expected = f"{wanted or 'none'}, as in {first[0]}"
                finding = _finding(MISMATCH, entry, text, expected, _TOGETHER)
                yield Refusal(finding, INCONSISTENT)
                break


def _of_mismatch(roots: Sequence[Root], rules: BrokerRules, name: str, *, is_kraft: bool) -> str:
    """Return the exception for ids that differ: before 3.7 each case has its own.

    The directories are compared with each other first, then with the configuration, and in the end
    with the cluster's id in ZooKeeper.

    Kafka: KafkaServer.getBrokerMetadataAndOfflineDirs, getOrGenerateBrokerId, startup (2.4),
    BrokerMetadataCheckpoint.getBrokerMetadataAndOfflineDirs (3.0 to 3.6)
    """
    if rules.skips_unreadable_properties or rules.topics_from is TopicsFrom.METADATA_LOG:
        return RUNTIME
    metas = [meta for root in roots if (meta := _properties(root)[1]) is not None]
    if not rules.stores_cluster_id:
        return "kafka.common.InconsistentBrokerIdException"
    if len({(meta.node_id, meta.cluster_id) for meta in metas}) > 1:
        return INCONSISTENT
    if name == "cluster.id":
        return "kafka.common.InconsistentClusterIdException"
    return f"kafka.common.Inconsistent{'NodeId' if is_kraft else 'BrokerId'}Exception"


def node_id_of(roots: Sequence[Root]) -> int | None:
    """Return the node id of the first directory that has one."""
    found = (_properties(root)[1] for root in roots)
    return next((meta.node_id for meta in found if meta and meta.node_id is not None), None)


def _properties(root: Root) -> tuple[FileEntry | None, MetaProperties | None]:
    read = partial(getattr, root, "meta_properties")
    return root.file(names.META_PROPERTIES), if_readable(read)


def _finding(kind: str, entry: FileEntry, found: str, wanted: str, broker: str) -> Finding:
    return Finding(kind, "error", entry.path, None, None, found, wanted, broker)
