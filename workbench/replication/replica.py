"""What a leader knows of one follower.

Kafka: Replica, ReplicaState (4.2)
"""

from typing import Final, NamedTuple

from workbench.log.fetch import LogOffsetMetadata

UNKNOWN: Final = LogOffsetMetadata(-1)


class ReplicaState(NamedTuple):
    """What a leader knows of a follower at one moment.

    Attributes:
        log_end: the follower's log end offset: that of its last fetch; offset -1: not known.
        log_start_offset: the follower's; -1: not known.
        last_fetch_leader_log_end_offset: the leader's log end offset at the last fetch.
        last_fetch_time_ms: time of the last fetch.
        last_caught_up_time_ms: the last time the follower had all records of the leader.
        broker_epoch: the follower's, from its last fetch; -1: not sent.

    Kafka: ReplicaState (4.2)
    """

    log_end: LogOffsetMetadata = UNKNOWN
    log_start_offset: int = -1
    last_fetch_leader_log_end_offset: int = 0
    last_fetch_time_ms: int = 0
    last_caught_up_time_ms: int = 0
    broker_epoch: int = -1

    @property
    def log_end_offset(self) -> int:
        """The follower's log end offset; -1: not known."""
        return self.log_end.offset

    def is_caught_up(
        self,
        leader_end_offset: int,
        now_ms: int,
        lag_time_max_ms: int,
        *,
        keeps_at_end: bool = True,
    ) -> bool:
        """Return whether the follower is at the end, or was a short time ago.

        Args:
            leader_end_offset: the leader's log end offset.
            now_ms: the time.
            lag_time_max_ms: `replica.lag.time.max.ms`.
            keeps_at_end: whether being at the end is enough; only since 2.1.

        Kafka: ReplicaState.isCaughtUp (4.2)
        """
        if keeps_at_end and self.log_end.offset == leader_end_offset:
            return True
        return now_ms - self.last_caught_up_time_ms <= lag_time_max_ms

    def after_fetch(
        self,
        fetched: LogOffsetMetadata,
        log_start_offset: int,
        now_ms: int,
        leader_end_offset: int,
        broker_epoch: int = -1,
    ) -> "ReplicaState":
        """Return the state after a fetch from ``fetched`` while the leader ended at an offset.

        A follower that always reaches the end of its previous fetch counts as caught up, even if
        producers are faster than one fetch.

        Kafka: Replica.updateFetchStateOrThrow (4.2)
        """
        if fetched.offset >= leader_end_offset:
            caught_up = max(self.last_caught_up_time_ms, now_ms)
        elif fetched.offset >= self.last_fetch_leader_log_end_offset:
            caught_up = max(self.last_caught_up_time_ms, self.last_fetch_time_ms)
        else:
            caught_up = self.last_caught_up_time_ms
        return ReplicaState(
            fetched,
            log_start_offset,
            max(leader_end_offset, self.last_fetch_leader_log_end_offset),
            now_ms,
            caught_up,
            broker_epoch,
        )

    def reset(
        self,
        now_ms: int,
        leader_end_offset: int,
        *,
        is_new_leader: bool,
        is_in_sync: bool,
    ) -> "ReplicaState":
        """Return the state at the beginning of a leader epoch.

        Args:
            now_ms: the time.
            leader_end_offset: the leader's log end offset.
            is_new_leader: whether this broker was not the leader before.
            is_in_sync: whether the follower is in the ISR.

        Kafka: Replica.resetReplicaState (4.2)
        """
        caught_up = now_ms if is_in_sync else 0
        if is_new_leader:
            return ReplicaState(UNKNOWN, -1, -1, 0, caught_up, -1)
        return self._replace(
            last_fetch_leader_log_end_offset=leader_end_offset,
            last_fetch_time_ms=now_ms if is_in_sync else 0,
            last_caught_up_time_ms=caught_up,
        )
