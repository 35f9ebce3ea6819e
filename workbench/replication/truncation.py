"""Where a follower truncates: the question to the leader, its answer and what follows.

Kafka: LeaderEpochFileCache.endOffsetFor, AbstractFetcherThread.getOffsetTruncationState (0.11 to
4.2)
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from workbench.files.leader_epochs import EpochEntry, LeaderEpochs
from workbench.replication.messages import UNDEFINED, UNDEFINED_EPOCH, EpochEndOffset
from workbench.replication.rules import Rules, TruncationRule


class OffsetTruncationState(NamedTuple):
    """The outcome of one answer.

    Attributes:
        offset: where the log is truncated; the log end offset truncates nothing.
        is_completed: whether the follower can fetch; otherwise it asks again.

    Kafka: OffsetTruncationState (4.2)
    """

    offset: int
    is_completed: bool


def end_offset_for(
    rules: Rules, entries: Sequence[EpochEntry], epoch: int, log_end_offset: int
) -> EpochEndOffset:
    """Return what a leader answers to the question where an epoch ends.

    Args:
        rules: those of the leader. Before 2.0 it answers one offset without an epoch.
        entries: the leader's epochs, ascending.
        epoch: the follower's latest epoch; -1: it has none.
        log_end_offset: the leader's.

    Kafka: LeaderEpochFileCache.endOffsetFor (0.11 to 4.2)
    """
    if rules.truncation is TruncationRule.LEADER_EPOCH:
        if not entries or epoch == UNDEFINED_EPOCH or epoch < entries[0].epoch:
            return UNDEFINED
        if epoch == entries[-1].epoch:
            return EpochEndOffset(UNDEFINED_EPOCH, log_end_offset)
        later = [entry.start_offset for entry in entries if entry.epoch > epoch]
        return EpochEndOffset(UNDEFINED_EPOCH, later[0]) if later else UNDEFINED
    if not rules.answers_below_first and entries and epoch < entries[0].epoch:
        return UNDEFINED
    found = LeaderEpochs(tuple(entries)).end_offset_for(epoch, log_end_offset)
    return UNDEFINED if found is None else EpochEndOffset(*found)


def offset_truncation_state(
    answer: EpochEndOffset,
    log_end_offset: int,
    own_end_offset_for: Callable[[int], EpochEndOffset],
    initial_fetch_offset: int,
) -> OffsetTruncationState:
    """Return where a follower truncates its log after the leader's answer.

    Args:
        answer: the end of the epoch that the follower asked for.
        log_end_offset: the follower's.
        own_end_offset_for: epoch → (largest own epoch up to it, its end), as the follower itself
            would answer.
        initial_fetch_offset: the offset that the follower began with, its high watermark.

    Kafka: AbstractFetcherThread.getOffsetTruncationState (4.2)
    """
    if answer.is_undefined:
        return OffsetTruncationState(initial_fetch_offset, is_completed=True)
    if answer.epoch == UNDEFINED_EPOCH:
        return OffsetTruncationState(min(answer.end_offset, log_end_offset), is_completed=True)
    own = own_end_offset_for(answer.epoch)
    if own.is_undefined:
        return OffsetTruncationState(min(answer.end_offset, log_end_offset), is_completed=True)
    if own.epoch != answer.epoch:
        return OffsetTruncationState(min(own.end_offset, log_end_offset), is_completed=False)
    cut = min(own.end_offset, answer.end_offset, log_end_offset)
    return OffsetTruncationState(cut, is_completed=True)
