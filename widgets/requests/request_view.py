"""RequestView: the requests of a server as they come."""

import threading
from collections.abc import Callable
from functools import cached_property
from typing import Any, Final

import traitlets

from widgets._assets import script, style
from widgets._widget import KafkaWidget
from widgets.requests.request_player import RequestPlayer
from widgets.requests.request_rows import request_name, request_rows
from workbench.errors import PlayerError
from workbench.runtime.words import plural
from workbench.server.server import Server
from workbench.server.watching.watch import RequestWatch, WatchedRequest

_REST_SECONDS: Final = 0.4  # between two pictures, however many requests come


class RequestView(KafkaWidget):
    """Show the requests of a server in a table that grows while clients work.

    The server keeps the last 1,000 requests from the first view on; before, it keeps none.

    Attributes:
        selected: number of the selected request; 0: none.
        kind: the only kind shown, such as "Fetch"; "": all.
        client: only clients whose address or client id has this text; "": all.
        requests: the requests, the oldest first.

    Args:
        server: a server, or the result of `Server.watch`.
        show_values: whether `player` shows records and other data of users.

    Kafka: RequestChannel, RequestMetrics (4.0)
    """

    _esm = script("requests/request_view.js")
    _css = style("players/player.css", "requests/requests.css")

    selected = traitlets.Int(0).tag(sync=True)
    kind = traitlets.Unicode().tag(sync=True)
    client = traitlets.Unicode().tag(sync=True)
    _rows: Any = traitlets.List().tag(sync=True)
    _total = traitlets.Int(0).tag(sync=True)
    _where = traitlets.Unicode().tag(sync=True)

    _forget: Callable[[], None] | None = None

    def __init__(
        self, server: Server | RequestWatch, *, show_values: bool = False, **options: Any
    ) -> None:
        """Show the requests of a server; see the class."""
        given: object = server  # a caller may give anything
        if not isinstance(given, Server | RequestWatch):
            name = type(given).__name__
            raise PlayerError(f"{name}: expected what workbench.serve returned, or its watch()")
        self._watch = server.watch() if isinstance(server, Server) else server
        self._show_values = show_values
        self._timer: threading.Timer | None = None
        self._lock = threading.Lock()
        self._timer_lock = threading.Lock()
        self.requests: list[WatchedRequest] = []
        wanted = options.pop("selected", 0)
        super().__init__(**options)
        if isinstance(server, Server):
            self._where = server.bootstrap_servers
        self.refresh()
        self.selected = wanted
        self._forget = self._watch.on_request(self._soon)

    @property
    def request(self) -> WatchedRequest | None:
        """The selected request, even if the table does not have it yet; None without one."""
        kept = self._watch.kept()
        return next((each for each in kept if each.number == self.selected), None)

    @cached_property
    def player(self) -> RequestPlayer:
        """A player of the selected request; it follows the selection."""
        return RequestPlayer(self.request, show_values=self._show_values)

    def refresh(self) -> None:
        """Show the requests that there are by now; this happens by itself, soon after each."""
        found = self._watch.kept()
        with self._lock:
            self.requests = found
            self._picture = None
            with self.hold_sync():
                self._total = self._watch.total
                self._rows = request_rows(found)

    def _soon(self) -> None:
        """Refresh a little later, in a thread of its own; the server does not wait for it."""
        with self._timer_lock:
            if self._timer is not None:
                return
            self._timer = threading.Timer(_REST_SECONDS, self._now)
            self._timer.daemon = True
            self._timer.start()

    def _now(self) -> None:
        with self._timer_lock:
            self._timer = None
        self.refresh()

    @traitlets.observe("selected")
    def _follow(self, _change: Any) -> None:
        self._picture = None
        if "player" in self.__dict__ and self.request is not None:
            self.player.show(self.request)

    def close(self) -> None:
        """Follow the server no longer."""
        if self._forget is not None:
            self._forget()
        super().close()

    def inputs(self) -> list[str]:
        """Return the log directories that are served."""
        return self.requests[-1].catalog.directories if self.requests else []

    def describe(self) -> str:
        """Return how many requests there were, and the one that is selected."""
        name = f"RequestView: {plural(self._total, 'request')}"
        chosen = self.request
        return name if chosen is None else f"{name}, selected: {request_name(chosen)}"

    def to_png(self) -> bytes:
        """Draw the last requests as a table. Imports matplotlib."""
        if self._picture is None:
            from widgets.requests.request_picture import requests_picture

            self._picture = requests_picture(self._shown(), self._total, self.selected)
        return self._picture

    def _shown(self) -> list[WatchedRequest]:
        """Return the requests that the filters leave."""
        text = self.client.lower()
        return [
            each
            for each in self.requests
            if self.kind in {"", each.done.api or ""}
            and text in f"{each.done.client} {each.done.client_id or ''}".lower()
        ]
