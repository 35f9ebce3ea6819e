"""What `describe` shows of a directory, partition, segment or batch: facts for JSON, and lines.

Times are in ms since the epoch, sizes in bytes, and offsets as in the library: `*_end_offset` is
exclusive. None means unknown or absent.
"""

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from workbench.cli.colors import has_color, painted_part, styled
from workbench.cli.show.described import (
    BatchTotals,
    DescribedDirectories,
    DescribedField,
    DescribedOneSegment,
    DescribedPartition,
    DescribedRoot,
    DescribedSegment,
    DescribedTopic,
)
from workbench.cli.show.value_text import plain_text
from workbench.files import names
from workbench.files.clean_shutdown import CleanShutdown
from workbench.files.names import TopicPartition
from workbench.inspection.bytes.field_list import PRIVATE, ByteField
from workbench.inspection.facts.file_facts import entry_facts
from workbench.inspection.listing import Root
from workbench.inspection.lookups.record_counts import counts_of
from workbench.inspection.partition import DiskPartition
from workbench.inspection.remote_tier.segment_rows import remote_segment_rows
from workbench.inspection.segment import Segment
from workbench.inspection.transactions import Transactions, aborted_transactions, read_transactions
from workbench.inspection.unreadable import findings_of_unread, if_readable, unreadable
from workbench.layout.attributes import TIMESTAMP_TYPE_NAMES, codec_name
from workbench.layout.batch_row import BATCH_ROW
from workbench.layout.rows import joined_rows
from workbench.loaders.exports.json_lines import batch_values
from workbench.loaders.offsets.record_counts import RecordCounts, count_in_segment, count_records
from workbench.loaders.queries.ranges import HIGHEST
from workbench.loaders.scan.plan import SegmentRead, segments_within
from workbench.log_directory import LogDirectory
from workbench.runtime.words import safe
from workbench.tables.columns import json_of
from workbench.tables.segments import RemoteSegmentRow
from workbench.values.readable import as_json, readable

T = TypeVar("T")

Facts = dict[str, Any]
Rows = npt.NDArray[Any]
Reads = Mapping[str, SegmentRead]

_CHECKPOINTS = {
    "high_watermark": names.HIGH_WATERMARKS,
    "recovery_point": names.RECOVERY_POINTS,
    "log_start_offset_checkpoint": names.LOG_START_OFFSETS,
    "cleaner_offset": names.CLEANER_OFFSETS,
}


def _texts(problems: Iterable[Any]) -> list[str]:
    return [str(problem) for problem in problems]


