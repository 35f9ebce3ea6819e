"""The explorer in a real browser, over what real brokers wrote."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import workbench as wb
from tests.browser.bridge import Show
from tests.browser.pages import STATS, press_quickly, stats, until
from tests.golden.cases import Case
from widgets import LogExplorer

pytestmark = pytest.mark.browser

Golden = Callable[[str], Case]
MAP = ".klw-map canvas"
SAMPLE = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"


@pytest.fixture
def logs(golden: Golden) -> wb.LogDirectory:
    return wb.open_log_directory(golden("4.2.0-txn").directory("data"))


@pytest.fixture
def damaged(golden: Golden) -> wb.LogDirectory:
    return wb.open_log_directory(golden("4.2.0-damage-unclean").directory("before"))


def click_batch(page: Page, part: float) -> None:
    """Click into the batches track at a part of the axis' length."""
    box = page.locator(MAP).bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 92 + part * (box["width"] - 104), box["y"] + 84)


def shown_rows(page: Page, tab: str = "Records") -> list[str]:
    rows = page.get_by_role("grid", name=tab, exact=True).locator("[data-row]:visible")
    expect(rows.first).to_be_visible()
    return rows.all_inner_texts()


def select_first_partition(page: Page) -> None:
    page.get_by_role("tree").focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowDown")


def test_clicking_a_batch_selects_it_and_shows_its_records(
    page: Page, show: Show, logs: wb.LogDirectory
) -> None:
    explorer = LogExplorer(logs, selected={"partition": "txn-b-0", "segment": 1})
    show(explorer)
    click_batch(page, 0.12)
    until(page, lambda: explorer.selected["position"] is not None)
    batch = explorer.selected_batch()
    assert batch.position <= 0.12 * logs["txn-b-0"].segments[1].size < batch.position + batch.size
    expect(page.locator(".klw-row[data-kind~=within]").first).to_be_visible()
    offsets = page.locator(".klw-row[data-kind~=within] > span:first-child").all_inner_texts()
    assert [int(text) for text in offsets] == list(range(batch.base_offset, batch.last_offset + 1))


def test_a_selection_made_in_python_is_shown(page: Page, show: Show, logs: wb.LogDirectory) -> None:
    explorer = LogExplorer(logs, selected={"partition": "txn-b-0", "segment": 1})
    bridge = show(explorer)
    explorer.selected = {"partition": "txn-a-1", "offset": 12}
    bridge.push()
    expect(page.locator(".klw-item[aria-selected=true]")).to_contain_text("1")
    expect(page.locator(".klw-grid:visible [aria-selected=true]")).to_contain_text("12")


def test_the_tree_leads_to_another_partition(page: Page, show: Show, logs: wb.LogDirectory) -> None:
    explorer = LogExplorer(logs, selected={"partition": "txn-b-0"})
    show(explorer)
    select_first_partition(page)
    until(page, lambda: explorer.selected["partition"] == "txn-a-0")
    expect(page.get_by_role("heading", name="txn-a-0")).to_be_visible()


def test_the_filter_finds_a_topic(page: Page, show: Show, logs: wb.LogDirectory) -> None:
    show(LogExplorer(logs))
    page.get_by_placeholder("Filter topics").fill("many")
    expect(page.get_by_role("treeitem").locator("visible=true")).to_have_count(2)


def test_arrow_keys_move_between_batches_and_say_what_they_are(
    page: Page, show: Show, logs: wb.LogDirectory
) -> None:
    explorer = LogExplorer(logs, selected={"partition": "txn-b-0", "segment": 1})
    show(explorer)
    page.locator(".klw-map").focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    third = logs["txn-b-0"].segments[1].batches[2].position
    until(page, lambda: explorer.selected["position"] == third)
    expect(page.locator("[aria-live=polite]")).to_contain_text("Batch 2. Offsets")
    page.keyboard.press("Escape")
    until(page, lambda: explorer.selected["position"] is None)


