"""The runtime of a coordinator: which partitions it owns, what it writes into their logs.

An operation of a coordinator only decides: it returns records and an answer. The runtime writes the
records as one batch with origin COORDINATOR, then replays them into the state, as a load replays
what it reads. So a log that is loaded again gives the same state. If the append fails, the state is
unchanged, and the caller gets the error that a broker answers.

A broker replays first and rolls its state back if the append fails; it also may put records of
several operations into one batch (`group.coordinator.append.linger.ms`). Here each operation is
written at once, as with 0 ms.

Where other replicas hold the log, too (`waits_for_replicas`), an operation is answered and its
records are replayed only when the high watermark has passed them. A broker replays them at once,
and its reads see the state as of the high watermark: a client sees the same.

Kafka: CoordinatorRuntime (4.2); ownedPartitions and loadingPartitions of OffsetManager (0.8.2),
GroupMetadataManager (0.9 to 3.9)
"""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from enum import Enum
from typing import Any, Final, Generic, Never, TypeVar

from workbench.coordinator.runtime.append_errors import answer_to
from workbench.coordinator.runtime.deferred import DeferredEvent, DeferredEventQueue
from workbench.coordinator.runtime.log_loading import read_log
from workbench.coordinator.runtime.log_records import NO_PRODUCER, LogRecord, Marker
from workbench.coordinator.runtime.records import CoordinatorRecord, CoordinatorResult
from workbench.coordinator.runtime.shard import Append, CoordinatorShard
from workbench.errors import CoordinatorError, WorkbenchError
from workbench.files.names import TopicPartition
from workbench.log.append.append_origin import AppendOrigin
from workbench.log.log import Log
from workbench.record.memory_records import MemoryRecords
from workbench.record.writing.batch_writer import BatchWriter
from workbench.record.writing.builder import end_transaction_marker
from workbench.runtime.error_codes import ErrorCode, code_of
from workbench.runtime.steps import Observer, Reporter

KINDS: Final = {
    "partition loading": "the coordinator became responsible for a partition and loads it",
    "partition loaded": "the coordinator serves a partition",
    "load failed": "the coordinator cannot read a partition and does not serve it",
    "load stopped": "the partition was unloaded, or the coordinator shut down, while it loaded",
    "load ignored": "the coordinator has the partition, a newer leader epoch, or is shut down",
    "partition unloaded": "another broker leads the partition, so its state is dropped",
    "unload ignored": "the coordinator has the partition with a newer leader epoch",
    "records appended": "the records of an operation were written to the coordinator's log",
    "records committed": "the high watermark passed the records of an operation; it is answered",
    "append failed": "the records of an operation were not written; the state is unchanged",
    "commit failed": "the high watermark did not pass the records of an operation in time",
}
"""Every kind of step of the runtime and its meaning."""

COMMIT_TIMEOUT_MS: Final = 5_000
"""How long an operation waits for the high watermark; `offsets.commit.timeout.ms` by default."""

T = TypeVar("T")


class PartitionState(Enum):
    """The state of a coordinator's partition.

    Kafka: CoordinatorRuntime.CoordinatorState (4.2)
    """

    LOADING = "loading"
    ACTIVE = "active"
    FAILED = "failed"
    CLOSED = "closed"


S = TypeVar("S", bound=CoordinatorShard)


class _Context(Generic[S]):
    """One partition and its shard; Kafka: CoordinatorRuntime.CoordinatorContext (4.2)."""

    def __init__(self, shard: S, log: Log) -> None:
        self.shard = shard
        self.log = log
        self.leader_epoch = 0
        self.lock = threading.RLock()
        self.state = PartitionState.LOADING
        self.failure = ""
        self.next_offset = 0  # the first offset that is not replayed
        self.unread = (0, 0)  # loaded only when the high watermark passes it: [first, end)
        self.deferred = DeferredEventQueue()


