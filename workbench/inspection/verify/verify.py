"""Check log directories: what no broker would leave like this, and what a broker would do about it.

A healthy directory of any version gives no finding; a gap that compaction left is not a finding.
What is still to be done (files to be deleted, a batch being written) is an "info" finding. Each
question has its module: `verify_batches`, `verify_indexes`, `verify_transactions`,
`verify_snapshots`, `verify_epochs`, `verify_leftovers`, `verify_partition`, `verify_checkpoints`,
`verify_directory`; `unread` reports what cannot be read. `findings.KINDS` lists the kinds.

Kafka: LogSegment.recover, LogLoader.load, LogManager.loadLogs, DumpLogSegments (4.2)
"""

from collections.abc import Collection, Iterable, Iterator
from functools import partial

from workbench.config.broker_rules import MODELED_RULES, BrokerRules
from workbench.files.names import TopicPartition
from workbench.inspection.broker_version import meant_broker
from workbench.inspection.confirmed_findings import confirmed
from workbench.inspection.findings import Finding
from workbench.inspection.listing import (
    Listing,
    Root,
    StrPath,
    list_log_directories,
    roots_listed_anew,
)
from workbench.inspection.partition import DiskPartition
from workbench.inspection.verify.checkpoints import (
    Checkpoints,
    Results,
    checkpoints_of,
    contradicted,
    verify_checkpoint_files,
    verify_checkpoints,
    verify_folders,
)
from workbench.inspection.verify.directory import verify_root, verify_roots
from workbench.inspection.verify.logs import DirectoryFacts, verify_logs
from workbench.inspection.verify.partition import Advance, Era, PartitionResult, verify_partition
from workbench.inspection.verify.segments.segment import collect
from workbench.inspection.verify.shutdown_state import ShutdownState, is_running


def verify(
    paths: StrPath | Iterable[StrPath], *, deep: bool = True, kafka: str | None = None
) -> list[Finding]:
    """Check a log directory, several of one broker, a partition directory, or a single file.

    Args:
        paths: see `list_log_directories`.
        deep: check CRCs and decode every record, at nearly the speed of a scan; otherwise check
            only names, headers, indexes and checkpoints.
        kafka: the version of the broker that findings speak of; None: the newest that is shown.

    Raises:
        ConfigError: the version is unknown.
        LogDirectoryError: a path does not exist.
        OSError: a folder cannot be listed.
    """
    return verify_listing(list_log_directories(paths), deep=deep, kafka=kafka)


def verify_listing(
    listing: Listing,
    *,
    topics: Collection[str] | None = None,
    partitions: Collection[int] | None = None,
    deep: bool = True,
    kafka: str | None = None,
) -> list[Finding]:
    """Return every finding: of each partition, then of its log directory, then of all together.

    Args:
        listing: what was opened.
        topics: names; if given, only their partitions are checked, not the log directories.
        partitions: numbers; like ``topics``.
        deep, kafka: see `verify`.
    """
    rules = meant_broker(listing, kafka).rules
    steps = verify_partitions(listing, topics=topics, partitions=partitions, deep=deep, rules=rules)
    return [finding for _, findings in steps for finding in findings]


def verify_partitions(
    listing: Listing,
    *,
    topics: Collection[str] | None = None,
    partitions: Collection[int] | None = None,
    folders: Collection[str] | None = None,
    deep: bool = True,
    advance: Advance | None = None,
    workers: int = 1,
    rules: BrokerRules = MODELED_RULES,
) -> Iterator[tuple[DiskPartition | Root, list[Finding]]]:
    """Do what `verify_listing` does step by step: yield what was checked, and its findings.

    Sum `DiskPartition.size` to show progress. A `Root` comes after its partitions.

    Args:
        listing, topics, partitions, deep: see `verify_listing`.
        folders: paths of partitions; like ``topics``.
        advance: called with the bytes of each segment after it was checked, for progress inside a
            large partition; what it raises ends the check. A second look counts again.
        workers: threads that check CRCs and decode side by side; the findings are the same.
        rules: of the broker that findings speak of.
    """
    is_filtered = not (topics is None and partitions is None and folders is None)
    seen: set[Finding] = set()
    for root in listing.roots:
        checkpoints, found = checkpoints_of(root)
        facts = DirectoryFacts.of(root, rules, checkpoints)
        situation, era = facts.shutdown, facts.era
        wanted = (
            each
            for each in root.partitions
            if (topics is None or each.topic in topics)
            and (partitions is None or each.partition in partitions)
            and (folders is None or each.path in folders)
        )
        results: dict[TopicPartition, PartitionResult] = {}
        for partition, result in verify_logs(
            wanted, facts, deep=deep, advance=advance, workers=workers, seen=seen
        ):
            yield partition, result.findings
            if partition.kind == "log":
                results[TopicPartition(partition.topic, partition.partition)] = result
        found += _of_root(root, checkpoints, results, situation, era, whole=not is_filtered)
        if situation.stop == "running":
            doubted = contradicted(checkpoints, results)
            look = partial(_of_root_anew, root, doubted, situation, era, whole=not is_filtered)
            found = confirmed(found, look)
        yield root, found
    if not is_filtered and listing.roots:
        together: list[Finding] = []
        collect(verify_roots(listing.roots, rules), together)
        if any(map(is_running, listing.roots)):
            together = confirmed(
                together, lambda: list(verify_roots(roots_listed_anew(listing.roots), rules))
            )
        yield listing.roots[-1], together


def _of_root(
    root: Root,
    checkpoints: Checkpoints,
    results: Results,
    situation: ShutdownState,
    era: Era,
    *,
    whole: bool,
) -> list[Finding]:
    """Return the findings of a log directory, or only those about the partitions with results."""
    found: list[Finding] = []
    if whole:
        collect(verify_root(root, era, situation.rules), found)
        collect(verify_checkpoint_files(root, checkpoints, situation), found)
    collect(verify_checkpoints(root, checkpoints, results, situation), found)
    if whole:
        collect(verify_folders(root, checkpoints, situation), found)
    return found


def _of_root_anew(
    root: Root,
    doubted: Collection[TopicPartition],
    situation: ShutdownState,
    era: Era,
    *,
    whole: bool,
) -> list[Finding]:
    """List a log directory again, and return its findings; of logs, only those in doubt are read.

    Args:
        root: the log directory, as it was listed before.
        doubted: partitions whose logs contradict a checkpoint.
        situation, era, whole: as before.
    """
    (now,) = roots_listed_anew([root])
    checkpoints, found = checkpoints_of(now)
    logs = {
        name: each
        for each in now.partitions
        if each.kind == "log" and (name := TopicPartition(each.topic, each.partition)) in doubted
    }
    check = partial(verify_partition, situation=situation, era=era, deep=False, is_cleaned=False)
    results = {name: check(each) for name, each in logs.items()}
    return found + _of_root(now, checkpoints, results, situation, era, whole=whole)
