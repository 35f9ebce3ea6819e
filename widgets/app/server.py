"""The server of `kafka-workbench app`: one page, protected by a token, without network.

Each page that is opened has widgets and a thread of its own, which end with it. A page in which
somebody else's bytes ran a script could ask what widgets answer, and no more: it sends no code.
"""

import contextlib
import errno
import hmac
import http
import logging
import os
import secrets
import socket
import sys
import threading
import time
import webbrowser
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, Self
from urllib.parse import parse_qs, urlsplit

import ipywidgets
from websockets.datastructures import Headers
from websockets.http11 import Request, Response
from websockets.sync.server import ServerConnection, serve

from widgets.app import document
from widgets.app.page import Page, use_pages
from workbench.errors import ServerError

LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_ANY: Final = frozenset({"", "0.0.0.0", "::"})  # noqa: S104 - it is compared
_ENDS_WITHIN_S: Final = 3
_MOST_BYTES: Final = 16 << 20  # of a message from a page
_PASSING: Final = {  # why a connection is not accepted now, and is later
    errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.ECONNABORTED,
}  # fmt: skip
_ACCEPTS_AGAIN_S: Final = 0.1

_REFUSED: Final = (
    "The token is missing",
    "Open the whole address that kafka-workbench app printed: it ends with ?token=…",
)
_FAILED: Final = "Nothing is here", "Open the address without a path."


class AppServer:
    """A server of one screen on one port.

    Attributes:
        address: where a browser opens the page, with the token.

    Args:
        make: makes the widget that a page shows, in the page's own thread.
        title: of the page.
        shown: what the page shows, for people.
        host: the address to listen on. If other machines reach it, anyone with the token gets in.
        port: 0: any that is free.

    Raises:
        ServerError: the address cannot be listened on.
    """

    def __init__(
        self,
        make: Callable[[], ipywidgets.Widget],
        *,
        title: str,
        shown: str,
        host: str = "localhost",
        port: int = 0,
    ) -> None:
        self._make, self._title, self._shown, self._host = make, title, shown, host
        self._token, self._pass = secrets.token_hex(24), secrets.token_hex(24)
        self._pages: set[ServerConnection] = set()
        try:
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            listening = socket.create_server((host, port), family=family)
        except OSError as error:
            raise ServerError(
                f"{host}:{port}", f"cannot listen: {error.strerror or error}"
            ) from None
        self._server = serve(
            self._converse, sock=_Listening(fileno=listening.detach()),
            process_request=self._answer, compression=None, max_size=_MOST_BYTES,
            server_header=None, logger=_silent(),
        )  # fmt: skip
        self.port = self._server.socket.getsockname()[1]
        name = "localhost" if host in _ANY else host
        self.address = (
            f"http://{f'[{name}]' if ':' in name else name}:{self.port}/?token={self._token}"
        )
        self._cookie = f"kafka-workbench-{self.port}"  # a browser gives a cookie to every port
        use_pages()

    def __enter__(self) -> Self:
        """Start it."""
        self.start()
        return self

    def __exit__(self, *_error: object) -> None:
        """End it."""
        self.end()

    def start(self) -> None:
        """Serve in a thread."""
        threading.Thread(target=self._server.serve_forever, name="serve", daemon=True).start()

    def end(self) -> None:
        """Serve no more, and end every page and what runs for it."""
        for connection in list(self._pages):
            connection.close(1001)
        self._server.shutdown()

    @property
    def pages(self) -> int:
        """How many pages are open."""
        return len(self._pages)

    def open_browser(self, folder: str | os.PathLike[str]) -> None:
        """Open the page by a file that only this user can read: others see a program's arguments.

        Args:
            folder: a folder that only this user can read, for the file.
        """
        file = Path(folder, "open.html")
        file.write_text(
            f'<!doctype html><meta http-equiv="refresh" content="0; url={self.address}">',
            encoding="utf-8",
        )
        try:
            webbrowser.open(file.as_uri())
        except webbrowser.Error:
            return  # the address is printed

    def _converse(self, connection: ServerConnection) -> None:
        self._pages.add(connection)
        try:
            Page(connection).run(self._make)
        finally:
            self._pages.discard(connection)

    def _answer(self, _connection: ServerConnection, request: Request) -> Response | None:
        """Return a page, or None where a page's socket is let in."""
        headers = request.headers
        try:
            url = urlsplit(request.path)
            is_named_rightly = self._is_named_rightly(headers)
            is_from_our_page = self._is_from_our_page(headers)
        except ValueError:  # not an address
            return _response(400, document.sentence(*_FAILED))
        if not is_named_rightly:
            return _response(403, document.sentence(*_REFUSED))
        by_token = any(map(self._is_token, parse_qs(url.query).get("token", ())))
        if not by_token and not self._has_pass(headers):
            return _response(403, document.sentence(*_REFUSED))
        if url.path == "/channel":
            return None if is_from_our_page else _response(403, document.sentence(*_REFUSED))
        if url.path != "/":
            return _response(404, document.sentence(*_FAILED))
        response = _response(200, document.screen(self._title, self._shown))
        # The page takes the token out of its address; the cookie lets it in from now on.
        cookie = f"{self._cookie}={self._pass}; Path=/; HttpOnly; SameSite=Lax"
        response.headers["Set-Cookie"] = cookie
        return response

    def _is_token(self, given: str) -> bool:
        return _is_equal(given, self._token)

    def _has_pass(self, headers: Headers) -> bool:
        parts = [part for each in headers.get_all("Cookie") for part in each.split(";")]
        given = [part.strip().partition("=") for part in parts]
        return any(
            name == self._cookie and _is_equal(value, self._pass) for name, _, value in given
        )

    def _is_named_rightly(self, headers: Headers) -> bool:
        """Refuse other names of this machine, which a page of another site could give it."""
        names = [urlsplit(f"//{each}").hostname for each in headers.get_all("Host")]
        return len(names) == 1 and (self._host not in LOOPBACK or names[0] in LOOPBACK)

    def _is_from_our_page(self, headers: Headers) -> bool:
        """Refuse the pages of others: a browser names the page that opens a socket."""
        origins = [urlsplit(each).netloc for each in headers.get_all("Origin")]
        return origins == headers.get_all("Host")


