"""Find what a version reads or writes differently from the one that wrote the directories.

Formats that are later or older than the version, configurations that it no longer has, and defaults
that it changed: rules of versions, from `config` and `inspection.broker_version`.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final

from workbench.config.changed_defaults import CHANGED_DEFAULTS, defaults_before
from workbench.config.definitions import OWN_NAMES
from workbench.config.kafka_versions import SERIES, first_of, number_of
from workbench.config.removed_configs import removed_in, why_removed
from workbench.files.names import CLEAN_SHUTDOWN
from workbench.foresight.preflight.concern import Concern
from workbench.foresight.startup.prediction import StartupPrediction
from workbench.inspection.broker_version import MeantBroker, later_formats
from workbench.inspection.cluster.image import StoredCluster, StoredConfigs
from workbench.inspection.listing import Listing
from workbench.layout.batch_header import ENTRY_HEADER_SIZE, MAGIC_AT
from workbench.runtime.words import plural

_NAMED: Final = 5  # topics that a sentence names
_CURRENT_MAGIC: Final = 2


def concerns_of_version(
    listing: Listing, meant: MeantBroker, shown: MeantBroker, cluster: StoredCluster
) -> Iterator[Concern]:
    """Yield what to know about a start of one version on directories that show another.

    Args:
        listing: the directories.
        meant: the broker that is to start.
        shown: the version that the directories show.
        cluster: what the metadata log says.
    """
    yield from _later(listing, meant, cluster)
    yield from _old(listing, meant)
    yield from _removed(meant, cluster.configs)
    yield from _defaults(meant, shown, cluster.configs)


def _later(listing: Listing, meant: MeantBroker, cluster: StoredCluster) -> Iterator[Concern]:
    found = list(later_formats(listing, meant.version, cluster))
    if not found:
        return
    newest = max((each.version for each in found), key=SERIES.index)
    reasons = list(dict.fromkeys(each.reason for each in found))
    more = f"; and {len(reasons) - _NAMED} more" if len(reasons) > _NAMED else ""
    what = f"Kafka {meant.version} does not write this: {'; '.join(reasons[:_NAMED])}{more}"
    action = (
        f"Start Kafka {newest} or later. Kafka does not support the downgrade; {meant.version} may "
        "not read these formats, or end at them"
    )
    yield Concern("later-format", "warning", what, action)


def _old(listing: Listing, meant: MeantBroker) -> Iterator[Concern]:
    """Yield the topics that begin a segment with magic 0 or 1, where the version writes no such."""
    if meant.rules.writes_old_formats:
        return
    topics: dict[str, int] = {}
    for partition in listing.partitions.values():
        if partition.kind != "log":
            continue
        for segment in partition.segments:
            with suppress(OSError):  # `predict` and `verify` say what cannot be read
                head = segment.read_bytes(0, ENTRY_HEADER_SIZE)
                if len(head) == ENTRY_HEADER_SIZE and head[MAGIC_AT] < _CURRENT_MAGIC:
                    topics[partition.topic] = topics.get(partition.topic, 0) + segment.size
    if not topics:
        return
    size = sum(topics.values())
    rewritten = (
        "a cleaning rewrites them as magic 2"
        if meant.rules.upgrades_old_batches
        else "a cleaning leaves their format"
    )
    what = (
        f"{_named(topics)} have {size:,} bytes in segments that begin with magic 0 or 1: Kafka "
        f"{meant.version} reads them, but no longer writes them; {rewritten}"
    )
    yield Concern("old-format", "info", what)


def concerns_of_producers(
    listing: Listing, prediction: StartupPrediction, meant: MeantBroker
) -> Iterator[Concern]:
    """Yield the logs whose producers a clean start forgets, because no snapshot has them.

    Kafka: UnifiedLog.rebuildProducerState, which trusts a clean shutdown (4.2)
    """
    if not meant.rules.has_producer_state:
        return
    loads = {os.path.join(row.directory, row.name) for row in prediction if row.verdict == "loads"}
    clean = {each.path for each in prediction.directories if each.had_clean_shutdown}
    found = []
    for partition in listing.partitions.values():
        path = os.path.abspath(partition.path)
        if path not in loads or os.path.dirname(path) not in clean or partition.snapshots:
            continue
        with suppress(OSError):  # `predict` and `verify` say what cannot be read
            heads = (each.read_bytes(0, ENTRY_HEADER_SIZE) for each in partition.segments[::-1])
            head = next(filter(None, heads), b"")
            if len(head) == ENTRY_HEADER_SIZE and head[MAGIC_AT] == _CURRENT_MAGIC:
                found.append(partition.name)
    if found:
        what = (
            f"after the clean shutdown the broker forgets the producers of {_named(found)}, "
            "because these logs have no producer snapshot: it accepts duplicates, read_committed "
            "consumers get the records of open transactions, even after they are aborted, and the "
            "cleaner does not stop at them"
        )
        action = f"Delete {CLEAN_SHUTDOWN} of these log directories: then the broker reads the logs"
        yield Concern("producers-forgotten", "warning", what, action)


def _removed(meant: MeantBroker, configs: StoredConfigs) -> Iterator[Concern]:
    """Yield the configurations in the metadata log that the version no longer has."""
    holders: dict[str, list[str]] = {}
    for topic, own in configs.topics.items():
        for name in own:
            holders.setdefault(name, []).append(f"topic {topic}")
    for broker, own in configs.brokers.items():
        for name in own:
            holders.setdefault(name, []).append(f"broker {broker}" if broker else "all brokers")
    for name, where in sorted(holders.items()):
        since = removed_in(name)
        if since is None or number_of(meant.version) < first_of(since):
            continue
        what = f"{name} is set for {_named(where)}: {why_removed(name)}"
        action = f"Delete {name} with kafka-configs.sh before the upgrade"
        yield Concern("removed-config", "warning", what, action)


def _defaults(meant: MeantBroker, shown: MeantBroker, configs: StoredConfigs) -> Iterator[Concern]:
    """Yield the defaults that differ between the two versions and that no broker sets."""
    before, after = defaults_before(shown.version), defaults_before(meant.version)
    is_set = {name for own in configs.brokers.values() for name in own}
    for name in sorted(before.keys() ^ after.keys()):
        changed = CHANGED_DEFAULTS[name]
        if name in is_set or name in OWN_NAMES:  # one row for the topic's name is enough
            continue
        if is_set.intersection(each for each, own in OWN_NAMES.items() if own == name):
            continue
        what = (
            f"the default of {name} is {changed.since} since {changed.version}, and was "
            f"{changed.before} before: Kafka {meant.version} starts with "
            f"{after.get(name, changed.since)}, unless server.properties sets it"
        )
        yield Concern("changed-default", "info", what)


def _named(names: Iterable[str]) -> str:
    known = list(dict.fromkeys(names))
    more = f" and {plural(len(known) - _NAMED, 'other')}" if len(known) > _NAMED else ""
    return ", ".join(known[:_NAMED]) + more
