"""A JupyterLab or Notebook 7 of its own, and a page of Chromium that drives a notebook in it."""

import json
import os
import re
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from playwright.sync_api import Locator, Page, expect

from notebooks.build import sources
from tests.browser.bridge import chromium
from tests.ports import free_ports
from workbench.cli.lab import TOUR, lab_command, lab_environment

STARTS_WITHIN_S = 90
PROJECT = Path(__file__).parents[2]
SHOTS = PROJECT / "build" / "screenshots"
NOT_OURS = (  # of what a page complains of
    "favicon",
    "service-worker",
    "Failed to load resource",
    "restore the debugger state",  # of a notebook that closes before its debugger has answered
    "(reading 'schema')",  # jupyter/notebook#7862; no script of ours reads a schema
)

STATUS: Final = """async () => {
  const app = window.jupyterapp;
  if (!app) return "no application";
  await app.restored;
  const panel = app.shell.currentWidget;
  if (!panel?.sessionContext) return "no notebook";
  await panel.revealed;
  await panel.sessionContext.ready;
  return panel.sessionContext.session?.kernel?.status ?? "no kernel";
}"""

RUN_ALL: Final = """() => {
  window.ranAll = "";
  window.jupyterapp.commands.execute("notebook:run-all-cells").then(
    (ok) => { window.ranAll = ok === false ? "failed" : "done"; },
    (error) => { window.ranAll = String(error); },
  );
}"""

SHOWN: Final = """async () => {
  const content = window.jupyterapp.shell.currentWidget.content;
  const shown = [];
  for (const [at, cell] of content.widgets.entries()) {
    const outputs = cell.model.outputs?.toJSON() ?? [];
    const wrong = outputs.filter((each) => each.output_type === "error" || each.name === "stderr");
    const kinds = outputs.flatMap((each) => Object.keys(each.data ?? {}));
    if (!kinds.includes("application/vnd.jupyter.widget-view+json") && !wrong.length) continue;
    await content.scrollToItem(at, "center");
    let height = 0;
    for (let turn = 0; turn < 100 && height < 60; turn++) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      height = cell.node.querySelector(".klw")?.getBoundingClientRect().height ?? 0;
    }
    shown.push({ at, height, wrong: wrong.length });
  }
  return shown;
}"""
"""Each cell with a widget is scrolled into sight: what is drawn there, and what is wrong."""

_EXECUTE = """async (code) => {
  const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
  let text = "";
  const future = kernel.requestExecute({ code, store_history: false });
  future.onIOPub = ({ header, content }) => {
    if (header.msg_type === "stream" && content.name === "stdout") text += content.text;
    if (header.msg_type === "error") text += `${content.ename}: ${content.evalue}`;
  };
  await future.done;
  return text.trim();
}"""


class Application(NamedTuple):
    """A front end of Jupyter's.

    Attributes:
        module: what Python runs.
        trait: the name of its class, for options.
        path: of an opened notebook; ``{workspace}`` is new each time.
    """

    module: str
    trait: str
    path: str


JUPYTERLAB = Application("jupyterlab", "LabApp", "doc/workspaces/{workspace}/tree")
NOTEBOOK_7 = Application("notebook", "JupyterNotebookApp", "notebooks")


@contextmanager
def jupyterlab(
    notebooks: Path, home: Path, directory: Path | None, application: Application = JUPYTERLAB
) -> Iterator[str]:
    """Start JupyterLab as the launcher does, with settings of its own; yields its address.

    Args:
        notebooks: folder that is its root.
        home: where it keeps everything else.
        directory: the log directory that the tour opens.
        application: another front end, started with the same settings.
    """
    (port,) = free_ports(1)
    inherited = dict(os.environ)
    for name in ("CONFIG", "DATA", "RUNTIME"):
        inherited[f"JUPYTER_{name}_DIR"] = str(home / name.lower())
    inherited["JUPYTERLAB_SETTINGS_DIR"] = str(home / "settings")
    inherited["JUPYTERLAB_WORKSPACES_DIR"] = str(home / "workspaces")
    inherited["IPYTHONDIR"] = str(home / "ipython")
    os.environ["JUPYTER_RUNTIME_DIR"] = inherited["JUPYTER_RUNTIME_DIR"]
    environment = lab_environment(inherited, None if directory is None else str(directory))
    options = [
        f"--ServerApp.port={port}",
        "--ServerApp.port_retries=0",
        "--ServerApp.ip=127.0.0.1",
        "--IdentityProvider.token=",
        "--ServerApp.password=",
        "--ServerApp.disable_check_xsrf=True",
        f"--{application.trait}.expose_app_in_browser=True",
    ]
    log = home / "jupyterlab.log"
    address = f"http://127.0.0.1:{port}"
    with log.open("wb") as out:
        command = lab_command(notebooks, browser=False, options=options)
        command[command.index(JUPYTERLAB.module)] = application.module
        process = subprocess.Popen(command, env=environment, stdout=out, stderr=subprocess.STDOUT)
        try:
            _wait_for(f"{address}/api/status", process, log)
            yield address
        finally:
            process.terminate()
            process.wait(20)


@contextmanager
def notebooks_served(
    folders: pytest.TempPathFactory, application: Application = JUPYTERLAB
) -> Iterator[str]:
    """Start a front end with copies of all notebooks; yields its address."""
    home = folders.mktemp("jupyter")
    work = home / "work" / "notebooks"
    work.mkdir(parents=True)
    for source in sources():
        shutil.copy(source.with_suffix(".ipynb"), work)
    (home / "work" / "sample_data").symlink_to(PROJECT / "sample_data")
    with jupyterlab(work, home, None, application) as address:
        yield address


