"""Overview: every section has its answer, and each row leads to the view that shows more of it."""

import shutil
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.corrupt import edit, flip
from widgets import Overview, Workbench
from widgets.frame.tab_names import (
    CLEANING,
    DISK,
    EXPLORE,
    FINDINGS,
    GROUPS,
    REPLICAS,
    TRANSACTIONS,
    WHAT_IF,
)
from widgets.overview.overview import ORDER
from workbench.loaders.answers.sections import OF_ONE_BROKER, SECTIONS
from workbench.loaders.tables.inspect import chosen_findings
from workbench.runtime.job import CanceledError

SAMPLES = Path(__file__).parents[2] / "sample_data"
SHOP = SAMPLES / "shop-4.3.1"


@pytest.fixture(scope="module")
def screen() -> Workbench:
    made = Workbench(SHOP)
    made.views["Overview"].wait()
    return made


def sections(view: Overview) -> dict[str, dict[str, object]]:
    """Return the sections that can be made of the directories."""
    found: dict[str, dict[str, object]] = view.get_state("_sections")["_sections"]
    return {name: each for name, each in found.items() if each["state"] != "left out"}


def row_of(view: Overview, section: str, text: str) -> int:
    rows = sections(view)[section]["rows"]
    return next(n for n, row in enumerate(rows) if text in row)  # type: ignore[arg-type,var-annotated]


def test_it_says_what_the_report_says(screen: Workbench) -> None:
    view = screen.views["Overview"]
    found = sections(view)
    assert {*found, "replicas"} == set(SECTIONS) == set(ORDER)
    assert {each["state"] for each in found.values()} == {"done"}
    assert "replicas" not in found  # one broker's
    logs = wb.open_log_directory(SHOP)
    page = logs.report()
    tiles = [tile for name in SECTIONS for tile in view.get_state("_tiles")["_tiles"].get(name, [])]
    assert len(tiles) > 5
    for tile in tiles:
        assert f"<b>{tile['value']}</b><span>{tile['label']}</span>" in page
    for section in found.values():
        assert str(section["title"]) in page
    rows = found["logs"]["rows"]
    assert len(rows) == sum(each.kind == "log" for each in logs.values())  # type: ignore[arg-type]
    by_name = {row[0]: row for row in rows}  # type: ignore[attr-defined]
    assert (
        by_name["customers-0"][-1]
        .lower()
        .startswith(logs["customers-0"].explain_cleaning().conclusion.lower()[:40])
    )
    told = logs["orders-0"].explain_retention().conclusion
    assert by_name["orders-0"][-1].lower() == f"{told}.".lower()


def test_each_row_leads_to_the_view_that_shows_more(screen: Workbench) -> None:
    view = screen.views["Overview"]
    view.answer_lead("groups", row_of(view, "groups", "shipping-labels"))
    assert (screen.tab, screen.views[GROUPS].group) == (GROUPS, "shipping-labels")
    view.answer_lead("transactions", 0)
    assert (screen.tab, screen.views[TRANSACTIONS].partition) == (TRANSACTIONS, "payments-0")
    view.answer_lead("logs", row_of(view, "logs", "customers-1"))
    assert (screen.tab, screen.views[CLEANING].partition.name) == (CLEANING, "customers-1")
    view.answer_topic("orders")
    assert (screen.tab, screen.views[DISK].at) == (DISK, ["orders"])
    view.answer_lead("stuck", row_of(view, "stuck", "payments-eu"))
    assert screen.tab == TRANSACTIONS
    view.answer_lead("stuck", row_of(view, "stuck", "group suggestions"))
    assert (screen.tab, screen.views[GROUPS].group) == (GROUPS, "suggestions")
    view.answer_lead("start", row_of(view, "start", "clicks"))
    assert (screen.tab, screen.explorer.selected["partition"]) == (EXPLORE, "clicks-0")
    with pytest.raises(LookupError, match="no row 99 of groups"):
        view.answer_lead("groups", 99)


def test_a_finding_leads_to_its_batch() -> None:
    screen = Workbench(SAMPLES / "damaged")
    view = screen.views["Overview"]
    view.wait()
    view.answer_lead("findings", row_of(view, "findings", "crc"))
    assert screen.tab == EXPLORE
    assert screen.explorer.selected["partition"] == "flipped-byte-0"
    assert screen.explorer.selected["position"] == 768


