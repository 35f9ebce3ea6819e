"""CleanerView: what the cleaner's own rules say of a partition, as the page gets it."""

from pathlib import Path
from typing import Any

import pytest
import traitlets

import workbench as wb
from tests.cleaner.cleaning import DAY
from tests.widgets.cleanable import CONFIG, NOW, prices
from widgets import CleanerView, LogExplorer

SHOP = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return prices(tmp_path)


def shown(view: CleanerView) -> Any:
    return view.get_state("_decision")["_decision"]


def regions(view: CleanerView) -> list[str]:
    return [state.region for state in view.states]


def test_segments_lie_in_the_cleaners_regions(folder: Path) -> None:
    view = CleanerView(folder, CONFIG, now=NOW)
    assert regions(view) == ["dirty", "dirty", "active"]
    assert shown(view)["ratio"] == 1
    view.show(CONFIG | {"orders:min.compaction.lag.ms": DAY}, now=NOW)
    assert regions(view) == ["waiting", "waiting", "active"]
    assert "min.compaction.lag.ms" in shown(view)["conclusion"]


def test_a_real_log_is_clean_up_to_its_checkpoint() -> None:
    view = CleanerView(wb.open_log_directory(SHOP)["customers-0"], now=1_732_924_800_000)
    assert regions(view) == ["clean"] * 3 + ["dirty"] * 4 + ["active"]
    assert ["checkpoint", "909"] in shown(view)["markers"]
    assert view.explanation["min.cleanable.dirty.ratio"].verdict == "blocks"
    assert view.states[0].horizons
    assert view.states[3].without_horizon == view.states[3].tombstones == 1


def test_the_rules_are_those_of_the_explanation(folder: Path) -> None:
    view = CleanerView(folder, CONFIG, now=NOW)
    explained = wb.open_log_directory(folder)["orders-0"].explain_cleaning(CONFIG, now=NOW)
    assert [row[0] for row in shown(view)["rules"]] == [row.rule for row in explained]
    assert shown(view)["conclusion"] == explained.conclusion


def test_tombstones_are_counted_with_their_horizons(folder: Path) -> None:
    view = CleanerView(folder, CONFIG, now=NOW)
    assert [state.tombstones for state in view.states] == [1, 0, 0]
    assert view.states[0].without_horizon == 1
    assert not view.states[0].horizons


def test_it_follows_the_explorer_and_the_explorer_it() -> None:
    logs = wb.open_log_directory(SHOP)
    view = CleanerView(logs["customers-0"], now=NOW)
    explorer = LogExplorer(logs, selected={"partition": "customers-0"})
    traitlets.link((explorer, "selected"), (view, "selected"))
    view.selected = {"partition": "customers-0", "segment": 909, "position": None, "offset": None}
    assert explorer.selected["segment"] == 909
    explorer.selected = {"partition": "customers-0", "offset": 10}
    assert view.selected["segment"] == 0


def test_a_saved_notebook_keeps_a_picture_and_the_conclusion(folder: Path) -> None:
    view = CleanerView(folder, CONFIG, now=NOW)
    bundle = view._repr_mimebundle_()
    assert bundle is not None
    assert bundle[0]["image/png"].startswith(b"\x89PNG")
    assert bundle[0]["text/plain"] == "CleanerView: orders-0: the log is cleaned"
    before = view.to_png()
    view.show(CONFIG | {"orders:min.compaction.lag.ms": DAY}, now=NOW)
    assert view.to_png() != before
