"""Run the tests of the Spark source on the oldest and the newest Spark that pyproject.toml allows.

Each gets an environment of its own in `build`, with that pyspark alone; everything else it borrows
from `.venv`. What compares with Spark's own Kafka source runs on the locked version only: there is
no connector for the others.
Run as `python3 .ci/spark_versions.py` (this is `make test-spark-versions`).
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
BORROWED = PROJECT / ".venv"
# Spark 4.0 leaves sockets to the garbage collector.
UNCLOSED = ("-W", "ignore::pytest.PytestUnraisableExceptionWarning")
TESTS = ("tests/spark", "tests/loaders/test_splits.py")


def main() -> int:
    """Run the tests on each version; return the exit status."""
    failed = []
    for version in ends_of(spark_range()):
        python = environment(version)
        print(f"the Spark source on pyspark {version}", flush=True)
        words = [str(python), "-m", "pytest", "-m", "not broker", *TESTS]
        options = " ".join(
            (os.environ.get("PYTEST_ADDOPTS", ""), *UNCLOSED)
        )  # also of tests' tests
        of_version = {
            "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}",
            "PYTEST_ADDOPTS": options,
        }
        done = subprocess.run(words, cwd=PROJECT, check=False, env={**os.environ, **of_version})
        if done.returncode:
            failed.append(version)
    if failed:
        print("failed on pyspark " + ", ".join(failed), file=sys.stderr)
    return len(failed)


def spark_range() -> str:
    """Return the versions of pyspark that pyproject.toml allows, as ``>=4.0,<4.4``."""
    settings = tomllib.loads((PROJECT / "pyproject.toml").read_text())
    extra = settings["project"]["optional-dependencies"]["spark"]
    (wanted,) = (each for each in extra if each.startswith("pyspark"))
    return str(wanted.removeprefix("pyspark"))


def ends_of(allowed: str) -> tuple[str, str]:
    """Return the oldest and the newest minor version of a range, as pip's ``4.0.*``."""
    found = re.fullmatch(r">=(\d+)\.(\d+),<\1\.(\d+)", allowed)
    if found is None:
        raise SystemExit(f"pyproject.toml allows pyspark {allowed}: not a range like >=4.0,<4.4")
    major, oldest, end = found.groups()
    return f"{major}.{oldest}.*", f"{major}.{int(end) - 1}.*"


def environment(version: str) -> Path:
    """Return the Python of the environment for a version, made when it is not there."""
    folder = PROJECT / "build" / f"spark-{version.removesuffix('.*')}"
    python = folder / "bin" / "python"
    made = folder / "made"
    if not made.exists():
        venv.create(folder, with_pip=True, clear=True)
        install = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check")
        subprocess.run([str(python), *install, "setuptools", f"pyspark=={version}"], check=True)
        (own,) = (folder / "lib").glob("python*/site-packages")
        (borrowed,) = (BORROWED / "lib").glob("python*/site-packages")
        # After its own packages; the project is installed where it lies, as in `.venv`.
        (own / "borrowed.pth").write_text(f"{borrowed}\n{PROJECT}\n")
        script = (BORROWED / "bin" / "kafka-workbench").read_text()
        command = python.with_name("kafka-workbench")
        command.write_text(f"#!{python}\n{script.partition(chr(10))[2]}")
        command.chmod(0o755)
        made.touch()
    return python


if __name__ == "__main__":
    sys.exit(main())
