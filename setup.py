"""What a wheel holds besides its packages: the notebooks, and the directories that they open.

Everything else is in pyproject.toml, which has no pattern for a tree of files. They are installed
to ``share/kafka-log-workbench``; `workbench.cli.lab` finds them there. The extension of JupyterLab
is installed to where JupyterLab looks for extensions.
"""

from collections import defaultdict
from pathlib import Path

from setuptools import setup

SHARE = Path("share", "kafka-log-workbench")
EXTENSION = Path("labextension")
EXTENSIONS = Path("share", "jupyter", "labextensions")


def data_files() -> list[tuple[str, list[str]]]:
    """Return the folders to install to, and the files for each."""
    samples = [path for path in Path("sample_data").rglob("*") if path.is_file()]
    made_by = Path("sample_data", "make")
    folders = defaultdict(list)
    for path in sorted([*Path("notebooks").glob("*.ipynb"), *samples]):
        if made_by not in path.parents:
            folders[str(SHARE / path.parent)].append(str(path))
    for path in sorted(each for each in EXTENSION.rglob("*") if each.is_file()):
        place = EXTENSIONS / "kafka-log-workbench" / path.parent.relative_to(EXTENSION)
        folders[str(place)].append(str(path))
    return list(folders.items())


setup(data_files=data_files())
