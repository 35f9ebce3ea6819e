"""What tests ask of a page, and how they wait for it."""

import time
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Locator, Page

from tests.waiting import HANGS_AFTER_S

STATS = "document.getElementById('root').__stats"


def until(page: Page, condition: Callable[[], bool]) -> None:
    """Wait until the kernel's side has followed the page."""
    deadline = time.monotonic() + HANGS_AFTER_S
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError("the kernel did not follow")
        page.wait_for_timeout(25)


def press_quickly(target: Locator, key: str, times: int, *, pause: int = 1) -> None:
    """Press a key as fast as no hand does: up to six pauses, in ms, between two of them."""
    target.evaluate(
        """async (element, [key, times, pause]) => {
          for (let i = 0; i < times; i++) {
            element.dispatchEvent(new KeyboardEvent("keydown", { key }));
            await new Promise((done) => setTimeout(done, (i % 7) * pause));
          }
        }""",
        [key, times, pause],
    )


def stats(page: Page) -> Any:
    """Return what the front end reports about its picture."""
    return page.evaluate(STATS)


def settled(page: Page) -> Any:
    """Return what is drawn, once nothing moves."""
    page.wait_for_function(
        f"(() => {{ const n = {STATS}.draws; return new Promise((done) => setTimeout(() =>"
        f" done({STATS}.draws === n), 300)); }})()"
    )
    return stats(page)


def colors(page: Page) -> set[tuple[int, int, int]]:
    """Return the opaque colors on the stage, each once."""
    found: list[int] = page.evaluate(
        """() => {
          const canvas = document.querySelector(".klw-stage canvas"), seen = new Set();
          const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
          for (let i = 0; i < data.length; i += 4) {
            if (data[i + 3] === 255) seen.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
          }
          return [...seen];
        }"""
    )
    return {(each >> 16, (each >> 8) & 255, each & 255) for each in found}
