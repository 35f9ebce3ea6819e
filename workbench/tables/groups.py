"""Groups, their members and their committed offsets."""

from typing import Annotated, NamedTuple

from workbench.tables.columns import Int32, PartitionNumber, Time, Topic

Group = Annotated[str, "the group's id"]
GroupKind = Annotated[str, "classic, simple, consumer, share or streams"]
LogPartition = Annotated[Int32, "the partition of the coordinator's topic that holds the record"]


class GroupRow(NamedTuple):
    """A group as a restarted broker has it: one row per group of every kind."""

    group: Group
    kind: GroupKind
    state: Annotated[str, "as an admin client names it"]
    protocol_type: Annotated[str, "consumer, or another protocol of the members"]
    protocol: Annotated[str | None, "the assignor"]
    generation: Annotated[Int32, "the epoch if the group is not classic"]
    assignment_epoch: Annotated[Int32 | None, "of the target assignment; null: a classic group"]
    leader: Annotated[str | None, "member id of the leader of a classic group"]
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
    member_id: Annotated[str, "the member's id"]
    group_instance_id: Annotated[str | None, "the id of a static member"]
    rack_id: Annotated[str | None, "the rack that the client names"]
    client_id: Annotated[str | None, "null: the log does not have the member's own record"]
    client_host: Annotated[str | None, "null: the log does not have the member's own record"]
    epoch: Annotated[Int32 | None, "the epoch it has reached; null: a classic group"]
    state: Annotated[str | None, "the progress of its assignment; null: a classic group"]
    is_leader: Annotated[bool, "whether it leads a classic group"]
    session_timeout_ms: Annotated[Int32 | None, "null: the record has none"]
    rebalance_timeout_ms: Annotated[Int32 | None, "null: the record has none"]
    subscription: Annotated[
        list[str] | None, "topics, or the regular expression; null: its bytes cannot be read"
    ]
    assignment: Annotated[
        list[str] | None, "partitions as orders-0, or tasks as 0_1; null: cannot be read"
    ]
    target: Annotated[list[str] | None, "its target assignment; null: a classic group"]
    revoking: Annotated[
        list[str] | None, "what it must give up before the next epoch; null: a classic group"
    ]


class CommittedOffsetRow(NamedTuple):
    """A committed offset beside the log it is for: one row per group and partition."""

    group: Group
    topic: Topic
    partition: PartitionNumber
    offset: Annotated[int, "the committed offset"]
    leader_epoch: Annotated[Int32 | None, "the leader epoch of the last consumed record"]
    metadata: Annotated[str, "what the client stored with the offset"]
    commit_time: Annotated[Time, "when it was committed, as the commit says"]
    expires_at: Annotated[Time | None, "when it expires; null: never while the group is unchanged"]
    expiry_rule: Annotated[str | None, "the rule that decides when it expires"]
    log_start_offset: Annotated[int | None, "null: the directories do not have the log"]
    log_end_offset: Annotated[int | None, "null: the directories do not have the log"]
    high_watermark: Annotated[int | None, "as checkpointed"]
    lag: Annotated[int | None, "log end offset, minus the committed offset"]
    state: Annotated[
        str | None,
        "fine, beyond the end, below the start, topic gone or recreated; null: unknown",
    ]
    reason: Annotated[str, "why the state is so, or unknown"]
    producer_id: Annotated[int | None, "of the open transaction that committed it"]
    topic_id: Annotated[str | None, "the topic's id in the commit"]
    log_partition: LogPartition
    record_offset: Annotated[int, "of the commit in that partition"]
    unserved: Annotated[str | None, "why a restarted broker does not return it; null: it does"]
