"""Groups, their members and their committed offsets."""

from typing import Annotated, NamedTuple

from workbench.tables.columns import (
    AdminState,
    HighWatermark,
    Int32,
    PartitionNumber,
    Reason,
    Time,
    Topic,
    TopicId,
)

Group = Annotated[str, "the group's id"]
GroupKind = Annotated[str, "classic, simple, consumer, share or streams"]
Log = Annotated[str, "the partition of the coordinator's topic, as __consumer_offsets-12"]
LogPartition = Annotated[Int32, "the partition of the coordinator's topic that holds the record"]
LogOffset = Annotated[int | None, "null: the directories do not have the log"]
_Assignor = Annotated[str | None, "the assignor"]
_AssignmentEpoch = Annotated[Int32 | None, "of the target assignment; null: a classic group"]
_Leader = Annotated[str | None, "member id of the leader of a classic group"]
_MemberId = Annotated[str, "the member's id"]
_OfOwnRecord = Annotated[str | None, "null: the log does not have the member's own record"]
_MemberEpoch = Annotated[Int32 | None, "the epoch it has reached; null: a classic group"]
_MemberState = Annotated[str | None, "the progress of its assignment; null: a classic group"]
_MemberTimeout = Annotated[Int32 | None, "null: the record has none"]
_Target = Annotated[list[str] | None, "its target assignment; null: a classic group"]
Committed = Annotated[int | None, "the committed offset; null: assigned, and nothing is committed"]
_ConsumedEpoch = Annotated[Int32 | None, "the leader epoch of the last consumed record"]
_Metadata = Annotated[str | None, "what the client stored with the offset"]
_CommitTime = Annotated[Time | None, "when it was committed, as the commit says"]
CommitTime = Annotated[Time, "when it was committed"]
_ExpiresAt = Annotated[Time | None, "when it expires; null: never while the group is unchanged"]
Lag = Annotated[int | None, "log end offset, minus the committed offset"]
_Event = Annotated[str, "what happened"]


class GroupRow(NamedTuple):
    """A group as a restarted broker has it: one row per group of every kind."""

    group: Group
    kind: GroupKind
    state: AdminState
    protocol_type: Annotated[str, "consumer, or another protocol of the members"]
    protocol: _Assignor
    generation: Annotated[Int32, "the epoch if the group is not classic"]
    assignment_epoch: _AssignmentEpoch
    leader: _Leader
    members: Annotated[Int32, "how many members the newest record names"]
    offsets: Annotated[Int32, "how many offsets are committed, without pending ones"]
    pending_offsets: Annotated[Int32, "how many commits wait for the end of their transaction"]
    state_time: Annotated[Time | None, "when the generation formed, or the group became empty"]
    last_commit_time: Annotated[Time | None, "of the newest commit that is in force"]
    log_partition: LogPartition
    record_offset: Annotated[int | None, "of the newest record; null: only commits name the group"]
    unserved: Annotated[str | None, "why a restarted broker does not load it; null: it does"]


class MemberRow(NamedTuple):
    """A member of a group of any kind, as the newest records describe it: one row per member."""

    group: Group
    kind: GroupKind
    member_id: _MemberId
    group_instance_id: Annotated[str | None, "the id of a static member"]
    rack_id: Annotated[str | None, "the rack that the client names"]
    client_id: _OfOwnRecord
    client_host: _OfOwnRecord
    epoch: _MemberEpoch
    state: _MemberState
    is_leader: Annotated[bool, "whether it leads a classic group"]
    session_timeout_ms: _MemberTimeout
    rebalance_timeout_ms: _MemberTimeout
    subscription: Annotated[
        list[str] | None, "topics, or the regular expression; null: its bytes cannot be read"
    ]
    assignment: Annotated[
        list[str] | None, "partitions as orders-0, or tasks as 0_1; null: cannot be read"
    ]
    target: _Target
    revoking: Annotated[
        list[str] | None, "what it must give up before the next epoch; null: a classic group"
    ]


class CommittedOffsetRow(NamedTuple):
    """A committed offset beside the log it is for: one row per group and partition."""

    group: Group
    topic: Topic
    partition: PartitionNumber
    offset: Committed
    leader_epoch: _ConsumedEpoch
    metadata: _Metadata
    commit_time: _CommitTime
    expires_at: _ExpiresAt
    expiry_rule: Annotated[str | None, "the rule that decides when it expires"]
    log_start_offset: LogOffset
    log_end_offset: LogOffset
    high_watermark: HighWatermark
    lag: Lag
    state: Annotated[
        str | None,
        "in the log, beyond the end, below the start, topic gone or recreated; null: unknown",
    ]
    reason: Annotated[str, "why the state is so, or unknown"]
    producer_id: Annotated[int | None, "of the open transaction that committed it"]
    topic_id: Annotated[str | None, "the topic's id in the commit"]
    log_partition: LogPartition
    record_offset: Annotated[int | None, "of the commit in that partition"]
    unserved: Annotated[str | None, "why a restarted broker does not return it; null: it does"]


class OffsetFateRow(NamedTuple):
    """What the clean-up of expired offsets does with a committed offset: one row per offset."""

    group: Group
    topic: Topic
    partition: PartitionNumber
    offset: Annotated[int, "the committed offset"]
    commit_time: CommitTime
    expires_at: _ExpiresAt
    rule: Annotated[str, "the rule that decides"]
    is_gone: Annotated[bool, "whether it is removed at the given time"]
    removes_group: Annotated[bool, "whether nothing is left of the group, so that it is removed"]
    reason: Reason

    @property
    def name(self) -> str:
        """The partition, as its directory is named."""
        return f"{self.topic}-{self.partition}"


