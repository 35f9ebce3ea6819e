"""WhatIfView: what `what_if`, `preflight` and `predict_startup` say, under conditions."""

from pathlib import Path
from typing import Any

import workbench as wb
from tests.widgets.test_decisions import asked, shown
from tests.widgets.test_overview import row_of
from widgets import WhatIfView, Workbench
from widgets.decisions.what_if_view import ORDER
from widgets.frame.tab_names import CLEANING, GROUPS, RETENTION, WHAT_IF
from workbench.runtime.words import size_text

SAMPLES = Path(__file__).parents[2] / "sample_data"
SHOP = SAMPLES / "shop-4.3.1"
LATE = 1_795_700_000_000  # ms; 4.9 days after the newest record of payments-0
CONFIG = {"retention.ms": "4d", "min.cleanable.dirty.ratio": 0.1}


def sections(view: WhatIfView) -> dict[str, Any]:
    view.wait()
    found: dict[str, Any] = shown(view, "_sections")
    return found


def tiles(view: WhatIfView) -> dict[str, str]:
    return {tile["label"]: tile["value"] for tile in view.numbers}


def test_it_says_what_the_calls_say() -> None:
    logs = wb.open_log_directory(SHOP)
    view = WhatIfView(logs, CONFIG, now=LATE)
    found = sections(view)
    assert [*found] == [*ORDER]
    assert {each["state"] for each in found.values()} == {"done"}
    told = wb.what_if(logs, CONFIG, now=LATE)
    summary = found["freed"]["notes"][0]
    assert summary.lower() == f"{told.summary}.".lower()
    by_name = {row[0]: row for row in found["freed"]["rows"]}
    for fate in told:
        row = by_name[fate.name]
        assert row[2] == size_text(fate.size)
        assert row[5:7] == [size_text(fate.size_after), size_text(fate.size_as_configured)]
    assert tiles(view)["freed"] == size_text(sum(fate.size - fate.size_after for fate in told))
    gone = sum(row.is_gone for row in told.offsets)
    assert tiles(view)["committed offsets expire"] == f"{gone} of {len(told.offsets)}"
    predicted = logs.preflight(CONFIG, now=LATE).prediction
    loading = {row[0]: row for row in found["loading"]["rows"]}
    assert {name: row[1]["text"] for name, row in loading.items()} == {
        each.name: each.verdict for each in predicted
    }


def test_a_version_decides() -> None:
    view = WhatIfView(SAMPLES / "damaged", now=LATE)
    new = sections(view)
    assert asked(view, kafka="2.8") == ""
    old = sections(view)
    assert "Kafka 2.8" in shown(view, "_about_conditions")["meant"]
    assert old["loading"]["command"].endswith("--kafka 2.8")
    assert new["loading"]["command"] != old["loading"]["command"]
    preflight = wb.open_log_directory(SAMPLES / "damaged").preflight(kafka="2.8", now=LATE)
    assert tiles(view)["broker starts"] == ("yes" if preflight.prediction.starts else "no")


def test_what_is_refused_changes_nothing() -> None:
    view = WhatIfView(SHOP, CONFIG, now=LATE)
    before = sections(view)
    assert "did you mean retention.ms?" in asked(view, "retentoin.ms=1")
    assert sections(view) == before
    assert view.conditions["config"] == CONFIG


def test_the_answers_are_those_of_the_last_conditions() -> None:
    view = WhatIfView(SHOP, now=LATE)
    for days in range(1, 5):  # typed while the answers to the ones before are on their way
        assert asked(view, f"retention.ms={days}d", now=str(LATE)) == ""
    told = wb.what_if(wb.open_log_directory(SHOP), {"retention.ms": "4d"}, now=LATE)
    assert sections(view)["freed"]["notes"][0].lower() == f"{told.summary}.".lower()


def test_of_several_brokers_the_directories_of_one_are_asked_for() -> None:
    screen = Workbench([SAMPLES / "two-brokers" / f"broker{number}" for number in (1, 2)])
    screen.tab = WHAT_IF
    view = screen.views[WHAT_IF]
    view.wait()
    assert {each["state"] for each in sections(view).values()} == {"left out"}
    assert view.get_state("_ids")["_ids"] == ["1", "2"]
    view.answer_broker("2")
    assert (screen.broker, screen.tab) == ("2", WHAT_IF)
    alone = screen.views[WHAT_IF]
    alone.wait()
    assert {each["state"] for each in sections(alone).values()} == {"done"}


def test_rows_lead_to_the_log_under_the_same_conditions() -> None:
    screen = Workbench(SHOP)
    screen.tab = WHAT_IF
    view = screen.views[WHAT_IF]
    assert asked(view, "retention.ms=4d", now=str(LATE)) == ""
    view.wait()
    view.answer_lead("freed", row_of(view, "freed", "payments-0"))
    assert screen.tab == RETENTION
    assert screen.views[RETENTION].partition.name == "payments-0"
    assert screen.views[RETENTION].conditions == view.conditions
    screen.tab = WHAT_IF
    view.answer_lead("freed", row_of(view, "freed", "customers-0"))
    assert screen.tab == CLEANING
    view.answer_lead("expired", row_of(view, "expired", "suggestions"))
    assert (screen.tab, screen.views[GROUPS].group) == (GROUPS, "suggestions")


def test_a_saved_notebook_keeps_the_numbers() -> None:
    view = WhatIfView(SHOP, now=LATE)
    view.wait()
    bundle = view._repr_mimebundle_()
    assert bundle is not None
    assert bundle[0]["text/plain"].startswith("WhatIfView: shop-4.3.1: freed ")
    assert bundle[0]["image/png"].startswith(b"\x89PNG")
