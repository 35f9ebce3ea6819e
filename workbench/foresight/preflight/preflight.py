"""Answer whether topics will be served after a start on log directories; nothing is written.

Every verdict follows from `predict_startup`, the one judge of starts.
"""

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple

from workbench.config.broker_config import BrokerConfig
from workbench.config.broker_rules import StrayRule, TopicsFrom
from workbench.files.names import (
    DirectoryName,
    directory_name,
    parse_directory_name,
)
from workbench.files.text import format_uuid
from workbench.foresight.preflight.actions import step_for
from workbench.foresight.preflight.concern import Concern
from workbench.foresight.preflight.concerns import concerns_of_producers, concerns_of_version
from workbench.foresight.preflight.first_minutes import (
    FirstMinutes,
    concerns_of_coordinators,
    concerns_of_first_minutes,
)
from workbench.foresight.preflight.logs import TO_READ, concerns_of_logs, shorter_logs
from workbench.foresight.preflight.results import (
    DirectoryPreflight,
    Preflight,
    RecoveryCost,
    TopicPreflight,
    TopicVerdict,
)
from workbench.foresight.startup.prediction import SERVED, PartitionStart, StartupPrediction
from workbench.inspection.broker_version import shown_version
from workbench.inspection.cluster.image import StoredCluster
from workbench.inspection.cluster.loading import stored_cluster
from workbench.inspection.findings import SEVERITIES
from workbench.inspection.listing import Listing, is_empty
from workbench.inspection.node_start.identity import is_kraft_node, node_id_of
from workbench.inspection.node_start.known_topics import KnownTopics
from workbench.inspection.unreadable import if_readable
from workbench.runtime.words import named_or_more, plural

_LOADED: Final = frozenset({"served", "damaged", "expiring"})
_MEASURED_FROM: Final = 16 << 20  # bytes: less says little about a rate
_WORST: Final[tuple[TopicVerdict, ...]] = (
    "not served", "unknown", "empty", "deleted", "damaged", "expiring", "served",
)  # fmt: skip
_IN_PART: Final[dict[TopicVerdict, TopicVerdict]] = {
    "not served": "served in part", "empty": "empty in part",
}  # fmt: skip
_UNNAMED: Final = "no topic of the cluster has this name: its topic id is another topic's"
_UNKNOWN_ID: Final = "whether the cluster knows the topic's id is in no file here"


def judge_preflight(
    listing: Listing,
    prediction: StartupPrediction,
    config: BrokerConfig,
    *,
    rate: float | None = None,
    are_topics_given: bool = False,
    first_minutes: FirstMinutes | None = None,
) -> Preflight:
    """Return the preflight that follows from a prediction.

    Args:
        listing: the log directories.
        prediction: the prediction of a start on them.
        config: the broker's configuration.
        rate: bytes per second that one recovery thread reads; None: as measured here, if enough
            was read.
        are_topics_given: whether the ids of the cluster's topics were given to the prediction.
        first_minutes: what happens after the start; None: it was not looked at.
    """
    cluster = if_readable(partial(stored_cluster, listing)) or StoredCluster()
    is_new = all(map(is_empty, listing.roots))  # and shows no version
    shown = prediction.broker if is_new else shown_version(listing, cluster)
    recovery = _recovery(prediction, config, rate)
    known = _Known(
        are_topics_given or _are_topics_known(prediction),
        None if are_topics_given else _names_of_topics(prediction, cluster),
    )
    minutes = FirstMinutes() if first_minutes is None else first_minutes
    node = KnownTopics(node_id_of(listing.roots), cluster)
    missing = _missing(listing, prediction, node, known)
    topics = tuple(_topics(_replicas(listing, prediction, known, minutes, missing)))
    shorter = dict(shorter_logs(listing, prediction))
    concerns = [
        *_of_directories(listing, prediction, missing, node.lost_directories(listing.roots)),
        *_of_topics(prediction, topics_known=known.is_complete),
        *_of_zookeeper(listing, prediction),
        *_of_shutdown(prediction, recovery),
        *concerns_of_logs(listing, prediction, node, shorter),
        *concerns_of_producers(listing, prediction, prediction.broker),
        *concerns_of_coordinators(prediction, shorter),
        *concerns_of_first_minutes(minutes, prediction.broker),
        *concerns_of_version(listing, prediction.broker, shown, cluster),
    ]
    concerns.sort(key=lambda each: -SEVERITIES.index(each.severity))
    directories = tuple(_directories(listing, prediction))
    return Preflight(
        prediction, shown, directories, topics, tuple(concerns), recovery, first_minutes
    )


