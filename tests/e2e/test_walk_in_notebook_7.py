"""Three notebooks where else people run them: in Notebook 7."""

from typing import Any, Final

import pytest

from tests.e2e.jupyter import (
    NOTEBOOK_7,
    SHOTS,
    Notebook,
    notebook_page,
    notebooks_served,
)

pytestmark = [pytest.mark.long, pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600)]

NOTEBOOKS: Final = ("02_how_a_log_is_written", "05_retention", "11_what_fills_the_disk")

_SHOWN: Final = """async () => {
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


def check(shown: list[dict[str, Any]]) -> None:
    assert len(shown) >= 2
    assert [each for each in shown if each["height"] < 60 or each["wrong"]] == []


def test_three_notebooks_in_notebook_7(tmp_path_factory: pytest.TempPathFactory) -> None:
    with (
        notebooks_served(tmp_path_factory, NOTEBOOK_7) as address,
        notebook_page(tmp_path_factory, address) as page,
    ):
        for name in NOTEBOOKS:
            notebook = Notebook(page, address, f"{name}.ipynb", NOTEBOOK_7)
            notebook.run_all()
            check(page.evaluate(_SHOWN))
            page.screenshot(path=SHOTS / f"notebook-7-{name[:2]}.png")
