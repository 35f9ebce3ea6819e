"""One partition on one broker: leader or follower, its ISR, its high watermark.

Kafka: Partition (4.2; earlier versions by `Rules`)
"""

from enum import Enum
from typing import Any, Final, NamedTuple, Protocol

from workbench.errors import OffsetOutOfRangeError, UnexpectedAppendOffsetError
from workbench.log.append.append_origin import AppendOrigin
from workbench.log.fetch import LogOffsetMetadata
from workbench.log.timestamp_search import EARLIEST, LATEST
from workbench.replication.messages import (
    NO_LEADER,
    UNDEFINED,
    AlterPartition,
    EpochEndOffset,
    FetchParams,
    FetchPartition,
    FetchPartitionData,
    LeaderAndIsr,
)
from workbench.replication.partition_replicas import IsrState, PartitionReplicas, ReplicaHost
from workbench.replication.replica import ReplicaState
from workbench.replication.replica_log import Appended, ReplicaLog
from workbench.replication.truncation import end_offset_for
from workbench.runtime.error_codes import ErrorCode

ALL_REPLICAS: Final = -1
"""`acks=all`."""


class HighWatermarkChange(Enum):
    """What an append did to the leader's high watermark.

    Kafka: LeaderHwChange (4.2)
    """

    INCREASED = "increased"
    SAME = "same"


class LeaderAppend(NamedTuple):
    """The result of an append on the leader.

    Attributes:
        info: where the records are.
        change: whether the high watermark rose, which wakes other requests.
    """

    info: Appended
    change: HighWatermarkChange


class PartitionHost(ReplicaHost, Protocol):
    """What a partition needs of its broker."""

    def submit(self, partition: "ReplicatedPartition", request: AlterPartition) -> None:
        """Ask the controller; the answer comes to `ReplicatedPartition.handle_alter_partition`.

        Before 2.7 it comes before this method returns.
        """
        ...


