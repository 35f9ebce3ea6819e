"""What a cleaning reports to an observer about batches and records.

Steps are made only for an observer, from what the cleaner decided by.
"""

from collections.abc import Iterator
from typing import Any, Final

from workbench.cleaner.decisions import Decisions, Keeping, Reason, Verdict
from workbench.runtime.steps import Step

_KEEPINGS: Final = {
    Keeping.LAST_OF_PRODUCER: "the batch is the last one of a producer that is still known",
    Keeping.LAST_OF_ROUND: "the batch ends where the round ends",
}
_HORIZONS: Final = frozenset(
    {Reason.TOMBSTONE_HORIZON_SET, Reason.TOMBSTONE_HORIZON_AHEAD}
    | {Reason.MARKER_HORIZON_SET, Reason.MARKER_HORIZON_AHEAD}
)


def steps_of_chunk(path: str, decisions: Decisions, *, with_records: bool) -> Iterator[Step]:
    """Yield the outcome for each batch of a chunk, and before it those for its records."""
    first = 0
    for row in decisions.batches:
        end = first + int(row["record_count"])
        if with_records:
            yield from _steps_of_records(path, int(row["delete_horizon"]), decisions, first, end)
        yield _step_of_batch(path, row, int(decisions.is_kept[first:end].sum()))
        first = end


def _steps_of_records(
    path: str, horizon: int, decisions: Decisions, first: int, end: int
) -> Iterator[Step]:
    columns = (decisions.offsets, decisions.reasons, decisions.newer_offsets)
    for offset, code, newer in zip(*(each[first:end].tolist() for each in columns), strict=True):
        reason = Reason(code)
        text, numbers = reason.text, {"offset": offset}
        if reason == Reason.SUPERSEDED:
            text, numbers["newer_offset"] = f"superseded by offset {newer}, of the same key", newer
        elif reason in _HORIZONS:
            numbers["delete_horizon"] = horizon
        yield Step("record kept" if reason.is_kept else "record dropped", path, text, numbers)


def _step_of_batch(path: str, row: Any, kept: int) -> Step:
    count, verdict = int(row["record_count"]), Verdict(int(row["verdict"]))
    numbers = {
        name: int(row[name])
        for name in ("position", "size", "new_size", "base_offset", "last_offset")
    }
    all_stay = "the batch's record is kept" if count == 1 else f"all {count} records are kept"
    if verdict == Verdict.COPIED:
        return Step("batch copied", path, all_stay, numbers)
    if verdict == Verdict.REBUILT:
        horizon = int(row["delete_horizon"])
        if horizon >= 0:
            numbers["delete_horizon"] = horizon
        stays = f"{kept} of {count} records are kept" if kept < count else all_stay
        return Step("batch rebuilt", path, stays, numbers)
    if verdict == Verdict.EMPTIED:
        keeping = _KEEPINGS[Keeping(int(row["keeping"]))]
        return Step("batch emptied", path, f"no record is kept, but {keeping}", numbers)
    return Step("batch removed", path, f"0 of {count} records are kept", numbers)
