"""Stories, the tab Steps: the players of what is open, and their address."""

from pathlib import Path
from typing import Any

import pytest
import traitlets

import workbench as wb
from tests.trees import changes
from widgets import CompactionPlayer, LookupPlayer, OffsetsPlayer, Workbench
from widgets.stories.stories import Stories
from workbench.runtime.times import time_text

SHOP = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"
NOW = 1_795_900_000_000  # eight days after the newest record


def stories(partition: str | None = "orders-0", **options: Any) -> Stories:
    selected = {"partition": partition, "segment": None, "position": None, "offset": None}
    conditions: dict[str, Any] = {"config": {}, "kafka": None, "now": NOW}
    given = {"selected": selected, "conditions": conditions} | options
    return Stories(wb.open_log_directory(SHOP), **given)


def test_each_story_is_played_of_the_partition_and_nothing_is_written() -> None:
    before = changes(SHOP)
    shown = stories("clicks-0")
    for name, title in (
        ("Lookup", "Look up offset 40,048 in clicks-0"),
        ("Recovery", "Recover clicks-0 after a crash"),
        ("Cleaning", "If it were compacted: clean clicks-0"),
        ("Retention", "Apply retention to clicks-0"),
        ("Offsets", "Load __consumer_offsets-0, __consumer_offsets-1, __consumer_offsets-2"),
    ):
        shown.story = name
        assert shown.player is not None, name
        assert shown.player.title == title
        assert shown.children == (shown.bar, shown.player)
        assert shown.step == shown.player.at + 1 > 0
    shown.close()
    assert changes(SHOP) == before


def test_retention_and_cleaning_obey_the_conditions() -> None:
    shown = stories("clicks-0", story="Retention")
    assert shown.player is not None
    assert shown.player.about == "3 segments deleted"
    shown.conditions = {"config": {"retention.ms": "365d"}, "kafka": None, "now": NOW}
    assert shown.player.about == "nothing deleted"
    shown.story = "Cleaning"
    assert isinstance(shown.player, CompactionPlayer)
    assert shown.player.rehearsal.rounds[0].now == NOW


def test_an_offset_that_is_selected_is_looked_up() -> None:
    shown = stories()
    shown.selected = shown.selected | {"offset": 1234}
    assert shown.player is not None
    assert shown.player.title == "Look up offset 1,234 in orders-0"
    shown.selected = shown.selected | {"partition": "orders-1", "offset": None}
    assert "in orders-1" in shown.player.title


def test_an_address_holds_the_story_the_step_and_what_is_looked_up() -> None:
    shown = stories()
    assert isinstance(shown.player, LookupPlayer)
    moment = shown.player.partition.segments[1].largest_timestamp
    shown.player.answer_look_up(time_text(moment))
    shown.player.at = 2
    parts = shown.address()
    assert parts == {"story": "Lookup", "lookup": time_text(moment), "step": "3"}
    other = stories()
    other.show_address(parts)
    assert other.address() == parts
    assert other.player is not None
    assert other.player.title == shown.player.title
    other.show_address({"story": "Offsets", "group": "suggestions", "step": "5"})
    assert isinstance(other.player, OffsetsPlayer)
    assert other.player.at == 4
    other.show_address({})
    assert other.story == "Lookup"


def test_what_an_address_says_wrongly_is_refused() -> None:
    shown = stories()
    with pytest.raises(traitlets.TraitError, match="no story 'Dance'"):
        shown.show_address({"story": "Dance"})
    with pytest.raises(ValueError, match="step is 'x'"):
        shown.show_address({"step": "x"})
    assert shown.story == "Lookup"
    assert shown.player is not None


def test_without_a_partition_the_stories_say_what_to_do() -> None:
    shown = stories(None)
    assert shown.player is None
    assert shown.children[1].text == "Select a partition above, or in Explore."
    shown.story = "Offsets"
    assert shown.player is not None


def test_a_story_that_cannot_be_played_says_why() -> None:
    shown = stories("__cluster_metadata-0", story="Retention")
    assert shown.player is None
    assert "KRaft manages it" in shown.children[1].text


def test_metadata_and_keys_are_shown_only_where_values_are() -> None:
    screen = Workbench(SHOP, tab="Steps", static=False)
    view = screen.views["Steps"]
    assert view.show_values
    screen.bar.show_values = False
    assert not view.show_values
    saved = Workbench(SHOP, tab="Steps")  # in a notebook, traits are saved
    assert not saved.views["Steps"].show_values


def test_the_steps_are_one_place_of_the_way_back() -> None:
    screen = Workbench(SHOP, tab="Steps")
    view = screen.views["Steps"]
    for at in (0, 1, 2):
        view.player.at = at
    assert screen.bar.get_state("_address")["_address"]["parts"]["step"] == "3"
    view.story = "Recovery"
    screen.bar.answer_move(-1)
    assert view.story == "Lookup"
    assert view.step == 3


@pytest.mark.parametrize("story", ["Lookup", "Recovery", "Cleaning", "Offsets"])
def test_the_code_of_a_step_makes_the_player_at_that_step(story: str) -> None:
    shown = stories(story=story, group="suggestions")
    player = shown.player
    assert player is not None
    player.at = 3
    names: dict[str, object] = {}
    code = player.get_state("_code")["_code"].replace("\n\n", "\n\nmade = ")
    exec(f"{code}, at={player.at})", names)  # noqa: S102 - what a person would paste
    made = names["made"]
    assert made.describe() == player.describe()  # type: ignore[attr-defined]


def test_what_a_tab_shows_is_played_from_there() -> None:
    screen = Workbench(SHOP, static=False)
    screen.explorer.selected = screen.explorer.selected | {"partition": "customers-1"}
    for tab, title in (
        ("Cleaning", "Clean customers-1"),
        ("Retention", "Apply retention to customers-1"),
    ):
        screen.tab = tab
        screen.views[tab].answer_play()
        assert screen.tab == "Steps"
        assert screen.views["Steps"].player.title == title
    screen.tab = "Groups"
    screen.views["Groups"].group = "suggestions"
    screen.views["Groups"].answer_play()
    assert screen.views["Steps"].player.title == "Load __consumer_offsets-1"
    screen.bar.answer_move(-1)
    assert screen.tab == "Groups"
