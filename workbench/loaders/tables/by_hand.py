"""Which files may be deleted by hand when the disk is full, and which never, with the reason.

The broker is stopped: files of a running broker are never touched by hand. A file that a broker
would delete anyway when it starts may go; what it reads when it starts may not.

Kafka: LogManager.loadLogs, LogLoader.load, LogLoader.removeTempFilesAndCollectSwapFiles (4.2)
"""

from collections.abc import Collection
from typing import Final, NamedTuple

from workbench.files import names
from workbench.inspection.entries import FileEntry
from workbench.inspection.partition import DiskPartition
from workbench.inspection.verify.leftovers import swaps


class ByHand(NamedTuple):
    """Whether a file may be deleted by hand.

    Attributes:
        verdict: "yes"; "no"; "look": only by a person who knows that it is not needed.
        why: what a broker does with the file, or without it.
    """

    verdict: str
    why: str


_DIRECTORIES: Final = {
    "delete": ByHand("yes", "a deleted partition: a broker removes it a minute after its start"),
    "stray": ByHand(
        "look", "no topic of the cluster has it, and no broker reads it; it may be the last copy"
    ),
    "future": ByHand(
        "look",
        "a move from another log directory; the only copy if no directory has its log",
    ),
}
_SUFFIXES: Final = {
    names.DELETED: ByHand("yes", "a broker deletes it when it starts, or a minute later"),
    names.CLEANED: ByHand("yes", "an incomplete cleaning: a broker deletes it when it starts"),
    names.SWAP: ByHand("no", "a broker that starts takes it in place of segments"),
    names.PART: ByHand("yes", "a file that was being written when its broker stopped"),
}  # fmt: skip
_SEGMENT: Final = {
    "log": ByHand("no", "its records; retention deletes whole segments (kafka-workbench what-if)"),
    "index": ByHand("no", "a broker writes it again when it starts: nothing is gained"),
    "timeindex": ByHand("no", "a broker writes it again when it starts: nothing is gained"),
    "txnindex": ByHand(
        "no", "no broker misses it after a clean shutdown, and serves aborted records without it"
    ),
    "snapshot": ByHand("no", "without it duplicates and open transactions are not detected"),
    "checkpoint": ByHand("no", "a snapshot of the metadata log: a node may not start without it"),
}
_NAMED: Final = {
    names.LEADER_EPOCHS: ByHand(
        "no", "without it followers truncate at wrong offsets, and a tier loses the log"
    ),
    names.PARTITION_METADATA: ByHand("no", "without it KRaft brokers set the log aside as -stray"),
    names.QUORUM_STATE: ByHand("no", "the vote of the node: without it two leaders are possible"),
    names.META_PROPERTIES: ByHand("no", "the broker does not start without it"),
    names.CLEAN_SHUTDOWN: ByHand("no", "without it a broker recovers every log when it starts"),
    names.RECOVERY_POINTS: ByHand("no", "without it recovery reads every segment"),
    names.LOG_START_OFFSETS: ByHand("no", "without it deleted records come back"),
    names.HIGH_WATERMARKS: ByHand("no", "without it high watermarks begin at the log start"),
    names.CLEANER_OFFSETS: ByHand("no", "without it the cleaner reads every log from the start"),
    names.BOOTSTRAP_CHECKPOINT: ByHand("no", "a node that starts may need it"),
    names.LOCK: ByHand("no", "an empty file: nothing is gained"),
}
_ORPHAN: Final = ByHand("yes", "an index without its .log: a broker deletes it when it loads")
_UNSWAPPED: Final = ByHand(
    "look", "a broker deletes it when it starts: with a .cleaned file beside, it is incomplete"
)
_SWAPPED: Final = ByHand("no", "its .log.swap becomes the segment's .log when a broker loads it")
_TEMPORARY: Final = ByHand("yes", "a file that was being written: a broker writes it again")
_UNKNOWN: Final = ByHand("look", "Kafka does not know such a file; somebody put it there")


def swapped_in(partition: DiskPartition) -> frozenset[str]:
    """Return the names of the `.swap` files that a broker renames, for `by_hand`."""
    return frozenset(entry.name for entry, _ in swaps(partition))


def by_hand(entry: FileEntry, partition: DiskPartition | None, swapped: Collection[str]) -> ByHand:
    """Return whether a file may be deleted by hand.

    Args:
        entry: the file.
        partition: its partition directory; None: it is in the log directory itself.
        swapped: `swapped_in` of the partition.
    """
    if partition is not None and partition.kind in _DIRECTORIES:
        return _DIRECTORIES[partition.kind]
    if entry.name in _NAMED:
        return _NAMED[entry.name]
    if entry.name.endswith(names.TEMPORARY):
        return _TEMPORARY
    name = names.parse_file_name(entry.name)
    if name is None or partition is None:
        return _UNKNOWN
    if name.suffix == names.SWAP and entry.name not in swapped:
        return _UNSWAPPED
    if name.suffix in _SUFFIXES:
        return _SUFFIXES[name.suffix]
    if entry in partition.orphans:
        swap = names.file_name("log", name.offset, names.SWAP)
        return _SWAPPED if swap in swapped else _ORPHAN
    return _SEGMENT.get(name.kind, _UNKNOWN)
