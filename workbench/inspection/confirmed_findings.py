"""Check what a broker may be changing, and report only what a second look confirms.

A broker rolls, cleans and deletes segments while they are checked: between two of its steps an
index does not exist yet, or a `.swap` still does. A topic that is deleted and made again has the
offsets of the old one in a checkpoint; a transaction has ended, and its marker is not written yet.
The next look no longer finds such a state.
"""

import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final

from workbench.inspection.findings import Finding
from workbench.inspection.partition import DiskPartition
from workbench.inspection.verify.partition import PartitionResult
from workbench.inspection.verify.shutdown_state import WAITS

Check = Callable[..., PartitionResult]

_SURE: Final = frozenset({
    "crc", "batch-size", "magic", "codec", "record-count", "compression", "record", "record-offset",
    "unreadable", "not-a-file", "link-not-followed",
})  # fmt: skip
"""Kinds that depend on the bytes of one file: a running broker neither causes nor repairs them."""

_LATER_WAITS: Final = (1.0, 5.0)
"""Seconds before the last looks: a broker checkpoints its high watermarks every 5 s."""


def check_twice(
    partition: DiskPartition, check: Check, *, deep: bool, is_running: bool
) -> PartitionResult:
    """Check a partition, and drop what a second look does not find again.

    A directory that no process changes is checked once.

    Args:
        partition: the partition.
        check: checks a partition; ``deep`` is its only other argument.
        deep: the first look reads CRCs and records.
        is_running: whether a broker is known to run on the directory.
    """
    result = check(partition, deep=deep)
    for wait in WAITS:
        if not any(map(_is_doubtful, result.findings)):
            break
        now = partition.listed_again()
        if not is_running and now.names == partition.names:
            break
        if partition.is_here and not os.path.lexists(partition.path):
            return PartitionResult([], None)
        if is_running:
            time.sleep(wait)
            now = partition.listed_again()
        kept = _found_again(result.findings, check(now, deep=False).findings)
        result = replace(result, findings=kept)
    return result


def confirmed(findings: Sequence[Finding], look: Callable[[], Iterable[Finding]]) -> list[Finding]:
    """Return findings in a directory that a broker runs on, without what is not found again.

    Args:
        findings: what the first look found.
        look: looks again, at everything as it is then.
    """
    kept = [*findings]
    for wait in (*WAITS, *_LATER_WAITS):
        if not any(map(_is_doubtful, kept)):
            break
        time.sleep(wait)
        kept = _found_again(kept, look())
    return kept


def _found_again(findings: Iterable[Finding], again: Iterable[Finding]) -> list[Finding]:
    """Return the findings that are sure, or among those of another look."""
    keys = {_key(finding) for finding in again}
    return [each for each in findings if not _is_doubtful(each) or _key(each) in keys]


def _is_doubtful(finding: Finding) -> bool:
    return finding.severity != "info" and finding.kind not in _SURE


def _key(finding: Finding) -> tuple[str, str, int | None]:
    return finding.kind, finding.path, finding.offset
