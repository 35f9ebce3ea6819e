"""The HTML of the page: one document, with everything in it; a WebSocket brings the widgets."""

import html
import secrets
from typing import Final, NamedTuple

from widgets._assets import STATIC, script

_ICON: Final = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E"
    "%3Crect width='16' height='16' rx='3.5' fill='%230b62c4'/%3E%3Cpath d='M3.5 5h5M10 5h2.5M3.5 8"
    "h2M7 8h5.5M3.5 11h6.5' stroke='%23fff' stroke-width='1.7' stroke-linecap='round'/%3E%3C/svg%3E"
)

_HEAD: Final = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<link rel="icon" href="{icon}">
<style>
{style}
</style>
"""

_SCREEN: Final = """<body class="klw-app">
<div id="state" class="klw-pagestate" role="status">
  <strong>Kafka Log Workbench</strong>
  <i aria-hidden="true"></i>
  <span>Reading {shown}</span>
</div>
<main id="screen"></main>
<script type="module" nonce="{nonce}">
{script}
</script>
"""

_SENTENCE: Final = (
    '<body class="klw-app">\n<div class="klw-pagestate"><strong>{0}</strong>{1}</div>\n'
)

_RULES: Final = (
    "default-src 'none'; script-src {script}; style-src 'unsafe-inline'; img-src data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""What a page may do: run its own script, and talk to this server."""


class Document(NamedTuple):
    """A page as it is sent.

    Attributes:
        text: its HTML.
        rules: its Content-Security-Policy.
    """

    text: str
    rules: str


def screen(title: str, shown: str) -> Document:
    """Return the page that shows widgets.

    Args:
        title: the page's title.
        shown: what is read, for people.
    """
    nonce = secrets.token_urlsafe(16)
    body = _SCREEN.format(shown=html.escape(shown), nonce=nonce, script=script("app/page.js"))
    return Document(_head(title) + body, _RULES.format(script=f"'nonce-{nonce}' blob:"))


def sentence(title: str, text: str) -> Document:
    """Return a page that says something and runs nothing."""
    body = _SENTENCE.format(html.escape(title), html.escape(text))
    return Document(_head("Kafka Log Workbench") + body, _RULES.format(script="'none'"))


def _head(title: str) -> str:
    style = (STATIC / "app" / "page.css").read_text(encoding="utf-8")
    return _HEAD.format(title=html.escape(title), icon=_ICON, style=style)
