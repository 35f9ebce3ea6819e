"""A page that is open: its widgets, and the messages between their two halves.

Widgets talk as they do in Jupyter, by the messages of ipywidgets; a WebSocket carries them. A
message to the page is one frame: 4 bytes with the size of a JSON object, the object, and the
buffers, whose sizes are in its `sizes`. The page sends JSON. This is not a kernel: it runs no code.
"""

import asyncio
import json
import sys
import threading
import traceback
import weakref
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import comm
import ipywidgets
from comm.base_comm import BaseComm
from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection

from widgets._widget import error_text

_HERE: Final = threading.local()
"""Its `page` is the page to which the widgets belong that a thread makes."""


class Page:
    """A page, and the thread that its widgets work in.

    Args:
        connection: to the browser.
    """

    def __init__(self, connection: ServerConnection) -> None:
        self._connection = connection
        self._channels: dict[str, Channel] = {}
        self.widgets: weakref.WeakSet[ipywidgets.Widget] = weakref.WeakSet()

    def run(self, make: Callable[[], ipywidgets.Widget]) -> None:
        """Show the widget that `make` returns until the page is closed, and end all of its widgets.

        As in a kernel, widgets are made and hear of messages while an event loop runs.
        """
        _HERE.page = self
        try:
            asyncio.run(self._show(make))
        finally:
            for widget in list(self.widgets):
                widget.close()

    async def _show(self, make: Callable[[], ipywidgets.Widget]) -> None:
        try:
            screen = make()
        except Exception as error:  # noqa: BLE001 - whatever it is, the user has to see it
            self.send({"type": "problem", "text": error_text(error)})
            return
        self.send({"type": "show", "id": screen.model_id})
        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(1, "page") as reader:
            while True:
                try:
                    text = await loop.run_in_executor(reader, self._connection.recv)
                except ConnectionClosed:  # also if the browser died, or its computer sleeps
                    break
                self._receive(json.loads(text))
        screen.close()

    def add(self, channel: "Channel") -> None:
        """Deliver what the page says to a widget."""
        self._channels[channel.comm_id] = channel

    def remove(self, channel: "Channel") -> None:
        """Deliver nothing to it from now on."""
        self._channels.pop(channel.comm_id, None)

    def send(self, message: Mapping[str, Any], buffers: Sequence[Any] = ()) -> None:
        """Send a message, from any thread; nothing if the page is closed."""
        parts = [memoryview(each).cast("B") for each in buffers]
        sizes = [each.nbytes for each in parts]
        text = json.dumps(
            {**message, "sizes": sizes}, separators=(",", ":"), allow_nan=False
        ).encode()
        try:
            self._connection.send(b"".join([len(text).to_bytes(4), text, *parts]))
        except ConnectionClosed:
            return

    def _receive(self, message: Mapping[str, Any]) -> None:
        """Let a widget handle a message; the page holds back its next changes until then."""
        ident, data = message["id"], message["data"]
        channel = self._channels.get(ident)
        if channel is None:
            return  # closed while the message was on its way
        try:
            channel.handle_msg({"content": {"data": data}, "buffers": []})
        except Exception as error:  # noqa: BLE001 - a fault of ours: to the terminal and the page
            traceback.print_exc(file=sys.stderr)
            self.send({"type": "problem", "text": error_text(error)})
        if data["method"] == "update":
            self.send({"type": "done", "id": ident})


class Channel(BaseComm):
    """What connects a widget with its half in a page.

    Args:
        page: the page.
        options: those of `comm.create_comm`.
    """

    def __init__(self, page: Page, **options: Any) -> None:
        self._page = page
        super().__init__(**options)
        page.add(self)

    def publish_msg(
        self, msg_type: str, data: Any = None, metadata: Any = None, buffers: Any = None, **_: Any
    ) -> None:
        """Send a message of the widget to the page."""
        del metadata
        if msg_type == "comm_close":
            self._page.remove(self)
        if (data or {}).get("method") == "echo_update":
            return  # for other views of the same kernel, which a page does not have
        kind = msg_type.removeprefix("comm_")
        self._page.send({"type": kind, "id": self.comm_id, "data": data}, buffers or ())


def use_pages() -> None:
    """Connect with its page each widget that the thread of a page makes; others as before."""
    before = comm.create_comm
    if before.__module__ == __name__:
        return

    def create_comm(*args: Any, **options: Any) -> BaseComm:
        page: Page | None = getattr(_HERE, "page", None)
        return before(*args, **options) if page is None else Channel(page, **options)

    def belongs(widget: ipywidgets.Widget) -> None:
        page: Page | None = getattr(_HERE, "page", None)
        if page is not None:
            page.widgets.add(widget)

    comm.create_comm = create_comm
    ipywidgets.Widget.on_widget_constructed(belongs)
