"""Kafka's files and folders in JupyterLab's file browser: they open in the workbench."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.pages import until
from tests.e2e.jupyter import PROJECT, SHOTS, jupyterlab, notebook_page
from tests.trees import changes

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600)]

READY_MS = 120_000
LOG = "00000000000000000442.log"
FIND = """((id) => {
  const running = [...window.jupyterapp.serviceManager.sessions.running()];
  return running.find((each) => each.id === id);
})"""
CODE = "x'); import os; os.mkdir('made') #<img src=x onerror=alert(1)>-0"
"""A folder's name that would run as Python or HTML if it was not taken as data."""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """JupyterLab's root, with a log directory and what is not one."""
    root = tmp_path_factory.mktemp("root")
    shutil.copytree(PROJECT / "sample_data" / "shop-4.3.1", root / "shop")
    shutil.copytree(root / "shop" / "orders-1", root / CODE)
    (root / "notes-1").mkdir()
    (root / "server.log").write_text("[2026-11-26 05:00:00] INFO started\n" * 10)
    (root / "linked-0").mkdir()
    (root / "linked-0" / LOG).symlink_to("/etc/passwd")
    return root


@pytest.fixture(scope="module")
def lab(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator["Lab"]:
    home = tmp_path_factory.mktemp("jupyter")
    with (
        jupyterlab(root, home, None) as address,
        notebook_page(tmp_path_factory, address) as page,
    ):
        page.goto(f"{address}/lab")
        page.wait_for_selector(".jp-DirListing-item", timeout=READY_MS)
        yield Lab(page, address)


class Lab:
    """JupyterLab with its file browser, and the documents of the workbench in it."""

    def __init__(self, page: Page, address: str) -> None:
        self.page, self.address = page, address

    def command(self, name: str, arguments: str = "{}") -> None:
        """Run a command of JupyterLab's."""
        run = f"window.jupyterapp.commands.execute('{name}', {arguments})"
        self.page.evaluate(f"{run}.then(() => null)")

    def item(self, folder: str, name: str) -> Locator:
        """Return a file or a folder in the file browser."""
        self.command("filebrowser:open-path", json.dumps({"path": f"/{folder}"}))
        crumbs = self.page.locator(".jp-FileBrowser-crumbs")
        expect(crumbs).to_contain_text(folder.rpartition("/")[2])
        named = self.page.locator(".jp-DirListing-itemText span").get_by_text(name, exact=True)
        return self.page.locator(".jp-DirListing-item").filter(has=named)

    def close_all(self) -> None:
        """Close every document, the one in front last: a toolbar fails if it goes as it appears."""
        self.page.evaluate(
            """() => {
              const { shell } = window.jupyterapp, front = shell.currentWidget;
              for (const each of [...shell.widgets("main")]) if (each !== front) each.close();
              front.close();
            }"""
        )

    @property
    def shown(self) -> Locator:
        """The document in front."""
        return self.page.locator(".klw-lab:visible")

    def sessions(self) -> list[str]:
        """Return the running sessions of the workbench."""
        found = self.page.request.get(f"{self.address}/api/sessions").json()
        return [each["id"] for each in found if each["name"] == "Kafka Log Workbench"]

    def wait_for_saved_layout(self, wanted: list[str]) -> None:
        """Wait until JupyterLab has saved which documents are open."""

        def is_saved() -> bool:
            saved = self.page.request.get(f"{self.address}/lab/api/workspaces/default").json()
            main = saved["data"].get("layout-restorer:data", {}).get("main", {})
            return bool(main.get("dock", {}).get("widgets") == wanted)

        until(self.page, is_saved)


