"""Several brokers of one partition, in one process: every message, crash and election on demand.

    cluster = Cluster(3, rules="0.10")
    cluster.produce("m0")
    cluster.fetch(1)         # broker 1's fetch reaches the leader
    cluster.answer(1)        # the answer reaches broker 1
    cluster.kill(0); cluster.notice(0)
    print(cluster.table())

Nothing happens by itself: a call is one event, so every order of events can be made, and the same
calls give the same cluster. `rest` lets all that can happen without time happen, `advance` lets
time pass.

Brokers run the engine's `ReplicaManager` and, unless ``storage="light"``, a `LogManager` on files
of their own, in memory or below ``directory``.

Kafka: ReplicaManager and its fetchers on each broker; the quorum controller as one object (4.2)
"""

import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final, Literal, NamedTuple, Self

from workbench.coordinator.groups.group_load import GROUPS_TOPIC
from workbench.errors import ReplicationError
from workbench.files.names import TopicPartition, parse_directory_name, topic_name_problem
from workbench.replication.controller import Controller
from workbench.replication.fetcher import EpochRequest, FetchRequest, Request
from workbench.replication.messages import (
    NO_LEADER,
    AlterPartition,
    LeaderAndIsr,
)
from workbench.replication.partition import Partition
from workbench.replication.replica_log import ReplicaLog
from workbench.replication.replica_manager import ReplicaManager
from workbench.replication.rules import Rules
from workbench.replication.simulation.coordinator import Commit, SimulatedCoordinator
from workbench.replication.simulation.storage import (
    EngineStorage,
    LightStorage,
    Storage,
    StoredRecord,
)
from workbench.runtime.clock import ManualClock
from workbench.runtime.error_codes import ErrorCode
from workbench.runtime.steps import Observer, Step
from workbench.runtime.words import plural

START_MS: Final = 1_700_000_000_000
SESSION_TIMEOUT_MS: Final = 9_000
CHECKPOINT_INTERVAL_MS: Final = 5_000
REGISTRATION_MS: Final = 2_000
"""Time after which a broker whose ZooKeeper session is over has registered again."""
_CLUSTER_ID: Final = "c2ltdWxhdGVkLWNsdXN0ZQ"


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
        """Whether the client was told that the record is stored."""
        return self.answer is ErrorCode.NONE


class Exchange(NamedTuple):
    """A follower's request that has reached a leader.

    Attributes:
        leader: the leader asked.
        request: what was asked.
        answer: the answer that travels back; None: the leader has not answered yet.
        is_answered: whether it has.
        number: tells one exchange from the next.
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
        is_paused: whether its process stands still: requests wait in its sockets.
        waiting: (number, timeout in ms) of the records that clients sent while it was paused.
        was_clean: whether it was stopped cleanly the last time.
        last_heartbeat_ms: when the controller heard of it.
        registers_at_ms: when it will have registered again, because its ZooKeeper session is over;
            None: it need not.
    """

    def __init__(self, broker: int, cluster: "Cluster", storage: Storage) -> None:
        self.id = broker
        self.storage = storage
        self.manager: ReplicaManager | None = None
        self.coordinator: SimulatedCoordinator | None = None
        self.exchange: Exchange | None = None
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

    def submit(self, partition: Partition, request: AlterPartition) -> None:
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
    def partition(self) -> Partition | None:
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

    def copy(self, cluster: "Cluster") -> "SimulatedBroker":
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


