"""The messages of a simulated cluster: those of clients, and followers' fetches with their answers.

Kafka: KafkaApis, ReplicaFetcherThread (4.2)
"""

from functools import partial
from typing import Any

from workbench.coordinator.groups.group_load import GROUPS_TOPIC
from workbench.errors import ReplicationError
from workbench.replication.fetcher import EpochRequest, FetchRequest, Request
from workbench.replication.simulation.cluster_state import ClusterState, Produced
from workbench.replication.simulation.coordinator import Commit
from workbench.replication.simulation.simulated_broker import PendingFetch, SimulatedBroker
from workbench.runtime.error_codes import ErrorCode


class ClusterMessages(ClusterState):
    """A cluster whose clients and followers send messages, each on demand."""

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
            follower.exchange = PendingFetch(fetcher.leader, request, number=self._numbers)
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

    def _deliver(self, follower: SimulatedBroker, exchange: PendingFetch, answer: Any) -> None:
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
