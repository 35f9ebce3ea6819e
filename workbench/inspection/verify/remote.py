"""Check the remote part of a log: metadata against files, and files against each other.

Kafka: RemoteLogManager, RemoteLogMetadataCache, LocalTieredStorage (4.2); Aiven's plugin (1.2)
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

import numpy as np

from workbench.files.leader_epochs import EpochEntry, LeaderEpochs, cut_end, cut_start
from workbench.files.producer_snapshot import ProducerSnapshot
from workbench.files.reading import FileProblem
from workbench.inspection.findings import Finding, Severity
from workbench.inspection.partition import DiskPartition
from workbench.inspection.remote_tier.aiven_segments import AivenSegment
from workbench.inspection.remote_tier.remote_log import RemoteLog, RemoteSegment
from workbench.inspection.remote_tier.segment_metadata import (
    COPY_FINISHED,
    COPY_STARTED,
    DELETE_FINISHED,
    RemoteSegmentMetadata,
)
from workbench.inspection.remote_tier.stored_segments import StoredSegment
from workbench.inspection.remote_tier.tier_names import INDEXES, LOG, MANIFEST
from workbench.inspection.unreadable import findings_of_unread, missing_remote, unreadable
from workbench.inspection.verify.segments.segment import SegmentSummary, verify_segment
from workbench.inspection.verify.shutdown_state import PartitionShutdownState, SegmentContext

_READER: Final = (
    "A broker copies and serves the file without checking it: consumers that read through the "
    "remote tier meet this."
)
_METADATA: Final = (
    "A broker believes the metadata: it looks for offsets in segments, and deletes these, by it."
)
_FOLLOWER: Final = (
    "A follower that begins with the remote tier takes producers and leader epochs from this file: "
    "it fails, or diverges."
)
_NEVER_DELETED: Final = "A broker does not know the files: it neither reads nor deletes them."


def verify_remote(partition: DiskPartition, remote: RemoteLog, *, deep: bool) -> Iterator[Finding]:
    """Yield what is wrong with the remote part of a partition's log.

    Args:
        partition: the partition.
        remote: its remote segments.
        deep: check CRCs and decode every record.
    """
    contents = remote.contents
    yield from contents.findings
    if contents.stored is not None:
        yield from findings_of_unread(contents.stored.unread)
        for entry in contents.stored.unknown:
            found, wanted = "a name that no segment's file has", "files of segments"
            kind = "remote-orphan"
            yield Finding(kind, "warning", entry.path, None, None, found, wanted, _NEVER_DELETED)
    for path in contents.other_folders:
        found, wanted = "segments of an earlier topic of this name", "the id of the topic today"
        kind = "remote-orphan"
        yield Finding(kind, "info", path, None, None, found, wanted, _NEVER_DELETED)
    if not remote.segments:
        return
    if contents.source == "files":
        where = partition.path if contents.stored is None else contents.stored.path
        found = f"{len(remote.segments)} segments, read by their own names and metadata"
        wanted = "records about them in __remote_log_metadata"
        broker = (
            "A broker reads only segments that the topic names as complete. The topic may be on "
            "other brokers: then every complete set of files counts as a segment here."
        )
        kind = "remote-metadata-missing"
        yield Finding(kind, "info", where, None, None, found, wanted, broker)
    yield from missing_remote(partition)
    read = {part.metadata.segment_id for part in partition.remote_reads}
    lineage = _lineage(partition)
    for segment in remote.segments:
        yield from _files(partition, segment, is_read=segment.segment_id in read)
        if segment.stored is not None:
            yield from _contents(segment, lineage, deep=deep)


def _lineage(partition: DiskPartition) -> tuple[EpochEntry, ...]:
    try:
        epochs = partition.leader_epochs
    except OSError:  # reported with the local files
        return ()
    return () if epochs is None or epochs.problems else epochs.entries


def _files(partition: DiskPartition, segment: RemoteSegment, *, is_read: bool) -> Iterator[Finding]:
    """Yield what does not fit between a segment's metadata and which files there are."""
    metadata, stored = segment
    where = _path_of(partition, stored)
    offset = segment.start_offset
    if stored is not None and (metadata is None or metadata.state == DELETE_FINISHED):
        found = "files without metadata" if metadata is None else "files of a deleted segment"
        wanted = "metadata that names them"
        yield Finding(
            "remote-orphan", "warning", where, None, offset, found, wanted, _NEVER_DELETED
        )
        return
    if metadata is None or metadata.state == DELETE_FINISHED:
        return
    if metadata.state != COPY_FINISHED:
        is_copy = metadata.state == COPY_STARTED
        found = f"the {'copy' if is_copy else 'deletion'} of the segment began, and did not end"
        broker = "A broker does not read the segment; the leader deletes what is left of it."
        kind = "remote-unfinished"
        yield Finding(kind, "info", where, None, offset, found, "an end of it", broker)
        return
    if stored is None:
        if not is_read:  # otherwise it is reported as missing for readers
            found, wanted = f"no files of remote segment {metadata.segment_id}", "its files"
            broker = "A broker does not read the segment now: local segments have its offsets, "
            broker += "or its leader epochs are not the partition's."
            kind = "remote-missing"
            yield Finding(kind, "warning", where, None, offset, found, wanted, broker)
        return
    if stored.missing:
        found = f"no {', '.join(stored.missing)}"
        is_lost = bool({LOG, MANIFEST} & {*stored.missing})
        severity: Severity = "error" if is_lost else "warning"
        broker = "A broker fails where it needs the file: at fetches, or when it builds a follower."
        yield Finding(
            "remote-missing",
            severity,
            where,
            None,
            offset,
            found,
            "every file of a segment",
            broker,
        )


