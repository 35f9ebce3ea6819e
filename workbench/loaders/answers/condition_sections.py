"""What a broker would do under conditions, in sections: at its start, to logs, to offsets."""

from collections.abc import Callable, Iterable
from typing import Final

from workbench.foresight.preflight.results import Preflight
from workbench.foresight.startup.prediction import PartitionStart
from workbench.loaders.answers.report_page import Badge, Row, Section, Target, Tile
from workbench.loaders.answers.sections import MOST_ROWS, first_upper, left_out, not_loaded
from workbench.loaders.explanations.offset_fates import fate_sentence
from workbench.loaders.explanations.what_if import WhatIf
from workbench.runtime.words import size_text

_VERDICTS: Final = {
    "loads": "good", "recovers": "warn", "stray": "warn", "deleted": "warn", "future": "calm",
}  # fmt: skip
"""Verdict on a log at a start → tone; of any other "bad"."""


def loading(preflight: Preflight, command: str) -> Section:
    """What the start does with each log; those that only load come last."""
    starts = preflight.prediction
    ordered = sorted(starts, key=lambda row: (row.verdict == "loads", row.name))
    shown = ordered[:MOST_ROWS]
    rows: list[Row] = [
        [row.name, Badge(row.verdict, _VERDICTS.get(row.verdict, "bad")),
         size_text(row.recovery_bytes), size_text(row.bytes_cut), row.log_end_offset,
         len(row.changes), _why(row)]
        for row in shown
    ]  # fmt: skip
    return Section(
        "What happens to each log at the start?", command,
        [] if starts.starts else [first_upper(f"the broker does not start: {starts.problem}.")],
        ["partition", "verdict", "recovery reads", "truncated", "log end offset", "changes", "why"],
        rows, left_out(len(ordered), "log"),
        targets=[Target(partition=row.name) for row in shown],
    )  # fmt: skip


def _why(row: PartitionStart) -> str:
    told = [row.reason, row.exception, *row.unnoticed, *row.changes]
    return first_upper("; ".join(each for each in told if each))


def freed(result: WhatIf, command: str) -> Section:
    """What retention deletes and cleaning drops of each log; what frees most comes first."""
    ordered = sorted(result, key=lambda row: (row.size_after - row.size, row.name))
    shown = ordered[:MOST_ROWS]
    rows: list[Row] = [
        [row.name, not_loaded(row.name) if row.problem else row.policy,
         size_text(row.size), _size(row.deleted_bytes), _size(row.compacted_bytes),
         size_text(row.size_after), size_text(row.size_as_configured), _signed(row.difference),
         first_upper("; ".join(row.reasons))]
        for row in shown
    ]  # fmt: skip
    notes = [f"{first_upper(each)}." for each in (result.summary, result.about_configs) if each]
    return Section(
        "What would be deleted and compacted?", command, notes,
        ["partition", "cleanup.policy", "before", "deleted", "compacted", "afterwards",
         "as configured", "difference", "why"],
        rows, left_out(len(ordered), "log"),
        targets=[Target(partition=row.name, what=row.policy) for row in shown],
    )  # fmt: skip


def _size(size: int) -> str | None:
    return size_text(size) if size else None


def _signed(size: int) -> str | None:
    if not size:
        return None
    return f"{'+' if size > 0 else '−'}{size_text(abs(size))}"


def expired(result: WhatIf, command: str) -> Section:
    """Which committed offsets expire; those that do come first."""
    ordered = sorted(result.offsets, key=lambda row: (not row.is_gone, row.group, row.name))
    shown = ordered[:MOST_ROWS]
    rows: list[Row] = [
        [row.group, row.name, row.offset,
         Badge("with its group" if row.removes_group else "removed", "warn") if row.is_gone
         else Badge("kept", "good"), row.rule, first_upper(row.reason)]
        for row in shown
    ]  # fmt: skip
    said = fate_sentence(result.offsets) or "no committed offset is in these directories"
    return Section(
        "Which committed offsets would expire?", command, [f"{first_upper(said)}."],
        ["group", "partition", "offset", "fate", "rule", "why"],
        rows, left_out(len(ordered), "offset"),
        targets=[Target(partition=row.name, group=row.group) for row in shown],
    )  # fmt: skip


def freed_tiles(result: WhatIf) -> Iterable[Tile]:
    """Yield the numbers that sum up what would be freed."""
    size = sum(row.size - row.size_after for row in result)
    shorter = sum(row.size_after < row.size for row in result)
    yield Tile("freed", size_text(size), "warn" if size else "good")
    yield Tile("shorter logs", f"{shorter:,} of {len(result):,}", "warn" if shorter else "good")


def expired_tiles(result: WhatIf) -> Iterable[Tile]:
    """Yield the number that sums up which offsets expire."""
    if result.offsets:
        gone = sum(row.is_gone for row in result.offsets)
        text = f"{gone:,} of {len(result.offsets):,}"
        yield Tile("committed offsets expire", text, "warn" if gone else "good")


OF_WHAT_IF: Final[
    dict[str, tuple[Callable[[WhatIf, str], Section], Callable[[WhatIf], Iterable[Tile]]]]
] = {"freed": (freed, freed_tiles), "expired": (expired, expired_tiles)}
"""Name of a section → what makes it of a `WhatIf`, and its numbers."""
