"""The remote segments of a partition as rows: for tables, `ls` and `describe`."""

from collections.abc import Iterator
from typing import NamedTuple

from workbench.decoders.remote_log_metadata import SEGMENT_STATE_NAMES
from workbench.files.leader_epochs import EpochEntry
from workbench.inspection.partition import Partition
from workbench.inspection.remote_tier.segment_metadata import COPY_FINISHED


class RemoteSegmentRow(NamedTuple):
    """One remote segment.

    Attributes:
        segment_id: 22 characters.
        start_offset: its first offset.
        end_offset: its last offset; None: unknown.
        state: as Kafka names it: ``COPY_SEGMENT_FINISHED``; None: there is no metadata.
        size: bytes of the `.log` file as it was in the log; None: unknown.
        leader_epochs: of its records, with their first offsets.
        broker_id: the broker that changed its state last; None: unknown.
        max_timestamp: the largest of its records, ms; None: unknown.
        event_timestamp: when it got its state, ms; None: unknown.
        source: where the metadata comes from: "topic", or "files" of the tier.
        files: how many files it has in the tier.
        is_read: whether a reader of the log gets records from it; otherwise local segments have
            its offsets, or it is not to be read.
        path: its `.log` file; None: the tier has none.
    """

    segment_id: str
    start_offset: int
    end_offset: int | None
    state: str | None
    size: int | None
    leader_epochs: tuple[EpochEntry, ...]
    broker_id: int | None
    max_timestamp: int | None
    event_timestamp: int | None
    source: str
    files: int
    is_read: bool
    path: str | None


def remote_segment_rows(partition: Partition) -> Iterator[RemoteSegmentRow]:
    """Yield the remote segments of a partition, ascending by start offset."""
    if partition.remote is None:
        return
    read = {part.metadata.segment_id for part in partition.remote_reads if part.segment is not None}
    for metadata, stored in partition.remote.segments:
        logs = [each.path for each in stored.stored if each.name.endswith(".log")] if stored else []
        known = metadata
        yield RemoteSegmentRow(
            known.segment_id if known else stored.segment_id if stored else "",
            known.start_offset if known else stored.start_offset if stored else 0,
            known.end_offset if known else None,
            SEGMENT_STATE_NAMES.get(known.state) if known else None,
            known.size if known else None,
            known.leader_epochs if known else (),
            known.broker_id if known else None,
            known.max_timestamp if known else None,
            known.event_timestamp if known else None,
            partition.remote.contents.source,
            len(stored.stored) if stored else 0,
            known is not None and known.segment_id in read,
            logs[0] if logs else None,
        )


def remote_totals(partition: Partition) -> tuple[int, int]:
    """Return how many remote segments are complete, and their bytes; (0, 0) without a tier."""
    if partition.remote is None:
        return 0, 0
    cache = partition.remote.contents.cache
    complete = [each for each in cache.segments.values() if each.state == COPY_FINISHED]
    return len(complete), sum(each.size or 0 for each in complete)
