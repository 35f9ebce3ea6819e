"""Overview: every section has its answer, and each row leads to the view that shows more of it."""

from pathlib import Path

import pytest

import workbench as wb
from widgets import Overview, Workbench
from widgets.overview.overview import ORDER
from widgets.workbench import CLEANING, DISK, EXPLORE, GROUPS, TRANSACTIONS
from workbench.loaders.answers.sections import SECTIONS
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
    found: dict[str, dict[str, object]] = view.get_state("_sections")["_sections"]
    return found


def row_of(view: Overview, section: str, text: str) -> int:
    rows = sections(view)[section]["rows"]
    return next(n for n, row in enumerate(rows) if text in row)  # type: ignore[arg-type,var-annotated]


def test_it_says_what_the_report_says(screen: Workbench) -> None:
    view = screen.views["Overview"]
    found = sections(view)
    assert set(found) == set(SECTIONS) == set(ORDER)
    assert {each["state"] for each in found.values()} == {"done"}
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


def test_what_reads_much_waits_for_a_button(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("widgets._background.MOST_AT_ONCE", 3)
    view = Overview(SHOP)
    view.wait()
    states = {name: each["state"] for name, each in sections(view).items()}
    asked = {name for name, state in states.items() if state == "asks"}
    assert asked == {"identity", "start", "days", "logs", "stuck", "findings"}
    view.answer_make("start")
    view.wait()
    assert {each["state"] for each in sections(view).values()} == {"done"}
    with pytest.raises(LookupError, match="no section what"):
        view.answer_make("what")


def test_a_stop_leaves_what_is_there() -> None:
    view = Overview(SHOP)
    view.answer_cancel()  # the answer does not wait for what is being read
    assert view.get_state("_progress")["_progress"]["state"] in {"canceled", "done"}
    stopped = {name: each["state"] for name, each in sections(view).items()}
    assert set(stopped.values()) <= {"done", "asks"}
    view.wait()
    assert {name: each["state"] for name, each in sections(view).items()} == stopped
    view.answer_make("sizes")
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


def test_several_brokers_are_answered_where_that_is_one_answer() -> None:
    view = Overview(wb.open_log_directory([SAMPLES / "two-brokers" / f"broker{n}" for n in (1, 2)]))
    view.wait()
    found = sections(view)
    assert {name for name, each in found.items() if each["state"] == "failed"} == {
        "identity", "start", "logs", "stuck",
    }  # fmt: skip
    assert "2 brokers" in str(found["start"]["error"])


@pytest.mark.parametrize("name", ["era-0.8.2.2", "era-2.8.2", "damaged"])
def test_it_opens_any_directory(name: str) -> None:
    view = Overview(SAMPLES / name)
    view.wait()
    assert {each["state"] for each in sections(view).values()} == {"done"}
    assert view.to_png().startswith(b"\x89PNG")
    assert name in view.describe()