def test_a_segment_in_the_remote_tier_is_reached_by_keys_and_says_so(
    page: Page, show: Show, golden: Golden
) -> None:
    case = golden("4.2.0-tiered")
    logs = wb.open_log_directory(case.directory("data"), remote=case.path / "tier")
    explorer = LogExplorer(logs, selected={"partition": "tier-local-0"})
    show(explorer)
    expect(page.get_by_text("3 segments and 2 remote")).to_be_visible()
    page.locator(".klw-strip").focus()
    page.keyboard.press("Home")
    until(page, lambda: explorer.selected["segment"] == 0)
    expect(page.locator("[aria-live=polite]")).to_contain_text("in the remote tier")
    expect(page.get_by_role("tab", name="Records")).to_contain_text("48")
    page.locator(".klw-strip canvas").hover(position={"x": 150, "y": 25})
    expect(page.locator(".klw-strip .klw-card")).to_contain_text("not on this disk")


def test_keys_that_come_before_the_kernel_has_answered_are_not_lost(
    page: Page, show: Show, logs: wb.LogDirectory
) -> None:
    explorer = LogExplorer(logs, selected={"partition": "txn-b-0", "segment": 1})
    show(explorer)
    press_quickly(page.locator(".klw-map"), "ArrowRight", 25)
    wanted = logs["txn-b-0"].segments[1].batches[24].position
    until(page, lambda: explorer.selected["position"] == wanted)


def test_from_batch_to_record_to_bytes_without_a_mouse(
    page: Page, show: Show, logs: wb.LogDirectory
) -> None:
    explorer = LogExplorer(logs, selected={"partition": "txn-b-0", "segment": 1}, show_values=True)
    show(explorer)
    page.locator(".klw-map").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowDown")
    until(page, lambda: explorer.selected["offset"] is not None)
    page.keyboard.press("Enter")
    expect(page.locator(".klw-hexrow:visible").first).to_be_visible()
    expect(page.locator(".klw-hexrow [data-wanted=true]").first).to_be_visible()


def test_hidden_values_are_not_in_the_page(page: Page, show: Show, golden: Golden) -> None:
    logs = wb.open_log_directory(golden("4.2.0-plain-java").directory("data"))
    chosen = {"partition": "java-none-0", "position": 0}
    explorer = LogExplorer(logs, selected=chosen, show_values=False)
    show(explorer)
    secret = next(r.value for r in explorer.selected_records() if r.value and len(r.value) > 8)
    page.get_by_role("tab", name="Bytes").click()
    expect(page.locator(".klw-hexrow u").first).not_to_have_text("··")
    assert secret.decode() not in page.content()
    assert secret[:16].hex(" ") not in page.locator(".klw-hexbox").inner_text()


def test_values_are_shown_at_once_and_one_button_hides_them(
    page: Page, show: Show, golden: Golden
) -> None:
    logs = wb.open_log_directory(golden("4.2.0-plain-java").directory("data"))
    explorer = LogExplorer(logs, selected={"partition": "java-none-0", "position": 0})
    show(explorer)
    secret = next(r.value for r in explorer.selected_records() if r.value and len(r.value) > 8)
    records = page.get_by_role("grid", name="Records")
    expect(records).to_contain_text(secret.decode()[:20])
    assert secret.decode()[:20] not in str(explorer.get_state())  # what a notebook saves
    page.get_by_role("button", name="Hide keys, values and headers").click()
    expect(records).not_to_contain_text(secret.decode()[:20])
    expect(records).to_contain_text(f"{len(secret)} bytes")
    page.keyboard.press("v")
    expect(records).to_contain_text(secret.decode()[:20])


def test_a_damaged_batch_is_marked_with_color_shape_and_words(
    page: Page, show: Show, damaged: wb.LogDirectory
) -> None:
    show(LogExplorer(damaged, selected={"partition": "dmg-flip-value-0", "segment": 32}))
    expect(page.locator(".klw-legend")).to_contain_text("damaged")
    page.get_by_role("tab", name="Batches").click()
    assert "the CRC does not match" in " ".join(shown_rows(page, "Batches"))
    assert "1 damaged batch" in (page.locator(".klw-map").get_attribute("aria-label") or "")
    page.get_by_role("tab", name="Records").click()
    records = page.get_by_role("grid", name="Records")
    expect(records.locator("[data-kind~=bad]:visible").first).to_contain_text(
        "the CRC does not match"
    )