def _are_topics_known(prediction: StartupPrediction) -> bool:
    """Whether the prediction had a metadata log to ask, or the node has no use for one."""
    metadata = prediction.metadata
    is_judged = metadata is None or not metadata.note or metadata.log is not None
    return is_judged or prediction.broker.rules.strays is StrayRule.KEPT or _is_migrated(prediction)


def _names_of_topics(
    prediction: StartupPrediction, cluster: StoredCluster
) -> Collection[str] | None:
    """Return the names of the cluster's topics; None where the node may not know all of them."""
    metadata = prediction.metadata
    if metadata is None or metadata.log is None or metadata.note or not cluster.topic_ids:
        return None
    return cluster.topic_ids.keys()


def _is_migrated(prediction: StartupPrediction) -> bool:
    metadata = prediction.metadata
    return metadata is not None and "ZooKeeper" in metadata.note


def _directories(listing: Listing, prediction: StartupPrediction) -> Iterator[DirectoryPreflight]:
    roots = {os.path.abspath(root.path): root for root in listing.roots}
    for row in prediction.directories:
        root = roots.get(os.path.abspath(row.path))
        meta = None if root is None else if_readable(partial(getattr, root, "meta_properties"))
        directory_id = None if meta is None else meta.directory_id
        yield DirectoryPreflight(
            row.path,
            row.verdict,
            None if meta is None else meta.cluster_id,
            None if meta is None else meta.node_id,
            None if directory_id is None else format_uuid(directory_id),
            row.had_clean_shutdown,
            sum(each.recovery_bytes for each in prediction if each.directory == row.path),
        )


def _recovery(
    prediction: StartupPrediction, config: BrokerConfig, rate: float | None
) -> RecoveryCost:
    by_directory: dict[str, list[int]] = {}
    for row in prediction:
        by_directory.setdefault(row.directory, []).append(row.recovery_bytes)
    if prediction.metadata is not None and prediction.metadata.log is not None:
        log = prediction.metadata.log
        by_directory.setdefault(log.directory, []).append(log.recovery_bytes)
    logs = sum(row.recovery_bytes for row in prediction)
    size = sum(map(sum, by_directory.values()))
    threads = config.num_recovery_threads_per_data_dir
    source = "as given"
    if rate is None and logs >= _MEASURED_FROM and prediction.seconds:
        rate, source = logs / prediction.seconds, "as fast as this machine recovered them just now"
    elif rate is None:
        source = "too little to measure how long that takes"
    seconds = None
    if rate is not None:
        slowest = (max(sum(each) / threads, *each) for each in by_directory.values())
        seconds = max(slowest, default=0.0) / rate
    return RecoveryCost(size, threads, rate, source, seconds)


class _Known(NamedTuple):
    """What the node knows about the cluster's topics.

    Attributes:
        is_complete: whether a log whose topic it does not know is found out here.
        names: the names of the topics; None where it may not know all of them.
    """

    is_complete: bool
    names: Collection[str] | None


class _Replica(NamedTuple):
    """A log of a partition, and whether it is served.

    Attributes:
        verdict, reason: of the log.
        start: the prediction; None if the node makes an empty log.
        size: bytes of its segments.
        deleted, compacted: records that the first passes take.
    """

    verdict: TopicVerdict
    reason: str
    start: PartitionStart | None = None
    size: int = 0
    deleted: int = 0
    compacted: int = 0


