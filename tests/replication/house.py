"""One broker's replica manager on real logs in memory, with a controller that the test plays."""

import itertools
from collections.abc import Mapping
from typing import Any

from workbench.files.names import TopicPartition
from workbench.log.log import Log
from workbench.record.memory_records import MemoryRecords
from workbench.replication.fetcher import EpochRequest, FetchRequest, ReplicaFetcher, Request
from workbench.replication.messages import (
    AlterPartition,
    FetchParams,
    FetchPartition,
    FetchPartitionData,
    LeaderAndIsr,
    ProduceResponse,
)
from workbench.replication.partition import ReplicatedPartition
from workbench.replication.replica import ReplicaState
from workbench.replication.replica_log import ReplicaLog
from workbench.replication.replica_manager import ReplicaManager
from workbench.replication.rules import Rules
from workbench.replication.simulation.storage import EngineStorage
from workbench.runtime.clock import ManualClock
from workbench.runtime.error_codes import ErrorCode
from workbench.runtime.steps import Step

NOW = 1_700_000_000_000
ORDERS = TopicPartition("orders", 0)
PAYMENTS = TopicPartition("payments", 0)
CLUSTER_ID = "dGVzdGVkLWNsdXN0ZXI-AA"
ME, OTHER, THIRD = 1, 2, 3
REPLICAS = (ME, OTHER, THIRD)


