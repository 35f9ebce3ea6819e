"""Requests that wait: for all in-sync replicas to have records, or for records to come.

Kafka: DelayedOperation, DelayedOperationPurgatory, DelayedProduce, DelayedFetch (4.2)
"""

import threading
from collections.abc import Iterable, Mapping
from typing import Any, Generic, Protocol, Self, TypeVar

from workbench.files.names import TopicPartition
from workbench.log.fetch import LogOffsetMetadata
from workbench.replication.messages import (
    FetchParams,
    FetchPartition,
    FetchPartitionData,
    ProduceResponse,
)
from workbench.replication.partition import ReplicatedPartition
from workbench.runtime.error_codes import ErrorCode


class DelayedHost(Protocol):
    """What waiting requests need of their replica manager."""

    def partition_or_error(self, name: TopicPartition) -> "ReplicatedPartition | ErrorCode":
        """Return a partition, or why the broker does not have it."""
        ...

    def read_from_purgatory(
        self, params: FetchParams, fetches: Mapping[TopicPartition, FetchPartition]
    ) -> dict[TopicPartition, FetchPartitionData]:
        """Read again for a request that waited, without learning from it."""
        ...

    def respond(self, reply_to: Any, answer: Any) -> None:
        """Send the answer to a request."""
        ...


class DelayedOperation:
    """A request that waits until it can be answered, or its time is over.

    It ends exactly once.

    Attributes:
        deadline_ms: when its time is over.
        reply_to: where the answer goes; opaque.
        is_completed: whether it was answered.
    """

    __slots__ = ("deadline_ms", "is_completed", "reply_to")

    def __init__(self, deadline_ms: int, reply_to: Any) -> None:
        self.deadline_ms = deadline_ms
        self.reply_to = reply_to
        self.is_completed = False

    @property
    def partitions(self) -> Iterable[TopicPartition]:
        """The partitions that it waits for."""
        raise NotImplementedError

    def try_complete(self, host: DelayedHost) -> bool:
        """Return whether it can be answered now; change nothing else."""
        raise NotImplementedError

    def on_complete(self, host: DelayedHost) -> None:
        """Answer."""
        raise NotImplementedError

    def copy(self) -> Self:
        """Return the same waiting request."""
        raise NotImplementedError

    def key(self) -> tuple[Any, ...]:
        """Return what makes two waiting requests differ."""
        raise NotImplementedError


class DelayedProduce(DelayedOperation):
    """A producer with acks=all that waits for the high watermark.

    Attributes:
        required: partition → offset that the high watermark must reach.
        answers: partition → its answer; REQUEST_TIMED_OUT while it waits.

    Kafka: DelayedProduce (4.2)
    """

    __slots__ = ("answers", "required")

    def __init__(
        self,
        deadline_ms: int,
        reply_to: Any,
        required: dict[TopicPartition, int],
        answers: dict[TopicPartition, ProduceResponse],
    ) -> None:
        super().__init__(deadline_ms, reply_to)
        self.required = required
        self.answers = answers
        for name in required:
            answers[name] = answers[name]._replace(error=ErrorCode.REQUEST_TIMED_OUT)

    @property
    def partitions(self) -> Iterable[TopicPartition]:
        """The partitions that were appended to."""
        return tuple(self.required)

    def try_complete(self, host: DelayedHost) -> bool:
        """Return whether every partition is committed or has failed.

        Kafka: DelayedProduce.tryComplete (4.2)
        """
        for name, offset in tuple(self.required.items()):
            partition = host.partition_or_error(name)
            end = (
                partition.check_enough_replicas_reach_offset(offset)
                if isinstance(partition, ReplicatedPartition)
                else partition
            )
            if end is not None:
                del self.required[name]
                self.answers[name] = self.answers[name]._replace(error=end)
        return not self.required

    def on_complete(self, host: DelayedHost) -> None:
        """Answer; partitions that still wait have timed out, and their records are kept."""
        host.respond(self.reply_to, self.answers)

    def copy(self) -> Self:
        """Return the same waiting request."""
        made = type(self)(self.deadline_ms, self.reply_to, {}, self.answers.copy())
        made.required = self.required.copy()
        return made

    def key(self) -> tuple[Any, ...]:
        """Return what makes two waiting requests differ."""
        return (self.reply_to, tuple(self.required.items()))