def _missing(
    listing: Listing, prediction: StartupPrediction, node: KnownTopics, known: _Known
) -> tuple[str, ...]:
    """Return the partitions of the node that have no log here, and that it does not create."""
    metadata = prediction.metadata
    if known.names is None or metadata is None:
        return ()
    there = {
        (each.topic, each.partition)
        for root in listing.roots
        for each in root.partitions
        if each.kind in {"log", "future"}
    }
    wanted = sorted({*node.replicas_here()} - there)
    names = (directory_name(topic, number) for topic, number in wanted)
    return tuple(name for name in names if name not in metadata.created)


def _replicas(
    listing: Listing,
    prediction: StartupPrediction,
    known: _Known,
    minutes: FirstMinutes,
    missing: Sequence[str],
) -> Iterator[tuple[DirectoryName, _Replica]]:
    """Yield every log that may be a partition's, and every one that the node creates."""
    passes = {(each.topic, each.partition, each.what): each for each in minutes.passes}
    tiers = {(each.topic, each.partition): each for each in minutes.tiers if each.segments}
    sizes = {
        os.path.join(os.path.abspath(root.path), partition.name): partition.size
        for root in listing.roots
        for partition in root.partitions
    }
    for row in prediction:
        name = parse_directory_name(row.name)
        if name is None or row.was_stray or (row.verdict == "future" and not row.becomes_log):
            if name is not None and row.is_emptied and prediction.starts:
                yield name, _Replica("empty", f"{row.name}: {row.reason}", row)
            continue
        verdict, reason = _verdict_of_log(row, name.topic, prediction, known)
        size = sizes.get(os.path.join(row.directory, row.name), 0)
        retained = passes.get((name.topic, name.partition, "retention"))
        cleaned = passes.get((name.topic, name.partition, "compaction"))
        if verdict == "served" and retained is not None and retained.records:
            verdict = "expiring"
            reason = f"{retained.rule} deletes {plural(retained.records, 'record')}"
        lost = tiers.get((name.topic, name.partition))
        if verdict == "served" and lost is not None:
            verdict = "expiring"
            reason = (
                f"the remote tier loses {plural(lost.segments, 'segment')}, offsets "
                f"{lost.first_offset} to {lost.last_offset}: {lost.reason}"
            )
        yield name, _Replica(
            verdict, f"{row.name}: {reason}" if reason else "", row, size,
            0 if retained is None or verdict not in _LOADED else retained.records,
            0 if cleaned is None or verdict not in _LOADED else cleaned.records,
        )  # fmt: skip
    metadata = prediction.metadata
    for created in () if metadata is None else metadata.created:
        name = parse_directory_name(created)
        if name is not None:
            yield name, _Replica("empty", f"{created}: these directories have no log of it")
    for each in missing:
        name = parse_directory_name(each)
        if name is not None:
            yield name, _Replica("not served", f"{each}: these directories have no log of it")


def _verdict_of_log(
    row: PartitionStart, topic: str, prediction: StartupPrediction, known: _Known
) -> tuple[TopicVerdict, str]:
    """Return whether a log is served, and why not."""
    verdict, reason = _of_partition(row)
    if verdict == "deleted":
        return verdict, reason
    if not prediction.starts:
        own = reason if verdict == "not served" else "the broker does not start"
        return "not served", own
    directory = next(each for each in prediction.directories if each.path == row.directory)
    if directory.verdict == "unread":
        return "unknown", directory.problem
    if directory.verdict == "offline":
        return "not served", f"its log directory goes offline: {directory.problem}"
    if row.unserved:
        return "not served", row.unserved
    if verdict in _LOADED and known.names is not None and topic not in known.names:
        return "not served", _UNNAMED
    if verdict in _LOADED and not known.is_complete:
        return "unknown", _UNKNOWN_ID
    return verdict, reason


