"""All partitions of one broker: produce, fetch, followers, ISR, high watermarks.

It opens no sockets: requests come as calls with a place for the answer, and the code that runs
the manager, the request layer or a simulated cluster, carries the fetchers' requests.

Kafka: ReplicaManager (4.2; earlier versions by `Rules`)
"""

import threading
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from workbench.errors import WorkbenchError
from workbench.files.names import TopicPartition
from workbench.log.append.append_info import LogAppendInfo
from workbench.log.append.append_origin import AppendOrigin
from workbench.log.fetch import LogOffsetMetadata
from workbench.replication.fetcher import ReplicaFetcher
from workbench.replication.messages import (
    NO_LEADER,
    UNDEFINED,
    AlterPartition,
    EpochEndOffset,
    FetchParams,
    FetchPartition,
    FetchPartitionData,
    LeaderAndIsr,
    ProduceResponse,
)
from workbench.replication.partition import ALL_REPLICAS, HighWatermarkChange, ReplicatedPartition
from workbench.replication.purgatory import DelayedFetch, DelayedProduce, Purgatory
from workbench.replication.replica_log import ReplicaLog
from workbench.replication.rules import Rules, TruncationRule
from workbench.runtime.error_codes import ErrorCode, code_of
from workbench.runtime.steps import Reports

KINDS: Final = {
    "leader made": "a broker became the leader of an epoch",
    "leader state ignored": "a broker got a state of a partition that is older than its own",
    "follower made": "a broker became a follower, or has no leader to follow",
    "high watermark raised": "the leader's high watermark rose",
    "high watermark learned": "a follower took the high watermark from the leader's answer",
    "ISR expanding": "the leader asks the controller to add a follower to the ISR",
    "ISR shrinking": "the leader asks the controller to remove followers from the ISR",
    "ISR changed": "the controller confirmed a change of the ISR",
    "divergence found": "a follower's last fetched epoch ends otherwise in the leader's log",
    "follower truncated": "a follower removed records that the leader does not have",
    "follower emptied": "a follower removed all records and restarts at the leader's log start",
    "fetch failed": "a follower no longer fetches a partition in this leader epoch",
    "request waits": "a request waits in the purgatory",
}
"""Every kind of step of replication and its meaning."""


class Broker(Reports, Protocol):
    """What a replica manager needs of the broker that it is a part of."""

    def now(self) -> int:
        """Return the time, ms."""
        ...

    def create_log(self, partition: TopicPartition, *, is_new: bool) -> ReplicaLog:
        """Return the log of a partition, with the high watermark of its checkpoint."""
        ...

    def topic_config(self, topic: str) -> Mapping[str, Any]:
        """Return `min.insync.replicas` and `unclean.leader.election.enable` of a topic."""
        ...

    def is_isr_eligible(self, broker: int, broker_epoch: int) -> bool:
        """Return whether the metadata allows a broker in an ISR."""
        ...

    def is_stale(self, broker: int, broker_epoch: int) -> bool:
        """Return whether a broker epoch is of an earlier life of a broker."""
        ...

    def submit(self, partition: ReplicatedPartition, request: AlterPartition) -> None:
        """Send a change of an ISR to the controller."""
        ...

    def respond(self, reply_to: Any, answer: Any) -> None:
        """Send the answer to a request."""
        ...

    def halt(self, reason: str) -> None:
        """End the broker's process."""
        ...


