"""A segment of 100,000 batches appears in 0.3 s and pans at 50 frames a second, drawn in software.

Other work on the machine makes wall times long and says nothing about this: CPU times are held to
the goals always, wall times while a processor is free. The best of a few tries counts.
"""

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.browser.bridge import Bridge, state_of
from tests.golden.cases import Case
from tests.widgets.many_batches import pool_of, write_segment
from widgets import LogExplorer

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.alone]

BATCHES = 100_000
APPEARS_S = 0.3
FRAMES_A_SECOND = 50
FRAMES = 90
TRIES = 8

PAN = """async () => {
  const canvas = document.querySelector(".klw-map canvas"), box = canvas.getBoundingClientRect();
  const send = (type, x) => canvas.dispatchEvent(new PointerEvent(type, {
    bubbles: true, button: 0, pointerId: 1, clientX: box.left + x, clientY: box.top + 84,
  }));
  canvas.setPointerCapture = () => {};
  send("pointerdown", 700);
  const times = [];
  for (let frame = 0; frame < 90; frame++) {
    send("pointermove", 700 - frame * 4);
    times.push(await new Promise(requestAnimationFrame));
  }
  send("pointerup", 340);
  const gaps = times.slice(1).map((time, k) => time - times[k]).sort((a, b) => a - b);
  return 1000 * gaps.length / gaps.reduce((sum, gap) => sum + gap);
}"""

MOUNT = """async () => {
  const start = performance.now();
  await mount(window.sent, { kernel: false });
  const stats = document.getElementById("root").__stats;
  while (!(stats.draws > 0)) await new Promise(requestAnimationFrame);
  return (performance.now() - start) / 1000;
}"""


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory, golden: Callable[[str], Case]) -> Path:
    pool = pool_of([golden("4.2.0-plain-java"), golden("4.2.0-txn")])
    return write_segment(tmp_path_factory.mktemp("many"), pool, BATCHES)


class Clock:
    """Wall time, and the CPU time of the kernel and of the page's main thread, in seconds."""

    def __init__(self, page: Page) -> None:
        self._session = page.context.new_cdp_session(page)
        self._session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def read(self) -> tuple[float, float]:
        found = self._session.send("Performance.getMetrics")["metrics"]
        page = next(each["value"] for each in found if each["name"] == "TaskDuration")
        return time.perf_counter(), time.process_time() + page


def is_idle() -> bool:
    """Whether a processor was free during the last minute."""
    return os.getloadavg()[0] < (os.cpu_count() or 1)


def test_100_000_batches_appear_in_300_ms(
    page: Page, harness: str, many: Path, record_property: Callable[[str, object], None]
) -> None:
    page.goto(f"{harness}/harness.html")
    page.wait_for_function("window.ready")
    LogExplorer(many)  # compiled code and the file are in memory, as after the first look
    clock, walls, cpus = Clock(page), list[float](), list[float]()
    for _ in range(TRIES):
        wall, cpu = time.perf_counter(), time.process_time()
        explorer = LogExplorer(many)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        page.evaluate("(state) => { window.sent = revive(state); }", state_of(explorer))
        before = clock.read()[1] - time.process_time()
        walls.append(wall + page.evaluate(MOUNT))
        cpus.append(cpu + clock.read()[1] - time.process_time() - before)
    record_property("appears_s", f"{min(walls):.3f}")
    say(f"100,000 batches appear in {min(walls):.3f} s, {min(cpus):.3f} s of CPU time")
    assert min(cpus) < APPEARS_S
    assert min(walls) < APPEARS_S or not is_idle()


def test_100_000_batches_pan_at_50_frames_a_second(
    show: Callable[..., Bridge],
    page: Page,
    many: Path,
    record_property: Callable[[str, object], None],
) -> None:
    show(LogExplorer(many))
    page.evaluate("document.querySelector('.klw-map').focus()")
    clock, rates, costs = Clock(page), list[float](), list[float]()
    for zoom in range(TRIES):
        if zoom < 5:
            page.keyboard.press("+")
            page.wait_for_timeout(250)
        before = clock.read()[1] - time.process_time()
        rates.append(page.evaluate(PAN))
        costs.append((clock.read()[1] - time.process_time() - before) / FRAMES)
    record_property("frames_a_second", f"{max(rates):.1f}")
    say(
        f"pans at {max(rates):.1f} frames/s, {1000 * max(costs):.1f} ms of CPU time a frame at most"
    )
    assert sorted(costs)[TRIES // 2] < 1 / FRAMES_A_SECOND
    assert max(rates) >= FRAMES_A_SECOND or not is_idle()


def say(text: str) -> None:
    """Print what was measured, for those who run this with -s."""
    sys.stdout.write(f"\n{text}\n")


def test_five_million_rows_scroll_to_the_end(page: Page, harness: str) -> None:
    page.goto(f"{harness}/harness.html")
    page.wait_for_function("window.ready")
    page.evaluate("""async () => {
      const { dataGrid } = await import("/static/shared/rows.js");
      const grid = dataGrid({
        label: "Big", columns: [{ name: "n", width: "1fr" }], cellsOf: (i) => [String(i)],
        signal: new AbortController().signal,
      });
      grid.el.style.height = "292px";
      const box = document.createElement("div");
      box.className = "klw";
      box.append(grid.el);
      document.getElementById("root").replaceChildren(box);
      grid.setCount(5_000_000);
    }""")
    page.get_by_role("grid").focus()
    page.keyboard.press("End")
    page.wait_for_function(
        "document.querySelector('.klw-row[aria-selected=true]')?.innerText === '4999999'"
    )
    row = page.locator(".klw-row[aria-selected=true]").bounding_box()
    grid = page.get_by_role("grid").bounding_box()
    assert row is not None
    assert grid is not None
    assert row["y"] + row["height"] <= grid["y"] + grid["height"] + 1
    page.mouse.move(grid["x"] + 50, grid["y"] + 100)
    page.mouse.wheel(0, -2400)
    page.wait_for_function(
        "Number(document.querySelector('.klw-row[data-row]').dataset.row) === 4999989 - 100"
    )