def _topics(replicas: Iterable[tuple[DirectoryName, _Replica]]) -> Iterator[TopicPreflight]:
    """Yield one row per topic, by the best log of each of its partitions."""
    found: dict[str, dict[int, _Replica]] = {}
    for name, replica in replicas:
        partitions = found.setdefault(name.topic, {})
        before = partitions.get(name.partition, replica)
        partitions[name.partition] = max(before, replica, key=_best)
    for topic, partitions in sorted(found.items()):
        every = [replica for _, replica in sorted(partitions.items())]
        rows = [row for row in every if row.verdict != "deleted"] or every
        worst = min(rows, key=_rank).verdict
        is_part = worst in _IN_PART and any(row.verdict != worst for row in rows)
        reasons = [row.reason for row in rows if row.verdict == worst and row.reason]
        more = f"; and {len(reasons) - 1} more" if len(reasons) > 1 else ""
        starts = [row.start for row in rows if row.start is not None]
        yield TopicPreflight(
            topic,
            _IN_PART[worst] if is_part else worst,
            len(rows),
            sum(row.size for row in rows),
            sum(each.recovery_bytes for each in starts),
            sum(each.bytes_cut for each in starts),
            sum_or_none(each.records_lost for each in starts),
            sum(row.deleted for row in rows),
            sum(row.compacted for row in rows),
            reasons[0] + more if reasons else "",
        )


def sum_or_none(counts: Iterable[int | None]) -> int | None:
    """Return the sum; None if one of the counts is not known."""
    every = list(counts)
    known = [each for each in every if each is not None]
    return sum(known) if len(known) == len(every) else None


def _best(replica: _Replica) -> tuple[bool, int]:
    """Return what decides between logs of one partition: a deleted one is none of it any more."""
    return replica.verdict != "deleted", _rank(replica)


def _rank(replica: _Replica) -> int:
    return _WORST.index(replica.verdict)


def _of_partition(row: PartitionStart) -> tuple[TopicVerdict, str]:
    if row.verdict == "unread":
        return "unknown", row.reason
    if row.verdict == "deleted":
        return "deleted", row.reason
    if row.verdict not in SERVED:
        return "not served", f"{row.verdict}: {row.reason}"
    if row.bytes_cut or row.records_lost:
        cut = f"{row.bytes_cut:,} bytes are truncated" if row.bytes_cut else ""
        return "damaged", ": ".join(filter(None, [cut, row.loss]))
    if row.unnoticed:
        return "damaged", row.unnoticed[0]
    return "served", ""


def _of_directories(
    listing: Listing,
    prediction: StartupPrediction,
    missing: Sequence[str],
    lost_ids: Sequence[str],
) -> Iterator[Concern]:
    for row in prediction.directories:
        if row.verdict == "refuses":
            step = step_for(row, listing, missing, lost_ids)
            yield Concern(row.kind, "error", row.problem, step)
        elif row.verdict == "offline":
            what = f"{row.path} goes offline, with every log in it: {row.problem}"
            action = (
                "Mend what is named, or restore the file from a backup; "
                "kafka-workbench verify shows the damage"
            )
            yield Concern("offline", "error", what, action)
        elif row.verdict == "online" and row.problem:
            action = (
                "Mount the disk, or put its directories back, before the start; go on if the disk "
                "is new, and other replicas have its partitions"
            )
            yield Concern("created", "warning", f"{row.path} {row.problem}", action)
        elif row.verdict == "unread":
            yield Concern("unreadable", "warning", f"{row.path} {row.problem}", TO_READ)