def _contents(
    segment: RemoteSegment, lineage: Sequence[EpochEntry], *, deep: bool
) -> Iterator[Finding]:
    """Yield what is wrong with the files of one segment."""
    metadata, stored = segment
    assert stored is not None
    readable = stored.segment
    if readable is None:
        return
    if isinstance(stored, AivenSegment):
        found = list(_manifest(stored, metadata))
        yield from found
        if any(finding.severity == "error" for finding in found):
            return
    starts = np.zeros(0, np.int64)
    next_base = None
    if metadata is not None:
        starts = np.sort(np.array([e.start_offset for e in metadata.leader_epochs], np.int64))
        next_base = metadata.end_offset + 1
    situation = PartitionShutdownState("clean", 0)
    place = SegmentContext(readable.files["log"], readable.base_offset, next_base, 0, situation)
    findings: list[Finding] = []
    summary = verify_segment(
        readable, place, findings, epoch_starts=starts, has_time_indexes=True, deep=deep
    )
    yield from (replace(each, broker=_READER) for each in findings)
    if summary is None or metadata is None or metadata.state == DELETE_FINISHED:
        return
    yield from _small_files(stored, metadata)
    yield from _against_metadata(readable.path, summary, metadata)
    yield from _against_lineage(readable.path, metadata, lineage)


def _small_files(stored: StoredSegment, metadata: RemoteSegmentMetadata) -> Iterator[Finding]:
    """Check the producer snapshot and the leader epochs beside a segment.

    Kafka: RemoteLogManager.buildRemoteLogAuxState (4.2)
    """
    snapshots = [entry] if (entry := stored.files.get("snapshot")) is not None else []
    for entry in snapshots:
        try:
            problems = entry.read(ProducerSnapshot).problems
        except OSError as error:
            yield from unreadable(entry.path, error)
        else:
            yield from _damaged("snapshot-damaged", entry.path, problems)
    entry = stored.leader_epochs
    if entry is None:
        return
    try:
        epochs = entry.read(LeaderEpochs)
    except OSError as error:
        yield from unreadable(entry.path, error)
        return
    yield from _damaged("leader-epochs-damaged", entry.path, epochs.problems)
    own = cut_end(cut_start(epochs.entries, metadata.start_offset), metadata.end_offset + 1)
    if not epochs.problems and own != metadata.leader_epochs:
        found = f"leader epochs {_epochs(metadata._replace(leader_epochs=own)) or 'none'}"
        wanted = f"{_epochs(metadata)}, as in the metadata"
        yield Finding("remote-epochs", "warning", entry.path, None, None, found, wanted, _FOLLOWER)


def _damaged(kind: str, path: str, problems: Sequence[FileProblem]) -> Iterator[Finding]:
    for problem in problems[:1]:
        found, wanted = problem.found, problem.expected
        yield Finding(kind, "error", path, problem.position, None, found, wanted, _FOLLOWER)


