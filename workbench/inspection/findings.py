"""A finding: one thing that is not as a broker would leave it, and what a broker would do about it.

Findings are values, not exceptions: inspection reports and goes on. `KINDS` lists every kind.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

from workbench.layout import problems
from workbench.record.reader import Problem

Severity = Literal["info", "warning", "error"]
SEVERITIES: Final[tuple[Severity, ...]] = ("info", "warning", "error")  # ascending

KINDS: Final[dict[str, str]] = {
    # the batches of a .log file
    "crc": "the stored CRC is not that of the bytes",
    "batch-size": "a batch's size cannot be",
    "magic": "a format number that is not known",
    "codec": "a compression that is not known, or not allowed in this format",
    "record-count": "a number of records that cannot be",
    "compression": "compressed records that cannot be decompressed",
    "record": "the fields of a record do not fit together",
    "undecoded": "keys or values that a scan cannot decode as it was told to",
    "record-offset": "a record's offset does not ascend, or is outside its batch",
    "offset-order": "a batch does not begin behind the one before it",
    "offset-range": "offsets that belong to another segment",
    "offset-overflow": "an offset too far from the segment's base offset for its indexes",
    "batch-epoch": "a batch's leader epoch falls, or is not that of the leader epoch file",
    "torn-tail": "the file ends inside a batch",
    "zero-tail": "zeros behind the last batch",
    "garbage-tail": "bytes behind the last batch that are no batch",
    "missing-offsets": "offsets between two segments that compaction does not explain",
    # the indexes of a segment
    "index-missing": "no .index beside the .log",
    "index-size": "an .index that ends inside an entry",
    "index-zeros": "zeros behind the entries of a segment that is finished or was closed",
    "index-order": "entries of an .index that do not ascend",
    "index-entry": "an entry of an .index that leads to no batch, or to another",
    "index-beyond-end": "an entry of an .index behind the end of the log",
    "time-index-missing": "no .timeindex beside the .log",
    "time-index-size": "a .timeindex that ends inside an entry",
    "time-index-zeros": "as index-zeros, for a .timeindex",
    "time-index-order": "entries of a .timeindex that do not ascend",
    "time-index-entry": "an entry of a .timeindex that the batches do not bear out",
    "time-index-beyond-end": "an entry of a .timeindex behind the end of the log",
    "time-index-short": "a .timeindex that does not end with the segment's largest timestamp",
    "transaction-index-size": "a .txnindex that ends inside an entry",
    "transaction-index-version": "an entry of a .txnindex in a version that is not known",
    "transaction-index-entry": "an entry of a .txnindex that the markers do not bear out",
    "transaction-index-incomplete": "an aborted transaction that is in no .txnindex",
    # what a partition's folder says besides
    "snapshot-damaged": "a producer snapshot that a broker would not read",
    "snapshot-contents": "a producer snapshot that speaks of offsets behind its own",
    "snapshot-beyond-end": "a producer snapshot behind the end of the log",
    "snapshot-missing": "no producer snapshot at the end of a log that was closed",
    "leader-epochs-damaged": "a leader-epoch-checkpoint that cannot be read",
    "leader-epochs-missing": "no leader-epoch-checkpoint or no entries, though batches have epochs",
    "leader-epochs-mismatch": "a leader-epoch-checkpoint that batches or the log end contradict",
    "partition-metadata-damaged": "a partition.metadata that cannot be read",
    "partition-metadata-missing": "no partition.metadata, though other partitions have it",
    "topic-id": "a topic id shared by two topics, or two ids of one topic",
    "quorum-state-damaged": "a quorum-state that cannot be read",
    "metadata-snapshot-missing": "a metadata log from above 0 on, without a snapshot up to there",
    "leftover-deleted": "files that wait for their removal",
    "leftover-cleaned": "files of a cleaning that was not finished",
    "leftover-swap": "files of a cleaning that were about to replace others",
    "leftover-temporary": "a file that was being written",
    "orphan": "an index without its .log",
    "file-name": "a name that ends as a segment's file but does not begin with 20 digits",
    "unknown-file": "a file that no broker makes",
    "unknown-folder": "a folder that no broker makes",
    "no-segments": "a partition's folder without a .log",
    # a log directory
    "topic-name": "a folder named after a topic that could not be created",
    "duplicate-partition": "one partition in two log directories",
    "directory-deleted": "a partition's folder that waits for its removal",
    "directory-stray": "a partition's folder that belongs to no topic of the cluster",
    "directory-future": "a partition's folder that is being copied from another log directory",
    "checkpoint-damaged": "an offset checkpoint that cannot be read",
    "checkpoint-missing": "no checkpoint of a kind that a clean stop always leaves",
    "checkpoint-beyond-end": "a checkpointed offset behind the end of its log",
    "checkpoint-stale": "a checkpointed offset older than the log",
    "checkpoint-partition": "a checkpoint names partitions whose folders are not there",
    "not-checkpointed": "a partition that no checkpoint names, though the stop was clean",
    "meta-properties-damaged": "a meta.properties that cannot be read",
    "meta-properties-missing": "no meta.properties",
    "meta-properties-mismatch": "log directories of different brokers or clusters, or one twice",
    "clean-shutdown-damaged": "a .kafka_cleanshutdown that cannot be read",
    "open-transaction": "a transaction that nobody will end",
    "unreadable": "a file that the system does not let us read",
}  # fmt: skip
"""Kind → what it means. Scripts may rely on the names."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding.

    Attributes:
        kind: a short fixed name out of `KINDS`, for filters: ``crc``, ``torn-tail``, …
        severity: "error": data are lost or unreadable, or a broker would not start; "warning": a
            broker would repair it or go on with less; "info": worth knowing, nothing wrong.
        path: file or folder.
        position: byte in the file; None when the whole file is meant.
        offset: record offset nearby; None when unknown.
        found, expected: in words.
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
        return f"{self.severity}: {self.path}{at}{near}: {self.kind}: {self.found}{wanted}"

    def as_dict(self) -> dict[str, Any]:
        """Return the finding as JSON takes it."""
        return asdict(self)