@pytest.mark.parametrize("name", ["shop-4.3.1", "damaged", "era-0.8.2.2"])
def test_a_number_of_findings_is_the_number_of_rows_that_it_leads_to(name: str) -> None:
    screen = Workbench(SAMPLES / name)
    view = screen.views["Overview"]
    view.wait()
    numbers = view.get_state("_tiles")["_tiles"]["findings"]
    screen.tab = FINDINGS
    listed = screen.views[FINDINGS]
    for at, severity in enumerate(("error", "warning")):
        screen.tab = "Overview"
        view.answer_tile("findings", at)
        assert screen.tab == FINDINGS
        assert listed.severity == severity
        assert numbers[at]["value"] == f"{len(listed.listed()):,}"
    checked = {n for n, each in screen.logs.items() if each.kind != "delete"}
    assert {*screen.explorer.verifier.book.verified} == checked
    assert sum(sum(each.values()) for each in screen.explorer.verifier.book.counts.values()) == len(
        wb.verify(SAMPLES / name)
    )


def test_what_a_start_takes_is_a_number_and_a_sentence(screen: Workbench) -> None:
    view = screen.views["Overview"]
    told = sections(view)["start"]["verdict"]
    minutes = wb.open_log_directory(SHOP).preflight().first_minutes
    assert minutes is not None
    assert str(told).startswith("A broker starts, and within minutes retention deletes ")
    assert "payments-eu blocks payments-0" in str(told)
    for each in minutes.passes:
        if each.what == "retention":
            assert each.topic in str(told)
    numbers = view.get_state("_tiles")["_tiles"]["start"]
    at = next(n for n, each in enumerate(numbers) if each["label"] == "deleted after a start")
    assert numbers[at]["tone"] == "bad"
    view.answer_tile("start", at)
    assert screen.tab == WHAT_IF
    with pytest.raises(LookupError, match="no number 9 of start"):
        view.answer_tile("start", 9)


def test_groups_and_what_if_say_the_same_of_offsets_that_have_expired(screen: Workbench) -> None:
    screen.tab = WHAT_IF
    screen.views[WHAT_IF].answer_conditions([], "", "2026-11-28T16:29:00Z")
    screen.views[WHAT_IF].wait()
    screen.tab = GROUPS
    groups = screen.views[GROUPS]
    groups.group = "suggestions"
    assert groups.conditions["now"] == "2026-11-28T16:29:00Z"
    told = groups.get_state("_story")["_story"]
    assert told["conclusion"].startswith("starts over")
    assert "expired" in told["conclusion"]
    assert [row["state"] for row in told["rows"]] == ["not served"]
    table = sections(screen.views[WHAT_IF])["expired"]["rows"]
    assert next(row for row in table if row[0] == "suggestions")[3]["text"] != "kept"  # type: ignore[attr-defined]
    groups.answer_conditions([], "", "2026-11-28T12:00:00Z")
    told = groups.get_state("_story")["_story"]
    assert told["conclusion"] == "resumes in its one partition"
    assert screen.views[WHAT_IF].conditions["now"] == "2026-11-28T16:29:00Z"  # until it is open
    screen.tab = WHAT_IF
    assert screen.views[WHAT_IF].conditions["now"] == "2026-11-28T12:00:00Z"
    with pytest.raises(ValueError, match="not a time"):
        groups.answer_conditions([], "", "some day")


def test_what_is_lost_is_in_each_place() -> None:
    screen = Workbench(SAMPLES / "damaged")
    view = screen.views["Overview"]
    view.wait()
    found = sections(view)["findings"]
    lost = "Offsets 24 to 26, 3 records. A consumer fails there until it seeks to 27. "
    lost += "--rescue still reads 3 records."
    assert any(lost in row for row in found["rows"])  # type: ignore[attr-defined]
    assert "273 of at most 288 records of these 4 logs are readable." in str(found["notes"])
    assert any(row["lost"] == f"Lost: o{lost[1:]}" for row in screen.explorer.verifier.book.rows)
    page = wb.open_log_directory(SAMPLES / "damaged").report(deep=True)
    assert lost in page


