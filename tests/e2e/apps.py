"""The running app, for tests in a browser."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, NamedTuple

import psutil
from playwright.sync_api import Page, expect

from tests.browser.bridge import chromium
from tests.ports import free_ports

READY_MS: Final = 90_000


class App(NamedTuple):
    """A running `kafka-workbench app`."""

    process: subprocess.Popen[str]
    address: str

    @property
    def base(self) -> str:
        return self.address.partition("?")[0]

    def pages(self) -> int:
        """Return how many pages are connected."""
        connections = psutil.Process(self.process.pid).net_connections("tcp")
        return sum(each.status == psutil.CONN_ESTABLISHED for each in connections)


def start(shown: Path, home: Path, port: int | None = None, errors: Path | None = None) -> App:
    if port is None:
        (port,) = free_ports(1)
    command = [sys.executable, "-m", "workbench.cli.main", "app", str(shown), "--no-browser"]
    with ExitStack() as opened:
        stderr = None if errors is None else opened.enter_context(errors.open("w"))
        process = subprocess.Popen(
            [*command, f"--port={port}"],
            cwd=home,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        )
    assert process.stdout is not None
    return App(process, process.stdout.readline().strip())


def end(app: App) -> None:
    """Stop it as Ctrl+C does, unless it has ended."""
    if app.process.poll() is None:
        app.process.send_signal(signal.SIGINT)
        app.process.wait(60)
    assert app.process.stdout is not None
    app.process.stdout.close()


@contextmanager
def opened_overview(shown: Path, folder: Path) -> Iterator[Page]:
    """Open a directory in the app until the context ends, its overview whole; no script failed.

    Args:
        shown: the directory.
        folder: empty; homes and profiles are in it.
    """
    home = folder / "home"
    home.mkdir()
    app = start(shown, home)
    errors: list[str] = []
    try:
        with chromium(folder / "profile", width=1440, height=900) as context:
            page = context.new_page()
            page.on("pageerror", lambda error: errors.append(str(error)))
            page.on("request", lambda request: stay_local(request.url, app, errors))
            page.goto(app.address)
            cards = page.locator(".klw-overcard[data-state=done]")
            expect(cards).to_have_count(10, timeout=READY_MS)
            yield page
    finally:
        end(app)
    assert not errors


def stay_local(url: str, app: App, errors: list[str]) -> None:
    host = app.base.partition("://")[2]
    if not url.startswith((app.base, f"ws://{host}", "data:", "blob:")):
        errors.append(f"a request to {url}")
