"""Write every widget as pictures to build/screenshots, in two themes and three widths.

``index.html`` there shows them all. Run as ``python -m tests.browser.screenshots [NAME…]``, which
is ``make screenshots``; with names, only these widgets of `gallery` are drawn again. With the name
``documents`` (``make pictures``), pictures of README and docs are written again.
"""

import html
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from PIL import Image
from playwright.sync_api import BrowserContext, Page

from tests.browser.bridge import Bridge, chromium, served
from tests.browser.contrast import LAB_COLORS
from tests.browser.gallery import COMPOSED, MORE, WIDGETS, entry_of
from widgets.app.server import AppServer

PROJECT: Final = Path(__file__).parents[2]
FOLDER: Final = PROJECT / "build" / "screenshots"
WIDTHS: Final = (860, 1440, 1920)  # CSS pixels
THEMES: Final = ("light", "dark")
IMAGES: Final = PROJECT / "notebooks" / "images"
DOCUMENTS: Final = {
    "app": "exploring",
    "cleaner": "cleaner",
    "disk": "disk",
    "findings": "findings",
    "group": "group",
    "overview": "overview",
    "records": "records",
    "replicas": "replicas",
}
"""Image of a document → the widget that it shows, in light colors and 1440 px wide.

The other images show a player at a certain step, or JupyterLab.
"""

SETTLED: Final = 600  # ms after which nothing moves
STARTS: Final = 90  # s within which a page is drawn


def main(names: list[str]) -> None:
    """Draw widgets of the gallery.

    Args:
        names: which; empty: all.

    Raises:
        SystemExit: there is no widget of a name.
    """
    is_for_documents = names == ["documents"]
    if is_for_documents:
        names = [*DOCUMENTS.values()]
    unknown = set(names) - {*WIDGETS, *MORE, *COMPOSED}
    if unknown:
        raise SystemExit(f"no widget in the gallery: {', '.join(sorted(unknown))}")
    FOLDER.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as profile, chromium(Path(profile)) as context, served() as address:
        for name in [*WIDGETS, *MORE, *COMPOSED]:
            if names and name not in names:
                continue
            print(name, flush=True)
            if name in COMPOSED:
                draw_composed(context, name)
            else:
                draw(context, name, address)
    write_index()
    if is_for_documents:
        write_documents()


def write_documents() -> None:
    """Write the pictures of the documents, with as few colors as look the same."""
    for image, name in DOCUMENTS.items():
        with Image.open(FOLDER / f"{name}-1440-light.png") as picture:
            few = picture.convert("RGB").quantize(192, dither=Image.Dither.NONE)
            few.save(IMAGES / f"{image}.png", optimize=True)


def draw(context: BrowserContext, name: str, address: str) -> None:
    """Draw a widget in the page of the tests, with the real widget as its kernel."""
    widget = (WIDGETS | MORE)[name]()
    page = context.new_page()
    page.goto(f"{address}/harness.html")
    page.wait_for_function("window.ready")
    page.add_style_tag(content=LAB_COLORS)
    Bridge(page, widget).mount(entry=entry_of(widget))
    for theme in THEMES:
        page.evaluate(f"document.body.dataset.jpThemeLight = '{theme == 'light'}'.toLowerCase()")
        shoot(page, name, theme, "#root")
    page.close()


def draw_composed(context: BrowserContext, name: str) -> None:
    """Draw a widget that ipywidgets lays out, in the page of the app."""
    with AppServer(COMPOSED[name], title=name, shown=name) as server:
        for theme in THEMES:
            page = context.new_page()
            page.emulate_media(color_scheme=theme)
            page.goto(server.address)
            page.locator(".klw:visible").first.wait_for(timeout=STARTS * 1000)
            shoot(page, name, theme, "body")
            page.close()


def shoot(page: Page, name: str, theme: str, selector: str) -> None:
    """Write a picture for each width."""
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_timeout(SETTLED)
        page.locator(selector).screenshot(path=FOLDER / f"{name}-{width}-{theme}.png")


def write_index() -> None:
    """Write a page with all pictures, a row for each width."""
    names = (*WIDGETS, *MORE, *COMPOSED)
    parts = ["<!doctype html><html lang='en'><meta charset='utf-8'><title>Widgets</title>"]
    parts += [
        "<style>body{font:14px system-ui;background:#888}img{max-width:49%;margin:2px}</style>"
    ]
    for name in names:
        parts.append(f"<h2 id='{name}'>{html.escape(name)}</h2>")
        for width in WIDTHS:
            files = [f"{name}-{width}-{theme}.png" for theme in THEMES]
            shown = [
                f"<img src='{file}' alt='{file}'>" for file in files if (FOLDER / file).exists()
            ]
            parts.append(f"<div>{''.join(shown)}</div>")
    (FOLDER / "index.html").write_text("\n".join(parts), encoding="utf-8")
    print(FOLDER / "index.html")


if __name__ == "__main__":
    main(sys.argv[1:])
