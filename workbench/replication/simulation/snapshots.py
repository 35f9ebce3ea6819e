"""A cluster at one moment, as values: what replicas hold, what waits, what travels."""

from typing import NamedTuple

from workbench.log.timestamp_search import LATEST
from workbench.replication.fetcher import EpochRequest, FetchRequest, Request
from workbench.replication.messages import EpochEndOffset, FetchPartitionData
from workbench.replication.purgatory import DelayedFetch, DelayedOperation
from workbench.replication.simulation.cluster import Cluster
from workbench.replication.simulation.cluster_state import Produced
from workbench.replication.simulation.simulated_broker import PendingFetch, SimulatedBroker
from workbench.replication.simulation.storage import StoredRecord
from workbench.runtime.error_codes import ErrorCode
from workbench.runtime.words import plural

UNKNOWN = -1


class ReplicaSnapshot(NamedTuple):
    """One broker's replica.

    Attributes:
        broker: the broker's id.
        role: "leader", "follower", "no leader" (it follows no broker), "stopped" or "dead".
        is_isolated: whether only clients reach it.
        leader_epoch: the epoch that it knows; -1: none.
        log_start_offset: its first offset.
        log_end_offset: the offset of its next record.
        high_watermark: as it knows it; -1: a broker that does not run has none.
        checkpointed: the high watermark of its checkpoint file.
        records: its records; of a broker that does not run, those that it stored.
        epochs: its leader epochs, each with its start offset.
        remote: follower → its log end offset as a leader knows it, -1: not known yet.
        isr: the in-sync replicas as a leader knows them.
        maximal_isr: those, and the ones that it has asked the controller to add.
    """

    broker: int
    role: str
    is_isolated: bool = False
    leader_epoch: int = UNKNOWN
    log_start_offset: int = 0
    log_end_offset: int = 0
    high_watermark: int = UNKNOWN
    checkpointed: int = 0
    records: tuple[StoredRecord, ...] = ()
    epochs: tuple[tuple[int, int], ...] = ()
    remote: tuple[tuple[int, int], ...] = ()
    isr: tuple[int, ...] = ()
    maximal_isr: tuple[int, ...] = ()

    @property
    def runs(self) -> bool:
        """Whether the broker runs."""
        return self.role not in {"stopped", "dead"}


class FetchMessage(NamedTuple):
    """A request or answer between a follower and a leader.

    Attributes:
        follower: the broker that asks.
        leader: the broker that answers.
        asks: the request as text.
        answers: the answer as text; empty: there is none yet.
    """

    follower: int
    leader: int
    asks: str
    answers: str = ""


class Waiting(NamedTuple):
    """A request in a purgatory.

    Attributes:
        broker: the leader at which it waits.
        kind: "produce" or "fetch".
        text: what it waits for.
    """

    broker: int
    kind: str
    text: str


class Snapshot(NamedTuple):
    """A cluster at one moment.

    Attributes:
        time_ms: since the cluster began.
        leader: as the controller says; -1: there is none.
        leader_epoch: the controller's.
        isr: the controller's.
        elr: the eligible leader replicas (KIP-966).
        replicas: those of all brokers, by id.
        under_way: requests and answers of followers that have not arrived.
        waiting: what is in the purgatories.
        produced: what clients sent, and their answers.
    """

    time_ms: int
    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    elr: tuple[int, ...]
    replicas: tuple[ReplicaSnapshot, ...]
    under_way: tuple[FetchMessage, ...] = ()
    waiting: tuple[Waiting, ...] = ()
    produced: tuple[Produced, ...] = ()


def take_snapshot(cluster: Cluster, began_ms: int, before: Snapshot | None = None) -> Snapshot:
    """Return a cluster as it is.

    Args:
        cluster: the cluster.
        began_ms: the time that counts as 0.
        before: an earlier snapshot, for the logs of brokers that do not run; None: their logs are
            shown as empty.
    """
    state = cluster.state
    brokers = cluster.brokers.values()
    earlier = {} if before is None else {each.broker: each for each in before.replicas}
    return Snapshot(
        time_ms=cluster.clock.now() - began_ms,
        leader=state.leader,
        leader_epoch=state.leader_epoch,
        isr=state.isr,
        elr=state.elr,
        replicas=tuple(_replica(cluster, broker, earlier.get(broker.id)) for broker in brokers),
        under_way=tuple(
            message_of(broker.id, broker.exchange)
            for broker in brokers
            if broker.exchange is not None
        ),
        waiting=tuple(each for broker in brokers for each in _waiting(cluster, broker)),
        produced=tuple(cluster.produced),
    )


