"""Build the wheel, and check it in fresh environments: each Python, alone and with each extra.

What is installed comes from the package index, as for a user. A Python that is not on this machine
is named and not checked. Run as `python3 .ci/wheel.py [EXTRA…]` (this is `make wheel`); without
names, every extra is checked.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

from lock import RESOLVER

PROJECT = Path(__file__).resolve().parent.parent
BUILT = PROJECT / "build" / "wheel"
SHOP = PROJECT / "sample_data" / "shop-4.3.1"
CORE = "core"

CHECKS = {
    CORE: "assert wb.verify(PATH) == []; assert logs.scan('orders').limit(3).to_arrow().num_rows",
    "app": (
        "import widgets; from widgets.app.server import AppServer; "
        "make = lambda: widgets.Workbench(logs, static=False); assert make(); "
        "AppServer(make, title='', shown='')"
    ),
    "delta": (
        "import tempfile; from workbench.pipelines import to_table; "
        "rows = to_table(PATH, tempfile.mkdtemp() + '/t', topics='orders', table_format='delta'); "
        "assert sum(rows['records'].to_pylist()) == 5200"
    ),
    "duckdb": "assert logs.sql('select count(*) from orders').fetchall() == [(5200,)]",
    "iceberg": (
        "import tempfile; from workbench.pipelines import to_table; home = tempfile.mkdtemp(); "
        "options = {'type': 'sql', 'uri': f'sqlite:///{home}/c', 'warehouse': f'file://{home}'}; "
        "rows = to_table(PATH, 'a.t', topics='orders', table_format='iceberg', options=options); "
        "assert sum(rows['records'].to_pylist()) == 5200"
    ),
    "notebook": "import widgets, jupyterlab, matplotlib; assert widgets.LogExplorer(logs)",
    "pandas": "assert len(logs['orders'].to_pandas(columns='offset')) == 5200",
    "polars": "assert len(logs.scan('orders', columns='offset').to_polars()) == 5200",
    "remote": "import cryptography",
    "replay": "import confluent_kafka",
    "spark": (
        "frame = wb.spark.session(1).read.format('kafka-log').option('subscribe', 'orders')"
        ".load(PATH); assert frame.count() == 5200; assert wb.spark.reader_jar()"
    ),
    "values": "import google.protobuf, grpc_tools, msgpack",
}
"""What each extra brings, in a line of Python."""

ALONE = """
try:
    logs.scan("orders").to_polars()
except wb.MissingDependencyError as error:
    assert "polars" in str(error) and "pip install" in str(error), error
else:
    raise AssertionError("the package alone has polars")
"""


def main() -> int:
    """Build and check; return the exit status."""
    wheel = build()
    extras = sys.argv[1:] or list(CHECKS)
    checked = 0
    for version in versions():
        python = interpreter(version)
        if python is None:
            print(f"Python {version} is not on this machine: not checked", flush=True)
            continue
        for extra in extras:
            print(f"Python {version}, {extra}", flush=True)
            check(wheel, python, extra)
            checked += 1
    print(f"{wheel.name}: checked in {checked} environments")
    return 0 if checked else 1


def build() -> Path:
    """Build the wheel into `build/wheel`; return its path."""
    shutil.rmtree(BUILT, ignore_errors=True)
    words = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
    subprocess.run([*words, "--wheel-dir", str(BUILT), str(PROJECT)], check=True)
    (wheel,) = BUILT.glob("*.whl")
    return wheel


def settings() -> dict[str, object]:
    """Return the project's table of pyproject.toml."""
    found: dict[str, object] = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    return found


def versions() -> list[str]:
    """Return the versions of Python that the project names."""
    return re.findall(r"Python :: (3\.\d+)", str(settings()["classifiers"]))


def interpreter(version: str) -> str | None:
    """Return a Python of a version: on the PATH, or of pyenv; None if there is none."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    others = sorted(pyenv.glob(f"{version}.*/bin/python{version}"))
    for each in [sys.executable, f"python{version}", *map(str, others)]:
        words = [each, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
        try:
            done = subprocess.run(words, capture_output=True, text=True, check=False)
        except OSError:
            continue
        if done.stdout.strip() == version:
            return each
    return None


@functools.cache
def installer() -> str:
    """Return uv, which makes an environment in seconds; installed into `build/uv` at first."""
    home = PROJECT / "build" / "uv"
    if not (home / "bin" / "uv").exists():
        venv.create(home, with_pip=True)
        subprocess.run([home / "bin" / "pip", "install", "--quiet", RESOLVER], check=True)
    return str(home / "bin" / "uv")


def check(wheel: Path, python: str, extra: str) -> None:
    """Install the wheel, perhaps with an extra, into a new environment, and use it."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        home = Path(folder, "env")
        bin_, uv = home / "bin", [installer(), "--quiet"]
        there = ["--python", str(bin_ / "python")]
        subprocess.run([*uv, "venv", "--python", python, str(home)], check=True, env=kept)
        wanted = str(wheel) if extra == CORE else f"{wheel}[{extra}]"
        subprocess.run([*uv, "pip", "install", *there, wanted], check=True, env=kept)
        subprocess.run([*uv, "pip", "check", *there], check=True, env=kept)
        environment = {**kept, "VIRTUAL_ENV": str(home)}
        for words in (["--version"], ["ls", str(SHOP)], ["dump", str(SHOP), "-n", "1"]):
            subprocess.run(
                [str(bin_ / "kafka-workbench"), *words],
                check=True,
                stdout=subprocess.DEVNULL,
                env=environment,
                cwd=folder,
            )
        code = f"import workbench as wb\nPATH = {str(SHOP)!r}\nlogs = wb.open_log_directory(PATH)\n"
        code += f"assert wb.__version__ == {settings()['version']!r}\n{CHECKS[extra]}\n"
        code += ALONE if extra == CORE else ""
        subprocess.run([str(bin_ / "python"), "-c", code], check=True, env=environment, cwd=folder)


if __name__ == "__main__":
    sys.exit(main())
