"""A standalone cluster of Spark on loopback, whose workers have nothing of this environment.

Their Python has no packages, their home is no folder, and their temporary files are elsewhere. Of
this environment they get Spark itself and a Java, and what an application sends them.
"""

import os
import re
import signal
import subprocess
import sys
import venv
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import pyspark

from tests.kafka_broker import SHORT_LIVED
from tests.waiting import wait_until
from workbench.java_home import ensure_java

SPARK: Final = Path(pyspark.__file__).parent
HOSTS: Final = ("127.0.0.2", "127.0.0.3")
"""Of the workers; a copy of a slow task is never started on the host where that runs."""

_JAVA: Final = " ".join(SHORT_LIVED)


@contextmanager
def standalone_cluster(folder: Path) -> Iterator[str]:
    """Start a master and two workers of a core each; yield the master's URL.

    Args:
        folder: for what they write.
    """
    venv.create(folder / "python", with_pip=False)
    no_folder = folder / "no folder"
    no_folder.touch()
    temporary = folder / "tmp"
    temporary.mkdir()
    environment = {
        "PATH": f"{folder}/python/bin{os.pathsep}{os.defpath}",
        "HOME": f"{no_folder}/home",
        "TMPDIR": str(temporary),
        "SPARK_HOME": str(SPARK),
        "JAVA_HOME": str(ensure_java()),
        "SPARK_DAEMON_JAVA_OPTS": _JAVA,
    }
    with ExitStack() as stack:
        started = [
            "org.apache.spark.deploy.master.Master", "--port", "0", "--webui-port", "0",
        ]  # fmt: skip
        log = stack.enter_context(_started(folder, "127.0.0.1", environment, *started))
        (url,) = _said(log, r"Starting Spark master at (spark://\S+)")
        for host in HOSTS:
            options = ["--cores", "1", "--memory", "1g", "--webui-port", "0"]
            worker = ["org.apache.spark.deploy.worker.Worker", *options, url]
            log = stack.enter_context(_started(folder, host, environment, *worker))
            _said(log, r"(Successfully registered with master)")
        yield url


@contextmanager
def _started(
    folder: Path, host: str, environment: dict[str, str], name: str, *words: str
) -> Iterator[Path]:
    """Run a program of Spark on a host's address; yield its log. It is killed at the end."""
    own = folder / host
    own.mkdir()
    log = own / "log"
    command = [str(SPARK / "bin" / "spark-class"), name, "--host", host, *words]
    with (
        log.open("wb") as output,
        subprocess.Popen(
            command, cwd=own, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            env={**environment, "SPARK_LOCAL_IP": host, "SPARK_WORKER_DIR": str(own)},
        ) as process,
    ):  # fmt: skip
        try:
            yield log
        finally:
            os.kill(process.pid, signal.SIGKILL)  # also one that a task has killed


def _said(log: Path, pattern: str) -> tuple[str, ...]:
    """Return what a log says, once it does."""
    found: list[str] = []

    def is_there() -> bool:
        found[:] = re.findall(pattern, log.read_text())
        return bool(found)

    wait_until(is_there)
    return tuple(found)


def driver_environment() -> dict[str, str]:
    """Return the environment of a driver on loopback, whose ``python3`` is this Python."""
    own = Path(sys.executable).parent
    return {
        **{
            name: text for name, text in os.environ.items() if "PYSPARK" not in name
        },  # of a session
        "PATH": os.pathsep.join([str(own), os.environ["PATH"]]),
        "JAVA_HOME": str(ensure_java()),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_SUBMIT_OPTS": f'{_JAVA} "-Dspark.executor.extraJavaOptions={_JAVA}"',
    }
