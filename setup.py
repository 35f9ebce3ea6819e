"""What pyproject.toml has no words for: bundled front ends, compiled kernels, and the notebooks.

The notebooks and `sample_data` are installed to ``share/kafka-log-workbench``, where
`workbench.cli.lab` finds them; the extension of JupyterLab to where JupyterLab looks for it.
"""

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import ClassVar

from setuptools import Command, Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

sys.path.insert(0, str(Path(__file__).absolute().parent))
from workbench.kernels.library import opening, targets

SHARE = Path("share", "kafka-log-workbench")
EXTENSION = Path("labextension")
EXTENSIONS = Path("share", "jupyter", "labextensions")
FRONT_ENDS = Path("widgets", "static")
BUNDLES = Path("widgets", "bundles")
PAGES = ("app/page.js", "file_page.js")
LIBRARY = Path("workbench", "kernels", "library", targets.FILE)


class Step(Command):
    """A command of the build without options."""

    user_options: ClassVar[list[tuple[str, str, str]]] = []

    def initialize_options(self) -> None:
        """Do nothing: there are no options."""

    def finalize_options(self) -> None:
        """Do nothing: there are no options."""


class Bundle(Step):
    """Join the modules of each front end into one, as anywidget wants it: esbuild, run by deno."""

    description = "bundle the front ends of the widgets, unless they have not changed"

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


class Kernels(Step):
    """Compile the kernels to a shared library: numba makes the code, zig links it."""

    description = "compile the kernels, unless they have not changed"

    def run(self) -> None:
        """Write `LIBRARY`, in a process of its own: what it imports is the text."""
        if not targets.is_built() or opening.is_current():
            return
        words = [sys.executable, "-m", "workbench.kernels.library.build", str(LIBRARY.parent)]
        # What numba optimizes alone is optimized again with the rest.
        environment = {**os.environ, "NUMBA_OPT": "0", "PYTHONPATH": os.pathsep.join(sys.path)}
        self.announce("compiling the kernels, which takes about a minute", level=3)
        subprocess.run(words, check=True, env=environment)


class BuildPackages(build_py):
    """The packages, with the bundles and the library in them."""

    def run(self) -> None:
        """Bundle and compile first."""
        self.run_command("bundle")
        self.run_command("kernels")
        super().run()

    def find_data_files(self, package: str, src_dir: str) -> list[str]:
        """Leave out a library that is there, when none is asked for."""
        found: list[str] = super().find_data_files(package, src_dir)
        return found if targets.is_built() else [each for each in found if Path(each) != LIBRARY]


class Package(Distribution):
    """A package that is not the same on every machine."""

    def has_ext_modules(self) -> bool:
        """Return whether there is a library; it is not an extension of Python."""
        return targets.is_built()


class Wheel(bdist_wheel):
    """A wheel for each kind of machine, whatever the Python: ctypes calls the library."""

    def get_tag(self) -> tuple[str, str, str]:
        """Return the oldest system that zig links the library for, or this one."""
        target = targets.target()
        if target is None or self.root_is_pure:
            return ("py3", "none", "any")
        is_linked_by_zig = importlib.util.find_spec("ziglang") is not None
        return ("py3", "none", target.wheel if is_linked_by_zig else super().get_tag()[2])


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


setup(
    cmdclass={
        "bdist_wheel": Wheel,
        "build_py": BuildPackages,
        "bundle": Bundle,
        "kernels": Kernels,
    },
    data_files=data_files(),
    distclass=Package,
)
