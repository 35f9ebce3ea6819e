"""A log manager's start over thousands of partitions against Kafka's: after a shutdown, and killed.

Each run leaves the directory as the next one needs it: a manager that is shut down is followed
by a clean one, a start that is killed by one that recovers the active segment of every log.

    python -m tests.benchmarks.bench_engine_load 10000
"""

import os
import shutil
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Final

from tests.benchmarks.measure import FOLDER, PARTITIONS, Timing, in_turn, peer, table
from workbench.log_manager.manager import LogManager

TURNS: Final = 1  # minutes each
THREADS: Final = 2  # `num.recovery.threads.per.data.dir`

kafka = partial(peer, program="EnginePeer")


def start(root: str, ending: str) -> None:
    """Load a directory and print CPU ns, wall ns and the number of logs; then stop or be killed."""
    manager = LogManager([root], {"num.recovery.threads.per.data.dir": THREADS})
    cpu, wall = time.process_time_ns(), time.perf_counter_ns()
    manager.startup(with_tasks=False)
    cpu, wall = time.process_time_ns() - cpu, time.perf_counter_ns() - wall
    print(cpu, wall, len(manager.logs), flush=True)
    if ending == "crash":
        os._exit(0)
    manager.shutdown()


def ours(root: Path, ending: str) -> Timing:
    """Time our start in a process of its own."""
    program = (
        "import sys; from tests.benchmarks.bench_engine_load import start; start(*sys.argv[1:])"
    )
    command = [sys.executable, "-c", program, str(root), ending]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    cpu, wall, count = map(int, done.stdout.split())
    return Timing(cpu / 1e9, wall / 1e9, count)


def made(count: int) -> Path:
    """Return a directory of partitions with two segments, shut down cleanly; kept between runs."""
    root = FOLDER / f"started-{count}"
    if not (root / ".kafka_cleanshutdown").exists():
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir(parents=True)
        kafka("partitions", str(root), str(count))
    return root


def main(count: int) -> None:
    """Print the table."""
    root = made(count)
    rows = []
    for what, ending, goal in (
        ("stopped in order", "clean", "1x"),
        ("killed", "crash", "3x"),
    ):
        if ending == "crash":
            ours(root, ending)  # leaves what the runs that count begin with
        theirs, mine = in_turn(
            partial(kafka, "load", str(root), ending), partial(ours, root, ending), turns=TURNS
        )
        assert theirs.records == mine.records == count, (theirs, mine)
        rows.append([
            what,
            f"{theirs.cpu:.1f} s, {theirs.wall:.1f} s",
            f"{mine.cpu:.1f} s, {mine.wall:.1f} s",
            f"{theirs.cpu / mine.cpu:.2f}x",
            f"{theirs.wall / mine.wall:.2f}x",
            goal,
        ])  # fmt: skip
    ours(root, "clean")
    columns = ["before", "Kafka: CPU, wall", "ours: CPU, wall", "CPU", "wall", "goal"]
    table(f"start with {count:,} partitions, {THREADS} threads", columns, rows)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else PARTITIONS)
