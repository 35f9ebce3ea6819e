"""Compare the disks of several brokers of one cluster: each partition that any of them holds."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from workbench.comparison.committed import committed_prefix
from workbench.comparison.disks import BrokerDisks
from workbench.comparison.pairs import Pairs, compare_all
from workbench.comparison.replica import Replica, read_replica
from workbench.comparison.results import Leadership, PartitionComparison
from workbench.comparison.truncation import NEWEST, become_follower
from workbench.comparison.verdicts import findings_of
from workbench.config.internal_topics import COMPACTED_TOPICS
from workbench.files.names import TopicPartition
from workbench.inspection.cluster.image import PartitionRegistration, StoredCluster
from workbench.inspection.findings import Finding
from workbench.inspection.listing import Listing
from workbench.replication.rules import Rules


class Comparer:
    """Compares the partitions of several brokers, one at a time.

    Args:
        brokers: name of each broker → its log directories.
        rules: how followers truncate in the brokers' version.

    Attributes:
        findings: what is wrong with the directories as a whole.
    """

    def __init__(self, brokers: Mapping[str, Listing], rules: Rules = NEWEST) -> None:
        self._rules = rules
        self._disks = [BrokerDisks(name, listing) for name, listing in brokers.items()]
        newest = max(self._disks, key=lambda disks: disks.metadata_end)
        self._cluster: StoredCluster | None = newest.cluster
        self._ids = {
            disks.node_id: disks.broker for disks in self._disks if disks.node_id is not None
        }
        self.findings = (*self._clusters(), *(f for d in self._disks for f in d.twice()))

    def partitions(
        self,
        topics: Collection[str] | None = None,
        numbers: Collection[int | str] | None = None,
    ) -> list[TopicPartition]:
        """Return the partitions that any broker has, sorted.

        Args:
            topics: names; None: all.
            numbers: numbers, or names of partitions; None: all.

        Raises:
            LookupError: no broker has one that is named.
        """
        found = sorted({name for disks in self._disks for name in disks.logs})
        _require("topic", topics, {name.topic for name in found})
        _require("partition", numbers, {each for n in found for each in (n.partition, str(n))})
        return [
            name
            for name in found
            if (topics is None or name.topic in topics)
            and (numbers is None or name.partition in numbers or str(name) in numbers)
        ]

    def compare(
        self,
        name: TopicPartition,
        *,
        deep: bool = True,
        advance: Callable[[int], None] = lambda _size: None,
    ) -> PartitionComparison:
        """Compare the replicas of one partition.

        Args:
            name: one of `partitions`.
            deep: whether to check the CRC of every batch; otherwise only headers are read, with the
                stored CRCs.
            advance: called with the bytes that were walked, those of every replica once; raises to
                stop.
        """
        replicas = [
            read_replica(disks, disks.logs[name], deep=deep, advance=advance)
            for disks in self._disks
            if name in disks.logs
        ]
        is_compacted = self._is_compacted(name.topic, replicas)
        ahead = max(replicas, key=lambda replica: replica.rank)
        pairs = compare_all(replicas, is_compacted=is_compacted, advance=lambda _size: advance(0))
        registration = self._registration(name, replicas)
        # Eligible leaders (KIP-966) have everything that is committed, as in-sync replicas do.
        bound = () if registration is None else (*registration.isr, *registration.elr)
        isr = {self._ids[each] for each in bound if each in self._ids} or None
        committed = committed_prefix(replicas, ahead, pairs, isr)
        compared = PartitionComparison(
            topic=name.topic,
            partition=name.partition,
            replicas=tuple(replicas),
            ahead=ahead.broker,
            pairs=pairs.all,
            committed=committed,
            leaderships=_leaderships(replicas, ahead, pairs, registration, self._rules),
            registration=registration,
            is_compacted=is_compacted,
        )
        by_names = {frozenset((pair.left, pair.right)): pair for pair in pairs.all}
        return replace(compared, findings=findings_of(compared, by_names, self._ids))

    def _is_compacted(self, topic: str, replicas: Sequence[Replica]) -> bool:
        if topic in COMPACTED_TOPICS or any(each.cleaner_offset is not None for each in replicas):
            return True
        configs = {} if self._cluster is None else self._cluster.configs.topics.get(topic, {})
        return "compact" in configs.get("cleanup.policy", "")

    def _registration(
        self, name: TopicPartition, replicas: Sequence[Replica]
    ) -> PartitionRegistration | None:
        """Return what the newest metadata log says; None if it is about another topic."""
        if self._cluster is None:
            return None
        topic_id = self._cluster.topic_ids.get(name.topic)
        if topic_id is None or all(each.topic_id not in {topic_id, None} for each in replicas):
            return None
        return self._cluster.partitions.get((topic_id, name.partition))

    def _clusters(self) -> Iterator[Finding]:
        known = [(disks, disks.cluster_ids) for disks in self._disks if disks.cluster_ids]
        for disks, ids in known[1:]:
            if ids != known[0][1]:
                path = disks.listing.roots[0].path
                yield Finding(
                    "cluster-id", "error", path, None, None,
                    f"cluster id {', '.join(sorted(ids))} of broker {disks.broker}",
                    f"{', '.join(sorted(known[0][1]))}, as of broker {known[0][0].broker}",
                    "These are logs of different clusters; topics of one name are not replicas.",
                )  # fmt: skip


def _require(kind: str, wanted: Collection[int | str] | None, known: Collection[int | str]) -> None:
    for each in wanted or ():
        if each not in known:
            raise LookupError(f"no broker has {kind} {each!r}")


def _leaderships(
    replicas: Sequence[Replica],
    ahead: Replica,
    pairs: Pairs,
    registration: PartitionRegistration | None,
    rules: Rules,
) -> dict[str, Leadership]:
    """Return what would happen if each broker became the leader."""
    epochs = [
        entry.epoch
        for replica in replicas
        for entry in (*replica.batch_epochs, *(replica.stored_epochs or ()))
    ]
    known = -1 if registration is None else registration.leader_epoch
    epoch = max([known, *epochs]) + 1
    found = {}
    for leader in replicas:
        state = leader.state.as_leader(epoch, rules)
        lost = _lost_under(leader, state.log_end_offset, replicas, pairs)
        kept = min(pairs.of(leader, ahead).common_end, state.log_end_offset)
        gone = max(0, ahead.log_end_offset - kept)
        if lost is not None:
            gone -= max(0, min(lost[1], ahead.log_end_offset) - max(lost[0], kept))
        found[leader.broker] = Leadership(
            leader.broker,
            {
                each.broker: become_follower(each.state, state, rules)
                for each in replicas
                if each is not leader
            },
            lost,
            gone,
        )
    return found


def _lost_under(
    leader: Replica, log_end_offset: int, replicas: Sequence[Replica], pairs: Pairs
) -> tuple[int, int] | None:
    """Return the committed offsets [start, end) that a leader would not have; None if none."""
    ranges = []
    for replica in replicas:
        kept = min(pairs.of(leader, replica).common_end, log_end_offset)
        start, end = max(kept, replica.log_start_offset), replica.known_committed
        if start < end:
            ranges.append((start, end))
    if not ranges:
        return None
    return min(start for start, _ in ranges), max(end for _, end in ranges)