def test_an_unfinished_tail_is_marked(page: Page, show: Show, damaged: wb.LogDirectory) -> None:
    partition = damaged["dmg-cut-last-17-0"]
    last = partition.segments[-1].base_offset
    show(LogExplorer(damaged, selected={"partition": partition.name, "segment": last}))
    expect(page.locator(".klw-legend")).to_contain_text("unfinished batch")


def test_verify_shows_what_a_broker_would_do(
    page: Page, show: Show, damaged: wb.LogDirectory
) -> None:
    show(LogExplorer(damaged, selected={"partition": "dmg-flip-value-0", "segment": 32}))
    page.get_by_role("button", name="Check every byte of this").click()
    row = page.get_by_role("grid", name="Findings").locator("[data-row]:visible").first
    expect(row).to_contain_text("error")
    expect(page.get_by_role("region", name="The selected finding")).to_contain_text("recovery")
    row.click()
    expect(page.locator(".klw-tabs .klw-about")).to_contain_text("Batch 2")


def test_each_view_gives_its_python(page: Page, show: Show, logs: wb.LogDirectory) -> None:
    explorer = LogExplorer(logs, selected={"partition": "txn-b-0", "offset": 20})
    show(explorer)
    page.get_by_role("button", name="Records as Python").click()
    assert page.locator(".klw-code code").inner_text() == explorer.query["records"]
    page.keyboard.press("Escape")
    expect(page.locator(".klw-code")).to_have_count(0)


def test_going_to_a_time_selects_a_record(page: Page, show: Show, logs: wb.LogDirectory) -> None:
    explorer = LogExplorer(logs, selected={"partition": "txn-b-0"})
    show(explorer)
    page.get_by_placeholder("Go to offset or time").fill("40")
    page.keyboard.press("Enter")
    until(page, lambda: explorer.selected["offset"] == 40)
    page.get_by_placeholder("Go to offset or time").fill("nonsense")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("neither an offset nor a time")


def test_the_wheel_zooms_only_a_map_that_has_the_focus(
    page: Page, show: Show, logs: wb.LogDirectory
) -> None:
    explorer = LogExplorer(logs, selected={"partition": "txn-b-0", "segment": 1})
    show(explorer)
    box = page.locator(MAP).bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 84)
    page.mouse.wheel(0, -240)
    expect(page.locator(".klw-hint")).to_be_visible()
    assert explorer.view == []
    page.locator(".klw-map").focus()
    page.mouse.wheel(0, -240)
    until(page, lambda: len(explorer.view) == 2)
    assert explorer.view[1] - explorer.view[0] < logs["txn-b-0"].segments[1].size


def test_a_zoomed_map_stays_right_of_its_axis_and_its_times_are_those_shown(
    page: Page, show: Show, logs: wb.LogDirectory
) -> None:
    explorer = LogExplorer(logs, selected={"partition": "txn-b-0", "segment": 1})
    bridge = show(explorer)
    whole = stats(page)["times"]
    first, last = (logs["txn-b-0"].segments[1].batches[at] for at in (4, 9))
    explorer.view = [first.position + first.size / 2, last.position + last.size / 2]
    bridge.push()
    page.wait_for_function(f"{STATS}.view[0] > 0")
    shown = stats(page)["times"]
    assert whole["first"] <= shown["first"] <= shown["last"] < whole["last"]
    painted = page.locator(MAP).evaluate(
        """(canvas) => {
          const ratio = devicePixelRatio, pen = canvas.getContext("2d");
          const { data } = pen.getImageData(86 * ratio, 62 * ratio, 6 * ratio, 44 * ratio);
          return data.some((each) => each > 0);
        }"""
    )
    assert not painted, "a batch reaches over the start of the axis"


