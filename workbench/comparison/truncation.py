"""Where a follower truncates its log: the rules of both sides, as functions on epochs and offsets.

The leader compares the epoch of the follower's last record with its own epochs
(`fetch_response`); the follower truncates to what both have (`offset_truncation_state`), fetches
again, and so on until the leader sends records. A fetch below or above the leader's log has its own
rule (`fetch_offset_and_truncate`). `become_follower` repeats them to the end.

Kafka: Partition.readRecords, AbstractFetcherThread, LeaderEpochFileCache.endOffsetFor (4.2)
"""

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from workbench.files.leader_epochs import (
    EpochEntry,
    LeaderEpochs,
    cut_end,
    cut_start,
    with_entry,
)

Outcome = Literal["records", "diverging", "out of range"]


class EpochEndOffset(NamedTuple):
    """The largest epoch of a leader up to the requested one, and its end offset (exclusive)."""

    leader_epoch: int
    end_offset: int


class OffsetTruncationState(NamedTuple):
    """Where a follower truncates, and whether that settles it; otherwise it asks again.

    Kafka: OffsetTruncationState (4.2)
    """

    offset: int
    truncation_completed: bool


class OutOfRange(NamedTuple):
    """What a follower does after OFFSET_OUT_OF_RANGE.

    Attributes:
        offset: where it truncates its log, or starts it.
        is_full: whether it drops the whole log and starts at ``offset``.
        fetch_offset: where it fetches next.
    """

    offset: int
    is_full: bool
    fetch_offset: int


class FetchResponse(NamedTuple):
    """What a leader answers to a follower's fetch.

    Attributes:
        outcome: "records" (perhaps none yet), "diverging" or "out of range".
        diverging_epoch: None unless the outcome is "diverging".
    """

    outcome: Outcome
    diverging_epoch: EpochEndOffset | None = None


@dataclass(frozen=True, slots=True)
class LogState:
    """What the rules need to know of a log.

    Attributes:
        epochs: its leader epoch cache, ascending.
        log_start_offset: first offset.
        log_end_offset: offset of the next record.
        high_watermark: where a log without epochs is truncated.
    """

    epochs: tuple[EpochEntry, ...]
    log_start_offset: int
    log_end_offset: int
    high_watermark: int

    @property
    def latest_epoch(self) -> int | None:
        """The newest epoch of the cache; None without any."""
        return self.epochs[-1].epoch if self.epochs else None

    def end_offset_for(self, epoch: int) -> EpochEndOffset | None:
        """Return the largest epoch up to ``epoch`` and its end; None if it is unknown.

        Kafka: LeaderEpochFileCache.endOffsetFor (4.2)
        """
        found = LeaderEpochs(self.epochs).end_offset_for(epoch, self.log_end_offset)
        return None if found is None else EpochEndOffset(*found)

    def as_leader(self, epoch: int) -> "LogState":
        """Return the log after its broker became the leader in an epoch, before it appends.

        Kafka: Partition.makeLeader (4.2)
        """
        entry = EpochEntry(epoch, self.log_end_offset)
        return replace(self, epochs=with_entry(self.epochs, entry))

    def truncate_to(self, offset: int) -> "LogState":
        """Return the log without the records at or after an offset.

        Kafka: UnifiedLog.truncateTo (4.2)
        """
        end = min(offset, self.log_end_offset)
        return LogState(
            cut_end(self.epochs, end),
            min(self.log_start_offset, end),
            end,
            min(self.high_watermark, end),
        )

    def truncate_fully_and_start_at(self, offset: int) -> "LogState":
        """Return an empty log that begins at an offset.

        Kafka: UnifiedLog.truncateFullyAndStartAt (4.2)
        """
        return LogState((), offset, offset, offset)

    def start_at(self, offset: int) -> "LogState":
        """Return the log without the records before an offset.

        Kafka: UnifiedLog.maybeIncrementLogStartOffset (4.2)
        """
        return replace(self, epochs=cut_start(self.epochs, offset), log_start_offset=offset)


def fetch_response(
    leader: LogState, fetch_offset: int, last_fetched_epoch: int | None
) -> FetchResponse:
    """Return what a leader answers to a follower that fetches from an offset.

    Args:
        leader: the leader's log.
        fetch_offset: the follower's log end offset.
        last_fetched_epoch: newest epoch of the follower's cache; None: the leader does not compare
            epochs.

    Kafka: Partition.readRecords, UnifiedLog.read (4.2)
    """
    if last_fetched_epoch is not None:
        found = leader.end_offset_for(last_fetched_epoch)
        if found is None or fetch_offset < leader.log_start_offset:
            return FetchResponse("out of range")
        if found.leader_epoch < last_fetched_epoch or found.end_offset < fetch_offset:
            return FetchResponse("diverging", found)
    if not leader.log_start_offset <= fetch_offset <= leader.log_end_offset:
        return FetchResponse("out of range")
    return FetchResponse("records")


