"""Cleaning and retention of one log, under conditions that a person types."""

from pathlib import Path
from typing import Any

import pytest
import traitlets

import workbench as wb
from tests.cleaner.cleaning import DAY
from tests.widgets.cleanable import CONFIG, NOW, prices
from tests.widgets.test_overview import row_of
from widgets import CleanerView, RetentionView, Workbench
from widgets.decisions.cleaner_rows import _against
from widgets.frame.tab_names import CLEANING, OVERVIEW, RETENTION

SAMPLES = Path(__file__).parents[2] / "sample_data"
SHOP = SAMPLES / "shop-4.3.1"
LATE = 1_795_700_000_000  # ms; 4.9 days after the newest record of payments-0

LATER = 1_795_883_340_000
"""2026-11-28T16:29Z: after the sample was made."""


def asked(view: Any, *config: str, kafka: str = "", now: str = "") -> str:
    """Send conditions as the page does; return what is answered that is wrong."""
    message = {"kind": "conditions", "config": list(config), "kafka": kafka, "now": now}
    view.receive(view, message, [])
    return str(shown(view, "_error"))


def shown(view: Any, name: str) -> Any:
    return view.get_state(name)[name]


def regions(view: RetentionView) -> list[str]:
    return [each["region"] for each in shown(view, "_decision")["segments"]]


def test_retention_shows_what_it_deletes_and_frees() -> None:
    partition = wb.open_log_directory(SHOP)["payments-0"]
    view = RetentionView(partition, now=LATE)
    assert regions(view) == ["kept"] * 10
    told = partition.explain_retention({"retention.bytes": 200_000}, now=LATE)
    view.show({"retention.bytes": 200_000}, now=LATE)
    assert shown(view, "_decision")["conclusion"] == told.conclusion
    gone = {row.segment for row in told if row.verdict == "deleted"}
    assert regions(view) == ["deleted"] * len(gone) + ["kept"] * (10 - len(gone))
    sizes = {each.base_offset: each.size for each in partition.segments}
    assert shown(view, "_decision")["freed"] == sum(
        sizes[base] for base in gone if base is not None
    )
    assert shown(view, "_decision")["size"] == sum(sizes.values())


def test_a_segment_that_an_earlier_one_holds_is_named(tmp_path: Path) -> None:
    with wb.LogManager([tmp_path]) as manager:
        log = manager.get_or_create_log("orders-0")
        for time in (NOW, NOW - 30 * DAY, NOW - 20 * DAY):  # the first came with a wrong clock
            log.append([(time, b"key", b"value")])
            log.roll()
    view = RetentionView(wb.open_log_directory(tmp_path)["orders-0"], {"retention.ms": "7d"},
                         now=NOW + DAY)  # fmt: skip
    assert regions(view) == ["kept", "held", "held", "kept"]


def test_conditions_are_typed_and_refused_with_the_name_that_was_meant() -> None:
    view = RetentionView(wb.open_log_directory(SHOP)["payments-0"], now=LATE)
    assert asked(view, "retention.ms=4d", now=str(LATE)) == ""
    assert view.conditions["config"] == {"retention.ms": "4d"}
    assert regions(view) == ["deleted"] * 10
    for text, problem in (
        ("retentoin.ms=1d", "did you mean retention.ms?"),
        ("payment:retention.ms=1d", "unknown topic payment; did you mean payments?"),
        ("retention.ms", "not of the form NAME=VALUE"),
        ("retention.ms=often", "retention.ms"),
        ("log.message.format.version=2.1", "4.0"),  # removed
    ):
        assert problem in asked(view, text)
        assert view.conditions["config"] == {"retention.ms": "4d"}  # what holds is still shown
        assert regions(view) == ["deleted"] * 10
    assert "known version of Kafka" in asked(view, kafka="5.7")
    assert "is not a time" in asked(view, now="soon")
    assert asked(view, kafka="2.8", now=str(LATE)) == ""
    assert "Kafka 2.8" in shown(view, "_about_conditions")["meant"]
    assert view.query.endswith(
        f"logs['payments-0'].explain_retention(now='{LATE}', kafka='2.8')"
    )  # fmt: skip


def test_without_metadata_configurations_are_those_that_are_typed() -> None:
    logs = wb.open_log_directory(SAMPLES / "era-2.8.2")
    name = next(name for name in logs if not name.startswith("_"))
    view = CleanerView(logs[name], now=NOW)
    assert "hold no configuration" in shown(view, "_about_conditions")["stored"]
    assert not shown(view, "_decision")["is_compacted"]
    assert asked(view, f"{logs[name].topic}:cleanup.policy=compact") == ""
    assert shown(view, "_decision")["is_compacted"]
    assert view.explanation["cleanup.policy"].reason == "cleanup.policy = compact (given)"


