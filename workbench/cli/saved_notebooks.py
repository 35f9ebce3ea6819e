"""Notebooks on disk with pictures for widgets; in JupyterLab, the widgets.

A file that names a widget and holds its state is a blank place to every reader that has no widgets:
nbconvert, for one, prefers the widget and asks another machine for the scripts that draw it. So a
widget that has a picture, too, is stored aside, in the metadata of its output: all readers show the
picture. The JupyterLab that ``kafka-workbench lab`` starts puts the widget back if its state was
saved, and shows the picture otherwise, where JupyterLab alone would show an error.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager
from nbconvert.preprocessors import Preprocessor
from tornado.web import HTTPError

from workbench.cli.lab import linked_logs

VIEW: Final = "application/vnd.jupyter.widget-view+json"
STATE: Final = "application/vnd.jupyter.widget-state+json"
PICTURES: Final = frozenset({"image/png", "image/svg+xml"})
ASIDE: Final = "kafka_log_workbench"
"""Key in the metadata of an output (its widget) and of the notebook (the state of all widgets)."""


class NotebookFiles(AsyncLargeFileManager):
    """Jupyter's notebooks as files, with pictures for widgets; linked logs are only read."""

    async def save(self, model: dict[str, Any], path: str = "") -> Any:
        """Save a file; the widgets of a notebook go aside."""
        self._refuse_logs(path)
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

    async def delete_file(self, path: str) -> Any:
        """Delete a file, unless it is of a linked log."""
        self._refuse_logs(path)
        return await super().delete_file(path)  # type: ignore[no-untyped-call]

    async def rename_file(self, old_path: str, new_path: str) -> Any:
        """Rename a file, unless it is of a linked log, or would be."""
        self._refuse_logs(old_path)
        self._refuse_logs(new_path)
        return await super().rename_file(old_path, new_path)  # type: ignore[no-untyped-call]

    async def create_checkpoint(self, path: str) -> Any:
        """Make a checkpoint, for which Jupyter makes a folder beside the file: not in a log."""
        self._refuse_logs(path)
        return await super().create_checkpoint(path)  # type: ignore[no-untyped-call]

    async def list_checkpoints(self, path: str) -> Any:
        """List checkpoints, for which Jupyter makes that folder, too: a log has none."""
        if self._is_of_log(path):
            return []
        return await super().list_checkpoints(path)  # type: ignore[no-untyped-call]

    def _is_of_log(self, path: str) -> bool:
        first = path.strip("/").partition("/")[0]
        root = Path(self.root_dir)
        return first in linked_logs(root) and (root / first).is_symlink()

    def _refuse_logs(self, path: str) -> None:
        if self._is_of_log(path):
            raise HTTPError(403, f"{path} is linked here to be read: nothing is written there")


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
