"""Run the benchmarks, keep what they print with the version, and draw how the ratios moved.

`python -m tests.benchmarks [NAME…]` is ``make bench``. What a benchmark prints becomes its section
in ``docs/measured/VERSION.md``; with names, the other sections of that file stay as they are. Then
``docs/assets/benchmarks.svg`` is drawn from the files of all versions.
"""

import datetime as dt
import os
import platform
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.benchmarks import drawing
from workbench import __version__

PROJECT: Final = Path(__file__).parents[2]
NAMES: Final = sorted(path.stem[6:] for path in Path(__file__).parent.glob("bench_*.py"))


def main(names: list[str]) -> None:
    """Run benchmarks one after the other.

    Args:
        names: which; empty: all.

    Raises:
        SystemExit: there is no benchmark of a name.
        subprocess.CalledProcessError: a benchmark failed; those before it are kept.
    """
    unknown = ", ".join(sorted({*names} - {*NAMES}))
    if unknown:
        raise SystemExit(f"no such benchmark: {unknown}; there are {', '.join(NAMES)}")
    drawing.MEASURED.mkdir(exist_ok=True)
    page = drawing.MEASURED / f"{__version__}.md"
    for name in names or NAMES:
        printed = run(name)
        old = page.read_text(encoding="utf-8") if page.exists() else ""
        page.write_text(with_section(old, name, f"{conditions()}\n{printed}"), encoding="utf-8")
    drawing.write()


def run(name: str) -> str:
    """Return what a benchmark prints, and show it meanwhile."""
    words = [sys.executable, "-m", f"tests.benchmarks.bench_{name}"]
    lines = []
    with subprocess.Popen(words, cwd=PROJECT, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        for line in running.stdout:
            print(line, end="", flush=True)
            lines.append(line)
    if running.returncode:
        raise subprocess.CalledProcessError(running.returncode, words)
    return "".join(lines)


def conditions() -> str:
    """Return when and on what it was measured, and whether the machine did other work."""
    found = re.search(r"model name\s*: (.+)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    processor = found[1] if found else platform.machine()
    return (
        f"{dt.datetime.now(dt.UTC):%Y-%m-%d}, {processor}, {os.cpu_count()} cores, Python"
        f" {platform.python_version()}, load {os.getloadavg()[0]:.1f} at the end.\n"
    )


def with_section(page: str, name: str, text: str) -> str:
    """Return a page in which the section of a benchmark, in the order of names, is this one."""
    found = re.split(r"^## (.+)\n\n", page, flags=re.MULTILINE)[1:]
    sections = dict(zip(found[::2], found[1::2], strict=True)) | {name: text}
    body = "\n\n".join(f"## {each}\n\n{sections[each].strip()}" for each in sorted(sections))
    return f"# What `make bench` printed for {__version__}\n\n{body}\n"


if __name__ == "__main__":
    main(sys.argv[1:])
