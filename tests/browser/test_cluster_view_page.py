"""ClusterView in a real browser: the slider moves through time, and the tables follow."""

from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.bridge import Show
from tests.browser.pages import until
from widgets import ClusterView

TWO_FRAMES = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
SHOP = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"


def test_the_slider_shows_the_cluster_at_another_time(page: Page, show: Show) -> None:
    view = ClusterView(SHOP)
    show(view)
    topics = page.get_by_role("grid", name="Topics").locator("[data-row]:visible")
    expect(topics).to_have_count(7)
    at = max(n for n, moment in enumerate(view.moments) if moment.offset <= 40)
    page.get_by_role("slider", name="Moment").fill(str(at))
    expect(page.locator(".klw-moments output")).to_contain_text(f"offset {view.moments[at].offset}")
    expect(topics).to_have_count(len(view.answer_moment(at)[0]["tables"]["Topics"]))
    expect(topics.filter(has_text="__consumer_offsets")).to_have_count(0)
    until(page, lambda: view.at == at)
    page.get_by_role("button", name="First moment").click()
    expect(topics).to_have_count(0)
    expect(page.get_by_role("button", name="Moment before")).to_be_disabled()


def test_a_partition_is_chosen_among_the_leaders(page: Page, show: Show) -> None:
    view = ClusterView(SHOP)
    show(view)
    page.get_by_role("button", name="Leaders").click()
    leader = page.get_by_role("grid", name="Leaders").get_by_text("orders-1")
    leader.scroll_into_view_if_needed()
    page.evaluate(TWO_FRAMES)  # rows that came into sight are drawn
    leader.click()
    until(page, lambda: view.selected["partition"] == "orders-1")
    changed = page.get_by_role("grid", name="What changed at this moment")
    expect(changed.locator("[data-row]:visible").first).to_contain_text("broker")
