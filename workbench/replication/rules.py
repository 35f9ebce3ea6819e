"""How replication worked in each version of Kafka: where followers truncate, when the ISR changes.

Each rule is one field, so a reader sees what a version added, and one `Partition` and one
`ReplicaFetcher` run them all.

Kafka: the same methods of Partition, ReplicaManager, AbstractFetcherThread (0.10.2 to 4.2)
"""

from enum import Enum
from typing import Final, NamedTuple, Self

from workbench.errors import ConfigError

KRAFT: Final = "kraft"
"""The rules of KRaft's own log; Kafka: KafkaRaftClient (4.2)."""
_LAST: Final = 99


class TruncationRule(Enum):
    """Where a replica that becomes a follower truncates its log.

    Kafka: KIP-101 (0.11), KIP-279 (2.0), KIP-595's truncation on fetch (2.7)
    """

    HIGH_WATERMARK = "at its own high watermark, without a question to the leader"
    LEADER_EPOCH = "at the one offset that OffsetsForLeaderEpoch answers"
    LEADER_EPOCH_AND_OFFSET = "where its epochs and the leader's part, asked until they agree"
    ON_FETCH = "at the diverging epoch that a fetch answers"


class Rules(NamedTuple):
    """The rules of replication of one version.

    Attributes:
        version: the version asked for, such as `"2.8"`.
        truncation: where followers truncate.
        fences_epochs: requests carry the leader epoch, and others are refused (KIP-320, 2.1).
        new_leader_assigns_epoch: a leader stores its epoch before its first append (2.0.1).
        answers_below_first: a leader knows where an epoch before its first one ends: where its
            first one starts (2.0.1).
        joins_from_epoch_start: a follower joins the ISR only from the leader epoch's first offset
            (2.0.1).
        keeps_replicas_at_end: a replica at the leader's log end offset stays in the ISR (2.1).
        waits_for_isr_change: a change of the ISR waits for the controller (KIP-497, 2.7).
        needs_min_isr: the high watermark does not rise while the ISR is below the minimum (3.7).
        counts_eligible_only: only replicas that may join the ISR hold the high watermark back
            from outside (3.6).
        bumps_epoch_on_shrink: the controller starts a leader epoch when the ISR shrinks (before
            3.6).
        has_elr: replicas that left the ISR below its minimum can still be elected (KIP-966, 4.0).
        same_leader_skips: a follower keeps fetching without truncation if its leader stays the same
            and the leader epoch rises by at most this: any up to 2.0.0, 1 in 2.0.1, 0 since 2.1.
        hides_lagging_end: a new leader does not return its end to clients while its high watermark
            is before the offset where its epoch began (KIP-207, 2.2).
        has_quorum_controller: brokers follow the metadata log: they learn that there is no leader,
            only live brokers join an ISR (KIP-841), and the controller makes each change of an ISR
            itself (3.3; KRaft).
        tells_broker_epoch: fetches carry the follower's broker epoch (KIP-903, 3.5).
        is_quorum: the partition is KRaft's own log: a majority of the voters commits, and elects a
            leader whose log is not behind theirs; there is no ISR.
        empties_isr: the last member of an ISR leaves it, too, if unclean elections are allowed
            (before 1.1).
        notices_fast_restart: the controller notices each restart of a broker (KIP-380, 2.2).
        exits_ahead_of_leader: a follower with more offsets than its leader ends its process
            unless unclean elections are allowed (up to 2.0.0).
        has_unclean_configuration: the controller follows `unclean.leader.election.enable`; with
            KRaft up to 3.8 it makes no unclean election unless it is asked for one.
        unclean_election: the default of `unclean.leader.election.enable` (true before 0.11).
        lag_time_max_ms: the default of `replica.lag.time.max.ms`.
    """

    version: str
    truncation: TruncationRule
    fences_epochs: bool
    new_leader_assigns_epoch: bool
    answers_below_first: bool
    joins_from_epoch_start: bool
    keeps_replicas_at_end: bool
    waits_for_isr_change: bool
    needs_min_isr: bool
    counts_eligible_only: bool
    bumps_epoch_on_shrink: bool
    has_elr: bool
    same_leader_skips: int
    hides_lagging_end: bool
    has_quorum_controller: bool
    tells_broker_epoch: bool
    is_quorum: bool
    empties_isr: bool
    notices_fast_restart: bool
    exits_ahead_of_leader: bool
    has_unclean_configuration: bool
    unclean_election: bool
    lag_time_max_ms: int

    @classmethod
    def of(cls, version: str = "4.2") -> Self:
        """Return the rules of a version.

        Args:
            version: two or three numbers: `"0.10"`, `"2.0.1"`, `"1.x"`; `x` and a missing
                number mean the last of the series. `"kraft"`: the rules of `__cluster_metadata`.

        Raises:
            ConfigError: it is not a version.
        """
        if version == KRAFT:
            return cls.of()._replace(version=KRAFT, is_quorum=True)
        at = _parse(version)
        if at < (2, 7):
            truncation = (
                TruncationRule.HIGH_WATERMARK if at < (0, 11)
                else TruncationRule.LEADER_EPOCH if at < (2, 0)
                else TruncationRule.LEADER_EPOCH_AND_OFFSET
            )  # fmt: skip
        else:
            truncation = (
                TruncationRule.ON_FETCH if at >= (2, 8) else TruncationRule.LEADER_EPOCH_AND_OFFSET
            )
        return cls(
            version,
            truncation,
            fences_epochs=at >= (2, 1),
            new_leader_assigns_epoch=at >= (2, 0, 1),
            answers_below_first=at >= (2, 0, 1),
            joins_from_epoch_start=at >= (2, 0, 1),
            keeps_replicas_at_end=at >= (2, 1),
            waits_for_isr_change=at >= (2, 7),
            needs_min_isr=at >= (3, 7),
            counts_eligible_only=at >= (3, 6),
            bumps_epoch_on_shrink=at < (3, 6),
            has_elr=at >= (4, 0),
            same_leader_skips=0 if at >= (2, 1) else 1 if at >= (2, 0, 1) else _LAST,
            hides_lagging_end=at >= (2, 2),
            has_quorum_controller=at >= (3, 3),
            tells_broker_epoch=at >= (3, 5),
            is_quorum=False,
            empties_isr=at < (1, 1),
            notices_fast_restart=at >= (2, 2),
            exits_ahead_of_leader=at <= (2, 0, 0),
            has_unclean_configuration=not (3, 3) <= at < (3, 9),
            unclean_election=at < (0, 11),
            lag_time_max_ms=30_000 if at >= (2, 5) else 10_000,
        )

    @property
    def uses_epochs(self) -> bool:
        """Whether followers ask by leader epoch where to truncate."""
        return self.truncation is not TruncationRule.HIGH_WATERMARK


def _parse(version: str) -> tuple[int, ...]:
    parts = version.split(".")
    is_number = [
        part.isdecimal() or (place > 0 and part == "x") for place, part in enumerate(parts)
    ]
    if not all(is_number) or len(parts) > 4:
        raise ConfigError(
            "rules",
            f"{version!r} is not a version; expected one such as '0.10' or '2.8', or 'kraft'",
        )
    numbers = [_LAST if part == "x" else int(part) for part in parts]
    return (*numbers, *[_LAST] * (3 - len(numbers)))
