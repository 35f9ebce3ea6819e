"""Open JupyterLab on the tour: over the sample data, or over a directory of the user's own.

The notebooks are copied to a folder of the user's, with a link to the sample data beside them, so
that saving one changes neither a checkout nor the installed files. A copy that the user changed is
never overwritten. Links in that folder, which is JupyterLab's root, lead to the sample data and to
the user's directory, so that its file browser shows them; `saved_notebooks` only reads there.
JupyterLab runs with this interpreter, so that kernel, server and widgets share one environment. Its
settings for the tour take precedence over the user's, and do not change them.
"""

import hashlib
import importlib.metadata
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import quote

from workbench.errors import NOT_THERE, LogDirectoryError, MissingDependencyError
from workbench.file_system.outputs import new_file
from workbench.file_system.source import absolute, is_uri
from workbench.runtime import children
from workbench.runtime.extras import require

TOUR: Final = "01_open_a_log_directory.ipynb"
DATA_VARIABLE: Final = "KAFKA_WORKBENCH_DATA"
"""Environment variable that names the log directory for the notebooks to open."""

DISTRIBUTION: Final = "kafka-log-workbench"
REINSTALL: Final = f"pip install --force-reinstall {DISTRIBUTION}"
_COPIED: Final = ".copied.json"
_LINKED: Final = ".linked.json"  # the names of links to logs that were made
_MOST_NAMES: Final = 100
_SAVED: Final = "workbench.cli.saved_notebooks"

_SETTINGS: Final = {
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
    # A widget with a saved state is shown again when the notebook is opened without a kernel.
    "@jupyter-widgets/jupyterlab-manager:plugin": {"saveState": True},
}


class Tour(NamedTuple):
    """Where the notebooks and the sample data are.

    Attributes:
        notebooks: folder of the notebooks.
        samples: folder of the sample log directories; None when they were not installed.
        is_checkout: whether they are a checkout's, and not installed files.
    """

    notebooks: Path
    samples: Path | None
    is_checkout: bool


def run_lab(
    directory: str | None = None,
    *,
    folder: str | None = None,
    browser: bool = True,
    options: Sequence[str] = (),
) -> int:
    """Open JupyterLab on the tour and wait until it ends.

    On POSIX this process becomes JupyterLab's and the function does not return.

    Args:
        directory: the log directory that the tour opens; its sample by default.
        folder: where the copies of the notebooks go, in a folder ``notebooks``; by default
            ``kafka-workbench`` in the home directory.
        browser: open a browser; otherwise JupyterLab prints the address.
        options: passed on to JupyterLab.

    Returns:
        The exit code of JupyterLab.

    Raises:
        LogDirectoryError: ``directory`` is not there.
        MissingDependencyError: JupyterLab is not installed.
    """
    require("jupyterlab")
    if directory is not None:
        check_there(directory)
    tour = find_tour()
    work = prepare_folder(tour, folder)
    shown = link_logs(tour.samples, directory, work)
    print(f"The notebooks are copies in {work}", file=sys.stderr)  # noqa: T201
    environment = lab_environment(os.environ, directory)
    command = lab_command(work, shown, browser=browser, options=options)
    return children.become(command, environment)


def check_there(path: str) -> None:
    """Refuse what cannot be opened before anything starts.

    Raises:
        LogDirectoryError: nothing is there.
    """
    if not is_uri(path) and not os.path.exists(path):
        raise LogDirectoryError(path, NOT_THERE)


def find_tour() -> Tour:
    """Find the notebooks: beside the package in a checkout, otherwise among the installed files.

    Raises:
        MissingDependencyError: this installation has no notebooks: it was not made from a wheel.
    """
    project = Path(__file__).resolve().parents[2]
    if (project / "notebooks" / TOUR).is_file():
        samples = project / "sample_data"
        return Tour(project / "notebooks", samples if samples.is_dir() else None, is_checkout=True)
    try:
        files = importlib.metadata.files(DISTRIBUTION) or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    for file in files:
        if file.name == TOUR:
            notebooks = Path(str(file.locate())).resolve().parent
            samples = notebooks.parent / "sample_data"
            return Tour(notebooks, samples if samples.is_dir() else None, is_checkout=False)
    raise MissingDependencyError("the notebooks", REINSTALL)


def work_folder(folder: str | None) -> Path:
    """Return the folder of the notebooks that are opened: the copies."""
    return (Path(folder) if folder else Path.home() / "kafka-workbench") / "notebooks"


