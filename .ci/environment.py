"""Make the project's virtual environment from requirements.lock, again only when something changed.

Every package is installed at the version and with the hash that the lock names; the project itself
is installed editable. Needs nothing but Python 3.11 or newer, so that `make lab` works on a machine
that has only that and make. The front ends are bundled and the kernels compiled here, if they have
changed. Run as `python3 .ci/environment.py` (this is `make env`).
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from system_packages import ensure_venv_module

PROJECT = Path(__file__).resolve().parent.parent
ENVIRONMENT = PROJECT / ".venv"
PYTHON = ENVIRONMENT / "bin" / "python"
LOCK = PROJECT / "requirements.lock"
STAMP = ENVIRONMENT / "made-from"
EXTENSION = ENVIRONMENT / "share" / "jupyter" / "labextensions" / "kafka-log-workbench"
# crcmod and pyspark come as source only; they and the project are built by this, as locked.
BUILDER = "setuptools"
# The environment's own installer and the project are not in the lock.
NOT_LOCKED = {"pip", "kafka-log-workbench"}


def main() -> int:
    """Make or renew the environment if its inputs changed; return the exit status."""
    with LOCK.open("rb") as lock_file:
        fcntl.flock(lock_file, fcntl.LOCK_EX)  # two `make` at the same time take turns
        wanted = fingerprint()
        if read_stamp(STAMP) != wanted:
            if read_stamp(STAMP)[:1] != wanted[:1]:
                make_environment()
            STAMP.unlink(missing_ok=True)
            install_packages(LOCK.read_text())
            link_extension()
            STAMP.write_text("\n".join(wanted) + "\n")
        build_parts()
    return 0


def read_stamp(path: Path) -> list[str]:
    """Return the lines of a stamp, none when it is not there."""
    return path.read_text().split() if path.is_file() else []


def fingerprint() -> list[str]:
    """Return what the environment depends on: the interpreter, and the packages wanted."""
    interpreter = hashlib.sha256(f"{sys.version}{sys.base_prefix}".encode()).hexdigest()
    settings = tomllib.loads((PROJECT / "pyproject.toml").read_text())
    parts = {name: settings[name] for name in ("build-system", "project", "dependency-groups")}
    parts["setuptools"] = settings["tool"]["setuptools"]
    packages = hashlib.sha256(json.dumps(parts, sort_keys=True).encode())
    packages.update(LOCK.read_bytes())
    packages.update(Path(__file__).read_bytes())
    return [interpreter, packages.hexdigest()]


def make_environment() -> None:
    """Create the environment's folder, from nothing."""
    ensure_venv_module()
    print(f"making {ENVIRONMENT.name} with Python {sys.version.split()[0]}", flush=True)
    shutil.rmtree(ENVIRONMENT, ignore_errors=True)
    # In a process of its own: one that has just been given its ensurepip would not see it.
    subprocess.run([sys.executable, "-m", "venv", str(ENVIRONMENT)], check=True)


def install_packages(lock: str) -> None:
    """Install what `lock` names and the project itself; remove what is no longer named."""
    print(
        "installing the packages of requirements.lock (some 600 MB; a few minutes the first time)",
        flush=True,
    )
    install(requirement_of(BUILDER, lock))
    install(lock)
    pip("install", "--quiet", "--no-deps", "--no-build-isolation", "--editable", str(PROJECT))
    installed = {normal(item["name"]) for item in json.loads(pip("list", "--format", "json"))}
    if dropped := sorted(installed - names_in(lock) - NOT_LOCKED):
        pip("uninstall", "--quiet", "--yes", *dropped)
    pip("check")


def link_extension() -> None:
    """Let JupyterLab load its extension from here: an editable installation leaves it out."""
    EXTENSION.parent.mkdir(parents=True, exist_ok=True)
    EXTENSION.unlink(missing_ok=True)
    EXTENSION.symlink_to(PROJECT / "labextension", target_is_directory=True)


def build_parts() -> None:
    """Bundle the front ends of the widgets and compile the kernels, if they have changed."""
    words = [str(PYTHON), "setup.py", "--quiet", "bundle", "kernels"]
    subprocess.run(words, cwd=PROJECT, check=True)


def requirement_of(name: str, lock: str) -> str:
    """Return the part of the text `lock` that pins the package `name`."""
    lines = lock.splitlines(keepends=True)
    first = next(i for i, line in enumerate(lines) if line.startswith(f"{name}=="))
    last = first
    while lines[last].rstrip().endswith("\\"):
        last += 1
    return "".join(lines[first : last + 1])


def names_in(lock: str) -> set[str]:
    """Return the names of the packages that the text `lock` pins."""
    return {normal(name) for name in re.findall(r"^([A-Za-z0-9._-]+)==", lock, re.MULTILINE)}


def normal(name: str) -> str:
    """Return the one spelling of a package's name."""
    return re.sub(r"[-_.]+", "-", name).lower()


def install(requirements: str) -> None:
    """Install `requirements`, the text of a lock; what a hash does not match is refused."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "requirements.txt"
        path.write_text(requirements)
        pip(
            "install",
            "--quiet",
            "--require-hashes",
            "--no-deps",
            "--no-build-isolation",
            "-r",
            str(path),
        )


def pip(command: str, *arguments: str) -> str:
    """Run the environment's own pip and return what it prints."""
    words = [str(PYTHON), "-m", "pip", command, "--disable-pip-version-check", *arguments]
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    sys.exit(main())