def _of_topics(prediction: StartupPrediction, *, topics_known: bool) -> Iterator[Concern]:
    metadata = prediction.metadata
    if metadata is None or not prediction.starts:
        return
    if not topics_known or (metadata.note and metadata.log is not None):
        action = (
            "Give the directory of __cluster_metadata-0 too, first or as metadata.log.dir; it must "
            "be that of the cluster that the node joins"
        )
        yield Concern("topics-unknown", "warning", metadata.note, action)
    elif _is_migrated(prediction):
        action = (
            "Do not start: start the last version with ZooKeeper (3.9 or earlier), migrate the "
            "cluster to KRaft there, and upgrade then"
        )
        yield Concern("zookeeper", "error", metadata.note, action)
    if metadata.later:
        action = (
            "Compare the topics with those of the running cluster (kafka-topics.sh --describe), "
            "and copy what is to be kept before the start"
        )
        yield Concern("metadata-behind", "warning", metadata.later, action)
    unserved = [f"{row.name}: {row.unserved}" for row in prediction if row.unserved]
    if unserved:
        action = (
            "Put the topic id that the cluster has for each topic into its partition.metadata, and "
            "the directory.id that the cluster knows into meta.properties"
        )
        yield Concern("unserved", "error", f"not served: {named_or_more(unserved)}", action)
    strays = [row for row in prediction if row.verdict == "stray" and not row.was_stray]
    if strays:
        what = (
            f"{plural(len(strays), 'log')} will not be served, as stray: "
            f"{named_or_more([f'{row.name} ({row.reason})' for row in strays])}"
        )
        action = (
            "If they are to be served, start with the metadata log that has their topic ids; "
            "otherwise read them with kafka-workbench serve or export, or copy them into a running "
            "cluster"
        )
        yield Concern("stray", "error", what, action)
    strays = [row for row in prediction if row.was_stray]
    if strays:
        what = (
            f"{plural(len(strays), 'log')} became stray before, and the start changes nothing of "
            f"that: {named_or_more([row.name for row in strays])}"
        )
        action = (
            "Read logs that became stray before with kafka-workbench serve or export, or delete "
            "their directories; to serve them, rename the directories back, with the topic id "
            "that the cluster has in their partition.metadata"
        )
        yield Concern("stray", "warning", what, action)
    if metadata.created:
        what = f"the node makes empty logs for {named_or_more(metadata.created)}"
        if metadata.leaderless:
            what += (
                f"; {named_or_more(metadata.leaderless)} may remain without a leader, because the "
                "controller has them in a log directory that is none of these"
            )
        action = (
            "Put the directories of these partitions into log.dirs before the start, unless "
            "another replica has the records"
        )
        yield Concern("created", "warning", what, action)


def _of_zookeeper(listing: Listing, prediction: StartupPrediction) -> Iterator[Concern]:
    """Yield that a broker with ZooKeeper gets its topics from ZooKeeper."""
    rules = prediction.broker.rules
    if is_kraft_node(rules, listing.roots) or not prediction.starts:
        return
    what = (
        "which topics exist is in ZooKeeper, not in these directories: a log loads and is kept, "
        "and is served if ZooKeeper has its topic; for a partition that ZooKeeper assigns to the "
        "broker and that has no log here, the broker makes an empty one. Where another broker "
        "leads, the log is truncated to where the leader's log ends. "
    )
    if rules.stores_cluster_id:
        what += (
            "With a new ZooKeeper, or that of another cluster, the broker does not start, because "
            "its cluster.id is not that of meta.properties"
        )
    elif rules.keeps_above_high_watermark:
        what += (
            "With a new ZooKeeper, the broker starts, serves no topic, and deletes nothing of the "
            "logs, because without a leader they have no high watermark"
        )
    else:
        what += (
            "With a new ZooKeeper, the broker starts, serves no topic, and the retention of "
            "server.properties deletes records of every log, because the configurations of topics "
            "are in ZooKeeper, too"
        )
    action = "Compare the topics above with kafka-topics.sh --list of the running cluster"
    yield Concern("topics-in-zookeeper", "info", what, action)
    if rules.topics_from is TopicsFrom.EITHER:
        is_renamed = rules.strays is StrayRule.RENAMED_AT_LOAD
        what = (
            "started in KRaft mode (process.roles is set) on these directories, without a "
            "migration, the node knows no topic: it serves nothing, and "
        )
        what += (
            "renames every log as stray"
            if is_renamed
            else "deletes every log, unless one has no partition.metadata"
        )
        action = "Start it with zookeeper.connect and without process.roles, or migrate the cluster"
        yield Concern("no-migration", "info", what, action)


def _of_shutdown(prediction: StartupPrediction, recovery: RecoveryCost) -> Iterator[Concern]:
    unclean = [each.path for each in prediction.directories if not each.had_clean_shutdown]
    if not unclean:
        return
    what = f"no clean shutdown of {named_or_more(unclean)}: {recovery}"
    action = ""
    if recovery.size >= _MEASURED_FROM:
        action = (
            "Let the start limit of the service or orchestrator exceed the time of recovery, and "
            "raise num.recovery.threads.per.data.dir for it"
        )
    yield Concern("unclean-shutdown", "warning" if recovery.size else "info", what, action)