class CoordinatorRuntime(Reporter, Generic[S]):
    """The partitions of one coordinator. Threads may share it.

    Args:
        topic: `__consumer_offsets` or `__transaction_state`.
        log_of: returns a partition's log, such as `LogManager.get_log`; None: it is not here.
        make_shard: makes the empty state of a partition.
        codec: codec of the written batches, `offsets.topic.compression.codec`.
        translate: returns the answer to an error of an append.
        loads_to_high_watermark: whether loads end at the high watermark, as up to 2.0; otherwise
            at the log end offset.
        append: appends a batch; raises what `Log.append_as_leader` raises. None: that itself, for a
            log without other replicas.
        waits_for_replicas: whether operations wait for the high watermark; the code that moves it
            calls `on_high_watermark`.
        reads_committed: whether records count when the high watermark passes them and never
            before, as since 4.0; for `waits_for_replicas`. Up to 3.9 a load shows all records, and
            what an operation wrote that timed out counts only after the next load.
        observer: receives each step, of `KINDS`.

    Kafka: CoordinatorRuntime (4.2)
    """

    def __init__(
        self,
        topic: str,
        log_of: Callable[[TopicPartition], Log | None],
        make_shard: Callable[[TopicPartition], S],
        *,
        codec: str = "none",
        translate: Callable[[ErrorCode], ErrorCode] = answer_to,
        loads_to_high_watermark: bool = False,
        append: Append | None = None,
        waits_for_replicas: bool = False,
        reads_committed: bool = True,
        observer: Observer | None = None,
    ) -> None:
        self.topic = topic
        self.codec = codec
        self._translate = translate
        self._loads_to_high_watermark = loads_to_high_watermark
        self._append_batch = append
        self._waits = waits_for_replicas
        self._shows_committed = waits_for_replicas and reads_committed
        self.observer = observer
        self._log_of = log_of
        self._make_shard = make_shard
        self._is_open = True
        self._lock = threading.Lock()
        self._contexts: dict[int, _Context[S]] = {}
        self._epochs: dict[int, int] = {}  # the newest leader epoch seen, even after an unload

    # Partitions

    @property
    def owned_partitions(self) -> list[int]:
        """The partitions that are served; Kafka: GroupMetadataManager.ownedPartitions (0.9)."""
        return self._in_state(PartitionState.ACTIVE)

    @property
    def loading_partitions(self) -> list[int]:
        """The partitions that are loading; Kafka: GroupMetadataManager.loadingPartitions (0.9)."""
        return self._in_state(PartitionState.LOADING)

    def _in_state(self, state: PartitionState) -> list[int]:
        with self._lock:
            return sorted(n for n, each in self._contexts.items() if each.state is state)

    def state_of(self, partition: int) -> PartitionState | None:
        """Return the state of a partition; None: the coordinator does not have it."""
        context = self._contexts.get(partition)
        return None if context is None else context.state

    def shard(self, partition: int) -> S | None:
        """Return the state of a partition, to look at; None: the coordinator does not have it."""
        context = self._contexts.get(partition)
        return None if context is None else context.shard

    def load(self, partition: int, leader_epoch: int | None = None) -> bool:
        """Load a partition that this broker now leads; return whether it is served then.

        A load with a leader epoch that is not newer is ignored, even after an unload. While
        loading, requests get COORDINATOR_LOAD_IN_PROGRESS; if the load fails, NOT_COORDINATOR.

        Args:
            partition: its number.
            leader_epoch: the leader epoch; None: the newest in the log, or one above the last.

        Raises:
            CoordinatorError: NOT_COORDINATOR: the log is not here.

        Kafka: CoordinatorRuntime.scheduleLoadOperation (4.2),
        GroupMetadataManager.loadGroupsForPartition (0.9)
        """
        where = TopicPartition(self.topic, partition)
        log = self._log_of(where)
        if log is None:
            raise ErrorCode.NOT_COORDINATOR.error(f"this broker has no log of {where}")
        with self._lock:
            is_open = self._is_open
            seen = self._epochs.get(partition)
            epoch = _next_epoch(log, seen) if leader_epoch is None else leader_epoch
            context = self._contexts.get(partition)
            is_newer = is_open and (seen is None or epoch > seen)
            served = None if context is None else context.state
            # One that is served, or loads, goes on under the newer epoch: its log is the same.
            is_new = is_newer and (context is None or context.state is PartitionState.FAILED)
            if is_newer:
                self._epochs[partition] = epoch
            if is_new:
                context = self._contexts[partition] = _Context(self._make_shard(where), log)
            if is_newer and context is not None:
                context.leader_epoch = epoch
        if context is None or not is_new:
            reason = (
                "the coordinator is shut down"
                if not is_open
                else f"it is {served.value} already; its leader epoch is {epoch} now, {seen} before"
                if is_newer and served is not None
                else f"leader epoch {epoch} is not newer than {seen}, the newest known one"
            )
            self.tell("load ignored", where, reason, leader_epoch=epoch)
        else:
            self._load(context, where)
        return self.state_of(partition) is PartitionState.ACTIVE

    def _load(self, context: _Context[S], where: TopicPartition) -> None:
        """Replay the log from its start; requests meanwhile see that the partition loads.

        An unload of the partition ends it between two chunks.
        """
        log = context.log
        start, end = log.log_start_offset, log.log_end_offset
        context.next_offset = end
        if self._loads_to_high_watermark:
            end = log.high_watermark
        shown = min(end, log.high_watermark) if self._shows_committed else end
        context.unread = (shown, end)
        self.tell(
            "partition loading",
            where,
            f"from offset {start} up to offset {end}",
            leader_epoch=context.leader_epoch,
        )
        try:
            for chunk in read_log(log, shown):
                if context.state is not PartitionState.LOADING:
                    break
                context.shard.replay_chunk(chunk)
            with context.lock:  # an unload comes before this or after it, and sees what it made
                is_stopped = context.state is not PartitionState.LOADING
                if not is_stopped:
                    context.shard.on_loaded()
                    context.state = PartitionState.ACTIVE
        except (WorkbenchError, OSError) as error:
            context.failure, context.state = str(error), PartitionState.FAILED
            self.tell("load failed", where, str(error))
            return
        if is_stopped:
            self.tell("load stopped", where, "the partition was unloaded meanwhile")
            return
        rest = f"; those up to offset {end} wait for the high watermark" if shown < end else ""
        self.tell("partition loaded", where, f"records up to offset {shown} are replayed{rest}")

    def unload(self, partition: int, leader_epoch: int | None = None) -> bool:
        """Drop a partition that this broker no longer leads; return whether it had it.

        Args:
            partition: its number.
            leader_epoch: the new leader's epoch, which must be newer than this leader's; None
                always unloads.

        Kafka: CoordinatorRuntime.scheduleUnloadOperation (4.2),
        GroupMetadataManager.removeGroupsForPartition (0.9)
        """
        where = TopicPartition(self.topic, partition)
        with self._lock:
            seen = self._epochs.get(partition, -1)
            is_old = leader_epoch is not None and leader_epoch <= seen
            if not is_old and leader_epoch is not None:
                self._epochs[partition] = leader_epoch
            context = None if is_old else self._contexts.pop(partition, None)
        if is_old:
            reason = f"leader epoch {leader_epoch}; the newest known one is {seen}"
            self.tell("unload ignored", where, reason)
        if context is None:
            return False
        with context.lock:
            was_active = context.state is PartitionState.ACTIVE
            context.state = PartitionState.CLOSED
            if was_active:
                context.shard.on_unloaded()
        context.deferred.fail_all(ErrorCode.NOT_COORDINATOR)
        self.tell("partition unloaded", where, "", leader_epoch=leader_epoch)
        return True

    def close(self) -> None:
        """Unload all partitions, also those that load, and ignore every load until `open`.

        Kafka: CoordinatorRuntime.close (4.2)
        """
        with self._lock:
            self._is_open = False
            numbers = list(self._contexts)
        for number in numbers:
            self.unload(number)

    def open(self) -> None:
        """Load partitions again after `close`."""
        self._is_open = True

    # The high watermark

    def on_high_watermark(self, partition: int) -> None:
        """Replay and answer what the high watermark of a partition has passed.

        Kafka: CoordinatorRuntime.HighWatermarkListener.onHighWatermarkUpdated (4.2)
        """
        context = self._contexts.get(partition)
        if context is not None:
            with context.lock:
                self._complete(context)

    def _complete(self, context: _Context[S]) -> None:
        if context.state is not PartitionState.ACTIVE:
            return
        high = context.log.high_watermark
        # What lay above the high watermark when the partition was loaded comes before what waits.
        first, end = context.unread
        if first < min(end, high):
            context.unread = (min(end, high), end)
            for chunk in read_log(context.log, min(end, high), first):
                for record in chunk.records():
                    context.shard.replay(record)
        context.deferred.complete_up_to(high)

    def expire_deferred(self, now: int) -> None:
        """Answer the operations that have waited too long; their records remain in the log.

        Kafka: CoordinatorRuntime.CoordinatorWriteEvent's timeout (4.2), DelayedProduce (up to 3.9)
        """
        for context in list(self._contexts.values()):
            with context.lock:
                context.deferred.expire(now, keeps=self._shows_committed)

    @property
    def next_deadline_ms(self) -> int | None:
        """When the next operation has waited too long; None: no operation waits."""
        deadlines = [c.deferred.next_deadline_ms for c in self._contexts.values()]
        return min((each for each in deadlines if each is not None), default=None)

    # Operations

    def read(self, partition: int, operation: Callable[[S], T]) -> T:
        """Return what an operation that writes nothing answers.

        Raises:
            CoordinatorError: COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR, or the operation's own.

        Kafka: CoordinatorRuntime.scheduleReadOperation (4.2)
        """
        with self._active(partition) as context:
            return operation(context.shard)

    def write(self, partition: int, operation: Callable[[S], CoordinatorResult[T]]) -> T:
        """Run an operation, write its records, replay them, and return its answer.

        Raises:
            CoordinatorError: as `read`, or the translated error of the append: nothing changed.
                Of an operation that is not atomic, earlier batches may be written.

        Kafka: CoordinatorRuntime.scheduleWriteOperation (4.2)
        """
        return self.schedule_write(partition, operation).result()

    def schedule_write(
        self,
        partition: int,
        operation: Callable[[S], CoordinatorResult[T]],
        producer_id: int = NO_PRODUCER,
        producer_epoch: int = -1,
    ) -> Future[T]:
        """Run an operation and write its records; the future has its answer.

        It is done at once, or with `waits_for_replicas` when the high watermark passes the records.
        With a producer the records are part of its transaction.

        Raises:
            CoordinatorError: see `write`. The future fails with NOT_COORDINATOR if the partition is
                unloaded before, and with COORDINATOR_NOT_AVAILABLE after the timeout.

        Kafka: CoordinatorRuntime.scheduleWriteOperation, scheduleTransactionalWriteOperation (4.2)
        """
        answer: Future[T] = Future()
        with self._active(partition) as context:
            result = operation(context.shard)
            on_append = result.on_append

            def done(error: ErrorCode) -> None:
                if answer.done():  # at the timeout; the records that were written still count
                    return
                if on_append is not None:
                    on_append(error)
                if error is ErrorCode.NONE:
                    answer.set_result(result.response)
                else:
                    answer.set_exception(self._failed(context, error))

            try:
                end = self._write_records(context, result, producer_id, producer_epoch)
            except CoordinatorError as error:
                if on_append is not None:
                    on_append(ErrorCode(error.code))
                raise
            self._when_committed(context, end, done)
        return answer

    def _failed(self, context: _Context[S], error: ErrorCode) -> CoordinatorError:
        """Return the error of a client whose records the high watermark did not pass."""
        where = context.log.topic_partition
        answer = self._translate(error)
        problem = f"{error.name}: the high watermark of {where} did not pass the records"
        self.tell("commit failed", where, f"{problem}, answered as {answer.name}")
        return answer.error(problem)

    def _when_committed(
        self, context: _Context[S], end: int | None, complete: Callable[[ErrorCode], None]
    ) -> None:
        """Call something when the high watermark reaches an offset; None: now."""
        if end is None or not self._waits:
            complete(ErrorCode.NONE)
            return
        deadline = context.log.context.clock.now() + COMMIT_TIMEOUT_MS
        context.deferred.add(DeferredEvent(end, deadline, complete))
        self._complete(context)

    def complete_transaction(
        self,
        partition: int,
        producer_id: int,
        producer_epoch: int,
        coordinator_epoch: int,
        *,
        is_commit: bool,
        transaction_version: int = 0,
    ) -> int:
        """Write a transaction marker, replay it, and return its offset.

        Args:
            partition: its number.
            producer_id, producer_epoch: the producer whose transaction ends.
            coordinator_epoch: the transaction coordinator's epoch.
            is_commit: whether the transaction commits; False: it aborts.
            transaction_version: `transaction.version` that the transaction coordinator sends.

        Raises:
            CoordinatorError: as `write`.

        Kafka: CoordinatorRuntime.scheduleTransactionCompletion (4.2)
        """
        with self._active(partition) as context:
            marker = end_transaction_marker(
                0,
                context.log.context.clock.now(),
                producer_id,
                producer_epoch,
                commit=is_commit,
                coordinator_epoch=coordinator_epoch,
            )
            offset = self._append(context, marker, 1, transaction_version)
            ended = Marker(offset, producer_id, is_commit)
            self._when_committed(
                context,
                offset + 1,
                lambda error: None if error else context.shard.replay(ended),
            )
            return offset

    def read_all(self, operation: Callable[[S], T]) -> dict[int, T]:
        """Return what an operation answers in each partition that is served."""
        return {number: self.read(number, operation) for number in self.owned_partitions}

    def write_all(self, operation: Callable[[S], CoordinatorResult[T]]) -> dict[int, T]:
        """Run an operation in each partition that is served; see `write`.

        Kafka: CoordinatorRuntime.scheduleWriteAllOperation (4.2)
        """
        return {number: self.write(number, operation) for number in self.owned_partitions}

    @contextmanager
    def _active(self, partition: int) -> Iterator[_Context[S]]:
        """Hold a partition that is served; Kafka: withActiveContextOrThrow."""
        context = self._contexts.get(partition)
        if context is None:
            raise ErrorCode.NOT_COORDINATOR.error(f"{self.topic}-{partition} is not loaded here")
        self._require_active(context, partition)  # while it loads, no caller waits
        with context.lock:
            self._require_active(context, partition)
            yield context

    def _require_active(self, context: _Context[S], partition: int) -> None:
        where = f"{self.topic}-{partition}"
        if context.state is PartitionState.LOADING:
            raise ErrorCode.COORDINATOR_LOAD_IN_PROGRESS.error(f"{where} is being loaded")
        if context.state is not PartitionState.ACTIVE:
            raise ErrorCode.NOT_COORDINATOR.error(f"{where}: {context.failure or 'unloaded'}")

    def _write_records(
        self,
        context: _Context[S],
        result: CoordinatorResult[Any],
        producer_id: int,
        producer_epoch: int,
    ) -> int | None:
        """Write the records of an operation in one batch, or in several if it is not atomic.

        They are replayed, unless the operation has changed the state itself: then it has an
        `on_append`, which learns how the append went.

        Returns:
            The offset after the last record; None: nothing was written.
        """
        now = context.log.context.clock.now()
        limit = None if result.is_atomic else context.log.config.max_message_bytes
        builder = self._builder(producer_id, producer_epoch, limit)
        waiting: list[CoordinatorRecord] = []
        replays = result.on_append is None
        for record in result.records:
            if limit is not None and not builder.has_room_for(now, *record):
                self._append_and_replay(
                    context, builder, waiting, now, producer_id, replays=replays
                )
                builder, waiting = self._builder(producer_id, producer_epoch, limit), []
            builder.append(now, record.key, record.value)
            waiting.append(record)
        if waiting:
            self._append_and_replay(context, builder, waiting, now, producer_id, replays=replays)
        return context.next_offset if result.records else None

    def _builder(self, producer_id: int, producer_epoch: int, limit: int | None) -> BatchWriter:
        """Return the builder of a batch; its base sequence is always 0."""
        return BatchWriter(
            codec=self.codec,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=0,
            is_transactional=producer_id != NO_PRODUCER,
            write_limit=limit,
        )

    def _append_and_replay(
        self,
        context: _Context[S],
        builder: BatchWriter,
        records: list[CoordinatorRecord],
        now: int,
        producer_id: int,
        *,
        replays: bool,
    ) -> None:
        first = self._append(context, MemoryRecords(builder.finish()), len(records))
        if not replays:
            return

        def replay(error: ErrorCode) -> None:
            if error is not ErrorCode.NONE:
                return
            if self._waits:
                reason = f"the high watermark is {context.log.high_watermark}"
                self.tell("records committed", context.log.topic_partition, reason, at=first)
            for offset, (key, value) in enumerate(records, first):
                context.shard.replay(LogRecord(offset, now, key, value, producer_id))

        # Before the answer's event of the same offset: who is answered finds the records replayed.
        self._when_committed(context, first + len(records), replay)

    def _append(
        self,
        context: _Context[S],
        batch: MemoryRecords,
        records: int,
        transaction_version: int = 0,
    ) -> int:
        """Append a batch and return its first offset.

        Kafka: CoordinatorPartitionWriter.append (4.2)
        """
        log = context.log
        where = log.context.topic_partition
        try:
            if self._log_of(where) is not log:
                problem = f"this broker no longer has the log of {where}"
                raise ErrorCode.NOT_LEADER_OR_FOLLOWER.error(problem)
            if self._append_batch is None:
                info = log.append_as_leader(
                    batch,
                    context.leader_epoch,
                    AppendOrigin.COORDINATOR,
                    transaction_version=transaction_version,
                )
            else:
                info = self._append_batch(log, batch, context.leader_epoch, transaction_version)
        except WorkbenchError as error:
            code = code_of(error)
            answer = self._translate(code)
            reason = f"{code.name} ({code.value}) is answered as {answer.name} ({answer.value})"
            self.tell("append failed", where, f"{reason}: {error}", records=records)
            raise answer.error(str(error)) from error
        first: int = info.first_offset
        if self.observer is not None:
            self.tell(
                "records appended",
                where,
                f"offset {first} of {where}",
                at=first,
                records=records,
                bytes=len(batch.buffer),
            )
        # Somebody else wrote between: what was decided without those records must not be answered.
        if first != context.next_offset:
            self._reload(context, where, first)
        context.next_offset = info.last_offset + 1
        return first

    def _reload(self, context: _Context[S], where: TopicPartition, offset: int) -> Never:
        """Load a partition again, because something else wrote into its log.

        Raises:
            CoordinatorError: NOT_COORDINATOR, always.
        """
        context.shard.on_unloaded()
        context.shard, context.state = self._make_shard(where), PartitionState.LOADING
        problem = f"{where}: records at {context.next_offset} to {offset - 1} are not its own"
        self._load(context, where)
        raise ErrorCode.NOT_COORDINATOR.error(f"{problem}; the partition was loaded again")


def _next_epoch(log: Log, seen: int | None) -> int:
    """Return the leader epoch of a broker that leads by itself."""
    latest = log.leader_epochs.latest
    newest = 0 if latest is None else latest.epoch
    return newest if seen is None else max(newest, seen + 1)
