"""A finding: one thing that is not as a broker would leave it, and what a broker would do about it.

Findings are values, not exceptions: inspection reports and goes on.
"""

from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

from workbench.layout import problems
from workbench.record.reader import Problem

Severity = Literal["info", "warning", "error"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding.

    Attributes:
        kind: a short fixed name, for filters: ``crc``, ``torn-tail``, ``index-order``, …
        severity: "error": data are lost or unreadable, or a broker would not start; "warning": a broker
            would repair it or go on with less; "info": worth knowing, nothing wrong.
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


_RECOVERY: Final = (
    "Not noticed after a clean stop: consumers fail at this batch. After an unclean stop, recovery "
    "cuts the log here if it lies at or behind the recovery point, and drops all later segments."
)
_UNSEEN: Final = "Recovery does not look inside batches, so it stays; consumers fail when they get to this batch."
_OUTSIDE_CRC: Final = (
    "Recovery keeps it, for the byte is not covered by the CRC; consumers stop at this batch."
)
_LOST_WAY: Final = (
    "At the end of the last segment: a broker that was stopped cleanly does not start "
    "(CorruptRecordException); after an unclean stop recovery cuts the log here. Elsewhere consumers "
    "fail here."
)

_KINDS: Final = {
    problems.BAD_SIZE: ("batch-size", _LOST_WAY),
    problems.SHORT_BATCH: ("batch-size", _RECOVERY),
    problems.UNKNOWN_MAGIC: ("magic", _OUTSIDE_CRC),
    problems.UNKNOWN_CODEC: ("codec", _RECOVERY),
    problems.BAD_COUNT: ("record-count", _UNSEEN),
    problems.CRC_MISMATCH: ("crc", _RECOVERY),
    problems.BAD_COMPRESSION: ("compression", _UNSEEN),
    problems.ZSTD_IN_OLD_FORMAT: ("codec", _UNSEEN),
}


def finding_of(problem: Problem, path: str) -> Finding:
    """Return what the record reader left out as a finding."""
    kind, broker = _KINDS.get(problem.code, ("record", _UNSEEN))
    words = problems.WORDS[problem.code]
    return Finding(
        kind=kind,
        severity="error",
        path=path,
        position=problem.position,
        offset=None if problem.offset < 0 else problem.offset,
        found=f"{words}: {problem.found}" if problem.found else words,
        expected=problem.expected,
        broker=broker,
    )