class DelayedFetch(DelayedOperation):
    """A fetch that waits for bytes.

    Attributes:
        params: what the request says for all partitions.
        fetches: partition → what it asks.
        positions: partition → position of the fetch offset when the request came.

    Kafka: DelayedFetch (4.2)
    """

    __slots__ = ("fetches", "params", "positions")

    def __init__(
        self,
        deadline_ms: int,
        reply_to: Any,
        params: FetchParams,
        fetches: dict[TopicPartition, FetchPartition],
        positions: dict[TopicPartition, LogOffsetMetadata],
    ) -> None:
        super().__init__(deadline_ms, reply_to)
        self.params = params
        self.fetches = fetches
        self.positions = positions

    @property
    def partitions(self) -> Iterable[TopicPartition]:
        """The partitions that are fetched."""
        return tuple(self.fetches)

    def try_complete(self, host: DelayedHost) -> bool:
        """Return whether there are enough bytes, or waiting makes no sense any more.

        Kafka: DelayedFetch.tryComplete (4.2)
        """
        available = 0
        for name, fetch in self.fetches.items():
            partition = host.partition_or_error(name)
            if not isinstance(partition, ReplicatedPartition):
                return True
            bytes_or_none = available_bytes(partition, self.params, fetch, self.positions[name])
            if bytes_or_none is None:
                return True
            available += bytes_or_none
        return available >= self.params.min_bytes

    def on_complete(self, host: DelayedHost) -> None:
        """Read again, with the high watermark of now, and answer."""
        host.respond(self.reply_to, host.read_from_purgatory(self.params, self.fetches))

    def copy(self) -> Self:
        """Return the same waiting request."""
        return type(self)(
            self.deadline_ms, self.reply_to, self.params, self.fetches, self.positions
        )

    def key(self) -> tuple[Any, ...]:
        """Return what makes two waiting requests differ."""
        return (self.reply_to, tuple(self.fetches.items()))


def available_bytes(
    partition: ReplicatedPartition,
    params: FetchParams,
    fetch: FetchPartition,
    start: LogOffsetMetadata,
) -> int | None:
    """Return the bytes that a waiting fetch would get; None: it must be answered now.

    It is answered at once when the broker does not lead the partition any more, when its log was
    truncated below the fetch offset or rolled, and when the logs diverge.

    Kafka: DelayedFetch.tryComplete (4.2)
    """
    only_leader = params.only_from_leader
    error = partition.check_access(fetch.current_leader_epoch, only_leader=only_leader)
    if error is not ErrorCode.NONE:
        return None
    if fetch.last_fetched_epoch is not None:
        _, found = partition.last_offset_for_leader_epoch(
            fetch.current_leader_epoch, fetch.last_fetched_epoch, only_leader=only_leader
        )
        if found.is_undefined or found.diverges_from(fetch.last_fetched_epoch, fetch.fetch_offset):
            return None
    end = partition.log.limit(params.reads_to)
    if end.offset == fetch.fetch_offset:
        return 0
    if fetch.fetch_offset > end.offset:
        return None
    if end.is_offset_only or start.is_offset_only:
        return 0
    if start.segment_base_offset < end.segment_base_offset:
        return None  # rolled: the rest of the old segment is there
    return min(end.position - start.position, fetch.max_bytes)


T = TypeVar("T", bound=DelayedOperation)


class Purgatory(Generic[T]):
    """The waiting requests of one kind, watched by partition. Threads may share it.

    Kafka: DelayedOperationPurgatory (4.2)
    """

    def __init__(self, host: DelayedHost) -> None:
        self._host = host
        self._waiting: list[T] = []
        self._lock = threading.RLock()

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def operations(self) -> tuple[T, ...]:
        """The waiting requests, the oldest first."""
        return tuple(self._waiting)

    def try_complete_else_watch(self, operation: T) -> bool:
        """Answer a request if that is possible, otherwise let it wait; return whether it was.

        Kafka: DelayedOperationPurgatory.tryCompleteElseWatch (4.2)
        """
        with self._lock:
            self._waiting.append(operation)
            return self._try(operation)

    def check_and_complete(self, name: TopicPartition) -> int:
        """Try the requests that wait for a partition; return how many were answered.

        Kafka: DelayedOperationPurgatory.checkAndComplete (4.2)
        """
        if not self._waiting:
            return 0
        with self._lock:
            return sum(
                self._try(operation)
                for operation in tuple(self._waiting)
                if name in operation.partitions
            )

    def expire(self, now_ms: int) -> int:
        """Answer the requests whose time is over; return how many there were."""
        with self._lock:
            due = [o for o in self._waiting if o.deadline_ms <= now_ms]
            for operation in due:
                self._complete(operation)
            return len(due)

    def complete(self, operation: T) -> None:
        """Answer a request now, as at the end of its time."""
        with self._lock:
            self._complete(operation)

    def _try(self, operation: T) -> bool:
        if operation.is_completed or not operation.try_complete(self._host):
            return False
        self._complete(operation)
        return True

    def _complete(self, operation: T) -> None:
        if not operation.is_completed:
            operation.is_completed = True
            self._waiting.remove(operation)
            operation.on_complete(self._host)

    def copy(self, host: DelayedHost) -> "Purgatory[T]":
        """Return the same waiting requests at another replica manager."""
        other: Purgatory[T] = Purgatory.__new__(Purgatory)
        other._host = host
        other._lock = self._lock
        other._waiting = [operation.copy() for operation in self._waiting]
        return other