def test_what_is_found_later_is_shown_in_the_overview_too(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    shutil.copytree(SAMPLES / "era-2.8.2", folder)
    screen = Workbench(folder)
    view = screen.views["Overview"]
    view.wait()
    before = view.get_state("_tiles")["_tiles"]["findings"][0]["value"]
    log = max(folder.glob("orders-*/*.log"), key=lambda each: each.stat().st_size)
    edit(log, lambda data: flip(data, 40))
    screen.explorer.verify_all().wait()
    view.wait()
    after = view.get_state("_tiles")["_tiles"]["findings"][0]["value"]
    errors = sum(row["severity"] == "error" for row in screen.explorer.verifier.book.rows)
    assert int(after) == errors > int(before)


def test_what_reads_much_waits_for_a_button(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("widgets._background.MOST_AT_ONCE", 3)
    view = Overview(SHOP)
    view.wait()
    states = {name: each["state"] for name, each in sections(view).items()}
    asked = {name for name, state in states.items() if state == "asks"}
    assert asked == {"identity", "start", "days", "logs", "stuck", "findings"}
    view.answer_make()
    view.wait()
    assert {each["state"] for each in sections(view).values()} == {"done"}


def test_a_button_that_is_pressed_while_the_first_sections_are_made_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("widgets._background.MOST_AT_ONCE", 3)
    view = Overview(SHOP)
    view.answer_make()
    view.wait()
    assert {each["state"] for each in sections(view).values()} == {"done"}


def test_a_stop_leaves_what_is_there() -> None:
    view = Overview(SHOP)
    view.answer_cancel()  # the answer does not wait for what is being read
    assert view.get_state("_progress")["_progress"]["state"] in {"canceled", "done"}
    stopped = {name: each["state"] for name, each in sections(view).items()}
    assert set(stopped.values()) <= {"done", "asks"}
    view.wait()
    assert {name: each["state"] for name, each in sections(view).items()} == stopped
    view.answer_make()
    view.wait()
    assert {each["state"] for each in sections(view).values()} == {"done"}


def test_a_check_ends_at_the_segment_where_it_is_stopped() -> None:
    logs = wb.open_log_directory(SHOP)
    seen: list[int] = []

    def stop(size: int) -> None:
        seen.append(size)
        if len(seen) == 3:
            raise CanceledError

    with pytest.raises(CanceledError):
        chosen_findings(logs.listing, None, None, deep=True, info=False, advance=stop)
    assert len(seen) == 3
    assert len(seen) < len(logs.inspect.segments())


def test_of_several_brokers_it_first_says_whether_their_replicas_agree() -> None:
    brokers = [SAMPLES / "two-brokers" / f"broker{node}" for node in (1, 2)]
    screen = Workbench(brokers)
    view = screen.views["Overview"]
    view.wait()
    found = sections(view)
    assert {each["state"] for each in found.values()} == {"done"}
    assert found.keys() & OF_ONE_BROKER == set()
    compared = wb.open_log_directory(brokers[0]).compare(brokers[1])
    rows: Any = found["replicas"]["rows"]
    (row,) = rows
    assert [row[0], row[1]["text"]] == ["ledger-0", compared["ledger-0"].verdict]
    assert row[-1] in str(found["replicas"]["verdict"])
    numbers = view.get_state("_tiles")["_tiles"]
    assert numbers["replicas"][0]["value"] == "1 of 1"
    assert [each["value"] for each in numbers["findings"]] == ["0", "0"]  # log.dirs are not mixed
    view.answer_lead("replicas", 0)
    assert (screen.tab, screen.views[REPLICAS].partition) == (REPLICAS, "ledger-0")

    view.answer_broker("2")  # what one broker does is answered where it is shown alone
    assert (screen.broker, screen.bar.broker) == ("2", "2")
    screen.tab = "Overview"
    alone = screen.views["Overview"]
    alone.wait()
    assert sections(alone).keys() == {*SECTIONS} - {"replicas"}
    told = wb.open_log_directory(brokers[1]).preflight()
    assert sections(alone)["start"]["rows"][0][1]["text"] == next(iter(told)).verdict  # type: ignore[index]


@pytest.mark.parametrize("name", ["era-0.8.2.2", "era-2.8.2", "damaged"])
def test_it_opens_any_directory(name: str) -> None:
    view = Overview(SAMPLES / name)
    view.wait()
    assert {each["state"] for each in sections(view).values()} == {"done"}
    assert view.to_png().startswith(b"\x89PNG")
    assert name in view.describe()
