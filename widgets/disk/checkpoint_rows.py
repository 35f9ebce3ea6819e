"""Checkpoints and metadata files as rows: what the files say, what the log holds, what disagrees.

Offsets are sent as texts, because JavaScript cannot hold every 64-bit number.
"""

from collections.abc import Iterable
from typing import Any, Final

from widgets.view.text import short_names
from widgets.view.tree import KINDS
from workbench.inspection.facts.checkpoint_table import (
    CLEANER_OFFSET,
    DIRECTORY,
    HIGH_WATERMARK,
    LEADER_EPOCH,
    LOG_START,
    QUORUM,
    RECOVERY_POINT,
    TOPIC_ID,
    Checkpoints,
    DirectoryCheckpoints,
    PartitionCheckpoints,
)
from workbench.inspection.findings import Finding
from workbench.inspection.listing import Listing
from workbench.runtime.words import plural, size_text

Row = dict[str, Any]

COLUMNS: Final = (
    LOG_START,
    RECOVERY_POINT,
    HIGH_WATERMARK,
    CLEANER_OFFSET,
    LEADER_EPOCH,
    TOPIC_ID,
    QUORUM,
    DIRECTORY,
)

WORDS: Final = {
    LOG_START: "log start offset",
    RECOVERY_POINT: "recovery point",
    HIGH_WATERMARK: "high watermark",
    CLEANER_OFFSET: "cleaner offset",
}

_STOPS: Final = {
    "clean": "clean: a broker trusts the files and recovers nothing",
    "unclean": "unclean: a broker recovers each log from its recovery point",
    "running": "none: a process holds the lock",
    "unknown": "unknown: a part of a log directory",
}


def directory_rows(table: Checkpoints) -> list[Row]:
    """Return a row per log directory: its path and short name, facts as [name, text], findings."""
    names = short_names([each.path for each in table.directories])
    return [
        {
            "path": each.path,
            "name": name,
            "stop": each.stop,
            "facts": _facts(each),
            "findings": [
                finding_row(finding) for found in each.findings.values() for finding in found
            ],
        }
        for each, name in zip(table.directories, names, strict=True)
    ]


def _facts(row: DirectoryCheckpoints) -> list[list[str]]:
    shutdown = _STOPS[row.stop]
    facts = [["shutdown", shutdown]]
    if row.broker_epoch is not None:
        facts.append(["broker epoch", f"{row.broker_epoch:,}"])
    if row.version is None:
        facts.append(["meta.properties", "none, or not readable"])
    else:
        facts.append(["meta.properties", f"version {row.version}"])
    for name, value in (
        ("cluster id", row.cluster_id),
        ("node id", row.node_id),
        ("directory id", row.directory_id),
    ):
        if value is not None:
            facts.append([name, str(value)])
    facts += [[name, plural(count, "entry", "entries")] for name, count in row.entries.items()]
    return facts


def partition_rows(table: Checkpoints, listing: Listing) -> list[Row]:
    """Return one row per partition, those with errors and warnings first.

    Returns:
        ``key`` (name in ``listing.partitions``; None without a directory), ``name``, ``directory``
        (path), ``kind``, ``first`` and ``end`` of the log, ``offsets`` by column, ``epoch`` and
        ``epoch_start``, ``topic_id``, ``quorum`` as [name, text], and ``findings`` by column.
    """
    keys = {partition.path: name for name, partition in listing.partitions.items()}
    rows = [
        _row(each, None if each.path is None else keys.get(each.path)) for each in table.partitions
    ]
    return sorted(rows, key=lambda row: row["weight"])


def _row(row: PartitionCheckpoints, key: str | None) -> Row:
    findings = {
        column: [_named(finding_row(finding), row, column) for finding in row.findings[column]]
        for column in COLUMNS
        if column in row.findings
    }
    severities = {each["severity"] for found in findings.values() for each in found}
    weight = 0 if "error" in severities else 1 if "warning" in severities else 2
    epoch = row.leader_epoch
    return {
        "key": key,
        "name": row.name,
        "directory": row.root,
        "kind": "no directory" if row.path is None else KINDS.get(row.kind, ""),
        "first": _text(row.first_offset),
        "end": _text(row.log_end),
        "offsets": {name: str(offset) for name, offset in row.offsets.items()},
        "epoch": None if epoch is None else str(epoch.epoch),
        "epoch_start": None if epoch is None else str(epoch.start_offset),
        "topic_id": row.topic_id,
        "quorum": _quorum(row),
        "findings": findings,
        "weight": weight,
    }


def _named(found: dict[str, str], row: PartitionCheckpoints, column: str) -> dict[str, str]:
    """Say which checkpoint a finding is about, instead of the partition."""
    if column in row.offsets and found["found"].startswith(f"{row.name} "):
        found["found"] = f"{WORDS[column]} {row.offsets[column]:,}"
    return found


def _quorum(row: PartitionCheckpoints) -> list[list[str]]:
    state = row.quorum
    if state is None:
        return []
    known = [
        ("leader id", state.leader_id),
        ("leader epoch", state.leader_epoch),
        ("voted id", state.voted_id),
        ("voted directory id", state.voted_directory_id),
        ("voters", None if state.current_voters is None else list(state.current_voters)),
        ("version", state.version),
    ]
    return [[name, str(value)] for name, value in known if value is not None]


def _text(number: int | None) -> str | None:
    return None if number is None else str(number)


def finding_row(finding: Finding) -> dict[str, str]:
    """Return a finding as it is shown: kind, severity, file, found, expected, broker."""
    return {
        "kind": finding.kind,
        "severity": str(finding.severity),
        "path": finding.path,
        "found": finding.found,
        "expected": finding.expected,
        "broker": finding.broker,
    }


def count_findings(rows: Iterable[Row], directories: Iterable[Row]) -> int:
    """Return how many errors and warnings are in the rows."""
    found = [each for row in rows for some in row["findings"].values() for each in some]
    found += [each for row in directories for each in row["findings"]]
    return sum(each["severity"] != "info" for each in found)


def summary(table: Checkpoints, size: int) -> str:
    """Return how many directories and partitions there are, and how large their logs."""
    parts = [plural(len(table.partitions), "partition"), f"{size_text(size)} of records"]
    if len(table.directories) != 1:
        parts.insert(0, plural(len(table.directories), "log directory", "log directories"))
    return " · ".join(parts)
