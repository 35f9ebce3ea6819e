"""The replicas of a partition as its leader knows them: the ISR, and the high watermark.

Kafka: Partition.maybeIncrementLeaderHW, maybeExpandIsr, getOutOfSyncReplicas (4.2)
"""

import threading
from typing import NamedTuple, Protocol

from workbench.files.names import TopicPartition
from workbench.replication.messages import AlterPartition
from workbench.replication.replica import ReplicaState
from workbench.replication.replica_log import ReplicaLog
from workbench.replication.rules import Rules
from workbench.runtime.steps import Reports


class IsrState(NamedTuple):
    """The ISR, and the change of it that waits for the controller.

    Attributes:
        isr: the last ISR that the controller confirmed.
        pending: the ISR asked for; None: no change waits.

    Kafka: PartitionState: CommittedPartitionState, PendingExpandIsr, PendingShrinkIsr (4.2)
    """

    isr: tuple[int, ...] = ()
    pending: tuple[int, ...] | None = None

    @property
    def maximal_isr(self) -> frozenset[int]:
        """All replicas that may be in the ISR: also those that wait to join it."""
        return frozenset(self.isr) | frozenset(self.pending or ())

    @property
    def is_inflight(self) -> bool:
        """Whether a change waits."""
        return self.pending is not None


class ReplicaHost(Reports, Protocol):
    """What a partition's replicas need of their broker."""

    broker_id: int
    rules: Rules
    lag_time_max_ms: int

    def now(self) -> int:
        """Return the time, ms."""
        ...

    def min_insync_replicas(self, partition: TopicPartition) -> int:
        """Return the topic's `min.insync.replicas`."""
        ...

    def is_isr_eligible(self, broker: int, broker_epoch: int) -> bool:
        """Return whether a broker may be in the ISR: alive, and of the epoch that it fetched with.

        Kafka: Partition.isReplicaIsrEligible (4.2)
        """
        ...

    def is_stale(self, broker: int, broker_epoch: int) -> bool:
        """Return whether a fetch comes from an earlier life of a broker; never with epoch -1.

        Kafka: Replica.updateFetchStateOrThrow (4.2)
        """
        ...

    def complete_delayed_requests(self, partition: TopicPartition) -> None:
        """Try the requests that wait for the partition, as its high watermark rose."""
        ...


