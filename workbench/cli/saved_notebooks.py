"""Notebooks on disk with pictures for widgets; in JupyterLab, the widgets.

A file that names a widget and holds its state is a blank place to every reader that has no widgets:
nbconvert, for one, prefers the widget and asks another machine for the scripts that draw it. So a
widget that has a picture, too, is stored aside, in the metadata of its output: all readers show the
picture. The JupyterLab that ``kafka-workbench lab`` starts puts the widget back if its state was
saved, and shows the picture otherwise, where JupyterLab alone would show an error.
"""

from collections.abc import Iterator
from typing import Any, Final

from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager
from nbconvert.preprocessors import Preprocessor

VIEW: Final = "application/vnd.jupyter.widget-view+json"
STATE: Final = "application/vnd.jupyter.widget-state+json"
PICTURES: Final = frozenset({"image/png", "image/svg+xml"})
ASIDE: Final = "kafka_log_workbench"
"""Key in the metadata of an output (its widget) and of the notebook (the state of all widgets)."""


class NotebookFiles(AsyncLargeFileManager):
    """Jupyter's notebooks as files, with pictures for widgets."""

    async def save(self, model: dict[str, Any], path: str = "") -> Any:
        """Save a file; the widgets of a notebook go aside."""
        if model.get("type") == "notebook" and "content" in model:
            set_widgets_aside(model["content"])
        return await super().save(model, path)  # type: ignore[no-untyped-call]

    async def get(
        self,
        path: str,
        content: bool = True,  # noqa: FBT002 - Jupyter's signature
        type: str | None = None,  # noqa: A002
        format: str | None = None,  # noqa: A002
        require_hash: bool = False,  # noqa: FBT002
    ) -> Any:
        """Read a file; the widgets of a notebook come back."""
        model = await super().get(path, content, type, format, require_hash)  # type: ignore[no-untyped-call]
        if content and model["type"] == "notebook":
            put_widgets_back(model["content"])
        return model


class PicturesForWidgets(Preprocessor):
    """What nbconvert does first if JupyterLab exports a notebook, which has its widgets then."""

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """Set widgets aside, as in the file."""
        set_widgets_aside(nb)
        return nb, resources


def set_widgets_aside(notebook: Any) -> None:
    """Move each widget that has a picture to the metadata; in place."""
    needs_state = False
    for output in _outputs(notebook):
        data = output["data"]
        if VIEW in data and PICTURES & set(data):
            output.setdefault("metadata", {})[ASIDE] = data.pop(VIEW)
        needs_state = needs_state or VIEW in data
    if not needs_state and "widgets" in notebook["metadata"]:
        notebook["metadata"][ASIDE] = notebook["metadata"].pop("widgets")


def put_widgets_back(notebook: Any) -> None:
    """Undo `set_widgets_aside`, except for widgets without a saved state; in place."""
    metadata = notebook["metadata"]
    if ASIDE in metadata:
        metadata["widgets"] = metadata.pop(ASIDE)
    saved = metadata.get("widgets", {}).get(STATE, {}).get("state", {})
    for output in _outputs(notebook):
        data = output["data"]
        view = output.get("metadata", {}).pop(ASIDE, data.get(VIEW))
        if view is None:
            continue
        if view.get("model_id") in saved:
            data[VIEW] = view
        elif PICTURES & set(data):
            data.pop(VIEW, None)


def _outputs(notebook: Any) -> Iterator[Any]:
    """Yield the outputs that hold data."""
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            if "data" in output:
                yield output
