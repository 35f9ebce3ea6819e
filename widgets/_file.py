"""A widget as one HTML file that works offline: its front end, its state, and answers for it.

The file asks for nothing from the network. Buttons, zoom, selection and playback work as in a
notebook. The front end asks a kernel for what is not in a widget's state, such as the next page of
records: the file has the answers to the questions that the widget foresees, up to a size.
"""

import base64
import gzip
import html
import json
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from widgets._assets import script

Answer = tuple[dict[str, Any], list[bytes]]
"""An answer to the front end: a JSON object and buffers."""

MOST_BYTES: Final = 32 << 20
"""The most bytes of answers in a file, before it is compressed."""

PAGE_ROWS: Final = 200
"""Records that a front end requests at once; `static/shared/pages.js` has the same number."""

OF_JUPYTER: Final = frozenset(["layout", "tooltip", "tabbable", "_dom_classes", "_esm", "_css"])
"""Names in a widget's state that its front end does not read."""

_PAGE: Final = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<link rel="icon" href="data:,">
<style>
  body {{ margin: 16px; background: #fff; }}
  body[data-jp-theme-light="false"] {{ background: #111; }}
</style>
<body data-jp-theme-light="true">
<div id="root">{text}</div>
<script id="widget" type="text/plain">{packed}</script>
<script type="module">
{script}
</script>
"""


class Front(NamedTuple):
    """A widget's front end.

    Attributes:
        code: its module.
        style: its style sheet.
        state: what Jupyter would send it.
    """

    code: str
    style: str
    state: Mapping[str, Any]


def file_page(
    front: Front,
    answers: Iterable[tuple[str, dict[str, Any], Answer]],
    about: str,
    title: str,
    most_bytes: int = MOST_BYTES,
) -> str:
    """Return the HTML of a widget.

    Args:
        front: what to show.
        answers: kind and content of questions, and the answers; the most useful ones first.
        about: what the page shows until the widget is drawn.
        title: the page's title.
        most_bytes: the most bytes of answers, before compression.
    """
    content = {
        "code": front.code,
        "style": front.style,
        "state": plain({k: value for k, value in front.state.items() if k not in OF_JUPYTER}),
        "answers": _named(answers, most_bytes),
    }
    packed = gzip.compress(json.dumps(content, separators=(",", ":")).encode(), 9, mtime=0)
    return _PAGE.format(
        title=html.escape(title),
        text=html.escape(about),
        packed=base64.b64encode(packed).decode(),
        script=script("file_page.js"),
    )


def plain(value: Any) -> Any:
    """Return a widget's state fit for JSON: bytes as ``{"$bytes": base64}``."""
    if isinstance(value, bytes | bytearray | memoryview):
        return {"$bytes": base64.b64encode(value).decode()}
    if isinstance(value, Mapping):
        return {name: plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value


def _named(
    answers: Iterable[tuple[str, dict[str, Any], Answer]], most_bytes: int
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    size = 0
    for kind, body, (content, buffers) in answers:
        answer = plain([content, list(buffers)])
        size += len(json.dumps(answer))
        if size > most_bytes:
            break
        key = json.dumps([kind, body], sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        found[key] = answer
    return found
