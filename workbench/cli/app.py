"""Open the screen of `widgets.Workbench` in a browser, for people who write no code."""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import workbench
from workbench.cli.lab import DISTRIBUTION, check_there, find_tour
from workbench.cli.output import note
from workbench.errors import MissingDependencyError
from workbench.file_system.mounts import absolute
from workbench.runtime.extras import require

SAMPLE: Final = "shop-4.3.1"
"""The sample log directory that is shown if none is given."""


def run_app(
    paths: Sequence[str],
    *,
    tier: Mapping[str, Any] = MappingProxyType({}),
    show_values: bool = False,
    browser: bool = True,
    options: Sequence[str] = (),
) -> int:
    """Serve the screen until the command is interrupted; its kernels end with it.

    Args:
        paths: the log directories of one broker or of several; the sample by default.
        tier: the arguments of `open_log_directory` that name the remote tier.
        show_values: show keys, values and headers.
        browser: open a browser; the address is printed in any case.
        options: passed on to Voila.

    Returns:
        The exit code.

    Raises:
        LogDirectoryError: a path is not there, or is not a log directory.
        MissingDependencyError: Voila is not installed, or there is no sample.
    """
    require("voila")
    shown = shown_paths(paths)
    note(f"opening {', '.join(shown)}; the address comes in some seconds")
    logs = workbench.open_log_directory(
        shown, **tier
    )  # what is wrong with it is said here, not on a page
    import nbformat

    from workbench.cli.app_server import AppServer, make_config, make_notebook

    with tempfile.TemporaryDirectory(prefix="kafka-workbench-") as folder:
        notebook = Path(folder) / "screen.ipynb"
        nbformat.write(make_notebook(shown, logs.tier, show_values=show_values), notebook)
        server = AppServer(
            config=make_config(), notebook_path=str(notebook), shown=", ".join(shown)
        )
        server.initialize([*([] if browser else ["--no-browser"]), *options])
        server.start()
    return 0


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
        raise MissingDependencyError("the samples", f"pip install --force-reinstall {DISTRIBUTION}")
    return [str(samples / SAMPLE)]
