"""A segment of 100,000 batches appears in 0.3 s and pans at 50 frames a second, drawn in software.

The machine may be busy with other tests, so the best of a few tries counts.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.browser.bridge import Bridge
from tests.golden.cases import Case
from tests.widgets.many_batches import pool_of, write_segment
from widgets import LogExplorer

pytestmark = [pytest.mark.browser, pytest.mark.slow]

BATCHES = 100_000
APPEARS_S = 0.3
FRAMES_A_SECOND = 50
TRIES = 12

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

MOUNT = """async (state) => {
  const ready = revive(state), start = performance.now();
  await mount(ready);
  const stats = document.getElementById("root").__stats;
  while (!(stats.draws > 0)) await new Promise(requestAnimationFrame);
  return (performance.now() - start) / 1000;
}"""


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory, golden: Callable[[str], Case]) -> Path:
    pool = pool_of([golden("4.2.0-plain-java"), golden("4.2.0-txn")])
    return write_segment(tmp_path_factory.mktemp("many"), pool, BATCHES)


def test_100_000_batches_appear_in_300_ms_and_pan_at_50_frames_a_second(
    page: Page, harness: str, many: Path, record_property: Callable[[str, object], None]
) -> None:
    page.goto(f"{harness}/harness.html")
    page.wait_for_function("window.ready")
    LogExplorer(many)  # compiled code and the file are in memory, as after the first look
    appears: list[float] = []
    kernel: list[float] = []
    front: list[float] = []
    bridge = None
    while len(appears) < TRIES and not (appears and min(appears) < APPEARS_S):
        start = time.perf_counter()
        explorer = LogExplorer(many)
        kernel.append(time.perf_counter() - start)
        if bridge is None:
            bridge = Bridge(page, explorer)
            bridge.mount()
        front.append(page.evaluate(MOUNT, bridge.state()))
        appears.append(kernel[-1] + front[-1])
    page.evaluate("document.querySelector('.klw-map').focus()")
    for _ in range(4):
        page.keyboard.press("+")
        page.wait_for_timeout(250)
    frames: list[float] = []
    while len(frames) < TRIES and not (frames and max(frames) >= FRAMES_A_SECOND):
        frames.append(page.evaluate(PAN))
    record_property("appears_s", f"{min(appears):.3f}")
    record_property("frames_a_second", f"{max(frames):.1f}")
    sys.stdout.write(
        f"appears in {min(appears):.3f} s (kernel {min(kernel):.3f}, page {min(front):.3f}), "
        f"pans at {max(frames):.1f} frames/s\n"
    )
    assert min(appears) < APPEARS_S
    assert max(frames) >= FRAMES_A_SECOND


def test_five_million_rows_scroll_to_the_end(page: Page, harness: str) -> None:
    page.goto(f"{harness}/harness.html")
    page.wait_for_function("window.ready")
    page.evaluate("""async () => {
      const { dataGrid } = await import("/static/rows.js");
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
