"""Every notebook runs, is built from its source, and keeps pictures instead of widgets."""

import ast
import io
import json
import re
import tempfile
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from notebooks.build import PICTURES, WIDGET, answers, execute, sources, tidy
from tests.s3_server import s3_server
from widgets._widget import KafkaWidget

NAMES = [source.stem for source in sources()]
FOLDER = sources()[0].parent
SAMPLES = FOLDER.parent / "sample_data"
ERAS = ("era-0.9.0.1", "era-0.10.2.2", "era-0.11.0.3", "era-1.1.1", "era-2.8.2")


def read(name: str) -> Any:
    """Return a notebook's source; only those who need jupytext wait until it is loaded."""
    import jupytext

    return jupytext.read(source_of(name))


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
    source = read(name)
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
    assert len(json.dumps(notebook)) < 700_000


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_ends_in_exercises_whose_answers_say_what_their_code_prints(name: str) -> None:
    notebook = read(name)
    last = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"][-2]
    assert last.startswith("## Try it\n")
    found = answers(notebook)
    assert len(found) == len(re.findall(r"^\*\*\d\.\*\*", last, re.MULTILINE)) >= 2
    for answer in found:
        facts = re.findall(r"\*\*(.+?)\*\*", answer.prose)
        assert facts or "print" in answer.code
        assert [fact for fact in facts if fact.replace(",", "") not in plain(answer.output)] == []


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_links_to_notebooks_and_no_line_of_its_text_begins_a_list(name: str) -> None:
    cells = read(name).cells
    texts = [cell.source for cell in cells if cell.cell_type == "markdown"]
    linked = re.findall(r"\]\((.+?)\.ipynb\)", "\n".join(texts))
    assert linked
    assert set(linked) <= set(NAMES) - {name}
    if name == "01_open_a_log_directory":
        assert linked == NAMES[1:]
    for text in texts:
        prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
        assert not re.search(r"^\w[^|\n]*\n(?:\d+[.)]|[-+*]) ", prose, re.MULTILINE)


@pytest.mark.parametrize("name", NAMES)
def test_a_lesson_imports_from_the_top_and_its_charts_follow_the_theme(name: str) -> None:
    tree = ast.parse(source_of(name).read_text("utf-8"))
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    modules = {
        getattr(node, "module", None) or alias.name for node in found for alias in node.names
    }
    ours = {module for module in modules if module.partition(".")[0] in {"workbench", "widgets"}}
    assert ours <= {"workbench", "widgets"}
    assert ("matplotlib.pyplot" in modules) <= (
        "follow_theme" in {alias.name for node in found for alias in node.names}
    )


def plain(text: str) -> str:
    """Return a text without the separators of thousands."""
    return re.sub(r"(?<=\d),(?=\d)", "", text)


def test_the_answers_of_a_notebook_are_folded_in_what_nbconvert_makes_of_it() -> None:
    from nbconvert import HTMLExporter

    html, _ = HTMLExporter().from_filename(str(FOLDER / "04_step_through_a_compaction.ipynb"))
    folded = re.findall(r"<details>\s*<summary>Answer</summary>(.*?)</details>", html, re.DOTALL)
    assert len(folded) == 3
    assert all("<strong>" in each and "<pre>" in each for each in folded)


@pytest.mark.notebook
def test_a_notebook_whose_answer_is_not_true_any_more_does_not_build(tmp_path: Path) -> None:
    source = tmp_path / "99_an_example.py"
    answer = "<details>", "", "```python", "print(6 * 7)", "```", "", "```output", "41", "```"
    text = "".join(f"# {line}\n" for line in (*answer, "", "</details>"))
    source.write_text(f"# %% [markdown]\n{text}")
    with pytest.raises(ValueError, match=r"an answer shows\n41\nbut\nprint.*\nprints\n42"):
        execute(source)


