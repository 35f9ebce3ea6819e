"""The compaction player and the cleaner's view in a real browser: stepping, jumping, zooming."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.bridge import Show
from tests.browser.pages import STATS, colors, until
from tests.cleaner.cleaning import DAY
from tests.widgets.cleanable import CONFIG, NOW, many, prices
from widgets import CleanerView, CompactionPlayer

pytestmark = pytest.mark.browser

SHOP = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"
SHOTS = Path(__file__).parents[2] / "build" / "screenshots"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prices(tmp_path_factory.mktemp("cleanable"))


@pytest.fixture
def player(folder: Path) -> CompactionPlayer:
    times = [NOW, NOW + DAY + 1]
    return CompactionPlayer(folder, CONFIG, now=times, everything=True, show_values=True, at=0)


def kind(player: CompactionPlayer) -> str:
    return "" if player.step is None else player.step.kind


def shot(page: Page, name: str) -> None:
    SHOTS.mkdir(parents=True, exist_ok=True)
    page.wait_for_timeout(300)
    page.locator("#root").screenshot(path=SHOTS / f"{name}.png")


KEPT, MAPPED = (0, 158, 115), (0, 114, 178)


def test_keys_step_through_the_map_to_the_swap(
    page: Page, show: Show, player: CompactionPlayer
) -> None:
    show(player)
    page.locator(".klw-player").focus()
    for at in (1, 2, 3):
        page.keyboard.press("ArrowRight")
        until(page, lambda at=at: player.at == at)  # type: ignore[misc]
    entries = page.locator(".klw-mapbox .klw-row[data-row]:visible")
    expect(entries).to_have_count(2)
    expect(entries.first).to_contain_text("2")  # the newest offset of key 10 so far
    page.wait_for_function(f"{STATS}.at === 3")
    until(page, lambda: MAPPED in colors(page))
    assert KEPT not in colors(page)
    page.get_by_role("button", name="segment swapped in").click()
    until(page, lambda: kind(player) == "segment swapped in")
    until(page, lambda: KEPT in colors(page))
    page.keyboard.press("Home")
    until(page, lambda: player.at == 0)
    page.get_by_role("button", name="25/s").click()
    page.locator(".klw-player").focus()
    page.keyboard.press("Space")
    until(page, lambda: player.at > 3)
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="Play")).to_be_visible()


def test_a_key_and_an_offset_are_gone_to(page: Page, show: Show, player: CompactionPlayer) -> None:
    show(player)
    box = page.get_by_label("Go to the next step of a key or an offset")
    box.fill("3")
    box.press("Enter")
    until(page, lambda: kind(player) == "record kept")
    expect(page.locator(".klw-now")).to_contain_text("delete horizon is set now")
    shot(page, "compaction-tombstone")
    box.fill("12")
    box.press("Enter")
    until(page, lambda: player.at > 30)
    expect(page.locator(".klw-now")).to_contain_text("key")
    box.fill("nothing")
    box.press("Enter")
    expect(box).to_have_attribute("aria-invalid", "true")
    message = page.get_by_text("No step is about the key or offset “nothing”.")
    expect(message).to_be_visible()
    box.fill("3")
    expect(message).to_be_hidden()


def test_a_click_on_a_record_tells_why_it_goes(
    page: Page, show: Show, player: CompactionPlayer
) -> None:
    bridge = show(player)
    player.at = [step.kind for step in player.steps].index("segments grouped")
    bridge.push()
    page.wait_for_function(f"{STATS}.at === {player.at}")
    canvas = page.locator(".klw-stage canvas")
    place = canvas.bounding_box()
    assert place is not None
    page.mouse.click(place["x"] + 92 + 20, place["y"] + 115)
    until(page, lambda: kind(player) == "record dropped")
    expect(page.locator(".klw-now")).to_contain_text("Superseded by offset 2", ignore_case=True)
    shot(page, "compaction-dropped")


def test_rounds_are_chosen_and_named(page: Page, show: Show, player: CompactionPlayer) -> None:
    show(player, theme="dark")
    page.get_by_role("button", name="Round 2").click()
    second = player.rehearsal.rounds[1].first_step
    until(page, lambda: player.at == second)
    expect(page.locator(".klw-phead h3")).to_have_text("Round 2")
    page.get_by_role("button", name="record dropped").click()
    until(page, lambda: kind(player) == "record dropped")
    shot(page, "compaction-dark")


def test_records_of_a_large_log_are_zoomed_into(page: Page, show: Show, tmp_path: Path) -> None:
    player = CompactionPlayer(
        many(tmp_path, 300), CONFIG, now=NOW, detail="batches", show_values=True, at=0
    )
    show(player)
    page.get_by_role("button", name="batch rebuilt").click()
    until(page, lambda: kind(player) == "batch rebuilt")
    rows = page.locator(".klw-mapbox:not([hidden]) .klw-row[data-row]:visible")
    expect(rows.first).to_contain_text("dropped")
    box = page.get_by_label("Go to the next step of a key or an offset")
    box.fill("5,000")
    box.press("Enter")
    until(page, lambda: player.step is not None and player.step.numbers["base_offset"] == 5000)
    expect(rows.first).to_contain_text("5,000")
    shot(page, "compaction-batches")


def test_the_listeners_are_gone_when_the_player_is(
    page: Page, show: Show, player: CompactionPlayer
) -> None:
    show(player)
    page.evaluate("unmount()")
    assert page.evaluate("model.listeners") == 0


def test_the_cleaners_view_selects_segments_and_explains_rules(page: Page, show: Show) -> None:
    shop = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"
    view = CleanerView(shop / "customers-0", now=1_732_924_800_000)
    bridge = show(view)
    page.locator(".klw-region").nth(3).click()
    until(page, lambda: view.selected["segment"] == 909)
    expect(page.locator(".klw-now")).to_contain_text("Segment 909")
    page.locator(".klw-cleaner").press("ArrowRight")
    until(page, lambda: view.selected["segment"] == 1055)
    page.locator(".klw-cleaner").press("Home")
    until(page, lambda: view.selected["segment"] == 0)
    page.get_by_role("row", name="min.cleanable.dirty.ratio").click()
    expect(page.locator(".klw-now")).to_contain_text("grabFilthiestCompactedLog")
    shot(page, "cleaner-view")
    before: Any = page.evaluate(f"{STATS}.draws")
    view.show({"customers:min.compaction.lag.ms": DAY}, now=1_732_900_000_000)
    bridge.push()
    page.wait_for_function(f"{STATS}.draws > {before}")
    expect(page.locator('.klw-region[data-region="waiting"]').first).to_be_visible()
    page.evaluate("document.body.dataset.jpThemeLight = 'false'")
    shot(page, "cleaner-view-dark")
    page.evaluate("unmount()")
    assert page.evaluate("model.listeners") == 0


@pytest.mark.parametrize("width", [560, 760, 860, 1000, 1440])
def test_facts_of_a_segment_have_room_at_every_width(page: Page, show: Show, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    show(CleanerView(SHOP / "customers-0"))
    page.locator(".klw-region").nth(2).click()
    facts = page.locator(".klw-now dd")
    expect(facts.first).to_contain_text("20,275")
    widths = facts.evaluate_all("(all) => all.map((each) => each.clientWidth)")
    assert min(widths) > 60  # px: no value is broken into single characters
