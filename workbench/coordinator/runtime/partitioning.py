"""Find the partition of a coordinator's topic that a group or a transactional id belongs to.

Kafka: GroupMetadataManager.partitionFor, TransactionStateManager.partitionFor, Utils.abs (4.2)
"""

import os
import struct
from collections import Counter
from collections.abc import Container, Iterable, Mapping
from functools import lru_cache
from typing import Final

from workbench.config.internal_topics import METADATA_LOG
from workbench.foresight.explain.rule_verdict import rule_row
from workbench.inspection.cluster.loading import read_stored_cluster
from workbench.inspection.listing import list_log_directories
from workbench.runtime.words import plural
from workbench.tables.foresight import RuleRow

DEFAULT_PARTITIONS: Final = 50
"""`offsets.topic.num.partitions` and `transaction.state.log.num.partitions` unless configured."""

_INT_MIN: Final = -(1 << 31)


def java_hash(text: str) -> int:
    """Return Java's `String.hashCode`: over UTF-16 units, wrapped to 32 bits."""
    data = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for unit in struct.unpack(f">{len(data) // 2}H", data):
        value = (31 * value + unit) & 0xFFFFFFFF
    return value - (1 << 32) if value >= 1 << 31 else value


@lru_cache(maxsize=1 << 12)
def partition_for(name: str, partitions: int) -> int:
    """Return the partition of `__consumer_offsets` whose leader coordinates a group.

    Also that of `__transaction_state` for a transactional id.

    Args:
        name: group id or transactional id.
        partitions: the number of the topic's partitions.

    Raises:
        ValueError: the topic has no partition.

    Kafka: GroupMetadataManager.partitionFor (once OffsetManager.partitionFor)
    """
    if partitions < 1:
        raise ValueError(f"a topic has 1 or more partitions, not {partitions}")
    value = java_hash(name)
    return (0 if value == _INT_MIN else abs(value)) % partitions


def partition_count(
    names: Mapping[int, Iterable[str]], present: Iterable[int], stored: int | None = None
) -> int | None:
    """Return the number of a coordinator topic's partitions; None if unknown.

    The directories may hold only some of the partitions. Without the cluster's metadata the count
    is the one under which most names are where they belong: Kafka's default, or, if the partitions
    that are there are numbered without a gap, how many these are. Names that fit both prove
    nothing about the second, so the first is taken.

    Args:
        names: partition → the groups or transactional ids in it.
        present: partitions in the directories.
        stored: the count that `__cluster_metadata` gives.
    """
    if stored:
        return stored
    there = set(present)
    highest = max(there, default=-1)
    candidates = [DEFAULT_PARTITIONS] if highest < DEFAULT_PARTITIONS else []
    if there and len(there) == highest + 1:
        candidates.append(highest + 1)
    fits = Counter(
        {
            count: sum(partition_for(n, count) == at for at, group in names.items() for n in group)
            for count in candidates
        }
    )
    total = sum(1 for group in names.values() for _ in group)
    best = max(candidates, key=lambda count: fits[count], default=None)
    if best is None or total == 0 or 2 * fits[best] <= total:
        return None
    return best


def stored_partition_count(directories: Iterable[str], topic: str) -> int | None:
    """Return a topic's number of partitions in the cluster's metadata; None without it.

    Args:
        directories: the log directories of a broker.
        topic: a coordinator's topic.
    """
    for directory in directories:
        path = os.path.join(directory, METADATA_LOG)
        if not os.path.isdir(path):
            continue
        metadata = list_log_directories(path).partitions.get(METADATA_LOG)
        if metadata is not None:
            return read_stored_cluster(metadata).partition_counts.get(topic)
    return None


def place_row(
    topic: str, name: str, count: int | None, here: Container[str], found: Iterable[str], kafka: str
) -> RuleRow:
    """Return the verdict on the partition in which a broker looks for a group or transactional id.

    Args:
        topic: the coordinator's topic.
        name: the group's id, or the transactional id.
        count: the number of the topic's partitions; None: unknown.
        here: names of the partitions that the directories have.
        found: names of those that have records of the name.
        kafka: what looks there.
    """
    if count is None:
        reason = f"the number of partitions of {topic} is unknown"
        return rule_row("partition", "unknown", None, None, reason, kafka)
    wanted = f"{topic}-{partition_for(name, count)}"
    if wanted not in here:
        reason = f"{wanted} is not in these directories"
        return rule_row("partition", "unknown", None, wanted, reason, kafka)
    wrong = sorted({*found} - {wanted})
    if wrong:
        reason = f"records are in {', '.join(wrong)}, but a broker reads only {wanted}"
        return rule_row("partition", "blocks", wrong[0], wanted, reason, kafka)
    reason = f"{wanted} of {plural(count, 'partition')}"
    return rule_row("partition", "allows", wanted, wanted, reason, kafka)
