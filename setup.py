"""What pyproject.toml has no words for: bundled front ends, and the notebooks with what they open.

The notebooks and `sample_data` are installed to ``share/kafka-log-workbench``, where
`workbench.cli.lab` finds them; the extension of JupyterLab to where JupyterLab looks for it.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import ClassVar

from setuptools import Command, setup
from setuptools.command.build_py import build_py

SHARE = Path("share", "kafka-log-workbench")
EXTENSION = Path("labextension")
EXTENSIONS = Path("share", "jupyter", "labextensions")
FRONT_ENDS = Path("widgets", "static")
BUNDLES = Path("widgets", "bundles")
PAGES = ("app/page.js", "file_page.js")


class Bundle(Command):
    """Join the modules of each front end into one, as anywidget wants it: esbuild, run by deno."""

    description = "bundle the front ends of the widgets, unless they have not changed"
    user_options: ClassVar[list[tuple[str, str, str]]] = []

    def initialize_options(self) -> None:
        """Do nothing: there are no options."""

    def finalize_options(self) -> None:
        """Do nothing: there are no options."""

    def run(self) -> None:
        """Write `BUNDLES` and, last, the digest of what they were made from."""
        modules = {path: path.read_bytes() for path in sorted(FRONT_ENDS.rglob("*.js"))}
        digest = hashlib.sha256(Path(__file__).read_bytes())
        for path, text in modules.items():
            digest.update(f"{path.as_posix()} {len(text)} ".encode() + text)
        made_from = BUNDLES / "made-from"
        if made_from.is_file() and made_from.read_text() == digest.hexdigest():
            return
        shutil.rmtree(BUNDLES, ignore_errors=True)
        widgets = [str(path) for path, text in modules.items() if b"\nexport default " in text]
        pages = [str(FRONT_ENDS / page) for page in PAGES]
        words = [_deno(), "bundle", "--quiet", "--minify", "--outdir", str(BUNDLES)]
        subprocess.run([*words, *widgets, *pages], check=True)
        made_from.write_text(digest.hexdigest())


def _deno() -> str:
    """Return the program: of this environment, or of the one that pip builds in."""
    folders = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    found = shutil.which("deno", path=folders)
    if found is None:
        raise SystemExit("deno is not there, which bundles the front ends: pip install 'deno>=2.5'")
    return found


class BuildPackages(build_py):
    """The packages, with the bundles in them."""

    def run(self) -> None:
        """Bundle first."""
        self.run_command("bundle")
        super().run()


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


setup(cmdclass={"build_py": BuildPackages, "bundle": Bundle}, data_files=data_files())