def test_a_double_click_on_a_log_opens_its_segment(lab: Lab, root: Path) -> None:
    before = changes(root)
    lab.item("shop/orders-0", LOG).dblclick()
    expect(lab.shown.locator(".klw-map canvas")).to_be_visible(timeout=READY_MS)
    expect(lab.shown.get_by_label("Partition", exact=True).first).to_have_value("orders-0")
    segment = lab.shown.get_by_label("Segment, by its base offset").first
    expect(segment).to_have_value("442")
    row = lab.shown.get_by_role("grid", name="Records").locator(".klw-row").nth(1)
    expect(row).to_contain_text("order_id")
    tab = lab.page.locator(".jp-mod-current.lm-TabBar-tab .lm-TabBar-tabLabel").last
    expect(tab).to_have_text("orders-0 · 442.log")
    lab.page.screenshot(path=SHOTS / "jupyterlab-log.png")
    for command in ("docmanager:save", "docmanager:save-as", "docmanager:save-all"):
        lab.command(command)
    assert changes(root) == before  # no checkpoint either, and the tab's name is not the file's


def test_the_files_and_partitions_have_an_icon_and_other_folders_do_not(lab: Lab) -> None:
    icon = "[data-icon^='kafka-log-workbench:']"
    for folder, name, is_kafkas in (
        ("", "notes-1", False),
        ("", "server.log", False),
        ("shop", "orders-0", True),
        ("shop", "cleaner-offset-checkpoint", True),
        ("shop/orders-0", "00000000000000000903.timeindex", True),
        ("", "notes-1", False),
    ):
        expect(lab.item(folder, name).locator(icon)).to_have_count(int(is_kafkas))


def test_each_kind_of_file_has_its_own_icon(lab: Lab) -> None:
    kinds = {
        "00000000000000000442.log": "segment",
        "00000000000000000442.index": "offsets",
        "00000000000000000442.timeindex": "times",
        "00000000000000000442.snapshot": "producers",
        "leader-epoch-checkpoint": "checkpoint",
        "partition.metadata": "about",
    }
    for name, kind in kinds.items():
        icon = lab.item("shop/orders-0", name).locator(f"[data-icon='kafka-log-workbench:{kind}']")
        expect(icon).to_have_count(1)


def test_the_file_browser_offers_to_open_a_directory_of_kafkas(lab: Lab) -> None:
    button = lab.page.locator(".jp-FileBrowser-toolbar .klw-lab-open:visible")
    lab.item("", "notes-1")
    expect(button).to_have_count(0)
    lab.item("shop/payments-1", LOG.replace("442", "000"))
    expect(button).to_have_count(1)
    expect(lab.item("shop", "orders-0")).to_be_visible()
    lab.page.screenshot(path=SHOTS / "jupyterlab-browser.png")
    button.click()
    expect(lab.shown.locator(".klw-overview .klw-tile").first).to_be_visible(timeout=READY_MS)


def test_an_index_opens_in_the_same_kernel(lab: Lab) -> None:
    lab.item("shop/orders-0", "00000000000000000903.timeindex").dblclick()
    expect(lab.shown.locator(".klw-filebody")).to_contain_text("907", timeout=READY_MS)
    assert len(lab.sessions()) == 1


def test_the_menu_of_a_folder_opens_the_log_directory(lab: Lab) -> None:
    lab.item("", "shop").click(button="right")
    lab.page.get_by_role("menuitem", name="Open in Kafka Log Workbench").click()
    expect(lab.shown.locator(".klw-overview .klw-tile").first).to_be_visible(timeout=READY_MS)
    expect(lab.shown.locator(".klw-placebar .klw-title").first).to_have_text("shop")
    lab.page.screenshot(path=SHOTS / "jupyterlab-directory.png")


def test_the_launcher_asks_for_what_to_open(lab: Lab) -> None:
    lab.command("launcher:create")
    lab.page.locator(".jp-LauncherCard:visible", has_text="Kafka Log Workbench").click()
    dialog = lab.page.get_by_role("dialog")
    dialog.get_by_role("textbox").fill("shop/payments-1")
    dialog.get_by_role("button", name="Open").click()
    expect(lab.shown.locator(".klw-map canvas")).to_be_visible(timeout=READY_MS)
    expect(lab.shown.get_by_label("Partition", exact=True).first).to_have_value("payments-1")


