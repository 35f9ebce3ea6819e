"""Nobody reads the machine's date but who has a reason: what is true today is true on any day."""

import ast
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from tests.dates import REAL

ROOT: Final = Path(__file__).parents[2]
CLOCK: Final = "workbench/runtime/clock.py"

ENGINE: Final = {
    "widgets/live/arrivals.py": "since when it is counted what came",
    "widgets/live/follows_directories.py": "since when a directory is followed",
    "workbench/log/log.py": "the default of a log that is written",
    "workbench/log_manager/manager.py": "the default of a broker's logs",
    "workbench/pipelines/lake/delta_table.py": "when a file of a table was added",
    "workbench/pipelines/lake/iceberg_table.py": "which snapshots of a table expire",
    "workbench/runtime/times.py": "the time of a question that gives none",
    "workbench/server/fetch_sessions.py": "the age of a client's session",
    "workbench/server/handlers/admin_requests.py": "when the quorum's only voter caught up: now",
    "workbench/server/request_trace.py": "when a request came",
    "workbench/server/served_transactions.py": "how long a transaction that a client asks for runs",
    "workbench/server/session_groups.py": "the files of groups that are in memory only",
}
"""Modules of the product that use the machine's clock → what for; all else is given its time."""

_OF_TIME: Final = {"time", "time_ns", "ctime", "localtime", "gmtime", "strftime"}
_OF_DATES: Final = {"now", "today", "utcnow"}
_WORDS: Final = re.compile(r"SystemClock|from time import|\btime\.|\b(datetime|date)\.")
_ELSEWHERE: Final = re.compile(r"Date\.now\(|new Date\(\)|currentTimeMillis\(|Instant\.now\(")


def _files(*patterns: str) -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--", *patterns],  # noqa: S607 - as installed
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [name for name in listed.stdout.split("\0") if name and (ROOT / name).exists()]


def _reads(tree: ast.AST) -> Iterator[str]:
    """Yield what reads the machine's date, with its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "time":
            found = {alias.name for alias in node.names} & _OF_TIME
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            of_time = node.value.id == "time" and node.attr in _OF_TIME
            of_dates = node.value.id in {"datetime", "date"} and node.attr in _OF_DATES
            found = {node.attr} if of_time or of_dates else set()
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute):
            of_dates = node.value.attr in {"datetime", "date"} and node.attr in _OF_DATES
            found = {node.attr} if of_dates else set()
        else:
            continue
        for name in found:
            yield f"{node.lineno}: {name}"


def _uses(tree: ast.AST, name: str) -> bool:
    return any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(tree))


@cache
def _parsed(name: str) -> ast.AST:
    """Return the tree of a file; an empty one if no word in it can be what is looked for."""
    text = (ROOT / name).read_text(encoding="utf-8")
    return ast.parse(text if _WORDS.search(text) else "")


@pytest.mark.parametrize(
    "line",
    [
        "import time\nnow = time.time()",
        "from time import time_ns",
        "import datetime as dt\nnow = dt.datetime.now(dt.UTC)",
        "from datetime import date\nnow = date.today()",
    ],
)
def test_a_date_that_is_read_is_found(line: str) -> None:
    assert len(list(_reads(ast.parse(line)))) == 1


def test_one_module_of_the_product_reads_the_date() -> None:
    found = {name: list(_reads(_parsed(name))) for name in _files("workbench/*.py", "widgets/*.py")}
    assert [name for name, reads in found.items() if reads] == [CLOCK]
    front = _files("widgets/static/*.js", "workbench/spark_source/*.java")
    assert len(front) > 50
    assert [name for name in front if _ELSEWHERE.search((ROOT / name).read_text())] == []


def test_who_uses_the_machines_clock_has_a_reason() -> None:
    found = {name for name in _files("workbench/*.py", "widgets/*.py") if name != CLOCK}
    assert {name for name in found if _uses(_parsed(name), "SystemClock")} == ENGINE.keys()


def test_tests_and_notebooks_read_no_date_without_a_reason() -> None:
    found = set()
    for name in _files("tests/*.py", "notebooks/*.py", "sample_data/*.py"):
        tree = _parsed(name)
        reads = [*_reads(tree), *(["SystemClock"] if _uses(tree, "SystemClock") else [])]
        reason = [each for each in REAL if name.startswith(each)]
        if reads and name not in {"tests/dates.py", "tests/house/test_dates.py"}:
            assert reason, f"{name} reads the machine's date (line {reads[0]}): give it a time"
            found.update(reason)
    assert found == REAL.keys(), "a reason that nobody needs any more"
