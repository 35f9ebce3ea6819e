"""The server behind `kafka-workbench app`: Voila with one page, behind a token, without network.

Voila alone asks for no token, reads configuration files of the user's, loads every extension that
JupyterLab has, and its page takes fonts from another machine. Its kernels run no code that a page
sends: they take the messages of widgets alone.
"""

import os
import sys
import webbrowser
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import nbformat
import voila.app
from jupyter_client.kernelspec import KernelSpecManager
from tornado.ioloop import IOLoop
from tornado.web import HTTPError
from traitlets import Unicode
from traitlets.config import Config
from voila.static_file_handler import AllowListFileHandler
from voila.tornado.handler import TornadoVoilaHandler

PAGE: Final = Path(__file__).parent / "app_page"
"""Folder of the page's template."""

EXTENSIONS: Final = [
    "@jupyter-widgets/jupyterlab-manager",
    "@voila-dashboards/widgets-manager8",
    "anywidget",
]
"""What a page loads to show widgets; others that the user installed stay out."""

LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})

CULL_AFTER_S: Final = 300
"""A page ends its kernel when it closes. This ends the kernel of one that could not: its browser
crashed, or its computer sleeps."""


_SENTENCE: Final = (
    '<!doctype html><html lang="en"><meta charset="utf-8">'
    '<meta name="color-scheme" content="light dark"><title>Kafka Log Workbench</title>'
    '<body style="font: 16px/1.5 system-ui, sans-serif; max-width: 36em; margin: 18vh auto">'
    "<h1>{}</h1><p>{}</p>"
)
_REFUSED: Final = _SENTENCE.format(
    "The token is missing",
    "Open the whole address that kafka-workbench app printed: it ends with ?token=…",
)
_FAILED: Final = _SENTENCE.format("Nothing is here", "Open the address without a path.")


class ThisPython(KernelSpecManager):  # type: ignore[misc,unused-ignore]
    """The kernel of this interpreter alone, whatever the user has installed under its name."""

    def _kernel_dirs_default(self) -> list[str]:
        return []

    def get_kernel_spec(self, kernel_name: str) -> Any:
        """Return it, without its warnings, which nobody who reads the terminal can act on."""
        spec = super().get_kernel_spec(kernel_name)
        spec.argv = [*spec.argv, "--log-level=ERROR"]
        return spec


class Page(TornadoVoilaHandler):  # type: ignore[misc]  # Voila has no types
    """The only page; without the token, its address is refused."""

    def get_login_url(self) -> str:
        """Refuse, where Voila would show a form that asks for the token."""
        raise HTTPError(403)

    async def get(self, path: str = "") -> None:
        """Send the page, and start its kernel."""
        if path:
            raise HTTPError(404)
        _ = self.xsrf_token  # sets the cookie with which the page may end its kernel when it closes
        await super().get(path)

    def write_error(self, status_code: int, **_details: Any) -> None:
        """Say in plain HTML what to do; Voila's page asks another machine for its looks."""
        self.set_header("Content-Type", "text/html; charset=utf-8")
        self.finish(_REFUSED if status_code == 403 else _FAILED)


class AppServer(voila.app.Voila):  # type: ignore[misc]  # Voila has no types
    """Voila with one page and a token.

    Attributes:
        shown: what the page shows, for people.
    """

    shown = Unicode()

    def _config_file_paths_default(self) -> list[str]:
        return []  # a user's settings for other pages of Voila are not for this one

    def setup_template_dirs(self) -> None:
        """Look for the page's template before Voila's own."""
        super().setup_template_dirs()
        self.template_paths.insert(0, str(PAGE))

    def init_settings(self) -> Any:
        """Refuse other names of this machine, which a page of another site could give it."""
        settings = super().init_settings()
        settings["allow_remote_access"] = self.ip not in LOOPBACK
        settings["ws_ping_timeout"] = settings["ws_ping_interval"] = 30_000  # ms; warns otherwise
        return settings

    def init_handlers(self) -> list[Any]:
        """Return Voila's, without the one for files and the form that asks for a token."""
        kept = []
        for path, handler, *rest in super().init_handlers():
            if handler is AllowListFileHandler or path.endswith(("/login", "/logout")):
                continue
            kept.append((path, Page if handler is TornadoVoilaHandler else handler, *rest))
        return kept

    @property
    def address(self) -> str:
        """The whole address, with the token, if one is asked for."""
        host = "localhost" if self.ip in {"", "0.0.0.0"} else self.ip  # noqa: S104 - it is compared
        token = self.identity_provider.token
        return f"{self._url(host)}{f'?token={quote(token)}' if token else ''}"

    def listen(self) -> None:
        """Serve until the end; print the address once it can be opened."""
        IOLoop.current().add_callback(self._announce)
        super().listen()

    def _announce(self) -> None:
        print(f"Kafka Log Workbench shows {self.shown} at", file=sys.stderr)  # noqa: T201
        print(self.address, flush=True)  # noqa: T201
        print("Press Ctrl-C to end it.", file=sys.stderr, flush=True)  # noqa: T201

    def launch_browser(self) -> None:
        """Open a browser by a file that only this user can read: others see arguments."""
        file = Path(self.connection_dir) / "open.html"
        file.write_text(
            f'<!doctype html><meta http-equiv="refresh" content="0; url={self.address}">',
            encoding="utf-8",
        )
        try:
            webbrowser.get(self.browser or None).open(file.as_uri())
        except webbrowser.Error:
            return  # the address is printed


def make_notebook(paths: Sequence[str], tier: Mapping[str, Any], *, show_values: bool) -> Any:
    """Return the notebook whose only output is the screen.

    The kernel works in the directory where the command was started, so that an export goes there.

    Args:
        paths: the log directories.
        tier: see `LogDirectory.tier`.
        show_values: show keys, values and headers.
    """
    made = nbformat.v4.new_notebook()
    name = os.path.basename(os.path.abspath(paths[0]))
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    made.metadata["title"] = f"{name}{more} · Kafka Log Workbench"
    made.metadata["shown"] = ", ".join(paths)
    made.metadata["kernelspec"] = {
        "name": "python3",
        "display_name": "Python 3",
        "language": "python",
    }
    named = "".join(f", {name}={value!r}" for name, value in tier.items() if value)
    code = (
        f"import os\n\nimport widgets\nimport workbench as wb\n\n"
        f"os.chdir({os.getcwd()!r})\n"
        f"logs = wb.open_log_directory({list(paths)!r}{named})\n"
        f"widgets.Workbench(logs, show_values={show_values!r}, static=False)"
    )
    made.cells = [nbformat.v4.new_code_cell(code)]
    return made


def make_config() -> Config:
    """Return what this server does otherwise than Voila; options after ``--`` take precedence."""
    return Config(
        {
            "Voila": {"auto_token": True, "log_level": "ERROR"},
            "VoilaConfiguration": {
                "template": "lab",
                "theme": "light",
                "allow_template_override": "NO",
                "allow_theme_override": "NO",
                "extension_allowlist": EXTENSIONS,
                "kernel_spec_manager_class": ThisPython,
            },
            "MappingKernelManager": {
                "cull_idle_timeout": CULL_AFTER_S,
                "cull_interval": 60,
            },
        }
    )
