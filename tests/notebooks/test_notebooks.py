"""Every notebook runs, is built from its source, and keeps pictures instead of widgets."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jupytext
import pytest

from notebooks.build import PICTURES, WIDGET, execute, sources, tidy
from tests.golden.cases import Case

NAMES = [source.stem for source in sources()]
FOLDER = sources()[0].parent


def source_of(name: str) -> Path:
    return FOLDER / f"{name}.py"


def built(name: str) -> Any:
    return json.loads((FOLDER / f"{name}.ipynb").read_text())


def outputs(notebook: Any) -> list[Any]:
    return [output for cell in notebook["cells"] for output in cell.get("outputs", [])]


def test_there_are_notebooks() -> None:
    assert "01_open_a_log_directory" in NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_has_the_cells_of_its_source(name: str) -> None:
    source = jupytext.read(source_of(name))
    expected = [(cell.cell_type, cell.source) for cell in source.cells]
    cells = [(cell["cell_type"], "".join(cell["source"])) for cell in built(name)["cells"]]
    assert cells == expected, "run python notebooks/build.py"


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_is_committed_with_pictures_and_nothing_of_a_machine(name: str) -> None:
    notebook = built(name)
    assert "widgets" not in notebook["metadata"]
    kept = outputs(notebook)
    assert not [output for output in kept if output["output_type"] == "error"]
    assert not [output for output in kept if WIDGET in output.get("data", {})]
    assert [output for output in kept if "image/png" in output.get("data", {})]
    text = re.sub(r'"image/png": ".*?"', "", json.dumps(kept))
    assert not re.search(r"/(?:home|root|tmp|Users|work)/", text)
    assert len(json.dumps(notebook)) < 600_000


@pytest.mark.notebook
@pytest.mark.spark
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_runs_from_its_first_cell_to_its_last(name: str) -> None:
    notebook = tidy(execute(source_of(name)))
    pictures = [output for output in outputs(notebook) if PICTURES & set(output.get("data", {}))]
    assert len(pictures) >= 2


@pytest.mark.notebook
@pytest.mark.spark
@pytest.mark.timeout(600)
@pytest.mark.parametrize("case", ["4.2.0-compact-basic", "k0.10.0-formats"])
def test_the_tour_runs_on_other_directories(golden: Callable[[str], Case], case: str) -> None:
    found = golden(case)
    label = "before3" if case == "4.2.0-compact-basic" else found.labels[0]
    execute(source_of("01_open_a_log_directory"), data=str(found.directory(label)))


@pytest.mark.notebook
@pytest.mark.timeout(600)
def test_the_questions_about_groups_are_asked_of_other_directories(
    golden: Callable[[str], Case],
) -> None:
    data = str(golden("k0.10.0-formats").directory(golden("k0.10.0-formats").labels[0]))
    execute(source_of("08_where_do_my_consumers_stand"), data=data)
