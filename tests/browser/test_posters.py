"""A player opens on the point of its story, and the steps before it are reached from there."""

from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Page, expect

from tests.browser.gallery import MORE, WIDGETS
from widgets import ReplicationPlayer
from widgets.players._player import Player

pytestmark = pytest.mark.browser

POSTERS: Final = {
    "compaction": "segment cleaned",
    "lookup": "batch found",
    "offsets": "offset loaded",
    "recovery": "segment recovered",
    "replication": "restart 1",
    "request": "records sliced",
    "steps": "segment recovered",
}

PLAY: Final = """() => {
  document.querySelector(".klw-play").click();
  return document.querySelector(".klw-place").textContent;
}"""
"""Press Play; returns which step is shown before the next one is."""


@pytest.mark.parametrize("name", POSTERS)
def test_a_page_opens_on_the_point_of_the_story(name: str, page: Page, tmp_path: Path) -> None:
    player = (WIDGETS | MORE)[name]()
    assert isinstance(player, Player)
    player.to_html(tmp_path / "player.html")
    page.goto((tmp_path / "player.html").as_uri())
    now, total = page.locator(".klw-now h4"), len(player.steps)
    expect(now).to_have_text(POSTERS[name])
    expect(page.locator(".klw-place")).to_have_text(f"{player.at + 1:,} of {total:,}")
    expect(page.locator(".klw-steps [aria-selected=true]")).to_be_visible()
    assert player.at > 0
    expect(page.locator("[data-live]:visible:enabled")).to_have_count(0)  # nothing dead
    assert page.evaluate(PLAY) == f"1 of {total:,}"
    page.locator(".klw-player").press("Home")
    expect(page.locator(".klw-place")).to_have_text(f"1 of {total:,}")
    page.get_by_role("button", name="Next step (→)").click()
    expect(page.locator(".klw-place")).to_have_text(f"2 of {total:,}")


def test_next_goes_on_from_the_poster_and_play_from_there(page: Page, tmp_path: Path) -> None:
    player = ReplicationPlayer("G-1")
    player.to_html(tmp_path / "player.html")
    page.goto((tmp_path / "player.html").as_uri())
    place, total = page.locator(".klw-place"), len(player.steps)
    page.get_by_role("button", name="Next step (→)").click()
    expect(place).to_have_text(f"{player.at + 2} of {total}")
    assert page.evaluate(PLAY) == f"{player.at + 2} of {total}"


def test_a_replication_opens_where_a_promise_is_broken() -> None:
    lossy, sound = ReplicationPlayer("G-1"), ReplicationPlayer("G-0")
    broken = [bool(moment.violations) for moment in lossy.played.moments]
    assert lossy.at == broken.index(True)
    assert sound.at == len(sound.steps) - 1