class _Listening(socket.socket):
    """Accepts connections also after it could not, as when too many files were open.

    websockets takes every error of `accept` for the end of the server.
    """

    def accept(self) -> tuple[socket.socket, Any]:
        """Wait for a connection."""
        while True:
            try:
                return super().accept()
            except OSError as error:
                if error.errno not in _PASSING:
                    raise
                time.sleep(_ACCEPTS_AGAIN_S)


def _is_equal(given: str, secret: str) -> bool:
    """Return whether they are equal, in a time that says nothing about the secret."""
    return hmac.compare_digest(given.encode(errors="replace"), secret.encode())


def _silent() -> logging.Logger:
    """Return a logger that logs nothing: an address holds the token."""
    logger = logging.Logger("kafka-workbench app")  # noqa: LOG001 - it has no parent
    logger.addHandler(logging.NullHandler())
    return logger


def _response(status: int, page: document.Document) -> Response:
    body = page.text.encode()
    found: dict[str, Any] = {
        "Content-Type": "text/html; charset=utf-8",
        "Content-Length": str(len(body)),
        "Content-Security-Policy": page.rules,
        "Cache-Control": "no-store",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "Connection": "close",
    }
    return Response(status, http.HTTPStatus(status).phrase, Headers(found), body)


def serve_screen(
    server: AppServer, shown: str, *, browser: bool, prepare: Callable[[], object]
) -> None:
    """Serve a screen until the user interrupts it; the address is the only line of the output.

    Args:
        server: of the screen.
        shown: what it shows, for people.
        browser: open a browser.
        prepare: called while the browser starts, for what the first page would wait for.
    """
    with TemporaryDirectory(prefix="kafka-workbench-") as folder:
        server.start()
        print(f"Kafka Log Workbench shows {shown} at", file=sys.stderr)  # noqa: T201
        print(server.address, flush=True)  # noqa: T201
        print("Press Ctrl-C to end it.", file=sys.stderr, flush=True)  # noqa: T201
        if browser:
            server.open_browser(folder)
        with contextlib.suppress(KeyboardInterrupt):
            prepare()
            threading.Event().wait()
    ending = threading.Thread(target=server.end, daemon=True)
    ending.start()
    ending.join(_ENDS_WITHIN_S)
    if ending.is_alive():  # a page is in the middle of a computation, which nothing interrupts
        os._exit(0)
