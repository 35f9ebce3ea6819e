"""How the benchmarks measure: CPU time of one thread, best of several rounds, ratios side by side.

CPU time repeats within a few per cent where wall time doubles on a shared machine. The first round
warms caches and compiled code and does not count.
"""

import resource
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tests.kafka_broker import class_path, compile_java

KAFKA = "4.2.0"
ROUNDS = 7
TURNS = 3
PARTITIONS = min(10_000, (resource.getrlimit(resource.RLIMIT_NOFILE)[1] - 1000) // 2)
"""Of two segments each: as many as Kafka, which keeps every `.log` open, can load here."""

FOLDER = Path(__file__).parents[2] / "build" / "benchmarks"
JVM_FLAGS = (
    "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35", "-XX:+ExplicitGCInvokesConcurrent",
    "-XX:MaxInlineLevel=15", "-Djava.awt.headless=true",
)  # fmt: skip
"""Those of Kafka's own start scripts."""
SERVER_FLAGS = (
    "-Xms1g", "-Xmx1g", *JVM_FLAGS, "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
)  # fmt: skip


class Timing(NamedTuple):
    """Seconds of CPU and wall time, and how many records or batches the run went through."""

    cpu: float
    wall: float
    records: int


def best_of(run: Callable[[], int], rounds: int = ROUNDS) -> Timing:
    """Return the best of ``rounds`` runs after one that does not count."""
    count = run()
    cpu, wall = [], []
    for _ in range(rounds):
        start_cpu, start_wall = time.process_time(), time.perf_counter()
        run()
        cpu.append(time.process_time() - start_cpu)
        wall.append(time.perf_counter() - start_wall)
    return Timing(min(cpu), min(wall), count)


def memcpy(size: int) -> Timing:
    """Time copying ``size`` bytes within warm memory."""
    source, target = np.ones(size, np.uint8), np.empty(size, np.uint8)

    def run() -> int:
        target[:] = source
        return size

    return best_of(run)


def in_turn(*timings: Callable[[], Timing], turns: int = TURNS) -> list[Timing]:
    """Take each timing several times in turn, so that other work on the machine meets them all.

    Returns:
        The best of each.
    """
    rounds = [[timing() for timing in timings] for _ in range(turns)]
    return [min(found) for found in zip(*rounds, strict=True)]


def peer(*arguments: str, program: str = "Peer") -> Timing:
    """Run ``Peer.java`` or another, Kafka's own classes in a warm JVM; return what it measured."""
    source = (Path(__file__).parent / f"{program}.java").read_text()
    classes = compile_java(KAFKA, source, program)
    command = ["java", *SERVER_FLAGS, "-cp", f"{classes}:{class_path(KAFKA)}", program, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    numbers = [int(word) for word in done.stdout.split()[-3:]]
    if len(numbers) < 3:
        return Timing(0, 0, numbers[-1] if numbers else 0)
    return Timing(numbers[0] / 1e9, numbers[1] / 1e9, numbers[2])


def dump_log_segments(file: Path, *options: str) -> Timing:
    """Time Kafka's tool as a user runs it: a process, its output thrown away. CPU is wall here."""
    tool = ["kafka.tools.DumpLogSegments", *options, "--files", str(file)]
    command = ["java", "-Xmx256m", *SERVER_FLAGS[2:], "-cp", class_path(KAFKA), *tool]
    start = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    wall = time.perf_counter() - start
    return Timing(wall, wall, 0)


def generated(codec: str, value_size: int, total: int, batch_size: int = 16384) -> Path:
    """Return a log file of magic 2 batches that Kafka's own builder made; kept between runs."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    file = FOLDER / f"{codec}-{value_size}-{total >> 20}m-{batch_size}" / f"{0:020d}.log"
    if not file.exists():
        file.parent.mkdir(exist_ok=True)
        unfinished = file.with_suffix(".unfinished")
        unfinished.unlink(missing_ok=True)
        peer("generate", str(unfinished), codec, str(value_size), str(total), str(batch_size))
        unfinished.rename(file)
    return file


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a Markdown table."""
    print(f"\n**{title}**\n")
    print("| " + " | ".join(columns) + " |")
    print("|" + "---|" * len(columns))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
