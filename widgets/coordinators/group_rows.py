"""A group's tables as rows of text: its partitions, its rules, its facts."""

from collections.abc import Iterable
from typing import Any, Final

from widgets.view.records import Lens
from widgets.view.text import plural, time_text
from workbench.loaders.tables.group_explanation import GroupExplanation

UNKNOWN: Final = "–"


def partition_rows(offsets: Iterable[dict[str, Any]], lens: Lens) -> list[dict[str, Any]]:
    """Return what is shown of each committed offset.

    Args:
        offsets: rows of `schemas.GROUP_OFFSETS` of one group, with times in epoch ms.
        lens: how much of the metadata is shown.
    """
    return [_partition_row(row, lens) for row in offsets]


def _partition_row(row: dict[str, Any], lens: Lens) -> dict[str, Any]:
    is_pending = row["producer_id"] is not None
    state = row["state"] or "unknown"
    metadata = row["metadata"]
    shown = None if metadata is None else lens.cell("metadata", metadata.encode())[0]
    facts = [
        ["committed", f"{row['offset']:,}"],
        ["log start offset", _count(row["log_start_offset"])],
        ["log end offset", _count(row["log_end_offset"])],
        ["lag", _count(row["lag"])],
        ["committed at", time_text(row["commit_time"])],
        ["expires", _expiry(row)],
        ["rule", row["expiry_rule"] or UNKNOWN],
        ["leader epoch", _count(row["leader_epoch"])],
        ["metadata", shown or "empty"],
        ["record", f"offset {row['record_offset']:,} of __consumer_offsets-{row['log_partition']}"],
    ]
    if is_pending:
        facts.insert(0, ["pending", f"in an open transaction of producer {row['producer_id']}"])
    return {
        "name": f"{row['topic']}-{row['partition']}",
        "pending": is_pending,
        "cells": [
            f"{row['topic']}-{row['partition']}",
            _count(row["offset"]),
            _count(row["log_end_offset"]),
            _count(row["lag"]),
            "pending" if is_pending else state,
            time_text(row["commit_time"])[:19],
            _expiry(row),
        ],
        "state": "pending" if is_pending else state,
        "reason": row["unserved"] or row["reason"] or "",
        "facts": facts,
    }


def _count(number: int | None) -> str:
    return UNKNOWN if number is None else f"{number:,}"


def _expiry(row: dict[str, Any]) -> str:
    if row["expires_at"] is not None:
        return time_text(row["expires_at"])[:19]
    return "never" if (row["expiry_rule"] or "").startswith("never") else UNKNOWN


def why_rows(explanation: GroupExplanation) -> list[list[str]]:
    """Return partition, rule, verdict, reason and Kafka's method of each rule."""
    return [
        ["" if row.where is None else str(row.where), row.rule, row.verdict, row.reason, row.kafka]
        for row in explanation
    ]


def summary(group: dict[str, Any] | None, rows: list[dict[str, Any]], lag: int | None) -> str:
    """Return the group in one line: kind, state, members, partitions, lag.

    Args:
        group: its row of `schemas.GROUPS`; None: the coordinator does not know the group.
        rows: of `partition_rows`.
        lag: the sum over the partitions whose lag is known; None: it is known of none.
    """
    parts = ["no group record"] if group is None else [group["kind"], group["state"]]
    if group is not None and group["members"]:
        parts.append(plural(group["members"], "member"))
    parts.append(plural(len({row["name"] for row in rows}), "partition"))
    unknown = sum(row["cells"][3] == UNKNOWN for row in rows)
    if lag is not None:
        parts.append(f"lag {lag:,}" + (f", {plural(unknown, 'lag')} unknown" if unknown else ""))
    return " · ".join(part for part in parts if part)