class CommitRow(NamedTuple):
    """A record about a committed offset: one row per commit or tombstone in the log."""

    log: Log
    log_offset: Annotated[int, "the record's offset there"]
    time: Annotated[Time | None, "the record's timestamp"]
    group: Group
    topic: Topic
    partition: PartitionNumber
    offset: Annotated[int | None, "the committed offset; null: a tombstone"]
    leader_epoch: _ConsumedEpoch
    metadata: _Metadata
    commit_time: _CommitTime
    expire_time: Annotated[Time | None, "when it expires, if the commit itself says so"]
    producer_id: Annotated[int | None, "of a transactional commit"]
    fate: Annotated[str, "what happened to the commit"]
    ended_at: Annotated[int | None, "offset of the record that decided its fate; null: undecided"]
    log_end_offset: Annotated[int | None, "of the partition at commit_time; null: unknown"]
    lag: Annotated[int | None, "at commit_time; null: unknown, or not asked for"]
    lag_reason: Annotated[str | None, "why it is unknown, or its base; null: LogAppendTime"]


class MemberChange(NamedTuple):
    """A member whose assignment or progress a rebalance changed, as it is afterwards."""

    member_id: _MemberId
    epoch: _MemberEpoch
    state: _MemberState
    assignment: Annotated[list[str] | None, "partitions or tasks; null: cannot be read"]
    target: _Target
    revoking: Annotated[list[str] | None, "what it must give up; null: a classic group"]


class RebalanceRow(NamedTuple):
    """A change of a group's generation, epoch, members or assignment: one row per change."""

    log: Log
    log_offset: Annotated[int, "offset of its first record there"]
    last_offset: Annotated[int, "offset of its last record there"]
    time: Annotated[Time | None, "timestamp of these records"]
    group: Group
    kind: GroupKind
    event: _Event
    state: Annotated[
        str | None, "of the group afterwards; null: compaction removed earlier records of it"
    ]
    generation: Annotated[Int32 | None, "afterwards; the epoch if the group is not classic"]
    previous_generation: Annotated[Int32 | None, "before; null: unknown, or the group is new"]
    assignment_epoch: _AssignmentEpoch
    protocol: _Assignor
    leader: _Leader
    members: Annotated[Int32 | None, "how many it has afterwards; null: unknown"]
    joined: Annotated[list[str] | None, "ids of new members; null: unknown"]
    left: Annotated[list[str] | None, "ids of members that left; null: unknown"]
    changes: Annotated[list[MemberChange], "members whose assignment or progress changed"]
    reason: Annotated[str | None, "why; null: the log does not show it"]


class DeliveryRange(NamedTuple):
    """Records of a share group with one delivery state."""

    first_offset: Annotated[int, "the first of the offsets"]
    last_offset: Annotated[int, "the last of the offsets, inclusive"]
    state: Annotated[str, "available, acquired, acknowledged, archiving or archived"]
    delivery_count: Annotated[Int32, "how often the records were delivered"]


class ShareRow(NamedTuple):
    """What a share group has delivered of a partition: one row per share-partition."""

    group: Group
    topic: Topic
    partition: PartitionNumber
    topic_id: TopicId
    start_offset: Annotated[int | None, "all below it are delivered; null: not read yet"]
    end_offset: Annotated[int | None, "where the next records are fetched"]
    leader_epoch: Annotated[Int32, "of the partition when the state was written"]
    state_epoch: Annotated[Int32, "counts initializations and resets of the start offset"]
    delivery_complete_count: Annotated[
        Int32 | None, "records from the start offset on that are acknowledged or archived"
    ]
    states: Annotated[tuple[DeliveryRange, ...], "delivery states from the start offset on"]
    log: Annotated[str, "the partition of __share_group_state with the newest record"]
    record_offset: Annotated[int, "of that record"]
    log_start_offset: LogOffset
    log_end_offset: LogOffset
    lag: Annotated[int | None, "records that are left to deliver; null: unknown"]
    in_flight: Annotated[int, "end offset less start offset"]
    available: Annotated[int, "how many of these are to be delivered again"]
    acknowledged: Annotated[int, "how many of these are acknowledged"]
    archived: Annotated[int, "how many of these are archived"]
    last_delivery: Annotated[int, "how many of the available have one delivery left"]


class DeliveryRow(NamedTuple):
    """What became of records of a share group: one row per change of a range of offsets."""

    group: Group
    topic: Topic
    partition: PartitionNumber
    time: Annotated[Time | None, "timestamp of the record that says so"]
    event: _Event
    first_offset: Annotated[int | None, "the first of the offsets; null: all, or not known"]
    last_offset: Annotated[int | None, "the last of the offsets, inclusive; null: no range"]
    delivery_count: Annotated[Int32 | None, "how often the records were delivered by then"]
    deliveries_left: Annotated[Int32 | None, "of released records; null: of others"]
    log: Annotated[str, "the partition of __share_group_state"]
    record_offset: Annotated[int, "offset of the record there"]


class MirrorCheckpointRow(NamedTuple):
    """Where a group of another cluster goes on here: one row per checkpoint of MirrorMaker 2."""

    group: Group
    source: Annotated[str, "the alias of the cluster that is mirrored"]
    topic: Annotated[str, "the topic here"]
    partition: PartitionNumber
    upstream_offset: Annotated[int, "the offset that the group has committed there"]
    offset: Annotated[int, "the offset of the same record here"]
    metadata: Annotated[str, "what the client stored with the offset there"]
    log_end_offset: LogOffset
    lag: Annotated[int | None, "log end offset here, minus the offset"]
    time: Annotated[Time | None, "timestamp of the checkpoint"]
    log: Annotated[str, "the partition of the checkpoints"]
    record_offset: Annotated[int, "of the checkpoint there"]
