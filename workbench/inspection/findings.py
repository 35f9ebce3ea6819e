"""A finding: one thing that no broker would leave like this, and what a broker would do about it.

Findings are values, not exceptions: inspection reports and continues. `KINDS` lists every kind.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, get_args

from workbench.layout import problems
from workbench.record.reading.reader import Problem
from workbench.runtime.words import safe

Severity = Literal["info", "warning", "error"]
SEVERITIES: Final[tuple[Severity, ...]] = get_args(Severity)  # ascending

KINDS: Final[dict[str, str]] = {
    # the batches of a .log file
    "crc": "a stored CRC that does not match the bytes",
    "batch-size": "a batch size that is not possible",
    "magic": "an unknown magic",
    "codec": "a compression codec that is unknown, or not allowed with this magic",
    "record-count": "a record count that is not possible",
    "compression": "compressed records that cannot be decompressed",
    "batch-too-large": "a batch whose records need more memory than one batch is allowed",
    "record": "a record whose fields do not fit together",
    "undecoded": "keys or values that the scan's decoder cannot decode",
    "record-offset": "a record's offset does not ascend, or is outside its batch",
    "offset-order": "a batch that does not begin after the previous one",
    "offset-range": "offsets that belong to another segment",
    "offset-overflow": "an offset too far from the segment's base offset for its indexes",
    "batch-epoch": "a batch's leader epoch falls, or differs from the leader epoch file",
    "torn-tail": "the file ends inside a batch",
    "zero-tail": "zeros after the last batch",
    "garbage-tail": "bytes after the last batch that are not a batch",
    "missing-offsets": "offsets between two segments that compaction does not explain",
    # the indexes of a segment
    "index-too-large": "an index of any kind with more entries than inspection reads",
    "index-missing": "no .index beside the .log",
    "index-size": "an .index that ends inside an entry",
    "index-zeros": "zeros after the entries of an .index of a rolled or closed segment",
    "index-order": "entries of an .index that do not ascend",
    "index-entry": "an entry of an .index that points to no batch, or to the wrong one",
    "index-beyond-end": "an entry of an .index past the end of the log",
    "time-index-missing": "no .timeindex beside the .log",
    "time-index-size": "a .timeindex that ends inside an entry",
    "time-index-zeros": "zeros after the entries of a .timeindex of a rolled or closed segment",
    "time-index-order": "entries of a .timeindex that do not ascend",
    "time-index-entry": "an entry of a .timeindex that contradicts the batches",
    "time-index-beyond-end": "an entry of a .timeindex past the end of the log",
    "time-index-short": "a .timeindex that does not end with the segment's largest timestamp",
    "timestamp-range": "a timestamp that is hardly one in ms: of another unit, or far out of range",
    "time-lookup-blind": "a segment without timestamps that ends lookups before later records",
    "transaction-index-size": "a .txnindex that ends inside an entry",
    "transaction-index-version": "an entry of a .txnindex in an unknown version",
    "transaction-index-entry": "an entry of a .txnindex that contradicts the transaction markers",
    "transaction-index-incomplete": "an aborted transaction that is in no .txnindex",
    # the other files of a partition directory
    "snapshot-damaged": "a producer snapshot that a broker would not read",
    "snapshot-contents": "a producer snapshot with an offset that is not below its own",
    "snapshot-beyond-end": "a producer snapshot past the end of the log",
    "snapshot-missing": "no producer snapshot at the end of a log that was closed",
    "leader-epochs-damaged": "a leader-epoch-checkpoint that cannot be read",
    "leader-epochs-missing": "no leader-epoch-checkpoint or no entries, though batches have epochs",
    "leader-epochs-mismatch": "a leader-epoch-checkpoint that contradicts the batches or the log",
    "partition-metadata-damaged": "a partition.metadata that cannot be read",
    "partition-metadata-missing": "no partition.metadata, though other partitions have it",
    "topic-id": "a topic id shared by two topics, or two ids of one topic",
    "quorum-state-damaged": "a quorum-state that cannot be read",
    "metadata-snapshot-damaged": "the newest snapshot of a metadata log, with unreadable batches",
    "metadata-snapshot-missing": "a metadata log that starts above 0, but no snapshot up to there",
    "leftover-deleted": "files that wait for deletion",
    "leftover-cleaned": "files of an incomplete cleaning",
    "leftover-swap": "files of a cleaning that were about to replace others",
    "leftover-temporary": "a file that was being written",
    "orphan": "an index without its .log",
    "file-name": "a segment file's name that does not begin with 20 digits",
    "unknown-file": "a file that no broker creates",
    "unknown-folder": "a folder that no broker creates",
    "no-segments": "a partition directory without a .log",
    # a log directory
    "topic-name": "a directory named after a topic that could not be created",
    "duplicate-partition": "one partition in two log directories",
    "directory-deleted": "a partition directory that waits for deletion",
    "directory-stray": "a partition directory that belongs to no topic of the cluster",
    "directory-future": "a partition directory that is being copied from another log directory",
    "checkpoint-damaged": "an offset checkpoint that cannot be read",
    "checkpoint-missing": "no checkpoint of a kind that a clean shutdown always leaves",
    "checkpoint-beyond-end": "a checkpointed offset past the end of its log",
    "checkpoint-stale": "a checkpointed offset older than the log",
    "checkpoint-partition": "a checkpoint names partitions that have no directory",
    "not-checkpointed": "a partition that no checkpoint names, despite a clean shutdown",
    "meta-properties-damaged": "a meta.properties that cannot be read",
    "meta-properties-missing": "no meta.properties",
    "meta-properties-mismatch": "log directories of different brokers or clusters, or one twice",
    "bootstrap-damaged": "a bootstrap.checkpoint without metadata.version",
    "metadata-record": "a record of a metadata log that no node can apply",
    "topic-config": "a stored configuration of a topic that the broker's version refuses",
    "metadata-log-place": "a metadata log that is not in the first log directory",
    "topic-unknown": "a partition that the recovered metadata log does not assign to its broker",
    "clean-shutdown-damaged": "a .kafka_cleanshutdown that cannot be read",
    "open-transaction": "a transaction that is open for longer than its coordinator allows",
    # the remote tier
    "remote-metadata-missing": "remote segments, but no record of __remote_log_metadata about them",
    "remote-metadata-damaged": "a record of __remote_log_metadata that cannot be read",
    "remote-unreadable": "a remote segment that its manifest, or the keys at hand, do not open",
    "remote-missing": "a remote segment without its files",
    "remote-orphan": "files in the remote tier that no metadata names",
    "remote-unfinished": "a remote segment whose copy or deletion is not complete",
    "remote-gap": "offsets that neither remote nor local segments have",
    "remote-size": "a remote segment whose size contradicts its metadata",
    "remote-offsets": "a remote segment whose offsets contradict its metadata",
    "remote-epochs": "leader epochs of a remote segment that its batches or its partition deny",
    # the coordinators' topics
    "group-record": "a record of __consumer_offsets that a broker cannot load",
    "share-record": "a record of __share_group_state that a broker cannot load",
    "group-partition": "a group in another partition than its name's hash selects",
    "hanging-transaction": "an open transaction that its coordinator does not know",
    "prepared-transaction": "a transaction whose end is decided, without its transaction markers",
    "unprepared-marker": "a transaction marker whose decision is not in __transaction_state",
    "marker-without-data": "a transaction marker without data, and nothing that explains it",
    "transaction-record": "a record of __transaction_state that a broker cannot load",
    "transaction-partition": "a transactional id in another partition than its hash selects",
    # the replicas of a partition
    "replica-lag": "a replica that lacks the end of the log, and nothing else",
    "replica-divergence": "two replicas with different records at one offset",
    "replica-gap": "a record that only one replica has, which compaction does not explain",
    "silent-divergence": "different records that no follower would truncate",
    "needless-truncation": "a follower that would truncate what its leader has, too",
    "committed-lost": "committed records that the replica ahead does not have",
    "unclean-election": "an epoch that begins below a high watermark",
    "leader-behind": "a leader whose log ends below the high watermark of an in-sync replica",
    "compacted-apart": "old records that compaction has dropped on one replica only",
    "out-of-sync": "a replica that is not in sync by the cluster's metadata",
    "replica-missing": "a broker without a log of a partition that is assigned to it",
    "replica-unassigned": "a log of a partition that is not assigned to its broker",
    "cluster-id": "log directories of different clusters",
    "unreadable": "a file or folder that the operating system refuses to read",
    "not-a-file": "a FIFO, socket, device or folder where a file should be; not opened",
    "link-not-followed": "a link that leads out of the directory, nowhere, or in a circle",
}  # fmt: skip
"""Kind → what it means. Scripts may rely on the names."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding.

    Attributes:
        kind: a short fixed name from `KINDS`, for filters: ``crc``, ``torn-tail``, …
        severity: "error": data are lost or unreadable, or a broker would not start; "warning": a
            broker would repair it or continue with less; "info": worth knowing, nothing wrong.
        path: file or folder.
        position: byte in the file; None when the finding is about the whole file.
        offset: record offset nearby; None when unknown.
        found, expected: what is there and what should be, as text.
        broker: what a broker would do about it.
    """

    kind: str
    severity: Severity
    path: str
    position: int | None
    offset: int | None
    found: str
    expected: str
    broker: str

    def __str__(self) -> str:
        at = "" if self.position is None else f" at byte {self.position}"
        near = "" if self.offset is None else f" (offset {self.offset})"
        wanted = f", expected {self.expected}" if self.expected else ""
        return safe(f"{self.severity}: {self.path}{at}{near}: {self.kind}: {self.found}{wanted}")

    def as_dict(self) -> dict[str, Any]:
        """Return the finding as an object for JSON."""
        return asdict(self)


def worst(findings: Sequence[Finding]) -> Severity | None:
    """Return the highest severity among findings; None when there are none."""
    return max((f.severity for f in findings), key=SEVERITIES.index, default=None)


_RECOVERY: Final = (
    "After a clean shutdown, a broker starts without checking: consumers fail at this batch. After "
    "an unclean one, recovery truncates the log here if this is at or after the recovery point, "
    "and drops all later segments."
)
_UNSEEN: Final = (
    "Recovery does not look inside batches and keeps this one; consumers fail when they reach it."
)
_OUTSIDE_CRC: Final = (
    "Recovery keeps the batch because the CRC does not cover its magic; consumers stop here."
)
_TOO_LARGE: Final = "Brokers and consumers read the batch if their memory is large enough."
_CUT: Final = "Brokers and consumers read the messages before it, and do not report this one."
_LOST_WAY: Final = (
    "At the end of the last segment: after a clean shutdown, a broker does not start "
    "(CorruptRecordException); after an unclean one, recovery truncates the log here. "
    "Elsewhere consumers fail here."
)

_OF_PROBLEM: Final = {
    problems.BAD_SIZE: ("batch-size", _LOST_WAY),
    problems.SHORT_BATCH: ("batch-size", _RECOVERY),
    problems.UNKNOWN_MAGIC: ("magic", _OUTSIDE_CRC),
    problems.UNKNOWN_CODEC: ("codec", _RECOVERY),
    problems.BAD_COUNT: ("record-count", _UNSEEN),
    problems.CRC_MISMATCH: ("crc", _RECOVERY),
    problems.BAD_COMPRESSION: ("compression", _UNSEEN),
    problems.ZSTD_IN_OLD_FORMAT: ("codec", _UNSEEN),
    problems.TOO_LARGE: ("batch-too-large", _TOO_LARGE),
    problems.CUT_WRAPPER: ("record", _CUT),
}
_OF_OTHERS: Final = ("record", _UNSEEN)
_TORN: Final = (
    "After a clean shutdown, a broker does not detect it: consumers continue in the next segment. "
    "After an unclean one, recovery truncates these bytes if they are past the recovery point, and "
    "deletes later segments."
)


def kind_of(problem: Problem) -> str:
    """Return the kind of `finding_of` a problem."""
    return _OF_PROBLEM.get(problem.code, _OF_OTHERS)[0]


def finding_of(problem: Problem, path: str, broker: str | None = None) -> Finding:
    """Return the finding for bytes that the record reader left out.

    Args:
        problem: the reader's problem.
        path: the `.log` file.
        broker: what a broker would do; None for what it does in general.
    """
    kind, in_general = _OF_PROBLEM.get(problem.code, _OF_OTHERS)
    words = problems.WORDS[problem.code]
    return Finding(
        kind=kind,
        severity="error" if problem.size else "warning",  # its records were rescued
        path=path,
        position=problem.position,
        offset=None if problem.offset < 0 else problem.offset,
        found=f"{words}: {problem.found}" if problem.found else words,
        expected=problem.expected,
        broker=in_general if broker is None else broker,
    )


def torn_tail(path: str, position: int, size: int) -> Finding:
    """Return the finding for bytes after the last batch of a segment that others follow.

    Args:
        path: the `.log` file.
        position: where the bytes begin.
        size: of the file, in bytes.
    """
    found = f"{size - position} bytes of an incomplete batch"
    return Finding(
        "torn-tail", "error", path, position, None, found, "the file to end with a batch", _TORN
    )


def without_info(findings: list[Finding]) -> list[Finding]:
    """Return the warnings and errors: a healthy directory has none of either."""
    return [finding for finding in findings if finding.severity != "info"]
