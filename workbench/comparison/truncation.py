"""Where a follower truncates its log on becoming a follower of a leader, to the end.

Since 2.8, the leader compares the epoch of the follower's last record with its own epochs
(`fetch_response`); the follower truncates to what both have, fetches again, and so on until the
leader sends records. From 0.11 to 2.7 it asks before it fetches; before 0.11 it asks nothing and
truncates to its high watermark. A fetch below or above the leader's log has its own rule
(`fetch_offset_and_truncate`). Each single rule is that of `replication.truncation`.

Kafka: Partition.readRecords, AbstractFetcherThread, ReplicaManager.makeFollowers (0.10.2 to 4.2)
"""

from dataclasses import dataclass, replace
from typing import Final, Literal, NamedTuple

from workbench.files.leader_epochs import (
    EpochEntry,
    cut_end,
    with_entry,
)
from workbench.replication.messages import UNDEFINED_EPOCH, EpochEndOffset
from workbench.replication.rules import Rules
from workbench.replication.rules import TruncationRule as Mode
from workbench.replication.truncation import end_offset_for, offset_truncation_state

Outcome = Literal["records", "diverging", "out of range"]
Asked = Outcome | Literal["epoch end", "high watermark", "no epochs"]

NEWEST: Final = Rules.of()
"""The rules of the newest version that is known."""


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
class TruncatableLog:
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

    def end_offset_for(self, epoch: int, rules: Rules = NEWEST) -> EpochEndOffset:
        """Return the largest epoch up to ``epoch`` and its end, by the rules of a version.

        Kafka: LeaderEpochFileCache.endOffsetFor (4.2)
        """
        return end_offset_for(rules, self.epochs, epoch, self.log_end_offset)

    def as_leader(self, epoch: int, rules: Rules = NEWEST) -> "TruncatableLog":
        """Return the log after its broker became the leader in an epoch, before it appends.

        Up to 2.0.0 a leader stores its epoch with its first record.

        Kafka: Partition.makeLeader (4.2)
        """
        if not rules.new_leader_assigns_epoch:
            return self
        entry = EpochEntry(epoch, self.log_end_offset)
        return replace(self, epochs=with_entry(self.epochs, entry))

    def truncate_to(self, offset: int) -> "TruncatableLog":
        """Return the log without the records at or after an offset.

        Kafka: UnifiedLog.truncateTo (4.2)
        """
        end = min(offset, self.log_end_offset)
        return TruncatableLog(
            cut_end(self.epochs, end),
            min(self.log_start_offset, end),
            end,
            min(self.high_watermark, end),
        )

    def truncate_fully_and_start_at(self, offset: int) -> "TruncatableLog":
        """Return an empty log that begins at an offset.

        Kafka: UnifiedLog.truncateFullyAndStartAt (4.2)
        """
        return TruncatableLog((), offset, offset, offset)


