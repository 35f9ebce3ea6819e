"""Open the screen of `widgets.Workbench` in a browser, for people who write no code."""

import os
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import workbench
from workbench.cli.lab import REINSTALL, check_there, find_tour
from workbench.cli.output import note
from workbench.errors import MissingDependencyError
from workbench.file_system.source import absolute
from workbench.runtime.extras import require

SAMPLE: Final = "shop-4.3.1"
"""The sample log directory that is shown if none is given."""


def run_app(
    paths: Sequence[str],
    *,
    tier: Mapping[str, Any] = MappingProxyType({}),
    show_values: bool = True,
    browser: bool = True,
    host: str = "localhost",
    port: int = 0,
) -> int:
    """Serve the screen until the command is interrupted.

    Args:
        paths: the log directories of one broker or of several; the sample by default.
        tier: the arguments of `open_log_directory` that name the remote tier.
        show_values: show keys, values and headers.
        browser: open a browser; the address is printed in any case.
        host: the address to listen on.
        port: 0: any that is free.

    Returns:
        The exit code.

    Raises:
        LogDirectoryError: a path is not there, or is not a log directory.
        MissingDependencyError: the extra `app` is not installed, or there is no sample.
        ServerError: the address cannot be listened on.
    """
    require("websockets")
    shown = shown_paths(paths)
    what = ", ".join(shown)
    note(f"opening {what}")
    # What is wrong with it is said here, not on a page. A page opens it again: it shows what is
    # there when it is opened.
    tier = workbench.open_log_directory(shown, **tier).tier
    from widgets.app.server import AppServer, serve_screen

    more = f" and {len(shown) - 1} more" if len(shown) > 1 else ""
    title = f"{os.path.basename(shown[0])}{more} · Kafka Log Workbench"
    make = screen_of(shown, tier, show_values=show_values)
    server = AppServer(make, title=title, shown=what, host=host, port=port)
    serve_screen(server, what, browser=browser, prepare=_screen)
    return 0


def screen_of(
    paths: Sequence[str], tier: Mapping[str, Any], *, show_values: bool
) -> Callable[[], Any]:
    """Return what opens directories and returns the screen of them.

    Args:
        paths: absolute paths.
        tier: see `LogDirectory.tier`.
        show_values: show keys, values and headers.
    """

    def make() -> Any:
        logs = workbench.open_log_directory(paths, **tier)
        return _screen()(logs, show_values=show_values, static=False)

    return make


def _screen() -> Any:
    from widgets.workbench import Workbench  # it takes half a second

    return Workbench


def shown_paths(paths: Sequence[str]) -> list[str]:
    """Return absolute paths of what is shown.

    Raises:
        LogDirectoryError: a path is not there.
        MissingDependencyError: none was given, and this installation has no sample.
    """
    for path in paths:
        check_there(path)
    if paths:
        return [absolute(path) for path in paths]
    samples = find_tour().samples
    if samples is None:
        raise MissingDependencyError("the samples", REINSTALL)
    return [str(samples / SAMPLE)]