class ReplicaManager:
    """The partitions of one broker and the requests that wait for them. Threads may share it.

    Args:
        broker_id: this broker.
        broker: what it is a part of.
        rules: how replication works.
        lag_time_max_ms: `replica.lag.time.max.ms`; None takes the default of the rules.

    Attributes:
        partitions: the partitions that the controller assigned to this broker.
        fetchers: leader → its fetcher.
        produce_purgatory: producers with acks=all that wait.
        fetch_purgatory: fetches that wait for bytes.

    Kafka: ReplicaManager (4.2)
    """

    def __init__(
        self,
        broker_id: int,
        broker: Broker,
        rules: Rules,
        *,
        lag_time_max_ms: int | None = None,
        fetch_max_wait_ms: int = 500,
        fetch_min_bytes: int = 1,
        fetch_max_bytes: int = 1 << 20,
        fetch_response_max_bytes: int = 10 << 20,
        fetch_backoff_ms: int = 1000,
        broker_epoch: int = -1,
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.rules = rules
        self.lag_time_max_ms = rules.lag_time_max_ms if lag_time_max_ms is None else lag_time_max_ms
        self.fetch_max_wait_ms = fetch_max_wait_ms
        self.fetch_min_bytes = fetch_min_bytes
        self.fetch_max_bytes = fetch_max_bytes
        self.fetch_response_max_bytes = fetch_response_max_bytes
        self.fetch_backoff_ms = fetch_backoff_ms
        self.partitions: dict[TopicPartition, ReplicatedPartition] = {}
        self.fetchers: dict[int, ReplicaFetcher] = {}
        self.produce_purgatory: Purgatory[DelayedProduce] = Purgatory(self)
        self.fetch_purgatory: Purgatory[DelayedFetch] = Purgatory(self)
        self._lock = threading.RLock()
        self._join(broker)

    def _join(self, broker: Broker) -> None:
        self._broker = broker
        self.now: Callable[[], int] = broker.now
        self.submit = broker.submit
        self.respond = broker.respond
        self.is_isr_eligible = broker.is_isr_eligible
        self.is_stale = broker.is_stale
        self.halt = broker.halt
        self.tell = broker.tell

    def copy(
        self, broker: Broker, copy_log: Callable[[ReplicaLog], ReplicaLog]
    ) -> "ReplicaManager":
        """Return the same state at another broker; a search branches with it."""
        other = ReplicaManager.__new__(ReplicaManager)
        other.__dict__.update(self.__dict__)
        other._join(broker)  # noqa: SLF001
        other.partitions = {
            name: partition.copy(copy_log(partition.log), other)
            for name, partition in self.partitions.items()
        }
        other.fetchers = {leader: fetcher.copy(other) for leader, fetcher in self.fetchers.items()}
        other.produce_purgatory = self.produce_purgatory.copy(other)
        other.fetch_purgatory = self.fetch_purgatory.copy(other)
        return other

    def forget(self) -> None:
        """Let go of everything, so that no collection of garbage is needed; see `Cluster`."""
        self.__dict__.clear()

    # What partitions and fetchers ask

    def min_insync_replicas(self, partition: TopicPartition) -> int:
        """Return the topic's `min.insync.replicas`."""
        return int(self._broker.topic_config(partition.topic)["min.insync.replicas"])

    def allows_unclean_election(self, name: TopicPartition) -> bool:
        """Return the topic's `unclean.leader.election.enable`."""
        return bool(self._broker.topic_config(name.topic)["unclean.leader.election.enable"])

    def partition(self, name: TopicPartition) -> ReplicatedPartition:
        """Return a partition that the broker has."""
        return self.partitions[name]

    def partition_or_error(self, name: TopicPartition) -> ReplicatedPartition | ErrorCode:
        """Return a partition, or why the broker does not have it.

        Kafka: ReplicaManager.getPartitionOrError (4.2)
        """
        return self.partitions.get(name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

    # What the controller says

    def apply(self, states: Mapping[TopicPartition, LeaderAndIsr]) -> None:
        """Become leader or follower of partitions.

        Kafka: ReplicaManager.applyDelta (4.2), becomeLeaderOrFollower (up to 3.9)
        """
        with self._lock:
            for name, state in states.items():
                partition = self.partitions.get(name)
                if partition is None:  # even without a leader, so that its checkpoint is kept
                    log = self._broker.create_log(name, is_new=True)
                    partition = self.partitions[name] = ReplicatedPartition(name, log, self)
                if state.leader == self.broker_id:
                    self._make_leader(partition, state)
                elif state.leader != NO_LEADER or self.rules.has_quorum_controller:
                    self._make_follower(partition, state)

    def _make_leader(self, partition: ReplicatedPartition, state: LeaderAndIsr) -> None:
        self._remove_fetcher(partition.name)
        partition.make_leader(state)

    def _make_follower(self, partition: ReplicatedPartition, state: LeaderAndIsr) -> None:
        """Kafka: ReplicaManager.makeFollowers (up to 3.9), applyLocalFollowersDelta (4.2)."""
        name = partition.name
        if not partition.make_follower(state):
            return
        self._remove_fetcher(name)
        self.produce_purgatory.check_and_complete(name)
        self.fetch_purgatory.check_and_complete(name)
        if state.leader == NO_LEADER:
            return
        if self.rules.truncation is TruncationRule.HIGH_WATERMARK:
            self._truncate_to_high_watermark(partition)
        fetcher = self.fetchers.get(state.leader)
        if fetcher is None:
            fetcher = self.fetchers[state.leader] = ReplicaFetcher(state.leader, self)
        fetcher.add_partition(name, state.leader_epoch)

    def _truncate_to_high_watermark(self, partition: ReplicatedPartition) -> None:
        log = partition.log
        before, high = log.log_end_offset, log.high_watermark
        if log.truncate_to(high) or log.log_end_offset != before:
            self.tell(
                "follower truncated", partition.name,
                "a new follower keeps what is below its own high watermark (before 0.11)",
                broker=self.broker_id, before=before, log_end_offset=log.log_end_offset,
                high_watermark=log.high_watermark,
            )  # fmt: skip

    def _remove_fetcher(self, name: TopicPartition) -> None:
        for leader, fetcher in tuple(self.fetchers.items()):
            fetcher.remove_partition(name)
            if not fetcher.states and not fetcher.failed:
                del self.fetchers[leader]

    # Produce

    def append_records(
        self,
        entries: Mapping[TopicPartition, Any],
        required_acks: int,
        reply_to: Any,
        *,
        timeout_ms: int = 30_000,
        origin: AppendOrigin = AppendOrigin.CLIENT,
    ) -> None:
        """Append records; the answer, partition → `ProduceResponse`, goes to ``reply_to``.

        With acks=all it goes when the high watermark passed the records, or after the timeout;
        the records are kept then.

        Args:
            entries: partition → batches.
            required_acks: 0, 1 or -1 (all).
            reply_to: where the answer goes.
            timeout_ms: longest wait for acks=all.
            origin: the source of the records.

        Kafka: ReplicaManager.appendRecords (4.2)
        """
        if required_acks not in (-1, 0, 1):
            refused = ProduceResponse(ErrorCode.INVALID_REQUIRED_ACKS)
            self.respond(reply_to, dict.fromkeys(entries, refused))
            return
        answers: dict[TopicPartition, ProduceResponse] = {}
        changes: dict[TopicPartition, HighWatermarkChange] = {}
        for name, records in entries.items():
            answers[name] = self._append(name, records, origin, required_acks, changes)
        if required_acks == ALL_REPLICAS and changes:
            required = {name: _required_offset(answers[name].info) for name in changes}
            waiting = DelayedProduce(self.now() + timeout_ms, reply_to, required, answers)
            if not self.produce_purgatory.try_complete_else_watch(waiting):
                first = next(iter(required))
                self.tell(
                    "request waits", first,
                    "a producer with acks=all waits until all in-sync replicas have its records",
                    required_offset=required[first], waiting=len(self.produce_purgatory),
                )  # fmt: skip
        else:
            self.respond(reply_to, answers)
        self._complete_after_appends(changes)

    def append_records_to_leader(
        self, name: TopicPartition, records: Any, origin: AppendOrigin, required_acks: int
    ) -> ProduceResponse:
        """Append and do not wait, also with acks=all: for a coordinator, which waits by itself.

        Kafka: ReplicaManager.appendRecordsToLeader (4.2)
        """
        changes: dict[TopicPartition, HighWatermarkChange] = {}
        answer = self._append(name, records, origin, required_acks, changes)
        self._complete_after_appends(changes)
        return answer

    def _complete_after_appends(
        self, changes: Mapping[TopicPartition, HighWatermarkChange]
    ) -> None:
        """Try what waits for the appended partitions; Kafka's action queue: after the request."""
        for name, change in changes.items():
            if change is HighWatermarkChange.INCREASED:
                self.produce_purgatory.check_and_complete(name)
            self.fetch_purgatory.check_and_complete(name)

    def _append(
        self,
        name: TopicPartition,
        records: Any,
        origin: AppendOrigin,
        required_acks: int,
        changes: dict[TopicPartition, HighWatermarkChange],
    ) -> ProduceResponse:
        partition = self.partition_or_error(name)
        if not isinstance(partition, ReplicatedPartition):
            return ProduceResponse(partition)
        try:
            done = partition.append_records_to_leader(records, origin, required_acks)
        except WorkbenchError as error:
            return ProduceResponse(code_of(error))
        if isinstance(done, ErrorCode):
            return ProduceResponse(done)
        changes[name] = done.change
        info: Any = done.info
        return ProduceResponse(ErrorCode.NONE, info, partition.log.log_start_offset)

    # Fetch

    def fetch_messages(
        self, params: FetchParams, fetches: Mapping[TopicPartition, FetchPartition], reply_to: Any
    ) -> None:
        """Read; the answer, partition → `FetchPartitionData`, goes to ``reply_to``.

        It goes at once if there are enough bytes, or an error or divergence to report; otherwise
        when bytes come, or after the wait.

        Kafka: ReplicaManager.fetchMessages (4.2)
        """
        answers = self._read(params, fetches, updates_state=True)
        size = sum(answer.size for answer in answers.values())
        if (
            params.max_wait_ms <= 0
            or not fetches
            or size >= params.min_bytes
            or any(
                answer.error is not ErrorCode.NONE or answer.diverging_epoch is not None
                for answer in answers.values()
            )
        ):
            self.respond(reply_to, answers)
            return
        positions = {
            name: _position(self.partitions[name].log, fetch.fetch_offset)
            for name, fetch in fetches.items()
        }
        waiting = DelayedFetch(
            self.now() + params.max_wait_ms, reply_to, params, dict(fetches), positions
        )
        if not self.fetch_purgatory.try_complete_else_watch(waiting):
            first = next(iter(fetches))
            self.tell(
                "request waits", first, "a fetch waits for records",
                replica=params.replica_id, fetch_offset=fetches[first].fetch_offset,
            )  # fmt: skip

    def read_from_purgatory(
        self, params: FetchParams, fetches: Mapping[TopicPartition, FetchPartition]
    ) -> dict[TopicPartition, FetchPartitionData]:
        """Read again for a request that waited, without learning from it."""
        return self._read(params, fetches, updates_state=False)

    def _read(
        self,
        params: FetchParams,
        fetches: Mapping[TopicPartition, FetchPartition],
        *,
        updates_state: bool,
    ) -> dict[TopicPartition, FetchPartitionData]:
        """Kafka: ReplicaManager.readFromLog (4.2)."""
        left, min_one_message = params.max_bytes, True
        answers = {}
        for name, fetch in fetches.items():
            partition = self.partition_or_error(name)
            if not isinstance(partition, ReplicatedPartition):
                answers[name] = FetchPartitionData(partition)
                continue
            try:
                answer = partition.fetch_records(
                    params, fetch, max(0, min(fetch.max_bytes, left)),
                    min_one_message=min_one_message, updates_state=updates_state,
                )  # fmt: skip
            except WorkbenchError as error:
                answer = FetchPartitionData(code_of(error))
            if answer.size:
                min_one_message = False
                left -= answer.size
            answers[name] = answer
        return answers

    def complete_delayed_requests(self, partition: TopicPartition) -> None:
        """Try what waits for a partition whose high watermark rose: fetches first.

        Kafka: Partition.tryCompleteDelayedRequests (4.2)
        """
        self.fetch_purgatory.check_and_complete(partition)
        self.produce_purgatory.check_and_complete(partition)

    def complete_delayed_fetches(self, name: TopicPartition) -> None:
        """Try the consumers' fetches that wait at a follower whose high watermark moved."""
        self.fetch_purgatory.check_and_complete(name)

    def expire_delayed(self) -> int:
        """Answer the requests whose time is over; return how many there were."""
        now = self.now()
        return self.produce_purgatory.expire(now) + self.fetch_purgatory.expire(now)

    # Questions of followers

    def last_offsets_for_leader_epoch(
        self, asked: Mapping[TopicPartition, tuple[int | None, int]]
    ) -> dict[TopicPartition, tuple[ErrorCode, EpochEndOffset]]:
        """Return where leader epochs end: partition → (error, end).

        Kafka: ReplicaManager.lastOffsetForLeaderEpoch (4.2)
        """
        answers = {}
        for name, (current, epoch) in asked.items():
            partition = self.partition_or_error(name)
            answers[name] = (
                partition.last_offset_for_leader_epoch(current, epoch)
                if isinstance(partition, ReplicatedPartition)
                else (partition, UNDEFINED)
            )
        return answers

    def fetch_offset(
        self,
        name: TopicPartition,
        current_leader_epoch: int | None,
        timestamp: int,
        *,
        is_replica: bool = True,
        only_leader: bool = True,
    ) -> tuple[ErrorCode, int]:
        """Return the offset of a time in a partition; see `ReplicatedPartition.fetch_offset`.

        Kafka: ReplicaManager.fetchOffset (4.2)
        """
        partition = self.partition_or_error(name)
        if not isinstance(partition, ReplicatedPartition):
            return partition, -1
        return partition.fetch_offset(
            current_leader_epoch, timestamp, is_replica=is_replica, only_leader=only_leader
        )

    # Periodic work

    def maybe_shrink_isr(self) -> None:
        """Check all partitions for followers that lag; due every half `replica.lag.time.max.ms`.

        Kafka: ReplicaManager.maybeShrinkIsr (4.2)
        """
        for partition in tuple(self.partitions.values()):
            partition.maybe_shrink_isr()

    def high_watermarks(self) -> dict[TopicPartition, int]:
        """Return the high watermarks for the checkpoint.

        Kafka: ReplicaManager.checkpointHighWatermarks (4.2)
        """
        return {name: p.log.high_watermark for name, p in self.partitions.items()}


def _required_offset(info: LogAppendInfo | None) -> int:
    assert info is not None
    return info.last_offset + 1


def _position(log: ReplicaLog, offset: int) -> LogOffsetMetadata:
    end = log.log_end
    return end if offset == end.offset else log.read(offset, 0, "log_end").offset_metadata