def offset_truncation_state(
    follower: LogState, leader: EpochEndOffset | None, fetch_offset: int
) -> OffsetTruncationState:
    """Return where a follower truncates after a leader named an epoch and its end.

    Args:
        follower: the follower's log.
        leader: the leader's answer; its epoch is -1 before 2.0; None: the epoch is unknown to it.
        fetch_offset: the offset that the follower began with, its high watermark.

    Kafka: AbstractFetcherThread.getOffsetTruncationState (4.2)
    """
    log_end = follower.log_end_offset
    if leader is None:
        return OffsetTruncationState(fetch_offset, truncation_completed=True)
    own = None if leader.leader_epoch < 0 else follower.end_offset_for(leader.leader_epoch)
    if own is None:
        return OffsetTruncationState(min(leader.end_offset, log_end), truncation_completed=True)
    if own.leader_epoch != leader.leader_epoch:
        # The follower lacks the leader's epoch: what it has after its epoch before is not the
        # leader's, and it must ask with that one.
        return OffsetTruncationState(min(own.end_offset, log_end), truncation_completed=False)
    end = min(own.end_offset, leader.end_offset, log_end)
    return OffsetTruncationState(end, truncation_completed=True)


def fetch_offset_and_truncate(follower: LogState, leader: LogState) -> OutOfRange:
    """Return what a follower does after OFFSET_OUT_OF_RANGE.

    Kafka: AbstractFetcherThread.fetchOffsetAndTruncate (4.2)
    """
    log_end = follower.log_end_offset
    if leader.log_end_offset < log_end:
        return OutOfRange(leader.log_end_offset, is_full=False, fetch_offset=leader.log_end_offset)
    start = leader.log_start_offset
    if start > log_end:
        return OutOfRange(start, is_full=True, fetch_offset=start)
    return OutOfRange(log_end, is_full=False, fetch_offset=log_end)


@dataclass(frozen=True, slots=True)
class FetchRound:
    """One fetch of a follower, and what followed from the answer.

    Attributes:
        fetch_offset: the follower's log end offset.
        last_fetched_epoch: the newest epoch of its cache; None without any.
        outcome: what the leader answered; "no epochs" if the follower did not ask.
        diverging_epoch: the leader's epoch and its end, if it answered "diverging".
        truncated_to: the follower's log end offset afterwards.
        is_full: whether the follower dropped its whole log.
    """

    fetch_offset: int
    last_fetched_epoch: int | None
    outcome: Outcome | Literal["no epochs"]
    diverging_epoch: EpochEndOffset | None
    truncated_to: int
    is_full: bool = False

    def __str__(self) -> str:
        epoch = (
            "no epoch" if self.last_fetched_epoch is None else f"epoch {self.last_fetched_epoch}"
        )
        if self.outcome == "no epochs":
            return f"no epochs: truncate to the high watermark {self.truncated_to}"
        text = f"fetch({self.fetch_offset}, {epoch}) → {self.outcome}"
        if self.diverging_epoch is not None:
            text += f": epoch {self.diverging_epoch[0]} ends at {self.diverging_epoch[1]}"
        if self.is_full:
            return f"{text}: drop the log, start at {self.truncated_to}"
        if self.truncated_to < self.fetch_offset:
            return f"{text}: truncate to {self.truncated_to}"
        return text


@dataclass(frozen=True, slots=True)
class Truncation:
    """How a follower's log comes to be the beginning of a leader's.

    Attributes:
        before: the follower's log.
        after: the log when the leader sends records.
        rounds: the fetches until then, at least one.
    """

    before: LogState
    after: LogState
    rounds: tuple[FetchRound, ...]

    @property
    def offset(self) -> int:
        """The follower's log end offset afterwards."""
        return self.after.log_end_offset

    @property
    def removes(self) -> int:
        """How many offsets the follower loses at its end."""
        before, kept = self.before, min(self.offset, self.before.log_end_offset)
        if self.rounds and any(each.is_full for each in self.rounds):
            kept = before.log_start_offset
        return before.log_end_offset - max(kept, before.log_start_offset)


def become_follower(follower: LogState, leader: LogState) -> Truncation:
    """Return how a follower truncates, fetch by fetch, until the leader sends it records.

    A follower without epochs truncates to its high watermark first and is not checked afterwards.

    Args:
        follower: the log of a broker that has just become a follower.
        leader: the log of the leader, which has the entry of its new epoch (`LogState.as_leader`).

    Kafka: ReplicaManager.initialFetchOffset, AbstractFetcherThread.doWork (4.2)
    """
    state, rounds = follower, []
    if state.latest_epoch is None and state.high_watermark < state.log_end_offset:
        end = state.log_end_offset
        state = state.truncate_to(max(state.high_watermark, state.log_start_offset))
        rounds.append(FetchRound(end, None, "no epochs", None, state.log_end_offset))
    while True:
        before = state
        response = fetch_response(leader, before.log_end_offset, before.latest_epoch)
        is_full = False
        if response.outcome == "diverging":
            high = before.high_watermark
            found = offset_truncation_state(before, response.diverging_epoch, high)
            state = before.truncate_to(found.offset)
        elif response.outcome == "out of range":
            change = fetch_offset_and_truncate(before, leader)
            is_full = change.is_full
            state = (
                before.truncate_fully_and_start_at(change.offset)
                if is_full
                else before.truncate_to(change.offset)
            )
        rounds.append(
            FetchRound(
                before.log_end_offset,
                before.latest_epoch,
                response.outcome,
                response.diverging_epoch,
                state.log_end_offset,
                is_full,
            )
        )
        if response.outcome == "records" or state == before:
            return Truncation(follower, state, tuple(rounds))