def fetch_response(
    leader: TruncatableLog, fetch_offset: int, last_fetched_epoch: int | None
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
        end = end_offset_for(NEWEST, leader.epochs, last_fetched_epoch, leader.log_end_offset)
        if end.is_undefined or fetch_offset < leader.log_start_offset:
            return FetchResponse("out of range")
        if end.diverges_from(last_fetched_epoch, fetch_offset):
            return FetchResponse("diverging", end)
    if not leader.log_start_offset <= fetch_offset <= leader.log_end_offset:
        return FetchResponse("out of range")
    return FetchResponse("records")


def fetch_offset_and_truncate(follower: TruncatableLog, leader: TruncatableLog) -> OutOfRange:
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
    """One question of a follower, and what followed from the answer.

    Attributes:
        fetch_offset: the follower's log end offset.
        last_fetched_epoch: the newest epoch of its cache; None without any, or if it sends none.
        outcome: what the leader answered: to a fetch "records", "diverging" or "out of range", to
            the question for the end of an epoch "epoch end". If the follower asked nothing "high
            watermark", or "no epochs" if it asks nothing only because its log has none.
        diverging_epoch: the epoch and its end, if the leader answered with one.
        truncated_to: the follower's log end offset afterwards.
        is_full: whether the follower dropped its whole log.
    """

    fetch_offset: int
    last_fetched_epoch: int | None
    outcome: Asked
    diverging_epoch: EpochEndOffset | None
    truncated_to: int
    is_full: bool = False

    def __str__(self) -> str:
        if self.outcome in {"no epochs", "high watermark"}:
            return f"{self.outcome}: truncate to the high watermark {self.truncated_to}"
        epoch = (
            "no epoch" if self.last_fetched_epoch is None else f"epoch {self.last_fetched_epoch}"
        )
        text = f"fetch({self.fetch_offset}, {epoch}) → {self.outcome}"
        if self.outcome == "epoch end":
            text = f"end of {epoch}?"
        end = self.diverging_epoch
        if end is not None and end.is_undefined:
            text += " → unknown to the leader"
        elif end is not None:
            named = "it" if end.epoch == UNDEFINED_EPOCH else f"epoch {end.epoch}"
            text += (
                f"{':' if self.outcome == 'diverging' else ' →'} {named} ends at {end.end_offset}"
            )
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
        rounds: the questions until then, at least one.
    """

    before: TruncatableLog
    after: TruncatableLog
    rounds: tuple[FetchRound, ...]

    @property
    def offset(self) -> int:
        """The follower's log end offset afterwards."""
        return self.after.log_end_offset

    @property
    def removes(self) -> int:
        """How many offsets the follower loses at its end."""
        before, kept = self.before, min(self.offset, self.before.log_end_offset)
        if any(each.is_full for each in self.rounds):
            kept = before.log_start_offset
        return before.log_end_offset - max(kept, before.log_start_offset)


def become_follower(
    follower: TruncatableLog, leader: TruncatableLog, rules: Rules = NEWEST
) -> Truncation:
    """Return how a follower truncates, question by question, until the leader sends it records.

    A follower without epochs truncates to its high watermark first and is not checked afterwards.

    Args:
        follower: the log of a broker that has just become a follower.
        leader: the log of the leader, which has the entry of its new epoch; see
            `TruncatableLog.as_leader`.
        rules: those of the version of both.

    Kafka: ReplicaManager.initialFetchOffset, AbstractFetcherThread.doWork (0.10.2 to 4.2)
    """
    state, rounds = follower, []
    asks = rules.truncation is not Mode.HIGH_WATERMARK and state.latest_epoch is not None
    if not asks and (not rules.uses_epochs or state.high_watermark < state.log_end_offset):
        end = state.log_end_offset
        state = state.truncate_to(max(state.high_watermark, state.log_start_offset))
        why: Asked = "no epochs" if rules.uses_epochs else "high watermark"
        rounds.append(FetchRound(end, None, why, None, state.log_end_offset))
    if asks and rules.truncation is not Mode.ON_FETCH:
        state = _ask_for_epochs(state, leader, rules, rounds)
    while True:
        before = state
        epoch = before.latest_epoch if rules.truncation is Mode.ON_FETCH else None
        response = fetch_response(leader, before.log_end_offset, epoch)
        is_full = False
        if response.diverging_epoch is not None:
            state, _ = _truncated(before, response.diverging_epoch, rules)
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
                epoch,
                response.outcome,
                response.diverging_epoch,
                state.log_end_offset,
                is_full,
            )
        )
        if response.outcome == "records" or state == before:
            return Truncation(follower, state, tuple(rounds))


def _ask_for_epochs(
    state: TruncatableLog, leader: TruncatableLog, rules: Rules, rounds: list[FetchRound]
) -> TruncatableLog:
    """Ask where the newest epoch ends until that is settled, as followers did from 0.11 to 2.7.

    Kafka: AbstractFetcherThread.maybeTruncate (2.7)
    """
    is_completed = False
    while not is_completed:
        before, epoch = state, state.latest_epoch
        asked = UNDEFINED_EPOCH if epoch is None else epoch
        end = leader.end_offset_for(asked, rules)
        state, is_completed = _truncated(before, end, rules)
        is_completed |= state == before
        rounds.append(
            FetchRound(before.log_end_offset, epoch, "epoch end", end, state.log_end_offset)
        )
    return state


def _truncated(
    state: TruncatableLog, end: EpochEndOffset, rules: Rules
) -> tuple[TruncatableLog, bool]:
    """Return a follower's log after a leader's answer, and whether that settles it."""
    found = offset_truncation_state(
        end,
        state.log_end_offset,
        lambda epoch: state.end_offset_for(epoch, rules),
        state.high_watermark,
    )
    return state.truncate_to(found.offset), found.is_completed