def test_a_tab_does_not_move_when_it_is_chosen(
    page: Page, show: Show, logs: wb.LogDirectory
) -> None:
    show(LogExplorer(logs, selected={"partition": "txn-b-0", "segment": 1}))
    places = "[...document.querySelectorAll('[role=tab]')].map((each) => each.offsetLeft)"
    before = page.evaluate(places)
    for name in ("Time index", "Batches", "Bytes"):
        page.get_by_role("tab", name=name).click()
        assert page.evaluate(places) == before


@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_the_bytes_tab_begins_at_the_selected_record(
    page: Page, show: Show, golden: Golden, codec: str
) -> None:
    logs = wb.open_log_directory(golden("4.2.0-plain-java").directory("data"))
    partition = logs[f"java-{codec}-0"]
    rows = partition.segments[0].batches.rows
    last = int(rows["last_offset"][(rows["last_offset"] - rows["base_offset"]).argmax()])
    explorer = LogExplorer(logs, selected={"partition": partition.name, "offset": last})
    show(explorer)
    page.get_by_role("tab", name="Bytes").click()
    wanted = page.locator(".klw-hexrow [data-wanted=true]").first
    expect(wanted).to_be_visible()
    box, view = wanted.bounding_box(), page.locator(".klw-hexbox").bounding_box()
    assert box is not None
    assert view is not None
    assert view["y"] <= box["y"] < view["y"] + view["height"] - 20
    page.get_by_role("tab", name="Records").click()
    page.get_by_role("grid", name="Records").press("ArrowUp")
    until(page, lambda: explorer.selected["offset"] == last - 1)
    page.get_by_role("tab", name="Bytes").click()
    expect(page.locator(".klw-hexrow [data-wanted=true]").first).to_be_visible()


def test_the_theme_is_followed_while_it_changes(
    page: Page, show: Show, logs: wb.LogDirectory
) -> None:
    show(LogExplorer(logs, selected={"partition": "txn-b-0", "segment": 1}))
    page.locator(".klw-map").focus()
    page.keyboard.press("ArrowRight")
    read = "getComputedStyle(document.querySelector('.klw')).backgroundColor"
    light = page.evaluate(read)
    page.evaluate("document.body.dataset.jpThemeLight = 'false'")
    expect(page.locator(".klw")).to_have_attribute("data-theme", "dark")
    assert page.evaluate(read) != light


def test_buffers_at_odd_places_are_read_right(
    page: Page, show: Show, logs: wb.LogDirectory
) -> None:
    show(LogExplorer(logs, selected={"partition": "txn-b-0", "segment": 1}), shift=3)
    page.get_by_role("tab", name="Batches").click()
    assert len(shown_rows(page, "Batches")) > 5


def test_a_kernel_that_does_not_respond_is_named(
    page: Page, show: Show, logs: wb.LogDirectory
) -> None:
    page.clock.install()
    show(LogExplorer(logs, selected={"partition": "txn-b-0", "segment": 1}), isSilent=True)
    page.get_by_role("tab", name="Bytes").click()
    click_batch(page, 0.5)
    silence = page.get_by_role("status")

    def is_named_later() -> bool:
        page.clock.fast_forward(10_000)
        return silence.is_visible()

    until(page, is_named_later)
    expect(silence).to_contain_text("does not respond")


def test_without_a_kernel_the_first_records_are_there_and_the_others_say_why_not(
    page: Page, show: Show
) -> None:
    show(LogExplorer(SAMPLE), kernel=False)
    expect(page.get_by_role("status")).to_contain_text("run the cell again")
    first = shown_rows(page)
    assert len(first) > 5
    page.get_by_role("grid", name="Records").press("End")
    expect(page.get_by_text("not in the saved picture: run the cell again").last).to_be_visible()
    page.get_by_role("grid", name="Records").press("Home")
    expect(page.get_by_role("row", name=first[1]).first).to_be_visible()