def worst(findings: Sequence[Finding]) -> Severity | None:
    """Return the highest severity among findings; None when there are none."""
    return max((f.severity for f in findings), key=SEVERITIES.index, default=None)


_RECOVERY: Final = (
    "Not noticed after a clean stop: consumers fail at this batch. After an unclean stop, recovery "
    "cuts the log here if it lies at or behind the recovery point, and drops all later segments."
)
_UNSEEN: Final = (
    "Recovery does not look inside batches, so it stays; consumers fail when they get to it."
)
_OUTSIDE_CRC: Final = (
    "Recovery keeps it, for the byte is not covered by the CRC; consumers stop at this batch."
)
_LOST_WAY: Final = (
    "At the end of the last segment: a broker that was stopped cleanly does not start "
    "(CorruptRecordException); after an unclean stop recovery cuts the log here. "
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
}


def finding_of(problem: Problem, path: str, broker: str | None = None) -> Finding:
    """Return what the record reader left out as a finding.

    Args:
        problem: of the reader.
        path: of the `.log` file.
        broker: what a broker would do; left out, what it does in general.
    """
    kind, in_general = _OF_PROBLEM.get(problem.code, ("record", _UNSEEN))
    words = problems.WORDS[problem.code]
    return Finding(
        kind=kind,
        severity="error",
        path=path,
        position=problem.position,
        offset=None if problem.offset < 0 else problem.offset,
        found=f"{words}: {problem.found}" if problem.found else words,
        expected=problem.expected,
        broker=in_general if broker is None else broker,
    )


def without_info(findings: list[Finding]) -> list[Finding]:
    """Return the warnings and errors: a healthy directory has none of either."""
    return [finding for finding in findings if finding.severity != "info"]