class Cluster:
    """A simulated cluster with one partition.

    Args:
        brokers: how many brokers, with ids from 0.
        rules: the version whose rules hold, such as `"0.10"`, `"2.8"`; `"kraft"`: a quorum of
            voters, as of `__cluster_metadata`.
        partition: the partition's name. With one of `__consumer_offsets`, brokers have a group
            coordinator, unless the storage is light; see `commit`.
        replicas: the assigned brokers, the preferred leader first; None: all.
        min_insync_replicas: `min.insync.replicas` of the topic.
        unclean_leader_election: of the topic; None takes the default of the rules.
        storage: `"engine"`: logs in files; `"light"`: lists of values, for searches.
        directory: where the brokers' log directories are made; None keeps the files in memory.
        lag_time_max_ms: `replica.lag.time.max.ms`; None takes the default of the rules.
        fetch_max_bytes: `replica.fetch.max.bytes`; 1 fetches one batch at a time.
        fetch_max_wait_ms: `replica.fetch.wait.max.ms`.
        session_timeout_ms: time without heartbeats after which the controller fences a broker; of
            all, or broker → its own, for the others the default.
        observer: receives each step of replication.

    Attributes:
        controller: the controller's state.
        brokers: id → broker.
        clock: the time.
        produced: what clients sent, in order.
        halted: broker → why it ended its own process.

    Raises:
        ReplicationError: the number of brokers or the partition's name is wrong.
        ConfigError: the rules are no version.
    """

    def __init__(
        self,
        brokers: int = 3,
        *,
        rules: str | Rules = "4.2",
        partition: str = "orders-0",
        replicas: Sequence[int] | None = None,
        min_insync_replicas: int = 1,
        unclean_leader_election: bool | None = None,
        storage: Literal["engine", "light"] = "engine",
        directory: str | os.PathLike[str] | None = None,
        lag_time_max_ms: int | None = None,
        fetch_max_bytes: int = 1 << 20,
        fetch_max_wait_ms: int = 500,
        session_timeout_ms: int | Mapping[int, int] = SESSION_TIMEOUT_MS,
        observer: Observer | None = None,
    ) -> None:
        name = parse_directory_name(partition)
        problem = "not a partition" if name is None else topic_name_problem(name.topic)
        if name is None or problem is not None:
            expected = "expected topic-number, such as orders-0"
            raise ReplicationError(f"{partition!r}: {problem} ({expected})")
        assigned = tuple(range(brokers)) if replicas is None else tuple(replicas)
        if brokers < 1 or not assigned or not set(assigned) <= set(range(brokers)):
            raise ReplicationError(
                f"{brokers} brokers with replicas {assigned}: expected at least one broker, and "
                f"replicas among 0 to {brokers - 1}"
            )
        self.rules = rules if isinstance(rules, Rules) else Rules.of(rules)
        self.partition = TopicPartition(name.topic, name.partition)
        self.clock = ManualClock(START_MS)
        self.observer = observer
        self.produced: list[Produced] = []
        self.halted: dict[int, str] = {}
        self._lag_time_max_ms = lag_time_max_ms
        self._fetch_max_bytes = fetch_max_bytes
        self._fetch_max_wait_ms = fetch_max_wait_ms
        self._session_timeouts = (
            dict.fromkeys(range(brokers), session_timeout_ms)
            if isinstance(session_timeout_ms, int)
            else {b: session_timeout_ms.get(b, SESSION_TIMEOUT_MS) for b in range(brokers)}
        )
        self._numbers = 0
        config = {
            "min.insync.replicas": min_insync_replicas,
            "unclean.leader.election.enable": unclean_leader_election,
        }
        self.controller = Controller(self.rules, {name.topic: config})
        self.brokers = {
            broker: SimulatedBroker(broker, self, self._storage(broker, storage, directory))
            for broker in range(brokers)
        }
        self._next_isr_check = self.clock.now()
        self._next_checkpoint = self.clock.now() + CHECKPOINT_INTERVAL_MS
        for broker in self.brokers.values():
            self._start(broker)
            self.controller.unfence(broker.id)
        self.controller.create_partition(self.partition, assigned)
        self._send_metadata()
        self._next_isr_check += self.lag_time_max_ms // 2

    def __repr__(self) -> str:
        count = plural(len(self.brokers), "broker")
        return f"Cluster({self.partition}, {count}, rules {self.rules.version})"

    def _storage(self, broker: int, kind: str, directory: str | os.PathLike[str] | None) -> Storage:
        if kind == "light":
            return LightStorage(keeps_epochs=self.rules.uses_epochs)
        base = os.path.join(os.sep, "simulated") if directory is None else os.fspath(directory)
        return EngineStorage(
            os.path.join(base, f"broker-{broker}"),
            broker,
            _CLUSTER_ID,
            self.clock,
            {self.partition.topic: {}},
            in_memory=directory is None,
        )

    def copy(self) -> Self:
        """Return the same cluster, to try another continuation; only with light storage."""
        other = type(self).__new__(type(self))
        other.rules = self.rules
        other.partition = self.partition
        other.clock = ManualClock(self.clock.now())
        other.observer = None
        other.produced = self.produced.copy()
        other.halted = self.halted.copy()
        other._lag_time_max_ms = self._lag_time_max_ms  # noqa: SLF001
        other._fetch_max_bytes = self._fetch_max_bytes  # noqa: SLF001
        other._fetch_max_wait_ms = self._fetch_max_wait_ms  # noqa: SLF001
        other._session_timeouts = self._session_timeouts  # noqa: SLF001
        other._numbers = self._numbers  # noqa: SLF001
        other.controller = self.controller.copy()
        other.brokers = {broker: b.copy(other) for broker, b in self.brokers.items()}
        other._next_isr_check = self._next_isr_check  # noqa: SLF001
        other._next_checkpoint = self._next_checkpoint  # noqa: SLF001
        return other

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop all brokers cleanly."""
        for broker in self.brokers.values():
            if broker.is_alive:
                broker.manager = broker.coordinator = None
                broker.storage.stop()

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

    # Clients

    def produce(
        self, value: str, *, acks: int = -1, to: int | None = None, timeout_ms: int = 30_000
    ) -> int:
        """Send one record; return its number in `produced`.

        The answer may come later: with acks=all when all in-sync replicas have the record.

        Args:
            value: the record's value.
            acks: -1 (all), 0 or 1.
            to: the broker; None sends it to the leader. At a paused one the request waits.
            timeout_ms: longest wait of the broker for acks=all.
        """
        broker = self._broker(self.leader if to is None else to)
        number = len(self.produced)
        self.produced.append(Produced(value, acks, broker.id))
        if broker.is_paused:
            broker.waiting += ((number, timeout_ms),)
        else:
            self._append(broker, number, timeout_ms)
        return number

    def delete_records(self, before: int) -> bool:
        """Let the leader delete the records before an offset; return whether it had any.

        Raises:
            ReplicationError: there is no leader.
            OffsetOutOfRangeError: the offset is above the high watermark.

        Kafka: Partition.deleteRecordsOnLeader (4.2)
        """
        return self.log(self.leader).maybe_increment_log_start_offset(
            before, "a client deleted records"
        )

    def commit(self, group: str, partition: str, offset: int, *, to: int | None = None) -> int:
        """Let a group commit an offset; return the number of the commit in `produced`.

        The coordinator answers when the high watermark has passed the record, or after 5 s.

        Args:
            group: the group.
            partition: the partition that it consumes, such as `orders-0`.
            offset: the offset.
            to: the broker; None: the leader, which is the coordinator.

        Raises:
            ReplicationError: the cluster has no coordinator, or there is no leader.

        Kafka: KafkaApis.handleOffsetCommitRequest (4.2)
        """
        self._require_coordinator()
        broker = self._broker(self.leader if to is None else to)
        number = len(self.produced)
        text = str(Commit.of(f"{group} {partition}={offset}"))
        self.produced.append(Produced(text, -1, broker.id, is_commit=True))
        if broker.is_paused:
            broker.waiting += ((number, 0),)
        else:
            self._append(broker, number, 0)
        return number

    def committed_offset(
        self, group: str, partition: str, *, of: int | None = None
    ) -> int | ErrorCode:
        """Return the offset that a group resumes at, -1 without one; or a broker's error.

        Args:
            group: the group.
            partition: the partition.
            of: the broker; None: the leader.

        Raises:
            ReplicationError: the cluster has no coordinator, or there is no leader.

        Kafka: KafkaApis.handleOffsetFetchRequest (4.2)
        """
        self._require_coordinator()
        coordinator = self._broker(self.leader if of is None else of).coordinator
        if coordinator is None:
            return ErrorCode.NETWORK_EXCEPTION
        return coordinator.fetch(group, partition)

    def _require_coordinator(self) -> None:
        if not self.has_coordinator:
            raise ReplicationError(
                f"{self.partition} has no group coordinator: expected partition="
                f'"{GROUPS_TOPIC}-0" and storage="engine"'
            )

    def _append(self, broker: SimulatedBroker, number: int, timeout_ms: int) -> None:
        sent = self.produced[number]
        if broker.manager is None:
            self._answer_client(number, ErrorCode.NETWORK_EXCEPTION)
            return
        if sent.is_commit:
            assert broker.coordinator is not None
            answer = partial(self._answer_client, number)
            broker.coordinator.commit(Commit.of(sent.value), answer)
            return
        records = broker.storage.records_of(sent.value)
        broker.manager.append_records(
            {self.partition: records}, sent.acks, ("produce", number), timeout_ms=timeout_ms
        )

    def _answer_client(self, number: int, error: ErrorCode, offset: int = -1) -> None:
        known = self.produced[number]
        self.produced[number] = known._replace(
            answer=error, offset=offset if offset >= 0 else known.offset
        )

    # Messages of followers

    def can_fetch(self, broker: int) -> bool:
        """Return whether a follower could send a request: none is under way, a leader is known."""
        follower = self.brokers[broker]
        return (
            follower.manager is not None
            and not follower.is_paused
            and follower.exchange is None
            and bool(follower.manager.fetchers)
        )

    def fetch(self, broker: int) -> bool:
        """Let a follower send its next request, and the leader process it.

        The answer travels then; `answer` delivers it, `lose` loses it. A fetch without records
        waits at the leader until there are some, or `advance` lets the wait end.

        Return whether there was anything to ask.
        """
        follower = self._broker(broker)
        if not self.can_fetch(broker):
            return False
        manager = follower.manager
        assert manager is not None
        for fetcher in manager.fetchers.values():
            if self.brokers[fetcher.leader].is_paused:
                continue  # the request waits in the leader's socket
            request = fetcher.next_request()
            if request is None:
                continue
            if not self._is_reachable(follower, fetcher.leader):
                fetcher.handle(request, None)
                return True
            self._numbers += 1
            follower.exchange = Exchange(fetcher.leader, request, number=self._numbers)
            self._process(follower, self.brokers[fetcher.leader], request)
            return True
        return False

    def _process(
        self, follower: SimulatedBroker, leader: SimulatedBroker, request: Request
    ) -> None:
        manager = leader.manager
        exchange = follower.exchange
        assert manager is not None
        assert exchange is not None
        reply_to = ("fetch", follower.id, exchange.number)
        if isinstance(request, FetchRequest):
            manager.fetch_messages(request.params, request.partitions, reply_to)
        elif isinstance(request, EpochRequest):
            answers = manager.last_offsets_for_leader_epoch(request.partitions)
            self._respond(reply_to, answers)
        else:
            self._respond(
                reply_to,
                manager.fetch_offset(
                    request.partition, request.current_leader_epoch, request.timestamp
                ),
            )

    def _is_reachable(self, follower: SimulatedBroker, leader: int) -> bool:
        other = self.brokers.get(leader)
        return (
            other is not None
            and other.manager is not None
            and not other.is_isolated
            and not follower.is_isolated
        )

    def answer(self, broker: int) -> bool:
        """Deliver the answer that travels to a follower; return whether there was one."""
        follower = self._broker(broker)
        exchange = follower.exchange
        if follower.is_paused or exchange is None or not exchange.is_answered:
            return False
        self._deliver(follower, exchange, exchange.answer)
        return True

    def lose(self, broker: int) -> bool:
        """Lose the request or answer that is under way; return whether there was one."""
        follower = self._broker(broker)
        exchange = follower.exchange
        if exchange is None:
            return False
        self._deliver(follower, exchange, None)
        return True

    def _deliver(self, follower: SimulatedBroker, exchange: Exchange, answer: Any) -> None:
        follower.exchange = None
        manager = follower.manager
        assert manager is not None
        fetcher = manager.fetchers.get(exchange.leader)
        if fetcher is not None:
            fetcher.handle(exchange.request, answer)

    def round(self, broker: int) -> bool:
        """Let a follower fetch and get the answer, if the leader has one; return whether it got."""
        self.fetch(broker)
        return self.answer(broker)

    def expire(self, broker: int) -> bool:
        """End the wait of a follower's fetch at its leader; return whether one waited.

        It is `replica.fetch.wait.max.ms` that passes.
        """
        exchange = self._broker(broker).exchange
        if exchange is None or exchange.is_answered or self.brokers[exchange.leader].is_paused:
            return False
        leader = self.brokers[exchange.leader].manager
        assert leader is not None
        for operation in leader.fetch_purgatory.operations:
            if operation.reply_to == ("fetch", broker, exchange.number):
                leader.fetch_purgatory.complete(operation)
                return True
        return False

    def _respond(self, reply_to: Any, answer: Any) -> None:
        """Take an answer of a broker; it travels to the client or follower."""
        kind, *rest = reply_to
        if kind == "produce":
            response = answer[self.partition]
            self._answer_client(rest[0], response.error, response.base_offset)
        elif kind == "fetch":
            broker, number = rest
            follower = self.brokers[broker]
            exchange = follower.exchange
            if exchange is not None and exchange.number == number:
                follower.exchange = exchange._replace(answer=answer, is_answered=True)

    # The controller

    def _submit(
        self, broker: SimulatedBroker, partition: Partition, request: AlterPartition
    ) -> None:
        """Let the controller check a change of the ISR; the answer comes at once.

        Without the controller the change waits for ever.
        """
        if not self._heartbeats(broker):
            return
        answer = self.controller.alter_partition(partition.name, request)
        partition.handle_alter_partition(request, answer)
        if isinstance(answer, LeaderAndIsr):
            knows = answer.leader_epoch == request.leader_epoch
            self._send_metadata(but=broker.id if knows else None)

    def _send_metadata(self, *, but: int | None = None) -> None:
        state = self.state
        for broker in self.brokers.values():
            if broker.id == but or not self._heartbeats(broker):
                continue
            if broker.id in state.replicas:
                self._apply(broker, state)
        if self.rules.is_quorum and state.leader == NO_LEADER:
            self._vote()

    def _apply(self, broker: SimulatedBroker, state: LeaderAndIsr) -> None:
        assert broker.manager is not None
        broker.manager.apply({self.partition: state})
        if broker.coordinator is not None:
            broker.coordinator.apply()
        exchange = broker.exchange
        if exchange is not None and exchange.leader not in broker.manager.fetchers:
            broker.exchange = None  # the fetcher's connection is closed

    def notice(self, broker: int) -> bool:
        """Let the controller fence a broker: it heard nothing for the session timeout.

        Return whether that changed anything.
        """
        self._broker(broker)
        if self.controller.brokers[broker].is_fenced:
            return False
        self.controller.fence(broker)
        self._send_metadata()
        return True

    def elect(self, broker: int) -> bool:
        """Let the controller move leadership to an in-sync replica; return whether it moved."""
        self._broker(broker)
        if self.rules.is_quorum and not self._has_majority(broker):
            return False
        if not self.controller.elect(self.partition, broker):
            return False
        self._send_metadata()
        self._append_leader_change()
        return True

    def _has_majority(self, candidate: int) -> bool:
        """Return whether most voters vote for a candidate: their logs are not ahead of its log.

        Kafka: KafkaRaftClient.handleVoteRequest, UnattachedState.canGrantVote (4.2)
        """
        ends = {
            broker: (self.brokers[broker].log_end(), self._heartbeats(self.brokers[broker]))
            for broker in self.state.replicas
        }
        own, is_up = ends[candidate]
        votes = sum(end <= own for end, votes in ends.values() if votes)
        return is_up and 2 * votes > len(ends)

    def _vote(self) -> None:
        """Let the voters of a quorum elect a leader: the first that gets a majority."""
        for candidate in self.state.replicas:
            if self.elect(candidate):
                return

    def _append_leader_change(self) -> None:
        """Let a new leader of a quorum begin its epoch with a record.

        Kafka: LeaderChangeMessage (4.2)
        """
        leader = self.brokers.get(self.leader)
        if self.rules.is_quorum and leader is not None and leader.manager is not None:
            records = leader.storage.records_of(f"e{self.state.leader_epoch} begins")
            leader.manager.append_records({self.partition: records}, 0, ("leader change",))

    def elect_unclean(self) -> bool:
        """Let the controller elect any live replica if no in-sync one lives."""
        if not self.controller.elect_unclean(self.partition):
            return False
        self._send_metadata()
        return True

    def configure(self, name: str, value: Any) -> None:
        """Change a configuration of the topic."""
        self.controller.set_topic_config(self.partition.topic, name, value)

    # Crashes

    def kill(self, broker: int, *, lose: int = 0) -> bool:
        """End a broker's process; the controller does not know yet.

        Args:
            broker: its id.
            lose: how many of its last records were in the page cache alone, and are lost.

        Return whether it ran.
        """
        victim = self._broker(broker)
        if victim.manager is None:
            return False
        self._end(victim)
        victim.was_clean = False
        victim.storage.kill(lose)
        self._break_connections(broker)
        return True

    def stop(self, broker: int) -> bool:
        """Shut a broker down cleanly; return whether it ran."""
        victim = self._broker(broker)
        if victim.manager is None:
            return False
        if not victim.is_isolated:
            self.controller.shut_down(broker)
            self._send_metadata()
        self._end(victim)
        victim.was_clean = True
        victim.storage.stop()
        self._break_connections(broker)
        if not victim.is_isolated:
            self.controller.fence(broker)
            self._send_metadata()
        return True

    def _end(self, victim: SimulatedBroker) -> None:
        for number, _ in victim.waiting:
            self._answer_client(number, ErrorCode.NETWORK_EXCEPTION)
        victim.manager = victim.coordinator = None
        victim.exchange = None
        victim.is_paused = False
        victim.registers_at_ms = None
        victim.waiting = ()

    def _break_connections(self, broker: int) -> None:
        for follower in self.brokers.values():
            exchange = follower.exchange
            if exchange is not None and exchange.leader == broker and not exchange.is_answered:
                self._deliver(follower, exchange, None)

    def start(self, broker: int, *, stays_fenced: bool = False) -> bool:
        """Start a dead broker on what it has stored; return whether it was dead.

        With ``stays_fenced`` it fetches, but neither leads nor joins an ISR before `unfence`: a
        broker with KRaft begins so.

        Since 2.2 the controller notices that it was away, however short; before, a fast restart
        leaves the ISR as it is.
        """
        chosen = self._broker(broker)
        if chosen.manager is not None:
            return False
        if self.rules.notices_fast_restart:
            self.controller.fence(broker)
        was_unfenced = not self.controller.brokers[broker].is_fenced
        self._start(chosen)
        if chosen.is_isolated:
            return True
        if was_unfenced:
            self.controller.unfence(broker)
        self._send_metadata()
        if not was_unfenced and not stays_fenced:
            self.unfence(broker)
        return True

    def unfence(self, broker: int) -> bool:
        """Let the controller take a started broker for alive; return whether that is new."""
        chosen = self._broker(broker)
        if not self._heartbeats(chosen) or not self._is_fenced(broker):
            return False
        self.controller.unfence(broker)
        self._send_metadata()
        return True

    def _start(self, broker: SimulatedBroker) -> None:
        broker.storage.start()
        self.controller.register(broker.id, was_clean=broker.was_clean)
        broker.last_heartbeat_ms = self.clock.now()
        broker.manager = ReplicaManager(
            broker.id,
            broker,
            self.rules,
            lag_time_max_ms=self._lag_time_max_ms,
            fetch_max_bytes=self._fetch_max_bytes,
            fetch_max_wait_ms=self._fetch_max_wait_ms,
            fetch_backoff_ms=0,
            broker_epoch=self.controller.brokers[broker.id].epoch
            if self.rules.tells_broker_epoch
            else -1,
        )
        if self.has_coordinator and isinstance(broker.storage, EngineStorage):
            observer = None if self.observer is None else partial(_with_broker, self, broker.id)
            broker.coordinator = SimulatedCoordinator(
                self.partition, broker.storage.manager, broker.manager, observer
            )

    def pause(self, broker: int) -> bool:
        """Let a broker's process stand still, as SIGSTOP does; return whether it ran.

        Its connections stay open: what is sent to it waits, also answers to its fetches.
        """
        chosen = self._broker(broker)
        if chosen.manager is None or chosen.is_paused:
            return False
        chosen.is_paused = True
        chosen.registers_at_ms = None
        chosen.last_heartbeat_ms = self.clock.now()
        return True

    def resume(self, broker: int) -> bool:
        """Let a paused broker go on: first with the requests that wait, then with new metadata.

        With ZooKeeper, a broker whose session is over gets metadata only when it has registered
        again, `REGISTRATION_MS` later; with KRaft its next heartbeat is enough.
        """
        chosen = self._broker(broker)
        if not chosen.is_paused:
            return False
        chosen.is_paused = False
        waiting, chosen.waiting = chosen.waiting, ()
        for number, timeout_ms in waiting:
            self._append(chosen, number, timeout_ms)
        self._return(chosen)
        return True

    def isolate(self, broker: int) -> bool:
        """Cut a broker off from the controller and the other brokers, not from its clients."""
        chosen = self._broker(broker)
        if chosen.is_isolated:
            return False
        chosen.is_isolated = True
        chosen.registers_at_ms = None
        self._break_connections(broker)
        if chosen.exchange is not None and not chosen.exchange.is_answered:
            self._deliver(chosen, chosen.exchange, None)
        return True

    def heal(self, broker: int) -> bool:
        """Connect an isolated broker again; it gets the newest metadata, when `resume` says."""
        chosen = self._broker(broker)
        if not chosen.is_isolated:
            return False
        chosen.is_isolated = False
        self._return(chosen)
        return True

    def _return(self, broker: SimulatedBroker) -> None:
        """Let the controller hear of a broker again."""
        broker.last_heartbeat_ms = self.clock.now()
        if broker.manager is None or broker.is_isolated or broker.is_paused:
            return
        if self._is_fenced(broker.id) and not self.rules.has_quorum_controller:
            broker.registers_at_ms = self.clock.now() + REGISTRATION_MS
            return
        self._register(broker)

    def _register(self, broker: SimulatedBroker) -> None:
        """Let the controller take a broker for alive, and send it the metadata."""
        broker.registers_at_ms = None
        if self._is_fenced(broker.id):
            self.controller.unfence(broker.id)
        self._send_metadata()

    # Time

    def checkpoint(self, broker: int) -> bool:
        """Write the high watermark of a broker to its checkpoint; return whether it runs."""
        chosen = self._broker(broker)
        if chosen.partition is None or chosen.is_paused:
            return False
        chosen.storage.checkpoint()
        return True

    def check_isr(self) -> None:
        """Let every leader look for followers that lag too long."""
        for broker in self.brokers.values():
            if broker.manager is not None and not broker.is_paused:
                broker.manager.maybe_shrink_isr()

    def advance(self, ms: int) -> None:
        """Let time pass: waits end, leaders check their ISR, checkpoints are written, sessions end.

        Fetches are not sent by themselves; see `run`.
        """
        end = self.clock.now() + ms
        while True:
            due = min(self._next_due(), end)
            self.clock.set(max(due, self.clock.now()))
            self._do_due()
            if due >= end:
                return

    def _next_due(self) -> int:
        times = [self._next_isr_check, self._next_checkpoint]
        for broker in self.brokers.values():
            if broker.manager is not None and not broker.is_paused:
                times += [o.deadline_ms for o in broker.manager.produce_purgatory.operations]
                times += [o.deadline_ms for o in broker.manager.fetch_purgatory.operations]
                times += broker.deadlines_ms()
            if not self._heartbeats(broker) and not self._is_fenced(broker.id):
                times.append(self._session_end(broker))
            if broker.registers_at_ms is not None:
                times.append(broker.registers_at_ms)
        return min(times)

    def _heartbeats(self, broker: SimulatedBroker) -> bool:
        return (
            broker.manager is not None
            and not broker.is_isolated
            and not broker.is_paused
            and broker.registers_at_ms is None
        )

    def _session_end(self, broker: SimulatedBroker) -> int:
        return broker.last_heartbeat_ms + self._session_timeouts[broker.id]

    def _is_fenced(self, broker: int) -> bool:
        return self.controller.brokers[broker].is_fenced

    def _do_due(self) -> None:
        now = self.clock.now()
        for broker in self.brokers.values():
            if broker.registers_at_ms is not None and now >= broker.registers_at_ms:
                self._register(broker)
            if self._heartbeats(broker):
                broker.last_heartbeat_ms = now
            elif now >= self._session_end(broker):
                self.notice(broker.id)
        for broker in self.brokers.values():
            if not broker.is_paused:
                broker.expire_delayed()
        if now >= self._next_isr_check:
            self.check_isr()
            self._next_isr_check += max(1, self.lag_time_max_ms // 2)
        if now >= self._next_checkpoint:
            for known in self.brokers:
                self.checkpoint(known)
            self._next_checkpoint += CHECKPOINT_INTERVAL_MS

    def rest(self, most: int = 1000) -> None:
        """Let followers fetch until nothing changes any more: all waits end, all answers arrive.

        Afterwards the followers' next fetches wait at the leader.

        Raises:
            ReplicationError: the cluster does not come to rest within ``most`` rounds.
        """
        before = None
        for _ in range(most):
            self._exchange(())
            for broker in self.brokers:
                if self.expire(broker):
                    self.answer(broker)
            self._exchange(())
            state = self.fingerprint()
            if state == before:
                return
            before = state
        raise ReplicationError(f"the cluster did not come to rest within {most} rounds")

    def run(self, ms: int, *, every_ms: int = 100, stuck: Sequence[int] = ()) -> None:
        """Let time pass while followers fetch.

        Args:
            ms: how long.
            every_ms: time between two rounds.
            stuck: brokers that do not fetch.
        """
        end = self.clock.now() + ms
        self._exchange(stuck)
        while self.clock.now() < end:
            self.advance(min(every_ms, end - self.clock.now()))
            self._exchange(stuck)

    def _exchange(self, stuck: Sequence[int]) -> None:
        """Let followers take their answers and fetch, as if the network took no time."""
        for broker in self.brokers:
            if broker not in stuck:
                self.answer(broker)
                if self.fetch(broker):
                    self.answer(broker)

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


def _with_broker(cluster: Cluster, broker: int, step: Step) -> None:
    """Report a step of a coordinator as one of replication: `at` is the broker."""
    assert cluster.observer is not None
    numbers = {"offset" if name == "at" else name: n for name, n in step.numbers.items()}
    cluster.observer(step._replace(numbers={"at": broker, **numbers}))


def _key_of(exchange: Exchange) -> Any:
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
