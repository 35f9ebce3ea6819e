"""What a broker would do, and what a comparison of brokers says."""

from typing import Annotated, Literal, NamedTuple

from workbench.tables.columns import (
    HighWatermark,
    Int32,
    Kind,
    PartitionNumber,
    Reason,
    Time,
    Topic,
)

Word = Literal[
    "allows",     # the rule allows cleaning, or deletion
    "demands",    # the rule requires cleaning, whatever the dirty ratio
    "limits",     # the rule limits it to a part of the log
    "blocks",     # the rule prevents it
    "unknown",    # the files do not say
    "deleted",    # retention deletes the segment
    "kept",       # retention keeps the segment, and the rule stops there
    "not asked",  # the rule stopped at an earlier segment
]  # fmt: skip
"""Of a group, "allows" is that it resumes, "limits" that it resumes elsewhere than one might think,
and "blocks" that it starts over. Of a transaction, "blocks" is that it holds back the last stable
offset, and "limits" that something is open."""

Value = Annotated[str | int | float, Kind("string")]
"""An offset, bytes, ms or a word: a text in a table, what it is in JSON."""


class RuleRow(NamedTuple):
    """The verdict of a rule on a partition, group or transaction: one row per rule and place."""

    rule: Annotated[str, "the configuration or the condition"]
    topic: Annotated[str | None, "the topic; null: the whole group or transaction"]
    partition: Annotated[Int32 | None, "number of the partition; null: the whole"]
    segment: Annotated[int | None, "base offset; null: the rule is not about one segment"]
    verdict: Annotated[
        Word,
        "of cleaning allows, demands, limits, blocks, unknown; of retention deleted, kept, not "
        "asked; of groups and transactions allows, limits, blocks, unknown",
    ]
    value: Annotated[Value | None, "what the rule looks at"]
    threshold: Annotated[Value | None, "what it is compared with"]
    reason: Reason
    due: Annotated[Time | None, "when the verdict changes at the earliest without an append"]
    kafka: Annotated[str, "class and method of Kafka 4.2"]

    @property
    def where(self) -> str | None:
        """The partition, as ``orders-0``; None: the whole group or transaction."""
        return None if self.topic is None else f"{self.topic}-{self.partition}"


class WhatIfRow(NamedTuple):
    """What a changed configuration does to a partition: one row per partition."""

    topic: Topic
    partition: PartitionNumber
    policy: Annotated[str, "cleanup.policy with the change"]
    size: Annotated[int, "bytes of the log before"]
    deleted_bytes: Annotated[int, "bytes that retention deletes"]
    compacted_bytes: Annotated[int, "bytes that compaction drops"]
    size_after: Annotated[int, "bytes afterwards"]
    size_as_configured: Annotated[int, "bytes afterwards without the change"]
    difference: Annotated[int, "bytes that the change adds"]
    is_config_known: Annotated[bool, "false: Kafka's defaults are assumed"]
    segments: Annotated[int, "segments before"]
    deleted_segments: Annotated[int, "segments that retention deletes"]
    dropped_records: Annotated[int, "records that compaction drops"]
    log_start_offset: Annotated[int, "the log start offset afterwards"]
    retention: Annotated[str, "why the first kept segment is kept; empty: none is"]
    cleaning: Annotated[str, "why the log is cleaned or not; empty: it is not compacted"]
    problem: Annotated[str, "why loading or cleaning fails; empty: it does not"]


class ReplicaRow(NamedTuple):
    """A replica in a comparison of brokers: one row per partition and broker."""

    topic: Topic
    partition: PartitionNumber
    verdict: Annotated[str, "alike, lag, damage, divergence or loss: of the partition"]
    broker: Annotated[str, "the broker, as it was named"]
    is_ahead: Annotated[bool, "whether the others are compared with this replica"]
    stop: Annotated[str, "how the broker stopped: clean, unclean, running or unknown"]
    log_start_offset: Annotated[int, "the replica's log start offset"]
    log_end_offset: Annotated[int, "the replica's log end offset"]
    last_epoch: Annotated[Int32 | None, "its last leader epoch"]
    high_watermark: HighWatermark
    restart_high_watermark: Annotated[int, "the high watermark after a restart"]
    common_end: Annotated[int, "up to where it equals the replica ahead, exclusive"]
    truncates_to: Annotated[int | None, "as a follower of the one ahead; null: it is ahead"]
    lost_as_leader: Annotated[int, "how many committed offsets are lost if it leads"]
    divergence_offset: Annotated[int | None, "where replicas of the partition differ first"]
    committed_at_least: Annotated[int, "everything below was committed"]
    committed_at_most: Annotated[int, "nothing from here on was committed"]
