"""The remote segments of a partition as rows: for tables, `ls` and `describe`."""

from collections.abc import Iterator

from workbench.decoders.remote_log_metadata import SEGMENT_STATE_NAMES
from workbench.inspection.partition import DiskPartition
from workbench.inspection.remote_tier.segment_metadata import COPY_FINISHED
from workbench.tables.segments import LeaderEpochStart, RemoteSegmentRow


def remote_segment_rows(partition: DiskPartition) -> Iterator[RemoteSegmentRow]:
    """Yield the remote segments of a partition, ascending by start offset."""
    if partition.remote is None:
        return
    read = {part.metadata.segment_id for part in partition.remote_reads if part.segment is not None}
    for metadata, stored in partition.remote.segments:
        logs = [each.path for each in stored.stored if each.name.endswith(".log")] if stored else []
        known = metadata
        yield RemoteSegmentRow(
            partition.topic,
            partition.partition,
            known.segment_id if known else stored.segment_id if stored else "",
            known.start_offset if known else stored.start_offset if stored else 0,
            known.end_offset if known else None,
            SEGMENT_STATE_NAMES.get(known.state) if known else None,
            known.size if known else None,
            [LeaderEpochStart(*each) for each in known.leader_epochs] if known else [],
            known.broker_id if known else None,
            known.max_timestamp if known else None,
            known.event_timestamp if known else None,
            partition.remote.contents.source,
            len(stored.stored) if stored else 0,
            known is not None and known.segment_id in read,
            logs[0] if logs else None,
        )


def remote_totals(partition: DiskPartition) -> tuple[int, int]:
    """Return how many remote segments are complete, and their bytes; (0, 0) without a tier."""
    if partition.remote is None:
        return 0, 0
    cache = partition.remote.contents.cache
    complete = [each for each in cache.segments.values() if each.state == COPY_FINISHED]
    return len(complete), sum(each.size or 0 for each in complete)
