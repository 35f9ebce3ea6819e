"""A follower's fetcher: what it asks a leader next, and what it does with the answer.

It does no input or output itself: `next_request` gives a request, `handle` takes the answer, and a
server, a test or the simulated cluster carries both. At most one request is out at a time.

Kafka: AbstractFetcherThread, ReplicaFetcherThread (0.10.2 to 4.2)
"""

from collections.abc import Callable
from enum import Enum
from typing import Any, NamedTuple, Protocol

from workbench.errors import (
    CorruptRecordError,
    InvalidRecordError,
    ReplicationError,
    WorkbenchError,
)
from workbench.files.names import TopicPartition
from workbench.log.timestamp_search import EARLIEST, LATEST
from workbench.replication.messages import (
    EpochEndOffset,
    FetchParams,
    FetchPartition,
    FetchPartitionData,
)
from workbench.replication.partition import ReplicatedPartition
from workbench.replication.rules import Rules, TruncationRule
from workbench.replication.truncation import OffsetTruncationState, offset_truncation_state
from workbench.runtime.error_codes import ErrorCode
from workbench.runtime.steps import Reports


class FetchState(Enum):
    """What a fetcher does with a partition.

    Kafka: ReplicaState.TRUNCATING, FETCHING (4.2); the others are calls inside of a round there
    """

    TRUNCATING = "truncating"
    FETCHING = "fetching"
    ASKING_LATEST = "asking for the leader's log end offset"
    ASKING_EARLIEST = "asking for the leader's log start offset"


class PartitionFetchState(NamedTuple):
    """A fetcher's progress with a partition.

    Attributes:
        fetch_offset: the next offset to fetch.
        current_leader_epoch: the epoch that the follower knows.
        state: what it does next.
        last_fetched_epoch: epoch of the last record in the log; None: none, or not used.
        lag: offsets behind the leader's high watermark after the last records; None: no answer yet.
        delayed_until_ms: no request before that time.

    Kafka: PartitionFetchState (4.2)
    """

    fetch_offset: int
    current_leader_epoch: int
    state: FetchState
    last_fetched_epoch: int | None = None
    lag: int | None = None
    delayed_until_ms: int = 0


class FetchRequest(NamedTuple):
    """A follower's fetch."""

    params: FetchParams
    partitions: dict[TopicPartition, FetchPartition]


class EpochRequest(NamedTuple):
    """The question where epochs end: partition → (leader epoch or None, asked epoch).

    Kafka: OffsetsForLeaderEpochRequest (4.2)
    """

    partitions: dict[TopicPartition, tuple[int | None, int]]


class OffsetRequest(NamedTuple):
    """The question where the leader's log ends or starts.

    Kafka: ListOffsetsRequest (4.2)
    """

    partition: TopicPartition
    current_leader_epoch: int | None
    timestamp: int


Request = FetchRequest | EpochRequest | OffsetRequest


class FetcherHost(Reports, Protocol):
    """What a fetcher needs of its broker."""

    broker_id: int
    broker_epoch: int
    rules: Rules
    fetch_backoff_ms: int
    fetch_max_wait_ms: int
    fetch_min_bytes: int
    fetch_max_bytes: int
    fetch_response_max_bytes: int

    def now(self) -> int:
        """Return the time, ms."""
        ...

    def partition(self, name: TopicPartition) -> ReplicatedPartition:
        """Return a partition that the broker has."""
        ...

    def complete_delayed_fetches(self, name: TopicPartition) -> None:
        """Try the consumers' fetches that wait here, as the follower's high watermark moved."""
        ...

    def allows_unclean_election(self, name: TopicPartition) -> bool:
        """Return the topic's `unclean.leader.election.enable`."""
        ...

    def halt(self, reason: str) -> None:
        """End the broker's process."""
        ...


