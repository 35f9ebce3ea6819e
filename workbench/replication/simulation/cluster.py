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
from typing import Any, Final, Literal, Self

from workbench.errors import ReplicationError
from workbench.files.names import TopicPartition, parse_directory_name, topic_name_problem
from workbench.replication.controller import Controller
from workbench.replication.messages import NO_LEADER, AlterPartition, LeaderAndIsr
from workbench.replication.partition import ReplicatedPartition
from workbench.replication.replica_manager import ReplicaManager
from workbench.replication.rules import Rules
from workbench.replication.simulation.cluster_messages import ClusterMessages
from workbench.replication.simulation.coordinator import SimulatedCoordinator
from workbench.replication.simulation.simulated_broker import SimulatedBroker
from workbench.replication.simulation.storage import EngineStorage, LightStorage, Storage
from workbench.runtime.clock import ManualClock
from workbench.runtime.error_codes import ErrorCode
from workbench.runtime.steps import Observer, Step

START_MS: Final = 1_700_000_000_000
SESSION_TIMEOUT_MS: Final = 9_000
CHECKPOINT_INTERVAL_MS: Final = 5_000
REGISTRATION_MS: Final = 2_000
"""Time after which a broker whose ZooKeeper session is over has registered again."""
_CLUSTER_ID: Final = "c2ltdWxhdGVkLWNsdXN0ZQ"


class Cluster(ClusterMessages):
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
        session_timeout_ms: time without heartbeats after which the controller fences a broker:
            one for all, or broker → its own; the others take the default.
        observer: receives each step of replication.

    Attributes:
        controller: the controller's state.
        brokers: id → broker.
        clock: the time.
        produced: what clients sent, in order.
        halted: broker → why it ended its own process.

    Raises:
        ReplicationError: the number of brokers or the partition's name is wrong.
        ConfigError: ``rules`` is not a version.
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
        if not isinstance(brokers, int):
            raise ReplicationError(f"{type(brokers).__name__}: expected a number of brokers")
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
        self.produced = []
        self.halted = {}
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

    # The controller

    def _submit(
        self, broker: SimulatedBroker, partition: ReplicatedPartition, request: AlterPartition
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
        """Suspend a broker's process, as SIGSTOP does; return whether it ran.

        Its connections stay open: what is sent to it waits, including answers to its fetches.
        """
        chosen = self._broker(broker)
        if chosen.manager is None or chosen.is_paused:
            return False
        chosen.is_paused = True
        chosen.registers_at_ms = None
        chosen.last_heartbeat_ms = self.clock.now()
        return True

    def resume(self, broker: int) -> bool:
        """Resume a paused broker: first with the requests that wait, then with new metadata.

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
        """Disconnect a broker from the controller and the other brokers, not from its clients."""
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


def _with_broker(cluster: Cluster, broker: int, step: Step) -> None:
    """Report a step of a coordinator as one of replication: `at` is the broker."""
    assert cluster.observer is not None
    numbers = {"offset" if name == "at" else name: n for name, n in step.numbers.items()}
    cluster.observer(step._replace(numbers={"at": broker, **numbers}))