class PartitionReplicas:
    """What one broker knows of a partition's replicas, and what follows for a leader.

    Attributes:
        name: topic and number.
        log: the replica's log.
        leader_epoch: -1: none yet.
        partition_epoch: -1: none yet.
        leader: the leader's broker id; -1: none; None: not known yet.
        leader_epoch_start_offset: the leader's log end offset when its epoch began; None on a
            follower.
        replicas: the assigned brokers.
        isr_state: the ISR; empty on a follower.
        remote: follower → what the leader knows of it; empty on a follower.
    """

    __slots__ = (
        "_host", "_lock", "isr_state", "leader", "leader_epoch", "leader_epoch_start_offset", "log",
        "name", "partition_epoch", "remote", "replicas",
    )  # fmt: skip

    def __init__(self, name: TopicPartition, log: ReplicaLog, host: ReplicaHost) -> None:
        self.name = name
        self.log = log
        self.leader_epoch = -1
        self.partition_epoch = -1
        self.leader: int | None = None
        self.leader_epoch_start_offset: int | None = None
        self.replicas: tuple[int, ...] = ()
        self.isr_state = IsrState()
        self.remote: dict[int, ReplicaState] = {}
        self._host = host
        self._lock = threading.RLock()

    @property
    def is_leader(self) -> bool:
        """Whether this broker leads the partition."""
        return self.leader == self._host.broker_id

    @property
    def effective_min_isr(self) -> int:
        """`min.insync.replicas`; since 3.7 no more than there are replicas.

        Kafka: Partition.effectiveMinIsr (4.2)
        """
        wanted = self._host.min_insync_replicas(self.name)
        return min(wanted, len(self.replicas)) if self._host.rules.needs_min_isr else wanted

    def _maybe_increment_leader_high_watermark(self) -> bool:
        """Raise the high watermark to what all replicas have that can become the leader.

        Kafka: Partition.maybeIncrementLeaderHW (4.2)
        """
        host, log, state = self._host, self.log, self.isr_state
        if not self.is_leader:
            return False
        if host.rules.is_quorum:
            return self._maybe_commit_by_majority()
        if host.rules.needs_min_isr and len(state.isr) < self.effective_min_isr:
            return False
        end = log.log_end
        new, held_by = end, None
        maximal = state.maximal_isr
        for broker, replica in self.remote.items():
            if replica.log_end.offset < new.offset and (
                broker in maximal or self._is_returning(replica, broker, end.offset)
            ):
                new, held_by = replica.log_end, broker
        before = log.high_watermark
        if not log.maybe_increment_high_watermark(new):
            return False
        host.tell(
            "high watermark raised", self.name,
            f"broker {held_by} has the records up to it, all others have more"
            if held_by is not None else "every replica that counts has all records",
            before=before, high_watermark=new.offset, log_end_offset=end.offset,
        )  # fmt: skip
        return True

    def _maybe_commit_by_majority(self) -> bool:
        """Raise the high watermark to what a majority of the voters has.

        A leader commits nothing before it has committed a record of its own epoch.

        Kafka: LeaderState.maybeUpdateHighWatermark (4.2)
        """
        log, start = self.log, self.leader_epoch_start_offset
        ends = [log.log_end, *(replica.log_end for replica in self.remote.values())]
        ends.sort(key=lambda end: end.offset, reverse=True)
        new = ends[len(ends) // 2]
        before = log.high_watermark
        if start is None or new.offset <= start or not log.maybe_increment_high_watermark(new):
            return False
        self._host.tell(
            "high watermark raised", self.name,
            f"{len(ends) // 2 + 1} of {len(ends)} voters have the records up to it",
            before=before, high_watermark=new.offset, log_end_offset=log.log_end_offset,
        )  # fmt: skip
        return True

    def _is_returning(self, replica: ReplicaState, broker: int, leader_end_offset: int) -> bool:
        """Return whether a replica outside the ISR is near enough that it must not be outrun."""
        host = self._host
        return replica.is_caught_up(
            leader_end_offset,
            host.now(),
            host.lag_time_max_ms,
            keeps_at_end=host.rules.keeps_replicas_at_end,
        ) and (
            not host.rules.counts_eligible_only
            or host.is_isr_eligible(broker, replica.broker_epoch)
        )

    def _expansion(self, broker: int) -> AlterPartition | None:
        """Return the request to add a follower that has caught up; None: it remains outside.

        Kafka: Partition.maybeExpandIsr, needsExpandIsr (4.2)
        """
        state, replica = self.isr_state, self.remote[broker]
        if state.is_inflight or broker in state.isr:
            return None
        end = replica.log_end_offset
        if end < self.log.high_watermark:
            return None
        start = self.leader_epoch_start_offset
        if self._host.rules.joins_from_epoch_start and (start is None or end < start):
            return None
        if not self._host.is_isr_eligible(broker, replica.broker_epoch):
            return None
        wanted = tuple(b for b in self.replicas if b in state.isr or b == broker)
        return self._change_isr(wanted, "ISR expanding", f"broker {broker} has caught up")

    def out_of_sync_replicas(self) -> set[int]:
        """Return the members of the ISR that lag too long.

        Kafka: Partition.getOutOfSyncReplicas (4.2)
        """
        state, end, now = self.isr_state, self.log.log_end_offset, self._host.now()
        if state.is_inflight:
            return set()
        return {
            broker
            for broker in state.isr
            if broker in self.remote
            and not self.remote[broker].is_caught_up(
                end,
                now,
                self._host.lag_time_max_ms,
                keeps_at_end=self._host.rules.keeps_replicas_at_end,
            )
        }

    def _change_isr(self, wanted: tuple[int, ...], kind: str, reason: str) -> AlterPartition:
        self.isr_state = self.isr_state._replace(pending=wanted)
        self._host.tell(kind, self.name, reason, isr=self.isr_state.isr, wanted=wanted)
        epochs = tuple(
            self.remote[broker].broker_epoch if broker in self.remote else -1 for broker in wanted
        )
        return AlterPartition(
            self._host.broker_id,
            self.leader_epoch,
            self.partition_epoch,
            wanted,
            broker_epochs=epochs,
        )
