"""A page of Debian's Firefox, by WebDriver BiDi: playwright drives only a Firefox of its own."""

import asyncio
import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from tornado.websocket import WebSocketClientConnection, websocket_connect

from tests.ports import free_ports

PROGRAM: Final = shutil.which("firefox-esr")
STARTS_WITHIN_S: Final = 60
_MOST_BYTES: Final = 64 << 20  # of a message; a picture is one
_SETTINGS: Final = {
    "datareporting.policy.dataSubmissionEnabled": False,
    "app.update.auto": False,
    "browser.shell.checkDefaultBrowser": False,
    "network.captive-portal-service.enabled": False,
}


class FirefoxPage:
    """One tab.

    Attributes:
        errors: what its scripts did not catch, and what they wrote as errors.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, socket: WebSocketClientConnection) -> None:
        self.errors: list[str] = []
        self._loop, self._socket, self._sent = loop, socket, 0
        self._ask("session.new", capabilities={})
        self._ask("session.subscribe", events=["log.entryAdded"])
        (first, *_) = self._ask("browsingContext.getTree")["contexts"]
        self._tab: str = first["context"]
        size = {"width": 1360, "height": 1000}
        self._ask("browsingContext.setViewport", context=self._tab, viewport=size)

    def goto(self, url: str) -> None:
        """Open an address and wait until the page is loaded."""
        self._ask("browsingContext.navigate", context=self._tab, url=url, wait="complete")

    def evaluate(self, function: str) -> Any:
        """Call a function of JavaScript in the page; returns its result, which JSON can have."""
        text = f"(async () => JSON.stringify(await ({function})()) ?? 'null')()"
        target = {"context": self._tab}
        found = self._ask("script.evaluate", expression=text, target=target, awaitPromise=True)
        if found["type"] == "exception":
            raise RuntimeError(found["exceptionDetails"]["text"])
        return json.loads(found["result"]["value"])

    def until(self, function: str, wanted: Any, seconds: float = 90) -> None:
        """Wait until a function of JavaScript returns something."""
        end = time.monotonic() + seconds
        while (found := self.evaluate(function)) != wanted:
            if time.monotonic() > end:
                raise TimeoutError(f"{function} is {found!r}, not {wanted!r}")
            time.sleep(0.2)

    def _ask(self, method: str, **params: Any) -> Any:
        return self._loop.run_until_complete(self._answer(method, params))

    async def _answer(self, method: str, params: dict[str, Any]) -> Any:
        self._sent += 1
        ask = {"id": self._sent, "method": method, "params": params}
        await self._socket.write_message(json.dumps(ask))
        while True:
            text = await self._socket.read_message()
            if text is None:
                raise EOFError(f"Firefox ended during {method}")
            message = json.loads(text)
            if message.get("method") == "log.entryAdded" and message["params"]["level"] == "error":
                self.errors.append(str(message["params"]["text"]))
            if message.get("id") == self._sent:
                if message["type"] == "error":
                    raise RuntimeError(f"{method}: {message['error']}: {message['message']}")
                return message["result"]


@contextmanager
def firefox(profile: Path) -> Iterator[FirefoxPage]:
    """Start Firefox without a window, with a profile of its own."""
    assert PROGRAM is not None, "Debian's package firefox-esr is not installed"
    profile.mkdir(parents=True, exist_ok=True)
    lines = (f"user_pref({json.dumps(name)}, {json.dumps(to)});" for name, to in _SETTINGS.items())
    (profile / "user.js").write_text("\n".join(lines))
    (port,) = free_ports(1)
    options = ["--headless", "--no-remote", "--profile", str(profile)]
    command = [PROGRAM, *options, f"--remote-debugging-port={port}"]
    with (profile / "firefox.log").open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)
    loop = asyncio.new_event_loop()
    try:
        socket = loop.run_until_complete(_connected(f"ws://127.0.0.1:{port}/session"))
        yield FirefoxPage(loop, socket)
        socket.close()
    finally:
        process.terminate()
        process.wait(20)
        loop.close()


async def _connected(address: str) -> WebSocketClientConnection:
    end = time.monotonic() + STARTS_WITHIN_S
    while True:
        try:
            return await websocket_connect(address, max_message_size=_MOST_BYTES)
        except OSError:
            if time.monotonic() > end:
                raise
            await asyncio.sleep(0.2)
