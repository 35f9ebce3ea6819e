"""The players in a real browser: stepping, playing, what the picture shows, thousands of steps."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import workbench as wb
from tests.browser.bridge import Show
from tests.browser.gallery import MORE, WIDGETS, torn_partition
from tests.browser.pages import STATS, colors, settled, until
from widgets import LookupPlayer, RecoveryPlayer, StepPlayer
from workbench.runtime.steps import Step
from workbench.runtime.times import time_text

pytestmark = pytest.mark.browser

SHOP = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"


@pytest.fixture
def torn(tmp_path: Path) -> str:
    """A partition whose last batch is not whole."""
    return torn_partition(str(tmp_path))


def test_the_buttons_step_and_the_kernel_follows(page: Page, show: Show) -> None:
    player = LookupPlayer(SHOP / "orders-0", offset=1234, at=0)
    show(player)
    now = page.locator(".klw-now")
    expect(now).to_contain_text(
        "Base offset 903 is the largest at or before 1234", ignore_case=True
    )
    expect(page.get_by_role("button", name="Step back")).to_be_disabled()
    page.get_by_role("button", name="Next step").click()
    until(page, lambda: player.at == 1)
    expect(now).to_contain_text("Offset 907 (stored as 4) is below 1234", ignore_case=True)
    expect(page.locator(".klw-place")).to_have_text("2 of 13")
    page.get_by_role("button", name="Last step").click()
    until(page, lambda: player.at == 12)
    expect(now).to_contain_text("batch found")
    expect(page.get_by_role("button", name="Next step")).to_be_disabled()
    expect(page.locator("[aria-live=polite]")).to_contain_text("Step 13 of 13: batch found.")
    page.get_by_role("button", name="Step back").click()
    until(page, lambda: player.at == 11)


def test_keys_step_and_space_plays(page: Page, show: Show) -> None:
    player = LookupPlayer(SHOP / "orders-0", offset=1234, at=0)
    show(player)
    page.locator(".klw-player").focus()
    for key, at in (("ArrowRight", 1), ("End", 12), ("ArrowLeft", 11), ("Home", 0)):
        page.keyboard.press(key)
        until(page, lambda at=at: player.at == at)  # type: ignore[misc]
    page.get_by_role("button", name="25/s").click()
    page.locator(".klw-player").focus()
    page.keyboard.press("Space")
    until(page, lambda: player.at == 12)
    expect(page.get_by_role("button", name="Play")).to_be_visible()


def test_the_keys_still_step_after_a_button_has_ended_its_way(page: Page, show: Show) -> None:
    player = LookupPlayer(SHOP / "orders-0", offset=1234, at=0)
    show(player)
    page.get_by_role("button", name="Last step").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Last step")).to_be_disabled()
    expect(page.locator(".klw-player")).to_be_focused()
    page.keyboard.press("ArrowLeft")
    until(page, lambda: player.at == 11)


def test_tab_stays_in_the_sheet_of_keys_and_escape_leads_back(page: Page, show: Show) -> None:
    show(LookupPlayer(SHOP / "orders-0", offset=1234, at=0))
    page.locator(".klw-player").focus()
    page.keyboard.press("?")
    close = page.get_by_role("dialog", name="Keys").get_by_role("button", name="Close")
    expect(close).to_be_focused()
    for key in ("Tab", "Shift+Tab"):
        page.keyboard.press(key)
        expect(close).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Keys (?)")).to_be_focused()


def test_playing_can_be_stopped(page: Page, show: Show) -> None:
    player = RecoveryPlayer(SHOP / "orders-0", at=0)
    show(player)
    page.get_by_role("button", name="25/s").click()
    page.get_by_role("button", name="Play").click()
    until(page, lambda: player.at > 5)
    page.get_by_role("button", name="Pause").click()
    page.wait_for_timeout(200)
    stopped = player.at
    page.wait_for_timeout(300)
    assert player.at == stopped


def test_a_step_in_the_list_a_kind_and_a_segment_lead_to_their_step(page: Page, show: Show) -> None:
    player = RecoveryPlayer(SHOP / "orders-0", at=0)
    show(player)
    page.get_by_role("grid", name="Steps").locator("[data-row='5']").click()
    until(page, lambda: player.at == 5)
    page.get_by_role("button", name="index entry added").click()
    until(page, lambda: player.step is not None and player.step.kind == "index entry added")
    page.get_by_role("button", name="Segment 903").click()
    until(page, lambda: player.touches[player.at].segment == 2)
    expect(page.locator(".klw-phead h3")).to_have_text("Segment 903")


def test_a_click_into_the_picture_goes_to_the_step_that_was_there(page: Page, show: Show) -> None:
    player = LookupPlayer(SHOP / "orders-0", offset=1234, at=0)
    show(player)
    box = page.locator(".klw-stage canvas").bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] - 20, box["y"] + 95)
    rightmost = max(range(9), key=lambda at: player.touches[at].position)
    until(page, lambda: player.at == rightmost)


def test_a_step_set_in_python_is_shown(page: Page, show: Show) -> None:
    player = LookupPlayer(SHOP / "orders-0", offset=1234, at=0)
    bridge = show(player)
    player.at = 9
    bridge.push()
    expect(page.locator(".klw-now h4")).to_have_text("index entry found")
    expect(page.locator(".klw-player [aria-selected=true]")).to_contain_text("10")


def test_the_picture_goes_to_where_the_batch_is_found(page: Page, show: Show) -> None:
    player = LookupPlayer(SHOP / "orders-0", offset=1234, at=0)
    bridge = show(player)
    assert settled(page)["view"] == [0, player.scenes[2].size]
    player.at = 12
    bridge.push()
    page.wait_for_function(f"{STATS}.at === 12")
    first, end = settled(page)["view"]
    touch = player.touches[12]
    assert first < touch.position
    assert touch.position + touch.size < end
    assert end - first < player.scenes[2].size / 2
    assert (0, 158, 115) in colors(page), "what was found is green"
    page.get_by_role("button", name="Whole segment").click()
    page.wait_for_function(f"{STATS}.view[0] === 0")


def test_who_wants_less_motion_gets_no_gliding(page: Page, show: Show) -> None:
    page.emulate_media(reduced_motion="reduce")
    player = LookupPlayer(SHOP / "orders-0", offset=1234, at=0)
    bridge = show(player)
    before = settled(page)["draws"]
    player.at = 12
    bridge.push()
    page.wait_for_function(f"{STATS}.at === 12")
    assert settled(page)["draws"] - before <= 2


def test_a_torn_end_is_hatched_when_it_is_cut_and_not_before(
    page: Page, show: Show, torn: str
) -> None:
    player = RecoveryPlayer(torn, at=0)
    kinds = [step.kind for step in player.steps]
    player.at = kinds.index("segment recovered") - 1
    bridge = show(player)
    settled(page)
    damage = (213, 94, 0)
    assert damage not in colors(page)
    player.at += 1
    bridge.push()
    page.wait_for_function(f"{STATS}.at === {player.at}")
    settled(page)
    assert damage in colors(page)
    expect(page.locator(".klw-now")).to_contain_text("cut")


def test_index_entries_appear_as_they_are_added(page: Page, show: Show, torn: str) -> None:
    player = RecoveryPlayer(torn, at=0)
    added = [at for at, step in enumerate(player.steps) if step.kind == "index entry added"]
    player.at = added[1] - 1
    bridge = show(player)
    about = page.locator(".klw-phead .klw-about")
    expect(about).to_contain_text("1 index entry")
    player.at = added[1]
    bridge.push()
    expect(about).to_contain_text("2 index entries")


def test_steps_that_come_later_are_followed(page: Page, show: Show, tmp_path: Path) -> None:
    steps: list[Step] = []
    with wb.LogManager([tmp_path], observer=steps.append) as manager:
        log = manager.get_or_create_log("orders-0")
        log.append([(b"key", b"value")])
        player = StepPlayer(steps, tmp_path / "orders-0")
        bridge = show(player)
        for count in (2, 3):
            log.append([(b"key", b"value")])
            player.show(steps, tmp_path / "orders-0")
            bridge.push()
            expect(page.locator(".klw-phead .klw-about")).to_contain_text(f"{count} batches")
            expect(page.locator(".klw-place")).to_have_text(f"{len(steps)} of {len(steps)}")


def test_fifty_thousand_steps_stay_quick(page: Page, show: Show) -> None:
    partition = wb.open_log_directory(SHOP)["orders-0"]
    recovery = RecoveryPlayer(partition)
    many = (list(recovery.steps) * 47)[:50_000]
    player = StepPlayer(many, partition, at=0)
    bridge = show(player)
    assert page.locator(".klw-steps [data-row]").count() < 40
    for at in (25_000, 49_999, 3):
        player.at = at
        bridge.push()
        page.wait_for_function(f"{STATS}.at === {at}")
        expect(page.locator(".klw-steps [aria-selected=true]")).to_contain_text(f"{at + 1:,}")
    assert settled(page)["lastDraw"] < 50


def test_nothing_to_play_is_said(page: Page, show: Show) -> None:
    show(LookupPlayer(SHOP / "orders-0", offset=99_999))
    expect(page.locator(".klw-state:visible")).to_contain_text("offset 99999 is not in orders-0")
    expect(page.get_by_role("button", name="Play")).to_be_hidden()


def test_it_is_readable_in_the_dark_and_leaves_nothing_behind(page: Page, show: Show) -> None:
    show(LookupPlayer(SHOP / "orders-0", offset=1234, at=0), theme="dark")
    expect(page.locator(".klw-player")).to_have_attribute("data-theme", "dark")
    dark = page.evaluate("getComputedStyle(document.querySelector('.klw-now')).color")
    assert dark != "rgb(22, 25, 29)"
    page.evaluate("unmount()")
    assert page.evaluate("model.listeners") == 0


def test_a_narrow_page_shows_all_of_it(page: Page, show: Show) -> None:
    page.set_viewport_size({"width": 520, "height": 900})
    show(RecoveryPlayer(SHOP / "orders-0", at=0))
    root = page.locator(".klw-player")
    assert root.evaluate("(el) => el.scrollWidth <= el.clientWidth")
    expect(page.locator(".klw-steps [data-row]").first).to_be_visible()


def test_everything_has_a_name_for_who_does_not_see_it(page: Page, show: Show) -> None:
    show(RecoveryPlayer(SHOP / "orders-0", at=0))
    nameless = page.evaluate(
        """() => [...document.querySelectorAll(".klw-player button, .klw-player input")].filter(
          (el) => !(el.getAttribute("aria-label") || el.textContent.trim())).length"""
    )
    assert nameless == 0
    label = page.locator(".klw-player").get_attribute("aria-label")
    assert label is not None
    assert "Arrow keys step" in label


def test_another_offset_or_time_is_looked_up_from_the_box(page: Page, show: Show) -> None:
    player = LookupPlayer(SHOP / "orders-0", offset=1234, at=0)
    show(player)
    box = page.get_by_role("textbox", name="Look up another offset")
    box.fill("1,000")
    box.press("Enter")
    expect(page.locator(".klw-title")).to_have_text("Look up offset 1,000 in orders-0")
    assert player.rehearsal.result.offset <= 1000
    expect(page.locator(".klw-now")).to_contain_text("1000")
    moment = player.partition.segments[1].largest_timestamp
    assert moment is not None
    box.fill(time_text(moment))
    box.press("Enter")
    expect(page.locator(".klw-sum")).to_contain_text("found: offset")
    before = player.title
    box.fill("soon")
    box.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("neither an offset nor a time")
    assert player.title == before
    page.evaluate("unmount()")
    assert page.evaluate("model.listeners") == 0


@pytest.mark.parametrize(
    ("theme", "width", "height"),
    [("light", 1280, 720), ("dark", 1920, 1080), ("light", 760, 900)],
)
def test_f_fills_the_window_with_the_sentence_above_the_picture_and_escape_leaves(
    page: Page, show: Show, theme: str, width: int, height: int
) -> None:
    page.set_viewport_size({"width": width, "height": height})
    player = LookupPlayer(SHOP / "orders-0", offset=1234, at=0)
    show(player, theme=theme)
    before = page.locator(".klw-stage").bounding_box()
    page.locator(".klw-player").focus()
    page.keyboard.press("f")
    root, sentence = page.locator(".klw-player"), page.locator(".klw-sentence p")
    assert root.bounding_box() == {"x": 0, "y": 0, "width": width, "height": height}
    assert root.evaluate("(el) => el.scrollHeight <= el.clientHeight"), "it does not scroll"
    size = sentence.evaluate("(el) => parseFloat(getComputedStyle(el).fontSize)")
    assert size >= (28 if width >= 1280 else 22)
    expect(page.locator(".klw-kinds")).to_be_hidden()
    stage, said = page.locator(".klw-stage").bounding_box(), sentence.bounding_box()
    assert before is not None
    assert stage is not None
    assert said is not None
    assert said["y"] + said["height"] <= stage["y"]
    assert stage["height"] > before["height"], "the picture is larger"
    page.keyboard.press("ArrowRight")
    expect(sentence).to_have_text("offset 907 (stored as 4) is below 1234.")
    still = pytest.approx(stage, abs=1)
    assert page.locator(".klw-stage").bounding_box() == still, "nothing moves from step to step"
    page.mouse.click(stage["x"] + stage["width"] - 24, stage["y"] + stage["height"] * 0.52)
    rightmost = max(range(9), key=lambda at: player.touches[at].position)
    until(page, lambda: player.at == rightmost)  # a click hits what it points to, though larger
    page.keyboard.press("Escape")
    expect(page.locator(".klw-sentence")).to_be_hidden()
    expect(page.locator(".klw-kinds")).to_be_visible()
    assert page.locator(".klw-stage").bounding_box() == before
    expect(root).to_be_focused()


def test_nothing_around_a_presenting_player_clips_it_or_takes_the_focus(
    page: Page, show: Show
) -> None:
    show(LookupPlayer(SHOP / "orders-0", offset=1234, at=0))
    page.evaluate(
        """() => {
          const holder = document.querySelector(".klw-player").parentElement;
          holder.style.cssText = "transform: scale(.5); overflow: hidden; height: 40px";
          holder.insertAdjacentHTML("beforebegin", "<button>Beside</button>");
        }"""
    )
    page.get_by_role("button", name="Present (F)").click()
    size = page.viewport_size
    box = page.locator(".klw-player").bounding_box()
    assert size is not None
    assert box is not None
    assert (box["width"], box["height"]) == (size["width"], size["height"])
    page.get_by_role("button", name="Beside").focus()
    expect(page.locator(".klw-player")).to_be_focused()
    page.get_by_role("button", name="Leave (Esc)").click()
    expect(page.locator(".klw-sentence")).to_be_hidden()


def test_it_plays_slower_and_faster_by_keys(page: Page, show: Show) -> None:
    player = LookupPlayer(SHOP / "orders-0", offset=1234, at=0)
    show(player)
    page.locator(".klw-player").focus()
    for _ in range(3):
        page.keyboard.press("-")
    expect(page.get_by_role("button", name="0.1/s", exact=True)).to_have_attribute(
        "aria-pressed", "true"
    )
    page.keyboard.press("Space")
    page.wait_for_timeout(1300)
    assert player.at == 0, "slower than one step per second"
    for _ in range(4):
        page.keyboard.press("+")
    until(page, lambda: player.at == 12)


def test_a_step_has_a_line_of_python(page: Page, show: Show) -> None:
    player = LookupPlayer(SHOP / "orders-0", offset=1234, at=3)
    show(player)
    page.get_by_role("button", name="This step in Python").click()
    code = page.get_by_role("dialog").locator("code")
    expect(code).to_have_text(
        f'import widgets\n\nwidgets.LookupPlayer("{SHOP}/orders-0", offset=1234, at=3)'
    )


def test_a_step_of_a_player_that_was_given_its_steps_is_set(page: Page, show: Show) -> None:
    lookup = LookupPlayer(SHOP / "orders-0", offset=1234)
    show(StepPlayer(lookup.steps, lookup.partition, at=2))
    page.get_by_role("button", name="This step in Python").click()
    expect(page.get_by_role("dialog").locator("code")).to_have_text("player.at = 2")


@pytest.mark.parametrize("width", [760, 1280])
@pytest.mark.parametrize("name", ["lookup", "recovery", "compaction", "offsets", "replication"])
def test_nothing_is_cut_without_a_way_to_see_the_whole(
    page: Page, show: Show, name: str, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    show((WIDGETS | MORE)[name]())
    settled(page)
    cut = page.evaluate(
        """() => [...document.querySelectorAll(".klw-player *")].filter((el) =>
          el.checkVisibility() && el.scrollWidth > el.clientWidth + 1 && el.children.length === 0 &&
          getComputedStyle(el).overflowX !== "visible" && el.textContent.trim() &&
          !el.closest("[title]:not([title=''])")).map((el) => el.outerHTML.slice(0, 200))"""
    )
    assert cut == []


def test_where_every_step_is_in_one_place_the_reasons_get_the_room(page: Page, show: Show) -> None:
    show(MORE["offsets"]())
    heads = page.get_by_role("grid", name="Steps").get_by_role("columnheader")
    expect(heads.filter(has_text="Why")).to_have_count(1)
    expect(heads.filter(has_text="Where")).to_have_count(0)
    expect(page.locator(".klw-now dt").last).to_have_text("where")
