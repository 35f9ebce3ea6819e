"""Programs are started in one place, and nothing that lies on a disk is run or unpickled.

`workbench.runtime.children` starts programs. Each other way, and each way to run data, is
found here by its name, in Python and in Java; what is excepted has its reason.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

PROJECT: Final = Path(__file__).parents[2]
PRODUCT: Final = ("workbench", "widgets", "pyspark_kafka_log")

MODULES: Final = {
    "_posixsubprocess", "concurrent.futures.process", "marshal", "multiprocessing", "pickle", "pty",
    "runpy", "shelve", "subprocess", "webbrowser", "pyspark.cloudpickle", "cloudpickle", "yaml",
    "joblib", "dill", "code", "imp", "jupyter_client", "pexpect", "asyncio.subprocess",
}  # fmt: skip
"""Modules that start programs or run data."""
NAMES: Final = re.compile(
    r"os\.(system|popen|fork|forkpty|startfile|posix_spawnp?|exec[lv]\w*|spawn[lv]\w*)"
    r"|(.*\.)?(create_subprocess_(exec|shell)|subprocess_(exec|shell)|ProcessPoolExecutor)"
    r"|(.*\.)?(getOrCreate|launch_gateway|SparkContext|spec_from_file_location|exec_module)"
    r"|(eval|exec|compile|__import__)|shutil\.which"
)
"""Calls that do the same: `getOrCreate` starts Java, which starts Python."""
ARGUMENTS: Final = {"allow_pickle", "preexec_fn", "shell"}
JAVA: Final = re.compile(r"\b(ProcessBuilder\(|Runtime\.getRuntime\(\)\.exec|ObjectInputStream\()")

EXCEPTED: Final = {
    "workbench/runtime/children.py": {
        "subprocess": "this is the one place",
        "os.execve": "this is the one place",
        "shutil.which": "asked for the absolute entries of PATH alone",
    },
    "workbench/kernels/library/build.py": {
        "exec": "C functions, made of the table of the package when it is built",
        "subprocess": "links when the package is built; no process that reads imports it",
    },
    "workbench/kernels/library/calls.py": {
        "exec": "the text of calls, made of the package's own table alone",
    },
    "workbench/spark.py": {
        "getOrCreate": "with the Spark of pyspark, and Python that searches what this process does",
    },
    "workbench/cli/checks/executors.py": {
        "getOrCreate": "connects to a server of Spark Connect (sc://), and starts nothing",
    },
    "workbench/spark_source/jvm/Planner.java": {
        "ProcessBuilder(": "Java asks our planner in Python, which it starts with -P",
    },
    "widgets/app/server.py": {
        "webbrowser": "opens the user's browser at a page of ours",
    },
    "workbench/file_system/source.py": {
        "pickle": "part of a pickle that Spark made of our own objects",
    },
    "workbench/spark_source/executors.py": {
        "pyspark.cloudpickle": "pickles our own functions for Spark's tasks",
    },
    "workbench/spark_source/mapping.py": {
        "pickle": "the caller's own function, in the task that calls it",
        "pyspark.cloudpickle": "the caller's own function",
    },
    "workbench/pipelines/lake/tasks.py": {
        "pickle": "our own objects, between driver and tasks",
    },
    "workbench/pipelines/replica_diff.py": {
        "pickle": "our own objects, between driver and tasks",
    },
}  # fmt: skip
"""What a file may use, and why nothing that lies on a disk is run by it."""


def _dotted(node: ast.expr) -> str:
    """Return a name as it is written: ``os.path.join``."""
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def _used(source: str) -> Iterator[str]:
    """Yield what a module of Python uses of the names above."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names if each.name in MODULES)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = {f"{node.module}.{each.name}" for each in node.names}
            yield from sorted(({str(node.module)} | names) & MODULES)
            yield from sorted(name for name in names if NAMES.fullmatch(name))
        elif isinstance(node, ast.Call):
            name = _dotted(node.func) or getattr(node.func, "attr", "")
            if NAMES.fullmatch(name):
                yield name if name.startswith(("os.", "shutil.")) else name.rpartition(".")[2]
            yield from (each.arg for each in node.keywords if each.arg in ARGUMENTS)


def _found() -> dict[str, set[str]]:
    """Return what each file uses of the names above."""
    found: dict[str, set[str]] = {}
    for folder in PRODUCT:
        for path in (PROJECT / folder).rglob("*.py"):
            found[str(path.relative_to(PROJECT))] = set(_used(path.read_text(encoding="utf-8")))
        for path in (PROJECT / folder).rglob("*.java"):
            text = path.read_text(encoding="utf-8")
            found[str(path.relative_to(PROJECT))] = set(JAVA.findall(text))
    return {name: used for name, used in found.items() if used}


def test_programs_are_started_in_one_place() -> None:
    found = {(name, each) for name, used in _found().items() for each in used}
    excepted = {(name, each) for name, reasons in EXCEPTED.items() for each in reasons}
    assert found - excepted == set(), "use workbench.runtime.children, or give the reason here"
    assert excepted - found == set(), "no longer used: take the exception out"


def test_each_way_is_found() -> None:
    for source in (
        "import subprocess", "from subprocess import run", "import os\nos.system('x')",
        "os.execv('x', [])", "os.posix_spawn('x', [], {})", "os.spawnl(0, 'x')", "os.fork()",
        "from os import popen", "import asyncio\nasyncio.create_subprocess_exec('x')",
        "from asyncio import create_subprocess_shell", "import multiprocessing",
        "from concurrent.futures import ProcessPoolExecutor", "loop().subprocess_exec(x)",
        "SparkSession.builder.getOrCreate()", "launch_gateway()", "np.load(f, allow_pickle=True)",
        "from pickle import loads", "eval('1')", "yaml_load = __import__('yaml')", "import yaml",
        "x().y.exec_module(z)", "shutil.which('java')", "import runpy", "f(shell=True)",
    ):  # fmt: skip
        assert list(_used(source)), source
    for source in ("re.compile('x')", "os.path.join('a')", "connection.execute('x')"):
        assert not list(_used(source)), source
    assert JAVA.findall("new ProcessBuilder(a)")
    assert JAVA.findall("Runtime.getRuntime().exec(x)")