def test_a_name_is_neither_code_nor_html(lab: Lab, root: Path) -> None:
    before = changes(root)
    lab.item(CODE, LOG.replace("442", "000")).dblclick()
    expect(lab.shown.locator(".klw-map canvas")).to_be_visible(timeout=READY_MS)
    expect(lab.shown.get_by_label("Partition", exact=True).first).to_have_value(CODE)
    assert lab.shown.locator("img").count() == 0
    assert changes(root) == before


def test_what_is_not_kafkas_is_refused_with_a_hint(lab: Lab) -> None:
    lab.item("", "server.log").dblclick()  # a log of text opens as before
    expect(lab.page.locator(".jp-FileEditor:visible")).to_contain_text("INFO started")
    lab.command("docmanager:open", '{path: "server.log", factory: "Kafka Log Workbench"}')
    problem = lab.shown.get_by_role("alert")
    expect(problem).to_contain_text("no batch is in it", timeout=READY_MS)
    expect(problem).to_contain_text("Open a log directory (an entry of log.dirs)")
    lab.page.screenshot(path=SHOTS / "jupyterlab-refused.png")


def test_a_link_out_of_the_directory_is_not_followed(lab: Lab) -> None:
    lab.command("docmanager:open", f'{{path: "linked-0/{LOG}", factory: "Kafka Log Workbench"}}')
    expect(lab.shown.get_by_role("alert")).to_contain_text("not opened", timeout=READY_MS)
    expect(lab.shown).not_to_contain_text("root:")


def test_a_view_opens_as_a_notebook(lab: Lab, root: Path) -> None:
    lab.item("shop/orders-0", LOG).dblclick()
    expect(lab.shown.locator(".klw-map canvas")).to_be_visible(timeout=READY_MS)
    lab.page.get_by_role("button", name="Open This View as a Notebook").locator(
        "visible=true"
    ).click()
    expect(lab.page.locator(".jp-Notebook:visible")).to_contain_text("widgets.Workbench(")
    cells = json.loads((root / "Untitled.ipynb").read_text())["cells"]
    assert f'"{root / "shop"}"' in "".join(cells[1]["source"])
    assert "'segment': 442" in "".join(cells[1]["source"])
    lab.command("docmanager:save")
    lab.command("application:close")


def test_documents_come_back_with_the_page_and_their_kernel_ends_with_the_last(lab: Lab) -> None:
    page = lab.page
    lab.close_all()
    until(page, lambda: not lab.sessions())
    lab.item("shop/orders-0", LOG).dblclick()
    expect(lab.shown.locator(".klw-map canvas")).to_be_visible(timeout=READY_MS)
    lab.command("apputils:change-theme", "{theme: 'JupyterLab Dark'}")
    root = lab.shown.locator(".klw").first
    expect(root).to_have_attribute("data-theme", "dark", timeout=READY_MS)
    page.screenshot(path=SHOTS / "jupyterlab-log-dark.png")
    before = lab.sessions()
    lab.wait_for_saved_layout([f"kafka-log-workbench:shop/orders-0/{LOG}"])
    page.reload()
    expect(lab.shown.locator(".klw-map canvas")).to_be_visible(timeout=READY_MS)
    until(page, lambda: len(lab.sessions()) == 1 and lab.sessions() != before)

    (session,) = lab.sessions()  # the page may still list the one of before
    page.wait_for_function(f"(id) => {FIND}(id)", arg=session)
    page.evaluate(
        f"""async (id) => {{
          const {{ kernel: model }} = {FIND}(id);
          const connection = window.jupyterapp.serviceManager.kernels.connectTo({{ model }});
          await connection.restart();
          connection.dispose();
        }}""",
        session,
    )
    expect(lab.shown.get_by_role("alert")).to_contain_text("kernel", timeout=READY_MS)
    page.get_by_role("button", name="Try again").click()
    expect(lab.shown.locator(".klw-map canvas")).to_be_visible(timeout=READY_MS)
    lab.close_all()
    until(page, lambda: not lab.sessions())