@pytest.mark.notebook
@pytest.mark.spark
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_runs_from_its_first_cell_to_its_last(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTEST_CURRENT_TEST")  # with it, a kernel does not see what Java prints
    notebook = execute(source_of(name))
    noise = [output.text for output in outputs(notebook) if output.get("name") == "stderr"]
    assert not noise
    notebook = tidy(notebook)
    pictures = [output for output in outputs(notebook) if PICTURES & set(output.get("data", {}))]
    assert len(pictures) >= 2


# What a notebook does on a directory of the user's: its first code, and the sections between two
# headings. The rest is about logs of its own, or about Spark, which is slow to start.
ON_ANY_DIRECTORY = {
    "01_open_a_log_directory": ("What is where", "What is damaged"),
    "03_why_was_it_not_compacted": ("All logs at a glance", "The usual reasons"),
    "05_retention": ("By time", "The details of the rules"),
    "08_where_do_my_consumers_stand": ("All groups", "Next"),
    "10_a_request_from_socket_to_segment": ("A request by hand", "Next"),
    "11_what_fills_the_disk": (
        "The whole disk at once",
        "Files that are longer than what they hold",
    ),
    "12_is_my_data_damaged": ("Check it", "Next"),
    "13_transactions_in_lanes": ("The lanes", "A producer dies"),
}
FIRST = "01_open_a_log_directory"  # on every era; the others on the oldest, where most is missing
ON_FEWER = {FIRST, "10_a_request_from_socket_to_segment"}  # served from the same formats
WITHOUT_WHAT_IT_NEEDS = {("13_transactions_in_lanes", "era-0.8.2.2")}  # before transactions


@pytest.mark.notebook
@pytest.mark.filterwarnings("ignore:The locs attribute")  # of Matplotlib, which pandas sets
@pytest.mark.parametrize(
    ("name", "data"),
    [
        *((name, "era-0.8.2.2") for name in ON_ANY_DIRECTORY),
        (FIRST, ""),
        (FIRST, "era-3.9.1"),
        *(pytest.param(FIRST, era, marks=pytest.mark.long) for era in ERAS),
        *(
            pytest.param(name, data, marks=pytest.mark.long)
            for data, left_out in (("", {FIRST}), ("era-3.9.1", ON_FEWER))
            for name in ON_ANY_DIRECTORY
            if name not in left_out
        ),
    ],
)
def test_a_notebook_runs_on_any_directory(
    name: str, data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fell_back = run_on(str(SAMPLES / data if data else tmp_path), name, monkeypatch)
    assert fell_back == (not data or (name, data) in WITHOUT_WHAT_IT_NEEDS)


@pytest.mark.notebook
@pytest.mark.filterwarnings("ignore:The locs attribute")  # of Matplotlib, which pandas sets
def test_notebooks_run_on_a_directory_in_a_bucket(monkeypatch: pytest.MonkeyPatch) -> None:
    with s3_server() as server:
        server.put_folder("notebooks", "broker-1", SAMPLES / "era-3.9.1")
        for name in ("01_open_a_log_directory", "12_is_my_data_damaged"):
            server.requests.clear()
            assert not run_on(server.uri("notebooks/broker-1"), name, monkeypatch)
            assert server.requests


def run_on(path: str, name: str, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Run a notebook on a directory; return whether it says that it lacks something there."""
    monkeypatch.setenv("KAFKA_WORKBENCH_DATA", path)
    monkeypatch.chdir(FOLDER)
    printed = io.StringIO()
    with redirect_stdout(printed):
        run_cells(name, *ON_ANY_DIRECTORY[name])
    return f"{path} has no " in printed.getvalue()


def run_cells(name: str, first: str, end: str) -> None:
    """Run a notebook's code in this process, and show what its cells show."""
    import matplotlib.pyplot as plt

    cells = read(name).cells
    start, stop = (
        next(at for at, cell in enumerate(cells) if cell.source.startswith(f"## {heading}\n"))
        for heading in (first, end)
    )
    at = next(at for at, cell in enumerate(cells) if cell.cell_type == "code")
    while cells[at].cell_type == "code":  # the set-up, folded or not
        at += 1
    setup = [cell for cell in cells[:at] if cell.cell_type == "code"]
    names: dict[str, Any] = {"__name__": "__main__"}
    try:
        for cell in [*setup, *cells[max(start, at) : stop]]:
            if cell.cell_type == "code" and ast.parse(cell.source).body:
                run_cell(cell.source, name, names)
    finally:
        plt.close("all")
        for value in names.values():
            if isinstance(value, tempfile.TemporaryDirectory):
                value.cleanup()


def run_cell(source: str, name: str, names: dict[str, Any]) -> None:
    """Run the code of a cell, and show its last expression."""
    *statements, last = ast.parse(source).body
    if not isinstance(last, ast.Expr):
        statements.append(last)
    exec(compile(ast.Module(statements, []), name, "exec"), names)  # noqa: S102 - ours
    if isinstance(last, ast.Expr):
        show(eval(compile(ast.Expression(last.value), name, "eval"), names))  # noqa: S307


def show(value: Any) -> None:
    """Do with a value what a notebook does to show it."""
    if isinstance(value, KafkaWidget):
        value.to_png()
    getattr(value, "_repr_html_", lambda: repr(value))()
