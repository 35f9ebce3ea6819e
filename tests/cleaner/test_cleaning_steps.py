"""What a cleaning reports to an observer is what it did, and decided."""

from pathlib import Path

import pytest

from tests.cleaner.cleaning import DAY, LATER, Cleanable, map_of
from tests.log.logs import NOW
from workbench.cleaner.cleaner import Cleaning, plan_cleaning
from workbench.cleaner.schedule.log_to_clean import log_to_clean, tell_choice
from workbench.runtime.steps import BatchOutline, Outline, Step, wants_details, wants_records

VERDICTS = {1: "batch copied", 2: "batch rebuilt", 3: "batch emptied", 4: "batch removed"}


@pytest.fixture
def log(tmp_path: Path) -> Cleanable:
    """Two segments to clean: old values, a tombstone, an aborted and a committed transaction."""
    log = Cleanable(tmp_path)
    log.append(0, 1, 0)
    log.append(2, value=None)
    log.within(5, 1, 3)
    log.abort(5)
    log.roll()
    log.within(6, 3)
    log.commit(6)
    log.append(1)
    log.roll()
    return log


def cleaned(log: Cleanable, observer: type[Outline] | None = None) -> tuple[Cleaning, list[Step]]:
    """Clean, and return what was reported."""
    steps: list[Step] = []
    log.log.context.observer = steps.append if observer is None else observer(steps.append)
    return log.clean(), steps


def of_kind(steps: list[Step], *kinds: str) -> list[Step]:
    return [step for step in steps if step.kind in kinds]


def test_each_record_and_batch_is_told_with_its_decision(log: Cleanable) -> None:
    cleaning, steps = cleaned(log)
    decisions = cleaning.decisions
    told = of_kind(steps, "record kept", "record dropped")
    assert [step.numbers["offset"] for step in told] == decisions.offsets.tolist()
    assert [step.kind == "record kept" for step in told] == decisions.is_kept.tolist()
    batches = of_kind(steps, *VERDICTS.values())
    assert [step.kind for step in batches] == [
        VERDICTS[verdict] for verdict in decisions.batches["verdict"].tolist()
    ]
    assert [step.numbers["position"] for step in batches] == decisions.batches["position"].tolist()


def test_what_supersedes_a_record_is_told(log: Cleanable) -> None:
    _, steps = cleaned(log)
    (first,) = [step for step in of_kind(steps, "record dropped") if step.numbers["offset"] == 0]
    assert first.reason == "superseded by offset 2, of the same key"
    assert first.numbers["newer_offset"] == 2


def test_a_delete_horizon_that_is_set_is_told(log: Cleanable) -> None:
    _, steps = cleaned(log)
    (tombstone,) = [step for step in of_kind(steps, "record kept") if step.numbers["offset"] == 3]
    assert tombstone.numbers["delete_horizon"] == NOW + DAY


def test_each_key_that_is_mapped_is_told_with_what_it_takes_the_place_of(log: Cleanable) -> None:
    _, steps = cleaned(log)
    mapped = [
        (step.numbers["offset"], step.numbers.get("previous"))
        for step in of_kind(steps, "key mapped")
    ]
    assert mapped == [(0, None), (1, None), (2, 0), (3, None), (7, None), (9, 1)]
    skipped = [step.reason for step in of_kind(steps, "batch not mapped")]
    assert skipped == ["the batch's transaction was aborted", "the batch ends a transaction",
                       "the batch ends a transaction"]  # fmt: skip


def test_the_round_is_told_from_its_map_to_its_end(log: Cleanable) -> None:
    cleaning, steps = cleaned(log, Outline)
    kinds = [step.kind for step in steps if not step.kind.startswith("index entry")]
    assert list(dict.fromkeys(kinds)) == [
        "segment mapped",
        "segments grouped",
        "segment cleaned",
        "segment ready to swap",
        "segment marked deleted",
        "segment swapped in",
        "log cleaned",
    ]
    (group,) = of_kind(steps, "segments grouped")
    assert group.numbers["base_offsets"] == [0, 7]
    assert steps[-1].numbers["end_offset"] == cleaning.stats.end_offset
    parts = of_kind(steps, "segment cleaned")
    assert sum(step.numbers["new_size"] for step in parts) == cleaning.stats.bytes_written
    assert sum(step.numbers["size"] for step in parts) == cleaning.stats.bytes_read


def test_who_wants_batches_only_is_told_of_no_record(log: Cleanable) -> None:
    _, steps = cleaned(log, BatchOutline)
    assert not of_kind(steps, "record kept", "record dropped", "key mapped")
    assert of_kind(steps, "batch rebuilt")


def test_an_observer_says_how_much_it_wants() -> None:
    def plain(_step: Step) -> None:
        """Take everything."""

    wanted = [None, plain, BatchOutline(plain), Outline(plain)]
    assert [wants_details(each) for each in wanted] == [False, True, True, False]
    assert [wants_records(each) for each in wanted] == [False, True, False, False]


def test_a_map_that_becomes_full_is_told(tmp_path: Path) -> None:
    log = Cleanable(tmp_path)
    log.append_each(0, 1, 2, 3)
    log.roll()
    steps: list[Step] = []
    log.log.context.observer = steps.append
    log.clean(offset_map=map_of(3, 0.7))
    (full,) = of_kind(steps, "map full")
    assert (full.numbers["offset"], full.numbers["entries"]) == (2, 2)


def test_a_plan_tells_the_same_decisions(log: Cleanable) -> None:
    planned: list[Step] = []
    log.log.context.observer = planned.append
    plan_cleaning(log.log, 0, 10, NOW)
    _, steps = cleaned(log)
    kinds = {"key mapped", "record kept", "record dropped", *VERDICTS.values()}
    assert of_kind(planned, *kinds) == of_kind(steps, *kinds)


def test_why_a_log_is_chosen_or_waits_is_told(log: Cleanable) -> None:
    def choice(last_clean: int | None, now: int) -> Step:
        steps: list[Step] = []
        log.log.context.observer = steps.append
        tell_choice(log.log.context, log_to_clean(log.log, last_clean, now))
        (step,) = steps
        return step

    dirty = choice(None, NOW)
    assert dirty.kind == "log chosen"
    assert dirty.reason == "the log's dirty ratio 1.00 is above min.cleanable.dirty.ratio 0.5"
    assert (dirty.numbers["first_dirty_offset"], dirty.numbers["bound"]) == (0, "high watermark")
    assert choice(7, LATER).reason.endswith("is not above min.cleanable.dirty.ratio 0.5")
    nothing = choice(10, NOW)
    assert (nothing.kind, nothing.reason) == (
        "log not due", "nothing may be cleaned: high watermark is the bound",
    )  # fmt: skip
