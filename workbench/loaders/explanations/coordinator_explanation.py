"""Explain why a group resumes or starts over, and what a transaction blocks and what ends it."""

from collections.abc import Mapping
from typing import Any, Final

from workbench.coordinator.groups.commit_history import CommitHistory
from workbench.coordinator.groups.group_explanation import (
    MIRRORED,
    START_OFFSET,
    GroupExplainer,
    waits_for_transaction,
)
from workbench.coordinator.groups.stored_groups import StoredGroups
from workbench.coordinator.runtime.era import era_of
from workbench.coordinator.transactions.stored_transactions import StoredTransactions
from workbench.coordinator.transactions.transaction_explanation import TransactionExplainer
from workbench.foresight.dry_listing import meant_settings
from workbench.inspection.listing import Listing
from workbench.loaders.explanations.explanation import Explanation
from workbench.runtime.times import time_text
from workbench.runtime.words import plural
from workbench.tables.foresight import RuleRow

EXPIRES_SOON: Final = "removes expired offsets within 10 minutes, and starts the group over there"


def explain_group(
    listing: Listing,
    group: str,
    *,
    version: str | None = None,
    now: int | None = None,
    retention_ms: int | None = None,
) -> Explanation:
    """Return why a group resumes or starts over; see `LogDirectory.explain_group`."""
    era = None if version is None else era_of(version)
    coordinator = StoredGroups(listing, era=era, now=now, retention_ms=retention_ms)
    return explained(coordinator, group)


def explained(
    coordinator: StoredGroups, group: str, history: CommitHistory | None = None
) -> Explanation:
    """Return the explanation of one of the loaded groups.

    Args:
        coordinator: the loaded groups.
        group: the group's id.
        history: the group's commits, if they were observed already; None: loads once more.

    Raises:
        OSError: a file cannot be read.
    """
    if history is None:
        history = CommitHistory(group)
        coordinator.observe(history, group)
    explainer = GroupExplainer(coordinator, history, group)
    rows = tuple(explainer.verdicts())
    conclusion = _conclusion(rows, len(explainer.partitions)) + _until(coordinator, group)
    return Explanation("group", group, conclusion, rows)


def _until(coordinator: StoredGroups, group: str) -> str:
    """Say how long what a broker has just loaded holds, where no time is given; or nothing."""
    if coordinator.now is not None:
        return ""
    times = [
        each.expiry.at
        for each in coordinator.offsets(group)
        if each.unserved is None and each.expiry is not None and each.expiry.at is not None
    ]
    if not times:
        return ""
    return f"; a broker started after {time_text(min(times), 'seconds')} {EXPIRES_SOON}"


def explain_transaction(
    listing: Listing,
    transaction: str | int,
    *,
    now: int | None = None,
    config: Mapping[str, Any] | None = None,
) -> Explanation:
    """Return what a transaction blocks and what ends it; see `LogDirectory.explain_transaction`."""
    broker = meant_settings(listing, config)[1].broker
    explainer = TransactionExplainer(StoredTransactions(listing), transaction, now, broker)
    return explained_transaction(explainer)


def explained_transaction(explainer: TransactionExplainer) -> Explanation:
    """Return the explanation of one transactional id or producer.

    Raises:
        OSError: a file cannot be read.
    """
    rows = tuple(explainer.verdicts())
    return Explanation("transaction", explainer.name, explainer.conclusion, rows)


def _conclusion(rows: tuple[RuleRow, ...], partitions: int) -> str:
    """Say it in one sentence: what holds for the group, where consumers wait or start over."""
    for row in rows:
        if row.where is None and row.verdict == "blocks":
            return f"starts over everywhere: {row.reason}"
    shares = [row for row in rows if row.rule == START_OFFSET]
    if shares:
        return _share_conclusion(shares)
    mirrored = [row for row in rows if row.rule == MIRRORED and row.verdict == "unknown"]
    if not partitions and mirrored:
        return f"nothing is committed here; {mirrored[0].where}: {mirrored[0].reason}"
    if not partitions:
        return "no commit is in the log, so its start is unknown"
    waits = {row.where: row for row in reversed(rows) if waits_for_transaction(row)}
    over = {
        row.where: row
        for row in reversed(rows)
        if row.verdict == "blocks" and row.where not in waits
    }
    parts = [_counted("starts over", over, partitions), _counted("waits", waits, partitions)]
    if not over and not waits:
        every = "its one partition" if partitions == 1 else f"all {partitions:,} partitions"
        parts = [f"resumes in {every}"]
    settled = {*over, *waits}
    other = (row for row in rows if row.verdict == "limits" and row.where not in settled)
    limit = next(other, None)
    if limit is not None:
        parts.append(f"{limit.where or 'the group'}: {limit.reason}")
    return "; ".join(filter(None, parts))


def _share_conclusion(shares: list[RuleRow]) -> str:
    """Say where a share group delivers, or does not yet."""
    known = [row for row in shares if row.value is not None]
    text = f"delivers from its start offsets in {len(known)} of {plural(len(shares), 'partition')}"
    other = next((row for row in shares if row.verdict != "allows"), None)
    return text if other is None else f"{text}; {other.where}: {other.reason}"


def _counted(word: str, found: Mapping[str | None, RuleRow], partitions: int) -> str:
    """Return what holds in some partitions, with the reason of the first; empty for none."""
    if not found:
        return ""
    where = min(found, key=str)
    counted = "" if partitions == 1 else f" in {len(found)} of {partitions} partitions"
    return f"{word}{counted}: {where}: {found[where].reason}"
