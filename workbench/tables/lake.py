"""What a run loaded into a table of a lake."""

from typing import Annotated, NamedTuple

from workbench.tables.columns import PartitionNumber, Topic
from workbench.tables.offsets import AbortedRecords, ControlRecords


class LoadedRow(NamedTuple):
    """What became of the offsets of a partition: one row per partition.

    ``log_end_offset`` is the sum of the numbers from ``before`` to ``waiting``.
    """

    topic: Topic
    partition: PartitionNumber
    before: Annotated[int, "offsets below this one were dealt with by earlier runs"]
    records: Annotated[int, "records that this run added to the table"]
    superseded: Annotated[int, "upsert: records older than another of their key, or without a key"]
    tombstones: Annotated[int, "upsert: records that delete the row of their key"]
    undecoded: Annotated[
        int, "upsert: newest records of their key whose value cannot be decoded: they are refused"
    ]
    aborted: AbortedRecords
    control: ControlRecords
    compacted: Annotated[int, "offsets that compaction removed"]
    deleted: Annotated[int, "offsets below the log start offset: deleted before they were loaded"]
    damaged: Annotated[int, "offsets in bytes that cannot be read"]
    unread: Annotated[int, "offsets in a remote tier or in files that were not opened"]
    missing: Annotated[int, "offsets in no batch, which nothing explains"]
    waiting: Annotated[int, "offsets from the last stable offset on, for a later run"]
    log_end_offset: Annotated[int, "the offset that the next record would get"]
    rescued: Annotated[int, "of the records: those with something in the column _rescued"]
    table: Annotated[str, "the table"]
    replica: Annotated[str, "the directory that was read: the replica that is ahead"]
