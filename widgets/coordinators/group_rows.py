"""A group's tables as rows of text: its partitions, its rules, its facts."""

from collections.abc import Iterable
from typing import Any, Final

from widgets.view.records import Lens
from workbench.loaders.explanations.explanation import Explanation
from workbench.runtime.times import time_text
from workbench.runtime.words import plural

UNKNOWN: Final = "–"

_MOST_MEMBERS, _MOST_LETTERS = 20, 18


def partition_rows(offsets: Iterable[dict[str, Any]], lens: Lens) -> list[dict[str, Any]]:
    """Return what is shown of each committed offset.

    Args:
        offsets: `CommittedOffsetRow`s of one group, with times in epoch ms.
        lens: how much of the metadata is shown.
    """
    return [_partition_row(row, lens) for row in offsets]


def _partition_row(row: dict[str, Any], lens: Lens) -> dict[str, Any]:
    is_pending = row["producer_id"] is not None
    state = row["state"] or "unknown"
    if row["unserved"]:
        state = "not served"
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
            time_text(row["commit_time"], "seconds"),
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
        return time_text(row["expires_at"], "seconds")
    return "never" if (row["expiry_rule"] or "").startswith("never") else UNKNOWN


def why_rows(explanation: Explanation) -> list[list[str]]:
    """Return partition, rule, verdict, reason and Kafka's method of each rule."""
    return [[row.where or "", row.rule, row.verdict, row.reason, row.kafka] for row in explanation]


def rebalance_rows(rebalances: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what is shown of each rebalance: a mark on the lanes, and a row.

    Args:
        rebalances: rows of `RebalanceRow` of one group, with times in epoch ms.
    """
    return [_rebalance_row(row) for row in rebalances]


def _rebalance_row(row: dict[str, Any]) -> dict[str, Any]:
    generation = _count(row["generation"])
    word = "generation" if row["kind"] in {"classic", "simple"} else "epoch"
    members = _count(row["members"])
    assigned = [
        [_short(change["member_id"]), ", ".join(change["assignment"]) or "nothing"]
        for change in row["changes"]
        if change["assignment"] is not None
    ]
    return {
        "time": row["time"],
        "label": f"{row['event']} · {word} {generation}",
        "log": row["log"],
        "offset": str(row["log_offset"]),
        "cells": [
            time_text(row["time"], "seconds"),
            row["event"],
            generation,
            row["state"] or UNKNOWN,
            members,
            row["reason"] or "",
        ],
        "facts": [
            ["time", time_text(row["time"])],
            [word, generation],
            ["state", row["state"] or UNKNOWN],
            ["members", members],
            ["assignor", row["protocol"] or UNKNOWN],
            *assigned[:_MOST_MEMBERS],
            ["record", f"offset {row['log_offset']:,} of {row['log']}"],
        ],
    }


def _short(member_id: str) -> str:
    return member_id if len(member_id) <= _MOST_LETTERS else member_id[:_MOST_LETTERS] + "…"


def summary(group: dict[str, Any] | None, rows: list[dict[str, Any]], lag: int | None) -> str:
    """Return the group in one line: kind, state, members, partitions, lag.

    Args:
        group: its `GroupRow`; None: the coordinator does not know the group.
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