def prepare_folder(tour: Tour, folder: str | None) -> Path:
    """Return `work_folder`, with copies of the notebooks and a link to their data.

    Raises:
        OSError: the folder cannot be written.
    """
    work = work_folder(folder)
    copy_notebooks(tour.notebooks, work)
    if tour.samples is not None:
        link_samples(tour.samples, work.parent)
    return work


def link_samples(samples: Path, folder: Path) -> None:
    """Make ``sample_data`` in a folder lead to the samples, unless the user has one there."""
    link = folder / samples.name
    if link.is_symlink():
        link.unlink()
    if not link.exists():
        link.symlink_to(samples, target_is_directory=True)


def linked_logs(root: Path) -> list[str]:
    """Return the names of the links to log directories in JupyterLab's root."""
    try:
        names = json.loads((root / _LINKED).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def link_logs(samples: Path | None, directory: str | None, work: Path) -> str | None:
    """Let links in JupyterLab's root lead to the samples and a directory, and to no others.

    Returns:
        The name of the directory's link; None without a directory of this machine.

    Raises:
        OSError: the root cannot be written.
    """
    for name in linked_logs(work):
        if (work / name).is_symlink():
            (work / name).unlink()
    local = None if directory is None or is_uri(directory) else Path(absolute(directory))
    links: dict[str, Path] = {}
    for path in filter(None, (samples, local)):
        numbered = (f"{path.name}-{number}" for number in range(2, _MOST_NAMES))
        names = (name for name in (path.name, *numbered) if not os.path.lexists(work / name))
        name = next(names, "")
        if name:
            (work / name).symlink_to(path, target_is_directory=path.is_dir())
            links[name] = path
    _write(work / _LINKED, (json.dumps(list(links), indent=1) + "\n").encode())
    return next((name for name, path in links.items() if path == local), None)


def copy_notebooks(source: Path, target: Path) -> None:
    """Copy the notebooks, except over copies that were changed since.

    Raises:
        OSError: the target cannot be written.
    """
    target.mkdir(parents=True, exist_ok=True)
    record = target / _COPIED
    copied: dict[str, str] = json.loads(record.read_text()) if record.is_file() else {}
    for notebook in sorted(source.glob("*.ipynb")):
        to = target / notebook.name
        if to.exists() and _digest(to) != copied.get(notebook.name):
            continue
        _write(to, notebook.read_bytes())
        copied[notebook.name] = _digest(to)
    _write(record, (json.dumps(copied, indent=1, sort_keys=True) + "\n").encode())


def _write(path: Path, data: bytes) -> None:
    """Write a small file; a link of its name is replaced."""
    with new_file(path, overwrite=True) as file:
        file.write(data)


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def lab_environment(inherited: Mapping[str, str], directory: str | None) -> dict[str, str]:
    """Return the environment for JupyterLab: the data to open, and settings before the user's.

    A given directory takes precedence over the environment's, and that over the sample, which the
    notebooks find by themselves.
    """
    from jupyter_core.paths import jupyter_runtime_dir

    environment = dict(inherited)
    if directory is not None:
        environment[DATA_VARIABLE] = absolute(directory)
    paths = [str(write_settings(Path(jupyter_runtime_dir()) / DISTRIBUTION))]
    paths += [path for path in [environment.get("JUPYTER_CONFIG_PATH")] if path]
    environment["JUPYTER_CONFIG_PATH"] = os.pathsep.join(paths)
    return environment


def write_settings(folder: Path) -> Path:
    """Write JupyterLab's settings for the tour below ``folder`` and return it."""
    file = folder / "labconfig" / "default_setting_overrides.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    _write(file, (json.dumps(_SETTINGS, indent=1) + "\n").encode())
    return folder


def lab_command(
    folder: Path, shown: str | None = None, *, browser: bool, options: Sequence[str] = ()
) -> list[str]:
    """Return the command that opens the tour alone, or a directory in its folder.

    ``python -m jupyterlab`` is this environment's; a ``jupyter-lab`` on the path may be another's.
    """
    first = f"/lab/tree/{quote(shown)}" if shown else f"/doc/tree/{TOUR}"
    command = children.python(
        "jupyterlab",
        f"--ServerApp.root_dir={folder}",
        f"--LabApp.default_url={first}",
        f"--ServerApp.contents_manager_class={_SAVED}.NotebookFiles",
        f"--Exporter.preprocessors={_SAVED}.PicturesForWidgets",
    )
    if not browser:
        command.append("--no-browser")
    if hasattr(os, "geteuid") and os.geteuid() == 0:  # in a container there is often no other user
        command.append("--allow-root")
    return [*command, *options]