def test_what_a_cleaning_would_drop_is_the_plan(tmp_path: Path) -> None:
    folder = prices(tmp_path)
    view = CleanerView(folder, CONFIG, now=NOW)
    view.wait()
    plan = wb.open_log_directory(folder)["orders-0"].plan_cleaning(CONFIG, now=NOW)
    assert shown(view, "_plan")["summary"] == plan.summary
    assert [row[2] for row in shown(view, "_plan")["reasons"]] == [
        count for _, _, count in plan.counts()
    ]
    assert shown(view, "_plan")["size_after"] == plan.size_after


def test_a_large_log_is_planned_when_that_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("widgets.decisions.cleaner_view.MOST_READ", 1)
    view = CleanerView(prices(tmp_path), CONFIG, now=NOW)
    view.wait()
    assert shown(view, "_plan") == {"state": "waits"}
    view.answer_plan()
    view.wait()
    assert shown(view, "_plan")["state"] == "done"
    view.show(CONFIG, now=NOW + DAY)
    assert shown(view, "_plan") == {"state": "waits"}


def test_another_log_is_shown_when_it_is_picked_or_selected() -> None:
    logs = wb.open_log_directory(SHOP)
    view = CleanerView(logs["customers-0"], {"retention.ms": "1d"}, now=NOW)
    view.answer_pick("orders-1")
    assert (view.partition.name, view.selected["partition"]) == ("orders-1", "orders-1")
    assert view.conditions["config"] == {"retention.ms": "1d"}
    view.selected = {"partition": "clicks-1"}
    assert shown(view, "_decision")["partition"] == "clicks-1"
    with pytest.raises(LookupError, match="no log nowhere-0"):
        view.answer_pick("nowhere-0")
    view.selected = {"partition": "__cluster_metadata-0"}
    assert "KRaft manages it" in shown(view, "_decision")["problem"]
    assert view.to_png().startswith(b"\x89PNG")
    view.selected = {"partition": "customers-0"}
    assert "problem" not in shown(view, "_decision")


def test_a_log_alone_has_nothing_to_pick(tmp_path: Path) -> None:
    view = RetentionView(prices(tmp_path), CONFIG, now=NOW)
    assert view.get_state("_logs")["_logs"] == ["orders-0"]
    bundle = view._repr_mimebundle_()
    assert bundle is not None
    assert bundle[0]["image/png"].startswith(b"\x89PNG")
    assert bundle[0]["text/plain"].startswith("RetentionView: orders-0: retention deletes 0 of 3")


def test_a_screen_decides_both_under_the_same_conditions() -> None:
    screen = Workbench(SHOP)
    overview = screen.views[OVERVIEW]
    overview.wait()
    overview.answer_lead("logs", row_of(overview, "logs", "customers-1"))
    assert screen.tab == CLEANING
    cleaning = screen.views[CLEANING]
    assert cleaning.partition.name == "customers-1"
    assert asked(cleaning, "retention.ms=1d", now="2026-12-01") == ""
    overview.answer_lead("logs", row_of(overview, "logs", "orders-2"))
    assert screen.tab == RETENTION
    retention = screen.views[RETENTION]
    assert retention.partition.name == "orders-2"
    assert retention.conditions == cleaning.conditions
    assert cleaning.partition.name == "customers-1"  # it is not looked at, and reads nothing
    assert asked(retention, "retention.ms=2d") == ""
    screen.tab = CLEANING
    assert cleaning.partition.name == "orders-2"
    assert cleaning.conditions["config"] == {"retention.ms": "2d"}


def test_linked_views_follow_each_other() -> None:
    logs = wb.open_log_directory(SHOP)
    one, other = (view(logs["orders-0"], now=NOW) for view in (CleanerView, RetentionView))
    traitlets.link((one, "selected"), (other, "selected"))
    traitlets.link((one, "conditions"), (other, "conditions"))
    one.answer_pick("orders-1")
    assert other.partition.name == "orders-1"
    assert asked(one, "retention.ms=1d") == ""
    assert shown(other, "_decision")["freed"] == shown(other, "_decision")["size"]


def test_a_log_that_is_never_cleaned_says_so_before_its_plan() -> None:
    logs = wb.open_log_directory(SHOP)
    view = CleanerView(logs["payments-1"], now=LATER)
    view.wait()
    assert shown(view, "_plan")["lead"] == (
        "This log is never cleaned: its cleanup.policy does not contain compact. If it were "
        "compacted: "
    )
    cleaned = CleanerView(logs["customers-0"], now=LATER)
    cleaned.wait()
    assert shown(cleaned, "_plan")["lead"] == ""


def test_a_value_that_just_misses_its_threshold_differs_from_it() -> None:
    hour, week = 3_600_000, 7 * DAY
    assert _against("retention.ms", week + hour, week) == "7 days and 1 h"
    assert _against("retention.ms", week - hour, week) == "1 h less"
    assert _against("retention.ms", week, week) == "7 days"
    assert _against("retention.ms", 2 * week, week) == "14 days"
    assert _against("log start offset", 5, None) == "5"
