"""Load ten thousand partitions as a starting broker does: stopped in order, and after a SIGKILL.

Kafka's log manager in a JVM against ours in a Python process of its own, by turns on the same
directory, two recovery threads each, all files in the page cache. Wall time, for both use two
cores.
"""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.benchmarks.measure import FOLDER, Timing, peer, table

COUNT: Final = 10_000
PROGRAM: Final = """
import os, sys, time
from workbench.log_manager.manager import LogManager

manager = LogManager([sys.argv[1]], {"num.recovery.threads.per.data.dir": 2})
wall, cpu = time.perf_counter(), time.process_time()
manager.startup(with_tasks=False)
print(time.process_time() - cpu, time.perf_counter() - wall, len(manager.logs), flush=True)
if sys.argv[2] == "crash":
    os._exit(1)
wall = time.perf_counter()
manager.shutdown()
print("shutdown", time.perf_counter() - wall, file=sys.stderr)
"""


def kafka(*arguments: object) -> Timing:
    """Return what the JVM measured."""
    return peer(*map(str, arguments), program="EnginePeer")


def ours(root: Path, end: str) -> Timing:
    """Time our start; the process stops in order, or dies in a ``crash``."""
    command = [sys.executable, "-c", PROGRAM, str(root), end]
    done = subprocess.run(command, capture_output=True, text=True, check=end != "crash")
    cpu, wall, count = done.stdout.split()
    return Timing(float(cpu), float(wall), int(count))


def _row(what: str, theirs: Timing, mine: Timing) -> list[str]:
    assert theirs.records == mine.records == COUNT
    return [
        what,
        f"{theirs.wall:.1f} s",
        f"{mine.wall:.1f} s",
        f"{theirs.cpu / mine.cpu:.2f}x",
        f"{theirs.wall / mine.wall:.2f}x",
    ]


def main() -> None:
    """Print the table."""
    root = FOLDER / f"loading-{COUNT}"
    if not (root / ".kafka_cleanshutdown").exists():
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir(parents=True)
        kafka("partitions", root, COUNT)
    kafka("load", root, "clean")  # warms the page cache
    rows = [_row("stopped in order", kafka("load", root, "clean"), ours(root, "clean"))]
    ours(root, "crash")  # from here on it is a killed broker's
    rows.append(_row("killed", kafka("load", root, "crash"), ours(root, "crash")))
    kafka("load", root, "clean")
    columns = ["directory", "Kafka", "ours", "CPU", "wall"]
    table(f"load {COUNT:,} partitions with two threads", columns, rows)


if __name__ == "__main__":
    main()
