"""A broker of a simulated cluster, over its lives.

Kafka: ReplicaManager and its fetchers on one broker (4.2)
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from workbench.files.names import TopicPartition
from workbench.replication.controller import Controller
from workbench.replication.fetcher import Request
from workbench.replication.messages import AlterPartition
from workbench.replication.partition import ReplicatedPartition
from workbench.replication.replica_log import ReplicaLog
from workbench.replication.replica_manager import ReplicaManager
from workbench.replication.simulation.coordinator import SimulatedCoordinator
from workbench.replication.simulation.storage import LightStorage, Storage
from workbench.runtime.clock import ManualClock
from workbench.runtime.steps import Observer, Step


class Surroundings(Protocol):
    """What a broker needs of its cluster; for the attributes see `Cluster`."""

    partition: TopicPartition
    clock: ManualClock
    observer: Observer | None
    controller: Controller
    halted: dict[int, str]

    def _submit(
        self, broker: "SimulatedBroker", partition: ReplicatedPartition, request: AlterPartition
    ) -> None:
        """Let the controller check a change of the ISR."""

    def _respond(self, reply_to: Any, answer: Any) -> None:
        """Take an answer of a broker."""

    def kill(self, broker: int) -> bool:
        """End a broker's process; return whether it ran."""


class PendingFetch(NamedTuple):
    """A follower's request that has reached a leader.

    Attributes:
        leader: the leader asked.
        request: what was asked.
        answer: the answer that travels back; None: the leader has not answered yet.
        is_answered: whether it has.
        number: distinguishes one exchange from the next.
    """

    leader: int
    request: Request
    answer: Any = None
    is_answered: bool = False
    number: int = 0


class SimulatedBroker:
    """One broker of a `Cluster`, over its lives.

    Attributes:
        id: the broker's id.
        storage: its log.
        manager: its replica manager; None: it is dead.
        coordinator: its group coordinator; None: it is dead, or the cluster has none.
        exchange: its request to a leader that is under way; None: there is none.
        is_isolated: whether neither the controller nor other brokers reach it; clients do.
        is_paused: whether its process is suspended: requests wait in its sockets.
        waiting: (number, timeout in ms) of the records that clients sent while it was paused.
        was_clean: whether it was stopped cleanly the last time.
        last_heartbeat_ms: when the controller heard of it.
        registers_at_ms: when it will have registered again, because its ZooKeeper session is over;
            None: it need not.
    """

    def __init__(self, broker: int, cluster: Surroundings, storage: Storage) -> None:
        self.id = broker
        self.storage = storage
        self.manager: ReplicaManager | None = None
        self.coordinator: SimulatedCoordinator | None = None
        self.exchange: PendingFetch | None = None
        self.is_isolated = False
        self.is_paused = False
        self.waiting: tuple[tuple[int, int], ...] = ()
        self.was_clean = True
        self.last_heartbeat_ms = cluster.clock.now()
        self.registers_at_ms: int | None = None
        self._cluster = cluster

    # What the replica manager needs of its broker

    def now(self) -> int:
        """Return the cluster's time, ms."""
        return self._cluster.clock.now()

    def create_log(self, partition: TopicPartition, *, is_new: bool) -> ReplicaLog:  # noqa: ARG002
        """Return the log of the partition, with the high watermark of its checkpoint."""
        return self.storage.log(partition)

    def topic_config(self, topic: str) -> Mapping[str, Any]:
        """Return the topic's configuration."""
        return self._cluster.controller.topic_config(topic)

    def is_isr_eligible(self, broker: int, broker_epoch: int) -> bool:
        """Return whether the metadata allows a broker in an ISR."""
        return self._cluster.controller.is_isr_eligible(broker, broker_epoch)

    def is_stale(self, broker: int, broker_epoch: int) -> bool:
        """Return whether a broker epoch is of an earlier life."""
        return self._cluster.controller.is_stale(broker, broker_epoch)

    def submit(self, partition: ReplicatedPartition, request: AlterPartition) -> None:
        """Send a change of the ISR to the controller, unless it cannot be reached."""
        self._cluster._submit(self, partition, request)  # noqa: SLF001

    def respond(self, reply_to: Any, answer: Any) -> None:
        """Send an answer."""
        self._cluster._respond(reply_to, answer)  # noqa: SLF001

    def halt(self, reason: str) -> None:
        """End the process."""
        self._cluster.halted[self.id] = reason
        self._cluster.kill(self.id)

    def tell(self, kind: str, where: object = "", reason: str = "", **numbers: Any) -> None:
        """Report a step."""
        observer = self._cluster.observer
        if observer is not None:
            observer(Step(kind, str(where), reason, {"at": self.id, **numbers}))

    # State

    @property
    def is_alive(self) -> bool:
        """Whether the process runs."""
        return self.manager is not None

    @property
    def partition(self) -> ReplicatedPartition | None:
        """The replica; None: the broker is dead, or leads and follows no partition yet."""
        if self.manager is None:
            return None
        return self.manager.partitions.get(self._cluster.partition)

    @property
    def log(self) -> ReplicaLog | None:
        """The replica's log; None as for `partition`."""
        partition = self.partition
        return None if partition is None else partition.log

    def log_end(self) -> tuple[int, int]:
        """Return the leader epoch of the log's last record and the log end offset; -1: none."""
        log = self.log
        if log is None:
            return -1, -1
        latest = log.leader_epochs.latest_epoch
        return (-1 if latest is None else latest), log.log_end_offset

    def deadlines_ms(self) -> list[int]:
        """Return when the next commit at its coordinator has waited too long, if one waits."""
        found = None if self.coordinator is None else self.coordinator.next_deadline_ms
        return [] if found is None else [found]

    def expire_delayed(self) -> None:
        """Answer the requests whose time is over."""
        if self.manager is not None:
            self.manager.expire_delayed()
        if self.coordinator is not None:
            self.coordinator.expire(self.now())

    def copy(self, cluster: Surroundings) -> "SimulatedBroker":
        """Return the same broker of another cluster; only for light storage."""
        assert isinstance(self.storage, LightStorage)
        other = SimulatedBroker.__new__(SimulatedBroker)
        other.id = self.id
        storage = self.storage.copy()
        other.storage = storage
        other.coordinator = None
        other.exchange = self.exchange
        other.is_isolated = self.is_isolated
        other.is_paused = self.is_paused
        other.waiting = self.waiting
        other.was_clean = self.was_clean
        other.last_heartbeat_ms = self.last_heartbeat_ms
        other.registers_at_ms = self.registers_at_ms
        other._cluster = cluster  # noqa: SLF001
        other.manager = (
            None if self.manager is None else self.manager.copy(other, lambda _: storage.stored)
        )
        return other
