"""Findings as rows of the finding list, tied to the segment and batch they are about."""

import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from workbench.inspection.findings import Finding
from workbench.inspection.partition import Partition
from workbench.inspection.segment import Segment


def finding_rows(
    key: str, partition: Partition, findings: Iterable[Finding]
) -> list[dict[str, Any]]:
    """Return one row per finding, in the order given.

    Args:
        key: the partition's name in the explorer.
        partition: the verified partition.
        findings: findings about files in the partition directory; others (about checkpoints of the
            log directory) have no segment.
    """
    by_file = {
        file.name: segment for segment in partition.segments for file in segment.files.values()
    }
    rows = []
    for finding in findings:
        name = os.path.basename(finding.path)
        segment = by_file.get(name)
        rows.append(
            {
                "partition": key,
                "segment": None if segment is None else str(segment.base_offset),
                "batch_position": _batch_position(segment, name, finding.position),
                "severity": str(finding.severity),
                "kind": finding.kind,
                "file": name,
                "position": finding.position,
                "offset": None if finding.offset is None else str(finding.offset),
                "found": str(finding.found),
                "expected": str(finding.expected),
                "broker": finding.broker,
            }
        )
    return rows


def _batch_position(segment: Segment | None, name: str, position: int | None) -> int | None:
    """Return the start of the batch that a finding in a `.log` file is about."""
    if segment is None or position is None or not name.endswith(".log"):
        return None
    starts = segment.batches.rows["position"]
    row = int(np.searchsorted(starts, position, side="right")) - 1
    if row < 0 or position >= starts[row] + segment.batches.rows["size"][row]:
        return None
    return int(starts[row])
