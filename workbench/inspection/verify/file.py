"""Check one file that was opened alone: its contents, without other files to compare with.

Kafka: DumpLogSegments (4.2)
"""

import os
from collections.abc import Iterator
from typing import Any, Final

from workbench.files import names
from workbench.files.checkpoints import OffsetCheckpoint
from workbench.files.clean_shutdown import CleanShutdown
from workbench.files.indexes.offset_index import OffsetIndex
from workbench.files.indexes.time_index import TimeIndex
from workbench.files.indexes.transaction_index import TransactionIndex
from workbench.files.leader_epochs import LeaderEpochs
from workbench.files.meta_properties import MetaProperties
from workbench.files.partition_metadata import PartitionMetadata
from workbench.files.producer_snapshot import ProducerSnapshot
from workbench.files.quorum_state import QuorumState
from workbench.inspection.findings import Finding
from workbench.inspection.partition import DiskPartition
from workbench.inspection.verify.segments.batches import verify_log
from workbench.inspection.verify.shutdown_state import SegmentContext, ShutdownState

_UNKNOWN: Final = "What a broker would do depends on the files beside it; only this one was opened."

_READERS: Final[dict[str, tuple[Any, str]]] = {
    names.LEADER_EPOCHS: (LeaderEpochs, "leader-epochs-damaged"),
    names.PARTITION_METADATA: (PartitionMetadata, "partition-metadata-damaged"),
    names.QUORUM_STATE: (QuorumState, "quorum-state-damaged"),
    names.META_PROPERTIES: (MetaProperties, "meta-properties-damaged"),
    names.CLEAN_SHUTDOWN: (CleanShutdown, "clean-shutdown-damaged"),
    **dict.fromkeys(names.OFFSET_CHECKPOINTS, (OffsetCheckpoint, "checkpoint-damaged")),
}
_INDEXES: Final[dict[str, tuple[Any, str]]] = {
    "index": (OffsetIndex, "index"),
    "timeindex": (TimeIndex, "time-index"),
    "txnindex": (TransactionIndex, "transaction-index"),
}
_SUFFIXES: Final = {
    "unfinished entry": "size",
    "wrong order": "order",
    "unknown version": "version",
}


def verify_single_file(
    partition: DiskPartition, name: str, situation: ShutdownState, *, deep: bool, workers: int = 1
) -> Iterator[Finding]:
    """Yield what is wrong with one file of a folder.

    Args:
        partition: the partition that the listing made for the file.
        name: the file's name.
        situation: "running" while a process holds the lock of the log directory around the folder.
        deep: check CRCs and decode every record.
        workers: threads that do that side by side.
    """
    for segment in partition.segments:
        here = situation.of(names.TopicPartition(partition.topic, partition.partition))
        is_running = situation.stop == "running"  # only then the other files matter
        later = _later_bases(partition.path, segment.base_offset) if is_running else []
        next_base = min(later, default=None)
        place = SegmentContext(
            segment.files["log"], segment.base_offset, next_base, len(later), here
        )
        yield from verify_log(place, deep=deep, workers=workers)[0]
    entry = partition.file(name)
    parsed = names.parse_file_name(name)
    if entry is None or partition.segments:
        return
    if name in _READERS:
        reader, kind = _READERS[name]
        contents = entry.read(reader)
    elif parsed is not None and parsed.kind == "snapshot":
        kind = "snapshot-damaged"
        contents = entry.read(ProducerSnapshot)
    elif parsed is not None and parsed.kind in _INDEXES:
        reader, kind = _INDEXES[parsed.kind]
        contents = reader.read(entry.path, parsed.offset, strict=False, fs=entry.fs)
    else:
        return
    for problem in contents.problems:
        name_of = kind
        if "damaged" not in kind:
            name_of = f"{kind}-{_SUFFIXES.get(problem.kind, 'entry')}"
            if name_of == "transaction-index-order":
                name_of = "transaction-index-entry"
        found, wanted = problem.found, problem.expected
        yield Finding(
            name_of, "warning", entry.path, problem.position, None, found, wanted, _UNKNOWN
        )


def _later_bases(folder: str, base_offset: int) -> list[int]:
    """Return the base offsets of the segments after one in a folder, by the names in it."""
    try:
        found = map(names.parse_file_name, os.listdir(folder))
    except OSError:  # only the file may be read, or it is not on this machine
        return []
    logs = (each for each in found if each and each.kind == "log" and not each.suffix)
    return [each.offset for each in logs if each.offset > base_offset]