class ReplicaHouse:
    """A broker. It keeps what is sent to the controller and to clients.

    Args:
        rules: the version whose rules hold.
        broker: its id.
        min_isr: `min.insync.replicas`.
        lag_ms: `replica.lag.time.max.ms`.
        topics: topic → configuration of its logs.

    Attributes:
        asked: the changes of ISRs that were sent to the controller.
        answers: where an answer goes → what was answered.
        answer_now: the controller's answer, before `submit` returns; None: the test gives it.
        ineligible: brokers that the metadata does not allow in an ISR.
        epochs: broker → its broker epoch in the metadata.
    """

    def __init__(
        self,
        rules: str = "4.2",
        broker: int = ME,
        *,
        min_isr: int = 1,
        lag_ms: int = 30_000,
        unclean: bool = False,
        topics: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        self.clock = ManualClock(NOW)
        configs = topics or {"orders": {}, "payments": {}}
        self.storage = EngineStorage(
            f"/simulated/broker-{broker}", broker, CLUSTER_ID, self.clock, configs, in_memory=True
        )
        self.id = broker
        self.rules = Rules.of(rules)
        self.lag_ms = lag_ms
        self.config = {
            "min.insync.replicas": min_isr,
            "unclean.leader.election.enable": unclean,
        }
        self.asked: list[AlterPartition] = []
        self.answers: dict[Any, Any] = {}
        self.answer_now: ErrorCode | None = None
        self.ineligible: set[int] = set()
        self.epochs: dict[int, int] = {}
        self.steps: list[Step] = []
        self.halted: list[str] = []
        self.numbers = itertools.count()
        self.start()

    def start(self) -> None:
        """Start the broker on what it has stored."""
        self.storage.start()
        self.manager = ReplicaManager(
            self.id, self, self.rules, lag_time_max_ms=self.lag_ms, fetch_max_bytes=1
        )

    # What the replica manager needs of its broker

    def now(self) -> int:
        """Return the time."""
        return self.clock.now()

    def create_log(self, partition: TopicPartition, *, is_new: bool) -> ReplicaLog:  # noqa: ARG002
        """Return a log on files in memory."""
        return self.storage.log(partition)

    def topic_config(self, topic: str) -> Mapping[str, Any]:  # noqa: ARG002
        """Return the configuration of all topics."""
        return self.config

    def is_isr_eligible(self, broker: int, broker_epoch: int) -> bool:
        """Return whether the metadata allows a broker in an ISR."""
        return broker not in self.ineligible and broker_epoch in {-1, self.epochs.get(broker, -1)}

    def is_stale(self, broker: int, broker_epoch: int) -> bool:
        """Return whether a fetch comes from an earlier life."""
        return broker_epoch != -1 and broker_epoch < self.epochs.get(broker, -1)

    def submit(self, partition: ReplicatedPartition, request: AlterPartition) -> None:
        """Keep a request; answer it if the test said so."""
        self.asked.append(request)
        if self.answer_now is not None:
            partition.handle_alter_partition(request, self.answer_now)

    def respond(self, reply_to: Any, answer: Any) -> None:
        """Keep an answer; each request has one."""
        assert reply_to not in self.answers, f"{reply_to} was answered twice"
        self.answers[reply_to] = answer

    def halt(self, reason: str) -> None:
        """Keep why the process would end."""
        self.halted.append(reason)

    def tell(self, kind: str, where: object = "", reason: str = "", **numbers: Any) -> None:
        """Keep a step."""
        self.steps.append(Step(kind, str(where), reason, numbers))

    # What tests do

    def partition(self, name: TopicPartition = ORDERS) -> ReplicatedPartition:
        """Return a partition; it is created without a state if the broker does not have it."""
        found = self.manager.partitions.get(name)
        if found is None:
            found = ReplicatedPartition(name, self.storage.log(name), self.manager)
            self.manager.partitions[name] = found
        return found

    def log(self, name: TopicPartition = ORDERS) -> Log:
        """Return the log of a partition."""
        log = self.partition(name).log
        assert isinstance(log, Log)
        return log

    def fill(
        self, *epochs: int, timestamps: tuple[int, ...] = (), name: TopicPartition = ORDERS
    ) -> None:
        """Append one batch of one record for each epoch."""
        for place, epoch in enumerate(epochs):
            time = timestamps[place] if timestamps else NOW
            self.log(name).append_as_leader(batch(time=time), epoch)

    def state(
        self,
        leader: int,
        epoch: int = 0,
        isr: tuple[int, ...] = REPLICAS,
        partition_epoch: int = 1,
        replicas: tuple[int, ...] = REPLICAS,
    ) -> LeaderAndIsr:
        """Return what the controller says."""
        return LeaderAndIsr(leader, epoch, isr, partition_epoch, replicas)

    def lead(self, *, name: TopicPartition = ORDERS, **state: Any) -> ReplicatedPartition:
        """Become the leader; return the partition."""
        partition = self.partition(name)
        self.manager.apply({name: self.state(self.id, **state)})
        return partition

    def follow(self, leader: int = OTHER, *, name: TopicPartition = ORDERS, **state: Any) -> bool:
        """Become a follower; return whether there is a fetcher of the leader for it."""
        self.partition(name)
        self.manager.apply({name: self.state(leader, **state)})
        fetcher = self.manager.fetchers.get(leader)
        return fetcher is not None and name in fetcher.states

    def fetcher(self, leader: int = OTHER) -> ReplicaFetcher:
        """Return the fetcher of a leader."""
        return self.manager.fetchers[leader]

    def answer_fetch(
        self,
        error: ErrorCode = ErrorCode.NONE,
        *,
        name: TopicPartition = ORDERS,
        **data: Any,
    ) -> FetchRequest:
        """Take the next fetch of the fetcher and give it one partition's answer."""
        fetcher = self.fetcher()
        request = fetcher.next_request()
        assert isinstance(request, FetchRequest)
        fetcher.handle(request, {name: answer(error, **data)})
        return request

    def fetch(
        self,
        offset: int,
        replica: int = OTHER,
        *,
        name: TopicPartition = ORDERS,
        epoch: int | None = None,
        last: int | None = None,
        start: int = 0,
        wait: int = 0,
        replica_epoch: int = -1,
        **params: Any,
    ) -> Any:
        """Fetch; return the partition's answer, or where it will go if the request waits."""
        number = ("fetch", next(self.numbers))
        self.manager.fetch_messages(
            FetchParams(replica, replica_epoch, wait, **params),
            {name: FetchPartition(offset, start, 1 << 20, epoch, last)},
            number,
        )
        found = self.answers.get(number)
        return number if found is None else found[name]

    def produce(self, acks: int = -1, *, name: TopicPartition = ORDERS, **options: Any) -> Any:
        """Append one record; return the answer, or where it will go if the request waits."""
        number = ("produce", next(self.numbers))
        self.manager.append_records({name: batch()}, acks, number, **options)
        found = self.answers.get(number)
        return number if found is None else found[name]

    def answered(self, number: Any, name: TopicPartition = ORDERS) -> Any:
        """Return the answer to a request that waited; None: it still waits."""
        found = self.answers.get(number)
        return None if found is None else found[name]

    def confirm(self, place: int = -1) -> LeaderAndIsr:
        """Let the controller make a change of the ISR that it was asked for."""
        request = self.asked[place]
        partition = self.partition()
        new = LeaderAndIsr(
            self.id, request.leader_epoch, request.new_isr, request.partition_epoch + 1,
            partition.replicas,
        )  # fmt: skip
        partition.handle_alter_partition(request, new)
        return new

    def refuse(self, error: ErrorCode, place: int = -1) -> None:
        """Let the controller refuse a change of the ISR."""
        self.partition().handle_alter_partition(self.asked[place], error)

    def remote(self, broker: int = OTHER) -> ReplicaState:
        """Return what the leader knows of a follower."""
        return self.partition().remote[broker]

    def isr(self) -> tuple[tuple[int, ...], set[int]]:
        """Return the ISR and the maximal ISR."""
        state = self.partition().isr_state
        return state.isr, set(state.maximal_isr)


def carry(follower: ReplicaHouse, leader: ReplicaHouse) -> Request | None:
    """Carry the follower's next request to the leader and the answer back; return the request.

    A fetch without records is answered as if its wait was over.
    """
    fetcher = follower.manager.fetchers.get(leader.id)
    request = None if fetcher is None else fetcher.next_request()
    if fetcher is None or request is None:
        return None
    manager = leader.manager
    if isinstance(request, FetchRequest):
        number = ("carried", next(leader.numbers))
        manager.fetch_messages(request.params._replace(max_wait_ms=0), request.partitions, number)
        fetcher.handle(request, leader.answers[number])
    elif isinstance(request, EpochRequest):
        fetcher.handle(request, manager.last_offsets_for_leader_epoch(request.partitions))
    else:
        answer = manager.fetch_offset(
            request.partition, request.current_leader_epoch, request.timestamp
        )
        fetcher.handle(request, answer)
    return request


def batch(value: str = "v", time: int = NOW) -> MemoryRecords:
    """Return a batch of one record."""
    return MemoryRecords.of((None, value.encode()), timestamp=time)


def answer(error: ErrorCode = ErrorCode.NONE, **data: Any) -> FetchPartitionData:
    """Return a leader's answer about one partition."""
    return FetchPartitionData(error, **{"high_watermark": 0, "log_start_offset": 0, **data})


def sent(*epochs: int, base_offset: int = 0, high: int = 0, start: int = 0) -> FetchPartitionData:
    """Return a leader's answer with one batch of one record for each epoch."""
    house = ReplicaHouse()
    log = house.log()
    log.truncate_fully_and_start_at(base_offset)
    house.fill(*epochs)
    data = log.read(base_offset)
    return FetchPartitionData(ErrorCode.NONE, high, start, data.records, data.size)


def error_of(response: Any) -> ErrorCode:
    """Return the error of an answer."""
    assert isinstance(response, (FetchPartitionData, ProduceResponse)), response
    return response.error
