"""Check what only the metadata log of a KRaft cluster has: the quorum's state and its snapshots.

A `.checkpoint` holds the state up to the offset in its name, as batches whose offsets begin at 0.

Kafka: KafkaMetadataLog, RecordsSnapshotReader, FileQuorumStateStore (4.2)
"""

from collections.abc import Iterator
from dataclasses import replace

from workbench.files import names
from workbench.files.quorum_state import QuorumState
from workbench.inspection.entries import FileEntry
from workbench.inspection.findings import Finding
from workbench.inspection.partition import Partition
from workbench.inspection.unreadable import unreadable
from workbench.inspection.verify.segments.batches import verify_log
from workbench.inspection.verify.situation import METADATA_TOPIC, Place, Situation


def verify_metadata_log(partition: Partition, *, deep: bool) -> Iterator[Finding]:
    """Yield what is wrong with `quorum-state` and the snapshots in a partition directory.

    Args:
        partition: the metadata log; other partitions have neither, and give no finding.
        deep: check CRCs and decode every record.
    """
    state = partition.file(names.QUORUM_STATE)
    if state is not None:
        for problem in QuorumState.read(state.path, strict=False).problems[:1]:
            yield Finding(
                "quorum-state-damaged", "error", state.path, problem.position, None, problem.found,
                problem.expected, "The controller does not start.",
            )  # fmt: skip
    for entry in partition.metadata_snapshots:
        yield from verify_metadata_snapshot(entry, deep=deep)
    if partition.topic != METADATA_TOPIC or not partition.segments:
        return
    start = partition.segments[0].base_offset
    offsets = [
        name.offset
        for entry in partition.metadata_snapshots
        if (name := names.parse_file_name(entry.name)) is not None
    ]
    if start > 0 and max(offsets, default=-1) < start:
        found = f"the log begins at offset {start}, " + (
            f"the newest snapshot ends at {max(offsets)}" if offsets else "and there is no snapshot"
        )
        wanted = f"a snapshot up to {start} or later"
        broker = "The controller does not start (IllegalStateException)."
        kind = "metadata-snapshot-missing"
        yield Finding(kind, "error", partition.path, None, start, found, wanted, broker)


def verify_metadata_snapshot(entry: FileEntry, *, deep: bool) -> Iterator[Finding]:
    """Yield what is wrong with the batches of a `.checkpoint` file."""
    place = Place(entry.path, 0, None, 0, Situation().of(names.TopicPartition(METADATA_TOPIC, 0)))
    try:
        found = verify_log(place, deep=deep)[0]
    except OSError as error:
        yield from unreadable(entry.path, error)
        return
    broker = "A controller that reads this snapshot stops with an error."
    for finding in found:
        yield replace(finding, severity="error", broker=broker)
