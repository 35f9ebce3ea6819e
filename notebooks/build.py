"""Make each notebook from its source: run it, keep text and pictures, nothing of this machine.

The source is the percent format of jupytext. A widget is kept as its picture, so that a notebook
is small, the same for everyone, and readable where no widget can be shown. Run as
``python notebooks/build.py``; give names to build some only.

A notebook ends in exercises. An answer is folded, and proves itself: its block ``python`` is run
after the last cell, and must print the block ``output`` that follows it.
"""

import doctest
import os
import re
import sys
from pathlib import Path
from typing import Any, Final, NamedTuple

HERE = Path(__file__).parent
WIDGET = "application/vnd.jupyter.widget-view+json"
PICTURES = frozenset({"image/png", "image/svg+xml"})
LONGEST_CELL_S = 120
_ANSWER: Final = re.compile(r"^<details>(.*?)^</details>$", re.MULTILINE | re.DOTALL)
_PROOF: Final = re.compile(
    r"^```python\n(.*?)^```\n+```output\n(.*?)^```$", re.MULTILINE | re.DOTALL
)


class Answer(NamedTuple):
    """The folded answer of an exercise.

    Attributes:
        prose: what it says, in Markdown; the facts in it are bold.
        code: Python that runs after the last cell and prints the facts.
        output: what the code prints; ``...`` stands for anything.
    """

    prose: str
    code: str
    output: str


def sources() -> list[Path]:
    """The sources of the notebooks, in their order."""
    return sorted(HERE.glob("[0-9][0-9]_*.py"))


def execute(source: Path, *, data: str | None = None) -> Any:
    """Run a source from its first cell to its last and return the notebook.

    Args:
        source: one of `sources`.
        data: the log directory to run it on; its own sample by default.

    Raises:
        ValueError: an answer to an exercise is not what its code prints.
    """
    import jupytext
    from nbclient import NotebookClient
    from nbformat.v4 import new_code_cell

    notebook = jupytext.read(source)
    found = answers(notebook) if data is None else []
    notebook.cells += [new_code_cell(answer.code) for answer in found]
    environment = dict(os.environ)
    environment.pop("KAFKA_WORKBENCH_DATA", None)
    if data is not None:
        environment["KAFKA_WORKBENCH_DATA"] = data
    client = NotebookClient(
        notebook,
        timeout=LONGEST_CELL_S,
        kernel_name="python3",
        store_widget_state=False,
        resources={"metadata": {"path": str(source.parent)}},
    )
    client.execute(env=environment)
    if found:
        for answer, cell in zip(found, notebook.cells[-len(found) :], strict=True):
            _check(answer, cell)
        del notebook.cells[-len(found) :]
    return notebook


def answers(notebook: Any) -> list[Answer]:
    """Return the answers to the exercises of a notebook.

    Raises:
        ValueError: an answer has no code with its output.
    """
    found = []
    for cell in notebook.cells:
        for text in _ANSWER.findall(cell.source) if cell.cell_type == "markdown" else []:
            proof = _PROOF.search(text)
            if proof is None:
                raise ValueError(f"an answer without a block python and a block output: {text}")
            prose = text[: proof.start()] + text[proof.end() :]
            found.append(Answer(prose, proof[1], proof[2]))
    return found


def _check(answer: Answer, cell: Any) -> None:
    """Raise ValueError if the code of an answer does not print its output."""
    printed = "".join(each.text for each in cell.outputs if each.get("name") == "stdout")
    if not doctest.OutputChecker().check_output(answer.output, printed, doctest.ELLIPSIS):
        raise ValueError(f"an answer shows\n{answer.output}but\n{answer.code}prints\n{printed}")


def tidy(notebook: Any) -> Any:
    """Take out what differs between two machines or two runs, and put pictures for widgets.

    Raises:
        ValueError: a widget shows nothing but itself.
    """
    notebook.metadata.pop("widgets", None)
    notebook.metadata.pop("jupytext", None)
    notebook.metadata["kernelspec"] = {
        "display_name": "Python 3",
        "language": "python",
        "name": "python3",
    }
    notebook.metadata["language_info"] = {"name": "python"}
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number:02d}"
        cell.metadata.pop("execution", None)
        kept: list[Any] = []
        for output in cell.get("outputs", []):
            if output.get("name") == "stderr":  # progress and log lines of Java
                continue
            data = output.get("data", {})
            if data.pop(WIDGET, None) is not None and not {*PICTURES, "text/html"} & set(data):
                raise ValueError(f"cell {number}: a widget without a picture")
            if PICTURES & set(data):
                data.pop("text/html", None)  # a chart in the page's theme: its picture is enough
            _forget_addresses(data)
            if kept and "text" in output and output.get("name") == kept[-1].get("name"):
                kept[-1]["text"] += output["text"]  # what is printed may come in pieces
            else:
                kept.append(output)
        if "outputs" in cell:
            cell.outputs = kept
    return notebook


def _forget_addresses(data: Any) -> None:
    text = data.get("text/plain")
    if isinstance(text, str):
        data["text/plain"] = re.sub(r" at 0x[0-9a-f]+", "", text)


def main(names: list[str]) -> None:
    """Build the notebooks of those names, all by default."""
    import nbformat

    for source in sources():
        if names and source.stem not in names:
            continue
        target = source.with_suffix(".ipynb")
        nbformat.write(tidy(execute(source)), target)
        print(f"{target.name}: {target.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