class ReplicaFetcher:
    """Fetches the partitions of one leader.

    Attributes:
        leader: the leader's broker id.
        states: partition → the fetcher's progress.
        failed: partition → why it is no longer fetched, until the next leader epoch.

    Kafka: ReplicaFetcherThread (4.2)
    """

    def __init__(self, leader: int, host: FetcherHost) -> None:
        self.leader = leader
        self.states: dict[TopicPartition, PartitionFetchState] = {}
        self.failed: dict[TopicPartition, str] = {}
        self._host = host

    def copy(self, host: FetcherHost) -> "ReplicaFetcher":
        """Return the same fetcher of another broker."""
        other = ReplicaFetcher(self.leader, host)
        other.states = self.states.copy()
        other.failed = self.failed.copy()
        return other

    def add_partition(self, name: TopicPartition, leader_epoch: int) -> None:
        """Fetch a partition from the leader of an epoch; nothing happens if that is done already.

        Kafka: AbstractFetcherThread.addPartitions, ReplicaManager.initialFetchOffset (4.2)
        """
        self.failed.pop(name, None)
        known = self.states.get(name)
        if known is not None and known.current_leader_epoch == leader_epoch:
            return
        log = self._host.partition(name).log
        rules = self._host.rules
        latest = log.leader_epochs.latest_epoch
        if rules.truncation is TruncationRule.HIGH_WATERMARK:
            state = PartitionFetchState(log.log_end_offset, leader_epoch, FetchState.FETCHING)
        elif rules.truncation is TruncationRule.ON_FETCH and latest is not None:
            state = PartitionFetchState(
                log.log_end_offset, leader_epoch, FetchState.FETCHING, latest
            )
        else:
            state = PartitionFetchState(log.high_watermark, leader_epoch, FetchState.TRUNCATING)
        self.states[name] = state

    def remove_partition(self, name: TopicPartition) -> None:
        """Fetch a partition no more."""
        self.states.pop(name, None)
        self.failed.pop(name, None)

    # What to ask

    def next_request(self) -> Request | None:
        """Return what to ask the leader now; None if there is nothing to ask.

        Partitions without leader epochs are truncated to their high watermark first.

        Kafka: AbstractFetcherThread.doWork (4.2)
        """
        host = self._host
        now = host.now()
        epochs: dict[TopicPartition, tuple[int | None, int]] = {}
        for name, state in tuple(self.states.items()):
            if state.delayed_until_ms > now:
                continue
            if state.state in (FetchState.ASKING_LATEST, FetchState.ASKING_EARLIEST):
                timestamp = LATEST if state.state is FetchState.ASKING_LATEST else EARLIEST
                return OffsetRequest(name, self._told_epoch(state), timestamp)
            if state.state is FetchState.TRUNCATING:
                latest = host.partition(name).log.leader_epochs.latest_epoch
                if latest is None or host.rules.truncation is TruncationRule.ON_FETCH:
                    self._truncate_to_high_watermark(name, state)
                else:
                    epochs[name] = (self._told_epoch(state), latest)
        if epochs:
            return EpochRequest(epochs)
        partitions = {
            name: FetchPartition(
                state.fetch_offset,
                host.partition(name).log.log_start_offset,
                host.fetch_max_bytes,
                self._told_epoch(state),
                state.last_fetched_epoch,
            )
            for name, state in self.states.items()
            if state.state is FetchState.FETCHING and state.delayed_until_ms <= now
        }
        if not partitions:
            return None
        params = FetchParams(
            host.broker_id,
            host.broker_epoch,
            host.fetch_max_wait_ms,
            host.fetch_min_bytes,
            host.fetch_response_max_bytes,
        )
        return FetchRequest(params, partitions)

    def _told_epoch(self, state: PartitionFetchState) -> int | None:
        return state.current_leader_epoch if self._host.rules.fences_epochs else None

    # What the answers say

    def handle(self, request: Request, answer: Any) -> None:
        """Take the answer to a request; None: it got lost, so all its partitions back off.

        Args:
            request: what `next_request` returned.
            answer: partition → `FetchPartitionData` or (error, `EpochEndOffset`); of an
                `OffsetRequest` (error, offset).

        Raises:
            ReplicationError: the answer to a question about epochs names a partition that was not
                asked for.
        """
        if isinstance(request, OffsetRequest):
            if answer is None:
                self._delay(request.partition)
            else:
                self._handle_offset(request, *answer)
            return
        if answer is None:
            for name in request.partitions:
                self._delay(name)
        elif isinstance(request, EpochRequest):
            if unasked := answer.keys() - request.partitions.keys():
                names = ", ".join(sorted(map(str, unasked)))
                raise ReplicationError(f"broker {self.leader} answers about {names}: not asked")
            for name, (error, end) in answer.items():
                self._handle_epoch_end(name, request.partitions[name], error, end)
        else:
            self._handle_fetch(request, answer)

    def _handle_fetch(
        self, request: FetchRequest, answer: dict[TopicPartition, FetchPartitionData]
    ) -> None:
        """Kafka: AbstractFetcherThread.processFetchRequest (4.2)."""
        host = self._host
        diverging: list[tuple[TopicPartition, EpochEndOffset]] = []
        moved: list[TopicPartition] = []
        for name, data in answer.items():
            state, asked = self.states.get(name), request.partitions.get(name)
            if (
                state is None
                or asked is None
                or state.state is not FetchState.FETCHING
                or state.fetch_offset != asked.fetch_offset
                or state.delayed_until_ms > host.now()
            ):
                continue
            told = asked.current_leader_epoch
            if data.error is ErrorCode.NONE and data.diverging_epoch is not None:
                diverging.append((name, data.diverging_epoch))
            elif data.error is ErrorCode.NONE:
                epoch = state.current_leader_epoch if told is None else told
                if self._append(name, state, data, epoch):
                    moved.append(name)
            elif data.error is ErrorCode.OFFSET_OUT_OF_RANGE:
                self.states[name] = state._replace(state=FetchState.ASKING_LATEST)
            else:
                self._handle_error(name, data.error, told)
        for name, end in diverging:
            self._truncate(name, self._truncation(name, end))
        for name in moved:
            host.complete_delayed_fetches(name)

    def _append(
        self,
        name: TopicPartition,
        state: PartitionFetchState,
        data: FetchPartitionData,
        leader_epoch: int,
    ) -> bool:
        """Append records, move the high watermark; return whether it moved.

        The leader epoch is that of the request: the leader can have changed while it was out.

        Kafka: ReplicaFetcherThread.processPartitionData (4.2)
        """
        partition = self._host.partition(name)
        log = partition.log
        if state.fetch_offset != log.log_end_offset:
            self._fail(name, f"fetched from {state.fetch_offset}, but the log ends at "
                       f"{log.log_end_offset}")  # fmt: skip
            return False
        before = log.high_watermark
        try:
            if data.size:
                partition.append_records_to_follower(data.records, leader_epoch)
            after = log.update_high_watermark(data.high_watermark)
            if data.log_start_offset > log.log_start_offset:
                log.maybe_increment_log_start_offset(
                    data.log_start_offset, "the leader's log start offset rose"
                )
        except (CorruptRecordError, InvalidRecordError):
            self._delay(name)
            return False
        except WorkbenchError as error:
            self._fail(name, str(error))
            return False
        next_offset, epoch = log.log_end_offset, state.last_fetched_epoch
        if data.size and self._host.rules.truncation is TruncationRule.ON_FETCH:
            epoch = log.leader_epochs.latest_epoch
        if after != before:
            self._host.tell(
                "high watermark learned", name,
                "the leader's answer has it" if after > before
                else "the leader's answer has a lower one",
                broker=self._host.broker_id, before=before, high_watermark=after,
                log_end_offset=log.log_end_offset,
            )  # fmt: skip
        if data.size or state.lag is None:
            del self.states[name]  # to the end, so that a busy partition does not hide the others
            lag = max(0, data.high_watermark - next_offset)
            self.states[name] = state._replace(
                fetch_offset=next_offset, lag=lag, last_fetched_epoch=epoch
            )
        return after != before

    def _handle_epoch_end(
        self,
        name: TopicPartition,
        asked: tuple[int | None, int],
        error: ErrorCode,
        end: EpochEndOffset,
    ) -> None:
        """Kafka: AbstractFetcherThread.truncateToEpochEndOffsets (4.2)."""
        state = self.states.get(name)
        if state is None or state.state is not FetchState.TRUNCATING:
            return
        told = asked[0]
        if told is not None and told != state.current_leader_epoch:
            return
        if error is ErrorCode.NONE:
            self._truncate(name, self._truncation(name, end))
        else:
            self._handle_error(name, error, told)

    def _truncation(self, name: TopicPartition, end: EpochEndOffset) -> OffsetTruncationState:
        partition = self._host.partition(name)
        return offset_truncation_state(
            end,
            partition.log.log_end_offset,
            partition.end_offset_for,
            self.states[name].fetch_offset,
        )

    def _truncate(self, name: TopicPartition, to: OffsetTruncationState) -> None:
        """Kafka: AbstractFetcherThread.doTruncate (4.2)."""
        host = self._host
        log = host.partition(name).log
        before, high = log.log_end_offset, log.high_watermark
        if not self._changes(name, lambda: log.truncate_to(to.offset)):
            return
        self._tell_truncated(name, before, high, "the leader's epochs part from the log's there")
        on_fetch = host.rules.truncation is TruncationRule.ON_FETCH
        is_done = to.is_completed or on_fetch
        self.states[name] = self.states[name]._replace(
            fetch_offset=to.offset,
            state=FetchState.FETCHING if is_done else FetchState.TRUNCATING,
            last_fetched_epoch=log.leader_epochs.latest_epoch if on_fetch else None,
            lag=None,
        )

    def _truncate_to_high_watermark(self, name: TopicPartition, state: PartitionFetchState) -> None:
        log = self._host.partition(name).log
        before, high = log.log_end_offset, log.high_watermark
        if not self._changes(name, lambda: log.truncate_to(high)):
            return
        self._tell_truncated(name, before, high, "the log has no leader epochs")
        self.states[name] = state._replace(fetch_offset=high, state=FetchState.FETCHING)

    def _changes(self, name: TopicPartition, change: Callable[[], object]) -> bool:
        """Change a log; return whether that worked. Otherwise the partition has failed."""
        try:
            change()
        except (WorkbenchError, ValueError) as error:  # ValueError: an offset that no log has
            self._fail(name, str(error))
            return False
        return True

    def _tell_truncated(self, name: TopicPartition, before: int, high: int, why: str) -> None:
        log = self._host.partition(name).log
        if log.log_end_offset != before:
            below = ", below its own high watermark" if log.log_end_offset < high else ""
            self._host.tell(
                "follower truncated", name, f"{why}{below}",
                broker=self._host.broker_id, before=before, log_end_offset=log.log_end_offset,
                high_watermark=log.high_watermark,
            )  # fmt: skip

    def _handle_offset(self, request: OffsetRequest, error: ErrorCode, offset: int) -> None:
        """Take the leader's log end or start after a fetch that was out of range.

        Kafka: AbstractFetcherThread.fetchOffsetAndTruncate (4.2)
        """
        name = request.partition
        state = self.states.get(name)
        if state is None or state.state not in (
            FetchState.ASKING_LATEST,
            FetchState.ASKING_EARLIEST,
        ):
            return
        if error is not ErrorCode.NONE:
            self._handle_error(name, error, request.current_leader_epoch)
            return
        host = self._host
        log = host.partition(name).log
        before, high = log.log_end_offset, log.high_watermark
        if request.timestamp == LATEST:
            if offset >= before:
                self.states[name] = state._replace(state=FetchState.ASKING_EARLIEST)
                return
            if host.rules.exits_ahead_of_leader and not host.allows_unclean_election(name):
                host.halt(
                    f"{name}: the leader's log ends at {offset}, before this follower's {before}, "
                    "and unclean elections are not allowed"
                )
                return
            if not self._changes(name, lambda: log.truncate_to(offset)):
                return
            self._tell_truncated(name, before, high, "the leader's log ends there")
        elif offset > before:
            if not self._changes(name, lambda: log.truncate_fully_and_start_at(offset)):
                return
            host.tell(
                "follower emptied", name, "the leader's log starts after this log's end",
                broker=host.broker_id, before=before, log_start_offset=offset,
            )  # fmt: skip
        epoch = log.leader_epochs.latest_epoch
        on_fetch = host.rules.truncation is TruncationRule.ON_FETCH
        self.states[name] = state._replace(
            fetch_offset=log.log_end_offset,
            state=FetchState.FETCHING,
            last_fetched_epoch=epoch if on_fetch else None,
        )

    def _handle_error(self, name: TopicPartition, error: ErrorCode, told: int | None) -> None:
        """Kafka: AbstractFetcherThread.onPartitionFenced, handlePartitionsWithErrors (4.2)."""
        if error is ErrorCode.FENCED_LEADER_EPOCH:
            state = self.states[name]
            if told is not None and told == state.current_leader_epoch:
                self._fail(name, "the leader has a newer epoch; the follower waits for metadata")
                return
        self._delay(name)

    def _delay(self, name: TopicPartition) -> None:
        state = self.states.get(name)
        if state is not None and state.delayed_until_ms <= self._host.now():
            until = self._host.now() + self._host.fetch_backoff_ms
            self.states[name] = state._replace(delayed_until_ms=until)

    def _fail(self, name: TopicPartition, why: str) -> None:
        """Kafka: AbstractFetcherThread.markPartitionFailed (4.2)."""
        self.states.pop(name, None)
        self.failed[name] = why
        self._host.tell("fetch failed", name, why, broker=self._host.broker_id)

    def key(self) -> tuple[Any, ...]:
        """Return what makes two fetchers differ, for a search."""
        now = self._host.now()
        return (
            self.leader,
            tuple(
                (name, *state[:4], state.lag is None, state.delayed_until_ms > now)
                for name, state in self.states.items()
            ),
            tuple(self.failed),
        )
