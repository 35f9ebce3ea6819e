"""Plan a Spark job over a simulated bucket: `python -m … [an older checkout]`.

If the folder of an older checkout is given, its planner runs in turn with ours, on the same bucket,
as far as it is bearable, and the table shows both. The bucket answers at once: what a request takes
elsewhere must be added to the time.
"""

import json
import os
import pickle
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Final

from tests.benchmarks.measure import table
from tests.spark.simulated_bucket import KINDS, PREFIX, Bucket
from workbench.spark_source.options import parse_options
from workbench.spark_source.plan.planning import Plan
from workbench.spark_source.tasks.reading import TaskPartition

PARTITION: Final = 250  # segments
SEGMENT: Final = 400_000_000  # bytes
SHOWN: Final = 10_000  # tasks whose pickled size is taken
TURNS: Final = 3
LEVELS: Final = ("read_uncommitted", "read_committed")
NEW: Final = (100, 1_000, 10_000, 100_000, 1_000_000)  # files
OLD: Final = {
    "read_uncommitted": (100, 1_000, 10_000, 100_000),
    "read_committed": (100, 1_000, 10_000),
}
"""How many files the older planner bears: some minutes."""

Measured = dict[str, Any]


def measure(files: int, level: str) -> Measured:
    """Return what planning takes in this process, which has planned nothing before."""
    segments = files // len(KINDS)
    partitions = max(1, segments // PARTITION)
    bucket = Bucket(partitions, segments // partitions, SEGMENT)
    options = parse_options({"path": PREFIX, "kafka.isolation.level": level})
    start, start_cpu = time.perf_counter(), time.process_time()
    tasks = [TaskPartition(task) for task in Plan(options, fs=bucket.fs).batch_tasks()]
    seconds, cpu = time.perf_counter() - start, time.process_time() - start_cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    return {
        "files": bucket.file_count,
        "tasks": len(tasks),
        "seconds": seconds,
        "cpu": cpu,
        "peak": peak,
        "asked": dict(bucket.asked),
        "bytes": bucket.bytes_read,
        "pickled": sum(len(pickle.dumps(task)) for task in tasks[:SHOWN]) // len(tasks[:SHOWN]),
    }


def measured_in(folder: Path, files: int, level: str) -> Measured:
    """Return what `measure` returns in a process of its own, with the planner of a checkout."""
    ours = Path(__file__).parents[2]  # an older checkout lacks the bucket
    environment = {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{ours}"}
    words = [sys.executable, __file__, str(files), level]
    done = subprocess.run(words, check=True, env=environment, stdout=subprocess.PIPE, text=True)
    found: Measured = json.loads(done.stdout.splitlines()[-1])
    return found


def best(rounds: list[Measured]) -> list[str]:
    """Return the cells of a row: the best of some rounds."""
    found = min(rounds, key=lambda each: float(each["cpu"]))
    asked = ", ".join(f"{count:,} {kind}" for kind, count in sorted(found["asked"].items()))
    return [
        f"{found['tasks']:,}",
        f"{min(each['seconds'] for each in rounds):.2f} s",
        f"{found['cpu']:.2f} s",
        f"{found['peak']:,} MB",
        asked,
        f"{found['bytes'] / 1e6:,.0f} MB",
        f"{found['pickled']:,} B",
    ]


def main(old: Path | None) -> None:
    """Print a table for each isolation level."""
    columns = ("files", "bytes", "", "tasks", "time", "CPU", "peak", "requests", "read", "task")
    ours = Path(__file__).parents[2]
    for level in LEVELS:
        rows = []
        for files in NEW:
            places = {"new": ours}
            if old is not None and files in OLD[level]:
                places = {"old": old, "new": ours}
            found: dict[str, list[Measured]] = {name: [] for name in places}
            for _ in range(TURNS if files <= NEW[1] else 1):
                for name, place in places.items():
                    found[name].append(measured_in(place, files, level))
            size = f"{files // len(KINDS) * SEGMENT / 1e12:g} TB"
            rows += [[f"{files:,}", size, name, *best(each)] for name, each in found.items()]
        table(f"planning a batch query, {level}", columns, rows)


if __name__ == "__main__":
    given = sys.argv[1:]
    if len(given) > 1:
        sys.stdout.write(json.dumps(measure(int(given[0]), given[1])) + "\n")
    else:
        main(Path(given[0]).resolve() if given else None)
