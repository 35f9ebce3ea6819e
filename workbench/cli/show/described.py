"""The objects that `describe --json` prints, as classes like those of tables: help lists them."""

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

from workbench.tables.columns import Int32, Kind, Time
from workbench.tables.directories import NotRead
from workbench.tables.segments import (
    BaseOffset,
    DirectoryName,
    IsActive,
    Modified,
    RemoteSegmentRow,
)

Numbers = Annotated[dict[str, int], Kind("struct")]
Objects = Annotated[list[dict[str, Any]], Kind("objects")]

_Size = Annotated[int, "bytes of its .log files"]
_TopicId = Annotated[str | None, "the topic's id; null: the files do not say"]
_Problems = Annotated[list[str], "what is wrong in the files"]
_NextOffset = Annotated[int, "the offset after its last record"]
_Batches = Annotated[int, "how many batches"]
_Records = Annotated[int, "how many records consumers get"]
_FirstTime = Annotated[Time | None, "the smallest base timestamp; null: none is known"]
_LargestTime = Annotated[Time | None, "the largest timestamp; null: none is known"]
_Checkpointed = Annotated[int | None, "as checkpointed; null: the checkpoint does not have the log"]


class DescribedRoot(NamedTuple):
    """A log directory."""

    path: Annotated[str, "its path"]
    cluster_id: Annotated[str | None, "by meta.properties"]
    node_id: Annotated[Int32 | None, "by meta.properties"]
    directory_id: Annotated[str | None, "by meta.properties"]
    stopped_cleanly: Annotated[bool, "whether the clean shutdown file exists"]
    broker_epoch: Annotated[int | None, "by the clean shutdown file"]
    partitions: Annotated[Int32, "how many logs are in use"]
    other_folders: Annotated[Int32, "how many logs are deleted, stray or future"]
    size: _Size
    checkpoints: Annotated[Numbers, "how many partitions each checkpoint has, by its name"]
    unknown_files: Annotated[list[str], "files that are not Kafka's"]
    unknown_folders: Annotated[list[str], "directories that are not a partition's"]
    not_read: NotRead
    problems: _Problems


class DescribedTopic(NamedTuple):
    """A topic of the log directories."""

    topic: Annotated[str, "its name"]
    topic_id: _TopicId
    partitions: Annotated[Int32, "how many of its logs are here"]
    segments: Annotated[int, "how many segments they have"]
    size: _Size


class DescribedDirectories(NamedTuple):
    """What was opened: who wrote it, its topics and its checkpoints."""

    directories: Annotated[list[DescribedRoot], "the log directories"]
    topics: Annotated[list[DescribedTopic], "the topics"]


@dataclass(frozen=True, slots=True)
class DescribedSegment:
    """A segment in the list of its partition."""

    base_offset: BaseOffset
    next_offset: _NextOffset
    size: _Size
    batches: _Batches
    records: _Records
    first_timestamp: _FirstTime
    largest_timestamp: _LargestTime
    index: Annotated[bool, "whether it has an offset index"]
    timeindex: Annotated[bool, "whether it has a time index"]
    txnindex: Annotated[bool, "whether it has a transaction index"]
    is_active: IsActive


@dataclass(frozen=True)
class BatchTotals:
    """Totals over the headers of batches."""

    batches: _Batches
    records: _Records
    control_records: Annotated[int, "how many control records"]
    records_below_log_start: Annotated[int, "how many records are below the log start offset"]
    first_timestamp: _FirstTime
    largest_timestamp: _LargestTime
    codecs: Annotated[Numbers, "how many batches, by codec"]
    magics: Annotated[Numbers, "how many batches, by magic"]
    timestamp_types: Annotated[Numbers, "how many batches, by timestamp type"]
    transactional_batches: Annotated[int, "how many batches belong to transactions"]
    producers: Annotated[int, "how many producer ids"]
    damaged_headers: Annotated[int, "how many headers have a problem"]


@dataclass(frozen=True)
class _PartitionHead:
    partition: DirectoryName
    topic: Annotated[str, "the topic"]
    topic_id: _TopicId
    path: Annotated[str, "path of the partition directory"]
    kind: Annotated[str, "log, delete, stray or future"]
    size: _Size
    log_start_offset: Annotated[int, "the log start offset"]
    log_end_offset: Annotated[int | None, "the log end offset; null: a file cannot be read"]
    broker_log_end_offset: Annotated[int | None, "where a broker's log would end"]
    last_stable_offset: Annotated[int, "where a read_committed consumer stops"]
    high_watermark: _Checkpointed
    recovery_point: _Checkpointed
    log_start_offset_checkpoint: _Checkpointed
    cleaner_offset: _Checkpointed


@dataclass(frozen=True)
class DescribedPartition(BatchTotals, _PartitionHead):
    """A partition, with the totals of all its batches."""

    records_read_committed: Annotated[int | None, "how many records a read_committed consumer gets"]
    aborted_transactions: Annotated[Objects, "by the markers in the log"]
    leader_epochs: Annotated[Objects, "as checkpointed"]
    producers_in_newest_snapshot: Annotated[Objects, "the entries of the newest snapshot"]
    segments: Annotated[list[DescribedSegment], "its segments"]
    remote_segments: Annotated[
        list[RemoteSegmentRow] | None, "its segments in the remote tier; null: no tier was opened"
    ]
    leftovers: Annotated[list[str], "files of an interrupted change"]
    indexes_without_log: Annotated[list[str], "files of segments that have no .log file"]
    unknown_files: Annotated[list[str], "files that are not Kafka's"]
    not_read: NotRead
    problems: _Problems


@dataclass(frozen=True)
class _SegmentHead:
    path: Annotated[str, "path of the .log file"]
    base_offset: BaseOffset
    next_offset: _NextOffset
    size: _Size
    bytes_after_last_batch: Annotated[int, "bytes that are not a batch at the end of the file"]
    modified: Modified
    is_active: IsActive


@dataclass(frozen=True)
class DescribedOneSegment(BatchTotals, _SegmentHead):
    """A segment, with its batches and index entries."""

    offset_index_entries: Annotated[int | None, "null: no such file"]
    time_index_entries: Annotated[int | None, "null: no such file"]
    transaction_index_entries: Annotated[int | None, "null: no such file"]
    problems: Annotated[list[str], "what is wrong in the indexes"]
    batch_table: Annotated[Objects, "the batches, with columns of the table of batches"]
    offset_index: Annotated[Objects, "the entries of the offset index"]
    time_index: Annotated[Objects, "the entries of the time index"]
    transaction_index: Annotated[Objects, "the entries of the transaction index"]


class DescribedField(NamedTuple):
    """A named run of bytes of a batch."""

    name: Annotated[str, "as in Kafka's grammar"]
    position: Annotated[int, "byte in the file, or in the decompressed records"]
    size: Annotated[int, "bytes; a group spans its fields"]
    value: Annotated[Any, Kind("string"), "as a text, number, boolean or object; null: a group"]
    note: Annotated[str, "what it means; empty: its name is enough"]
    level: Annotated[Int32, "0: a group, 1: a field, 2: a part of a field"]
    is_decompressed: Annotated[bool, "whether it is among the decompressed bytes"]
    is_wrong: Annotated[bool, "whether the bytes do not fit; the note says how"]
