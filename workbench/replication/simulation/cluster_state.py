"""What is in a simulated cluster: its brokers, the controller's state, what clients sent.

Kafka: LeaderAndIsr (4.2)
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from workbench.coordinator.groups.group_load import GROUPS_TOPIC
from workbench.errors import ReplicationError
from workbench.files.names import TopicPartition
from workbench.replication.controller import Controller
from workbench.replication.fetcher import EpochRequest, FetchRequest
from workbench.replication.messages import NO_LEADER, LeaderAndIsr
from workbench.replication.replica_log import ReplicaLog
from workbench.replication.rules import Rules
from workbench.replication.simulation.simulated_broker import PendingFetch, SimulatedBroker
from workbench.replication.simulation.storage import EngineStorage, LightStorage, StoredRecord
from workbench.runtime.clock import ManualClock
from workbench.runtime.error_codes import ErrorCode
from workbench.runtime.steps import Observer
from workbench.runtime.words import plural


class Produced(NamedTuple):
    """One record that a client sent.

    Attributes:
        value: the record.
        acks: -1 (all), 0 or 1.
        to: the broker.
        answer: None: no answer came; otherwise NONE for success, or an error.
        offset: where the broker wrote it; -1: nowhere.
        is_commit: whether it is a commit, such as `billing orders-0=42`, for the coordinator.
    """

    value: str
    acks: int
    to: int
    answer: ErrorCode | None = None
    offset: int = -1
    is_commit: bool = False

    @property
    def is_acked(self) -> bool:
        """Whether the client got the answer that the record is stored."""
        return self.answer is ErrorCode.NONE


class ClusterState:
    """The state of a cluster; `Cluster` has the events that change it, and the attributes."""

    rules: Rules
    partition: TopicPartition
    clock: ManualClock
    observer: Observer | None
    produced: list[Produced]
    halted: dict[int, str]
    controller: Controller
    brokers: dict[int, SimulatedBroker]
    _lag_time_max_ms: int | None
    _fetch_max_bytes: int
    _fetch_max_wait_ms: int
    _session_timeouts: Mapping[int, int]
    _numbers: int  # of the exchanges so far
    _next_isr_check: int
    _next_checkpoint: int

    def __repr__(self) -> str:
        count = plural(len(self.brokers), "broker")
        return f"Cluster({self.partition}, {count}, rules {self.rules.version})"

    # What is

    @property
    def state(self) -> LeaderAndIsr:
        """Leader, epochs and ISR, as the controller knows them."""
        return self.controller.partitions[self.partition]

    @property
    def leader(self) -> int:
        """The leader's broker id; -1: there is none."""
        return self.state.leader

    @property
    def has_coordinator(self) -> bool:
        """Whether its brokers have group coordinators."""
        storage = next(iter(self.brokers.values())).storage
        return self.partition.topic == GROUPS_TOPIC and isinstance(storage, EngineStorage)

    @property
    def lag_time_max_ms(self) -> int:
        """`replica.lag.time.max.ms`."""
        given = self._lag_time_max_ms
        return self.rules.lag_time_max_ms if given is None else given

    def log(self, broker: int) -> ReplicaLog:
        """Return the log of a broker that runs.

        Raises:
            ReplicationError: the broker is dead.
        """
        log = self._broker(broker).log
        if log is None:
            raise ReplicationError(f"broker {broker} does not run")
        return log

    def records(self, broker: int) -> list[StoredRecord]:
        """Return all records of a broker that runs."""
        return self._broker(broker).storage.records(self.log(broker))

    def consume(self, broker: int | None = None) -> list[str]:
        """Return the values that a consumer sees: up to the high watermark of a broker."""
        chosen = self.leader if broker is None else broker
        high = self.log(chosen).high_watermark
        return [record.value for record in self.records(chosen) if record.offset < high]

    def table(self) -> str:
        """Return one line for each broker: role, log, high watermark, what the leader knows."""
        lines = []
        for broker in self.brokers.values():
            partition = broker.partition
            if partition is None:
                lines.append(f"{broker.id}  dead")
                continue
            log = partition.log
            role = "leader" if partition.is_leader else "follower"
            records = " ".join(f"{r.value}/{r.epoch}" for r in self.records(broker.id))
            remote = ", ".join(
                f"{id_}: {state.log_end_offset}" for id_, state in partition.remote.items()
            )
            lines.append(
                f"{broker.id}  {role:8}  epoch {partition.leader_epoch}  "
                f"LEO {log.log_end_offset}  HW {log.high_watermark}  [{records}]"
                + (f"  remote {remote}" if remote else "")
            )
        state = self.state
        lines.append(f"leader {state.leader}, epoch {state.leader_epoch}, ISR {list(state.isr)}")
        return "\n".join(lines)

    # Comparison

    def fingerprint(self) -> tuple[Any, ...]:
        """Return what makes two states of the cluster differ, times aside."""
        brokers: list[tuple[Any, ...]] = []
        for broker in self.brokers.values():
            manager, log = broker.manager, broker.log
            stored = broker.storage
            content: Any = ()
            if isinstance(stored, LightStorage):
                kept = stored.stored
                content = (
                    kept.content, kept.leader_epochs.entries, kept.high_watermark,
                    stored.checkpointed,
                )  # fmt: skip
            elif log is not None:
                content = (log.log_end_offset, tuple(log.leader_epochs.entries), log.high_watermark)
            if manager is None:
                brokers.append((broker.is_isolated, broker.was_clean, content))
                continue
            partition = broker.partition
            exchange = broker.exchange
            brokers.append(
                (
                    broker.is_isolated, broker.is_paused, broker.registers_at_ms is not None,
                    broker.waiting, content,
                    None if partition is None else partition.key(),
                    tuple(fetcher.key() for fetcher in manager.fetchers.values()),
                    None if exchange is None
                    else (exchange.leader, exchange.is_answered, _key_of(exchange)),
                    tuple(o.key() for o in manager.produce_purgatory.operations),
                )
            )  # fmt: skip
        state = self.state
        fenced = tuple(known.is_fenced for known in self.controller.brokers.values())
        return (
            tuple(brokers),
            state[:3] + state[4:],  # without the partition epoch
            fenced,
            tuple((p.value, p.acks, p.answer, p.offset) for p in self.produced),
        )

    def _broker(self, broker: int) -> SimulatedBroker:
        found = self.brokers.get(broker)
        if found is None:
            known = "no leader" if broker == NO_LEADER else f"no broker {broker}"
            raise ReplicationError(f"{known}: expected one of {sorted(self.brokers)}")
        return found


def _key_of(exchange: PendingFetch) -> Any:
    request = exchange.request
    asked: Any
    if isinstance(request, FetchRequest | EpochRequest):
        asked = tuple(request.partitions.values())
    else:
        asked = request
    answer = exchange.answer
    if isinstance(answer, dict):
        answer = tuple(_comparable(value) for value in answer.values())
    return asked, answer


def _comparable(value: Any) -> Any:
    records = getattr(value, "records", None)
    return value if records is None or isinstance(records, tuple) else value._replace(records=None)