class ReplicatedPartition(PartitionReplicas):
    """One partition on one broker. Threads may share it.

    Kafka: Partition (4.2)
    """

    __slots__ = ()
    _host: PartitionHost

    def copy(self, log: ReplicaLog, host: PartitionHost) -> "ReplicatedPartition":
        """Return the same state on another log and broker; a search branches with it.

        The copies share their lock.
        """
        other = ReplicatedPartition.__new__(ReplicatedPartition)
        other.name = self.name
        other.log = log
        other._host = host  # noqa: SLF001
        other._lock = self._lock  # noqa: SLF001
        other.leader_epoch = self.leader_epoch
        other.partition_epoch = self.partition_epoch
        other.leader = self.leader
        other.leader_epoch_start_offset = self.leader_epoch_start_offset
        other.replicas = self.replicas
        other.isr_state = self.isr_state
        other.remote = self.remote.copy()
        return other

    # What the controller decides

    def make_leader(self, state: LeaderAndIsr) -> bool:
        """Become or remain the leader; return whether this broker was not the leader before.

        Kafka: Partition.makeLeader (4.2)
        """
        with self._lock:
            if state.partition_epoch < self.partition_epoch:
                self._host.tell(
                    "leader state ignored", self.name,
                    "the partition epoch is older than the known one",
                    partition_epoch=state.partition_epoch, known=self.partition_epoch,
                )  # fmt: skip
                return False
            is_new_leader = not self.is_leader
            is_new_epoch = state.leader_epoch > self.leader_epoch
            self._take_assignment(state)
            self.isr_state = IsrState(state.isr)
            log = self.log
            if is_new_epoch:
                end = log.log_end_offset
                self.leader_epoch_start_offset = end
                rules = self._host.rules
                if rules.uses_epochs and rules.new_leader_assigns_epoch:
                    log.leader_epochs.assign(state.leader_epoch, end)
                now = self._host.now()
                for broker, replica in self.remote.items():
                    self.remote[broker] = replica.reset(
                        now, end, is_new_leader=is_new_leader, is_in_sync=broker in state.isr
                    )
                self.leader_epoch = state.leader_epoch
            self.leader = self._host.broker_id
            self.partition_epoch = state.partition_epoch
            if is_new_epoch:
                self._host.tell(
                    "leader made", self.name,
                    f"leader epoch {state.leader_epoch} begins at the log end offset",
                    broker=self._host.broker_id, leader_epoch=state.leader_epoch,
                    log_end_offset=log.log_end_offset, isr=state.isr,
                )  # fmt: skip
            rose = self._maybe_increment_leader_high_watermark()
        if rose:
            self._host.complete_delayed_requests(self.name)
        return is_new_leader

    def make_follower(self, state: LeaderAndIsr) -> bool:
        """Become or remain a follower; return whether the leader epoch, and so the fetcher, is new.

        Kafka: Partition.makeFollower (4.2)
        """
        with self._lock:
            if state.partition_epoch < self.partition_epoch:
                return False
            is_new_epoch = state.leader_epoch > self.leader_epoch
            was_led_by = self.leader
            risen = state.leader_epoch - self.leader_epoch
            self._take_assignment(state)
            self.remote.clear()
            self.isr_state = IsrState()
            self.leader = state.leader
            self.leader_epoch = state.leader_epoch
            self.leader_epoch_start_offset = None
            self.partition_epoch = state.partition_epoch
            if is_new_epoch:
                self._host.tell(
                    "follower made", self.name,
                    f"broker {state.leader} leads epoch {state.leader_epoch}"
                    if state.leader != NO_LEADER else "there is no leader",
                    broker=self._host.broker_id, leader=state.leader,
                    leader_epoch=state.leader_epoch,
                )  # fmt: skip
            skips = self._host.rules.same_leader_skips
            keeps_fetching = (
                was_led_by == state.leader != NO_LEADER and skips > 0 and risen <= skips
            )
            return is_new_epoch and not keeps_fetching

    def _take_assignment(self, state: LeaderAndIsr) -> None:
        self.replicas = state.replicas
        others = [broker for broker in state.replicas if broker != self._host.broker_id]
        self.remote = {broker: self.remote.get(broker, ReplicaState()) for broker in others}

    # Checks of requests

    def check_epoch(self, current_leader_epoch: int | None) -> ErrorCode:
        """Return how a request's leader epoch differs from the known one.

        Kafka: Partition.checkCurrentLeaderEpoch (4.2)
        """
        if current_leader_epoch is None or current_leader_epoch == self.leader_epoch:
            return ErrorCode.NONE
        if current_leader_epoch < self.leader_epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        return ErrorCode.UNKNOWN_LEADER_EPOCH

    def check_access(
        self, current_leader_epoch: int | None, *, only_leader: bool = True
    ) -> ErrorCode:
        """Return why a request about the partition is refused: its epoch first, then the leader.

        Kafka: Partition.localLogWithEpochOrThrow (4.2)
        """
        error = self.check_epoch(current_leader_epoch)
        if error is not ErrorCode.NONE:
            return error
        if only_leader and not self.is_leader:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return ErrorCode.NONE

    # The leader: produce

    def append_records_to_leader(
        self, records: Any, origin: AppendOrigin, required_acks: int
    ) -> LeaderAppend | ErrorCode:
        """Append a client's records, or return why they are refused.

        Raises:
            WorkbenchError: see `Log.append_as_leader`.

        Kafka: Partition.appendRecordsToLeader (4.2)
        """
        with self._lock:
            if not self.is_leader:
                return ErrorCode.NOT_LEADER_OR_FOLLOWER
            in_sync = len(self.isr_state.isr)
            if required_acks == ALL_REPLICAS and in_sync < self.effective_min_isr:
                return ErrorCode.NOT_ENOUGH_REPLICAS
            info = self.log.append_as_leader(records, self.leader_epoch, origin)
            rose = self._maybe_increment_leader_high_watermark()
            change = HighWatermarkChange.INCREASED if rose else HighWatermarkChange.SAME
            return LeaderAppend(info, change)

    def check_enough_replicas_reach_offset(self, required_offset: int) -> ErrorCode | None:
        """Return the end of a wait for acks=all: NONE or an error; None: the wait continues.

        Only the high watermark counts.

        Kafka: Partition.checkEnoughReplicasReachOffset (4.2)
        """
        if not self.is_leader:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        if self.log.high_watermark < required_offset:
            return None
        if self.effective_min_isr <= len(self.isr_state.maximal_isr):
            return ErrorCode.NONE
        return ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND

    # Fetch

    def fetch_records(
        self,
        params: FetchParams,
        fetch: FetchPartition,
        max_bytes: int,
        *,
        min_one_message: bool,
        updates_state: bool = True,
    ) -> FetchPartitionData:
        """Read for a follower or a consumer; a follower's fetch gives the leader its end offset.

        The high watermark in the answer is the one before this very fetch raised it.

        Args:
            params: what the request says for all partitions.
            fetch: what it says of this one.
            max_bytes: most bytes to return.
            min_one_message: whether to return the first batch whole, even if it is larger.
            updates_state: whether the leader learns from it; False when a waiting request is
                answered.

        Kafka: Partition.fetchRecords, updateFollowerFetchState (4.2)
        """
        is_follower = params.is_from_follower
        with self._lock:
            error = self.check_access(
                fetch.current_leader_epoch, only_leader=params.only_from_leader
            )
            if error is ErrorCode.NONE and is_follower and params.replica_id not in self.remote:
                error = (
                    ErrorCode.NOT_LEADER_OR_FOLLOWER
                    if fetch.current_leader_epoch is None
                    else ErrorCode.UNKNOWN_LEADER_EPOCH
                )
            if error is not ErrorCode.NONE:
                return FetchPartitionData(error)
            leader_end = self.log.log_end_offset
            answer, position = self._read(params, fetch, max_bytes, min_one_message=min_one_message)
        if is_follower and updates_state and position is not None:
            error = self._update_follower(params, fetch, position, leader_end)
            if error is not ErrorCode.NONE:
                return FetchPartitionData(error)
        return answer

    def _read(
        self, params: FetchParams, fetch: FetchPartition, max_bytes: int, *, min_one_message: bool
    ) -> tuple[FetchPartitionData, LogOffsetMetadata | None]:
        """Return the answer and the position of the fetch offset; None: nothing may be learned.

        Kafka: Partition.readRecords (4.2)
        """
        log = self.log
        high, start = log.high_watermark, log.log_start_offset
        if fetch.last_fetched_epoch is not None:
            end = self.end_offset_for(fetch.last_fetched_epoch)
            if end.is_undefined or fetch.fetch_offset < start:
                return FetchPartitionData(ErrorCode.OFFSET_OUT_OF_RANGE), None
            if end.diverges_from(fetch.last_fetched_epoch, fetch.fetch_offset):
                self._host.tell(
                    "divergence found", self.name,
                    f"the follower's epoch {fetch.last_fetched_epoch} ends otherwise here",
                    fetch_offset=fetch.fetch_offset, epoch=end.epoch, end_offset=end.end_offset,
                )  # fmt: skip
                answer = FetchPartitionData(
                    high_watermark=high, log_start_offset=start, diverging_epoch=end
                )
                return answer, None
        stable = None if params.is_from_follower else log.last_stable_offset
        try:
            data = log.read(
                fetch.fetch_offset, max_bytes, params.reads_to, min_one_message=min_one_message
            )
        except OffsetOutOfRangeError:
            return FetchPartitionData(ErrorCode.OFFSET_OUT_OF_RANGE), None
        answer = FetchPartitionData(
            ErrorCode.NONE, high, start, data.records, data.size, None, stable,
            data.aborted_transactions,
        )  # fmt: skip
        return answer, data.offset_metadata

    def _update_follower(
        self,
        params: FetchParams,
        fetch: FetchPartition,
        position: LogOffsetMetadata,
        leader_end_offset: int,
    ) -> ErrorCode:
        follower = params.replica_id
        with self._lock:
            if not self.is_leader or follower not in self.remote:
                return ErrorCode.NOT_LEADER_OR_FOLLOWER
            before = self.remote[follower]
            if self._host.is_stale(follower, params.replica_epoch):
                return ErrorCode.NOT_LEADER_OR_FOLLOWER
            after = before.after_fetch(
                position._replace(offset=fetch.fetch_offset), fetch.log_start_offset,
                self._host.now(), leader_end_offset, params.replica_epoch,
            )  # fmt: skip
            self.remote[follower] = after
            change = self._expansion(follower)
        if change is not None:
            self._host.submit(self, change)  # outside of the lock: the answer may come at once
        with self._lock:
            rose = (
                before.log_end_offset != after.log_end_offset
                and self._maybe_increment_leader_high_watermark()
            )
        if rose:
            self._host.complete_delayed_requests(self.name)
        return ErrorCode.NONE

    # The ISR

    def maybe_shrink_isr(self) -> None:
        """Ask to remove the followers that lag too long.

        Kafka: Partition.maybeShrinkIsr, getOutOfSyncReplicas (4.2)
        """
        with self._lock:
            state = self.isr_state
            if not self.is_leader or state.is_inflight or self._host.rules.is_quorum:
                return
            gone = self.out_of_sync_replicas()
            if not gone:
                return
            wanted = tuple(broker for broker in state.isr if broker not in gone)
            names = ", ".join(map(str, sorted(gone)))
            change = self._change_isr(
                wanted,
                "ISR shrinking",
                f"broker {names} did not have all records for "
                f"{self._host.lag_time_max_ms} ms (replica.lag.time.max.ms)",
            )
        self._host.submit(self, change)

    def handle_alter_partition(
        self, request: AlterPartition, answer: LeaderAndIsr | ErrorCode
    ) -> None:
        """Take the controller's answer to a change of the ISR.

        An answer to another state than the waiting one is ignored. Unless the controller says that
        nothing was changed, the change keeps waiting: for new metadata, or it is requested again.

        Kafka: Partition.handleAlterPartitionUpdate, handleAlterPartitionError (4.2)
        """
        rose = is_asked_again = False
        with self._lock:
            state = self.isr_state
            if (
                not self.is_leader
                or state.pending != request.new_isr
                or request.partition_epoch != self.partition_epoch
                or request.leader_epoch != self.leader_epoch
            ):
                return
            if isinstance(answer, LeaderAndIsr):
                if (
                    answer.leader_epoch != self.leader_epoch
                    or answer.partition_epoch < self.partition_epoch
                ):
                    return
                self.isr_state = IsrState(answer.isr)
                self.partition_epoch = answer.partition_epoch
                self._host.tell(
                    "ISR changed", self.name, "the controller confirmed it",
                    isr=answer.isr, partition_epoch=answer.partition_epoch,
                )  # fmt: skip
                rose = self._maybe_increment_leader_high_watermark()
            elif answer in _REFUSED or not self._host.rules.waits_for_isr_change:
                self.isr_state = IsrState(state.isr)
            else:
                is_asked_again = answer not in _WAITS_FOR_METADATA
        if is_asked_again:
            self._host.submit(self, request)
        if rose:
            self._host.complete_delayed_requests(self.name)

    # Questions of followers

    def last_offset_for_leader_epoch(
        self, current_leader_epoch: int | None, epoch: int, *, only_leader: bool = True
    ) -> tuple[ErrorCode, EpochEndOffset]:
        """Return where a leader epoch ends in this log.

        Kafka: Partition.lastOffsetForLeaderEpoch (4.2)
        """
        with self._lock:
            error = self.check_access(current_leader_epoch, only_leader=only_leader)
            if error is not ErrorCode.NONE:
                return error, UNDEFINED
            return ErrorCode.NONE, self.end_offset_for(epoch)

    def end_offset_for(self, epoch: int) -> EpochEndOffset:
        """Return where a leader epoch ends in this log, by the rules of the version."""
        log = self.log
        return end_offset_for(
            self._host.rules, log.leader_epochs.entries, epoch, log.log_end_offset
        )

    def fetch_offset(
        self,
        current_leader_epoch: int | None,
        timestamp: int,
        *,
        is_replica: bool = True,
        only_leader: bool = True,
    ) -> tuple[ErrorCode, int]:
        """Return the offset of a time.

        A new leader does not return its end to a client before its high watermark reaches the
        offset where its epoch began: it would be below what the old leader returned (KIP-207, 2.2).

        Args:
            current_leader_epoch: the epoch that the sender knows; None: not sent.
            timestamp: ms, or `LATEST` or `EARLIEST`.
            is_replica: whether a replica asks: its latest offset is the log end offset, that of a
                client the high watermark.
            only_leader: whether a follower refuses.

        Returns:
            The error and the offset; -1: an error, or no record at or after the time.

        Kafka: Partition.fetchOffsetForTimestamp (4.2)
        """
        with self._lock:
            error = self.check_access(current_leader_epoch, only_leader=only_leader)
            if error is not ErrorCode.NONE:
                return error, -1
            log, start = self.log, self.leader_epoch_start_offset
            last = log.log_end_offset if is_replica else log.high_watermark
            lags = (
                self._host.rules.hides_lagging_end
                and not is_replica
                and start is not None
                and start > log.high_watermark
            )
            if timestamp == EARLIEST:
                return ErrorCode.NONE, log.log_start_offset
            if timestamp != LATEST:
                found = log.offset_for_timestamp(timestamp)
                if found is not None and found.offset < last:
                    return ErrorCode.NONE, found.offset
                last = -1
            return (ErrorCode.OFFSET_NOT_AVAILABLE, -1) if lags else (ErrorCode.NONE, last)

    # The follower

    def append_records_to_follower(self, records: Any, leader_epoch: int) -> Appended:
        """Append what the leader sent; an empty log may restart within the first batch.

        Raises:
            WorkbenchError: see `Log.append_as_follower`.

        Kafka: Partition.appendRecordsToFollowerOrFutureReplica (4.2)
        """
        log = self.log
        try:
            return log.append_as_follower(records, leader_epoch)
        except UnexpectedAppendOffsetError as error:
            start = log.log_start_offset
            if start == log.log_end_offset and error.first_offset < start <= error.last_offset:
                log.truncate_fully_and_start_at(error.first_offset)
                return log.append_as_follower(records, leader_epoch)
            raise

    def key(self) -> tuple[Any, ...]:
        """Return what makes two states of the partition differ, times aside; see `search`."""
        now, lag = self._host.now(), self._host.lag_time_max_ms
        return (
            self.leader, self.leader_epoch, self.partition_epoch, self.isr_state,
            self.leader_epoch_start_offset,
            tuple(
                (
                    broker, state.log_end.offset, state.last_fetch_leader_log_end_offset,
                    now - state.last_caught_up_time_ms <= lag,
                    now - state.last_fetch_time_ms <= lag,
                )
                for broker, state in self.remote.items()
            ),
        )  # fmt: skip


_REFUSED = frozenset({ErrorCode.OPERATION_NOT_ATTEMPTED, ErrorCode.INELIGIBLE_REPLICA})
_WAITS_FOR_METADATA = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.INVALID_UPDATE_VERSION,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.NEW_LEADER_ELECTED,
    }
)