def _against_metadata(
    path: str, summary: SegmentSummary, metadata: RemoteSegmentMetadata
) -> Iterator[Finding]:
    start = metadata.start_offset
    if metadata.size is not None and summary.size != metadata.size:
        found, wanted = f"{summary.size:,} bytes", f"{metadata.size:,}, as in the metadata"
        yield Finding("remote-size", "error", path, None, start, found, wanted, _READER)
    if not summary.is_end_sure or not summary.has_batches:
        return
    first, last = summary.first_offset, summary.next_offset - 1
    if first < start or last != metadata.end_offset:
        found = f"offsets {first} to {last}"
        wanted = f"{start} to {metadata.end_offset}, as in the metadata"
        is_short = first >= start and last < metadata.end_offset  # compaction may have been there
        severity: Severity = "warning" if is_short else "error"
        yield Finding("remote-offsets", severity, path, None, start, found, wanted, _METADATA)
    rows = summary.epochs
    starts = [entry.start_offset for entry in metadata.leader_epochs]
    slots = np.searchsorted(np.array(starts, np.int64), rows["base_offset"], "right") - 1
    named = np.array([entry.epoch for entry in metadata.leader_epochs] or [-1], np.int64)
    wrong = np.flatnonzero((slots < 0) | (named[slots] != rows["partition_leader_epoch"]))
    if len(wrong) and starts:
        row = rows[wrong[0]]
        found = f"leader epoch {row['partition_leader_epoch']}"
        slot = int(slots[wrong[0]])
        wanted = "an epoch of the metadata" if slot < 0 else f"{named[slot]}, as in the metadata"
        position, offset = int(row["position"]), int(row["base_offset"])
        kind = "remote-epochs"
        yield Finding(kind, "error", path, position, offset, found, wanted, _METADATA)


def _against_lineage(
    path: str, metadata: RemoteSegmentMetadata, lineage: Sequence[EpochEntry]
) -> Iterator[Finding]:
    """Yield a finding for an epoch of a segment that goes beyond the partition's own.

    Kafka: RemoteLogManager.isRemoteSegmentWithinLeaderEpochs (4.2)
    """
    if not lineage or metadata.end_offset < lineage[0].start_offset:
        return  # below the log start offset: the leader deletes it
    starts = {entry.epoch: entry.start_offset for entry in lineage}
    ends = {here.epoch: there.start_offset - 1 for here, there in pairwise(lineage)}
    for epoch, first, last in metadata.epoch_ranges():
        if last < max(first, lineage[0].start_offset):
            continue  # without records, or below the log start offset
        if epoch in starts and last <= ends.get(epoch, last) and first >= starts[epoch]:
            continue
        if epoch == lineage[0].epoch and last <= ends.get(epoch, last):
            continue  # the file begins at the log start offset, inside the epoch
        found = f"offsets {first} to {last} of leader epoch {epoch}"
        wanted = "leader epochs as in the partition's leader-epoch-checkpoint"
        broker = (
            "A broker reads only the offsets that agree with the partition's own leader epochs. "
            "The segment comes from a leader that was deposed; the leader deletes it by retention."
        )
        yield Finding("remote-epochs", "warning", path, None, first, found, wanted, broker)
        return


def _manifest(stored: AivenSegment, metadata: RemoteSegmentMetadata | None) -> Iterator[Finding]:
    """Check a manifest, its names, and the sizes of the files that it describes."""
    assert stored.tier is not None
    path = f"{stored.stem}{MANIFEST}"
    try:
        manifest = stored.tier.manifest(stored.stem)
    except OSError as error:
        yield from unreadable(path, error)
        return
    own = manifest.metadata
    if own is not None:
        names = (own.segment_id, own.start_offset)
        if names != (stored.segment_id, stored.start_offset):
            found = f"segment {own.segment_id} at offset {own.start_offset}"
            wanted = f"{stored.segment_id} at {stored.start_offset}, as in the file's name"
            yield Finding("remote-offsets", "error", path, None, None, found, wanted, _METADATA)
        elif metadata is not None and (own.end_offset, own.leader_epochs) != (
            metadata.end_offset,
            metadata.leader_epochs,
        ):
            found = f"end offset {own.end_offset}, leader epochs {_epochs(own)}"
            wanted = f"{metadata.end_offset} and {_epochs(metadata)}, as in the metadata"
            yield Finding("remote-offsets", "warning", path, None, None, found, wanted, _METADATA)
    indexed = max((position + size for position, size in manifest.indexes.values()), default=0)
    for entry in stored.stored:
        is_log = entry.name.endswith(LOG)
        wanted_size = manifest.stored_size if is_log else indexed
        if entry.name.endswith((LOG, INDEXES)) and entry.size != wanted_size:
            found, wanted = f"{entry.size:,} bytes", f"{wanted_size:,}, as in the manifest"
            yield Finding("remote-size", "error", entry.path, None, None, found, wanted, _READER)


def _epochs(metadata: RemoteSegmentMetadata) -> str:
    shown = ", ".join(f"{epoch} from {start}" for epoch, start in metadata.leader_epochs[:5])
    return shown + (", …" if len(metadata.leader_epochs) > 5 else "")


def _path_of(partition: DiskPartition, stored: StoredSegment | None) -> str:
    return stored.stored[0].path if stored is not None and stored.stored else partition.path
