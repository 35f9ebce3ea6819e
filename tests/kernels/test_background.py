"""A new installation answers at once: the plain twins read while the kernels are being compiled."""

import fcntl
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from workbench.kernels.cache_folder import kernel_folder, ready_mark
from workbench.kernels.dispatch import COMPILED

ROOT = Path(__file__).parents[2]
DATA = str(ROOT / "sample_data" / "shop-4.3.1")
WATCHING = f"""
import sys
import workbench
from workbench.kernels import dispatch

logs = workbench.open_log_directory({DATA!r})

def read():
    table = logs.scan(topics="orders", columns=["offset", "key", "value"]).to_arrow()
    state = dispatch.is_compiled(), "numba" in sys.modules
    print(table.num_rows, hash(str(table)), *state, flush=True)

read()
input()
read()
"""

pytestmark = pytest.mark.skipif(not COMPILED, reason="it is about compiling")


def environment(cache: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name != "KAFKA_WORKBENCH_KERNELS"}
    return {**kept, "NUMBA_CACHE_DIR": str(cache), "PYTHONHASHSEED": "0", "PYTHONPATH": str(ROOT)}


def compilers(folder: Path) -> list[int]:
    """Return the processes that hold the file that is locked while compiling."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and entry.name != str(os.getpid()):
            try:
                files = {os.readlink(each) for each in (entry / "fd").iterdir()}
            except OSError:  # it ended
                continue
            if str(folder / "compiling.lock") in files:
                found.append(int(entry.name))
    return found


def test_the_first_record_does_not_wait_for_the_compiler(tmp_path: Path) -> None:
    program = [str(Path(sys.executable).with_name("kafka-workbench")), "dump", DATA, "-n", "1"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    first = subprocess.run(program, env=environment(tmp_path), capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    (folder,) = tmp_path.glob("kafka-log-workbench/kernels-*")
    (child,) = compilers(folder)
    second = subprocess.run(program, env=environment(tmp_path), capture_output=True, check=True)
    assert compilers(folder) == [child]  # one for all processes
    os.kill(child, signal.SIGKILL)
    assert first.stdout.count(b"\n") == 1
    assert first.stdout == second.stdout
    assert after.ru_utime - before.ru_utime < 5


def test_a_process_takes_the_compiled_kernels_as_soon_as_they_are_ready(tmp_path: Path) -> None:
    folder = tmp_path / "kafka-log-workbench" / kernel_folder().name
    shutil.copytree(kernel_folder(), folder)
    mark = folder / ready_mark().name
    mark.unlink(missing_ok=True)
    with open(folder / "compiling.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # as if another process compiled
        with subprocess.Popen(
            [sys.executable, "-c", WATCHING],
            env=environment(tmp_path),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            rows, content, *state = process.stdout.readline().split()
            assert state == ["False", "False"]
            mark.touch()
            time.sleep(0.3)
            process.stdin.write("\n")
            process.stdin.flush()
            assert process.stdout.readline().split() == [rows, content, "True", "True"]
    assert int(rows) > 100
