"""How well the text of a page can be read: its contrast, as WCAG 2.2 computes it (1.4.3)."""

from typing import Any

from playwright.sync_api import Page

LEAST = 4.5
"""The contrast that text of ordinary size needs."""

LAB_COLORS = """
body[data-jp-theme-light="true"] {
  --jp-layout-color0: white; --jp-layout-color1: white; --jp-content-font-color0: rgba(0, 0, 0, 1);
}
body[data-jp-theme-light="false"] {
  --jp-layout-color0: #111; --jp-layout-color1: #212121;
  --jp-content-font-color0: rgba(255, 255, 255, 1);
}
"""
"""JupyterLab's own colors for what a widget takes over from the page."""

_FAINT = """
(least) => {
  const pen = Object.assign(document.createElement("canvas"), { width: 1, height: 1 })
    .getContext("2d", { willReadFrequently: true });
  const known = (make, cache = new Map()) => (key) => {
    if (!cache.has(key)) cache.set(key, make(key));
    return cache.get(key);
  };
  const rgba = known((color) => {
    pen.clearRect(0, 0, 1, 1);
    pen.fillStyle = color;
    pen.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = pen.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  });
  const over = (top, under) => [0, 1, 2].map((k) => top[k] * top[3] + under[k] * (1 - top[3]));
  const light = (color) => {
    const linear = (c) => c <= .04045 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4;
    const [r, g, b] = color.map((c) => linear(c / 255));
    return .2126 * r + .7152 * g + .0722 * b;
  };
  const ground = known((el) => {
    if (!el) return [255, 255, 255];
    return over(rgba(getComputedStyle(el).backgroundColor), ground(el.parentElement));
  });
  const opacity = known((el) => el ? getComputedStyle(el).opacity * opacity(el.parentElement) : 1);
  const found = [];
  const judge = (el, text, color) => {
    const ink = rgba(color), under = ground(el);
    const [a, b] = [light(over([...ink.slice(0, 3), ink[3] * opacity(el)], under)), light(under)];
    const contrast = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    const kind = el.className || el.tagName;
    if (contrast < least) found.push({ text: text.slice(0, 40), kind, contrast });
  };
  const walker = document.createTreeWalker(document.getElementById("root"), NodeFilter.SHOW_TEXT);
  let seen = 0;
  while (walker.nextNode()) {
    const el = walker.currentNode.parentElement, text = walker.currentNode.textContent.trim();
    if (!text || !el.checkVisibility() || el.closest(":disabled, .klw-quiet")) continue;
    seen++;
    judge(el, text, getComputedStyle(el).color);
  }
  for (const el of document.querySelectorAll("#root input[placeholder]")) {
    const { color } = getComputedStyle(el, "::placeholder");
    if (el.checkVisibility()) judge(el, el.placeholder, color);
  }
  return [seen, found];
}
"""


def faint_texts(page: Page) -> list[dict[str, Any]]:
    """Return the visible texts that stand out too little from what is behind them."""
    seen, found = page.evaluate(_FAINT, LEAST)
    assert seen > 10, "the page shows hardly any text"
    return list(found)