def _known(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return values[values >= 0]


def _counts(values: npt.NDArray[Any], name: Any) -> dict[str, int]:
    """Return how many batches have each value, by its name."""
    found, counts = np.unique(values, return_counts=True)
    return {str(name(int(value))): int(count) for value, count in zip(found, counts, strict=True)}


class _Counted(NamedTuple):
    """Batches, and how many records they have.

    Attributes:
        rows: BATCH_ROW[n].
        counts: what consumers get of them.
        below: how many records are below the log start offset.
    """

    rows: Rows
    counts: RecordCounts
    below: int

    @classmethod
    def of(cls, segment: Segment, start: int, reads: Reads, known: Transactions) -> "_Counted":
        """Count the records of a segment's batches.

        Raises:
            OSError: the file cannot be read.
        """
        rows = segment.batches.rows
        below = int(counts_of(segment, rows[~rows["is_control"]], -1, start).sum())
        read = reads.get(segment.path)
        counts = RecordCounts() if read is None else count_in_segment(read, known)
        return cls(rows, counts, below)


def _reads(partition: DiskPartition) -> Reads:
    """Return path of a segment → what a scan reads of it."""
    reads = segments_within(partition, partition.log_start_offset, HIGHEST)
    return {read.segment.path: read for read in reads}


def _together(each: Sequence[_Counted]) -> _Counted:
    rows = joined_rows([one.rows for one in each], BATCH_ROW)
    counts = RecordCounts.sum_of(one.counts for one in each)
    return _Counted(rows, counts, sum(one.below for one in each))


def _totals(counted: _Counted) -> BatchTotals:
    """Return totals over the headers of some batches."""
    rows = counted.rows
    stamps = _known(rows["max_timestamp"])
    bases = _known(rows["base_timestamp"][rows["delete_horizon"] == -1])
    return BatchTotals(
        batches=len(rows),
        records=counted.counts.records,
        control_records=counted.counts.control,
        records_below_log_start=counted.below,
        first_timestamp=int(bases.min()) if len(bases) else None,
        largest_timestamp=int(stamps.max()) if len(stamps) else None,
        codecs=_counts(rows["codec"], codec_name),
        magics=_counts(rows["magic"], str),
        timestamp_types=_counts(
            rows["timestamp_type"], lambda code: TIMESTAMP_TYPE_NAMES.get(code, "none")
        ),
        transactional_batches=int((rows["is_transactional"] & ~rows["is_control"]).sum()),
        producers=len(np.unique(_known(rows["producer_id"]))),
        damaged_headers=int((rows["problem"] != 0).sum()),
    )


def directory_facts(logs: LogDirectory) -> Facts:
    """Return facts about what was opened: who wrote it, its topics and its checkpoints."""
    topics: dict[str, Facts] = {}
    for partition in logs.values():
        if partition.kind != "log":
            continue
        topic = topics.setdefault(
            partition.topic,
            {"topic": partition.topic, "topic_id": None, "partitions": 0, "segments": 0, "size": 0},
        )
        topic["topic_id"] = topic["topic_id"] or partition.topic_id
        topic["partitions"] += 1
        topic["segments"] += len(partition.segments)
        topic["size"] += partition.size
    rows = [DescribedTopic(**each) for each in topics.values()]
    return json_of(DescribedDirectories([_described_root(root) for root in logs.roots], rows))


def _described_root(root: Root) -> DescribedRoot:
    not_read = _texts(findings_of_unread(root.unread))
    meta = _readable(root, names.META_PROPERTIES, lambda: root.meta_properties, not_read)
    file = root.file(names.CLEAN_SHUTDOWN)
    stop = _readable(
        root,
        names.CLEAN_SHUTDOWN,
        lambda: file.read(CleanShutdown) if file else None,
        not_read,
    )
    kinds = [partition.kind for partition in root.partitions]
    checkpoints = {
        name: _readable(root, name, partial(root.checkpoint, name), not_read)
        for name in names.OFFSET_CHECKPOINTS
    }
    return DescribedRoot(
        path=root.path,
        cluster_id=meta.cluster_id if meta else None,
        node_id=meta.node_id if meta else None,
        directory_id=str(meta.directory_id) if meta and meta.directory_id else None,
        stopped_cleanly=root.has_name(names.CLEAN_SHUTDOWN),
        broker_epoch=stop.broker_epoch if stop else None,
        partitions=kinds.count("log"),
        other_folders=len(kinds) - kinds.count("log"),
        size=sum(partition.size for partition in root.partitions),
        checkpoints={name: len(c.offsets) for name, c in checkpoints.items() if c is not None},
        unknown_files=[file.name for file in root.unknown],
        unknown_folders=list(root.unknown_folders),
        not_read=tuple(not_read),
        problems=_texts(
            [
                *(meta.problems if meta else ()),
                *(problem for c in checkpoints.values() if c is not None for problem in c.problems),
            ]
        ),
    )


def _readable(
    where: Root | DiskPartition, name: str, read: Callable[[], T | None], not_read: list[str]
) -> T | None:
    """Return what ``read`` returns of a file; None, and why in ``not_read``, if it is unreadable.

    None also for a file that a broker removed after it was listed.
    """
    try:
        return read()
    except OSError as error:
        not_read += _texts(unreadable(os.path.join(where.path, name), error))
        return None


def partition_facts(logs: LogDirectory, partition: DiskPartition) -> Facts:
    """Return facts about one partition; reads the headers of all its batches."""
    root = logs.listing.root_of(partition)
    transactions = read_transactions(partition)
    segments = partition.segments
    not_read = _texts(findings_of_unread(partition.unread))
    start = partition.log_start_offset
    reads = _reads(partition)
    counted: dict[str, _Counted] = {}
    for segment in segments:
        try:
            counted[segment.path] = _Counted.of(segment, start, reads, transactions)
        except OSError as error:
            not_read += _texts(unreadable(segment.path, error))
    # What cannot be read is reported above.
    end = if_readable(partial(getattr, partition, "log_end_offset"))
    broker_end = if_readable(partial(getattr, partition, "broker_log_end_offset"))
    aborted = aborted_transactions(segments, transactions)
    epochs = _readable(partition, names.LEADER_EPOCHS, lambda: partition.leader_epochs, not_read)
    row = DescribedPartition(
        partition=partition.name,
        topic=partition.topic,
        topic_id=partition.topic_id,
        path=partition.path,
        kind=partition.kind,
        size=partition.size,
        log_start_offset=start,
        log_end_offset=end,
        broker_log_end_offset=broker_end,
        last_stable_offset=transactions.last_stable_offset,
        **_checkpoint_facts(root, partition),
        **vars(_totals(_together(list(counted.values())))),
        records_read_committed=_committed(partition, transactions),
        aborted_transactions=[each._asdict() for each in aborted],
        leader_epochs=[entry._asdict() for entry in epochs.entries] if epochs else [],
        producers_in_newest_snapshot=_producers(partition),
        segments=[
            _segment_line(each, counted[each.path]) for each in segments if each.path in counted
        ],
        remote_segments=_remote_segments(partition),
        leftovers=[file.name for file in partition.leftovers],
        indexes_without_log=[file.name for file in partition.orphans],
        unknown_files=[file.name for file in partition.unknown],
        not_read=tuple(not_read),
        problems=_texts(epochs.problems if epochs else ()),
    )
    return json_of(row)


def _committed(partition: DiskPartition, transactions: Transactions) -> int | None:
    """Return how many records a read_committed consumer gets."""
    counts = if_readable(partial(count_records, partition, transactions))
    return None if counts is None else counts.committed


def _checkpoint_facts(root: Root | None, partition: DiskPartition) -> Facts:
    """Return what the checkpoints of the log directory say about a partition."""
    where = TopicPartition(partition.topic, partition.partition)
    facts: Facts = {}
    for name, file in _CHECKPOINTS.items():
        checkpoint = if_readable(partial(root.checkpoint, file)) if root else None
        facts[name] = checkpoint.offsets.get(where) if checkpoint else None
    return facts


def _producers(partition: DiskPartition) -> list[Facts]:
    if not partition.snapshots:
        return []
    with suppress(OSError):
        snapshot = partition.producer_snapshot(partition.snapshots[-1])
        return [entry._asdict() for entry in snapshot.entries]
    return []


def _remote_segments(partition: DiskPartition) -> list[RemoteSegmentRow] | None:
    """Return the segments in the remote tier; None if no tier was opened."""
    return None if partition.remote is None else [*remote_segment_rows(partition)]


def _segment_line(segment: Segment, counted: _Counted) -> DescribedSegment:
    """Return a row about a segment."""
    totals = _totals(counted)
    return DescribedSegment(
        base_offset=segment.base_offset,
        next_offset=segment.next_offset,
        size=segment.size,
        batches=totals.batches,
        records=totals.records,
        first_timestamp=totals.first_timestamp,
        largest_timestamp=totals.largest_timestamp,
        **{kind: kind in segment.files for kind in names.SEGMENT_KINDS[1:]},
        is_active=segment.is_active,
    )


def segment_facts(partition: DiskPartition, segment: Segment, most_batches: int | None) -> Facts:
    """Return facts about one segment.

    Args:
        partition: the partition that has it.
        segment: the segment.
        most_batches: the most rows of the batch table and of each index; None: all.
    """
    table, start = segment.batches, partition.log_start_offset
    offsets, times, aborted = (
        segment.offset_index,
        segment.time_index,
        segment.transaction_index,
    )
    unread = max(segment.files["log"].size_now - table.valid_size, 0)
    counted = _Counted.of(segment, start, _reads(partition), read_transactions(partition))
    row = DescribedOneSegment(
        path=segment.path,
        base_offset=segment.base_offset,
        next_offset=segment.next_offset,
        size=segment.size,
        bytes_after_last_batch=unread,
        modified=segment.modified_ms,
        is_active=segment.is_active,
        **vars(_totals(counted)),
        offset_index_entries=None if offsets is None else len(offsets),
        time_index_entries=None if times is None else len(times),
        transaction_index_entries=None if aborted is None else len(aborted),
        problems=_texts(
            problem for index in (offsets, times, aborted) if index for problem in index.problems
        ),
        batch_table=[
            {name: batch[name] for name in _BATCH_COLUMNS}
            for batch in batch_values(table.rows[:most_batches], "", 0, segment.base_offset)
        ],
        offset_index=[
            entry_facts(e, segment.base_offset) for e in list(offsets or ())[:most_batches]
        ],
        time_index=[entry_facts(e, segment.base_offset) for e in list(times or ())[:most_batches]],
        transaction_index=[entry._asdict() for entry in list(aborted or ())[:most_batches]],
    )
    return json_of(row)


_BATCH_COLUMNS = (
    "position",
    "size",
    "base_offset",
    "last_offset",
    "record_count",
    "max_timestamp",
    "codec",
    "magic",
    "producer_id",
    "producer_epoch",
    "base_sequence",
    "partition_leader_epoch",
    "is_transactional",
    "is_control",
    "problem",
)


def field_facts(field: ByteField, *, show_values: bool = True) -> Facts:
    """Return facts about a named run of bytes; what is private is null unless it is wanted."""
    value = field.value
    if isinstance(value, bytes):
        is_private = field.name in PRIVATE
        if is_private and not show_values:
            value = None
        elif field.name in {"key", "value"}:
            value = json.loads(as_json(readable(value)))
        else:
            value = value.hex()
    row = DescribedField(
        name=field.name,
        position=field.position,
        size=field.size,
        value=value,
        note=field.note,
        level=field.level,
        is_decompressed=field.is_decompressed,
        is_wrong=field.is_wrong,
    )
    return json_of(row)


_LONGEST: Final = 120  # characters of a value


def field_line(field: ByteField, *, show_values: bool) -> str:
    """Return ``position  size  name  value  note``; values may be hidden."""
    name = "  " * field.level + field.name
    start = f"{field.position:>10}  {field.size:>7}  {name:<26}"
    value = _value(field, show_values)
    note = (f"  ({field.note})" if value else field.note) if field.note else ""
    line = safe(f"{start}{value}{note}".rstrip())
    if not has_color():
        return f"{line}  <- wrong" if field.is_wrong else line
    if field.is_wrong:
        return styled(line, fg="red")
    if field.level == 0:
        return styled(line, bold=True)
    return painted_part(line, len(start), len(start) + len(value))


def _value(field: ByteField, show_values: bool) -> str:
    if field.value is None:
        return ""
    if isinstance(field.value, bytes):
        if field.name in PRIVATE and not show_values:
            return f"{len(field.value)} bytes, hidden"
        text = plain_text(field.value)
        return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    return str(field.value)
