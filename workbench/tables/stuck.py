"""What makes no progress: partitions that are stuck, and groups that lag."""

from typing import Annotated, NamedTuple

from workbench.tables.columns import PartitionNumber, Time, Topic
from workbench.tables.groups import Committed, CommitTime, Group, Lag, LogOffset


class StuckRow(NamedTuple):
    """Something that holds a partition up: one row per partition, thing and holder."""

    what: Annotated[str, "not deleted, not compacted, not readable or not consumed"]
    topic: Topic
    partition: PartitionNumber
    holder: Annotated[str, "the segment, transaction or group that holds it"]
    offset: Annotated[int | None, "of the record that holds it; null: no record does"]
    time: Annotated[
        Time | None, "of that record (until the year 9999); for a group, of its last commit"
    ]
    bytes: Annotated[int, "bytes held up: not deleted, compacted, readable or consumed"]
    reason: Annotated[str, "why, with the numbers"]
    action: Annotated[str, "what to do"]


class GroupLagRow(NamedTuple):
    """How far a group is behind in a partition, judged over a window: one row per offset."""

    group: Group
    topic: Topic
    partition: PartitionNumber
    verdict: Annotated[str, "fine, advancing, falling behind, stalled, starts over or unknown"]
    offset: Committed
    commit_time: CommitTime | None
    log_end_offset: LogOffset
    lag: Lag
    lag_ms: Annotated[int | None, "age of the oldest record not consumed, ms; 0: all are"]
    lag_bytes: Annotated[int | None, "bytes of the batches that are not consumed"]
    commits: Annotated[int, "commits in the window that the log still has"]
    reason: Annotated[str, "why the verdict is so"]