@pytest.mark.parametrize("is_hidden", [False, True])
def test_a_kernel_that_is_restarted_leaves_the_last_picture(
    page: Page, show: Show, logs: wb.LogDirectory, *, is_hidden: bool
) -> None:
    show(LogExplorer(logs, selected={"partition": "txn-b-0", "segment": 1}))
    page.evaluate("(hideLoss) => loseKernel({ hideLoss })", is_hidden)
    if is_hidden:
        page.get_by_role("button", name="Read the directory again").click()
    expect(page.get_by_role("status")).to_contain_text("run the cell again")
    page.get_by_role("status").get_by_role("button", name="Dismiss").click()
    before = shown_rows(page)
    click_batch(page, 0.5)  # what the page holds is shown without a kernel
    expect(page.locator(".klw-about").last).to_contain_text("Batch")
    select_first_partition(page)
    expect(page.get_by_role("status")).to_contain_text("run the cell again")
    expect(page.get_by_text("Reading…")).to_have_count(0)
    assert len(shown_rows(page)) == len(before)
    assert stats(page)["draws"] > 0


def test_what_a_restarted_kernel_did_not_read_is_not_selected(
    page: Page, show: Show, logs: wb.LogDirectory
) -> None:
    show(LogExplorer(logs, selected={"partition": "txn-b-0", "segment": 1}))
    page.evaluate("model.onsave = null")  # the kernel is busy
    select_first_partition(page)
    expect(page.get_by_text("Reading…").first).to_be_visible()
    page.evaluate("loseKernel()")
    expect(page.get_by_text("Reading…")).to_have_count(0)
    assert page.evaluate("model.get('selected').partition") == "txn-b-0"


def test_leaving_takes_every_listener_away(page: Page, show: Show, logs: wb.LogDirectory) -> None:
    show(LogExplorer(logs, selected={"partition": "txn-b-0", "segment": 1}))
    assert page.evaluate("model.listeners") > 0
    page.evaluate("unmount()")
    assert page.evaluate("model.listeners") == 0


def test_hostile_names_stay_text(page: Page, show: Show, golden: Golden) -> None:
    logs = wb.open_log_directory(golden("4.2.0-txn").directory("data"))
    explorer = LogExplorer(
        logs, show_values=True, mask=lambda *_: b"<img src=x onerror=window.hit=1>"
    )
    explorer.selected = {"partition": "txn-b-0", "segment": 1}
    show(explorer)
    assert "<img src=x" in " ".join(shown_rows(page))
    assert page.evaluate("window.hit") is None


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [480, 760, 1180, 1700])
def test_nothing_sticks_out_at_any_width(
    page: Page, show: Show, logs: wb.LogDirectory, theme: str, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    explorer = LogExplorer(logs, selected={"partition": "txn-b-0", "offset": 20})
    show(explorer, theme=theme)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    tabs = page.get_by_role("tab").all_inner_texts()
    assert len(tabs) == (6 if width == 1700 else 7)
    for number in range(len(tabs)):
        page.get_by_role("tab").nth(number).click()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), tabs[number]


def test_where_there_is_room_records_and_bytes_stand_side_by_side(
    page: Page, show: Show, logs: wb.LogDirectory
) -> None:
    page.set_viewport_size({"width": 1700, "height": 900})
    show(LogExplorer(logs, selected={"partition": "txn-b-0", "offset": 20}))
    expect(page.locator(".klw-hexrow [data-wanted=true]").first).to_be_visible()
    grid, hexbox = (
        page.locator(each).first.bounding_box() for each in (".klw-grid", ".klw-hexbox")
    )
    assert grid is not None
    assert hexbox is not None
    assert grid["x"] + grid["width"] <= hexbox["x"] + 1
    page.get_by_role("grid", name="Records").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("grid", name="Records")).to_be_visible()
    expect(page.locator(".klw-hexbox")).to_be_focused()


def test_offsets_that_a_cleaning_removed_are_marked_between_batches(page: Page, show: Show) -> None:
    shop = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"
    show(LogExplorer(shop, selected={"partition": "customers-0", "segment": 0}))
    expect(page.locator(".klw-legend").get_by_text("offsets missing")).to_be_visible()
    page.get_by_role("tab", name="Batches").click()
    grid = page.get_by_role("grid", name="Batches")
    expect(grid.get_by_text("after missing offset").first).to_be_visible()
