"""What must hold in every state of a cluster, and what it means when it does not.

Kafka: the promises of acks=all, of KIP-101, KIP-279 and KIP-320
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from workbench.files.names import TopicPartition
from workbench.replication.fetcher import FetchState
from workbench.replication.simulation.cluster import Cluster
from workbench.replication.simulation.storage import StoredRecord


class Violation(NamedTuple):
    """A promise that a state breaks.

    Attributes:
        kind: the invariant's name.
        text: what is where, in a sentence.
    """

    kind: str
    text: str


Invariant = Callable[[Cluster], str | None]
"""Returns what is wrong in a state; None: it holds."""


def loses_committed_record(cluster: Cluster) -> str | None:
    """Return which record the leader lacks though it was acknowledged with acks=all.

    Kafka: the guarantee of acks=all
    """
    leader = cluster.leader
    if leader < 0 or cluster.brokers[leader].log is None:
        return None
    acked = [sent for sent in cluster.produced if sent.acks == -1 and sent.is_acked]
    if not acked:
        return None
    partition = cluster.brokers[leader].partition
    assert partition is not None
    if partition.leader_epoch != cluster.state.leader_epoch or not partition.is_leader:
        return None
    stored = {record.offset: record.value for record in cluster.records(leader)}
    for sent in acked:
        if sent.offset >= partition.log.log_start_offset and (
            stored.get(sent.offset) != sent.value
        ):
            found = stored.get(sent.offset)
            has = "nothing" if found is None else repr(found)
            return (
                f"{sent.value!r} was acknowledged at offset {sent.offset}; leader {leader} of "
                f"epoch {partition.leader_epoch} has {has} there"
            )
    return None


def diverges(cluster: Cluster) -> str | None:
    """Return where a follower that fetches in step with its leader has other records.

    Kafka: KIP-101, KIP-279
    """
    for broker in cluster.brokers.values():
        manager = broker.manager
        if manager is None:
            continue
        for fetcher in manager.fetchers.values():
            state = fetcher.states.get(cluster.partition)
            leader = cluster.brokers[fetcher.leader].partition
            if (
                state is None
                or state.state is not FetchState.FETCHING
                or state.lag is None
                or leader is None
                or not leader.is_leader
                or leader.leader_epoch != state.current_leader_epoch
            ):
                continue
            found = _difference(cluster.records(broker.id), cluster.records(fetcher.leader))
            if found is not None:
                mine, theirs = found
                return (
                    f"offset {mine.offset}: follower {broker.id} has {mine.value!r} of epoch "
                    f"{mine.epoch}, its leader {fetcher.leader} has {theirs.value!r} of epoch "
                    f"{theirs.epoch}"
                )
    return None


def in_sync_replicas_differ(cluster: Cluster) -> str | None:
    """Return where a live member of the ISR differs from the leader below its high watermark."""
    state = cluster.state
    leader = cluster.brokers.get(state.leader)
    if cluster.rules.is_quorum:
        return None  # a voter may lag, or have records that a new leader does not have
    if leader is None or leader.partition is None or not leader.partition.is_leader:
        return None
    high = leader.partition.log.high_watermark
    theirs = [record for record in cluster.records(leader.id) if record.offset < high]
    for member in state.isr:
        log = cluster.brokers[member].log
        if member == leader.id or log is None:
            continue
        start = max(log.log_start_offset, leader.partition.log.log_start_offset)
        records = cluster.records(member)
        mine = [record for record in records if start <= record.offset < high]
        if mine != [record for record in theirs if record.offset >= start]:
            return (
                f"in-sync replica {member} has {_values(mine)} below the leader's high watermark "
                f"{high}, leader {leader.id} has {_values(theirs)}"
            )
    return None


def epochs_fall(cluster: Cluster) -> str | None:
    """Return where the leader epoch falls along a log."""
    for broker in cluster.brokers.values():
        if broker.log is None:
            continue
        last = -1
        for record in cluster.records(broker.id):
            if record.epoch < last:
                return (
                    f"broker {broker.id}: epoch {record.epoch} at offset {record.offset} follows "
                    f"epoch {last}"
                )
            last = record.epoch
    return None


def high_watermark_outside(cluster: Cluster) -> str | None:
    """Return which high watermark is not between log start and log end offset."""
    for broker in cluster.brokers.values():
        log = broker.log
        if log is not None and not (
            log.log_start_offset <= log.high_watermark <= log.log_end_offset
        ):
            return (
                f"broker {broker.id}: high watermark {log.high_watermark} is outside of "
                f"[{log.log_start_offset}, {log.log_end_offset}]"
            )
    return None


def two_leaders(cluster: Cluster) -> str | None:
    """Return which two brokers lead in one epoch."""
    leaders: dict[tuple[TopicPartition, int], int] = {}
    for broker in cluster.brokers.values():
        partition = broker.partition
        if partition is not None and partition.is_leader:
            other = leaders.setdefault((partition.name, partition.leader_epoch), broker.id)
            if other != broker.id:
                return f"{other} and {broker.id} lead in epoch {partition.leader_epoch}"
    return None


INVARIANTS: Final[dict[str, Invariant]] = {
    "two leaders": two_leaders,
    "high watermark outside": high_watermark_outside,
    "epochs fall": epochs_fall,
    "committed record lost": loses_committed_record,
    "divergence": diverges,
    "in-sync replicas differ": in_sync_replicas_differ,
}
"""Every invariant by the name of its violation."""


def violations(cluster: Cluster) -> list[Violation]:
    """Return which promises a state breaks."""
    found = ((kind, check(cluster)) for kind, check in INVARIANTS.items())
    return [Violation(kind, text) for kind, text in found if text is not None]


def _difference(
    mine: list[StoredRecord], theirs: list[StoredRecord]
) -> tuple[StoredRecord, StoredRecord] | None:
    by_offset = {record.offset: record for record in theirs}
    for record in mine:
        other = by_offset.get(record.offset)
        if other is not None and (record.epoch, record.value) != (other.epoch, other.value):
            return record, other
    return None


def _values(records: list[StoredRecord]) -> str:
    return "[" + " ".join(record.value for record in records) + "]"
