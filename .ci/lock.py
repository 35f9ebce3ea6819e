"""Rewrite requirements.lock from pyproject.toml and .ci/lock_constraints.txt.

The lock serves every machine (Linux on x86-64 and ARM, macOS) and each Python that pyproject.toml
allows. It holds all extras and the group `dev`, with the hash of every file, and no address of any
registry. Pins that still fit are kept; `--upgrade` takes the newest versions that pyproject.toml
allows.
Run as `python3 .ci/lock.py [--upgrade]` (this is `make lock` and `make upgrade`).
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
LOCK = PROJECT / "requirements.lock"
RESOLVER = "uv==0.13.9"
HEADER = """\
# Every package that this project is developed, tested and shown with. Made by `make lock` from
# pyproject.toml; `make env` installs it.
"""
COMPILE = (
    "pip compile pyproject.toml --universal --all-extras --group dev --generate-hashes"
    " --constraint .ci/lock_constraints.txt"
    " --no-config --no-header --no-annotate --no-emit-index-url --no-emit-find-links --quiet"
)


def main() -> int:
    """Resolve the project's dependencies and write the lock; return the exit status."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        tools = Path(folder) / "bin"
        subprocess.run([tools / "pip", "install", "--quiet", RESOLVER], check=True)
        words = [str(tools / "uv"), *COMPILE.split(), "--output-file", str(LOCK), *sys.argv[1:]]
        # One machine's settings of uv must not choose what all machines get.
        environment = {name: value for name, value in os.environ.items() if name[:3] != "UV_"}
        subprocess.run(words, check=True, cwd=PROJECT, env=environment, stdout=subprocess.DEVNULL)
    text = re.sub(r"^#.*\n", "", LOCK.read_text(), flags=re.MULTILINE)
    LOCK.write_text(HEADER + text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