@contextmanager
def notebook_page(folders: pytest.TempPathFactory, address: str) -> Iterator[Page]:
    """Open a page of Chromium; at the end, the kernels that it started are shut down.

    No script on the page may have complained, and nothing asked for another machine.
    """
    errors: list[str] = []
    SHOTS.mkdir(parents=True, exist_ok=True)
    with chromium(folders.mktemp("profile"), width=1360, height=1000) as context:
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(f"{error}\n{error.stack}"))
        page.on("console", lambda line: errors.append(line.text) if line.type == "error" else None)
        page.on("request", lambda request: _stay_local(request.url, errors))
        yield page
        page.goto("about:blank")
        for session in page.request.get(f"{address}/api/sessions").json():
            page.request.delete(f"{address}/api/sessions/{session['id']}")
    ours = [each for each in errors if not any(word in each for word in NOT_OURS)]
    assert not ours, ours


def _stay_local(url: str, errors: list[str]) -> None:
    if not url.startswith(("http://127.0.0.1:", "data:", "blob:", "about:")):
        errors.append(f"a request to {url}")


def _wait_for(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + STARTS_WITHIN_S
    while time.monotonic() < end:
        if process.poll() is not None:
            raise RuntimeError(f"JupyterLab ended:\n{log.read_text()[-3000:]}")
        try:
            urllib.request.urlopen(address, timeout=2).close()  # noqa: S310 - our own server
        except (urllib.error.URLError, TimeoutError):
            time.sleep(0.2)
        else:
            return
    raise TimeoutError(f"JupyterLab did not start:\n{log.read_text()[-3000:]}")


def check_widgets(shown: list[dict[str, Any]]) -> None:
    """Every widget is drawn, and no cell failed or wrote to stderr."""
    assert len(shown) >= 2
    assert [each for each in shown if each["height"] < 60 or each["wrong"]] == []


class Notebook:
    """A notebook that is open in a page."""

    def __init__(
        self, page: Page, address: str, name: str = TOUR, application: Application = JUPYTERLAB
    ) -> None:
        """Open it and wait until its kernel is idle: before that, running it never ends."""
        self.page = page
        path = application.path.format(workspace=f"{Path(name).stem}-{time.monotonic_ns()}")
        page.goto(f"{address}/{path}/{name}")
        page.wait_for_selector(".jp-Notebook .jp-Cell")
        self.until(lambda: page.evaluate(STATUS) == "idle", "the kernel is not idle")

    def run_all(self, seconds: int = 180) -> None:
        """Run all cells and wait until the last has run."""
        self.page.evaluate(RUN_ALL)
        self.page.wait_for_function("window.ranAll !== ''", timeout=seconds * 1000)
        assert self.page.evaluate("window.ranAll") == "done"

    def run_next(self) -> None:
        """Run the selected cell and select the next one."""
        run = "window.jupyterapp.commands.execute('notebook:run-cell-and-select-next')"
        self.page.evaluate(run)

    def run_by_menu(self, seconds: int = 180) -> None:
        """Run all cells with the mouse, as the first cell says, and wait until the last has run."""
        self.page.get_by_role("menuitem", name="Run", exact=True).click()
        self.page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
        last = self.page.locator(".jp-Notebook .jp-CodeCell .jp-InputPrompt").last
        # The saved number of the last cell goes when it waits for its turn: wait for its return.
        expect(last).to_have_text("[*]:", timeout=30_000)
        expect(last).to_have_text(re.compile(r"\[\d+\]:"), timeout=seconds * 1000)
        self.until(lambda: self.page.evaluate(STATUS) == "idle", "the kernel is not idle")

    def click_a_batch(self) -> int:
        """Click a batch in the middle of the first explorer; returns its base offset.

        The kernel gets it, and its records are listed.
        """
        explorer = self.page.locator(".klw").first
        canvas = explorer.locator(".klw-map canvas")
        expect(canvas).to_be_visible(timeout=60_000)
        canvas.scroll_into_view_if_needed()
        box = canvas.bounding_box()
        assert box is not None
        self.page.mouse.click(box["x"] + box["width"] * 0.6, box["y"] + 84)
        self.until(
            lambda: self.value("explorer.selected")["position"] is not None,
            "the kernel did not get the batch",
        )
        batch = int(self.value("explorer.selected_batch().base_offset"))
        first = explorer.locator(".klw-row[data-kind~=within] > span:first-child").first
        expect(first).to_have_text(f"{batch:,}")
        return batch

    def value(self, expression: str) -> Any:
        """What an expression is in the kernel, as JSON."""
        text = self.page.evaluate(_EXECUTE, f"import json; print(json.dumps({expression}))")
        return json.loads(text)

    def run(self, code: str) -> str:
        """Run code in the kernel and return what it prints."""
        return str(self.page.evaluate(_EXECUTE, code))

    def until(self, condition: Any, problem: str, seconds: float = 60) -> None:
        """Wait until something is so; the widget's messages come when they come."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if condition():
                return
            self.page.wait_for_timeout(50)
        raise AssertionError(problem)

    def in_sight(self, selector: str, title: str = "") -> Locator:
        """What a selector finds, scrolled into sight: what is not, JupyterLab takes away."""
        found = self.page.locator(selector).filter(has_text=title).first
        self.page.mouse.move(680, 600)
        for _ in range(60):
            if found.count() and found.is_visible():
                break
            self.page.mouse.wheel(0, 500)
            self.page.wait_for_timeout(100)
        found.scroll_into_view_if_needed()
        return found