def _replica(
    cluster: Cluster, broker: SimulatedBroker, before: ReplicaSnapshot | None
) -> ReplicaSnapshot:
    partition = broker.partition
    if partition is None:
        known = ReplicaSnapshot(broker.id, "dead") if before is None else before
        role = "no leader" if broker.is_alive else "stopped" if broker.was_clean else "dead"
        return known._replace(
            role=role, is_isolated=broker.is_isolated, high_watermark=UNKNOWN,
            checkpointed=broker.storage.checkpointed, remote=(), isr=(), maximal_isr=(),
        )  # fmt: skip
    log = partition.log
    is_leader = partition.is_leader
    has_leader = is_leader or bool(broker.manager and broker.manager.fetchers)
    isr = partition.isr_state
    return ReplicaSnapshot(
        broker=broker.id,
        role="leader" if is_leader else "follower" if has_leader else "no leader",
        is_isolated=broker.is_isolated,
        leader_epoch=partition.leader_epoch,
        log_start_offset=log.log_start_offset,
        log_end_offset=log.log_end_offset,
        high_watermark=log.high_watermark,
        checkpointed=broker.storage.checkpointed,
        records=tuple(cluster.records(broker.id)),
        epochs=tuple((entry.epoch, entry.start_offset) for entry in log.leader_epochs.entries),
        remote=tuple(
            (id_, replica.log_end_offset) for id_, replica in sorted(partition.remote.items())
        )
        if is_leader
        else (),
        isr=tuple(sorted(isr.isr)) if is_leader else (),
        maximal_isr=tuple(sorted(isr.maximal_isr)) if is_leader else (),
    )


def without_lost(replica: ReplicaSnapshot, lose: int) -> ReplicaSnapshot:
    """Return the stored log of a dead broker without the records that its page cache lost."""
    if not lose:
        return replica
    kept = replica.records[: max(0, len(replica.records) - lose)]
    end = max(replica.log_start_offset, replica.log_end_offset - lose)
    return replica._replace(
        records=kept,
        log_end_offset=end,
        epochs=tuple(entry for entry in replica.epochs if entry[1] < end),
    )


def message_of(follower: int, exchange: PendingFetch) -> FetchMessage:
    """Return what is under way between a follower and a leader, as text."""
    answers = _answer_text(exchange.answer) if exchange.is_answered else ""
    return FetchMessage(follower, exchange.leader, _request_text(exchange.request), answers)


def _request_text(request: Request) -> str:
    if isinstance(request, FetchRequest):
        (fetch,) = request.partitions.values()
        epoch = fetch.last_fetched_epoch
        after = "" if epoch is None else f", last epoch {epoch}"
        return f"fetch from {fetch.fetch_offset}{after}"
    if isinstance(request, EpochRequest):
        ((_, asked),) = request.partitions.values()
        return f"where does epoch {asked} end?"
    return f"where does your log {'end' if request.timestamp == LATEST else 'start'}?"


def _answer_text(answer: object) -> str:
    if isinstance(answer, dict):
        (answer,) = answer.values()
    if isinstance(answer, FetchPartitionData):
        if answer.error is not ErrorCode.NONE:
            return answer.error.name
        if answer.diverging_epoch is not None:
            end = answer.diverging_epoch
            return f"diverging: epoch {end.epoch} ends at {end.end_offset}"
        return f"{_records_text(answer.records)}, HW {answer.high_watermark}"
    if isinstance(answer, tuple) and len(answer) == 2:  # an error and a value
        error, value = answer
        if error is not ErrorCode.NONE:
            return str(error.name)
        return _end_text(value) if isinstance(value, EpochEndOffset) else f"at {value}"
    return _end_text(answer) if isinstance(answer, EpochEndOffset) else "no answer"


def _end_text(end: EpochEndOffset) -> str:
    if end.is_undefined:
        return "not known"
    return f"epoch {end.epoch} ends at {end.end_offset}" if end.epoch >= 0 else f"{end.end_offset}"


def _records_text(records: object) -> str:
    if records is None:
        return "no records"
    light = getattr(records, "records", ())
    count = len(light) if isinstance(light, tuple) else sum(1 for _ in light())
    return plural(count, "record") if count else "no records"


def _waiting(cluster: Cluster, broker: SimulatedBroker) -> list[Waiting]:
    manager = broker.manager
    if manager is None:
        return []
    found = []
    operations: tuple[DelayedOperation, ...] = (
        *manager.produce_purgatory.operations,
        *manager.fetch_purgatory.operations,
    )
    for operation in operations:
        if isinstance(operation, DelayedFetch):
            follower = operation.params.replica_id
            (fetch,) = operation.fetches.values()
            found.append(
                Waiting(broker.id, "fetch", f"fetch of {follower} from {fetch.fetch_offset}")
            )
        else:
            required = getattr(operation, "required", {}).get(cluster.partition, 0)
            found.append(Waiting(broker.id, "produce", f"produce until HW {required}"))
    return found
