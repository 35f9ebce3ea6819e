"""A page in Chromium with the real front end, and the real widget of this process as its kernel."""

import functools
import http.server
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import BrowserContext, Page, expect, sync_playwright

import widgets
from tests.waiting import HANGS_AFTER_S
from widgets._file import OF_JUPYTER, plain
from widgets._widget import KafkaWidget

HERE = Path(__file__).parent
STATIC = Path(widgets.__file__).parent / "static"

CHROMIUM = "/usr/bin/chromium"
PATIENCE_MS = HANGS_AFTER_S * 1000 / 2
"""For an action or an expectation; a test may wait for two before it counts as hanging."""
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


class _Files(http.server.SimpleHTTPRequestHandler):
    """The harness page, and the front end's modules as they are in the package."""

    def translate_path(self, path: str) -> str:
        """Map a URL path to one of the two folders."""
        path = path.partition("?")[0]
        if path.startswith("/static/"):
            return str(STATIC / path.removeprefix("/static/"))
        return str(HERE / path.lstrip("/"))

    def log_message(self, *_args: object) -> None:
        """Keep quiet."""


_Files.extensions_map = _Files.extensions_map | {".js": "text/javascript"}


@contextmanager
def served() -> Iterator[str]:
    """Serve the harness on a free port; yields its address."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Files))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


@contextmanager
def chromium(profile: Path, *, width: int = 1180, height: int = 900) -> Iterator[BrowserContext]:
    """Start the system's Chromium without a window, drawing in software."""
    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            str(profile),
            executable_path=CHROMIUM,
            headless=True,
            args=list(FLAGS),
            viewport={"width": width, "height": height},
        )
        context.set_default_timeout(PATIENCE_MS)
        expect.set_options(timeout=PATIENCE_MS)  # 5 s by default, too little on a busy machine
        yield context
        context.close()


class Bridge:
    """Carries state and messages between a page and a widget of this process, as texts of JSON.

    Attributes:
        widget: the widget; as in a notebook, its traits follow the page and the page follows them.
    """

    def __init__(self, page: Page, widget: KafkaWidget) -> None:
        self.widget = widget
        self.page = page
        self._changed: set[str] = set()
        self._messages: list[dict[str, Any]] = []
        widget.observe(lambda change: self._changed.add(change["name"]))
        widget.send = self._keep  # what would go over the comm goes to the page
        page.expose_function("pythonState", self._take_state)
        page.expose_function("pythonMessage", self._take_message)

    def _keep(self, content: Any, buffers: Any = None) -> None:
        self._messages.append({"content": content, "buffers": plain(list(buffers or ()))})

    def _take_state(self, text: str) -> str:
        sent = json.loads(text)
        self.widget.set_state(sent)
        return json.dumps(self._flush(sent))

    def _take_message(self, text: str) -> str:
        self.widget.receive(self.widget, json.loads(text), [])
        return json.dumps(self._flush())

    def _flush(self, sent: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return what the page does not know: as in Jupyter, nothing that it sent itself."""
        keys = self._changed & set(self.widget.keys)
        state = plain(self.widget.get_state(list(keys))) if keys else {}
        known = (sent or {}).items()
        state = {name: value for name, value in state.items() if (name, value) not in known}
        messages, self._messages = self._messages, []
        self._changed.clear()
        return {"state": state, "messages": messages}

    def mount(self, **options: Any) -> None:
        """Render the widget in the page.

        Args:
            options: ``entry``: the front end's module, the explorer's by default; ``shift``: at
                which odd place of their memory buffers begin; ``kernel``: whether there is one.
        """
        self._flush()
        self.page.evaluate(
            "([state, options]) => mount(JSON.parse(state), options)",
            [json.dumps(self.state()), {"style": self.widget.get_state("_css")["_css"], **options}],
        )

    def state(self) -> dict[str, Any]:
        """All that the page would be sent, fit for JSON."""
        return state_of(self.widget)

    def push(self) -> None:
        """Send what changed in Python to the page."""
        state = self._flush()["state"]
        self.page.evaluate("(state) => model.receive(revive(JSON.parse(state)))", json.dumps(state))


def state_of(widget: KafkaWidget) -> dict[str, Any]:
    """Return a widget's state, fit for JSON."""
    return {
        name: plain(each) for name, each in widget.get_state().items() if name not in OF_JUPYTER
    }


Show = Callable[..., Bridge]
"""Shows a widget in the page: the fixture `show`."""
