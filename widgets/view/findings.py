"""Findings as rows of the finding list, tied to the segment and batch they are about."""

import os
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import groupby
from typing import Any

import numpy as np

from workbench.inspection.findings import KINDS, Finding
from workbench.inspection.partition import DiskPartition
from workbench.inspection.segment import Segment
from workbench.loaders.offsets.damage import loss_text, losses_by_place, losses_of_damaged


def finding_rows(
    key: str, partition: DiskPartition, findings: Iterable[Finding]
) -> list[dict[str, Any]]:
    """Return one row per finding, in the order given.

    Args:
        key: the partition's name in the explorer.
        partition: the verified partition.
        findings: findings about files in the partition directory; others (about checkpoints of the
            log directory) have no segment.
    """
    segments = (*partition.segments, *partition.remote_segments)
    by_file = {file.name: segment for segment in segments for file in segment.files.values()}
    mine = list(findings)
    lost = losses_by_place(losses_of_damaged([partition], mine))
    rows = []
    for finding in mine:
        name = os.path.basename(finding.path)
        segment = by_file.get(name)
        loss = lost.get((finding.path, finding.position))
        rows.append(
            _row(finding)
            | {
                "partition": key,
                "topic": partition.topic,
                "segment": None if segment is None else str(segment.base_offset),
                "batch_position": _batch_position(segment, name, finding.position),
                "lost": "" if loss is None else loss_text(loss),
            }
        )
    return rows


def _row(finding: Finding) -> dict[str, Any]:
    """Return what a row says; partition, topic, segment and batch are None, nothing is lost."""
    return {
        "partition": None,
        "topic": None,
        "segment": None,
        "batch_position": None,
        "severity": str(finding.severity),
        "kind": finding.kind,
        "meaning": KINDS.get(finding.kind, ""),
        "path": finding.path,
        "file": os.path.basename(finding.path),
        "position": finding.position,
        "offset": None if finding.offset is None else str(finding.offset),
        "found": str(finding.found),
        "expected": str(finding.expected),
        "broker": finding.broker,
        "lost": "",
    }


def rows_by_place(
    findings: Iterable[Finding], partitions: Mapping[str, DiskPartition]
) -> list[dict[str, Any]]:
    """Return one row per finding, in partitions or not, in the order given.

    Args:
        findings: about anything in log directories.
        partitions: by their names in the explorer.
    """
    names = {partition.path: name for name, partition in partitions.items()}
    roots = {os.path.dirname(path) for path in names}
    remote = cache(lambda: _remote_folders(partitions))

    def place(finding: Finding) -> str | None:
        folder = os.path.dirname(finding.path)
        name = names.get(finding.path) or names.get(folder)
        return name if name or folder in roots else remote().get(folder)

    rows: list[dict[str, Any]] = []
    for key, together in groupby(findings, place):
        mine = list(together)
        rows += map(_row, mine) if key is None else finding_rows(key, partitions[key], mine)
    return rows


def _remote_folders(partitions: Mapping[str, DiskPartition]) -> dict[str, str]:
    """Return folder of remote segments → name of the partition."""
    return {
        os.path.dirname(segment.path): name
        for name, partition in partitions.items()
        if partition.remote is not None
        for segment in partition.remote_segments
    }


def count_by_node(rows: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """Return how many findings of each severity are about each partition, file or folder.

    Returns:
        Key of the tree's node (a partition's name, otherwise a path) → severity → count.
    """
    counts: dict[str, dict[str, int]] = {}
    for row in rows:
        mine = counts.setdefault(row["partition"] or row["path"], {})
        mine[row["severity"]] = mine.get(row["severity"], 0) + 1
    return counts


def _batch_position(segment: Segment | None, name: str, position: int | None) -> int | None:
    """Return the start of the batch that a finding in a `.log` file is about."""
    if segment is None or position is None or not name.endswith(".log"):
        return None
    starts = segment.batches.rows["position"]
    row = int(np.searchsorted(starts, position, side="right")) - 1
    if row < 0 or position >= starts[row] + segment.batches.rows["size"][row]:
        return None
    return int(starts[row])
