"""What replicas ask each other and the controller, as values.

Kafka: FetchRequest, FetchResponse, OffsetsForLeaderEpoch, AlterPartition, LeaderAndIsr (4.2)
"""

from typing import Any, Final, NamedTuple

from workbench.log.append.append_info import LogAppendInfo
from workbench.runtime.error_codes import ErrorCode

NO_LEADER: Final = -1
UNDEFINED_EPOCH: Final = -1
UNDEFINED_EPOCH_OFFSET: Final = -1
CONSUMER: Final = -1
"""The replica id of a consumer's fetch."""


class EpochEndOffset(NamedTuple):
    """The end of a leader epoch.

    Attributes:
        epoch: the largest epoch up to the requested one; -1: none, or a leader before 2.0 that
            does not return it.
        end_offset: its end, exclusive; -1: undefined.

    Kafka: EpochEndOffset (4.2)
    """

    epoch: int
    end_offset: int

    @property
    def is_undefined(self) -> bool:
        """Whether the leader does not know the epoch."""
        return self.end_offset == UNDEFINED_EPOCH_OFFSET

    def diverges_from(self, last_fetched_epoch: int, fetch_offset: int) -> bool:
        """Return whether a follower that fetches from an offset has records that are not here.

        Args:
            last_fetched_epoch: the epoch of its last record, whose end this is.
            fetch_offset: its log end offset.

        Kafka: Partition.readRecords, DelayedFetch.tryComplete (4.2)
        """
        return self.epoch < last_fetched_epoch or self.end_offset < fetch_offset


UNDEFINED: Final = EpochEndOffset(UNDEFINED_EPOCH, UNDEFINED_EPOCH_OFFSET)


class LeaderAndIsr(NamedTuple):
    """What the controller says of a partition.

    Attributes:
        leader: broker id; -1: there is no leader.
        leader_epoch: rises with each election.
        isr: the in-sync replicas, in the order of the assignment.
        partition_epoch: rises with each change; "zkVersion" before 3.3.
        replicas: the assigned brokers, the preferred leader first.
        elr: replicas that left the ISR below its minimum and have all committed records.
        last_known_elr: the last leader of a partition with neither ISR nor ELR.
        is_recovering: the leader came from an unclean election and has not reported since.

    Kafka: LeaderAndIsr, PartitionRegistration (4.2)
    """

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    partition_epoch: int
    replicas: tuple[int, ...]
    elr: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()
    is_recovering: bool = False


class FetchPartition(NamedTuple):
    """One partition of a fetch request.

    Attributes:
        fetch_offset: the first offset wanted.
        log_start_offset: the follower's; -1 for a consumer.
        max_bytes: most bytes of this partition.
        current_leader_epoch: the epoch that the sender knows; None: not sent (before 2.1).
        last_fetched_epoch: the epoch of its last record; None: not sent (before 2.7, empty log).

    Kafka: FetchRequest.PartitionData (4.2)
    """

    fetch_offset: int
    log_start_offset: int = -1
    max_bytes: int = 1 << 20
    current_leader_epoch: int | None = None
    last_fetched_epoch: int | None = None


class FetchParams(NamedTuple):
    """What a fetch request says for all its partitions.

    Attributes:
        replica_id: the follower's broker id; -1: a consumer.
        replica_epoch: the follower's broker epoch; -1: not sent.
        max_wait_ms: time to wait for ``min_bytes``.
        min_bytes: fewest bytes to answer before the time is over.
        max_bytes: most bytes of the response.
        isolation: how far to read; followers read to the log end.
        from_any_replica: whether a consumer may read from a follower (KIP-392, 2.4).

    Kafka: FetchParams (4.2)
    """

    replica_id: int = CONSUMER
    replica_epoch: int = -1
    max_wait_ms: int = 500
    min_bytes: int = 1
    max_bytes: int = 10 << 20
    isolation: Any = "high_watermark"
    from_any_replica: bool = False

    @property
    def is_from_follower(self) -> bool:
        """Whether a replica asks."""
        return self.replica_id >= 0

    @property
    def only_from_leader(self) -> bool:
        """Whether only the leader may answer."""
        return self.is_from_follower or not self.from_any_replica

    @property
    def reads_to(self) -> Any:
        """How far to read: to the log end for a replica."""
        return "log_end" if self.is_from_follower else self.isolation


class FetchPartitionData(NamedTuple):
    """The answer about one partition.

    Attributes:
        error: NONE, or why there are no records.
        high_watermark: the leader's when it read; -1 with an error.
        log_start_offset: the leader's; -1 with an error.
        records: the batches; None if there are none.
        size: their bytes.
        diverging_epoch: where the leader's log parts from the follower's; None: it does not.
        last_stable_offset: the leader's; None for replicas.
        aborted_transactions: those that a read_committed consumer must skip.

    Kafka: FetchPartitionData (4.2)
    """

    error: ErrorCode = ErrorCode.NONE
    high_watermark: int = -1
    log_start_offset: int = -1
    records: Any = None
    size: int = 0
    diverging_epoch: EpochEndOffset | None = None
    last_stable_offset: int | None = None
    aborted_transactions: tuple[Any, ...] | None = None


class ProduceResponse(NamedTuple):
    """The answer to an append of one partition.

    Attributes:
        error: NONE, or why it failed.
        info: where the records are; None with an error before the append.
        log_start_offset: the log's; -1 with an error.

    Kafka: ProduceResponse.PartitionResponse (4.2)
    """

    error: ErrorCode
    info: LogAppendInfo | None = None
    log_start_offset: int = -1

    @property
    def base_offset(self) -> int:
        """Offset of the first record; -1 with an error."""
        return -1 if self.info is None else self.info.first_offset


class AlterPartition(NamedTuple):
    """A leader's request to change its ISR.

    Attributes:
        broker: the leader.
        leader_epoch: the leader's.
        partition_epoch: the one that the change builds on.
        new_isr: the wanted ISR.
        is_recovering: whether the leader still recovers from an unclean election.
        broker_epochs: of the members of the ISR, in the same order; -1: unknown.

    Kafka: AlterPartitionRequest (4.2)
    """

    broker: int
    leader_epoch: int
    partition_epoch: int
    new_isr: tuple[int, ...]
    is_recovering: bool = False
    broker_epochs: tuple[int, ...] = ()
