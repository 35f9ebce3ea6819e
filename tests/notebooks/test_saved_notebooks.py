"""What JupyterLab saves shows pictures everywhere; what it opens again shows widgets."""

import asyncio
import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.trees import changes

# JupyterLab is imported by the tests that need it: every worker would wait seconds for it.

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)
PICTURED, BARE = {"image/png": PIXEL, "text/plain": "a widget"}, {"text/plain": "a slider"}


def notebook(*widgets: tuple[str, dict[str, str]], saved: tuple[str, ...]) -> Any:
    """A notebook with widgets by id, and a saved state for some of them."""
    import nbformat

    from workbench.cli.saved_notebooks import STATE, VIEW

    cell = nbformat.v4.new_code_cell("show()")
    for ident, data in widgets:
        view = {VIEW: {"model_id": ident, "version_major": 2, "version_minor": 0}}
        output = nbformat.v4.new_output("display_data", data | view)
        cell.outputs.append(output)
    model = {"model_name": "M", "model_module": "m", "model_module_version": "1", "state": {}}
    state = {"version_major": 2, "version_minor": 0, "state": dict.fromkeys(saved, model)}
    made = nbformat.v4.new_notebook(cells=[cell])
    made.metadata["widgets"] = {STATE: state}
    return made


def views(found: Any) -> list[str]:
    """The widgets that a notebook shows."""
    from workbench.cli.saved_notebooks import VIEW

    outputs = [output for cell in found["cells"] for output in cell["outputs"]]
    return [each["data"][VIEW]["model_id"] for each in outputs if VIEW in each["data"]]


def test_a_file_holds_the_picture_and_is_opened_with_the_widget(tmp_path: Path) -> None:
    import nbformat
    from nbconvert import HTMLExporter

    from workbench.cli.saved_notebooks import NotebookFiles

    files = NotebookFiles(root_dir=str(tmp_path))
    shown = notebook(("a", PICTURED), saved=("a",))
    sent = {"type": "notebook", "content": copy.deepcopy(shown)}
    asyncio.run(files.save(sent, "x.ipynb"))
    on_disk = nbformat.read(tmp_path / "x.ipynb", as_version=4)
    nbformat.validate(on_disk)
    assert views(on_disk) == []
    html, _ = HTMLExporter().from_notebook_node(on_disk)
    assert PIXEL in html
    assert "vnd.jupyter.widget" not in html
    opened = asyncio.run(files.get("x.ipynb"))["content"]
    assert views(opened) == ["a"]
    assert opened["metadata"]["widgets"] == shown["metadata"]["widgets"]


def test_a_widget_whose_state_was_not_saved_is_its_picture() -> None:
    from workbench.cli.saved_notebooks import put_widgets_back, set_widgets_aside

    found = notebook(("a", PICTURED), ("b", PICTURED), saved=("b",))
    set_widgets_aside(found)
    put_widgets_back(found)
    assert views(found) == ["b"]
    never_aside = notebook(("a", PICTURED), saved=())
    put_widgets_back(never_aside)
    assert views(never_aside) == []


def test_a_widget_without_a_picture_is_left_as_it_is() -> None:
    from workbench.cli.saved_notebooks import STATE, PicturesForWidgets

    found = notebook(("a", PICTURED), ("slider", BARE), saved=("a", "slider"))
    shown, _ = PicturesForWidgets().preprocess(found, {})  # type: ignore[no-untyped-call]
    assert views(shown) == ["slider"]
    assert set(shown["metadata"]["widgets"][STATE]["state"]) == {"a", "slider"}


def test_nothing_is_written_where_a_link_leads_to_logs(tmp_path: Path) -> None:
    from tornado.web import HTTPError

    from workbench.cli.lab import link_logs
    from workbench.cli.saved_notebooks import NotebookFiles

    logs, root = tmp_path / "logs", tmp_path / "root"
    for folder in (logs / "orders-0", root):
        folder.mkdir(parents=True)
    (logs / "server.log").write_text("INFO started")
    assert link_logs(None, str(logs), root) == "logs"
    before = changes(logs)
    files: Any = NotebookFiles(root_dir=str(root))
    text = {"type": "file", "format": "text", "content": "changed"}
    made = {"type": "notebook", "content": notebook(saved=())}
    attempts: tuple[Callable[[], Any], ...] = (
        lambda: files.save(text, "logs/server.log"),
        lambda: files.new_untitled("logs/orders-0", type="notebook"),
        lambda: files.delete("logs/server.log"),
        lambda: files.delete("logs"),
        lambda: files.rename("logs/server.log", "mine.log"),
        lambda: files.create_checkpoint("logs/server.log"),
    )
    for refused in attempts:
        with pytest.raises(HTTPError, match="nothing is written there"):
            asyncio.run(refused())
    asyncio.run(files.save(made, "mine.ipynb"))
    with pytest.raises(HTTPError, match="nothing is written there"):
        asyncio.run(files.rename("mine.ipynb", "logs/mine.ipynb"))
    assert asyncio.run(files.list_checkpoints("logs/server.log")) == []
    assert asyncio.run(files.get("logs/server.log"))["content"] == "INFO started"
    assert changes(logs) == before
